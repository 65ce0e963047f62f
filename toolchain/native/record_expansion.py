"""Modules written out, for mypyc: it makes a native class of a class that it understands, and `@record` it does not.

Input: the text of a module. Output: the same with constructor, comparison and hash as methods of each `@record` and
`@entity`, as `base/records.py` makes them when the module is imported; with constants that are `Final`, which other
modules then need not look up; with dictionaries instead of their read-only views, and `zip` without a check of
lengths, for mypyc has code of its own for these. All other lines stay as they are.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class _Field:
    name: str
    type: str
    default: str | None
    makes: str | None
    compare: bool


def written_out(text: str, read: Callable[[str], str] = lambda _: "") -> str:
    """Return a module's text without record decorators and without slots.

    Args:
        read: returns the text of a module by its name, for records that inherit from one of another module.
    """
    text = re.sub(r", strict=(True|False)\)", ")", text)
    text = re.sub(r"(?m)^(\w+): Mapping(\[.*\]) = MappingProxyType\(", r"\1: dict\2 = (", text)
    tree = ast.parse(text)
    lines = text.split("\n")
    _make_final(tree, lines)
    known = _imported_bases(tree, read)
    added: list[tuple[int, list[str]]] = []
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        for part in node.body:
            if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "__slots__":
                _blank(lines, part, "pass")
            if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "__match_args__":
                lines[part.lineno - 1] = lines[part.lineno - 1].replace(" =", ": _Final =", 1)
        kind = _record_decorator(node)
        if kind is None:
            continue
        own = _own_fields(node)
        fields = known[node.name] = _all_fields(node, known)
        lines[kind.lineno - 1] = ""
        for part in own:
            if part.value is not None:
                _blank(lines, part, f"{ast.unparse(part.target)}: {ast.unparse(part.annotation)}")
        added.append((node.end_lineno or 0, _methods(node, fields, ast.unparse(kind) == "record")))
    for line, methods in reversed(added):
        lines[line:line] = ["", *methods]
    at = next((node.lineno for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))), 1)
    lines[at - 1] = f"from typing import Any as _Any, Final as _Final, cast as _unchecked; {lines[at - 1]}"
    if added:
        lines[at - 1] = f"import ktc.base.records as _records; {lines[at - 1]}"
    return "\n".join(lines)


def _record_decorator(node: ast.ClassDef) -> ast.expr | None:
    return next((one for one in node.decorator_list if ast.unparse(one) in ("record", "entity")), None)


def _own_fields(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [part for part in node.body if isinstance(part, ast.AnnAssign) and "ClassVar" not in text_of(part)]


def _all_fields(node: ast.ClassDef, known: dict[str, list[_Field]]) -> list[_Field]:
    inherited = [field for base in node.bases for field in known.get(ast.unparse(base), [])]
    return [*inherited, *map(_field, _own_fields(node))]


def _imported_bases(tree: ast.Module, read: Callable[[str], str]) -> dict[str, list[_Field]]:
    """Return the fields of the records that this module imports and inherits from."""
    base_names = {ast.unparse(base) for node in tree.body if isinstance(node, ast.ClassDef) for base in node.bases}
    found: dict[str, list[_Field]] = {}
    for node in tree.body:
        names = {alias.name for alias in node.names} & base_names if isinstance(node, ast.ImportFrom) else set()
        if isinstance(node, ast.ImportFrom) and node.module and names:
            fields: dict[str, list[_Field]] = {}
            for part in ast.parse(read(node.module)).body:
                if isinstance(part, ast.ClassDef) and _record_decorator(part) is not None:
                    fields[part.name] = _all_fields(part, fields)
            found |= {name: fields[name] for name in names & fields.keys()}
    return found


def _make_final(tree: ast.Module, lines: list[str]) -> None:
    """Let the module's constants, which are written in capitals, be known to be constant."""
    changed = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name(name)], ast.Call() | ast.Constant() | ast.Tuple() | ast.UnaryOp() as value):
                kind, before = "", node.targets[0]
            case ast.AnnAssign(ast.Name(name), ast.expr() as before, ast.expr() as value):
                kind = f"[{ast.unparse(before)}]"
            case _:
                continue
        is_type = isinstance(value, ast.Call) and ast.unparse(value.func) == "TypeVar"
        if name.isupper() and name not in changed and not is_type and before.end_lineno == node.lineno:
            _, _, start = lines[node.lineno - 1].encode()[before.end_col_offset :].decode().partition("=")
            lines[node.lineno - 1] = f"{name}: _Final{kind} ={start}"


def text_of(node: ast.AnnAssign) -> str:
    """Return a field's type as it is written."""
    return ast.unparse(node.annotation)


def _field(part: ast.AnnAssign) -> _Field:
    name, kind = ast.unparse(part.target), text_of(part)
    if not (isinstance(part.value, ast.Call) and ast.unparse(part.value.func) == "field"):
        return _Field(name, kind, ast.unparse(part.value) if part.value else None, None, True)
    said = {word.arg: ast.unparse(word.value) for word in part.value.keywords}
    return _Field(name, kind, said.get("default"), said.get("default_factory"), said.get("compare") != "False")


def _methods(node: ast.ClassDef, fields: list[_Field], is_record: bool) -> list[str]:
    have = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
    params, body = ["self"], []
    for field in fields:
        if field.makes is not None:
            bare = field.type.replace("'", "").replace('"', "")
            params.append(f"{field.name}: '{bare} | None' = None")
            body.append(f"self.{field.name} = ({field.makes})() if {field.name} is None else {field.name}")
        else:
            params.append(f"{field.name}: {field.type}" + (f" = {field.default}" if field.default is not None else ""))
            body.append(f"self.{field.name} = {field.name}")
    all_of = "".join(f"self.{field.name}, " for field in fields)
    compared = [field.name for field in fields if field.compare]
    methods = [
        f"__match_args__: _Final = {tuple(field.name for field in fields)!r}",
        f"def __init__({', '.join(params)}) -> None:",
        *(f"    {line}" for line in body or ["pass"]),
        "def __reduce__(self) -> tuple[object, ...]:",
        f"    return ({node.name}, ({all_of}))",
    ]
    if is_record and "__eq__" not in have:
        same = " and ".join(f"self.{name} == other.{name}" for name in compared) or "True"
        methods += [
            "def __eq__(self, other: object) -> bool:",
            f"    return isinstance(other, {node.name}) and {same}",
        ]
    if is_record and "__hash__" not in have:
        methods += [
            "def __hash__(self) -> int:",
            f"    return hash(({''.join(f'self.{name}, ' for name in compared)}))",
        ]
    if is_record and "__repr__" not in have:
        methods += ["def __repr__(self) -> str:", "    return _records.shown(self)"]
    return ["    " + line for line in methods]


def _blank(lines: list[str], part: ast.stmt, instead: str) -> None:
    """Put another statement instead of one, on its first line."""
    first, last = part.lineno - 1, (part.end_lineno or part.lineno) - 1
    rest = lines[last].encode()[part.end_col_offset or 0 :].decode()
    lines[first] = lines[first].encode()[: part.col_offset].decode() + instead + rest
    for line in range(first + 1, last + 1):
        lines[line] = ""
