"""The files that a program was built of, and whether one of them is different now.

Input: paths with the digests of the contents that were read. Output: yes or no. Files are polled, so that it works on
every file system: their times and sizes at each look, their contents where those differ and once a second.
"""

import os
import time
from collections.abc import Mapping
from hashlib import sha256
from typing import TypeAlias

_Stamp: TypeAlias = tuple[int, int, int] | None

_RECENT_NANOSECONDS = 2_000_000_000
"""A file that is younger may change once more without a change of its time: some file systems count seconds."""
_READ_AGAIN_SECONDS = 1.0
_PATIENCE_SECONDS = 0.25
"""How long a file may be missing or empty while an editor replaces it."""


class FollowedFiles:
    """The files of one program."""

    def __init__(self) -> None:
        self._digests: dict[str, str | None] = {}
        self._stamps: dict[str, _Stamp] = {}
        self._gone: dict[str, float] = {}
        self._read_again = 0.0

    def __len__(self) -> int:
        return sum(digest is not None for digest in self._digests.values())

    def follow(self, reads: Mapping[str, str | None]) -> None:
        """Follow files from now on, in place of those before.

        Args:
            reads: the digest of what was read of each file; None for one that was not there.
        """
        self._digests = dict(reads)
        self._stamps.clear()
        self._gone.clear()

    def accept(self) -> None:
        """Take the files as they are now."""
        self.follow({path: digest_of(path) for path in self._digests})

    def changed(self) -> bool:
        """Return whether a file differs; one that is missing or empty for a moment does not yet."""
        now = time.monotonic()
        if now >= self._read_again:
            self._stamps.clear()
            self._read_again = now + _READ_AGAIN_SECONDS
        return any([self._differs(path, before, now) for path, before in self._digests.items()])

    def _differs(self, path: str, before: str | None, now: float) -> bool:
        stamp = _stamp(path)
        if path in self._stamps and self._stamps[path] == stamp:
            return False
        digest = digest_of(path) if stamp is not None else None
        if digest == before:
            self._gone.pop(path, None)
            if stamp is None or stamp[0] < time.time_ns() - _RECENT_NANOSECONDS:
                self._stamps[path] = stamp
            return False
        is_gone = before is not None and (stamp is None or stamp[1] == 0)
        return not is_gone or now - self._gone.setdefault(path, now) >= _PATIENCE_SECONDS


def _stamp(path: str) -> _Stamp:
    """Return the time, size and number of a file; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def digest_of(path: str) -> str | None:
    """Return the digest of a file's content, as `Package.reads` has it."""
    try:
        with open(path, "rb") as file:
            return sha256(file.read()).hexdigest()
    except OSError:
        return None
