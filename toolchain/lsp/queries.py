"""Questions about a place in a text: hover, definition, references, signature help. Plain values in and out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ktc.lsp.analysis import Analysis, Document, walk
from ktc.lsp.facts import Declared, Fact
from ktc.lsp.positions import word_at
from ktc.syntax import ast
from ktc.syntax.headers import header

_SPACES = re.compile(r"\s+")


def fact_at(analysis: Analysis, offset: int) -> Fact | None:
    """Return the fact about the smallest expression at an offset; names come before the expressions around them."""
    around = [one for (start, end), one in analysis.facts.items() if start <= offset <= end]
    best = min(around, key=lambda one: (one.end - one.start, one.declared is None), default=None)
    if best is not None and best.declared is not None:
        return best
    return _declaration(analysis, offset) or best


def _declaration(analysis: Analysis, offset: int) -> Fact | None:
    """Return the declaration whose name stands at an offset."""
    module = analysis.module
    if module is None:
        return None
    for start, (end, type_) in analysis.variables.items():
        if start <= offset <= end:
            return Fact(start, end, "variable", analysis.text[start:end], type_, Declared(module.source, start, end))
    for node in walk(module):
        if isinstance(node, ast.StructDecl):
            for one in node.body:
                target = one.target if isinstance(one, ast.VarDecl) else None
                if isinstance(target, ast.Name) and target.start <= offset <= target.end:
                    assert isinstance(one, ast.VarDecl)
                    type_ = analysis.text[one.type.start : one.type.end] if one.type is not None else ""
                    place = Declared(module.source, target.start, target.end)
                    return Fact(target.start, target.end, "field", target.id, type_, place)
        name = getattr(node, "name", "")
        start = getattr(node, "name_start", -1)
        if name and 0 <= start <= offset <= start + len(name) and not isinstance(node, ast.Attribute):
            kind, end = _KINDS.get(type(node), "value"), start + len(name)
            return Fact(start, end, kind, name, declared=Declared(module.source, start, end), node=node)
    return None


_KINDS: dict[type, str] = {
    ast.FunctionDecl: "function", ast.StructDecl: "struct", ast.TraitDecl: "trait", ast.Alias: "alias",
}  # fmt: skip


def hover(fact: Fact) -> str:
    """Return the Markdown text for a fact."""
    source = fact.declared.source if fact.declared is not None else None
    lines: list[str] = []
    if fact.functions:
        for one in fact.functions[:6]:
            lines.append(header(one.module.source.text, one.node))
        more = len(fact.functions) - 6
        lines += [f"# and {more} more"] if more > 0 else []
    elif isinstance(fact.node, ast.StructDecl | ast.TraitDecl | ast.FunctionDecl | ast.Alias) and source is not None:
        lines.append(header(source.text, fact.node))
        if fact.kind == "alias" and fact.type:
            lines[0] += f"  # {fact.type}"
    elif fact.kind in ("variable", "parameter", "field"):
        word = "var " if fact.kind != "parameter" else ""
        lines.append(f"{word}{fact.name}: {fact.type}")
    elif fact.kind == "module":
        lines.append(f"import {fact.name}")
    elif fact.type:
        lines.append(fact.type)
    if not lines:
        return ""
    doc = next((text for text in _docs(fact) if text), "")
    where = f"\n\n*{source.path}*" if source is not None and source.is_library else ""
    return "```mojo\n" + "\n".join(lines) + "\n```" + (f"\n\n{clean(doc)}" if doc else "") + where


def _docs(fact: Fact) -> Iterator[str]:
    for one in fact.functions:
        yield one.node.doc
    if isinstance(fact.node, ast.StructDecl | ast.TraitDecl | ast.FunctionDecl | ast.Module):
        yield fact.node.doc


def clean(doc: str) -> str:
    """Return a docstring without its indentation."""
    lines = doc.expandtabs().split("\n")
    rest = [line for line in lines[1:] if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in rest), default=0)
    return "\n".join([lines[0].strip(), *(line[margin:].rstrip() for line in lines[1:])]).strip()


def references(analysis: Analysis, target: Declared, word: str) -> list[tuple[int, int]]:
    """Return where the analysed text names a declaration, the declaration itself among them."""
    found = {
        (one.start, one.end)
        for one in analysis.facts.values()
        if one.declared is not None and _same(one.declared, target) and analysis.text[one.start : one.end] == word
    }
    if analysis.module is not None and analysis.module.source.path == target.source.path:
        found.add((target.start, target.end))
    for node in walk(analysis.module):
        if isinstance(node, ast.FromImport):
            found |= _imported(analysis, node, target, word)
        elif isinstance(node, ast.Call):
            found |= _keywords(analysis, node, target, word)
    return sorted(found)


def _keywords(analysis: Analysis, node: ast.Call, target: Declared, word: str) -> set[tuple[int, int]]:
    """Return where a call names an argument that stands at `target` in its function."""
    names = [one for one in node.keywords if one.name == word]
    if not names:
        return set()
    func = node.func
    while isinstance(func, ast.Subscript):
        func = func.base
    place = (
        (func.name_start, func.name_start + len(func.name))
        if isinstance(func, ast.Attribute)
        else (func.start, func.end)
    )
    fact = analysis.facts.get(place)
    functions = list(fact.functions) if fact is not None else []
    if fact is not None and fact.owner is not None and not functions:
        functions = list(getattr(fact.owner.members.get("__init__"), "functions", ()))
    own = [arg for one in functions if one.module.source.path == target.source.path for arg in one.node.args]
    is_target = any(arg.name == word and arg.start <= target.start <= arg.end for arg in own)
    return {(one.start, one.start + len(word)) for one in names} if is_target else set()


def _same(one: Declared, other: Declared) -> bool:
    return one.start == other.start and one.source.path == other.source.path


def _imported(analysis: Analysis, node: ast.FromImport, target: Declared, word: str) -> set[tuple[int, int]]:
    """Return where an import names a declaration of another file."""
    if target.source.path == (analysis.module.source.path if analysis.module else "") or analysis.package is None:
        return set()
    module = analysis.package.find(node.module) if not node.level else None
    if module is None or module.source.path != target.source.path:
        return set()
    text = analysis.text[node.start : node.end]
    head = text.find("import") + len("import")
    return {(node.start + m.start(), node.start + m.end()) for m in re.finditer(rf"\b{re.escape(word)}\b", text)
            if m.start() >= head}  # fmt: skip


@dataclass(slots=True)
class Call:
    """A call around a place.

    Args:
        name_end: where what is called ends. active: the number of the argument, from 0. keyword: its name, if written.
    """

    name_end: int
    active: int
    keyword: str


def call_around(text: str, offset: int) -> Call | None:
    """Return the innermost call whose arguments an offset stands in."""
    depth, commas, at, piece = 0, 0, offset - 1, offset
    while at >= 0 and offset - at < 5000:
        char = text[at]
        if char in ")]}":
            depth += 1
        elif char in "([{":
            if depth:
                depth -= 1
            elif char == "(" and at and (text[at - 1].isalnum() or text[at - 1] in "_])`"):
                found = re.match(r"\s*(\w+)\s*=(?!=)", text[piece if commas else at + 1 : offset])
                return Call(at, commas, found[1] if found else "")
            else:
                return None
        elif char == "," and not depth:
            if not commas:
                piece = at + 1
            commas += 1
        at -= 1
    return None


def called(document: Document, analysis: Analysis, call: Call) -> Fact | None:
    """Return the callee: by the facts of the last good text, whose places may have moved a little."""
    end = call.name_end
    text = document.text
    if end and text[end - 1] == "]":
        depth = 0
        while end:
            end -= 1
            depth += (text[end] == "]") - (text[end] == "[")
            if not depth:
                break
    start, end = word_at(text, end)
    word = text[start:end]
    candidates = [
        one for one in analysis.facts.values() if one.name == word and (one.functions or one.kind == "struct")
    ]
    return min(candidates, key=lambda one: abs(one.start - start), default=None)


def signatures(fact: Fact) -> list[tuple[str, list[str], str]]:
    """Return (text, its arguments, documentation) of the functions that a fact may be."""
    functions = list(fact.functions)
    if fact.kind == "struct" and fact.owner is not None:
        made = fact.owner.members.get("__init__")
        functions = list(getattr(made, "functions", ()))
    found = []
    for one in functions:
        source = one.module.source.text
        args = [_SPACES.sub(" ", source[arg.start : arg.end]) for arg in one.node.args]
        names = [arg.name for arg in one.node.args]
        kept = [arg for arg, name in zip(args, names, strict=True) if not (name == "self" and one.owner is not None)]
        result = _SPACES.sub(" ", source[one.node.result.start : one.node.result.end]) if one.node.result else ""
        title = fact.name if one.node.name == "__init__" else one.node.name
        found.append((f"{title}({', '.join(kept)})" + (f" -> {result}" if result else ""), kept, clean(one.node.doc)))
    return found
