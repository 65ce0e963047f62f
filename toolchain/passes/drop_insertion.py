"""Destruction right after the last use: turns marks into destructor calls.

Input: a function with marks (see `ir.nodes.Mark`). Output: the function without marks, in which each value is destroyed
once on every path: after the statement that uses it last, or, where only some paths use it, first thing on the others.
Where it depends on the path taken whether there is a value, a flag remembers it. `definite_initialization` reports the
errors.

    Declare a; make(a); Mark init a        Declare a; make(a)
    if c { look(a) }                  ->   if c { look(a); drop(a) } else { drop(a) }
    other()                                other()
"""

from collections.abc import Mapping, Sequence

from ktc.base.records import replace
from ktc.diag.diagnostic import Bug, Sink
from ktc.diag.source import Span
from ktc.ir.nodes import (
    Block,
    Call,
    Const,
    Declare,
    Function,
    If,
    Let,
    Load,
    Local,
    LocalAddress,
    Loop,
    Mark,
    Op,
    Statement,
    Store,
    Temp,
    Unreachable,
    Value,
)
from ktc.ir.types import BOOL, PTR, VOID, StructType
from ktc.passes import errors, flow
from ktc.passes.liveness import FIRST_BIT, Uses
from ktc.passes.slots import Slots, SlotTable, bits_of, field_counts, has_marks, marks


def run(function: Function, config: object, sink: Sink) -> Function:
    """Insert the destructor calls of a function and remove its marks.

    Reports: NOT_DESTROYED.
    """
    if not has_marks(function.body):
        return function
    found = list(marks(function.body))
    table = SlotTable(FIRST_BIT)
    for local, fields in field_counts(found).items():
        if local.drop or any(local.field_drops):
            table.add(local, fields > 0 or not local.drop, fields)
    if not table.rows:
        return replace(function, body=_without_marks(function.body))
    declared = frozenset(one.local for one in found if isinstance(one, Declare))
    uses = Uses(table, declared)
    graph = flow.build(function.body, uses.of, uses.enter, uses.leave)
    whole = flow.liveness(graph)
    facts = flow.holding(graph, flow.replaced_early(graph, whole))
    flags = _flags(graph, facts, table, uses)
    emitter = _Emitter(graph, facts, whole, table, uses, flags)
    emitter.last_declared_first = function.last_declared_first
    if function.forbidden_destructors:
        emitter.forbidden_destructors, emitter.sink = function.forbidden_destructors, sink
    head: list[Statement] = []
    for bit, flag in flags.items():
        if table.of_bit[bit].local not in declared:
            head += [Declare(flag), _set(flag, 0)]
    return replace(function, body=(*head, *emitter.arm(graph.body)))


def _flags(graph: flow.Graph, facts: flow.Facts, table: SlotTable, uses: Uses) -> dict[int, Local]:
    """Make a flag for each bit that is somewhere to be destroyed only if there is a value."""
    unsure = 0
    for index, effect in enumerate(graph.effects):
        unsure |= effect.lead & facts.possible[index] & ~facts.definite[index]
        for successor in graph.successors[index]:
            dead = facts.possible_after[index] & ~facts.live[successor]
            unsure |= dead & ~facts.definite_after[index]
    flags = {}
    for bit in bits_of(unsure):
        if _symbol(table.of_bit[bit], bit):
            uses.last_local += 1
            flags[bit] = Local(uses.last_local, BOOL)
    return flags


def _symbol(row: Slots, bit: int) -> str:
    """Return the destructor of the value that a bit stands for, "" if it has none."""
    if not row.by_field:
        return row.local.drop
    if not row.local.field_drops:
        raise Bug(
            f"'{row.local.name}' is destroyed in parts, but has no destructors of fields", "passes", row.local.span
        )
    part = row.part(bit)
    if part is not None:
        return part.drop
    field = row.paths[bit - row.first][0]
    return row.local.field_drops[field] if field < len(row.local.field_drops) else ""


def _set(flag: Local, value: int) -> Statement:
    return Store(LocalAddress(flag), Const(BOOL, value))


