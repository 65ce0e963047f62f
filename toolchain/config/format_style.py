"""The table `[tool.ktc.format]` of a project: how long lines may be, and which files `ktc format` leaves alone.

Input: a source file. Output: the style that the nearest `pyproject.toml` with such a table, at or above it, gives it.

    [tool.ktc.format]
    line-length = 100                  # or for each folder: { examples = 80, src = 120 }
    exclude = ["tests/errors"]         # folders and files; a file that a command names is formatted all the same
"""

import tomllib
from pathlib import Path

from ktc.base.records import entity

DEFAULT_LENGTH = 80
_FILE, _TABLE = "pyproject.toml", "[tool.ktc.format]"
_SHORTEST, _LONGEST = 20, 1000


class BadFormatTable(Exception):
    """The table has something that is not allowed in it."""


@entity
class _Table:
    """One table.

    Args:
        lengths: for each folder, the deepest first. excluded: folders and files, absolute.
    """

    lengths: tuple[tuple[Path, int], ...]
    excluded: tuple[Path, ...]


class FormatStyles:
    """The tables of folders; each is read once, on first use."""

    def __init__(self) -> None:
        self._tables: dict[Path, _Table | None] = {}

    def line_length(self, path: Path) -> int:
        """Return how many columns a line of a file may have.

        Raises:
            BadFormatTable: the project's table has a mistake.
        """
        path = path.absolute()
        table = self._table(path.parent)
        lengths = table.lengths if table is not None else ()
        return next((length for folder, length in lengths if path.is_relative_to(folder)), DEFAULT_LENGTH)

    def excludes(self, path: Path) -> bool:
        """Return whether a file that lies in a folder to format is left alone.

        Raises:
            BadFormatTable: the project's table has a mistake.
        """
        path = path.absolute()
        table = self._table(path.parent)
        return table is not None and any(path.is_relative_to(one) for one in table.excluded)

    def _table(self, folder: Path) -> _Table | None:
        if folder not in self._tables:
            found = _read(folder)
            if found is None and folder.parent != folder:
                found = self._table(folder.parent)
            self._tables[folder] = found
        return self._tables[folder]


def _read(folder: Path) -> _Table | None:
    """Return the table of the project file in a folder, if there is one."""
    file = folder / _FILE
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except OSError:
        return None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadFormatTable(f"cannot read '{file}': {error}") from error
    table: object = data
    for name in ("tool", "ktc", "format"):
        table = table.get(name) if isinstance(table, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict) or table.keys() - {"line-length", "exclude"}:
        raise BadFormatTable(f"{_TABLE} in '{file}' may have only 'line-length' and 'exclude'")
    length, excluded = table.get("line-length", DEFAULT_LENGTH), table.get("exclude", [])
    lengths = length if isinstance(length, dict) else {".": length}
    if not all(type(one) is int and _SHORTEST <= one <= _LONGEST for one in lengths.values()):
        raise BadFormatTable(
            f"'line-length' of {_TABLE} in '{file}' must be a number from {_SHORTEST} to {_LONGEST}, or a table of "
            "folders and such numbers"
        )
    if not isinstance(excluded, list) or not all(isinstance(one, str) for one in excluded):
        raise BadFormatTable(f"'exclude' of {_TABLE} in '{file}' must be a list of paths")
    rows = sorted(((folder / name, one) for name, one in lengths.items()), key=lambda row: -len(row[0].parts))
    return _Table(tuple(rows), tuple(folder / one for one in excluded))
