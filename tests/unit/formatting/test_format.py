"""The fixed style: what it makes of a program, and that nothing else changes."""

import io
import random
import sys
from pathlib import Path
from textwrap import indent

import pytest
from ktc.cli.commands import main
from ktc.diag.diagnostic import Bug, Sink
from ktc.diag.source import Source
from ktc.formatting import formatter
from ktc.formatting.formatter import format_source
from ktc.syntax.parsing.tables import Tables

sys.path.insert(0, str(Path(__file__).parents[2]))

from fuzz_format import mutate, problem, programs

HERE = Path(__file__).parent
EVERY = 12
"""So many of the project's files are formatted here, one of twelve; `make fuzz-format` takes them all."""


def formatted(text: str, tables: Tables, columns: int = 80, lines: tuple[int, int] | None = None) -> str:
    sink = Sink()
    result = format_source(Source("x.kpy", text), sink, tables, columns, lines)
    assert result is not None, sink.diagnostics
    return result


def test_the_style(tables: Tables) -> None:
    tidy = (HERE / "tidy.kpy").read_text()
    assert formatted((HERE / "messy.kpy").read_text(), tables) == tidy
    assert formatted(tidy, tables) == tidy


@pytest.mark.parametrize("path", programs()[::EVERY], ids=lambda path: path.stem)
def test_formatting_preserves_the_tree_and_comments(path: Path, tables: Tables) -> None:
    assert problem(path, path.read_text("utf-8", "replace").replace("\r", ""), tables, 80) is None


def test_formatting_preserves_the_tree_and_comments_of_mutants(tables: Tables) -> None:
    chance = random.Random(3)
    path = Path(__file__).parents[2] / "run" / "closure_parameters.kpy"
    for columns in (40, 60, 80, 120):
        assert problem(path, mutate(path.read_text(), tables, chance), tables, columns) is None


def test_a_changed_tree_is_a_bug(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatter, "_printed", lambda *_: "alias x = 2\n")
    with pytest.raises(Bug, match="would change the program"):
        formatted("alias x = 1\n", tables)
    monkeypatch.setattr(formatter, "_printed", lambda *_: "alias x = (\n")
    with pytest.raises(Bug, match="does not parse"):
        formatted("alias x = 1\n", tables)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("\n\n", ""),
        ("# only\n", "# only\n"),
        ("x=1", "x = 1\n"),
        ("if a:\n\tx\n", "if a:\n    x\n"),
        ("x=(  # why\n1\n)\n", "x = (  # why\n    1\n)\n"),
        ("a = b if c else(d)\n", "a = b if c else (d)\n"),
        ("x = a[b+1:c], a[b:c], a[::2]\n", "x = a[b + 1 : c], a[b:c], a[::2]\n"),
        ("x = -a**2 + b.c**-d + f(x)**2\n", "x = -a**2 + b.c**-d + f(x) ** 2\n"),
        ("x = out*mut - read**2 + (owned -1)\n", "x = out * mut - read**2 + (owned - 1)\n"),
        ("f(a, b = -1, *c)\n", "f(a, b=-1, *c)\n"),
        ("var f = fn[w:Int](Int)capturing[_]->None\n", "var f = fn[w: Int](Int) capturing [_] -> None\n"),
        ("for (a, b) in(c): pass\n", "for a, b in c:\n    pass\n"),
        (
            "x = [first for first, second in some_function(with_an_argument) if second > first and another_name]\n",
            "x = [\n    first\n    for first, second in some_function(with_an_argument)\n"
            "    if second > first and another_name\n]\n",
        ),
        ("x = {k: v for k,  # why\nv in p}\n", "x = {\n    k: v for k, v in p  # why\n}\n"),
        ("# fmt: off\nx  =  1\n# fmt: on\ny  =  1\n", "# fmt: off\nx  =  1\n# fmt: on\ny = 1\n"),
        ("x  =  1  # fmt: skip\ny  =  1\n", "x  =  1  # fmt: skip\ny = 1\n"),
        ("x = 'a' + 'it\"s' + '\\'' + 0XfF + 1E5\n", 'x = "a" + \'it"s\' + "\'" + 0xFF + 1e5\n'),
        ("if a: pass\n  # deep\n# flat\nelse: pass\n", "if a:\n    pass\n# deep\n# flat\nelse:\n    pass\n"),
    ],
)
def test_small_texts(before: str, after: str, tables: Tables) -> None:
    head = "fn f():\n" if before.strip("\n#only ") else ""
    before, after = (indent(text, "    ") if head else text for text in (before, after))
    assert formatted(head + before, tables) == head + after


