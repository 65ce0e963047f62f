"""One file's text to its `ast.Module`, from the cache if it was parsed before.

`parse` is the entry. It never raises for a user's text: every error is a `Diagnostic` in the sink. The driver of
the grammar is imported only when a text is new: a build that has changed one file unpickles the others.
"""

import gc
import hashlib
import io
import os
import pickle
from typing import Any

from ktc import native
from ktc.base import unpickling
from ktc.base.editions import ChosenEdition, Edition
from ktc.base.records import field_names, numbered, replace
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink, in_order
from ktc.diag.source import Source
from ktc.syntax import ast
from ktc.syntax.ast import expressions, simple_statements, statements
from ktc.syntax.editions import PROJECT_FILE, assign
from ktc.syntax.parsing.tables import Store, Tables, grammar_text, load_tables

numbered(1, expressions, simple_statements, statements)


def parse(source: Source, sink: Sink, cache: Store | None = None, tables: Tables | None = None) -> ast.Module | None:
    """Parse one file.

    Args:
        source: the file.
        sink: gets what is wrong.
        cache: where the grammar's tables and parsed modules are kept, if anywhere.
        tables: the grammar's tables, for a caller that parses many files; loaded if not given.

    Returns: the module, or None if anything was wrong.

    Reports: SYNTAX_ERROR, UNCLOSED_BRACKET, BAD_INDENT, BAD_LITERAL, TOO_DEEP.
    """
    assign(source, sink=sink)
    key = _module_key(source.as_read(), source.edition) if cache is not None else ""
    module = unpack(cache.get(key), source) if cache is not None else None
    if module is None:
        from ktc.syntax.parsing.lalr import Parser  # late: only after a cache miss

        collecting = gc.isenabled()
        gc.disable()
        tables = tables or load_tables(cache)
        try:
            own = Sink(policy=sink.policy)
            module = Parser(tables, source, own).module()
            found = own.diagnostics if module is not None else _with_other_edition(source, own, tables)
        finally:
            if collecting:
                gc.enable()
        for one in found:
            sink.report(one)
        if module is not None:
            module.source = source
            packed = pack(module) if cache is not None else None
            if cache is not None and packed is not None:  # a very deep tree is not kept: it is parsed in each build
                cache.put(key, packed)
    return module


def kept(source: Source, cache: Store) -> bytes | None:
    """Return the packed module of a text that was parsed."""
    return cache.get(_module_key(source.as_read(), source.edition))


_OF_FORMS = frozenset((Code.SYNTAX_ERROR, Code.WRONG_EDITION, Code.INVALID_LITERAL))
"""Errors that a text of the other edition can have."""


def _with_other_edition(source: Source, sink: Sink, tables: Tables) -> list[Diagnostic]:
    """Return the syntax errors of a text; where it is right in the other edition, the first one says so."""
    from ktc.syntax.parsing.lalr import Parser  # late: only for errors

    chosen, found = source.edition, list(sink.diagnostics)
    if chosen is None or source.is_library or not {one.code for one in found} <= _OF_FORMS:
        return found
    other = chosen.edition.other
    source.edition, elsewhere = ChosenEdition(other, ""), Sink()
    try:
        is_right = Parser(tables, source, elsewhere).module() is not None
    finally:
        source.edition = chosen
    first = in_order(found)[0]
    read = f"read in edition {chosen.edition.value} by"
    if is_right:
        switch = "" if PROJECT_FILE in chosen.reason else f": '--edition {other.value}'"
        hint = f"the file is right in edition {other.value}, and is {read} {chosen.reason}{switch}"
    elif " in line " in chosen.reason and first.span not in [one.span for one in elsewhere.diagnostics]:
        # Forms of both editions: this one is right in the other, and what decided is the other place to look at.
        hint = f"the file is {read} {chosen.reason}"
    else:
        return found
    found[found.index(first)] = replace(first, help="; ".join(filter(None, (first.help, hint))))
    return found


_DECIDING = ("ast", "building", "lexing", "parsing")
"""The folders that decide what a module becomes."""


def _fingerprint() -> bytes:
    """Return a digest of everything but the text that decides what a module becomes."""
    hasher = hashlib.sha256(b"module 2")
    for folder in _DECIDING:
        path = os.path.join(native.HOME, "syntax", folder)
        for name in sorted(name for name in os.listdir(path) if name.endswith(".py")):
            with open(os.path.join(path, name), "rb") as file:
                hasher.update(hashlib.sha256(file.read()).digest())
    hasher.update(grammar_text().encode())
    return hasher.digest()


_FINGERPRINT = _fingerprint()


def _module_key(text: str, chosen: ChosenEdition | None) -> str:
    """Return the cache key of a text's module."""
    edition = b"" if chosen is None or chosen.edition is Edition.Y2025 else chosen.edition.value.encode()
    return hashlib.sha256(_FINGERPRINT + edition + text.encode("utf-8", "surrogatepass")).hexdigest()


def pack(module: ast.Module) -> bytes | None:
    """Return a module without its source as bytes for `unpack`; None for a very deep one."""
    source = module.source
    module.source = None
    try:
        return _dumps(module)
    except RecursionError:
        return None
    finally:
        module.source = source


def unpack(data: bytes | None, source: Source) -> ast.Module | None:
    """Return the module that `pack` packed; None if the bytes are damaged."""
    collecting = gc.isenabled()
    gc.disable()  # trees are not garbage; looking for some doubles the time
    try:
        module = _unpickle(data)
    finally:
        if collecting:
            gc.enable()
    if module is not None:
        module.source = source
    return module


def _unpickle(data: bytes | None) -> ast.Module | None:
    if data is None:
        return None
    try:
        module = unpickling.loads(data)
    except Exception:  # a damaged entry is a miss, and damage can raise anything
        return None
    return module if isinstance(module, ast.Module) else None


class _Pickler(pickle.Pickler):
    """Packs the signatures and the bodies of functions for themselves."""

    def reducer_override(self, node: object) -> Any:
        """Reduce a node to a call of its class: short, fast, and the same for compiled classes."""
        if not isinstance(node, (ast.Node, ast.FunctionHead)):
            return NotImplemented
        kind: Any = type(node)
        if not isinstance(node, ast.FunctionDecl):
            return kind, tuple([getattr(node, name) for name in field_names(kind)])
        head, body = _dumps(node.head), _dumps(node.body)
        return kind, (node.start, node.end, node.name, node.name_start, node.decorators, head, body)


def _dumps(value: object) -> bytes:
    made = io.BytesIO()
    _Pickler(made, protocol=5).dump(value)
    return made.getvalue()
