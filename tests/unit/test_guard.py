"""Deep recursion, Ctrl-C, and mistakes of ours."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ktc.diag.diagnostic import Bug
from ktc.diag.source import Source, Span
from ktc.driver import guard


def crash(folder: Path | None) -> guard.Crash:
    return guard.Crash(folder, {"stage": "elaborate"})


def test_the_code_comes_back(tmp_path: Path) -> None:
    assert guard.run(lambda: 3, lambda: crash(tmp_path)) == 3


def test_deep_recursion_is_safe(tmp_path: Path) -> None:
    def down(depth: int) -> int:
        # `max` with a key goes through C, which is what needs a large stack.
        return 0 if depth == 0 else max([depth - 1], key=lambda _: down(depth - 1)) * 0

    depth = 10_000 if sys.version_info < (3, 12) else 400  # Python 3.12 limits nested calls of C code
    assert guard.run(lambda: down(depth), lambda: crash(tmp_path)) == 0


def test_endless_recursion_is_an_internal_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def down() -> int:
        return down()

    assert guard.run(down, lambda: crash(tmp_path)) == guard.INTERNAL_ERROR
    assert "RecursionError" in capsys.readouterr().err


@pytest.mark.parametrize("runs", [guard.run, guard.run_here])
def test_a_bug_is_one_line_and_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str], runs: object) -> None:
    def work() -> int:
        raise Bug("the table has no row 'x'", "ops", Span(Source("a.kpy", "x = 1\n"), 0, 1))

    assert runs(work, lambda: crash(tmp_path)) == guard.INTERNAL_ERROR  # type: ignore[operator]
    said = capsys.readouterr().err
    assert said.startswith("ktc: internal error: the table has no row 'x'") and "Traceback" not in said
    (report,) = (tmp_path / "reports").iterdir()
    text = report.read_text()
    assert str(report) in said
    for part in ("stage: elaborate", "where: ops", "source: a.kpy:1:1: x = 1", "python: ", "Traceback"):
        assert part in text


@pytest.mark.parametrize("folder", [None, Path("/proc/nowhere")])
def test_a_report_that_cannot_be_written(capsys: pytest.CaptureFixture[str], folder: Path | None) -> None:
    def work() -> int:
        raise ValueError

    assert guard.run(work, lambda: crash(folder)) == guard.INTERNAL_ERROR
    assert "no report could be written" in capsys.readouterr().err


@pytest.mark.parametrize("sleeps", [True, False])
def test_ctrl_c_ends_it_and_cleans_up(tmp_path: Path, sleeps: bool) -> None:
    code = f"""
import pathlib, sys, tempfile, time
from ktc.driver import guard
guard._GRACE_SECONDS = 60  # a busy machine
def work():
    with tempfile.TemporaryDirectory(dir={str(tmp_path)!r}):
        print("ready", flush=True)
        for _ in range(600):
            time.sleep(0.1) if {sleeps} else sum(range(1000000))
    return 0
sys.exit(guard.run(work, lambda: guard.Crash(None)))
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (guard.INTERRUPTED, "")
    assert list(tmp_path.iterdir()) == []
