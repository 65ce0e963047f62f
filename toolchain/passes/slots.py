"""Which locals a pass tracks, and which bits of its sets stand for them.

In: a body. Out: a table that gives each tracked local one bit, or, where marks name its fields, one bit for each field.
"""

from collections.abc import Iterator, Sequence

from ktc.ir.nodes import Block, Declare, If, Local, Loop, Mark, Statement
from ktc.ir.types import StructType
from ktc.records import record


def marks(body: Sequence[Statement]) -> Iterator[Mark | Declare]:
    """Yield every mark and declaration in program order."""
    for statement in body:
        match statement:
            case Mark() | Declare():
                yield statement
            case If():
                yield from marks(statement.then)
                yield from marks(statement.orelse)
            case Loop() | Block():
                yield from marks(statement.body)


def has_marks(body: Sequence[Statement]) -> bool:
    """Say whether a body holds any mark: if not, the passes have nothing to do."""
    return any(isinstance(found, Mark) for found in marks(body))


@record
class Slots:
    """One local's bits.

    Args:
        first: the lowest bit's index.
        count: how many bits follow one another.
        by_field: each bit is a field; else the only bit is the whole local.
        mask: all of its bits.
    """

    local: Local
    first: int
    count: int
    by_field: bool
    mask: int

    def at(self, path: tuple[int, ...]) -> int:
        """Return the bits a mark with this path speaks of; only its first step counts."""
        return 1 << (self.first + path[0]) if path and self.by_field else self.mask

    def named(self, bits: int) -> str:
        """Return what a person calls these bits: the value, or a field of it."""
        name = f"'{self.local.name}'" if self.local.name else "the value"
        if not self.by_field or bits == self.mask:
            return name
        first = next(bits_of(bits >> self.first))
        if first < len(self.local.fields):
            return f"'{self.local.name}.{self.local.fields[first]}'"
        return f"a field of {name}"


class SlotTable:
    """The tracked locals of a function, in the order in which they are declared."""

    def __init__(self, first: int = 0) -> None:
        self.rows: dict[Local, Slots] = {}
        self.of_bit: dict[int, Slots] = {}
        self.end = first

    def add(self, local: Local, by_field: bool, fields: int = 0) -> None:
        """Give bits to a local: one, or one for each of at least `fields` fields."""
        count = 1
        if by_field:
            inside = len(local.type.fields) if isinstance(local.type, StructType) else 1
            # A struct with one field that takes memory has that field's type.
            count = len(local.field_drops) or max(inside, fields)
        row = Slots(local, self.end, count, by_field, ((1 << count) - 1) << self.end)
        self.rows[local] = row
        for bit in range(self.end, self.end + count):
            self.of_bit[bit] = row
        self.end += count

    def get(self, local: Local) -> Slots | None:
        """Return the local's row, or None if it is not tracked."""
        return self.rows.get(local)


def field_counts(found: Sequence[Mark | Declare]) -> dict[Local, int]:
    """Return, in program order, each local with the number of fields that marks give or take (0: only the whole)."""
    counts: dict[Local, int] = {}
    for one in found:
        named = (
            one.path[0] + 1
            if isinstance(one, Mark) and one.path and one.kind not in ("require", "result", "use")
            else 0
        )
        counts[one.local] = max(counts.get(one.local, 0), named)
    return counts


def bits_of(mask: int) -> Iterator[int]:
    """Yield the indices of the bits that are set, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
