"""The screen of `--watch`: results in place of earlier ones, and lines of its own.

Input: words. Output: on a terminal, a screen that each build clears; elsewhere, one after the other.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from ktc.driver import guard

_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


class Screen:
    """Where results are shown.

    Args:
        says: lines of ktc's own are written too.
    """

    def __init__(self, says: bool) -> None:
        self._says, self._is_clear = says, True

    def clear(self) -> None:
        """Remove what the last build showed, once for each build."""
        if not self._is_clear and sys.stdout.isatty():
            sys.stdout.write(_CLEAR)
            sys.stdout.flush()
        self._is_clear = True

    def begin(self) -> None:
        """The next words replace those before."""
        self._is_clear = False

    def say(self, words: str) -> None:
        """Write a line of ktc's own."""
        if self._says:
            sys.stderr.write(f"ktc: {words}\n")
            sys.stderr.flush()


@contextmanager
def interrupted_by(number: signal.Signals) -> Iterator[None]:
    """Take a signal for Ctrl-C meanwhile."""
    before = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        signal.signal(number, before)


def repeat_until_interrupted(once: Callable[[], None]) -> int:
    """Call a function again and again until Ctrl-C or SIGTERM; return the exit code."""
    with interrupted_by(signal.SIGTERM):
        try:
            while True:
                once()
        except KeyboardInterrupt:
            return guard.INTERRUPTED


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt
