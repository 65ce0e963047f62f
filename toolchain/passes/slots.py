"""Which locals a pass tracks, and which bits of its sets stand for them.

Input: a body. Output: a table that gives each tracked local one bit, or, where marks name its fields, one bit for each
field.
"""

from collections.abc import Iterator, Sequence

from ktc.base.records import record
from ktc.ir.nodes import Block, Declare, If, Local, Loop, Mark, Part, Statement
from ktc.ir.types import StructType


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
    """Return whether a body holds any mark: if not, the passes have nothing to do."""
    return any(isinstance(found, Mark) for found in marks(body))


@record
class Slots:
    """One local's bits.

    Args:
        first: the lowest bit's index.
        paths: for each bit the field that it stands for; empty if the only bit is the whole local.
        mask: all of its bits.
    """

    local: Local
    first: int
    paths: tuple[tuple[int, ...], ...]
    mask: int

    @property
    def by_field(self) -> bool:
        """Return whether each bit stands for one field."""
        return bool(self.paths)

    def at(self, path: tuple[int, ...]) -> int:
        """Return the bits of a mark with this path: those of its parts, or of the whole that it lies in."""
        if not path or not self.paths:
            return self.mask
        mask = 0
        for i, own in enumerate(self.paths):
            if own == path or own[: len(path)] == path or path[: len(own)] == own:
                mask |= 1 << (self.first + i)
        return mask

    def is_exact(self, path: tuple[int, ...]) -> bool:
        """Return whether there are bits for just this path."""
        return len(path) <= 1 or any(own[: len(path)] == path for own in self.paths)

    def group(self, bit: int) -> int:
        """Return the bits of the local's own field in which a bit's field lies."""
        return self.at(self.paths[bit - self.first][:1]) if self.paths else self.mask

    def part(self, bit: int) -> Part | None:
        """Return the field of a field that a bit stands for; None if it stands for a field of the local."""
        path = self.paths[bit - self.first]
        return next((part for part in self.local.parts if part.path == path), None)

    def named(self, bits: int) -> str:
        """Return these bits' name for messages: the value, or a field of it."""
        name = f"'{self.local.name}'" if self.local.name else "the value"
        if not self.by_field or bits == self.mask:
            return name
        bit = next(bits_of(bits))
        field, part = self.paths[bit - self.first][0], self.part(bit)
        if part is not None and self.group(bit) & ~bits:
            return f"'{self.local.name}.{part.name}'"
        if field < len(self.local.fields):
            return f"'{self.local.name}.{self.local.fields[field]}'"
        return f"a field of {name}"


class SlotTable:
    """The tracked locals of a function, in the order in which they are declared."""

    def __init__(self, first: int = 0) -> None:
        self.rows: dict[Local, Slots] = {}
        self.of_bit: dict[int, Slots] = {}
        self.end = first

    def add(self, local: Local, by_field: bool, fields: int = 0) -> None:
        """Give bits to a local: one, or one for each of at least `fields` fields."""
        paths: tuple[tuple[int, ...], ...] = ()
        if by_field:
            inside = len(local.type.fields) if isinstance(local.type, StructType) else 1
            # A struct with one field that takes memory has that field's type.
            paths = _leaves(local, len(local.field_drops) or max(inside, fields))
        count = len(paths) or 1
        row = Slots(local, self.end, paths, ((1 << count) - 1) << self.end)
        self.rows[local] = row
        for bit in range(self.end, self.end + count):
            self.of_bit[bit] = row
        self.end += count

    def get(self, local: Local) -> Slots | None:
        """Return the local's row, or None if it is not tracked."""
        return self.rows.get(local)


def _leaves(local: Local, count: int) -> tuple[tuple[int, ...], ...]:
    """Return the fields of a local, and instead of those that are taken apart their own."""
    inner = [part.path for part in local.parts]
    divided = {path[:-1] for path in inner}
    every = [(i,) for i in range(count)] + inner
    return tuple(sorted(path for path in every if path not in divided))


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
