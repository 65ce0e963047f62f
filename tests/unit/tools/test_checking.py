"""`ktc check`: what is found, in which form, and what is repaired."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ktc.cli.commands import main
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Severity
from ktc.diag.fixes import Edit, applied, fixes
from ktc.diag.source import Source, Span


def repaired(text: str, place: str, code: Code, help: str, severity: Severity = Severity.ERROR) -> list[str]:
    """Return what the text becomes by each fix."""
    source = Source("x.kpy", text)
    start = text.index(place)
    found = fixes(Diagnostic(code, Span(source, start, start + len(place)), "", help, severity=severity))
    return [applied(source, [*fix.edits]) for fix in found]


@pytest.mark.parametrize(
    ("text", "place", "after"),
    [
        ("import a\nx\n", "a", "x\n"),
        ("import a, b\n", "a", "import b\n"),
        ("import a, b\n", "b", "import a\n"),
        ("from m import a as c, b\n", "a as c", "from m import b\n"),
        ("from m import (\n    a,\n    b,\n)\n", "b", "from m import (\n    a,\n)\n"),
        ("from m import (\n    a,\n)\nx\n", "a", "x\n"),
        ("import aa; x()\n", "aa", None),
        ("from m import aa  # why\n", "aa", None),
    ],
)
def test_unused_imports_are_removed(text: str, place: str, after: str | None) -> None:
    found = repaired(text, place, Code.UNUSED_IMPORT, "remove it", Severity.WARNING)
    assert found == ([after] if after is not None else [])


@pytest.mark.parametrize(
    ("text", "place", "code", "help", "after"),
    [
        ("a && b", "&&", Code.SYNTAX_ERROR, "write 'and'", ["a and b"]),
        ("!a", "!", Code.SYNTAX_ERROR, "write 'not'", ["not a"]),
        ("function f", "function", Code.SYNTAX_ERROR, "write 'fn' or 'def'", ["fn f", "def f"]),
        ("int x", "int", Code.SYNTAX_ERROR, "write 'var name: Int = …'", []),
        ("a.lenght", "a.lenght", Code.NO_MEMBER, "did you mean 'length'?", ["a.length"]),
        ("x = 1", "x = 1", Code.NO_MEMBER, "did you mean 'y'?", []),
        ("f(a)", "a", Code.TYPE_MISMATCH, "write 'String(...)' to convert it", ["f(String(a))"]),
        ("var x = 1", "x", Code.UNUSED_VARIABLE, "write '_' in its place", ["var _ = 1"]),
        ("f(x)", "f(x)", Code.UNUSED_VALUE, "write '_ = …' if it is not wanted", ["_ = f(x)"]),
        ("f(x)", "f(x)", Code.UNHANDLED_RAISE, "declare it with 'raises'", []),
    ],
)
def test_fixes(text: str, place: str, code: Code, help: str, after: list[str]) -> None:
    assert repaired(text, place, code, help) == after


def test_edits_that_overlap() -> None:
    source = Source("x", "abcdef")
    edits = [Edit(Span(source, 2, 4), "X"), Edit(Span(source, 0, 3), "Y"), Edit(Span(source, 0, 3), "Y")]
    assert applied(source, edits) == "Ydef"


@pytest.fixture
def place(tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    return tmp_path


def test_modules_and_packages_are_checked(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pack").mkdir()
    Path("pack/__init__.kpy").write_text("")
    Path("pack/a.kpy").write_text("from .b import two\n\nfn f() -> String:\n    return two()\n")
    Path("pack/b.kpy").write_text("fn two() -> Int:\n    return 2\n")
    Path("prog.kpy").write_text("from pack.a import f\n\ndef main():\n    print(f())\n")
    assert main(["check", "-j", "1", ".", "--format", "json"]) == 1
    said = capsys.readouterr()
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [(row["code"], row["place"]["path"], row["place"]["line"]) for row in rows] == [
        ("type-mismatch", "pack/a.kpy", 4)
    ]
    assert rows[0]["fixes"][0]["title"] == "convert to 'String'" and not rows[0]["fixes"][0]["safe"]
    assert said.err == ""
    assert main(["check", "-j", "1", "pack/b.kpy"]) == 0


def test_modules_that_import_each_other_share_their_types(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pack").mkdir()
    Path("pack/__init__.kpy").write_text("from .value import Value\n")
    Path("pack/value.kpy").write_text(
        "from .parser import parsed\n\n@fieldwise_init\nstruct Value(Movable):\n    var n: Int\n\n"
        "fn two() -> Value:\n    return parsed(2)\n"
    )
    Path("pack/parser.kpy").write_text("from .value import Value\n\nfn parsed(n: Int) -> Value:\n    return Value(n)\n")
    Path("a.kpy").write_text(
        "from b import of\n\n@fieldwise_init\nstruct V:\n    var n: Int\n\ndef main():\n    print(of(V(1)))\n"
    )
    Path("b.kpy").write_text("from a import V\n\nfn of(v: V) -> Int:\n    return v.n\n")
    assert main(["check", "-j", "1", "."]) == 0
    assert capsys.readouterr().err == ""


def test_safe_fixes_are_applied(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.kpy").write_text("import os\n\ndef main():\n    var a = True\n    if !a && a:\n        prnt(a)\n")
    assert main(["check", "--fix", "a.kpy"]) == 1
    assert "    if not a and a:\n        prnt(a)\n" in Path("a.kpy").read_text()
    assert "did you mean 'print'?" in capsys.readouterr().err
    assert main(["check", "--fix", "--unsafe-fixes", "a.kpy"]) == 0
    assert Path("a.kpy").read_text() == "\ndef main():\n    var a = True\n    if not a and a:\n        print(a)\n"


def test_sarif(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.kpy").write_text("import os\n\ndef main():\n    pass\n")
    assert main(["check", "--format", "sarif", "a.kpy"]) == 0
    log = json.loads(capsys.readouterr().out)
    (result,) = log["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("unused-import", "warning")
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 1, "startColumn": 8, "endLine": 1, "endColumn": 10}
    assert result["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] == ""


def test_wrong_words(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "nope.kpy"]) == 1
    assert "cannot open 'nope.kpy'" in capsys.readouterr().err
    assert main(["check", "-W", "nonsense", "."]) == 2


def test_a_check_loads_nothing_that_emits_code() -> None:
    program = "import sys, ktc.tools.checks.checking; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "ktc.elaborate.program" in loaded
    assert not {"llvmlite.binding", "ktc.emit.device", "ktc.codegen.module", "ktc.driver.library_archive"} & {*loaded}
