"""What the cache has of the compiled standard library: all that the elaborator has to know of it.

Input: a `Config`. Output: the `Library`, or the archive with its objects. Nothing is made here and LLVM is not loaded:
`library_archive` makes what is missing.
"""

import sys
from collections.abc import Sequence
from importlib.util import MAGIC_NUMBER

from ktc.base import unpickling
from ktc.base.cache import Cache, Key
from ktc.base.records import record, replace
from ktc.config import FULL_DEBUG, Config
from ktc.driver import build_cache
from ktc.elaborate.instances.library_archive import Library
from ktc.elaborate.model.body_store import Packed
from ktc.targets.target import Target

_PYTHON = f"{sys.implementation.cache_tag} {MAGIC_NUMBER.hex()}"
"""Pythons that can read each other's code."""


@record
class KeptArchive:
    """The compiled library: `library` for the elaborator, `data` for the linker."""

    library: Library
    data: tuple[bytes, ...] = ()


def kept(config: Config, cache: Cache) -> Library | None:
    """Return what is kept of the library for the elaborator; None if a part of it would have to be made."""
    archive = read(config, cache, base_key(config, config.host))
    packed = {target.name: read(config, cache, base_key(config, target)) for target in config.accelerators}
    devices = {name: one for name, one in packed.items() if isinstance(one, Packed)}
    if not isinstance(archive, KeptArchive) or len(devices) < len(packed):
        return None
    return replace(archive.library, devices=devices)


def read(config: Config, cache: Cache, base: Key) -> object:
    """Return what is kept, None if nothing is or it is damaged."""
    named = cache.get(base)
    data = None if named is None else cache.get(key_of(base, config, named.decode().split()))
    if data is None:
        return None
    try:
        return unpickling.loads(data)
    except Exception:  # a damaged entry is a miss, and damage can raise anything
        return None


def base_key(config: Config, target: Target) -> Key:
    """Return the key of the names that the key of an archive depends on.

    What is kept for a device is elaborated and not compiled: it is the same at all levels.
    """
    compiled = f"{config.level} {config.debug}" if target == config.host else ""
    return Key.of(
        "archive", python=_PYTHON, toolchain=config.toolchain, target=build_cache.describe(target),
        described=str(config.debug >= FULL_DEBUG), compiled=compiled,
    )  # fmt: skip


def key_of(base: Key, config: Config, names: Sequence[str]) -> Key:
    """Return the key of an archive that reads these names of `-D`."""
    values = [f"{name}={config.defines[name]}" for name in names if name in config.defines]
    return Key.of("archive-of", base=base.name, defines="\n".join(values))