class _Emitter:
    """Rewrites the body. A drop belongs to an edge of the graph; as only an `If` has two, it stands right after the
    statement of the edge's origin, or first in an arm."""

    def __init__(
        self, graph: flow.Graph, facts: flow.Facts, whole: list[int], table: SlotTable, uses: Uses,
        flags: dict[int, Local],
    ) -> None:  # fmt: skip
        self.graph, self.facts, self.table, self.uses, self.flags = graph, facts, table, uses, flags
        self.whole = whole  # what is live before each node, parts that are replaced later among it
        self.forbidden_destructors: Mapping[str, tuple[str, str]] = {}
        self.sink: Sink | None = None
        self.last_declared_first = False
        self.near: Span | None = None

    def arm(self, arm: flow.Arm, branch: int = -1, span: Span | None = None) -> tuple[Statement, ...]:
        """Return the new statements of a list; `branch` is the node of the `If` whose arm it is."""
        out: list[Statement] = []
        if branch >= 0 and not (arm.steps and isinstance(arm.steps[0].statement, Unreachable)):
            out += self.edge(branch, arm.entry, span)
        for at, step in enumerate(arm.steps):
            self.step(step, out)
            self.near = getattr(step.statement, "span", None) or self.near
            following = arm.steps[at + 1].statement if at + 1 < len(arm.steps) else None
            # After a call that does not return a drop is never reached.
            if step.node >= 0 and not isinstance(step.statement, If) and not isinstance(following, Unreachable):
                for successor in self.graph.successors[step.node]:
                    out += self.edge(step.node, successor, getattr(step.statement, "span", None))
        return (*out, *_without_marks(arm.rest))

    def step(self, step: flow.Step, out: list[Statement]) -> None:
        """Write one statement without what follows it."""
        statement = step.statement
        match statement:
            case If():
                then, orelse = (self.arm(arm, step.node, statement.span) for arm in step.arms)
                out.append(replace(statement, then=then, orelse=orelse))
            case Loop() | Block():
                out.append(replace(statement, body=self.arm(step.arms[0])))
            case Declare(local):
                out.append(statement)
                for flag in self.flags_of(self.table.get(local)):
                    out += [Declare(flag), _set(flag, 0)]
            case Mark():
                self.mark(statement, step.node, out)
            case _:
                out.append(statement)

    def mark(self, mark: Mark, node: int, out: list[Statement]) -> None:
        """Write the statements of a mark itself: a field's old value destroyed, a flag set."""
        if node < 0:
            return
        effect = self.graph.effects[node]
        if effect.lead:
            possible, definite = self.facts.possible[node], self.facts.definite[node]
            row = self.table.of_bit[next(bits_of(effect.lead))]
            if row.paths and effect.lead.bit_count() > 1 and not effect.lead & ~(possible & definite):
                self.field(row, mark.path[0], effect.lead, mark.span, out)
            else:
                for bit in bits_of(effect.lead & possible):
                    self.part(bit, bool(definite >> bit & 1), mark.span, out)
        for bit in bits_of((effect.gain | effect.lose) & ~effect.lead):
            if bit in self.flags:
                out.append(_set(self.flags[bit], effect.gain >> bit & 1))

    def flags_of(self, row: Slots | None) -> list[Local]:
        """Return the flags of a local."""
        return [self.flags[bit] for bit in bits_of(row.mask) if bit in self.flags] if row else []

    def edge(self, origin: int, target: int, span: Span | None) -> list[Statement]:
        """Return the drops on an edge, of values that are not live any more."""
        out: list[Statement] = []
        dead = self.facts.possible_after[origin] & ~self.facts.live[target]
        if not dead:
            return out
        definite = self.facts.definite_after[origin]
        for row in self.ordered(dead, self.graph.effects[origin].mentioned):
            if row.local.drop and not row.mask & ~(dead & definite & ~self.whole[target]):
                out.append(self.call(row.local.drop, row.local.place, row.local, span))
                out += [_set(flag, 0) for flag in self.flags_of(row)]
                continue
            done = 0
            for bit in bits_of(row.mask & dead):
                group = row.group(bit) if row.local.parts else 0
                if group and not group & ~(dead & definite & ~self.whole[target]):
                    if not done & group:
                        self.field(row, row.paths[bit - row.first][0], group, span, out)
                    done |= group
                else:
                    self.part(bit, bool(definite >> bit & 1), span, out)
        return out

    def field(self, row: Slots, index: int, bits: int, span: Span | None, out: list[Statement]) -> None:
        """Destroy a whole field of a local that is itself taken apart."""
        symbol = row.local.field_drops[index]
        if symbol:
            address: Value = row.local.place
            if isinstance(row.local.type, StructType):
                address = Op("field", (address,), PTR, (row.local.type, index))
            out.append(self.call(symbol, address, row.local, span))
            out += [_set(self.flags[bit], 0) for bit in bits_of(bits) if bit in self.flags]

    def part(self, bit: int, definite: bool, span: Span | None, out: list[Statement]) -> None:
        """Destroy what one bit stands for, if `definite`, or if its flag says that there is a value."""
        row = self.table.of_bit[bit]
        symbol = _symbol(row, bit)
        if not symbol:
            return
        address: Value = row.local.place
        inner = row.part(bit) if row.by_field else None
        if inner is not None:
            for step in inner.steps:
                address = Op("field", (address,), PTR, step)
        elif row.by_field and isinstance(row.local.type, StructType):
            address = Op("field", (address,), PTR, (row.local.type, row.paths[bit - row.first][0]))
        drop: tuple[Statement, ...] = (self.call(symbol, address, row.local, span),)
        if bit in self.flags:
            drop = (*drop, _set(self.flags[bit], 0))
        if definite:
            out += drop
            return
        self.uses.last_temp += 1
        there = Temp(self.uses.last_temp, BOOL)
        out += [Let(there, Load(LocalAddress(self.flags[bit]), BOOL), span), If(there, drop, (), span)]

    def call(self, symbol: str, address: Value, local: Local, span: Span | None) -> Statement:
        """Return the call of a destructor; reports one that must not be reached."""
        if symbol in self.forbidden_destructors and self.sink is not None:
            self.sink.report(
                errors.not_consumed(local, self.forbidden_destructors[symbol], span or self.near or local.span)
            )
        return Let(None, Call(symbol, (address,), VOID), span)

    def ordered(self, dead: int, mentioned: tuple[int, ...]) -> list[Slots]:
        """Return the locals in the order of their destruction: a local that points into another comes before it; else
        as the edition says."""
        found = list(dict.fromkeys(map(self.table.of_bit.__getitem__, bits_of(dead))))
        if len(found) < 2:
            return found
        if self.last_declared_first:
            rows = sorted(found, key=_declared_last)
        else:
            rows = self.as_mentioned(found, dead, mentioned)
        if not any(row.local.points_to or row.local.points_to_all for row in rows):
            return rows
        return _pointers_first(rows, self.uses)

    def as_mentioned(self, found: list[Slots], dead: int, mentioned: tuple[int, ...]) -> list[Slots]:
        """Return the locals in the order in which the statement mentions them, then variables of the function, the
        last one first, then those of blocks as declared, then arguments."""
        rows: list[Slots] = []
        for mask in mentioned:
            for bit in bits_of(mask & dead):
                row = self.table.of_bit[bit]
                if row not in rows:
                    rows.append(row)
        others = [row for row in found if row not in rows]
        rows += [row for row in reversed(others) if row.local.is_of_function]
        others = [row for row in others if not row.local.is_of_function]
        return rows + sorted(others, key=lambda row: row.local.at.index if row.local.at is not None else -1)


def _declared_last(row: Slots) -> tuple[int, int]:
    """Return a sort key: arguments before variables and temporaries, of each the last one first."""
    local = row.local
    return (0, -local.at.index) if local.at is not None else (1, -local.id)


def _pointers_first(rows: list[Slots], uses: Uses) -> list[Slots]:
    """Sort so that a local stands before those that it keeps alive, and change nothing else."""
    rows = sorted(rows, key=lambda row: not row.local.points_to_all)
    done: list[Slots] = []
    visited: set[Local] = set()

    def visit(row: Slots) -> None:
        if row.local in visited:
            return
        visited.add(row.local)
        for other in rows:
            if uses.mask(other.local) & row.mask:
                visit(other)
        done.append(row)

    for row in rows:
        visit(row)
    return done


def _without_marks(body: Sequence[Statement]) -> tuple[Statement, ...]:
    out: list[Statement] = []
    for statement in body:
        match statement:
            case Mark():
                continue
            case If(_, then, orelse):
                out.append(replace(statement, then=_without_marks(then), orelse=_without_marks(orelse)))
            case Loop(_, inner) | Block(_, inner):
                out.append(replace(statement, body=_without_marks(inner)))
            case _:
                out.append(statement)
    return tuple(out)
