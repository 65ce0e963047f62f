"""The compiled standard library: one object for each host target and level, made on first use and kept.

In: a `Config`. Out: what the elaborator has to know of it, and the object to link. What is in it is decided by a seed
program in the library (`stdlib/archive.kpy`) and by nothing else, so the same program becomes the same executable on
every machine.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace

from ktc import builds
from ktc import passes as passes_package
from ktc.cache import Cache, Key
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
    """The compiled library: `library` for the elaborator, `data` for the linker."""

    library: Library
    data: bytes


def find(config: Config, cache: Cache, workers: Workers, starts: Callable[[], None] | None = None) -> Archive | None:
    """Return the archive for a build, from the cache or made now; None where nothing is kept.

    Args:
        starts: called before it is made, which takes seconds.

    Raises:
        Bug: the seed does not compile.
    """
    if cache.folder is None:
        return None
    base = _base_key(config)
    named = cache.get(base)
    if named is not None:
        kept = _read(cache.get(_key(base, config, named.decode().split())))
        if kept is not None:
            return kept
    if starts is not None:
        starts()
    unit, names = _elaborate(config, cache)
    module = lower_host(unit, {}, "", config.debug)
    data = bytes(workers.result(workers.submit(device.host_job(module, "object", config.level))))
    made = Archive(library_of(unit), data)
    cache.put(base, " ".join(sorted(names)).encode())
    cache.put(_key(base, config, sorted(names)), pickle.dumps(made))
    return made


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
