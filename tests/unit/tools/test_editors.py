"""Highlighting: the Pygments lexer takes every text whole, and the grammar for editors is well formed."""

import json
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from ktc.tools.documentation.highlighting import KpyLexer
from pygments.token import Error, Keyword, Name, Number, String

ROOT = Path(__file__).parents[3]
EDITOR = ROOT / "editors" / "vscode"


@pytest.mark.parametrize("folder", ["examples", "tests/run"])
def test_tokens_join_to_the_text(folder: str) -> None:
    for path in sorted((ROOT / folder).glob("*.kpy"))[::6]:
        text = path.read_text("utf-8")
        found = list(KpyLexer(stripnl=False, ensurenl=False).get_tokens(text))
        assert "".join(part for _, part in found) == text
        assert not any(kind is Error for kind, _ in found)


def test_words_have_their_kinds() -> None:
    text = 'fn add[T: Copyable](mut x: Int) raises -> Int:\n    return x.add + f"a{x!r}" + 0xff + 1.5e3  # why\n'
    kinds = {part: kind for kind, part in KpyLexer().get_tokens(text)}
    assert kinds["fn"] in Keyword and kinds["raises"] in Keyword and kinds["add"] in Name
    assert kinds["Copyable"] is Name.Class and kinds["0xff"] in Number and kinds["1.5e3"] is Number.Float
    assert kinds["{"] is String.Interpol and kinds["a"] is String.Double


def test_words_of_edition_2026_have_their_kinds() -> None:
    text = 'def f(imm x: Int):\n    match x:\n        case 1:\n            assert x > 0, t"a{x}"\n    match = 3\n'
    found = list(KpyLexer().get_tokens(text))
    kinds = {part: kind for kind, part in reversed(found)}
    assert all(kinds[word] in Keyword for word in ("imm", "match", "case", "assert"))
    assert [kind in Keyword for kind, part in found if part == "match"] == [True, False]
    assert (String.Interpol, "{") in found


def test_the_lexer_is_registered() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["pygments.lexers"]["kpy"].partition(":")
    assert getattr(import_module(module), name) is KpyLexer


def test_the_extension_is_well_formed() -> None:
    pack = json.loads((EDITOR / "package.json").read_text())
    for one in (*pack["contributes"]["grammars"], *pack["contributes"]["snippets"]):
        assert json.loads((EDITOR / one["path"]).read_text())
    source = (EDITOR / "src/extension.ts").read_text()
    assert all(f'"{one["command"]}"' in source for one in pack["contributes"]["commands"])
    grammar = (EDITOR / "syntaxes/kpy.tmLanguage.json").read_text()
    included = set(re.findall(r'"include": "#(\w+)"', grammar))
    assert included == set(json.loads(grammar)["repository"])
