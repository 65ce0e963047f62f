"""Whether source files have changed since a build, cheap enough to be called often.

Input: the files that a build has read. Output: a `Watch`; who calls a function compares the clock with `Watch.next`
first, and looks at the files ten times a second at most.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from math import inf
from threading import RLock
from typing import TypeAlias

from ktc.api.errors import CompileError

Stamp: TypeAlias = tuple[int, int, int] | None
_PAUSE = 0.1


class Watch:
    """The files of one library or kernel.

    Attributes:
        next: the time (`time.monotonic`) from which on the files are looked at again; never, where it is off.
    """

    __slots__ = ("_error", "_is_on", "_lock", "_seen", "next")

    def __init__(self, is_on: bool) -> None:
        self._is_on, self._lock = is_on, RLock()
        self._error: CompileError | None = None
        self._seen: Mapping[str, Stamp] = {}
        self.next = inf

    def begin(self, paths: Iterable[str | os.PathLike[str]], since: float) -> None:
        """Watch files from now on, beside those that were watched before.

        Args:
            since: when the build that has read them began (`time.time`); what is newer counts as changed.
        """
        if self._is_on:
            found = {os.fspath(path): _stamp(os.fspath(path)) for path in (*self._seen, *paths)}
            self._seen = {path: one if one is None or one[0] < since * 1e9 else None for path, one in found.items()}
            self.next = time.monotonic() + _PAUSE

    def refresh(self, build: Callable[[], object]) -> None:
        """Build again if a file has changed. Files with errors raise the same error until they change again.

        Raises:
            CompileError: the program has errors.
        """
        with self._lock:
            found = {path: _stamp(path) or before for path, before in self._seen.items()}
            if found == self._seen:
                self.next = time.monotonic() + _PAUSE
                if self._error is not None:
                    self.next = 0.0
                    raise self._error.with_traceback(None)
                return
            self._seen, self._error = found, None
            try:
                build()
            except CompileError as error:
                self._error, self.next = error, 0.0
                raise


def _stamp(path: str) -> Stamp:
    """Return a value that changes with a file; None if there is no file, as while an editor replaces it."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
