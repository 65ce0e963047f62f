"""Digests of ktc itself, for keys of the cache: what another version made is not found."""

import os
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from ktc import native
from ktc.base.cache import digest

_EMITTERS = ("emit", "targets")


def emitter_fingerprint() -> str:
    """Return a digest of what turns LLVM text into images and objects: LLVM's version and our code around it."""
    here = Path(__file__).parents[1]
    parts = [_llvm_stamp()]
    for folder in _EMITTERS:
        parts += [sha256(path.read_bytes()).hexdigest() for path in sorted((here / folder).rglob("*.py"))]
    return digest(*parts)


def toolchain_fingerprint(stdlib: Path) -> str:
    """Return a digest that changes with ktc itself; from sizes and times, for it is made in each build: 3 ms."""
    here = Path(__file__).resolve().parents[1]
    roots = (here, stdlib, here.parent / "grammar")
    stamps = [_llvm_stamp(), f"native {native.is_used()}"]
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name not in ("__pycache__", "made"))
            for name in sorted(names):
                status = os.stat(os.path.join(folder, name))
                stamps.append(f"{folder}/{name} {status.st_size} {status.st_mtime_ns}")
    return digest(*stamps)


def _llvm_stamp() -> str:
    """Say which llvmlite there is without loading it."""
    found = find_spec("llvmlite")
    origin = found.origin if found else None
    try:
        return sha256(Path(origin or "").with_name("_version.py").read_bytes()).hexdigest()
    except OSError:
        return str(origin)
