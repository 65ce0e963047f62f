"""The line that says what a long build is doing."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ktc.driver.progress import line, shown


def session(current: str, done: tuple[int, int] = (0, 0), makes_library: bool = False) -> Any:
    config = SimpleNamespace(root=Path("dir/prog.kpy"))
    return SimpleNamespace(config=config, current=current, done=done, makes_library=makes_library)


def test_the_line_shows_the_stage_and_one_time_work() -> None:
    assert line(session(""), 1.2) == "prog.kpy: starting, 1 s"
    assert line(session("emit", (2, 5)), 3) == "prog.kpy: emit, kernels 2 of 5, 3 s"
    assert "the standard library, once" in line(session("archive"), 2)
    assert "the grammar the first time" in line(session("load"), 2)


def test_progress_is_shown_on_a_terminal_only(capfd: Any) -> None:
    with shown(session("load"), False):
        pass
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("makes_library", [False, True])
def test_a_log_says_that_the_library_is_compiled(makes_library: bool, capfd: Any) -> None:
    """Other settings than the usual ones make that necessary, once; whatever the build does meanwhile."""
    with shown(session("elaborate", makes_library=makes_library), False):
        time.sleep(0.05)
    said = "ktc: compiling the standard library, once; later builds find it in the cache\n"
    assert capfd.readouterr().err == (said if makes_library else "")
