"""A program that comes from standard input: kept as a file, so that the same text is compiled once."""

import hashlib
import os
import tempfile
from pathlib import Path

from ktc import config as configs


def kept_program(data: bytes) -> str:
    """Write a program to a file of its own and return the path."""
    cache = configs.open_cache().folder
    folder = cache / "stdin" / hashlib.sha256(data).hexdigest()[:24] if cache is not None else None
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = None
    folder = folder or Path(tempfile.mkdtemp(prefix="ktc-stdin-"))
    path = folder / "stdin.kpy"
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(data)
    part.replace(path)
    return str(path)
