"""Definite initialisation: every use that the source spells is of a value that is surely there.

In: a function with marks. Out: the same function; a diagnostic for each `require` that is not met. Drops are left to
`drops`, which removes the marks.

    var s: String        Declare s
    if c: s = "a"        Mark init s in one arm
    print(s)             Mark require s: 's' is used before it has a value
"""

from collections.abc import Iterator

from ktc.diag.diagnostic import Sink
from ktc.diag.source import Span
from ktc.ir.nodes import Declare, Function, Local, Mark, Statement
from ktc.passes import errors, flow
from ktc.passes.slots import SlotTable, field_counts, marks


def run(function: Function, config: object, sink: Sink) -> Function:
    """Check the `require` marks of a function; return it unchanged.

    Reports: UNINITIALIZED, UNSUPPORTED.
    """
    found = list(marks(function.body))
    required = {one.local for one in found if isinstance(one, Mark) and one.kind in _ASKING}
    for one in found:
        if isinstance(one, Mark) and one.kind == "consume" and len(one.path) > 1:
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
    for mark, node in _mark_steps(graph.body):
        row = table.get(mark.local)
        if row is not None and mark.kind in _ASKING:
            missing = row.at(mark.path) & ~facts.sure[node]
            was_moved = bool(facts.maybe[node] >> table.end & missing)
            if missing:
                _report(mark, missing != row.mask, was_moved, moves.get(mark.local, []), sink)
    return function


_ASKING = frozenset(("require", "result"))


class _Effects:
    """What statements do to the bits. Bit b + `table.end` says that bit b's value was moved away."""

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
            return flow.Effect(lose=row.mask | row.mask << self.table.end)
        bits = row.at(statement.path)
        moved = bits << self.table.end
        match statement.kind:
            case "init" if len(statement.path) <= 1:
                return flow.Effect(gain=bits, lose=moved)
            case "overwrite" if len(statement.path) <= 1:
                # The old value is destroyed whether or not a new one comes (what makes it may raise).
                return flow.Effect(lose=bits)
            case "consume":
                return flow.Effect(gain=moved, lose=bits)
            case "require" | "result":
                # What was reported once is taken as given from there on: one mistake, one message.
                return flow.Effect(gain=bits, lose=moved)
        return None


def _report(mark: Mark, part: bool, was_moved: bool, moves: list[Span], sink: Sink) -> None:
    if was_moved:
        sink.report(errors.used_after_move(mark.local, mark.span, _nearest(moves, mark.span), part))
    elif mark.kind == "result":
        sink.report(errors.left_incomplete(mark.local, mark.span, part))
    else:
        sink.report(errors.used_uninitialized(mark.local, mark.span, part))


def _nearest(moves: list[Span], use: Span | None) -> Span | None:
    """Return the last move before the use in the text, or, where a loop leads back, the last of all."""
    if not moves:
        return None
    before = [move for move in moves if use is not None and move.start <= use.start]
    return (before or moves)[-1]


def _mark_steps(arm: flow.Arm) -> Iterator[tuple[Mark, int]]:
    for step in arm.steps:
        if isinstance(step.statement, Mark) and step.node >= 0:
            yield step.statement, step.node
        for inner in step.arms:
            yield from _mark_steps(inner)
