"""A content-addressed store of bytes on disk; it does not know their meaning.

Input: keys made with `digest` or `Key` from what decides a result. Output: the bytes that were put, or None. An entry
is written beside its place and renamed, and carries a digest of its key and its content: builds at the same time do not
disturb each other, and a damaged entry, or one under another key, is a miss. A failed write is silently not
kept; a build never fails for its cache. Entries that another user could have written are not read: `Cache.distrust`.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import IO

from ktc.base.records import entity, record
from ktc.base.shared_cache import KINDS, SharedCache

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

DEFAULT_MAX_BYTES = 1 << 30

_MAGIC = b"ktc2"
_DIGEST_BYTES = 32
_HEADER_BYTES = len(_MAGIC) + _DIGEST_BYTES
_ENTRIES = "entries"
_SWEPT = "swept"
"""A file that a sweep empties; each put adds a byte for every `_GRAIN` bytes that it keeps, and at least one."""
_GRAIN = 1 << 14
_SWEEPS = 16
"""The store is swept when this part of the bound was kept since the last time: the bound is never exceeded for long."""
_TOUCH_SECONDS = 600.0
"""An entry's time of last use is kept this exactly; being more exact costs a write for every hit."""
_PATIENCE_SECONDS, _TURN_SECONDS = 120.0, 0.02
_STALE_SECONDS = 3600.0
"""A temporary file of this age belongs to a process that died."""
_SWEEP_TO = 0.8
"""Part of the bound that a sweep leaves, so that the next put does not sweep again."""


def digest(*parts: str | bytes) -> str:
    """Return a hexadecimal digest of the parts; ("ab", "c") and ("a", "bc") differ."""
    hasher = sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        hasher.update(len(data).to_bytes(8, "little"))
        hasher.update(data)
    return hasher.hexdigest()


@record
class Key:
    """A key that remembers its parts, so that one can say which of them made a miss.

    Args:
        kind: the kind of the entry ("image", "host-object", "build").
        parts: name and digest of each part, in a fixed order.
    """

    kind: str
    parts: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, kind: str, /, **parts: str | bytes) -> "Key":
        """Make a key; each part is given as its whole text or bytes."""
        return cls(kind, tuple((name, digest(part)) for name, part in parts.items()))

    @property
    def name(self) -> str:
        """The key as `Cache.get` takes it."""
        return digest(self.kind, *(word for part in self.parts for word in part))

    def differences(self, other: "Key") -> tuple[str, ...]:
        """Return the names of the parts that differ."""
        mine, theirs = dict(self.parts), dict(other.parts)
        return tuple(name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name))


@record
class Info:
    """The state of a store, for `ktc cache info`: its folder, entries and sizes in bytes."""

    folder: Path | None
    is_writable: bool
    entries: int
    size_bytes: int
    max_bytes: int


@record
class Lock:
    """A lock on a file of the store, from `Cache.lock`; without a file it holds nothing."""

    file: IO[bytes] | None

    def release(self) -> None:
        """Let others go on."""
        if self.file is not None and fcntl is not None:
            fcntl.flock(self.file, fcntl.LOCK_UN)  # closing alone is not enough: forked processes have the file too
            self.file.close()


