"""`ktc debug`: the debugger that is started, and a real session with gdb."""

import shutil
from pathlib import Path

import pytest
from ktc.cli.commands import main
from ktc.tools.debug import _command, _main_line, _stop

PROGRAM = """def twice(n: Int) -> Int:
    var result = 2 * n
    return result

def main():
    var a = 4
    print(twice(a))
"""


def test_command_lines() -> None:
    words = _command("/usr/bin/gdb", Path("p"), ("a", "b"), ["run"], True)
    assert words[:3] == ["/usr/bin/gdb", "-q", "-batch"] and words[-6:] == ["-ex", "run", "--args", "p", "a", "b"]
    words = _command("lldb-18", Path("p"), ("a",), _stop("lldb-18", "x.kpy", 3), False)
    assert words[-7:] == ["-o", "breakpoint set --file x.kpy --line 3", "-o", "run", "--", "p", "a"]


@pytest.fixture
def place(tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    Path("prog.kpy").write_text(PROGRAM)
    return tmp_path


def test_main_is_found(place: Path) -> None:
    assert _main_line(Path("prog.kpy")) == 6


@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb")
def test_gdb_is_driven(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["-x", "break prog.kpy:3", "-x", "continue", "-x", "print result", "-x", "bt 2"]
    assert main(["debug", "--batch", "--stop", *words, "prog.kpy"]) == 0
    said = capfd.readouterr().out
    assert "prog.kpy:6" in said and "$1 = 8" in said and "#1 " in said and ") at prog.kpy:7" in said


def test_mistakes(place: Path) -> None:
    assert main(["debug", "--debugger", "nonsense", "prog.kpy"]) == 2
    Path("prog.kpy").write_text("def main():\n    x\n")
    assert main(["debug", "--debugger", "true", "prog.kpy"]) == 1
