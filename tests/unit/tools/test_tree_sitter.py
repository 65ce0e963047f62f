"""The tree-sitter grammar: no error in any file that ktc's parser takes, and queries that name what there is."""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source
from ktc.syntax.parsing.parser import parse
from ktc.syntax.parsing.tables import load_tables

tree_sitter = pytest.importorskip("tree_sitter")
ROOT = Path(__file__).parents[3]
GRAMMAR = ROOT / "editors" / "tree-sitter-ktc"
FOLDERS = ("stdlib", "examples", "benchmarks", "tests")
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="wants a C compiler")


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> "tree_sitter.Language":
    made = tmp_path_factory.mktemp("grammar") / "kpy.so"
    sources = [GRAMMAR / "src" / name for name in ("parser.c", "scanner.c")]
    subprocess.run(["cc", "-shared", "-fPIC", "-Werror", "-I", GRAMMAR / "src", *sources, "-o", made], check=True)
    function = ctypes.CDLL(str(made)).tree_sitter_kpy
    function.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return tree_sitter.Language(capsule(function(), b"tree_sitter.Language", None))


def errors(node: "tree_sitter.Node") -> Iterator["tree_sitter.Node"]:
    if node.is_error or node.is_missing:
        yield node
    elif node.has_error:
        for child in node.children:
            yield from errors(child)


def test_every_file_of_the_project(language: "tree_sitter.Language") -> None:
    """A file with an error node is one that ktc refuses to parse as well."""
    parser, refused, count = tree_sitter.Parser(language), [], 0
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".kpy", ".mojo"):
                continue
            tree = parser.parse(path.read_bytes())
            count += 1
            if tree.root_node.has_error:
                refused.append(path)
    assert count > 900 and len(refused) < 25
    tables = load_tables(None)
    for path in refused:
        sink = Sink()
        parse(Source(str(path), path.read_text("utf-8")), sink, None, tables)
        wrong = [node.start_point.row + 1 for node in errors(parser.parse(path.read_bytes()).root_node)]
        assert sink.diagnostics, f"{path}: errors in the lines {wrong} that ktc does not find"


def test_an_error_keeps_the_rest(language: "tree_sitter.Language") -> None:
    text = b"def before():\n    pass\n\ndef wrong():\n    var x = = 3\n\ndef after(n: Int) -> Int:\n    return n\n"
    root = tree_sitter.Parser(language).parse(text).root_node
    names = [child.child_by_field_name("name").text for child in root.children if child.type == "function_definition"]
    assert names == [b"before", b"wrong", b"after"] and len(list(errors(root))) == 1


def test_after_edits_the_tree_is_that_of_a_new_parse(language: "tree_sitter.Language") -> None:
    parser = tree_sitter.Parser(language)
    text = (ROOT / "examples/vector_addition.kpy").read_bytes()
    tree = parser.parse(text)
    for at in range(0, len(text), 97):
        changed = text[:at] + b" x\n" + text[at:]
        line, column = text.count(b"\n", 0, at), at - (text.rfind(b"\n", 0, at) + 1)
        tree = parser.parse(text)
        tree.edit(at, at, at + 3, (line, column), (line, column), (line + 1, 0))
        again = parser.parse(changed, tree)
        fresh = parser.parse(changed)
        if not fresh.root_node.has_error:
            assert str(again.root_node) == str(fresh.root_node)
    assert not tree.root_node.has_error


@pytest.mark.parametrize("name", ["highlights", "folds", "locals"])
def test_the_queries_name_nodes_of_the_grammar(language: "tree_sitter.Language", name: str) -> None:
    query = tree_sitter.Query(language, (GRAMMAR / "queries" / f"{name}.scm").read_text())
    tree = tree_sitter.Parser(language).parse((ROOT / "examples/vector_addition.kpy").read_bytes())
    found = tree_sitter.QueryCursor(query).captures(tree.root_node)
    assert found
    if name == "highlights":
        assert {"keyword", "function", "type", "string", "comment"} <= set(found)
        assert any(node.text == b"main" for node in found["function"])


def test_the_words_of_the_lexer_are_those_of_the_scanner() -> None:
    scanner = (GRAMMAR / "src/scanner.c").read_text()
    listed = re.search(r"CONVENTIONS\[\] = \{([^}]*)\}", scanner)
    text = (ROOT / "toolchain/syntax/lexing/lexer.py").read_text()
    lexer = re.search(r"_CONVENTIONS = frozenset\(\(([^)]*)\)", text)
    more = re.search(r"_CONVENTIONS_2026 = _CONVENTIONS \| \{([^}]*)\}", text)
    assert listed and lexer and more
    assert set(re.findall(r'"(\w+)"', listed[1])) == set(re.findall(r'"(\w+)"', lexer[1] + more[1]))
