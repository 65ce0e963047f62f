"""Digests of ktc itself, for keys of the cache: entries of another version are not found."""

import os
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from ktc import native
from ktc.base.cache import digest

_EMITTERS = ("emit", "targets")
_MADE = ("__pycache__", "made", "prebuilt")
"""Folders that hold what ktc has made of its sources."""


def emitter_fingerprint() -> str:
    """Return a digest of LLVM's version and of our code that turns LLVM text into images and objects."""
    here = Path(__file__).parents[1]
    parts = [_llvm_stamp()]
    for folder in _EMITTERS:
        parts += [sha256(path.read_bytes()).hexdigest() for path in sorted((here / folder).rglob("*.py"))]
    return digest(*parts)


def toolchain_fingerprint(stdlib: Path) -> str:
    """Return a digest that changes whenever ktc itself does. Each build computes it, so it must be quick: 3 ms.

    An installed ktc hashes the installer's digests, so the result is the same wherever the same wheel is installed;
    a working copy hashes the sizes and times of its files.
    """
    here = Path(__file__).resolve().parents[1]
    stamps, latest = [], 0
    beside = here.parent / "grammar"  # an installed ktc has the grammar inside its package
    left = [str(here), str(stdlib), *([str(beside)] if (beside / "kpy.lark").is_file() else [])]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name not in _MADE:
                        left.append(entry.path)
                    continue
                status = entry.stat()
                latest = max(latest, status.st_mtime_ns)
                stamps.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
    recorded = [line for line in native.recorded(latest) if "/made/" not in line and "/prebuilt/" not in line]
    stamps = [line for line in recorded if ",sha256=" in line] or stamps
    return digest(_llvm_stamp(), f"native {native.is_used()}", "\n".join(sorted(stamps)))


def _llvm_stamp() -> str:
    """Say which llvmlite there is without loading it."""
    found = find_spec("llvmlite")
    origin = found.origin if found else None
    try:
        return sha256(Path(origin or "").with_name("_version.py").read_bytes()).hexdigest()
    except OSError:
        return str(origin)
