"""The commands, in process: exit codes, where text goes, and that a build with nothing to do loads nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ktc.cli.commands import main
from ktc.config import Config
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Severity, Sink
from ktc.diag.source import Span
from ktc.driver import library_archive
from ktc.driver.front_end import stages
from ktc.ir.nodes import Const, Function, Program, Return, Unit
from ktc.ir.types import PTR, IntType

I32 = IntType(32)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KTC_CACHE_DIR", str(tmp_path / "cache"))
    Path("prog.kpy").write_text("alias a = 1\n")
    return tmp_path


@pytest.fixture
def elaborations(monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """Make every program one that returns 7; the list gets the config of each elaboration."""
    seen: list[Config] = []

    def elaborate(package: object, config: Config, sink: Sink, library: object, *_: object) -> Program:
        seen.append(config)
        entry = Function("start", "start", (("argc", I32), ("argv", PTR)), I32, (Return(Const(I32, 7)),))
        return Program(Unit(config.host, {"start": entry}), (), "start")

    monkeypatch.setattr(stages, "elaborate", elaborate)
    monkeypatch.setattr(library_archive, "find", lambda *_: None)
    return seen


def test_build_follows_the_reference_in_names(elaborations: list[Config]) -> None:
    assert main(["build", "prog.kpy"]) == 0
    assert subprocess.run(["./prog"], check=False).returncode == 7


def test_an_unchanged_program_is_not_built_again(elaborations: list[Config]) -> None:
    assert main(["build", "prog.kpy"]) == 0
    Path("prog").unlink()
    assert main(["build", "prog.kpy", "-o", "other"]) == 0
    assert len(elaborations) == 1
    assert subprocess.run(["./other"], check=False).returncode == 7
    Path("prog.kpy").write_text("alias a = 2\n")
    assert main(["build", "prog.kpy"]) == 0
    assert len(elaborations) == 2


def test_options_reach_the_config(elaborations: list[Config]) -> None:
    words = ["build", "-O1", "-g1", "-D", "x=1", "-Ilib", "-j", "1", "--target-accelerator", "gfx942,cpu", "prog.kpy"]
    assert main(words) == 0
    (made,) = elaborations
    assert (made.level, made.debug, made.defines["x"], made.search) == (1, 1, "1", (Path("lib"),))
    assert [target.name for target in made.accelerators] == ["gfx942", "cpu"]


def test_libraries_have_names(elaborations: list[Config], capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("-l", "-L"):
        assert main(["build", option, "", "prog.kpy"]) == 2
        assert f"Invalid value for '{option}': a name is missing" in capsys.readouterr().err
    assert elaborations == []


@pytest.mark.parametrize(("flag", "level"), [("-g", 2), ("-g0", 0), ("-g1", 1), ("-g2", 2)])
def test_debug_flags_do_not_eat_the_file(elaborations: list[Config], flag: str, level: int) -> None:
    main(["emit", flag, "--kind", "ir", "prog.kpy"])
    assert elaborations[0].debug == level


def test_run_passes_arguments_and_returns_the_exit_status(elaborations: list[Config]) -> None:
    assert main(["run", "prog.kpy", "-O9", "--", "x"]) == 7
    assert main(["run", "prog.kpy"]) == 7
    assert len(elaborations) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["build"], 2),
        (["build", "--nonsense", "prog.kpy"], 2),
        (["build", "-O7", "prog.kpy"], 2),
        (["build", "--emit", "x", "prog.kpy"], 2),
        (["nonsense"], 2),
        (["build", "nope.kpy"], 1),
        (["build", "cache"], 1),
        (["build", "prog.kpy", "-o", "no/where"], 1),
        (["build", "prog.kpy", "-o", "/proc/x"], 1),
        (["build", "prog.kpy", "--target-accelerator", "sm_91"], 1),
        (["emit", "prog.kpy", "--target-accelerator", "sm_90,cpu"], 2),
        (["explain", "nonsense"], 2),
        (["--help"], 0),
        (["--version"], 0),
        (["explain", "type-mismatch"], 0),
    ],
)
def test_exit_codes(
    elaborations: list[Config], capsys: pytest.CaptureFixture[str], words: list[str], code: int
) -> None:
    Path("cache").mkdir()
    assert main(words) == code
    said = capsys.readouterr()
    assert bool(said.err) == (code != 0) and bool(said.out) == (code == 0)
    assert "Traceback" not in said.err


def test_json_diagnostics_are_written_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--diagnostic-format", "json", "nope.kpy"]) == 1
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert json.loads(line)["code"] == "file-error" and said.out == ""


def test_emit_to_a_pipe_is_plain_and_to_a_file_not_executable(
    elaborations: list[Config], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["emit", "--kind", "llvm", "prog.kpy"]) == 0
    text = capsys.readouterr().out
    assert "define" in text and "\x1b" not in text
    assert main(["emit", "--kind", "llvm", "-o", "x.ll", "prog.kpy"]) == 0
    assert Path("x.ll").read_text() == text and not Path("x.ll").stat().st_mode & 0o111


def test_a_syntax_error_is_reported_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.kpy").write_text("fn main():\n    print((1)\n")
    assert main(["build", "bad.kpy"]) == 1
    said = capsys.readouterr().err
    assert "bad.kpy:2:10: error[unclosed-bracket]" in said and "    print((1)" in said and said.endswith("1 error\n")


def test_a_build_with_nothing_to_do_repeats_warnings(
    monkeypatch: pytest.MonkeyPatch, elaborations: list[Config], capsys: pytest.CaptureFixture[str]
) -> None:
    quiet = stages.elaborate

    def elaborate(package: object, config: Config, sink: Sink, library: object, *_: object) -> Program:
        span = Span(package.root.source, 0, 5)  # type: ignore[attr-defined]
        sink.report(Diagnostic(Code.DEPRECATED, span, "old", severity=Severity.WARNING))
        return quiet(package, config, sink, library, None)  # type: ignore[arg-type]

    monkeypatch.setattr(stages, "elaborate", elaborate)
    monkeypatch.setattr(library_archive, "find", lambda *_: None)
    said = []
    for _ in range(2):
        assert main(["build", "prog.kpy"]) == 0
        said.append(capsys.readouterr().err)
    assert len(elaborations) == 1 and said[0] == said[1] and "warning[deprecated]: old" in said[0]


def test_an_internal_error_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def elaborate(*_: object) -> Program:
        raise KeyError("x")

    monkeypatch.setattr(stages, "elaborate", elaborate)
    monkeypatch.setattr(library_archive, "find", lambda *_: None)
    assert main(["build", "prog.kpy"]) == 70
    said = capsys.readouterr().err
    assert "internal error" in said and "Traceback" not in said and not Path("prog").exists()
    (report,) = Path("cache/reports").iterdir()
    assert "stage: elaborate" in report.read_text()


def test_timings(elaborations: list[Config], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--timings", "prog.kpy"]) == 0
    assert "elaborate" in capsys.readouterr().err


def test_a_build_with_nothing_to_do_loads_neither_llvm_nor_the_compiler(elaborations: list[Config]) -> None:
    assert main(["build", "prog.kpy"]) == 0
    code = (
        "import sys; from ktc.cli.commands import main; code = main(['build', 'prog.kpy']);"
        "heavy = ('llvmlite', 'lark', 'rich', 'ktc.driver.pipeline', 'ktc.syntax.parsing.parser',"
        "'ktc.elaborate.program');"
        "print(code, [name for name in heavy if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (said.stdout, said.stderr) == ("0 []\n", "")


def test_tables_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"sm_75", "sm_90a", "gfx942", "apple-m4", "cpu"} <= set(names)
    assert main(["doctor"]) == 0
    assert "linker" in capsys.readouterr().out
    assert main(["cache", "info"]) == 0
    assert "writable   yes" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0


def test_a_reader_that_stops_and_a_full_disk() -> None:
    command = f"{sys.executable} -m ktc targets"
    done = subprocess.run(f"{command} | head -1", shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == "" and done.stdout.startswith("name")
    done = subprocess.run(f"{command} > /dev/full", shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no space left" in done.stderr and "Traceback" not in done.stderr
