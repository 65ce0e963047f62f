"""Copies of values that nobody uses any more become moves.

In: a function in which a `copy` mark stands before each `Block` that copies a named local. Out: the function without
`copy` marks: the block's statements, or, where the local is not live afterwards, what the mark says instead.

    Mark copy a instead { memcpy t, a; Mark consume a }        memcpy t, a; Mark consume a
    block 3 { call @__copyinit__(t, a) }                  ->
    (a is not used below)
"""

from collections.abc import Sequence
from dataclasses import replace

from ktc.diag.diagnostic import Sink
from ktc.ir.nodes import Block, Declare, Function, If, Loop, Mark, Statement
from ktc.passes import flow
from ktc.passes.slots import SlotTable, field_counts, marks
from ktc.passes.uses import FIRST_BIT, Uses


def run(function: Function, config: object, sink: Sink) -> Function:
    """Settle the `copy` marks of a function."""
    found = list(marks(function.body))
    wanted = {one.local for one in found if isinstance(one, Mark) and one.kind == "copy"}
    if not wanted:
        return function
    table = SlotTable(FIRST_BIT)
    for local in field_counts(found):
        if local in wanted or local.pins or local.pins_all:
            table.add(local, False)
    uses = Uses(table, frozenset(one.local for one in found if isinstance(one, Declare)))
    graph = flow.build(function.body, uses.of, uses.enter, uses.leave)
    live = flow.liveness(graph)
    return replace(function, body=_settle(graph.body, graph, live, table))


def _settle(arm: flow.Arm, graph: flow.Graph, live: list[int], table: SlotTable) -> tuple[Statement, ...]:
    out: list[Statement] = []
    choice: Mark | None = None
    for at, step in enumerate(arm.steps):
        statement = step.statement
        match statement:
            case Mark(kind="copy"):
                choice = statement
            case Block() if choice is not None:
                row = table.get(choice.local)
                after = _live_after(arm, at, graph, live)
                if row is not None and after is not None and not after & row.mask:
                    out += choice.instead
                else:
                    out += _settle(step.arms[0], graph, live, table)
                choice = None
            case If():
                then, orelse = (_settle(one, graph, live, table) for one in step.arms)
                out.append(replace(statement, then=then, orelse=orelse))
            case Loop() | Block():
                out.append(replace(statement, body=_settle(step.arms[0], graph, live, table)))
            case _:
                out.append(statement)
    return (*out, *_plain(arm.rest))


def _live_after(arm: flow.Arm, at: int, graph: flow.Graph, live: list[int]) -> int | None:
    """Return what is live behind the block at a position; None if its end is not reached."""
    last = _last_node(arm.steps[at].arms[0])
    if last < 0:
        return None
    after = 0
    for successor in graph.successors[last]:
        after |= live[successor]
    return after


def _last_node(arm: flow.Arm) -> int:
    """Return the node at the end of a straight list, -1 where there is none or control divides."""
    for step in reversed(arm.steps):
        if step.arms:
            return -1
        if step.node >= 0:
            return step.node
    return -1


def _plain(body: Sequence[Statement]) -> tuple[Statement, ...]:
    """Return statements that are never reached, without `copy` marks."""
    out: list[Statement] = []
    for statement in body:
        match statement:
            case Mark(kind="copy"):
                continue
            case If(_, then, orelse):
                out.append(replace(statement, then=_plain(then), orelse=_plain(orelse)))
            case Loop(_, inner) | Block(_, inner):
                out.append(replace(statement, body=_plain(inner)))
            case _:
                out.append(statement)
    return tuple(out)
