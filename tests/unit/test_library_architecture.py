"""The rules of the house for the library: sizes of its folders, files and functions."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from ktc.base.cache import Cache
from ktc.diag.diagnostic import Sink
from ktc.syntax import ast
from ktc.syntax.loader import read_source
from ktc.syntax.parsing.parser import parse
from ktc.syntax.parsing.tables import load_tables

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "stdlib"

MAX_FILES, MAX_LINES, MAX_FUNCTION_LINES = 30, 800, 60

Modules = dict[Path, ast.Module]


@pytest.fixture(scope="module")
def modules(cache_folder: Path) -> Modules:
    """The library's files, parsed."""
    store, sink, found = Cache(cache_folder), Sink(), {}
    tables = load_tables(store)
    for path in sorted(LIBRARY.rglob("*.kpy")):
        source = read_source(path, sink, True, {})
        module = parse(source, sink, store, tables) if source is not None else None
        assert module is not None, f"{path} has errors"
        found[path] = module
    return found


def functions(body: tuple[ast.Stmt, ...] | None) -> Iterator[ast.FunctionDecl]:
    for statement in body or ():
        if isinstance(statement, ast.FunctionDecl):
            yield statement
        if isinstance(statement, ast.FunctionDecl | ast.StructDecl | ast.TraitDecl | ast.Extension):
            yield from functions(statement.body)


def lines_of(module: ast.Module, node: ast.Node) -> int:
    """Return how many lines a declaration has, without its decorators."""
    source = module.source
    return source.position(node.end)[0] - source.position(node.start)[0] + 1


def test_folders_are_small(modules: Modules) -> None:
    """Modules that the reference's library names lie where programs import them from, and do not count."""
    text = (ROOT / "tests/fixtures/library_names.txt").read_text("utf-8")
    named = set(re.findall(r"^([\w.]+):", text, re.MULTILINE))
    own = [path for path in modules if ".".join(path.relative_to(LIBRARY).with_suffix("").parts) not in named]
    files = Counter(path.parent.relative_to(LIBRARY).as_posix() for path in own)
    assert {folder: count for folder, count in files.items() if count > MAX_FILES} == {}


def test_files_are_short(modules: Modules) -> None:
    """A struct stays in one file (toolchain/DECISIONS.md), so the largest of a file does not count."""
    for path, module in modules.items():
        structs = [lines_of(module, one) for one in module.body if isinstance(one, ast.StructDecl)]
        lines = module.source.text.count("\n") - max(structs, default=0)
        assert lines <= MAX_LINES, f"{path.relative_to(ROOT)} has {lines} lines beside its largest struct"


def test_functions_are_short(modules: Modules) -> None:
    """Docstrings do not count: that of a public function has a line for each parameter."""
    long = []
    for path, module in modules.items():
        for function in functions(module.body):
            documentation = function.doc.count("\n") + 1 if function.doc else 0
            lines = lines_of(module, function) - documentation
            if lines > MAX_FUNCTION_LINES:
                long.append(f"{path.relative_to(ROOT)}: '{function.name}' has {lines} lines")
    assert not long, "\n".join([f"{len(long)} functions are long", *sorted(long)])
