"""ktc's own modules in machine code: `python -m ktc.native` compiles them, and each start from then on uses them.

mypyc (a part of mypy) makes C of typed Python. The Python sources stay what ktc is: what is compiled is a copy, it is
used only while it is of these very sources and this Python, and without it all is the same, but slower. This module is
imported at every start, so it imports nothing.
"""

import os
import sys

PACKAGES = ("codegen", "diag", "elaborate", "ir", "passes")
"""What is compiled: where the time goes."""

HOME = os.path.dirname(os.path.dirname(__file__))
FOLDER = os.path.join(HOME, "native", "made", str(sys.implementation.cache_tag))
STAMP = os.path.join(FOLDER, "stamp.txt")


def folders() -> list[str]:
    """Return the folder of the compiled packages, or nothing; KTC_NATIVE=0 leaves them out."""
    try:
        with open(STAMP, encoding="utf-8") as file:
            made_of = file.read()
    except OSError:
        return []
    return [FOLDER] if made_of == stamp() and os.environ.get("KTC_NATIVE") != "0" else []


def stamp() -> str:
    """Return names, sizes and times of ktc's Python sources, and Python's version; 1 ms."""
    lines = [sys.version]
    for folder in (".", *PACKAGES, "native", "syntax", "targets"):
        with os.scandir(os.path.join(HOME, folder)) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    lines.append(f"{folder}/{entry.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(sorted(lines))


def is_used() -> bool:
    """Say whether this process runs the compiled modules."""
    return FOLDER in sys.modules["ktc"].__path__
