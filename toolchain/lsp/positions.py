"""Offsets in a text, and lines and columns as the protocol counts them: from 0, columns in UTF-16 units."""

import bisect

_BASIC = 0xFFFF


class Lines:
    """The lines of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(index + 1 for index, char in enumerate(text) if char == "\n")]
        self.is_basic = text.isascii() or all(ord(char) <= _BASIC for char in text)

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place; places after the end of a line are its end."""
        if line >= len(self.starts):
            return len(self.text)
        start = self.starts[line]
        end = self.starts[line + 1] - 1 if line + 1 < len(self.starts) else len(self.text)
        if self.is_basic:
            return min(start + column, end)
        at = start
        while at < end and column > 0:
            column -= 2 if ord(self.text[at]) > _BASIC else 1
            at += 1
        return at

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect.bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset]
        return line, len(before) if self.is_basic else sum(2 if ord(char) > _BASIC else 1 for char in before)


def is_word(char: str) -> bool:
    """Return whether a character can stand in a name."""
    return char.isalnum() or char == "_"


def word_at(text: str, offset: int) -> tuple[int, int]:
    """Return where the name at an offset, or just before it, starts and ends."""
    start = end = min(offset, len(text))
    while start > 0 and is_word(text[start - 1]):
        start -= 1
    while end < len(text) and is_word(text[end]):
        end += 1
    return start, end
