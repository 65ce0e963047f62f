"""Help lines for names that mean nothing: names that look alike, modules of the library that have the name.

Input: a name that means nothing. Output: the text of a help line, or "". Only asked for when an error is reported.
"""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from ktc.base.similarity import close_matches
from ktc.elaborate.model.spelling import INDICES, NUMBERS, SHORT, TEXTS, suggest

_MISSPELT = 0.8
"""How alike a word of another language must be."""


_MATERIALIZED = {"IntLiteral": "Int", "FloatLiteral": "Float64", "StringLiteral": "String"}


_CAPTURED = re.compile(r"captured as '\w+ (\w+)', which is read only")
_READ_ONLY = re.compile(r"the argument '(\w+)', which is read only")


A_LOOP_VARIABLE = "a loop variable"
"""Why the variable of a `for` that does not say 'ref' cannot be changed."""


_PUBLIC = re.compile(r"(?:fn|def|struct|trait|alias|comptime)\s+(\w+)")


_FROM = re.compile(r"from\s+(\.+[\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)")


def suggest_member(name: str, names: Collection[str]) -> str:
    """Return a help text for a member that a type with these members does not have."""
    from ktc.elaborate.tree.foreign_keywords import FOREIGN_MEMBERS  # late: only for errors

    for word in (name, *close_matches(name, FOREIGN_MEMBERS, n=1, cutoff=_MISSPELT)):
        for needed, help in FOREIGN_MEMBERS.get(word, ()) if not (word != name and suggest(name, names)) else ():
            if needed in names:
                return help
    public = [one for one in names if not one.startswith("_")]
    longer = [one for one in public if len(name) > SHORT and one.startswith(name)]
    return suggest(name, public) or (f"did you mean '{longer[0]}'?" if len(longer) == 1 else "")


def read_only_argument(name: str) -> str:
    """Return why an argument cannot be changed."""
    return f"the argument '{name}', which is read only"


def captured_read_only(mode: str, name: str) -> str:
    """Return why a closure cannot change a variable that its list captures by this word."""
    return f"captured as '{mode} {name}', which is read only"


def mutability_help(reason: str) -> str:
    """Return the help for an argument that cannot be changed, for the reason that `read_only_argument` gave."""
    found = _READ_ONLY.fullmatch(reason)
    if reason == A_LOOP_VARIABLE:
        return "write 'for ref …' to change the item, 'for var …' to change a copy of it"
    if captured := _CAPTURED.fullmatch(reason):
        return f"write 'mut {captured[1]}' in the list of captures"
    return f"declare it 'mut {found[1]}'" if found else ""


def loop_help(name: str, reason: str) -> str:
    """Return a help text for a change of a loop's or a captured variable that is read only for `reason`."""
    if _CAPTURED.fullmatch(reason):
        return mutability_help(reason)
    if reason != A_LOOP_VARIABLE:
        return ""
    return f"write 'for ref {name} in …' to change the item, 'for var {name} in …' to change a copy of it"


def iteration_help(name: str, own: bool) -> str:
    """Return the help for a loop over a value that gives no items; `own`: of a struct of the program's."""
    if name in NUMBERS and name != "Bool":
        return "write 'range(…)' to count"
    return f"give '{name.partition('[')[0]}' the method '__iter__'" if own else ""


def operand_help(op: str, left: str, right: str) -> str:
    """Return the help for an operator that does not take two types, as shown."""
    if op == "@" and "LayoutTensor" in (left.partition("[")[0], right.partition("[")[0]):
        return "'matmul', from 'linalg.matmul', multiplies matrices; a kernel adds products up in a loop"
    if op == "*" and left.partition("[")[0] in TEXTS and right.partition("[")[0] in TEXTS:
        return "a string is repeated an integer number of times"
    if left == "NoneType":
        return "the call that it comes from returns nothing"
    for one, other in ((left, right), (right, left)):
        if one == "NoneType" != other:
            kind = other.partition("[")[0]
            other = _MATERIALIZED.get(kind, other)
            return f"'{other}' is never None; 'Optional[{other}]' is the type of an optional value"
    if left.startswith("Optional[") != right.startswith("Optional["):
        return "take the value of the 'Optional' out with '.value()'"
    texts = [one.partition("[")[0] in TEXTS for one in (left, right)]
    if op in ("+", "+=") and texts[0] != texts[1]:
        return "make a text of the other one with 'String(...)'"
    if op == "%" and texts[0]:
        return "write '\"… {}\".format(…)', or give all parts to 'print' or 'String'"
    kinds = [left.partition("[")[0], right.partition("[")[0]]
    if kinds[0] == "List" != kinds[1]:
        return (
            "write '.append(…)' to add an item"
            if op in ("+", "+=")
            else "work on its items in a loop; 'SIMD' has operators for all lanes"
        )
    if "List" in kinds and op != "+":
        return "work on its items in a loop; 'SIMD' has operators for all lanes"
    if "DeviceBuffer" in kinds:
        return "a buffer lives on the device: compute in a kernel, or in 'with buffer.map_to_host() as host:'"
    threads = [name for kind in kinds if (name := INDICES.get(kind))]
    if threads:
        return f"write '{threads[0]}.x', '{threads[0]}.y' or '{threads[0]}.z'"
    if op == "in" and kinds[1] in ("_DictKeyIter", "_DictValueIter"):
        return "write 'key in d'" if kinds[1] == "_DictKeyIter" else "compare each value in a loop"
    if "Int" in kinds and (other := kinds[kinds[0] == "Int"]) in NUMBERS - {"Bool", "IntLiteral", "FloatLiteral"}:
        one, around = ("Int", other) if "Int" in other else (other, "Int")
        return f"write '{one}(…)' around the '{around}'"
    return "" if all(texts) else "convert one of them"


def suggest_name(name: str, names: Iterable[str], library: Path, homes: dict[str, str]) -> str:
    """Return a help text for a name that is not defined: its module, what it is called here, or `suggest`.

    Args:
        homes: earlier results of `library_module_of`, by name; this one is added.
    """
    from ktc.elaborate.tree.foreign_keywords import FOREIGN_NAMES  # late: only for errors

    if name in FOREIGN_NAMES:
        return FOREIGN_NAMES[name]
    if name not in homes:
        homes[name] = library_module_of(name, library)
    home = homes[name]
    if not home and ((library / name).is_dir() or (library / f"{name}.kpy").is_file()):
        return f"write 'import {name}' at the top of the file"
    return f"write 'from {home} import {name}' at the top of the file" if home else _elsewhere(name, names)


def suggest_import(name: str, names: Iterable[str], library: Path) -> str:
    """Return a help text for a name that a module does not have; `names`: what it has."""
    from ktc.elaborate.tree.foreign_keywords import FOREIGN_NAMES  # late: only for errors
    from ktc.elaborate.tree.older_names import OLDER_NAMES  # late: only for errors

    alike = suggest(name, names)
    if alike and alike.lower() == f"did you mean '{name}'?".lower():
        return alike
    home = library_module_of(name, library) if name not in FOREIGN_NAMES else ""
    if home:
        return f"write 'from {home} import {name}'"
    return FOREIGN_NAMES.get(name) or OLDER_NAMES.get(name) or alike


def name_moved(name: str, module: str, known: Collection[str], basic: Collection[str], library: Path) -> str:
    """Return where a name is that an import takes from a module of a package that has no such module.

    Args:
        known: the modules that there are.
        basic: the names that need no import.
    """
    if not name or module.rpartition(".")[0] not in known:
        return ""
    return f"'{name}' needs no import" if name in basic else suggest_import(name, (), library)


def _elsewhere(name: str, names: Iterable[str]) -> str:
    """Return this version's name for a name of another version or language, or else the most similar name."""
    from ktc.elaborate.tree.older_names import OLDER_NAMES  # late: only for errors

    return OLDER_NAMES.get(name) or suggest(name, names)


def library_module_of(name: str, library: Path) -> str:
    """Return the module of the library that a name is imported from, with dots; "" if none has it.

    Of several the shortest: a package re-exports names so that programs import them from it.
    """
    found: list[str] = []
    for path in sorted(library.rglob("*.kpy")):
        parts = path.relative_to(library).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if not parts or parts[0] in ("builtin", "prelude", "std") or any(part.startswith("_") for part in parts):
            continue
        if _declares(path, name):
            found.append(".".join(parts))
    return min(found, key=lambda module: (module.count("."), module), default="")


def module_names(folders: Iterable[Path], library: Path) -> list[str]:
    """Return the modules that a program can import: of the library, and right in the user's folders."""
    found = {".".join(path.relative_to(library).with_suffix("").parts) for path in library.rglob("*.kpy")}
    for folder in folders:
        found |= {path.stem for path in folder.glob("*.kpy")}
        found |= {path.parent.name for path in folder.glob("*/__init__.kpy")}
    plain = {name.removesuffix(".__init__") for name in found}
    return sorted(name for name in plain if not any(part.startswith("_") for part in name.split(".")))


def missing_in_library(library: Path, module: str, name: str = "") -> bool:
    """Whether the reference's library has a module, or a name in it, that this library does not have yet."""
    try:
        text = (library / "missing.txt").read_text("utf-8")
    except OSError:
        return False
    plain = module.removeprefix("std.")
    for line in text.splitlines():
        listed, colon, names = line.partition(":")
        if not colon or not (listed == plain or (not name and listed.startswith(plain + "."))):
            continue
        if not name or name in names.split():
            return True
    return False


def _declares(path: Path, name: str) -> bool:
    """Return whether a module's text declares a name at its first column, or re-exports it.

    A package re-exports all that it imports. Another module is the public home of what it takes from private modules.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return False
    if name.encode() not in data:  # true of nearly all of the library
        return False
    text = data.decode("utf-8", "replace")
    if any(match[1] == name for match in re.finditer(r"^" + _PUBLIC.pattern, text, re.MULTILINE)):
        return True
    parts = [
        part.split()[-1]
        for match in re.finditer(r"^" + _FROM.pattern, text, re.MULTILINE)
        if path.stem == "__init__" or match[1].rpartition(".")[2].startswith("_")
        for part in match[2].strip("()").split(",") if part.strip()
    ]  # fmt: skip
    return name in parts
