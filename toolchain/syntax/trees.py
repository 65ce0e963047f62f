"""The whole library, parsed once and kept in one piece.

In: the library's folder. Out: a mapping from a module's name to its packed tree, for `Package.packed`; it is read only
when something is asked of it. What a build finds neither here nor in the archive is parsed.
"""

import hashlib
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path

from ktc.diag.diagnostic import Sink
from ktc.syntax.loader import INIT, LIBRARY, read_source
from ktc.syntax.parser import fingerprint, pack, parse
from ktc.syntax.tables import Store, load_tables


class Trees(Mapping[str, tuple[str, bytes]]):
    """Packed modules of the library by their names, each with the name that its file has in messages."""

    def __init__(self, store: Store, stamp: str) -> None:
        self._store, self._key = store, _key(stamp)
        self._held: dict[str, tuple[str, bytes]] | None = None

    def __getitem__(self, name: str) -> tuple[str, bytes]:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def _read(self) -> dict[str, tuple[str, bytes]]:
        if self._held is None:
            data = self._store.get(self._key)
            self._held = {} if data is None else pickle.loads(data)
        return self._held


def keep_trees(stdlib: Path, store: Store, stamp: str) -> None:
    """Parse every module of the library and keep the trees, unless they are there.

    Args:
        stamp: names the state of the library's files.
    """
    key = _key(stamp)
    if store.get(key) is not None:
        return
    sink, tables = Sink(), load_tables(store)
    held: dict[str, tuple[str, bytes]] = {}
    for path in sorted(stdlib.rglob("*.kpy")):
        parts = path.relative_to(stdlib).with_suffix("").parts
        source = read_source(path, sink, True, {})
        module = parse(source, sink, None, tables) if source is not None else None
        data = pack(module) if module is not None else None
        if data is not None:  # what is wrong with a file is said where it is imported
            name = ".".join((LIBRARY, *(parts[:-1] if parts[-1] == INIT else parts)))
            held[name] = (f"stdlib/{path.relative_to(stdlib).as_posix()}", data)
    store.put(key, pickle.dumps(held))


def _key(stamp: str) -> str:
    return hashlib.sha256(b"library" + fingerprint() + stamp.encode()).hexdigest()