@entity
class Cache:
    """The store in `folder`; None keeps nothing.

    Args:
        max_bytes: when the store grows above it, what was used longest ago goes.
        is_kept: it is there for later builds, too.
        spare: a store that is only read, for what `folder` does not have: what came with ktc.
        refused: why there is no folder: others could have written what is in it.
        shared: a store that other machines have, too, for code of programs that `folder` does not have.
        shared_refused: why such a store is named and not used.
    """

    folder: Path | None
    max_bytes: int = DEFAULT_MAX_BYTES
    is_kept: bool = True
    spare: Path | None = None
    refused: str = ""
    shared: SharedCache | None = None
    shared_refused: str = ""
    _can_write: bool = True
    _counter: Iterator[int] = field(default_factory=lambda: iter(range(1 << 62)))

    def distrust(self) -> str:
        """Say why nothing in the folder can be trusted; "" if it can, or if there is none yet."""
        if self.folder is None:
            return ""
        for folder in (self.folder, self.folder / _ENTRIES):
            try:
                why = _doubt(folder.stat())
            except OSError:
                continue
            if why:
                return f"'{folder}' {why}"
        return ""

    def get(self, key: str | Key) -> bytes | None:
        """Return the entry under this key, or None."""
        path = self._path(key)
        found = None if path is None else self._read(path, _name(key), is_own=True)
        if found is None and self.spare is not None:
            found = self._read(_place(self.spare, key), _name(key), is_own=False)
        if found is None and self.shared is not None and isinstance(key, Key) and key.kind in KINDS:
            found = self._fetch(self.shared, key)
        return found

    def _fetch(self, shared: SharedCache, key: Key) -> bytes | None:
        """Return an entry of the shared store, and keep it here."""
        entry = shared.get(key.name)
        if entry is None:
            return None
        head, data = entry[:_HEADER_BYTES], entry[_HEADER_BYTES:]
        if head != _header(key.name, data):
            shared.note_lie()
            return None
        self._keep(key, data)
        return data

    def _read(self, path: Path, name: str, is_own: bool) -> bytes | None:
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                is_fine = not is_own or not _doubt(status)
                head, data = (file.read(_HEADER_BYTES), file.read()) if is_fine else (b"", b"")
        except OSError:
            return None
        if head != _header(name, data):
            if is_own:
                with suppress(OSError):
                    path.unlink()
            return None
        if is_own and abs(time.time() - status.st_mtime) > _TOUCH_SECONDS:
            with suppress(OSError):
                os.utime(path)
        return data

    def put(self, key: str | Key, data: bytes) -> None:
        """Keep data under a key; does nothing where that is not possible."""
        if self.shared is not None and isinstance(key, Key) and key.kind in KINDS:
            self.shared.put(key.name, _header(key.name, data) + data)
        self._keep(key, data)

    def _keep(self, key: str | Key, data: bytes) -> None:
        path = self._path(key)
        if path is None or not self._can_write or len(data) > self.max_bytes:
            return
        beside = path.parent / f".{os.getpid()}-{next(self._counter)}-{time.time_ns()}.part"
        try:
            try:
                _make_folder(path.parent)
                with open(beside, "xb", opener=_private) as file:
                    file.write(_header(_name(key), data))
                    file.write(data)
                os.replace(beside, path)
            except BaseException:
                with suppress(OSError):
                    beside.unlink()
                raise
        except OSError:  # a full disk, a folder of another user: go on without
            self._can_write = False
            return
        if self._is_sweep_due(len(data) + _HEADER_BYTES):
            self._sweep()

    def lock(self, name: str) -> "Lock":
        """Wait until no other process holds `name`, and hold it until `Lock.release`.

        It spares work that several processes would do at once; nothing is wrong where it does not work, and nobody
        waits for ever.
        """
        if self.folder is None or fcntl is None or not self._can_write:
            return Lock(None)
        try:
            _make_folder(self.folder)
            file = open(self.folder / f"{name}.lock", "wb", opener=_private)  # noqa: SIM115
            until = time.monotonic() + _PATIENCE_SECONDS
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return Lock(file)
                except BlockingIOError:
                    if time.monotonic() > until:
                        file.close()
                        return Lock(None)
                    time.sleep(_TURN_SECONDS)
        except OSError:
            return Lock(None)

    def info(self) -> Info:
        """Count the entries."""
        sizes = [size for _, size, _ in self._entries()]
        return Info(self.folder, self._probe(), len(sizes), sum(sizes), self.max_bytes)

    def clear(self) -> int:
        """Remove every entry; return how many bytes that were."""
        removed = 0
        for path, size, _ in list(self._entries()):
            with suppress(OSError):
                path.unlink()
                removed += size
        return removed

    def _path(self, key: str | Key) -> Path | None:
        return None if self.folder is None else _place(self.folder, key)

    def _entries(self) -> Iterator[tuple[Path, int, float]]:
        """Give (path, bytes, time of last use) of each entry, and remove what dead processes left."""
        if self.folder is None:
            return
        for folder, _, names in os.walk(self.folder / _ENTRIES):
            for name in names:
                path = Path(folder, name)
                try:
                    status = path.stat()
                except OSError:  # another process was faster
                    continue
                if not name.endswith(".part"):
                    yield path, status.st_size, status.st_mtime
                elif abs(time.time() - status.st_mtime) > _STALE_SECONDS:  # clocks go back, too
                    with suppress(OSError):
                        path.unlink()

    def _probe(self) -> bool:
        """Try whether anything can be written."""
        if self.folder is None:
            return False
        probe = self.folder / f".{os.getpid()}.probe"
        try:
            _make_folder(self.folder)
            open(probe, "wb", opener=_private).close()
            probe.unlink()
        except OSError:
            return False
        return True

    def _is_sweep_due(self, count: int) -> bool:
        """Note that so many bytes are kept; return whether all processes have kept many since the last sweep."""
        if self.folder is None:
            return False
        path = self.folder / _SWEPT
        try:
            is_first = not path.exists()
            with open(path, "ab", opener=_private) as file:
                file.write(b"." * -(-count // _GRAIN))
                return is_first or file.tell() * _GRAIN > self.max_bytes // _SWEEPS
        except OSError:
            return False

    def _sweep(self) -> None:
        """Bring the store below its bound: the entries used longest ago go first."""
        entries = sorted(self._entries(), key=lambda entry: entry[2])
        total = sum(size for _, size, _ in entries)
        if total > self.max_bytes:
            for path, size, _ in entries:
                if total <= self.max_bytes * _SWEEP_TO:
                    break
                with suppress(OSError):
                    path.unlink()
                    total -= size
        with suppress(OSError):
            if self.folder is not None:
                open(self.folder / _SWEPT, "wb", opener=_private).close()


def _name(key: str | Key) -> str:
    return key.name if isinstance(key, Key) else key


def _place(folder: Path, key: str | Key) -> Path:
    name = _name(key)
    return folder / _ENTRIES / name[:2] / name[2:]


def _header(name: str, data: bytes) -> bytes:
    digest = sha256(name.encode() + b"\0")
    digest.update(data)
    return _MAGIC + digest.digest()


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner reads and writes."""
    return os.open(path, flags, 0o600)


def _make_folder(folder: Path) -> None:
    """Make a folder of the store, and the missing ones around it, for its owner alone."""
    if folder.is_dir():
        return
    if not folder.parent.is_dir():
        _make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def _doubt(status: os.stat_result) -> str:
    """Say why others may have written a file or a folder; "" if they cannot."""
    if not hasattr(os, "geteuid"):  # Windows
        return ""
    if status.st_uid not in (os.geteuid(), 0):
        return f"belongs to another user ({status.st_uid})"
    if status.st_mode & 0o022:
        return f"can be written by other users (mode {status.st_mode & 0o777:o})"
    return ""
