"""Source texts and places in them.

A `Span` is two offsets into one `Source`; lines and columns are computed only when a diagnostic is shown.
"""

import bisect
import re

from ktc.base.editions import ChosenEdition
from ktc.base.records import record

STANDARD_INPUT = "<stdin>"
"""The name of standard input in messages, and of the folder in which its text is kept as a file."""

_RETURN = re.compile(r"\r\n?")


class Source:
    """One text that was read, or that is read when somebody asks for it.

    Args:
        path: the path as the user gave it, or as it was found on the search path.
        text: the whole text, `\\n` line ends; None: what the file holds on first use, nothing if it is gone.
        is_library: True for files of the standard library: a diagnostic avoids them as primary place.
        file: where the text is, if it was not read.
        line_ends: the line ends that the file spells otherwise (`\\r\\n`, `\\r`), by their offset in the text.
        edition: the dialect of the text; None: not decided yet.
    """

    def __init__(
        self,
        path: str,
        text: str | None,
        is_library: bool = False,
        file: str = "",
        line_ends: dict[int, str] | None = None,
        edition: ChosenEdition | None = None,
    ) -> None:
        self.path = path
        self.is_library = is_library
        self.line_ends = line_ends or {}
        self.edition = edition
        self._text = text
        self._file = file
        self._starts: list[int] = []

    @classmethod
    def read(cls, path: str, text: str, is_library: bool = False) -> "Source":
        """Return the source of a file's text, whose line ends may be of any kind."""
        if "\r" not in text:
            return cls(path, text, is_library)
        ends, longer = {}, 0
        for found in _RETURN.finditer(text):
            ends[found.start() - longer] = found[0]
            longer += len(found[0]) - 1
        return cls(path, _RETURN.sub("\n", text), is_library, line_ends=ends)

    def __reduce__(self) -> tuple[object, ...]:
        return Source, (self.path, self.text, self.is_library, "", self.line_ends, self.edition)

    def as_read(self) -> str:
        """Return the text with the line ends of the file."""
        if not self.line_ends:
            return self.text
        parts, at = [], 0
        for offset, end in self.line_ends.items():
            parts += [self.text[at:offset], end]
            at = offset + 1
        return "".join([*parts, self.text[at:]])

    @property
    def text(self) -> str:
        """The whole text."""
        if self._text is None:
            try:
                with open(self._file, encoding="utf-8") as file:
                    self._text = file.read()
            except OSError:
                self._text = ""
        return self._text

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
