"""A module's documentation: declarations, their signatures, and their docstrings taken apart.

Input: a parsed module. Output: plain dictionaries, the same that `ktc doc --format json` prints.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ktc.syntax import ast
from ktc.syntax.headers import header

Row = dict[str, Any]
_SECTION = re.compile(r"^(Args|Parameters|Returns|Raises|Constraints|Examples?|Notes?|Safety):\s*(.*)$")
_ENTRY = re.compile(r"^\s*\*{0,2}`?(\w+)`?\s*(?:\([^)]*\))?:\s*(.*)$")
_BEHIND = re.compile(r'[ \t]*(?:#[^\n]*)?\n\s*"""(.*?)"""', re.DOTALL)
_SPACES = re.compile(r"\s+")


def module_row(name: str, module: ast.Module) -> Row:
    """Return the documentation of a module: its names without an underscore in front."""
    row: Row = {"name": name, "path": module.source.path, **docstring(module.doc)}
    row |= _members(module, module.body, "")
    return row


def _members(module: ast.Module, body: Sequence[ast.Stmt], inside: str) -> Row:
    functions: dict[str, list[Row]] = {}
    row: Row = {"aliases": [], "structs": [], "traits": [], "functions": [], "fields": []}
    for node in body:
        match node:
            case ast.FunctionDecl() if _is_public(node.name, inside):
                functions.setdefault(node.name, []).append(function_row(module, node))
            case ast.StructDecl() if _is_public(node.name, ""):
                row["structs"].append(_struct(module, node))
            case ast.TraitDecl() if _is_public(node.name, ""):
                row["traits"].append(_struct(module, node))
            case ast.Alias() if _is_public(node.name, ""):
                row["aliases"].append(_named(module, node, node.name, node.name_start, _following(module, node)))
            case ast.VarDecl(target=ast.Name() as target) if inside and _is_public(target.id, ""):
                row["fields"].append(_named(module, node, target.id, target.start, _following(module, node)))
    row["functions"] = [{"name": name, "overloads": rows} for name, rows in functions.items()]
    return row


def _is_public(name: str, inside: str) -> bool:
    return not name.startswith("_") or (bool(inside) and name.startswith("__") and name.endswith("__"))


def _following(module: ast.Module, node: ast.Alias | ast.VarDecl) -> str:
    """Return the docstring of a field or an alias, which stands after it."""
    found = _BEHIND.match(module.source.text, node.end)
    return found[1] if found is not None else ""


def _named(module: ast.Module, node: ast.Alias | ast.VarDecl, name: str, start: int, doc: str) -> Row:
    line = module.source.position(start)[0]
    return {"name": name, "line": line, "signature": _text(module, node.start, node.end), **docstring(doc)}


def _struct(module: ast.Module, node: ast.StructDecl | ast.TraitDecl) -> Row:
    row: Row = {
        "name": node.name, "line": module.source.position(node.name_start)[0],
        "signature": header(module.source.text, node),
        "traits": [_text(module, one.start, one.end) for one in node.traits],
        "parameters": [_argument(module, one) for one in node.params if one.name], **docstring(node.doc),
    }  # fmt: skip
    inner = _members(module, node.body, node.name)
    return row | {"fields": inner["fields"], "aliases": inner["aliases"], "methods": inner["functions"]}


def function_row(module: ast.Module, node: ast.FunctionDecl) -> Row:
    """Return the documentation of one overload."""
    result = _text(module, node.result.start, node.result.end) if node.result is not None else ""
    return {
        "name": node.name, "line": module.source.position(node.name_start)[0],
        "signature": header(module.source.text, node), "raises": node.raises, "result": result,
        "parameters": [_argument(module, one) for one in node.params if one.name],
        "args": [_argument(module, one) for one in node.args if one.name],
        "decorators": [_text(module, one.start, one.end) for one in node.decorators], **docstring(node.doc),
    }  # fmt: skip


def _argument(module: ast.Module, one: ast.Param) -> Row:
    type_ = _text(module, one.type.start, one.type.end) if one.type is not None else ""
    default = _text(module, one.default.start, one.default.end) if one.default is not None else None
    return {"name": one.name, "type": type_, "default": default, "convention": one.convention, "kind": one.kind}


def _text(module: ast.Module, start: int, end: int) -> str:
    return _SPACES.sub(" ", module.source.text[start:end]).strip()


def clean(doc: str) -> str:
    """Return a docstring without its indentation."""
    lines = doc.expandtabs().split("\n")
    rest = [line for line in lines[1:] if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in rest), default=0)
    return "\n".join([lines[0].strip(), *(line[margin:].rstrip() for line in lines[1:])]).strip()


def docstring(doc: str) -> Row:
    """Take a docstring apart: its first sentence, the text after it, and the sections."""
    lines = clean(doc).split("\n")
    sections: dict[str, list[str]] = {"": []}
    current = ""
    for line in lines:
        found = _SECTION.match(line)
        if found is not None:
            current = found[1]
            sections[current] = [found[2]] if found[2] else []
        elif current and line and not line[0].isspace():
            current = ""
            sections[""] += ["", line]
        else:
            sections[current].append(line)
    text = "\n".join(sections.pop("")).strip()
    summary, _, rest = text.partition("\n\n")
    return {
        "summary": _SPACES.sub(" ", summary) if "```" not in summary else summary, "description": rest.strip(),
        "sections": {name: _section(name, body) for name, body in sections.items()},
    }  # fmt: skip


def _section(name: str, lines: list[str]) -> Any:
    """Return the entries of a section of names, or its text."""
    body = "\n".join(lines)
    if name not in ("Args", "Parameters"):
        return clean("\n" + body)
    entries: dict[str, str] = {}
    margin, current = -1, ""
    for line in lines:
        indent = len(line) - len(line.lstrip())
        found = _ENTRY.match(line)
        if found is not None and (margin < 0 or indent <= margin):
            margin, current = indent, found[1]
            entries[current] = found[2]
        elif current and line.strip():
            entries[current] += " " + line.strip()
    return entries


def problems(row: Row) -> Iterator[tuple[int, str]]:
    """Give (line, message) of docstrings that are missing or name what is not there."""
    if not row["summary"]:
        yield 1, "the module has no docstring"
    yield from _problems_of(row, "")


def _problems_of(row: Row, owner: str) -> Iterator[tuple[int, str]]:
    prefix = f"{owner}." if owner else ""
    for kind in ("structs", "traits"):
        for one in row.get(kind, ()):
            if not isinstance(one, dict):
                continue
            if not one["summary"]:
                yield one["line"], f"'{one['name']}' has no docstring"
            yield from _wrong(one, one["name"])
            yield from _problems_of(one, one["name"])
    for group in (*row.get("functions", ()), *row.get("methods", ())):
        for one in group["overloads"]:
            name = prefix + one["name"]
            if not one["summary"] and not one["name"].startswith("__") and name != "main":
                yield one["line"], f"'{name}' has no docstring"
            yield from _wrong(one, name)


def _wrong(one: Row, name: str) -> Iterator[tuple[int, str]]:
    for section, key in (("Args", "args"), ("Parameters", "parameters")):
        said = one["sections"].get(section, {})
        known = {arg["name"] for arg in one.get(key, ())}
        hidden = {
            arg["name"]
            for arg in one.get(key, ())
            if arg["name"].startswith("_") or arg["kind"] == "infer" or arg["convention"] == "out"  # the result
        }
        for unknown in sorted(set(said) - known):
            yield one["line"], f"the docstring of '{name}' describes '{unknown}', which is none of its {key}"
        for missing in sorted(known - set(said) - hidden - {"self"}) if said else ():
            yield one["line"], f"the docstring of '{name}' leaves out '{missing}' in '{section}:'"
