"""Changes of a text: which characters become which others, one inside the other.

Input: the changes that rules ask for. Output: the text with all of them, or with one alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

Piece = str | tuple[int, int]
"""A text, or the characters of the old text from the first offset to the second, with the changes inside them."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One kind of change.

    Args:
        name: its short name, in messages and tests.
        title: its effect, as an order.
    """

    name: str
    title: str


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """The characters `start` to `end` become the pieces; an insertion has both equal.

    Args:
        group: changes of one group belong together: none of them is right alone.
    """

    rewrite: Rewrite
    start: int
    end: int
    pieces: tuple[Piece, ...]
    group: int = 0

    @property
    def is_insertion(self) -> bool:
        return self.start == self.end

    @property
    def keeps_itself(self) -> bool:
        """Return whether all of the old text is in the new one."""
        return (self.start, self.end) in self.pieces


@dataclass(frozen=True, slots=True)
class Note:
    """A place that needs a look, and why."""

    rewrite: Rewrite
    start: int
    text: str


@dataclass(slots=True)
class Changes:
    """The changes of one text.

    Attributes:
        group: of the changes that are asked for now.
    """

    text: str
    changes: list[Change] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    group: int = 0

    def replace(self, rewrite: Rewrite, start: int, end: int, *pieces: Piece) -> None:
        """Ask for a change, unless the same was asked for."""
        made = Change(rewrite, start, end, pieces, self.group)
        if not any((one.start, one.end, one.pieces) == (start, end, pieces) for one in self.changes):
            self.changes.append(made)

    def insert(self, rewrite: Rewrite, at: int, text: str) -> None:
        """Ask for a text between two characters."""
        self.replace(rewrite, at, at, text)

    def wrap(self, rewrite: Rewrite, start: int, end: int, before: str, after: str) -> None:
        """Ask for texts around some characters."""
        self.replace(rewrite, start, end, before, (start, end), after)

    def note(self, rewrite: Rewrite, start: int, text: str) -> None:
        """Note a place that needs a look."""
        made = Note(rewrite, start, text)
        if made not in self.notes:
            self.notes.append(made)

    def applied(self) -> str:
        """Return the text with all changes."""
        order = sorted(self.changes, key=lambda one: (one.start, not one.is_insertion, -one.end, not one.keeps_itself))
        return _rendered(self.text, order, 0, len(self.text), ())

    def moved(self, at: int) -> int:
        """Return where a character of the old text is in the new one."""
        cut = Changes(self.text, [one for one in self.changes if one.end <= at])
        return len(cut.applied()) - (len(self.text) - at)

    def alone(self, change: Change) -> str:
        """Return the new text of a change if it is the only one."""
        return "".join(one if isinstance(one, str) else self.text[one[0] : one[1]] for one in change.pieces)


def _rendered(text: str, order: Sequence[Change], start: int, end: int, around: tuple[Change, ...]) -> str:
    """Return some characters with the changes inside them, but for those that are being made."""
    parts: list[str] = []
    at = start
    inner = bool(around)
    for one in order:
        if one.start < at or one.end > end or one in around:
            continue
        if one.is_insertion and inner and one.start in (start, end):
            continue  # it stands beside them
        parts.append(text[at : one.start])
        for piece in one.pieces:
            parts.append(piece if isinstance(piece, str) else _rendered(text, order, *piece, (*around, one)))
        at = one.end
    parts.append(text[at:end])
    return "".join(parts)
