"""A program that comes from standard input: kept as a file, so that the same text is compiled once."""

import hashlib
import os
import sys
import tempfile
from pathlib import Path

from ktc import config as configs
from ktc.diag import source

STANDARD_INPUT = "-"
"""The file that is read from standard input."""


def program_of(file: str, search: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the path of a command's file and where its modules are: for standard input also in this folder."""
    return (kept_program(sys.stdin.buffer.read()), (".", *search)) if file == STANDARD_INPUT else (file, search)


def kept_program(data: bytes) -> str:
    """Write a program to a file of its own and return the path."""
    cache = configs.open_cache().folder
    folder = cache / "stdin" / hashlib.sha256(data).hexdigest()[:24] / source.STANDARD_INPUT if cache else None
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = None
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="ktc-stdin-")) / source.STANDARD_INPUT
        folder.mkdir()
    path = folder / "stdin.kpy"
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(data)
    part.replace(path)
    return str(path)
