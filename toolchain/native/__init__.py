"""ktc's own modules in machine code: `python -m ktc.native` compiles them, and each start from then on uses them.

mypyc (a part of mypy) makes C of typed Python. The Python sources stay what ktc is: what is compiled is a copy, it is
used only while it is of these very sources and this Python, and without it all is the same, but slower. This module is
imported at every start, so it imports only what Python has loaded by then.
"""

import _imp
import os
import sys

PACKAGES = ("codegen", "diag", "elaborate", "ir", "passes", "syntax")
"""The compiled packages: those where the time goes."""

HOME = os.path.dirname(os.path.dirname(__file__))
FOLDER = os.path.join(HOME, "native", "made", _imp.extension_suffixes()[0].split(".")[1])
"""For Pythons that can load each other's modules."""

STAMP = os.path.join(FOLDER, "stamp.txt")

_NOT_SOURCES = ("__pycache__", "made", "prebuilt", "grammar", "stdlib")
"""Folders without Python sources of the compiler."""


def folders() -> list[str]:
    """Return the folder of the compiled packages, or nothing; KTC_NATIVE=0 leaves them out."""
    try:
        with open(STAMP, encoding="utf-8") as file:
            made_of = file.read()
    except OSError:
        return []
    return [FOLDER] if made_of == stamp() and os.environ.get("KTC_NATIVE") != "0" else []


def stamp() -> str:
    """Return a stamp of ktc's Python sources, in 1 ms.

    All folders are read, to any depth: the digests of an installed ktc, otherwise sizes and times.
    """
    seen, latest, left = [], 0, [""]
    while left:
        folder = left.pop()
        with os.scandir(os.path.join(HOME, folder)) as entries:
            for entry in entries:
                name = f"{folder}{entry.name}"
                if name.endswith(".py"):
                    status = entry.stat()
                    latest = max(latest, status.st_mtime_ns)
                    seen.append(f"{name} {status.st_size} {status.st_mtime_ns}")
                elif "." not in entry.name and entry.name not in _NOT_SOURCES and entry.is_dir():
                    left.append(f"{name}/")
    return "\n".join(sorted([line for line in recorded(latest) if _is_source(line)] or seen))


def recorded(latest: int) -> list[str]:
    """Return the lines of the installer's RECORD for files of ktc; nothing if they are not installed, or changed since.

    Args:
        latest: when one of them was last written, in nanoseconds.
    """
    around, own = os.path.split(HOME)
    found = [name for name in os.listdir(around) if name.startswith(f"{own}-") and name.endswith(".dist-info")]
    record = os.path.join(around, found[0], "RECORD") if len(found) == 1 else ""
    try:
        with open(record, encoding="utf-8") as file:
            if latest > os.fstat(file.fileno()).st_mtime_ns:
                return []
            return [line for line in file.read().splitlines() if line.startswith(f"{own}/")]
    except OSError:
        return []


def _is_source(line: str) -> bool:
    return ".py,sha256=" in line and "/made/" not in line


def is_used() -> bool:
    """Return whether this process runs the compiled modules."""
    return FOLDER in sys.modules["ktc"].__path__


def once_more_as_python() -> None:
    """Start this process's command again without the compiled modules: what mypyc makes of them may be at fault."""
    sys.stderr.write("ktc: once more, without ktc's compiled modules\n")
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, "-P", "-m", "ktc", *sys.argv[1:]], {**os.environ, "KTC_NATIVE": "0"})
