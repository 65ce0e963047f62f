"""Which edition a file is read in: decided for a package before any of its files is cut into tokens.

Input: a path, a text, what `--edition` says. Output: the edition, and the reason. In this order decide:

- `--edition`, for the package of the main file;
- `edition` in the table `[tool.ktc]` of the nearest `pyproject.toml` at or above the file;
- the text's own imports and declarations (of a package those of all its files, `__init__` first);
- the edition of the program that imports the file; else the file's suffix.
"""

import os
import re
from hashlib import sha256
from pathlib import Path

from ktc.base.editions import EDITIONS, OF_LIBRARY, ChosenEdition, Edition
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.diag.source import Source, Span
from ktc.syntax.edition_evidence import told_edition

MAIN = "__main__"
PROJECT_FILE = "pyproject.toml"
SUFFIXES = (".kpy", ".mojo", ".🔥")
"""Of source files, in the order in which they are looked for."""
_INIT = "__init__"
_INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed packages, which belong to no project around them."""

_TABLE = re.compile(r"^\[tool\.ktc\][ \t]*(?:#[^\n]*)?$(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_KEY = re.compile(
    r"""^[ \t]*edition[ \t]*=[ \t]*(?P<value>"[^"\n]*"|'[^'\n]*'|[^#\n]*?)[ \t]*(?:#[^\n]*)?$""", re.MULTILINE
)


class EditionFinder:
    """Decides for the files of one program; each package is looked at once.

    Args:
        requested: the value of `--edition`, if it is given.
        reads: gets the digest of each file that a decision rests on, None for one that does not exist.
        sink: gets mistakes in project files.
    """

    def __init__(self, requested: Edition | None, reads: dict[str, str | None], sink: Sink) -> None:
        self.requested, self.reads, self.sink = requested, reads, sink
        self.main: ChosenEdition | None = None
        self._home = ""
        self._packages: dict[str, ChosenEdition | None] = {}
        self._projects: dict[str, tuple[ChosenEdition, Span] | None] = {}

    def of_main(self, path: Path, text: str, decided: ChosenEdition | None = None) -> ChosenEdition:
        """Return the edition of the main file; a project file must not contradict what was requested.

        Args:
            decided: the edition of a text that is in no file.
        """
        self._home = _package_of(path) or os.path.dirname(os.path.abspath(path))
        project = self._project(os.path.dirname(os.path.abspath(path)))
        if project is not None and self.requested is not None and self.requested is not project[0].edition:
            wanted, written = self.requested.value, project[0].edition.value
            message = f"'--edition {wanted}' contradicts the project file: its edition is {written}"
            self.sink.report(Diagnostic(Code.WRONG_EDITION, project[1], message, "change one of them"))
        self.main = decided or self._requested() or self._decided(path, text) or _by_suffix(path)
        return self.main

    def of(self, path: Path, text: str) -> ChosenEdition:
        """Return the edition of a file that a program imports."""
        inside = self._home and (_package_of(path) or os.path.dirname(os.path.abspath(path))) == self._home
        project = self._project(os.path.dirname(os.path.abspath(path)))
        if project is not None:
            return project[0]
        return (self._requested() if inside else None) or self._decided(path, text) or self.main or _by_suffix(path)

    def _requested(self) -> ChosenEdition | None:
        return ChosenEdition(self.requested, "'--edition'") if self.requested is not None else None

    def _decided(self, path: Path, text: str) -> ChosenEdition | None:
        """Return the edition that the project file, the text or its package tells."""
        folder = os.path.dirname(os.path.abspath(path))
        project = self._project(folder)
        if project is not None:
            return project[0]
        told = told_edition(text, lambda name: _has_module(folder, name))
        package = _package_of(path)
        if told is not None or not package:
            return told
        if package not in self._packages:
            self._packages[package] = self._told_by_package(package)
        return self._packages[package]

    def _told_by_package(self, folder: str) -> ChosenEdition | None:
        """Return the edition of a package's first file that tells one."""
        paths = [path for path in Path(folder).rglob("*") if path.suffix in SUFFIXES and path.is_file()]
        for path in sorted(paths, key=lambda one: (one.stem != _INIT, one)):
            try:
                data = path.read_bytes()
                text = data.decode()
            except (OSError, UnicodeDecodeError):
                continue
            self.reads[str(path)] = sha256(data).hexdigest()
            told = told_edition(text, lambda name: _has_module(folder, name))
            if told is not None:
                return ChosenEdition(told.edition, f"{told.reason} of '{path.name}'")
        return None

    def _project(self, folder: str) -> tuple[ChosenEdition, Span] | None:
        """Return the edition in the nearest project file above, and the place of the entry."""
        if folder not in self._projects:
            found = self._read_project(os.path.join(folder, PROJECT_FILE))
            above = os.path.dirname(folder)
            if found is None and above != folder and os.path.basename(folder) not in _INSTALLED:
                found = self._project(above)
            self._projects[folder] = found
        return self._projects[folder]

    def _read_project(self, file: str) -> tuple[ChosenEdition, Span] | None:
        try:
            with open(file, "rb") as opened:
                data = opened.read()
        except OSError:
            self.reads[file] = None
            return None
        self.reads[file] = sha256(data).hexdigest()
        text = data.decode("utf-8", "replace")
        table = _TABLE.search(text)
        key = _KEY.search(text, table.start(1), table.end(1)) if table is not None else None
        if key is None:
            return None
        span, value = Span(Source(os.path.relpath(file), text), *key.span("value")), key["value"].strip("\"'")
        if value not in EDITIONS or key["value"][:1] not in "\"'":
            written = key["value"] if value not in EDITIONS else f"a number, {value}"
            help = "write 'edition = \"2025\"' or 'edition = \"2026\"'"
            self.sink.report(Diagnostic(Code.WRONG_EDITION, span, f"there is no edition {written}", help))
            return ChosenEdition(Edition.Y2026, f"'{os.path.relpath(file)}'"), span
        return ChosenEdition(Edition(value), f"'{os.path.relpath(file)}'"), span


