"""Source files that a command is given: files, and folders with all that is in them."""

import os
from collections.abc import Iterable
from pathlib import Path

SUFFIXES = (".kpy", ".mojo", ".🔥")


def sources(paths: Iterable[Path], prefix: str = "") -> list[Path]:
    """Return the files that are named, and those of folders whose name starts with `prefix`, each once.

    Hidden folders are left out, and folders of installed packages.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if not path.is_dir():
            found.setdefault(path)
            continue
        for folder, names, files in os.walk(path):
            names[:] = sorted(name for name in names if not name.startswith(".") and name != "__pycache__")
            for name in sorted(files):
                if name.endswith(SUFFIXES) and name.startswith(prefix):
                    found.setdefault(Path(folder, name))
    return [*found]
