"""Definite initialisation: every use that the source spells is of a value that is surely there.

Input: a function with marks. Output: the same function; a diagnostic for each `require` that is not met, for each `mut`
argument that has no value when the function returns, and for each value of which a field was moved away for good. Drops
are left to `drop_insertion`, which removes the marks.

    var s: String        Declare s
    if c: s = "a"        Mark init s in one arm
    print(s)             Mark require s: 's' is used before it has a value
"""

from collections.abc import Iterator

from ktc.diag.diagnostic import Sink
from ktc.diag.source import Span
from ktc.ir.nodes import Declare, Function, Local, Mark, Return, Statement
from ktc.passes import errors, flow
from ktc.passes.liveness import linked_bits
from ktc.passes.slots import Slots, SlotTable, field_counts, marks


def run(function: Function, config: object, sink: Sink) -> Function:
    """Check the `require` marks of a function; return it unchanged.

    Reports: UNINITIALIZED, UNSUPPORTED.
    """
    found = list(marks(function.body))
    required = {
        one.local for one in found if one.local.is_caller_owned or (isinstance(one, Mark) and one.kind in _ASKING)
    }
    for one in found:
        if isinstance(one, Mark) and one.kind == "consume" and not _is_divided(one.local, one.path):
            sink.report(errors.moved_from_inside(one.local, one.span))
    if not required:
        return function
    table = SlotTable()
    for local, fields in field_counts(found).items():
        if local in required:
            table.add(local, fields > 0, fields)
    graph = flow.build(function.body, _Effects(table).of)
    facts = flow.holding(graph)
    moves: dict[Local, list[Span]] = {}
    for one in found:
        if isinstance(one, Mark) and one.kind == "consume" and one.span:
            moves.setdefault(one.local, []).append(one.span)
    wrong: set[Local] = set()
    reported: set[tuple[Local, int]] = set()
    for step in _steps(graph.body):
        mark = step.statement
        row = table.get(mark.local) if isinstance(mark, Mark) else None
        if row is not None and isinstance(mark, Mark) and mark.kind in _ASKING:
            missing = row.at(mark.path) & ~facts.definite[step.node]
            if missing:
                wrong.add(mark.local)
                moved_away = facts.possible[step.node] >> table.end & missing
                if not moved_away:  # one that never had a value is one mistake, however often it is used
                    if (mark.local, missing) in reported:
                        continue
                    reported.add((mark.local, missing))
                _report(mark, row, missing, moves.get(mark.local, []) if moved_away else None, sink)
            elif not mark.path and row.by_field and mark.local not in wrong and not mark.local.is_under_construction:
                made = (facts.definite[step.node] | facts.possible[step.node]) >> 3 * table.end
                if not made & row.mask:
                    wrong.add(mark.local)
                    sink.report(errors.filled_by_field(mark.local, mark.span))
    _check_ends(function, graph, facts, table, sink)
    _check_parts([one for one in found if one.local not in wrong], graph, facts, table, moves, sink)
    return function


def _is_divided(local: Local, path: tuple[int, ...]) -> bool:
    return len(path) <= 1 or any(part.path == path for part in local.parts)


_ASKING = frozenset(("require", "result"))


def _check_ends(function: Function, graph: flow.Graph, facts: flow.Facts, table: SlotTable, sink: Sink) -> None:
    """A `mut` argument belongs to the caller, who expects a value in it."""
    kept = [row for row in table.rows.values() if row.local.is_caller_owned]
    for step in _steps(graph.body) if kept else ():
        if isinstance(step.statement, Return):
            for row in list(kept):
                missing = row.mask & ~facts.definite[step.node]
                if missing:
                    sink.report(errors.left_empty(row.named(missing), row.local, step.statement.span or function.span))
                    kept.remove(row)


