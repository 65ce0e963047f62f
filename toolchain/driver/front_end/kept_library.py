"""The compiled and elaborated parts of the standard library that the cache holds.

Input: a `Config`. Output: the `Library`, and the objects of what is compiled. Two entries of the cache hold it, and
each is replaced as a whole: builds at the same time, a crash or a sweep leave an older one, or none. The additions of
a build are joined with those of others meanwhile. LLVM is not loaded here: `library_archive` compiles what is missing.
"""

import itertools
import pickle
import sys
from collections.abc import Mapping, Set
from dataclasses import field
from importlib.util import MAGIC_NUMBER

from ktc.base import unpickling
from ktc.base.cache import Cache, Key
from ktc.base.records import record
from ktc.config import FULL_DEBUG, Config
from ktc.driver import build_cache
from ktc.elaborate.instances.library_archive import Library
from ktc.elaborate.model.body_store import Listed, Packed
from ktc.syntax.loader import Package
from ktc.syntax.parsing.parser import kept as kept_tree
from ktc.targets.target import Target

_PYTHON = f"{sys.implementation.cache_tag} {MAGIC_NUMBER.hex()}"
"""Pythons that can read each other's code."""

LIST = "archive.txt"
"""The file beside the library that lists what the archive may have; `ktc.driver.archive_list` makes it."""

MORE = "functions of other settings"
"""The part of the list for builds with debug information, assertions or checks."""

Modules = Mapping[str, tuple[str, bytes]]


@record
class KeptBodies:
    """Elaborated bodies for a target; for the host also parsed modules."""

    packed: Packed = Packed()
    modules: Modules = field(default_factory=dict)


@record
class KeptCode:
    """The compiled part of the library, by symbol.

    Args:
        functions: packed declarations.
        objects: of functions and variables.
        needs: the functions and variables that each object refers to; all of them are here, too.
    """

    functions: Mapping[str, bytes] = field(default_factory=dict)
    objects: Mapping[str, bytes] = field(default_factory=dict)
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def joined(self, other: "KeptCode") -> "KeptCode":
        """Return the entries of both."""
        return KeptCode(
            {**other.functions, **self.functions}, {**other.objects, **self.objects}, {**other.needs, **self.needs}
        )


def listed(config: Config) -> Listed:
    """Return the functions and variables that the archive may have; none where the library comes without its list."""
    try:
        text = (config.stdlib / LIST).read_text("utf-8")
    except OSError:
        return Listed()
    parts = {name: lines.split() for name, _, lines in (one.partition("]") for one in text.split("[")[1:])}
    usual, more, defines = parts["functions"], parts[MORE], parts["defines"]
    given = {name for name in config.defines if not name.startswith("__")}  # the others are the compiler's own
    is_usual = config.debug < FULL_DEBUG and given.isdisjoint(defines)
    functions = frozenset(usual) if is_usual else frozenset((*usual, *more))
    return Listed(
        functions, frozenset(parts["variables"]), frozenset((*usual, *more, *parts["bodies"])), tuple(defines)
    )


def kept(config: Config, cache: Cache) -> Library:
    """Return the library as the elaborator sees it."""
    return library_of(config, code(config, cache), *bodies(config, cache))


def library_of(config: Config, code: KeptCode, host: KeptBodies, devices: Mapping[str, Packed]) -> Library:
    """Return the library as the elaborator sees it."""
    variables = frozenset(code.objects.keys() - code.functions.keys())
    return Library(listed(config), code.functions, variables, host.packed, host.modules, devices)


def code(config: Config, cache: Cache) -> KeptCode:
    """Return the library functions that are compiled, as objects."""
    found = _read(cache, code_key(config))
    return found if isinstance(found, KeptCode) else KeptCode()


def bodies(config: Config, cache: Cache) -> tuple[KeptBodies, dict[str, Packed]]:
    """Return the elaborated bodies of library functions that are kept: the host's, and those of each device target."""
    host = _of_target(config, cache, None)
    return host, {target.name: _of_target(config, cache, target).packed for target in config.accelerators}


def keep_code(config: Config, cache: Cache, new: KeptCode) -> None:
    """Add compiled functions to the kept ones."""
    lock = cache.lock("library")
    try:
        cache.put(code_key(config), pickle.dumps(new.joined(code(config, cache))))
    finally:
        lock.release()


def keep_bodies(config: Config, cache: Cache, new: Mapping[str, Packed], modules: Modules) -> None:
    """Add elaborated bodies to the kept ones.

    Args:
        new: by the name of the device target, "" for the host. modules: trees, for the host.
    """
    targets: dict[str, Target | None] = {"": None, **{target.name: target for target in config.accelerators}}
    lock = cache.lock("library")
    try:
        for name, target in targets.items():
            added = modules if target is None else {}
            if name not in new and not added:
                continue
            have = _of_target(config, cache, target)
            made = KeptBodies(new.get(name, Packed()).joined(have.packed), {**have.modules, **added})
            cache.put(bodies_key(config, target), pickle.dumps(made))
    finally:
        lock.release()


def _of_target(config: Config, cache: Cache, target: Target | None) -> KeptBodies:
    found = _read(cache, bodies_key(config, target))
    return found if isinstance(found, KeptBodies) else KeptBodies()


def _read(cache: Cache, key: Key) -> object:
    """Return the object under a key, None if there is none or it is damaged."""
    data = cache.get(key)
    if data is None:
        return None
    try:
        return unpickling.loads(data)
    except Exception:  # a damaged entry is a miss, and damage can raise anything
        return None


def bodies_key(config: Config, target: Target | None) -> Key:
    """Return the key of the bodies for a device target, or for the host: the same at all levels."""
    return Key.of(
        "library-bodies", python=_PYTHON, toolchain=config.toolchain, defines=_defines(config),
        target=build_cache.describe(target or config.host), side="host" if target is None else "device",
        described=str(config.debug >= FULL_DEBUG),
    )  # fmt: skip


def code_key(config: Config) -> Key:
    """Return the key of the compiled functions."""
    return Key.of(
        "library-code", python=_PYTHON, toolchain=config.toolchain, target=build_cache.describe(config.host),
        compiled=f"{config.level} {config.debug}", defines=_defines(config),
    )  # fmt: skip


def _defines(config: Config) -> str:
    """Return the user's defines whose names the library reads; the list begins with these names."""
    try:
        with (config.stdlib / LIST).open(encoding="utf-8") as file:
            lines = itertools.takewhile(lambda line: line != "[variables]\n", file)
            names = [name for name in map(str.strip, lines) if name in config.defines]
    except OSError:
        names = []
    return "\n".join(f"{name}={config.defines[name]}" for name in names)


def packed_modules(package: Package, known: Set[str]) -> dict[str, tuple[str, bytes]]:
    """Return the library's modules that a package has loaded, for `Package.packed`, but for the known ones."""
    loaded = {name: one.source for name, one in package.modules.items() if one.source.is_library and name not in known}
    packed = {
        name: (one.path, kept_tree(one, package.cache) if package.cache else None) for name, one in loaded.items()
    }
    return {name: (path, data) for name, (path, data) in packed.items() if data is not None}
