"""The line that says what a long build is doing."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ktc.driver.progress import line, shown


def session(current: str, done: tuple[int, int] = (0, 0), library: tuple[int, int] = (0, 0)) -> Any:
    config = SimpleNamespace(root=Path("dir/prog.kpy"))
    return SimpleNamespace(config=config, current=current, done=done, library_done=library)


def test_the_line_shows_the_stage_and_one_time_work() -> None:
    assert line(session(""), 1.2) == "prog.kpy: starting, 1 s"
    assert line(session("emit", (2, 5)), 3) == "prog.kpy: emit, kernels 2 of 5, 3 s"
    assert (
        line(session("await LLVM", library=(7, 90)), 2)
        == "prog.kpy: compiling with LLVM, functions of the library 7 of 90, 2 s"
    )
    assert "the grammar the first time" in line(session("load"), 2)


def test_progress_is_shown_on_a_terminal_only(capfd: Any) -> None:
    with shown(session("load"), False):
        pass
    assert capfd.readouterr().err == ""