def _check_parts(
    found: list[Mark | Declare], graph: flow.Graph, facts: flow.Facts, table: SlotTable,
    moves: dict[Local, list[Span]], sink: Sink,
) -> None:  # fmt: skip
    """A value of which a field was moved away cannot be destroyed: the field must get a new value before."""
    parts = [one for one in found if isinstance(one, Mark) and one.kind == "consume" and one.path]
    ends = 0
    tracked = dict.fromkeys(one.local for one in found)
    rows = [row for row in map(table.get, tracked) if row is not None]
    divided = [(row, mask) for row in rows for mask in linked_bits(row) if not row.local.drop or not row.local.at]
    for step in _steps(graph.body) if parts or divided else ():
        if isinstance(step.statement, Return | Declare):
            ends |= facts.possible[step.node] >> 2 * table.end
            for row, mask in list(divided):
                there = facts.possible[step.node] & mask
                if there and there != mask and not (ends & mask and row.local.drop):
                    name = row.named(mask & ~there)
                    last = _nearest(moves.get(row.local, []), None) if row.local.drop else None
                    if row.local.drop and not facts.possible[step.node] >> table.end & mask & ~there:
                        sink.report(errors.part_missing(name, row.local))
                    else:
                        sink.report(errors.part_moved(name, row.local, last, last or row.local.span))
                    divided.remove((row, mask))
    for mark in reversed(parts):
        slots = table.get(mark.local)
        if slots is None or not mark.local.drop or mark.local.is_caller_owned or not ends & slots.at(mark.path):
            continue
        ends &= ~slots.mask
        later = any(
            isinstance(one, Mark) and one.local is mark.local and one.kind == "require" and _after(one.span, mark.span)
            for one in found
        )
        name = slots.named(slots.at(mark.path))
        sink.report(errors.part_moved(name, mark.local, mark.span, mark.span if later else mark.local.span))


def _after(use: Span | None, move: Span | None) -> bool:
    return use is not None and move is not None and use.start > move.end


class _Effects:
    """The effects of statements on the bits. Bit b + `table.end` says that bit b's value was moved away, bit b + 2 *
    `table.end` that it was moved out of a value whose other parts may still be there, bit b + 3 * `table.end` that the
    whole value was once made by an initializer, not field by field."""

    def __init__(self, table: SlotTable) -> None:
        self.table = table

    def of(self, statement: Statement) -> flow.Effect | None:
        """Return the effect of a statement, None if it has none."""
        if not isinstance(statement, Mark | Declare):
            return None
        row = self.table.get(statement.local)
        if row is None:
            return None
        if isinstance(statement, Declare):
            return flow.Effect(lose=sum(row.mask << region * self.table.end for region in range(4)))
        bits = row.at(statement.path)
        moved, part = bits << self.table.end, bits << 2 * self.table.end
        made = 0 if statement.path else bits << 3 * self.table.end
        match statement.kind:
            case "init" if row.is_exact(statement.path):
                return flow.Effect(gain=bits | made, lose=moved | part)
            case "overwrite" if row.is_exact(statement.path):
                # The old value is destroyed whether or not a new one comes (what makes it may raise).
                return flow.Effect(lose=bits)
            case "consume":
                return flow.Effect(gain=moved | part if statement.path else moved, lose=bits | made)
            case "require" | "result":
                # A reported value counts as initialised from there on: one mistake, one message.
                return flow.Effect(gain=bits, lose=moved | part)
        return None


def _report(mark: Mark, row: Slots, missing: int, moves: list[Span] | None, sink: Sink) -> None:
    name = row.named(missing)
    if mark.local.refers_into:
        sink.report(errors.used_after_change(mark.local, mark.span, _nearest(moves or [], mark.span)))
    elif moves is not None:
        sink.report(errors.used_after_move(name, mark.span, _nearest(moves, mark.span)))
    elif mark.kind == "result":
        sink.report(errors.left_incomplete(name, mark.local, mark.span))
    else:
        sink.report(errors.used_uninitialized(name, mark.local, mark.span))


def _nearest(moves: list[Span], use: Span | None) -> Span | None:
    """Return the last move before the use in the text, or, where a loop leads back, the last of all."""
    if not moves:
        return None
    before = [move for move in moves if use is not None and move.start <= use.start]
    return (before or moves)[-1]


def _steps(arm: flow.Arm) -> Iterator[flow.Step]:
    for step in arm.steps:
        if step.node >= 0:
            yield step
        for inner in step.arms:
            yield from _steps(inner)
