"""`ktc run --watch`: build and run a program again whenever one of its files changes.

Input: the command's `Task` and the program's words. Output: the program's own output, or its errors; a line on standard
error says what was done, where diagnostics are text. The compiler stays in memory between builds. On a terminal each
build replaces what the last one showed.
"""

import gc
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType

from ktc.cli.task import Task
from ktc.config import Config
from ktc.driver import guard
from ktc.driver.watching.followed_files import FollowedFiles
from ktc.emit.jit import MissingSymbols
from ktc.emit.linking.commands import LinkOptions
from ktc.tools.running.objects import link_options, objects_of, report_missing
from ktc.tools.running.program import Program

_TURN_SECONDS = 0.01
_LOOK_SECONDS = 0.05
"""How often a build looks whether its files have changed."""
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


class Cancelled(BaseException):
    """A file changed during the build. No handler of `Exception` takes it."""


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


class Watch:
    """One program that is built and run again and again."""

    def __init__(self, task: Task, argv: Sequence[str]) -> None:
        self._task, self._argv = task, argv
        self._files = FollowedFiles()
        self._screen = Screen(task.diagnostic_format == "text")
        self._program: Program | None = None
        self._next_look = 0.0

    def run(self) -> int:
        """Work until Ctrl-C."""
        before = signal.signal(signal.SIGTERM, _interrupt)
        try:
            while True:
                code = self._built()
                if code is None:
                    continue
                if self._program is None:
                    self._screen.say(f"not built; {self._watched()}")
                self._wait()
                self._end()
                self._screen.begin()
        except KeyboardInterrupt:
            return guard.INTERRUPTED
        finally:
            self._end()
            signal.signal(signal.SIGTERM, before)

    def _built(self) -> int | None:
        """Build and start the program; return the exit code of the build, None if it was given up."""
        start = time.perf_counter()
        task, made = self._task.again(), list[tuple[tuple[bytes, ...], LinkOptions | None]]()
        task.observe, task.before_words = self._observe, self._screen.clear
        self._files.accept()
        cancelled: list[Cancelled] = []

        def work(config: Config) -> None:
            try:
                objects = objects_of(task, config)
                made.append((objects, link_options(config, objects)))
            except Cancelled as error:
                cancelled.append(error)

        code = task.run(work)
        if code == guard.INTERRUPTED:
            raise KeyboardInterrupt
        if cancelled:
            return None
        self._files.follow(task.files())
        self._task.reads = task.files()
        if code == 0 and made:
            self._seconds = time.perf_counter() - start
            self._program = Program(made[0][0], self._argv, made[0][1])
        return code

    def _wait(self) -> None:
        """Wait until a file changes; tell when the program ends."""
        is_told = self._program is None
        while not self._files.changed():
            if not is_told and self._program is not None:
                is_told = self._tell_end(self._program)
                if is_told:
                    gc.collect()
            time.sleep(_TURN_SECONDS)

    def _tell_end(self, program: Program) -> bool:
        try:
            code = program.ended()
        except MissingSymbols as error:
            report_missing(error.names, self._task)
            code = 1
        if code is None:
            return False
        self._screen.say(f"exit code {code}, built in {self._seconds:.2f} s; {self._watched()}")
        return True

    def _end(self) -> None:
        if self._program is not None:
            self._program.end()
            self._program = None

    def _observe(self, *_: object) -> None:
        """Give the build up if a file has changed.

        Raises:
            Cancelled: it has.
        """
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            if self._files.changed():
                raise Cancelled

    def _watched(self) -> str:
        others = len(self._files) - 1
        more = f" and {others} other file{'s'[: others > 1]}" if others > 0 else ""
        return f"watching {self._task.options.root.name}{more}, Ctrl-C ends"


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt
