"""Source texts and places in them.

A `Span` is two offsets into one `Source`; lines and columns are computed only when a diagnostic is shown.
"""

import bisect
from dataclasses import field

from ktc.records import entity, record


@entity
class Source:
    """One text that was read.

    Args:
        path: the path as the user gave it, or as it was found on the search path.
        text: the whole text, `\\n` line ends.
        is_library: True for files of the standard library: a diagnostic avoids them as primary place.
    """

    path: str
    text: str
    is_library: bool = False
    _starts: list[int] = field(default_factory=list)

    def position(self, offset: int) -> tuple[int, int]:
        """Return (line, column), both from 1; the column counts characters."""
        starts = self._line_starts()
        line = bisect.bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the text of a line (from 1), without its line end."""
        starts = self._line_starts()
        if not 1 <= number <= len(starts):
            return ""
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\n")

    def _line_starts(self) -> list[int]:
        if not self._starts:
            self._starts = [0]
            find, at = self.text.find, -1
            while (at := find("\n", at + 1)) >= 0:
                self._starts.append(at + 1)
        return self._starts


class LateSource(Source):
    """A library file whose text is read only if somebody asks for it.

    Args:
        path: the name that messages show.
        file: where it is.
    """

    __slots__ = ("_file", "_read")

    def __init__(self, path: str, file: str) -> None:
        self.path = path
        self.is_library = True
        self._starts = []
        self._file = file
        self._read: str | None = None

    @property
    def text(self) -> str:  # type: ignore[override]
        """The whole text; empty if the file is gone."""
        if self._read is None:
            try:
                with open(self._file, encoding="utf-8") as file:
                    self._read = file.read()
            except OSError:
                self._read = ""
        return self._read


@record
class Span:
    """The characters `start` to `end` (exclusive) of a source."""

    source: Source
    start: int
    end: int

    def location(self) -> str:
        """Return `path:line:column`."""
        line, column = self.source.position(self.start)
        return f"{self.source.path}:{line}:{column}"
