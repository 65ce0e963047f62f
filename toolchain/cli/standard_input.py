"""The program of a command: a file, an entry point of the project, or standard input, which is kept as a file."""

import hashlib
import os
import sys
import tempfile
from pathlib import Path
from typing import TypeGuard

from ktc import config as configs
from ktc.diag import source

STANDARD_INPUT = "-"
"""The file that is read from standard input."""


def program_of(file: str | None, search: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the path of a command's file and where its modules are: for standard input also in this folder."""
    if file == STANDARD_INPUT:
        return kept_program(sys.stdin.buffer.read()), (".", *search)
    return path_of(file), search


def path_of(file: str | None) -> str:
    """Return the path of a command's file; of None or an entry point's name that of a program of the project.

    Raises:
        click.UsageError: no file is named, and there is no project, or it has several programs.
    """
    if is_file(file):
        return file
    from ktc.cli import projects  # late: only in a project

    return projects.program(file)


def is_file(file: str | None) -> TypeGuard[str]:
    """Return whether a word of the command line names a file or standard input."""
    return file is not None and (file == STANDARD_INPUT or os.path.exists(file))


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
