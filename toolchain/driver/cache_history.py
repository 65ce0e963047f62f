"""The inputs of the last build of a file, so that ktc can say why the next one misses the cache.

Input: a session at its end. Output: for each unit whether the cache has it, and which input is another one than before.
A build writes one small entry; nothing that decides what is built is read from it.
"""

import os
import pickle
from collections.abc import Sequence

from ktc.base import unpickling
from ktc.base.cache import Cache, Key
from ktc.config import Config
from ktc.driver import build_cache
from ktc.driver.session import Session

_WORDS = {
    "code": "its code", "target": "its target", "kind": "its form", "level": "the optimisation level",
    "compiler": "ktc or LLVM", "toolchain": "ktc, LLVM or the standard library", "file": "the place of the file",
    "shown": "how the file is called", "search": "the folders of modules", "defines": "the definitions (-D)",
    "debug": "the debug level", "host": "the host", "accelerators": "the accelerators", "offload": "the offload mode",
}  # fmt: skip
_BUILD = "the whole build"


def keep(session: Session, form: str) -> None:
    """Remember what went into a build that has ended."""
    names = {unit.name: [unit.key.kind, *map(list, unit.key.parts)] for unit in session.units}
    whole = build_cache.index_key(session.config, form)
    data = {"units": names, "build": [whole.kind, *map(list, whole.parts)], "reads": session.reads}
    session.cache.put(_key(session.config), pickle.dumps(data))


def explain(session: Session, form: str) -> list[Sequence[str]]:
    """Return (unit, "hit" or "miss", what changed since the last build) for each unit that was looked up."""
    before = _load(session.config, session.cache)
    kept = build_cache.find(session.config, form, session.cache) is not None
    whole = build_cache.index_key(session.config, form)
    changed = _changes(whole, before.get("build"))
    changed += _changed_files(session.reads, before.get("reads", {}))
    rows = [(_BUILD, "hit" if kept else "miss", "" if kept else _said(changed, bool(before)))]
    units = before.get("units", {})
    for unit in session.units:
        known = units.get(unit.name)
        reason = "" if unit.hit else _said(_changes(unit.key, known), known is not None)
        rows.append((unit.name, "hit" if unit.hit else "miss", reason))
    return list(rows)


def _key(config: Config) -> Key:
    return Key.of("history", file=os.path.abspath(config.root))


def _load(config: Config, cache: Cache) -> dict[str, dict[str, list[list[str]]]]:
    raw = cache.get(_key(config))
    kept = unpickling.loads(raw) if raw is not None else None
    return kept if isinstance(kept, dict) else {}


def _changes(key: Key, before: object) -> list[str]:
    if not isinstance(before, list) or not before:
        return []
    old = Key(str(before[0]), tuple((str(name), str(value)) for name, value in before[1:]))
    return [_WORDS.get(name, name) for name in key.differences(old)]


def _changed_files(reads: dict[str, str | None], before: object) -> list[str]:
    old = before if isinstance(before, dict) else {}
    return [os.path.relpath(path) for path, digest in reads.items() if path in old and old[path] != digest]


def _said(changed: Sequence[str], was_built: bool) -> str:
    if not was_built:
        return "was never built"
    return ", ".join(changed) + (" changed" if changed else "its entry is gone from the cache")
