"""The compiled standard library: one object for each host target and level, made on first use and kept.

In: a `Config`. Out: what the elaborator has to know of it, and the object to link. What is in it is decided by a seed
program in the library (`stdlib/archive.kpy`) and by nothing else, so the same program becomes the same executable on
every machine.
"""

import pickle
from dataclasses import dataclass, replace

from ktc import builds
from ktc import passes as passes_package
from ktc.cache import Cache, Key, Lock
from ktc.codegen.module import lower_host
from ktc.config import Config
from ktc.diag.diagnostic import Bug, Sink
from ktc.elaborate.archive import Library, library_of
from ktc.elaborate.elaborator import elaborate_archive
from ktc.emit import device
from ktc.emit.workers import Workers
from ktc.ir.nodes import Unit
from ktc.ir.verify import verify
from ktc.syntax.loader import load

SEED = "archive.kpy"


@dataclass(frozen=True, slots=True)
class Archive:
    """The compiled library: `library` for the elaborator, `data` for the linker.

    While it is made, `data` is empty: LLVM is at work on it, beside the elaboration of the program. `finished` waits.
    """

    library: Library
    data: bytes = b""
    ticket: int = -1
    keys: tuple[Key, ...] = ()
    names: str = ""
    lock: Lock = Lock(None)  # noqa: RUF009

    def finished(self, cache: Cache, workers: Workers) -> bytes:
        """Return the object to link; keeps an archive that is new."""
        if self.ticket < 0:
            return self.data
        data = bytes(workers.result(self.ticket))
        base, own = self.keys
        cache.put(base, self.names.encode())
        cache.put(own, pickle.dumps(Archive(self.library, data)))
        self.lock.release()
        return data


def find(config: Config, cache: Cache, workers: Workers) -> Archive | None:
    """Return the archive for a build, from the cache or made now; None where nothing is kept.

    Raises:
        Bug: the seed does not compile.
    """
    if cache.folder is None:
        return None
    base = _base_key(config)
    kept = _kept(config, cache, base)
    if kept is not None:
        return kept
    lock = cache.lock("archive")  # several builds at once make one
    kept = _kept(config, cache, base)
    if kept is not None:
        lock.release()
        return kept
    try:
        unit, names = _elaborate(config, cache)
        module = lower_host(unit, {}, "", config.debug)
    except BaseException:
        lock.release()
        raise
    ticket = workers.submit(device.host_job(module, "object", config.level))
    keys = (base, _key(base, config, sorted(names)))
    return Archive(library_of(unit), b"", ticket, keys, " ".join(sorted(names)), lock)


def _elaborate(config: Config, cache: Cache) -> tuple[Unit, frozenset[str]]:
    sink = Sink()
    own = replace(config, root=config.stdlib / SEED, search=(), accelerators=())
    package = load(own.root, (), own.stdlib, cache, sink, beside=False)
    if package is None or sink.error_count:
        raise Bug(f"the library's seed has errors: {sink.diagnostics[0].message}", "archive")
    unit, names = elaborate_archive(package, own, sink)
    unit = passes_package.run(unit, own, sink)
    if sink.error_count:
        raise Bug(f"the library's seed has errors: {sink.diagnostics[0].message}", "archive")
    verify(unit)
    return unit, names


def _kept(config: Config, cache: Cache, base: Key) -> Archive | None:
    named = cache.get(base)
    return None if named is None else _read(cache.get(_key(base, config, named.decode().split())))


def _read(data: bytes | None) -> Archive | None:
    if data is None:
        return None
    try:
        kept = pickle.loads(data)
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError):  # damaged
        return None
    return kept if isinstance(kept, Archive) else None


def _base_key(config: Config) -> Key:
    return Key.of(
        "archive", toolchain=builds.toolchain_fingerprint(), host=builds.describe(config.host),
        level=str(config.level), debug=str(config.debug),
    )  # fmt: skip


def _key(base: Key, config: Config, names: list[str]) -> Key:
    values = [f"{name}={config.defines[name]}" for name in names if name in config.defines]
    return Key.of("archive-of", base=base.name, defines="\n".join(values))
