"""Completion: members after a dot, names of modules in imports, names and arguments elsewhere.

The text with what stands before the dot as a statement is elaborated, so members are those of the real type. Where that
text does not parse for other reasons, the last good facts serve.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ktc import config as configs
from ktc.elaborate.model.declarations import AliasInfo, OverloadSet, StructInfo
from ktc.elaborate.model.spelling import INDICES
from ktc.elaborate.resolve.suggestions import module_names
from ktc.lsp import incomplete_input, queries
from ktc.lsp.analysis import Analysis, Document, Workspace, analyse, walk
from ktc.lsp.positions import word_at
from ktc.syntax import ast
from ktc.syntax.headers import header
from ktc.syntax.loader import Package

_PLACEHOLDER = "ktc_completed_"
_FROM = re.compile(r"^\s*from\s+([\w.]*)\s+import\s+[\w\s,(]*$")
_IMPORT = re.compile(r"^\s*(?:from|import)\s+([\w.]*)$")
KEYWORDS = (
    "alias", "and", "as", "break", "comptime", "continue", "def", "elif", "else", "except", "finally", "fn", "for",
    "from", "if", "import", "in", "is", "mut", "not", "or", "out", "pass", "raise", "raises", "ref", "return", "struct",
    "trait", "try", "var", "while", "with", "True", "False", "None",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Proposal:
    """One word that could stand there; `kind` as in `symbols.Symbol`, or "keyword", "module", "argument"."""

    name: str
    kind: str
    detail: str = ""
    doc: str = ""


def complete(workspace: Workspace, document: Document, offset: int) -> list[Proposal]:
    """Return the proposals at an offset."""
    text = document.text
    start, _ = word_at(text, offset)
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    if (found := _FROM.match(line)) is not None:
        return _names_of_module(document.good, found[1])
    if (found := _IMPORT.match(line)) is not None:
        return _modules(found[1])
    if start and text[start - 1] == ".":
        return _members(workspace, document, start, offset)
    found_names = {one.name: one for one in _arguments(document, offset)}
    for one in _names(document, offset):
        found_names.setdefault(one.name, one)
    for word in KEYWORDS:
        found_names.setdefault(word, Proposal(word, "keyword"))
    return [*found_names.values()]


def _members(workspace: Workspace, document: Document, start: int, offset: int) -> list[Proposal]:
    text = document.text
    owner = None
    for tried, dot in _attempts(text, start, offset):
        overlays, tables, good = workspace.overlays(), workspace.tables, document.good
        analysis = workspace.run(partial(analyse, document.path, tried, overlays, tables, good=good))
        owner = _owner_before(analysis, dot)
        if owner is not None:
            break
    if owner is None and document.good is not None:
        word = text[slice(*word_at(text, start - 1))]
        near = [one for one in document.good.facts.values() if word and one.name == word and one.owner is not None]
        best = min(near, key=lambda one: abs(one.start - start), default=None)
        owner = best.owner if best is not None else None
    return _members_of(owner) if owner is not None else []


def _attempts(text: str, start: int, offset: int) -> Iterator[tuple[str, int]]:
    """Give texts from which the type before a dot may be known, and where that expression ends.

    The first one has the expression alone instead of its statement, the second one a made-up name after the dot.
    """
    yield incomplete_input.alone(text, start - 1, offset)
    yield text[:start] + _PLACEHOLDER + text[offset:], start - 1


def _owner_before(analysis: Analysis, dot: int) -> StructInfo | None:
    """Return the struct of the expression that ends at a dot."""
    for (_, end), fact in analysis.facts.items():
        if end == dot and fact.owner is not None:
            return fact.owner
    return None


def _members_of(owner: StructInfo) -> list[Proposal]:
    found = [Proposal(name, "field") for name in "xyz" if owner.name in INDICES]
    members: dict[str, Any] = {**owner.members, **owner.inherited_members}
    for name, member in members.items():
        if name.startswith("_") or member is None:
            continue
        if isinstance(member, OverloadSet):
            first = member.functions[0]
            detail = header(first.module.source.text, first.node)
            found.append(Proposal(name, "method", detail, queries.clean(first.node.doc)))
        elif isinstance(member, AliasInfo):
            found.append(Proposal(name, "alias", header(member.module.source.text, member.node)))
        else:
            found.append(Proposal(name, "field"))
    fields = {node.target.id for node in owner.field_nodes if isinstance(node.target, ast.Name)}
    known = {one.name for one in found}
    return found + [Proposal(name, "field") for name in sorted(fields - known) if not name.startswith("_")]


def _arguments(document: Document, offset: int) -> list[Proposal]:
    """Return the names of the arguments of the call around."""
    call = queries.call_around(document.text, offset)
    if call is None or document.good is None:
        return []
    fact = queries.called(document, document.good, call)
    found = []
    for text, args, _ in queries.signatures(fact) if fact is not None else ():
        for arg in args:
            name = re.match(r"(?:\w+ )?(\w+)\s*:", arg)
            if name is not None:
                found.append(Proposal(f"{name[1]}=", "argument", text))
    return found


def _names(document: Document, offset: int) -> list[Proposal]:
    """Return the names that a place can see: of its functions, its module, its imports, and of every module."""
    good = document.good
    if good is None or good.module is None:
        return []
    found: dict[str, Proposal] = {}
    for start, (end, type_) in good.variables.items():
        if start < offset:
            found.setdefault(good.text[start:end], Proposal(good.text[start:end], "variable", type_))
    for node in walk(good.module):
        if isinstance(node, ast.FunctionDecl) and node.start <= offset <= node.end + 1:
            for arg in (*node.args, *node.params):
                found.setdefault(arg.name, Proposal(arg.name, "variable"))
    for one in _declared(good.module):
        found.setdefault(one.name, one)
    if good.package is not None:
        prelude = good.package.find("std.prelude")
        for one in _declared(prelude) if prelude is not None else ():
            if not one.name.startswith("_"):
                found.setdefault(one.name, one)
    found.pop("", None)
    return [*found.values()]


def _declared(module: ast.Module) -> list[Proposal]:
    found = []
    for node in module.body:
        if isinstance(node, ast.Alias) and node.is_hidden:
            continue
        if isinstance(node, ast.FunctionDecl | ast.StructDecl | ast.TraitDecl | ast.Alias):
            kind = {ast.FunctionDecl: "function", ast.StructDecl: "struct", ast.TraitDecl: "trait"}.get(
                type(node), "alias"
            )
            doc = queries.clean(getattr(node, "doc", ""))
            found.append(Proposal(node.name, kind, header(module.source.text, node), doc))
        elif isinstance(node, ast.FromImport):
            found += [
                Proposal(alias or name, "variable", f"from {node.module}") for name, alias in node.names if name != "*"
            ]
        elif isinstance(node, ast.Import):
            found += [Proposal(alias or name.split(".")[0], "module") for name, alias in node.names]
    return found


def _names_of_module(good: Analysis | None, dotted: str) -> list[Proposal]:
    package: Package | None = good.package if good is not None else None
    module = package.find(dotted) if package is not None else None
    return [one for one in _declared(module) if not one.name.startswith("_")] if module is not None else []


def _modules(start: str) -> list[Proposal]:
    """Return modules whose dotted name starts so; the part after the last dot is what is inserted."""
    prefix = start.rpartition(".")[0]
    library = configs.stdlib_folder()
    if not prefix:
        return [Proposal(name, "module") for name in module_names((), library)]
    folder = Path(library, *prefix.split("."))
    names = (
        {path.stem for path in folder.glob("*") if path.is_dir() or path.suffix == ".kpy"} if folder.is_dir() else set()
    )
    return [Proposal(name, "module") for name in sorted(names) if not name.startswith("_")]
