"""The compiled standard library: one object for each host target and level, made on first use and kept.

Input: a `Config`. Output: what the elaborator has to know of it, and the object to link. What is in it is decided by
seed programs in the library (`stdlib/archive.kpy`, for devices `stdlib/archive_device.kpy`) and by nothing else, so the
same program becomes the same executable on every machine.
"""

import pickle

from ktc import passes as passes_package
from ktc.base.cache import Cache, Key, Lock
from ktc.base.records import record, replace
from ktc.codegen.module import lower_host
from ktc.config import Config
from ktc.diag.diagnostic import Bug, Sink
from ktc.driver import forks
from ktc.driver.front_end import kept_library
from ktc.driver.front_end.kept_library import KeptArchive
from ktc.elaborate.instances.library_archive import Library, library_of, packed_modules, parts
from ktc.elaborate.model.body_store import Packed
from ktc.elaborate.program import elaborate_archive, elaborate_for_device
from ktc.emit import device
from ktc.emit.workers import Workers
from ktc.ir.nodes import Unit
from ktc.ir.verify import verify
from ktc.syntax.loader import Package, load, parse_library
from ktc.targets.target import Target

SEED = "archive.kpy"
DEVICE_SEED = "archive_device.kpy"

PARTS = 2
"""Objects of the archive: LLVM works on them at the same time."""


@record
class Archive:
    """The compiled library: `library` for the elaborator, `data` for the linker.

    While it is made, `data` is empty: LLVM is at work on it, beside the elaboration of the program. `finished` waits.
    """

    library: Library
    data: tuple[bytes, ...] = ()
    tickets: tuple[int, ...] = ()
    keys: tuple[Key, ...] = ()
    names: str = ""
    lock: Lock = Lock(None)

    def finished(self, cache: Cache, workers: Workers) -> tuple[bytes, ...]:
        """Return the objects to link; keeps an archive that is new."""
        if not self.tickets:
            return self.data
        data = tuple(bytes(workers.result(ticket)) for ticket in self.tickets)
        base, own = self.keys
        cache.put(base, self.names.encode())
        cache.put(own, pickle.dumps(KeptArchive(replace(self.library, devices={}), data)))
        self.lock.release()
        return data


def find(config: Config, cache: Cache, workers: Workers) -> Archive | None:
    """Return the archive for a build, from the cache or made now; None where nothing is kept.

    Raises:
        Bug: a seed does not compile.
    """
    if cache.folder is None:
        return None
    if cache.get(kept_library.base_key(config, config.host)) is not None:
        devices = _of_devices(config, cache)
        archive = _of_host(config, cache, workers)
    else:  # both are long: side by side
        finish = forks.begin(lambda: _of_devices(config, cache))
        archive = _of_host(config, cache, workers)
        devices = finish()
    return replace(archive, library=replace(archive.library, devices=devices))


def _of_devices(config: Config, cache: Cache) -> dict[str, Packed]:
    return {target.name: _of_device(config, cache, target) for target in config.accelerators}


def _of_host(config: Config, cache: Cache, workers: Workers) -> Archive:
    base = kept_library.base_key(config, config.host)
    kept = kept_library.read(config, cache, base)
    if isinstance(kept, KeptArchive):
        return Archive(kept.library, kept.data)
    lock = cache.lock("archive")  # several builds at once make one
    kept = kept_library.read(config, cache, base)
    if isinstance(kept, KeptArchive):
        lock.release()
        return Archive(kept.library, kept.data)
    try:
        finish = forks.begin(lambda: parse_library(config.stdlib, cache)) if cache.is_kept else None
        unit, library, names = _elaborate(config, cache)
        if finish is not None:
            finish()
        modules = [lower_host(part, {}, "", config.debug, config.level) for part in parts(unit, PARTS)]
    except BaseException:
        lock.release()
        raise
    tickets = tuple(workers.submit(device.host_job(module, "object", config.level)) for module in modules)
    return Archive(library, (), tickets, (base, kept_library.key_of(base, config, names)), " ".join(names), lock)


def _of_device(config: Config, cache: Cache, target: Target) -> Packed:
    """Return what is kept for a device target: bodies, and no code, since that differs from kernel to kernel."""
    base = kept_library.base_key(config, target)
    kept = kept_library.read(config, cache, base)
    if isinstance(kept, Packed):
        return kept
    lock = cache.lock(f"archive-{target.name}")  # several builds at once make one
    try:
        kept = kept_library.read(config, cache, base)
        return kept if isinstance(kept, Packed) else _made_for_device(config, cache, target, base)
    finally:
        lock.release()


def _made_for_device(config: Config, cache: Cache, target: Target, base: Key) -> Packed:
    sink = Sink()
    own = replace(config, root=config.stdlib / DEVICE_SEED, search=(), accelerators=(target,))
    packed, names = elaborate_for_device(_load_seed(own, cache, sink), own, sink)
    _check(sink)
    cache.put(base, " ".join(names).encode())
    cache.put(kept_library.key_of(base, config, names), pickle.dumps(packed))
    return packed


def _elaborate(config: Config, cache: Cache) -> tuple[Unit, Library, tuple[str, ...]]:
    sink = Sink()
    own = replace(config, root=config.stdlib / SEED, search=(), accelerators=())
    package = _load_seed(own, cache, sink)
    unit, packed, names = elaborate_archive(package, own, sink)
    unit = passes_package.run(unit, own, sink)
    _check(sink)
    verify(unit)
    return unit, library_of(unit, packed, packed_modules(package)), names


def _load_seed(own: Config, cache: Cache, sink: Sink) -> Package:
    package = load(own.root, (), own.stdlib, cache, sink, beside=False)
    _check(sink)
    assert package is not None
    return package


def _check(sink: Sink) -> None:
    if sink.error_count:
        raise Bug(f"the library's seed has errors: {sink.diagnostics[0].message}", "archive")
