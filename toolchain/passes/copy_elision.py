"""The last copy of a value becomes a move, and copies that are never read are elided.

Input: a function in which a `copy` mark stands before each `Block` that copies a named local, or a field of one, and a
`copied` mark before what gives a local or a field a copy, as far as its next `init` mark. Output: the function without
these marks: the block's statements, or, where its origin is not live afterwards, what the mark says instead; and
nothing at all where the copy is not live.

    Mark copy a instead { memcpy t, a; Mark consume a }        memcpy t, a; Mark consume a
    block 3 { call @__copyinit__(t, a) }                  ->
    (a is not used below)
"""

from collections.abc import Sequence

from ktc.base.records import replace
from ktc.diag.diagnostic import Sink
from ktc.ir.nodes import Block, Declare, Function, If, Local, Loop, Mark, Statement
from ktc.passes import flow
from ktc.passes.liveness import FIRST_BIT, Uses
from ktc.passes.slots import SlotTable, field_counts, marks


def run(function: Function, config: object, sink: Sink) -> Function:
    """Settle the `copy` marks of a function."""
    found = list(marks(function.body))
    copied = {one.local for one in found if isinstance(one, Mark) and one.kind in ("copy", "copied")}
    if not copied:
        return function
    table = SlotTable(FIRST_BIT)
    for local, fields in field_counts(found).items():
        if local in copied or local.points_to or local.points_to_all:
            table.add(local, local in copied and (fields > 0 or not local.drop), fields)
    uses = Uses(table, frozenset(one.local for one in found if isinstance(one, Declare)))
    graph = flow.build(function.body, uses.of, uses.enter, uses.leave)
    live = flow.replaced_early(graph, flow.liveness(graph))
    parts = [table.get(one.local) for one in found if isinstance(one, Mark) and one.kind == "copy" and one.path]
    if parts:
        live = _with_wholes(graph, live, sum({row.mask for row in parts if row is not None}))
    return replace(function, body=_settle(graph.body, graph, live, table))


def _with_wholes(graph: flow.Graph, live: list[int], parts: int) -> list[int]:
    """Return the live sets with the fields of values replaced as a whole: they are destroyed as a whole, too."""
    wholes = flow.backward(graph, lambda _, one, after: (after & ~(one.lead | one.use)) | (one.kill & parts))
    return [one | inside for one, inside in zip(live, wholes, strict=True)]


def _settle(arm: flow.Arm, graph: flow.Graph, live: list[int], table: SlotTable) -> tuple[Statement, ...]:
    out: list[Statement] = []
    choice: Mark | None = None
    target: Local | None = None  # the local that is given a copy here
    unseen = -1  # the position of the end of a copy that is never read
    for at, step in enumerate(arm.steps):
        statement = step.statement
        if at <= unseen:
            continue
        match statement:
            case Mark(kind="copy"):
                choice = statement
            case Mark(kind="copied"):
                unseen = _end_of_unseen(arm, at, graph, live, table)
                target = None if statement.path or unseen >= 0 else statement.local
            case Mark(kind="init") if statement.local is target:
                target = None
                out.append(statement)
            case Block() if choice is not None:
                row = table.get(choice.local)
                after = _live_after(arm, at, graph, live)
                if row is not None and after is not None and not after & row.at(choice.path):
                    out += choice.instead if target is None or target.is_shared else choice.renamed
                else:
                    out += _settle(step.arms[0], graph, live, table)
                choice = target = None
            case If():
                then, orelse = (_settle(one, graph, live, table) for one in step.arms)
                out.append(replace(statement, then=then, orelse=orelse))
            case Loop() | Block():
                out.append(replace(statement, body=_settle(step.arms[0], graph, live, table)))
            case _:
                out.append(statement)
    return (*out, *_plain(arm.rest))


def _end_of_unseen(arm: flow.Arm, at: int, graph: flow.Graph, live: list[int], table: SlotTable) -> int:
    """Return the position of the mark that ends a copy that is never read, else -1."""
    copied = arm.steps[at].statement
    assert isinstance(copied, Mark)
    row = table.get(copied.local)
    for end in range(at + 1, len(arm.steps)):
        mark = arm.steps[end].statement
        if isinstance(mark, Mark) and mark.kind == "init" and (mark.local, mark.path) == (copied.local, copied.path):
            after = 0
            for successor in graph.successors[arm.steps[end].node]:
                after |= live[successor]
            return -1 if row is None or after & row.at(copied.path) else end
    return -1


def _live_after(arm: flow.Arm, at: int, graph: flow.Graph, live: list[int]) -> int | None:
    """Return the locals that are live after the block at a position, as bits; None if its end is not reached."""
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
            case Mark(kind="copy" | "copied"):
                continue
            case If(_, then, orelse):
                out.append(replace(statement, then=_plain(then), orelse=_plain(orelse)))
            case Loop(_, inner) | Block(_, inner):
                out.append(replace(statement, body=_plain(inner)))
            case _:
                out.append(statement)
    return tuple(out)
