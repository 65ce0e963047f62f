"""Settings of the environment: folders, the cache, colours. Only this package reads them."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ktc.base.cache import DEFAULT_MAX_BYTES, Cache
from ktc.base.shared_cache import LEAST_KEY_BYTES, SharedCache

_PROJECT_FILE = "pyproject.toml"
_PROJECT_TABLES = (b"[tool.ktc]", b"[tool.ktc.entry-points]")
PREBUILT = Path(__file__).resolve().parents[1] / "prebuilt"
"""The part of the library that a wheel carries compiled (`driver/prebuilt.py`); a checkout has none."""


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return where the cache is; None if KTC_CACHE_DIR is set to nothing: keep nothing."""
    named = environment.get("KTC_CACHE_DIR")
    if named is not None:
        return Path(named).absolute() if named else None
    from platformdirs import user_cache_path  # late: only without some options

    return user_cache_path("ktc", appauthor=False)


def open_cache(environment: Mapping[str, str] = os.environ) -> Cache:
    """Return the cache; KTC_CACHE_SIZE is its bound in MiB, KTC_CACHE_URL a store that machines share.

    KTC_CACHE_KEY, or the file KTC_CACHE_KEY_FILE, has the key that signs what is in that store.
    """
    size = environment.get("KTC_CACHE_SIZE", "")
    bound = int(size) << 20 if size.isdecimal() else DEFAULT_MAX_BYTES
    spare = PREBUILT if PREBUILT.is_dir() else None
    shared, why = _shared_cache(environment)
    cache = Cache(cache_folder(environment), bound, spare=spare, shared=shared, shared_refused=why)
    reason = cache.distrust()
    if not reason:
        return cache
    return Cache(None, bound, spare=spare, refused=reason, shared=shared, shared_refused=why)


def _shared_cache(environment: Mapping[str, str]) -> tuple[SharedCache | None, str]:
    """Return the shared store; None and the reason if there is no key to sign its entries with."""
    url, file = environment.get("KTC_CACHE_URL", ""), environment.get("KTC_CACHE_KEY_FILE", "")
    if not url:
        return None, ""
    key = environment.get("KTC_CACHE_KEY", "").encode("utf-8", "surrogateescape")
    try:
        key = key or (Path(file).read_bytes().strip() if file else b"")
    except OSError as error:
        return None, f"'{file}' cannot be read: {error.strerror}"
    if len(key) < LEAST_KEY_BYTES:
        return None, f"KTC_CACHE_KEY_FILE must name a file with a key of at least {LEAST_KEY_BYTES} bytes"
    return SharedCache(url, key), ""


def environment_with(changes: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a command that is started with some variables changed."""
    return {**environment, **changes}


def project_file(path: Path) -> Path | None:
    """Return the nearest project file with a table of ktc's at or above a file or folder; None if there is none."""
    start = os.path.abspath(path)
    for folder in (start, *_above(start)):
        file = os.path.join(folder, _PROJECT_FILE)
        try:
            with open(file, "rb") as opened:
                data = opened.read()
        except OSError:
            continue
        if any(line.startswith(_PROJECT_TABLES) for line in data.splitlines()):
            return Path(file)
    return None


def _above(path: str) -> Iterator[str]:
    while (folder := os.path.dirname(path)) != path:
        yield folder
        path = folder


def color_enabled(is_terminal: bool, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether to write colours: on a terminal or with FORCE_COLOR, unless NO_COLOR is set or it is `dumb`."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_terminal and environment.get("TERM") != "dumb"


def import_path(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders of `KTC_IMPORT_PATH`, which are searched after those of `-I`."""
    return tuple(Path(part) for part in environment.get("KTC_IMPORT_PATH", "").split(os.pathsep) if part)


def processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def stack_traces_enabled(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether a program that fails should say which calls were open (`builtin/_runtime/trace.kpy` asks too)."""
    names = ("KTC_STACK_TRACE", "MOJO_ENABLE_STACK_TRACE_ON_ERROR")
    return any(environment.get(name, "") not in ("", "0", "false") for name in names)
