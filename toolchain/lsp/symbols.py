"""An outline of a text's declarations; its blocks, to fold; the colours of its words; types to show in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ktc.base.editions import Edition
from ktc.lsp.analysis import Analysis, walk
from ktc.syntax import ast
from ktc.syntax.lexing.lex_error import LexError
from ktc.syntax.lexing.lexer import Lexer
from ktc.syntax.parsing.tables import Tables

TOKEN_TYPES = (
    "namespace", "type", "struct", "interface", "typeParameter", "parameter", "variable", "property", "function",
    "method", "keyword", "comment", "string", "number", "operator", "decorator",
)  # fmt: skip
_TOKEN_OF_KIND = {
    "variable": "variable", "parameter": "parameter", "function": "function", "method": "method", "struct": "struct",
    "trait": "interface", "alias": "type", "field": "property", "module": "namespace",
}  # fmt: skip
_COMMENT = re.compile(r"#[^\n]*")


@dataclass(slots=True)
class Symbol:
    """A declaration: `kind` is function, method, struct, trait, alias, field or variable."""

    name: str
    kind: str
    start: int
    end: int
    name_start: int
    inner: list["Symbol"] = field(default_factory=list)


def outline(module: ast.Module | None) -> list[Symbol]:
    """Return the declarations of a module, with those inside of them."""
    return _symbols(module.body, "") if module is not None else []


def _symbols(body: tuple[ast.Stmt, ...] | None, inside: str) -> list[Symbol]:
    found = []
    for node in body or ():
        match node:
            case ast.FunctionDecl():
                kind = "method" if inside in ("struct", "trait") else "function"
                inner = [one for one in _symbols(node.body, kind) if one.kind == "function"]
                found.append(Symbol(node.name, kind, node.start, node.end, node.name_start, inner))
            case ast.StructDecl() | ast.TraitDecl():
                kind = "struct" if isinstance(node, ast.StructDecl) else "trait"
                found.append(Symbol(node.name, kind, node.start, node.end, node.name_start, _symbols(node.body, kind)))
            case ast.Alias(is_hidden=False):
                found.append(Symbol(node.name, "alias", node.start, node.end, node.name_start))
            case ast.VarDecl(target=ast.Name() as target) if inside in ("struct", "trait", ""):
                kind = "field" if inside else "variable"
                found.append(Symbol(target.id, kind, node.start, node.end, target.start))
    return found


def folds(module: ast.Module | None) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each declaration and block, which can be folded."""
    kinds = (ast.FunctionDecl, ast.StructDecl, ast.TraitDecl, ast.If, ast.For, ast.While, ast.With, ast.Try)
    for node in walk(module):
        if isinstance(node, kinds):
            yield node.start, node.end


def tokens(text: str, analysis: Analysis | None, tables: Tables) -> list[tuple[int, int, str]]:
    """Return (start, end, type) of the words of a text, in order; `facts` say what names mean."""
    module = analysis.module if analysis is not None else None
    lexer = Lexer(tables, module.edition if module is not None else Edition.Y2025)
    try:
        cut = lexer.lex(text, 0, len(text))
    except LexError:
        return []
    facts = analysis.facts if analysis is not None and analysis.text == text else {}
    variables = analysis.variables if analysis is not None and analysis.text == text else {}
    found: list[tuple[int, int, str]] = []
    end = 0
    before = ""
    for type_, start, stop in zip(cut.types, cut.starts, cut.ends, strict=True):
        if start >= end:
            found += [(m.start(), m.end(), "comment") for m in _COMMENT.finditer(text, end, start)]
        if start == stop:
            continue
        word, kind = text[start:stop], ""
        if type_ == lexer.string:
            kind = "string"
        elif type_ in (lexer.integer, lexer.floating):
            kind = "number"
        elif type_ == lexer.name:
            fact = facts.get((start, stop))
            kind = _TOKEN_OF_KIND.get(fact.kind, "") if fact is not None else ""
            kind = kind or ("variable" if start in variables else "") or _by_place(before)
        elif word[0].isalpha() or word[0] == "_":
            kind = "keyword"
        if kind:
            found.append((start, stop, kind))
        before, end = word, stop
    found += [(m.start(), m.end(), "comment") for m in _COMMENT.finditer(text, end)]
    return found


def _by_place(before: str) -> str:
    """Return the kind of a name by the word before it."""
    return {
        "fn": "function", "def": "function", "struct": "struct", "trait": "interface", "alias": "type",
        "@": "decorator", ".": "property", "import": "namespace", "from": "namespace",
    }.get(before, "variable")  # fmt: skip


def inlays(analysis: Analysis) -> list[tuple[int, str]]:
    """Return (offset, text) of types that variables have and that are not written."""
    if analysis.module is None:
        return []
    typed = {
        node.target.start for node in walk(analysis.module)
        if isinstance(node, ast.VarDecl) and node.type is not None and isinstance(node.target, ast.Name)
    }  # fmt: skip
    declared = set()
    for node in walk(analysis.module):
        if isinstance(node, ast.VarDecl | ast.For):
            items = node.target.items if isinstance(node.target, ast.TupleLit) else (node.target,)
            declared |= {item.start for item in items if isinstance(item, ast.Name)} - typed
    return [(end, f": {type_}") for start, (end, type_) in sorted(analysis.variables.items()) if start in declared]
