"""`ktc run --watch`: build and run a program again whenever one of its files changes.

Input: the command's `Task` and the program's words. Output: the program's own output, or its errors; a line on standard
error says what was done, where diagnostics are text. The compiler stays in memory between builds. On a terminal each
build replaces what the last one showed.
"""

import gc
import time
from collections.abc import Sequence
from contextlib import suppress

from ktc.base.version import VERSION
from ktc.cli.task import Task
from ktc.config import Config
from ktc.driver import guard
from ktc.driver.watching import prepared_build
from ktc.driver.watching.followed_files import FollowedFiles
from ktc.driver.watching.prepared_build import PreparedBuild
from ktc.emit.jit import MissingSymbols
from ktc.emit.linking.commands import LinkOptions
from ktc.emit.workers import Workers
from ktc.tools.running.objects import link_options, objects_of, report_missing
from ktc.tools.running.program import Program
from ktc.tools.running.screen import Screen, repeat_until_interrupted

_TURN_SECONDS = 0.01
_LOOK_SECONDS = 0.05
"""How often a build looks whether its files have changed."""


class Cancelled(BaseException):
    """A file changed during the build. No handler of `Exception` takes it."""


class Watch:
    """One program that is built and run again and again."""

    def __init__(self, task: Task, argv: Sequence[str]) -> None:
        self._task, self._argv = task, argv
        self._files = FollowedFiles()
        self._screen = Screen(task.diagnostic_format == "text")
        self._program: Program | None = None
        self._prepared: PreparedBuild | None = None
        self._workers: Workers | None = None
        self._next_look = 0.0

    def run(self) -> int:
        """Work until Ctrl-C."""
        try:
            return repeat_until_interrupted(self._once)
        finally:
            self._end()
            if self._workers is not None:
                self._workers.close()

    def _once(self) -> None:
        """Build, run, and wait until a file changes."""
        if self._built() is None:
            return
        if self._program is None:
            self._screen.say(f"not built; {self._watched()}")
        self._wait()
        self._end()
        self._screen.begin()

    def _built(self) -> int | None:
        """Build and start the program; return the exit code of the build, None if it was given up."""
        start = time.perf_counter()
        task, made = self._task.again(), list[tuple[Config, tuple[bytes, ...], LinkOptions | None]]()
        task.observe, task.before_words = self._observe, self._screen.clear
        self._files.accept()
        cancelled: list[Cancelled] = []

        def work(config: Config) -> None:
            if self._workers is None:
                self._workers = prepared_build.workers_of(config)
            task.workers = self._workers
            try:
                objects = objects_of(task, config, self._prepared)
                made.append((config, objects, link_options(config, objects)))
            except Cancelled as error:
                cancelled.append(error)

        code = task.run(work)
        self._prepared = None
        if code == guard.INTERRUPTED:
            raise KeyboardInterrupt
        if cancelled:
            return None
        self._files.follow(task.files())
        self._task.reads = task.files()
        if code == 0 and made:
            self._seconds = time.perf_counter() - start
            config, objects, options = made[0]
            self._program = Program(objects, self._argv, options)
            self._prepare(config)
        return code

    def _prepare(self, config: Config) -> None:
        """Prepare the next build, beside the program."""

        def work() -> int:
            with suppress(Exception, Cancelled):  # then the next build begins with nothing
                self._prepared = prepared_build.prepare(config, self._task.cache, self._observe)
            # Of the build before: nobody waits now, and Python does not look by itself (`guard`). On this thread, for
            # Python drops a Ctrl-C that meets a callback of a weak reference, and only the main thread sees one.
            gc.collect()
            return 0

        if guard.run(work, lambda: guard.Crash(None)) == guard.INTERRUPTED:
            raise KeyboardInterrupt

    def _wait(self) -> None:
        """Wait until a file changes; tell when the program ends."""
        is_told = self._program is None
        while not self._files.changed():
            if not is_told and self._program is not None:
                is_told = self._tell_end(self._program)
            time.sleep(_TURN_SECONDS)

    def _tell_end(self, program: Program) -> bool:
        codes: list[int | None] = []

        def look() -> int:
            try:
                codes.append(program.ended())
            except MissingSymbols as error:
                report_missing(error.names, self._task)
                codes.append(1)
            return 0

        facts = {"ktc": VERSION, "stage": "run"}
        failed = guard.run_here(look, lambda: guard.Crash(self._task.cache.folder, facts))
        if failed == guard.INTERRUPTED:
            raise KeyboardInterrupt
        code = failed or codes[0]
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
