"""Methods and fields that have another name, and texts of values."""

import re

from ktc.migration import table
from ktc.migration.plan import Plan
from ktc.migration.rules.places import bring, is_printed
from ktc.syntax import ast

_EXTERNAL = {
    "MutOrigin": "MutUntrackedOrigin", "MutableOrigin": "MutUntrackedOrigin", "ImmutOrigin": "ImmUntrackedOrigin",
    "ImmutableOrigin": "ImmUntrackedOrigin",
}  # fmt: skip
_SIZED = frozenset(("SIMD", "InlineArray"))
_OF_LOCATION = {"line": "line", "col": "column", "file_name": "file_name"}
"""Fields of a place in a source, and the methods that they are in edition 2026."""
_DTYPES = {
    **{f"{sign}int{bits}": f"{'U' if sign else ''}Int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"Float{bits}" for bits in (16, 32, 64)},
}  # fmt: skip


def method(plan: Plan, node: ast.Call) -> None:
    """A method that has another name."""
    func = node.func.base if isinstance(node.func, ast.Subscript) else node.func
    if isinstance(func, ast.Attribute):
        new = plan.facts.renamed.get((node.start, node.end), {}).get(func.name)
        if new:
            plan.changes.replace(table.METHOD, func.name_start, func.name_start + len(func.name), new)


def attribute(plan: Plan, node: ast.Attribute) -> None:
    """`.size` of vectors and arrays; `MutOrigin.external`."""
    if node.name == "external" and isinstance(node.value, ast.Name) and node.value.id in _EXTERNAL:
        plan.changes.replace(table.NAME, node.start, node.end, _EXTERNAL[node.value.id])
    if node.name in _OF_LOCATION and plan.facts.struct_of(node.value) == "_SourceLocation":
        plan.changes.replace(table.METHOD, node.name_start, node.end, f"{_OF_LOCATION[node.name]}()")
    if node.name == "size" and (plan.facts.struct_of(node.value) in _SIZED or _is_open_vector(plan, node.value)):
        plan.changes.replace(table.NAME, node.name_start, node.name_start + len("size"), "length")


def _is_open_vector(plan: Plan, node: ast.Expr) -> bool:
    """Return whether a name is an argument whose type is `SIMD` without parameters."""
    while isinstance(node, ast.Subscript):
        node = node.base
    function = plan.read.function(node)
    name = node.id if isinstance(node, ast.Name) else ""
    types = [arg.type for arg in function.args if arg.name == name] if function is not None else []
    return any(one is not None and plan.read.of(one).startswith("SIMD") for one in types)


def sized_type(plan: Plan, node: ast.Subscript) -> None:
    """`SIMD[dtype, size=4]`, `Atomic[DType.int32]`."""
    name = node.base.id if isinstance(node.base, ast.Name) else ""
    if name in _SIZED:
        for one in node.keywords:
            if one.name == "size":
                plan.changes.replace(table.NAME, one.start, one.start + len("size"), "length")
    if name == "Origin" and len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Star):
        plan.changes.insert(table.NAME, node.args[0].start, "mut=")
    if name == "Atomic" and len(node.args) == 1:
        arg = node.args[0]
        text = plan.read.of(arg)
        kind = _DTYPES.get(text.removeprefix("DType."), "") if text.startswith("DType.") else ""
        pieces: tuple[str | tuple[int, int], ...] = (kind,) if kind else ("Scalar[", (arg.start, arg.end), "]")
        plan.changes.replace(table.NAME, arg.start, arg.end, *pieces)


def open_pack(plan: Plan, node: ast.Call) -> None:
    """`S[Int](5, "x")` of `struct S[T: …, *Ts: …]`: a pack that arguments determine is left open by `...`."""
    func = node.func
    base = func.base if isinstance(func, ast.Subscript) else None
    structs = [one for one in plan.read.module.body if isinstance(one, ast.StructDecl)]
    own = next((one for one in structs if isinstance(base, ast.Name) and one.name == base.id), None)
    if own is None or not isinstance(func, ast.Subscript) or not (given := [*func.args, *func.keywords]):
        return
    pack = next((number for number, one in enumerate(own.params) if one.kind == "star"), -1)
    made = plan.facts.type_of(node)
    if pack >= len(given) and len(_parameters(made)) > len(given):
        plan.changes.insert(table.PARAMETER, given[-1].end, ", ...")


def _parameters(kind: str) -> list[str]:
    """Return the parameters of a type as it is written."""
    found, depth = [""], 0
    for letter in kind.partition("[")[2].removesuffix("]"):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found if found != [""] else []


def otherwise(plan: Plan, node: ast.Call) -> None:
    """Calls that edition 2026 writes otherwise."""
    func = node.func
    if "b64decode" in plan.facts.library.get((node.start, node.end), set()):
        plan.changes.wrap(table.METHOD, node.start, node.end, "String(unsafe_from_utf8=", ")")
    if "Span.__init__" in plan.facts.hidden.get((node.start, node.end), set()):
        for one in node.keywords:
            if one.name == "ptr":
                plan.changes.replace(table.METHOD, one.start, one.start + len("ptr"), "unsafe_ptr")
    if "String.__init__" in plan.facts.meant(node) and len(node.keywords) == 1 and node.keywords[0].name == "bytes":
        plan.changes.replace(table.METHOD, node.keywords[0].start, node.keywords[0].start + 5, "unsafe_from_utf8")
    if not isinstance(func, ast.Attribute):
        return
    if func.name in _TEXT_CALLS and not node.args:
        _text_of(plan, node, func)
    if func.name == "resize" and (plan.is_mixed or "List.resize" in plan.facts.meant(node)):
        if len(node.args) == 2:
            plan.changes.insert(table.METHOD, node.args[1].start, "fill=")
        for one in node.keywords:
            if one.name in _OF_RESIZE:
                plan.changes.replace(table.METHOD, one.start, one.start + len(one.name), _OF_RESIZE[one.name])


_OF_RESIZE = {"new_size": "length", "value": "fill"}
"""Arguments of `List.resize`, by their names of edition 2025."""


_TEXT_CALLS = {"__str__": "String", "__repr__": "repr", "as_string_slice": "StringSpan"}
"""Methods that give a value's text in edition 2025, and functions that do in edition 2026."""


def _text_of(plan: Plan, node: ast.Call, func: ast.Attribute) -> None:
    """`x.__str__()`, `x.__repr__()` and `x.as_string_slice()` of the library's types, which edition 2026 lacks."""
    if func.name not in plan.facts.library.get((node.start, node.end), set()):
        return
    called = _TEXT_CALLS[func.name]
    plan.changes.replace(table.METHOD, node.start, node.end, f"{called}(", (func.value.start, func.value.end), ")")
    is_same = plan.facts.struct_of(func.value) in _TEXTS or _SAME_TEXT.fullmatch(plan.facts.type_of(func.value))
    if func.name == "__repr__" or (func.name == "__str__" and not is_same):
        plan.changes.note(table.SHOWN, func.name_start, f"'{called}(…)' may give another text than '{func.name}'")


def shown(plan: Plan, node: ast.Call) -> None:
    """`repr(x)`, `print(list)`: the texts of some values differ."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    for one in node.args if name in ("print", "String", "repr") else ():
        kind = plan.facts.struct_of(one)
        if name == "repr":
            _other_repr(plan, one)
        elif kind in _CONTAINERS and not _SAME_TEXT.fullmatch(plan.facts.type_of(one)):
            plan.changes.note(table.SHOWN, one.start, _OTHER)


def _other_repr(plan: Plan, node: ast.Expr) -> None:
    if plan.facts.struct_of(node) not in ("", *_TEXTS):
        plan.changes.note(table.SHOWN, node.start, _OTHER)


_OTHER = "the text of this value is another one in edition 2026: look at what is printed"

_CONTAINERS = frozenset(("List", "Dict", "Set", "Optional", "Slice"))
_TEXTS = ("String", "StringLiteral", "StringSlice")
_SAME_TEXT = re.compile(r"(?:List|Optional|Set)\[(?:Int|Bool)\]|Dict\[Int, (?:Int|Bool)\]|Bool|U?Int\d*|Float\d+")
"""Types whose values have the same text in both editions."""


def escapes(plan: Plan, node: ast.StrLit | ast.FString) -> None:
    """`\\x85` is a byte in edition 2025 and a code point in edition 2026."""
    token = plan.read.token(node.start)
    while token < len(plan.read.starts) and plan.read.starts[token] < node.end:
        if _BYTE.search(plan.read.word(token)):
            text = "'\\x80' to '\\xff' stand for a code point in edition 2026, not for one byte"
            plan.changes.note(table.ESCAPE, plan.read.starts[token], text)
        token += 1


_BYTE = re.compile(r"^[^rR\"']*[\"'](?:[^\\]|\\(?!x[89a-fA-F]).)*\\x[89a-fA-F]", re.DOTALL)


def template(plan: Plan, node: ast.FString) -> None:
    """`f"…"` is a String; `t"…"` is what makes one. It has no formats: a function of the library does."""
    read = plan.read
    token = read.token(node.start)
    text = read.word(token)
    prefix = text[: len(text) - len(text.lstrip("fFrRtT"))]
    for one in node.parts:
        if isinstance(one, ast.FField) and (one.spec or one.conversion):
            _format(plan, one, "'" if text[len(prefix) : len(prefix) + 1] == '"' else '"')
    if "f" not in prefix.lower():
        return
    at = read.starts[token] + prefix.lower().index("f")
    plan.changes.replace(table.TEMPLATE, at, at + 1, "t")
    if not is_printed(plan, node):
        plan.changes.wrap(table.TEMPLATE, node.start, node.end, "String(", ")")


def _format(plan: Plan, field: ast.FField, quote: str) -> None:
    """`{x!r:>8}`."""
    if plan.read.text[field.start] != "{" or plan.read.text[field.end - 1] != "}":
        return
    is_repr = field.conversion == "r" and plan.facts.struct_of(field.value) not in ("Int", "IntLiteral")
    before, after = ("repr(", ")") if is_repr else ("String(", ")") if field.conversion == "s" else ("", "")
    if is_repr:
        _other_repr(plan, field.value)
    if field.spec:
        before, after = f"format_value[{quote}{field.spec}{quote}]({before}", f"{after})"
        bring(plan, table.TEMPLATE, "std.collections.string.format", {"format_value"})
    value = field.value.start, field.value.end
    plan.changes.replace(table.TEMPLATE, field.start + 1, field.end - 1, before, value, after)
