"""The table `[tool.ktc]` of a project: what commands without a file work on, and where its imports are found.

Input: a file or folder. Output: the `Project` of the nearest `pyproject.toml` with such a table, at or above it.

    [tool.ktc]
    name = "waves"                              # default: the name in [project], else that of the folder
    edition = "2026"                            # `syntax/editions.py` reads it
    entry-points = { waves = "main.mojo" }      # programs by name; default: main.mojo, called as the project
    targets = ["sm_90", "cpu"]                  # of `ktc build` and `ktc check`
    include = ["src"]                           # folders in which imports are found, as -I
    tests = ["tests"]                           # files and folders of `ktc test`; default: the whole project
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from ktc.base.records import record
from ktc.base.similarity import close_matches
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.source import Source, Span

KEYS = ("name", "edition", "entry-points", "targets", "include", "tests", "format")
WHEEL_KEYS = ("target", "target-cpu", "optimization-level")
"""Keys of the same table that only `ktc wheel` reads."""
_MAIN = tuple([f"main{suffix}" for suffix in (".mojo", ".kpy", ".🔥")])


class BadProject(Exception):
    """The table has a mistake, which the diagnostic shows at its line."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


@record
class Project:
    """A project.

    Args:
        folder: the folder of its pyproject.toml, as the path from the working directory.
        entry_points: files of programs by name.
        targets: names of targets; empty: what this machine has.
        include: folders of modules. tests: files and folders with tests.
    """

    folder: Path
    name: str
    entry_points: Mapping[str, Path]
    targets: tuple[str, ...]
    include: tuple[Path, ...]
    tests: tuple[Path, ...]


def read(file: Path) -> Project:
    """Return the project of a project file.

    Raises:
        BadProject: the file is not TOML, or its table has a mistake.
    """
    folder = Path(os.path.relpath(file.parent))
    text = file.read_bytes().decode("utf-8", "replace")
    table = _Table(Source(os.path.relpath(file), text))
    found, facts = table.tables()
    for key in found:
        if key not in KEYS + WHEEL_KEYS:
            near = close_matches(key, KEYS, 1)
            raise table.bad(key, f"[tool.ktc] has no '{key}'", f"did you mean '{near[0]}'?" if near else _KNOWN)
    own = facts.get("name")
    name = table.text("name") or (own if isinstance(own, str) else "") or file.parent.resolve().name
    entries = {one: folder / path for one, path in table.named("entry-points").items()}
    if "entry-points" not in found:
        mains = [folder / one for one in _MAIN if (folder / one).is_file()]
        entries = {name: mains[0]} if mains else {}
    for one, path in entries.items():
        if not path.is_file():
            raise table.bad(
                "entry-points", f"the entry point '{one}' is '{path}', and there is no such file", "name its file"
            )
    include = tuple([folder / one for one in table.texts("include")])
    tests = tuple([folder / one for one in table.texts("tests")])
    for key, paths in (("include", include), ("tests", tests)):
        for path in paths:
            if not path.exists():
                raise table.bad(key, f"'{key}' names '{path}', which does not exist", "create it, or change the name")
    return Project(folder, name, entries, tuple(table.texts("targets")), include, tests)


_KNOWN = f"its keys are {', '.join(KEYS)}"


class _Table:
    """The table of one file, and the places of its keys."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.values: Mapping[str, object] = {}

    def tables(self) -> tuple[Mapping[str, object], Mapping[str, object]]:
        """Return [tool.ktc] and [project].

        Raises:
            BadProject: the file is not TOML.
        """
        try:
            data = tomllib.loads(self.source.text)
        except tomllib.TOMLDecodeError as error:
            raise self._not_toml(str(error)) from error
        tools, facts = data.get("tool", {}), data.get("project", {})
        found = tools.get("ktc", {}) if isinstance(tools, dict) else {}
        self.values = found if isinstance(found, dict) else {}
        return self.values, facts if isinstance(facts, dict) else {}

    def text(self, key: str) -> str:
        """Return a text; "" for a key that is not there."""
        value = self.values.get(key, "")
        if not isinstance(value, str):
            raise self.bad(key, f"'{key}' must be a text", f"write '{key} = \"…\"'")
        return value

    def texts(self, key: str) -> list[str]:
        """Return a list of texts; an empty one for a key that is not there."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise self.bad(key, f"'{key}' must be a list of texts", f'write \'{key} = ["…", "…"]\'')
        return value

    def named(self, key: str) -> Mapping[str, str]:
        """Return a table of texts; an empty one for a key that is not there."""
        value = self.values.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(one, str) and one for one in value.values()):
            help = f"write '{key} = {{ name = \"main.mojo\" }}'"
            raise self.bad(key, f"'{key}' must be a table of names and files", help)
        return value

    def bad(self, key: str, message: str, help: str) -> BadProject:
        """Return the error of a key, at its place."""
        start = max(self.source.text.find("[tool.ktc]"), 0)
        place = re.compile(rf"^[ \t]*(\"?{re.escape(key)}\"?)[ \t]*=", re.MULTILINE).search(self.source.text, start)
        header = re.search(rf"^\[tool\.ktc\.({re.escape(key)})\]", self.source.text, re.MULTILINE)
        found = place or header
        span = Span(self.source, *found.span(1)) if found is not None else Span(self.source, start, start)
        return BadProject(Diagnostic(Code.INVALID_PROJECT, span, message, help))

    def _not_toml(self, reason: str) -> BadProject:
        place = re.search(r" \(at line (\d+), column (\d+)\)$", reason)
        offset = len(self.source.text)
        if place is not None:
            lines = self.source.text.split("\n")[: int(place[1]) - 1]
            offset = sum(len(line) + 1 for line in lines) + int(place[2]) - 1
        words = reason[: place.start()] if place is not None else reason.removesuffix(" (at end of document)")
        message = f"the project file is not TOML: {words[:1].lower()}{words[1:]}"
        return BadProject(Diagnostic(Code.INVALID_PROJECT, Span(self.source, offset, offset), message))
