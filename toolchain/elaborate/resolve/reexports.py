"""Re-exports of the reference's modules: names that one of them has because it imports them (`stdlib/reexports.txt`).

Input: an import from a module of the library. Output: the import from the module that declares the name here.
"""

from collections.abc import Iterator
from pathlib import Path

from ktc.elaborate.model.declarations import ImportRef

_TABLE = "reexports.txt"


def declaring_import(library: Path, ref: ImportRef) -> ImportRef | None:
    """Return the import of a re-exported name from the module that declares it; None if the name is none."""
    for module, names in _rows(library, ref.module):
        if ref.name in names:
            return ImportRef(module, 0, ref.name, ref.importer, ref.span, ref.weak)
    return None


def reexported_names(library: Path, module: str) -> list[str]:
    """Return the public names that a module re-exports."""
    return [name for _, names in _rows(library, module) for name in names if not name.startswith("_")]


def _rows(library: Path, module: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each module from which this one re-exports names, and these names."""
    try:
        text = (library / _TABLE).read_text("utf-8")
    except OSError:
        return
    plain = module.removeprefix("std.")
    for line in text.splitlines():
        places, _, names = line.partition(": ")
        if places.startswith(plain + " "):
            yield places.split()[1], names.split()
