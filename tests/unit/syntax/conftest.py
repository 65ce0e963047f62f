"""Shared by the tests of `ktc.syntax`: ways to parse a snippet."""

from collections.abc import Callable

import pytest
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.diag.source import Source
from ktc.syntax import ast
from ktc.syntax.parsing.parser import parse
from ktc.syntax.parsing.tables import Tables

Parse = Callable[[str], ast.Module]
Errors = Callable[[str], list[Diagnostic]]


@pytest.fixture(scope="session")
def parsed(tables: Tables) -> Parse:
    """Parse a text that must be right."""

    def run(text: str) -> ast.Module:
        sink = Sink()
        module = parse(Source("t.kpy", text), sink, None, tables)
        assert module is not None, [d.message for d in sink.diagnostics]
        return module

    return run


@pytest.fixture(scope="session")
def errors(tables: Tables) -> Errors:
    """Parse a text that must be wrong."""

    def run(text: str) -> list[Diagnostic]:
        sink = Sink()
        assert parse(Source("t.kpy", text), sink, None, tables) is None
        return sink.diagnostics

    return run


@pytest.fixture(scope="session")
def statement(parsed: Parse) -> Callable[[str], ast.Stmt]:
    """Parse one statement of a function."""

    def run(text: str) -> ast.Stmt:
        body = "\n".join("    " + line for line in text.split("\n"))
        function = parsed(f"fn f():\n{body}\n").body[0]
        assert isinstance(function, ast.FunctionDecl)
        assert function.body is not None
        assert len(function.body) == 1
        return function.body[0]

    return run
