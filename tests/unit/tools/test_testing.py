"""`ktc test`: which tests are found, what their program says, and how they are reported."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ktc.cli.commands import main
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source
from ktc.syntax import ast
from ktc.syntax.parsing.parser import parse
from ktc.tools.testing.discovery import Case, doctests, functions
from ktc.tools.testing.harness import harness, module_of, operands
from ktc.tools.testing.results import Result
from ktc.tools.testing.running import _Reader
from ktc.tools.testing.selection import BadSelection, matches

pytestmark = pytest.mark.usefixtures("shared_tables")

PROGRAM = '''from testing import assert_equal, assert_true

fn double(x: Int) -> Int:
    """Doubles.

    ```mojo
    struct Two:
        var x: Int
        fn __init__(out self):
            self.x = 2

    assert_equal(double(Two().x), 4)
    %# print("hidden")
    raise Error("doc")
    ```
    """
    return 2 * x

def test_good():
    assert_equal(double(3), 6)

def test_bad():
    var a = [1, 2]
    print("said", end="")
    assert_true(a[0] > 5)

def test_ends():
    from os import abort
    abort()

def test_behind():
    pass

def test_takes(a: Int):
    pass
'''


def module(text: str) -> ast.Module:
    source = Source("test_x.kpy", text)
    found = parse(source, Sink())
    assert found is not None
    found.source = source
    return found


def test_functions_are_found() -> None:
    found = functions(module(PROGRAM))
    assert [(case.name, case.line, bool(case.problem)) for case in found] == [
        ("test_good", 19, False), ("test_bad", 22, False), ("test_ends", 27, False), ("test_behind", 31, False),
        ("test_takes", 34, True),
    ]  # fmt: skip


def test_programs_in_docstrings_keep_their_lines() -> None:
    (case,) = doctests(PROGRAM, "from test_x import *")
    assert (case.name, case.line) == ("doctest:7", 7)
    lines = case.program.splitlines()
    assert lines[5:8] == ["from test_x import *", "struct Two:", "    var x: Int"]
    assert '    print("hidden")' in lines
    assert parse(Source("x", case.program), Sink()) is not None


def test_a_program_with_main_is_called() -> None:
    (case,) = doctests('"""\n```kpy\ndef main():\n    print(1)\n```\n"""', "from x import *")
    assert case.program.endswith("def run():\n    main()\n")


def test_modules_of_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pack/inner").mkdir(parents=True)
    for folder in ("pack", "pack/inner"):
        (tmp_path / folder / "__init__.kpy").touch()
    assert module_of(tmp_path / "pack/inner/test_x.kpy") == (tmp_path, "pack.inner.test_x")
    assert module_of(tmp_path / "pack/__init__.kpy") == (tmp_path, "pack")
    assert module_of(tmp_path / "test_x.kpy") == (tmp_path, "test_x")
    monkeypatch.chdir(tmp_path / "pack/inner")  # a path without a folder ended in a loop without end
    assert module_of(Path("test_x.kpy")) == (tmp_path, "pack.inner.test_x")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("a > 5", '", "\\n  where a = ", a)'),
        ("a.b[i] + 1 != -2", '"\\n  where a.b[i] + 1 = ", a.b[i] + 1)'),
        ("a << 1 == b", '"\\n  where a << 1 = ", a << 1, "\\n  where b = ", b)'),
        ("f() > 5", ""),
        ('a == "x"', ""),
        ("a < b < c", ""),
        ("a", ""),
    ],
)
def test_assertions_show_their_operands(condition: str, said: str) -> None:
    tree = module(f"def test_x():\n    assert_true({condition})\n")
    made = harness(Path("test_x.kpy"), tree.source, [Case("test_x", 1)], operands(tree))
    texts = [source.text for source in made.overlays.values()]
    changed = [text for text in texts if "does not hold" in text]
    assert bool(changed) == bool(said)
    assert not changed or said.removeprefix('", ') in changed[0]
    assert all(parse(Source("x", text), Sink()) is not None for text in texts)


def test_the_output_is_parsed() -> None:
    results: dict[int, Result] = {}
    reader = _Reader("f", [Case("a", 1), Case("b", 2), Case("c", 3)], results)
    reader.feed(b"\x1estart 0\nhel")
    reader.feed(b"lo\nend\x1epassed 0 1500\n\x1estart 1\n\x1efailed 1 7\nwhy\nso\n\x1eend 1\n\x1estart 2\nlast")
    reader.ends("gone")
    assert [(one.status, one.message, one.output) for one in results.values()] == [
        ("passed", "", "hello\nend"), ("failed", "why\nso", ""), ("failed", "gone", "last"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [("ADD", True), ("add and fast", False), ("add or fast", True), ("not add", False), ("not (sub or fast)", True)],
)
def test_selection(expression: str, chosen: bool) -> None:
    assert matches(expression, "f.kpy::test_add") == chosen


@pytest.mark.parametrize("expression", ["", "a and", "(a", "a b", ")"])
def test_bad_selection(expression: str) -> None:
    with pytest.raises(BadSelection):
        matches(expression, "x")


def test_the_command(
    tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    Path("test_x.kpy").write_text(PROGRAM)
    Path("other.kpy").write_text("def test_no():\n    pass\n")
    assert main(["test", "--list"]) == 0
    assert "other" not in capsys.readouterr().out
    assert main(["test", "--json", "r.json", "--junit", "r.xml"]) == 1
    rows = {row["name"]: row for row in json.loads(Path("r.json").read_text())["tests"]}
    said = {name: row["status"] for name, row in rows.items()}
    assert said == {
        "test_takes": "error", "test_good": "passed", "test_bad": "failed", "test_ends": "failed",
        "test_behind": "passed", "doctest:7": "failed",
    }  # fmt: skip
    assert "test_x.kpy:25:16: AssertionError: `a[0] > 5` does not hold\n  where a[0] = 1" in rows["test_bad"]["message"]
    assert rows["test_bad"]["output"] == "said"
    assert "it ended the program by signal" in rows["test_ends"]["message"]
    assert (rows["doctest:7"]["message"], rows["doctest:7"]["output"]) == ("doc", "hidden")
    suite = ElementTree.parse("r.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "3", "1")
    capsys.readouterr()
    assert main(["test", "test_x.kpy::test_good"]) == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out


def test_errors_of_the_program(
    tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    Path("test_x.kpy").write_text('def test_a():\n    var x: Int = "a"\n')
    assert main(["test"]) == 1
    assert "test_x.kpy:2:18: error[type-mismatch]" in capsys.readouterr().out
    Path("test_x.kpy").write_text("def test_a(:\n")
    assert main(["test"]) == 1
    assert "test_x.kpy:1:11: error[unclosed-bracket]" in capsys.readouterr().err
    assert main(["test", "-k", "a and"]) == 1
