"""`ktc test --watch`: run tests again whenever a file changes that their program is built of.

Input: paths, and functions that find and run tests. Output: that of `ktc test`, for the files that changed. New
files are found, too.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from ktc.driver import guard
from ktc.driver.watching.followed_files import FollowedFiles, digest_of
from ktc.tools.checks.files import sources
from ktc.tools.running.screen import Screen, repeat_until_interrupted
from ktc.tools.testing.discovery import Case
from ktc.tools.testing.results import FileResults

_TURN_SECONDS = 0.02
_LIST_SECONDS = 0.5
"""How often folders are searched for new files."""

Found: TypeAlias = list[tuple[Path, list[Case]]]


class Watch:
    """Files with tests, and the files that each was built of when its tests ran last."""

    def __init__(
        self, paths: Sequence[Path], find: Callable[[], tuple[Found, int]],
        work: Callable[[Found, Callable[[FileResults], None]], int], crash: Callable[[], guard.Crash],
    ) -> None:  # fmt: skip
        self._paths, self._find, self._work, self._crash = paths, find, work, crash
        self._files: dict[Path, FollowedFiles] = {}
        self._screen = Screen(says=True)

    def run(self) -> int:
        """Work until Ctrl-C."""
        return repeat_until_interrupted(self._once)

    def _once(self) -> None:
        """Run the tests of the files that changed, or all the first time; wait for the next change."""
        listed = sources(self._paths)
        begun = {path: digest_of(str(path)) for path in listed}
        changed = {path for path in listed if path not in self._files or self._files[path].changed()}
        self._screen.clear()
        found, _ = self._find()
        for path in changed:
            self._follow(path, begun[path], {})
        chosen = [one for one in found if one[0] in changed]

        def told(done: FileResults) -> None:
            self._follow(done.path, begun.get(done.path), done.reads)

        # The caller's thread has the stack of the shell, and one file is compiled in this process.
        is_work = chosen or not found
        if is_work and guard.run(lambda: self._work(chosen, told), self._crash) == guard.INTERRUPTED:
            raise KeyboardInterrupt
        others = len(found) - len(chosen)
        unchanged = f"{others} other file{'s are' if others > 1 else ' is'} unchanged; " if others else ""
        self._screen.say(f"{unchanged}watching, Ctrl-C ends")
        self._wait(listed)
        self._screen.begin()

    def _follow(self, path: Path, digest: str | None, reads: Mapping[str, str | None]) -> None:
        self._files.setdefault(path, FollowedFiles()).follow({**reads, str(path.absolute()): digest})

    def _wait(self, listed: Sequence[Path]) -> None:
        """Wait until a file changes, or another one is there."""
        next_list = time.monotonic() + _LIST_SECONDS
        while not any([one.changed() for one in self._files.values()]):
            time.sleep(_TURN_SECONDS)
            if time.monotonic() >= next_list:
                next_list = time.monotonic() + _LIST_SECONDS
                if sources(self._paths) != listed:
                    break
        for path in [one for one in self._files if one not in listed]:
            del self._files[path]