def test_closures_of_2026(tables: Tables) -> None:
    """Lists of captures stand as arguments do, and function types are written without a space."""
    before = (
        'def main():\n    def f[F:Copyable&def (Int)->Int]( f:F )abi ("C"){mut  a,imm b,var c^}->Int: return 1\n'
        "    var g=lambda(x:Int)->Int:x+1\n    def h(){ }: pass\n"
    )
    assert formatted(before, tables) == (
        "def main():\n"
        "    def f[\n"
        "        F: Copyable & def(Int) -> Int\n"
        '    ](f: F) abi("C") {mut a, imm b, var c^} -> Int:\n'
        "        return 1\n\n"
        "    var g = lambda (x: Int) -> Int: x + 1\n\n"
        "    def h() {}:\n"
        "        pass\n"
    )


def test_a_range_changes_nothing_else(tables: Tables) -> None:
    text = "alias x  = 1\nalias y  = 2\nalias z  = 3\n"
    assert formatted(text, tables, lines=(2, 2)) == "alias x  = 1\nalias y = 2\nalias z  = 3\n"
    assert formatted(text, tables, lines=(9, 9)) == text
    assert formatted("fn f():\n    x  = 1\n    y  = 1\n", tables, lines=(3, 3)) == "fn f():\n    x  = 1\n    y = 1\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KTC_CACHE_DIR", str(tmp_path.parent / "format-cache"))
    Path("a.kpy").write_text("alias x  = 1\n")
    Path("sub").mkdir()
    Path("sub/b.kpy").write_text("alias x = 1\n")
    Path("sub/.hidden").mkdir()
    Path("sub/.hidden/c.kpy").write_text("alias x  = 1\n")
    return tmp_path


def test_the_command_rewrites_files(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.kpy").chmod(0o640)
    assert main(["format", "--check", "."]) == 1
    said = capsys.readouterr()
    assert said.out == "would reformat a.kpy\n"
    assert said.err == "1 file would be reformatted, 1 file left unchanged\n"
    assert main(["format", "."]) == 0
    assert Path("a.kpy").read_text() == "alias x = 1\n"
    assert Path("a.kpy").stat().st_mode & 0o777 == 0o640
    assert Path("sub/.hidden/c.kpy").read_text() == "alias x  = 1\n"
    assert main(["format", "--check", "-q", "."]) == 0


def test_the_project_sets_lengths_and_exclusions(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = "x = function_with_a_long_name(argument_number_one, argument_number_two, three)\n"
    for path in ("a.kpy", "sub/b.kpy", "left.kpy"):
        Path(path).write_text(f"fn f():\n    {call}")
    table = Path("pyproject.toml")
    table.write_text('[tool.ktc.format]\nline-length = { sub = 100 }\nexclude = ["left.kpy"]\n')
    assert main(["format", "--check", "."]) == 1
    assert capsys.readouterr().out == "would reformat a.kpy\n"
    assert main(["format", "--check", "left.kpy"]) == 1
    assert main(["format", "--check", "-l", "100", "."]) == 0
    capsys.readouterr()
    for wrong in ("line-length = 9", "exclude = 1", "width = 100", "line-length = { sub = '' }", "="):
        table.write_text(f"[tool.ktc.format]\n{wrong}\n")
        assert main(["format", "--check", "."]) == 1
        assert "pyproject.toml" in capsys.readouterr().err


def test_the_command_shows_a_difference(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["format", "--diff", "a.kpy"]) == 0
    assert "-alias x  = 1\n+alias x = 1\n" in capsys.readouterr().out
    assert Path("a.kpy").read_text() == "alias x  = 1\n"


def test_the_command_reads_standard_input(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("alias x = f( a,b )"))
    assert main(["format", "-"]) == 0
    assert capsys.readouterr() == ("alias x = f(a, b)\n", "")


def test_a_file_with_errors_stays(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.kpy").write_text("alias x  = (\n")
    assert main(["format", "bad.kpy", "a.kpy"]) == 1
    assert "bad.kpy:1:12: error[unclosed-bracket]" in capsys.readouterr().err
    assert Path("bad.kpy").read_text() == "alias x  = (\n"
    assert Path("a.kpy").read_text() == "alias x = 1\n"


def test_line_ends_stay(place: Path) -> None:
    Path("a.kpy").write_bytes(b"alias x  = 1\r\nalias y = 2\r\n")
    assert main(["format", "-q", "a.kpy"]) == 0
    assert Path("a.kpy").read_bytes() == b"alias x = 1\r\nalias y = 2\r\n"


@pytest.mark.parametrize("words", [["--lines", "2:1"], ["--lines", "x"], ["--lines", "1:2", "a.kpy"]])
def test_wrong_ranges(place: Path, words: list[str]) -> None:
    assert main(["format", *words, "a.kpy"]) == 2