def assign(source: Source, requested: Edition | None = None, sink: Sink | None = None) -> None:
    """Give a text that is read alone its edition, unless it has one."""
    if source.edition is not None:
        return
    if source.is_library:
        source.edition = OF_LIBRARY
    else:
        source.edition = EditionFinder(requested, {}, sink or Sink()).of_main(Path(source.path), source.text)


def _by_suffix(path: Path) -> ChosenEdition:
    edition = Edition.Y2025 if path.suffix not in SUFFIXES[1:] else Edition.Y2026
    return ChosenEdition(edition, f"the suffix '{path.suffix}'")


def _has_module(folder: str, name: str) -> bool:
    """Return whether a folder has a module of some name, as a file or a package."""
    base = os.path.join(folder, name)
    return any(os.path.isfile(base + end) or os.path.isfile(f"{base}{os.sep}{_INIT}{end}") for end in SUFFIXES)


def _package_of(path: Path) -> str:
    """Return the outermost folder of the package that a file is in; empty for a file that is in none."""
    folder, found = os.path.dirname(os.path.abspath(path)), ""
    while any(os.path.isfile(os.path.join(folder, _INIT + end)) for end in SUFFIXES):
        found = folder
        folder = os.path.dirname(folder)
    return found


def started_package(root: Path) -> tuple[Path, str]:
    """Return the folder around the package that a main file starts, and its dotted name: empty if there is none.

    `__main__` starts the package that it lies in, as in Python; any other file is a program of its own.
    """
    folder, parts = root.absolute().parent, list[str]()
    while root.stem == MAIN and folder.name and any((folder / (_INIT + suffix)).is_file() for suffix in SUFFIXES):
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)
