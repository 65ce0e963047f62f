"""The line that says what a long build is doing."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ktc.driver.progress import line, shown


def session(current: str, done: tuple[int, int] = (0, 0)) -> Any:
    return SimpleNamespace(config=SimpleNamespace(root=Path("dir/prog.kpy")), current=current, done=done)


def test_the_line_says_what_is_done_and_what_is_done_once() -> None:
    assert line(session(""), 1.2) == "prog.kpy: starting, 1 s"
    assert line(session("emit", (2, 5)), 3) == "prog.kpy: emit, kernels 2 of 5, 3 s"
    assert "the standard library, once" in line(session("archive"), 2)
    assert "the grammar the first time" in line(session("load"), 2)


def test_nothing_is_shown_but_on_a_terminal(capfd: Any) -> None:
    with shown(session("load"), False):
        pass
    assert capfd.readouterr().err == ""
