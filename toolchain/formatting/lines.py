"""A printed line: its text, whether it fits, and where it can be split."""

from collections.abc import Iterator
from dataclasses import dataclass

from ktc.formatting.leaves import Leaf
from ktc.formatting.spacing import COMMA, DOT

INDENT = 4


def opener_of(leaves: list[Leaf], close: int) -> int:
    """Return the index of the bracket that a closing one closes, -1 where it is not among these leaves."""
    depth = 0
    for index in range(close, -1, -1):
        depth += (leaves[index].kind == "close") - (leaves[index].kind == "open")
        if not depth:
            return index
    return -1


def closer_of(leaves: list[Leaf], start: int) -> int:
    """Return the index of the bracket that closes an opening one, -1 where it is not among these leaves."""
    depth = 0
    for index in range(start, len(leaves)):
        depth += (leaves[index].kind == "open") - (leaves[index].kind == "close")
        if not depth:
            return index
    return -1


class CannotSplit(Exception):
    """A way to split a line does not apply."""


@dataclass(slots=True)
class Line:
    """Leaves on one line.

    Args:
        depth: of indentation.
        is_inside: it is the inside of brackets, so it may be split at commas and operators.
        explodes: it is split at its commas even where it fits.
        is_definition: it is the head of a function, or the end of one.
    """

    leaves: list[Leaf]
    depth: int
    is_inside: bool = False
    explodes: bool = False
    is_definition: bool = False

    def code(self) -> str:
        """Return the line without its comments."""
        parts = [" " * (INDENT * self.depth)]
        for index, leaf in enumerate(self.leaves):
            parts.append(" " + leaf.shown if index and leaf.space else leaf.shown)
        return "".join(parts).rstrip()

    def text(self) -> str:
        """Return the line with its comments at its end."""
        comments = [comment for leaf in self.leaves for comment in leaf.comments]
        return "  ".join([self.code(), *comments])

    def width(self, leaf: Leaf) -> int:
        return len(leaf.shown) + leaf.space

    def fits(self, columns: int) -> bool:
        """Return whether the line can stay as it is."""
        if self.has_early_comments() or (len(self.leaves) > 1 and any(leaf.kind == "comment" for leaf in self.leaves)):
            return False
        if self.explodes or self.has_magic_comma():
            return False
        return self.is_short(columns)

    def is_short(self, columns: int) -> bool:
        """Return whether the line is not too long, and one line."""
        code = self.code()
        return len(code) <= columns and "\n" not in code

    def has_early_comments(self) -> bool:
        """Return whether a comment belongs to a leaf that is not the last one to be seen."""
        last = next((index for index in range(len(self.leaves) - 1, -1, -1) if not self.leaves[index].hidden), 0)
        return any(leaf.comments for leaf in self.leaves[:last])

    def has_multiline_string(self) -> bool:
        return any(leaf.kind == "string" and "\n" in leaf.text for leaf in self.leaves)

    def has_magic_comma(self) -> bool:
        """Return whether a comma before a closing bracket asks for one item a line."""
        return any(leaf.kind == "close" and self._is_magic(index, leaf) for index, leaf in enumerate(self.leaves))

    def _is_magic(self, index: int, leaf: Leaf) -> bool:
        back = index - 1
        while back >= 0 and self.leaves[back].kind == "comment":
            back -= 1
        start = opener_of(self.leaves, index)
        if start < 0 or back <= start + 1 or self.leaves[back].text != "," or self.leaves[back].kind != "op":
            return False
        if leaf.text == "}" or (leaf.text == ")" and self._is_trailer(start)):
            return True
        inner = Line(self.leaves[start + 1 : back], 0, True)
        return any(one.split == COMMA for one in inner.delimiters()) or not (
            leaf.text == ")" or self._is_trailer(start)
        )

    def _is_trailer(self, index: int) -> bool:
        """Return whether the bracket at an index belongs to the name or bracket before it."""
        return index > 0 and (self.leaves[index - 1].kind in ("name", "close", "transfer"))

    @property
    def is_import(self) -> bool:
        return self.leaves[0].kind == "word" and self.leaves[0].text in ("import", "from")

    def outside(self) -> Iterator[Leaf]:
        """Give the leaves that are not inside of brackets of this line, and its brackets."""
        depth = 0
        for leaf in self.leaves:
            if leaf.kind == "close":
                depth = max(0, depth - 1)
            if not depth:
                yield leaf
            depth += leaf.kind == "open"

    def delimiters(self) -> Iterator[Leaf]:
        """Give the leaves outside of this line's brackets at which it can be split; not a comma at its end."""
        last = next((leaf for leaf in reversed(self.leaves) if leaf.kind != "comment"), None)
        for leaf in self.outside():
            if leaf.split and (leaf.is_after or leaf is not self.leaves[0]) and not (leaf.is_after and leaf is last):
                yield leaf

    def highest(self) -> tuple[int, int]:
        """Return the highest priority of a split and how many there are of it."""
        found = [leaf.split for leaf in self.delimiters()]
        best = max(found, default=0)
        return best, found.count(best)

    def can_be_split(self) -> bool:
        """Return False where no split is possible for sure."""
        return any(leaf.kind == "open" for leaf in self.leaves) or self.highest()[0] > DOT
