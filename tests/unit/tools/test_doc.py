"""`ktc doc`: what is taken from docstrings, the pages, and what is missing."""

import json
from pathlib import Path

import pytest
from ktc.cli.commands import main
from ktc.config import stdlib_folder
from ktc.tools.documentation.model import docstring
from ktc.tools.documentation.pages import _blocks

TEXT = '''"""Shapes & <sizes>."""

alias SIDES = 4
"""How many sides."""


fn area[T: Copyable](side: Int, scale: Int = 1) raises -> Int:
    """Returns the area.

    More `text` here.

    Parameters:
        T: Not used.

    Args:
        side: The length
            of a side.
        scale: A factor.

    Returns:
        The area.

    ```mojo
    print(area[Int](2))
    %# hidden()
    ```
    """
    return side * side * scale


fn _hidden():
    pass


struct Box(Copyable, Movable):
    """A box."""

    var width: Int
    """In millimetres."""

    fn __init__(out self):
        self.width = 1

    fn bad(self, a: Int):
        """Does nothing.

        Args:
            b: Not there.
        """
        pass

    fn silent(self):
        pass
'''


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KTC_CACHE_DIR", str(tmp_path.parent / "doc-cache"))
    Path("shapes.kpy").write_text(TEXT)
    Path("test_shapes.kpy").write_text("def test_a():\n    pass\n")
    return tmp_path


def test_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doc", "--format", "json", "."]) == 0
    (module,) = json.loads(capsys.readouterr().out)["modules"]
    assert (module["name"], module["summary"]) == ("shapes", "Shapes & <sizes>.")
    (function,) = module["functions"]
    (area,) = function["overloads"]
    assert area["signature"] == "fn area[T: Copyable](side: Int, scale: Int = 1) raises -> Int"
    assert area["args"][1] == {"name": "scale", "type": "Int", "default": "1", "convention": "", "kind": "any"}
    assert area["sections"]["Args"] == {"side": "The length of a side.", "scale": "A factor."}
    assert (area["description"].partition("\n")[0], area["sections"]["Returns"]) == ("More `text` here.", "The area.")
    (box,) = module["structs"]
    assert (box["traits"], box["fields"][0]["summary"]) == (["Copyable", "Movable"], "In millimetres.")
    assert [one["name"] for one in box["methods"]] == ["__init__", "bad", "silent"]
    assert module["aliases"][0]["summary"] == "How many sides."


def test_pages(place: Path) -> None:
    assert main(["doc", ".", "-o", "site", "--source", "https://x/{path}#L{line}"]) == 0
    page = Path("site/shapes.html").read_text()
    assert "Shapes &amp; &lt;sizes&gt;." in page and "<sizes>" not in page
    assert 'id="Box.bad"' in page and 'href="https://x/shapes.kpy#L7"' in page
    assert "print(area[Int](2))" in page and "hidden()" not in page
    script = Path("site/search.js").read_text()
    rows = json.loads(script.partition("const INDEX = ")[2].partition(";\n")[0])
    assert ["shapes.Box.silent", "shapes.html#Box.silent", ""] in rows
    assert 'href="shapes.html"' in Path("site/index.html").read_text()


def test_pages_of_sources(place: Path) -> None:
    words = ["doc", ".", "-o", "site", "--with-sources", "--home", "../index.html", "--exclude", "nothing"]
    Path("nothing.kpy").write_text('"""Left out."""\n\nalias A = 1\n')
    assert main(words) == 0
    source = next(Path("site").glob("source-of-*.html"))
    page = Path("site", source.name.removeprefix("source-of-")).read_text("utf-8")
    line = page.partition(f'href="{source.name}#')[2].partition('"')[0]
    assert f'<span id="{line}">' in source.read_text("utf-8")
    assert '<a href="../index.html">' in page
    assert not Path("site/nothing.html").exists()


def test_check(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doc", "--check", "."]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "shapes.kpy:44: the docstring of 'Box.bad' describes 'b', which is none of its args",
        "shapes.kpy:44: the docstring of 'Box.bad' leaves out 'a' in 'Args:'",
        "shapes.kpy:52: 'Box.silent' has no docstring",
    ]
    Path("shapes.kpy").write_text('"""All good."""\n')
    assert main(["doc", "--check", "shapes.kpy"]) == 0
    Path("shapes.kpy").write_text("fn (")
    assert main(["doc", "--check", "shapes.kpy"]) == 1


@pytest.mark.slow
def test_the_library_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doc", "--check", str(stdlib_folder())]) == 0, capsys.readouterr().out


def test_text() -> None:
    assert docstring("One.\n\n    Two\n    lines.\n    ")["description"] == "Two\nlines."
    assert _blocks("a `<b>`\nc\n\n- one\n- two\n  more\n\n    code") == (
        "<p>a <code>&lt;b&gt;</code> c</p><ul><li>one</li><li>two more</li></ul><pre><code>    code</code></pre>"
    )
