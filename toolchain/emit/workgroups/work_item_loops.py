"""Loops over threads, and where the values are kept that live from one to another.

Input: a graph and its cuts. Output: a `Plan`: a `WorkItemLoop` for each loop, with what it does, and a `Slot` for each
value that is set in one and read in another. A value that all threads have alike is kept once; what is cheaply computed
of a thread's indices is computed again; the rest is kept in an array, an element a thread, or a lane if only one warp's
loops use it.
"""

from collections.abc import Iterator
from dataclasses import field

from ktc.base.records import entity
from ktc.emit.llvm_text import flow
from ktc.emit.llvm_text.functions import Phi
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.workgroups.barrier_regions import END, BarrierRegions, CannotCut, Part
from ktc.emit.workgroups.graphs import pure
from ktc.emit.workgroups.graphs.graph import Graph
from ktc.emit.workgroups.graphs.uniformity import LaneGroupVariance
from ktc.targets.cpu import EXCHANGED, LANE_SLOT, WARP_SLOT

IDS = frozenset({"%s0", "%s1", "%s2", f"%s{LANE_SLOT}", f"%s{WARP_SLOT}"})
"""Names of the memory that each thread has of its own."""

_MAX_RECOMPUTATION_COST = 24
"""Up to this cost a value is computed again in each loop."""

SCALAR, LANES, THREADS = "scalar", "lanes", "threads"
"""How a value is kept: once, an element a lane, an element a thread."""

Users = dict[str, list[tuple[str, Instruction | Phi]]]
"""By value: the blocks and instructions that use it."""


@entity
class WorkItemLoop:
    """One loop over threads, or over a warp's lanes.

    Args:
        prefix: of its labels and names. part: the blocks that each thread runs.
        cut: where it belongs to. outer: the head of the part of the block's cut. is_row: see `uniformity`.
        varying: values that may differ between its threads.
    """

    prefix: str
    part: Part
    cut: BarrierRegions
    outer: str
    varying: set[str]
    is_lanes: bool = False
    is_row: bool = False
    crossing: set[str] = field(default_factory=set)
    """Values that it reads and does not set."""
    live: set[int] = field(default_factory=set)
    """The identities of the instructions and phis that it needs."""


@entity
class Plan:
    """A kernel as loops: its work-item loops, and how its values are kept between them.

    Args:
        slots: by value, how it is kept. confined: places in memory of one thread that need not outlive its iteration.
        ends_threads: some threads may end before others. ends_in_rows: also where a warp is a row of threads.
        is_even: rows are so only where the block's extent in x is a multiple of the warp's size.
    """

    graph: Graph
    block_cut: BarrierRegions
    item_loops: list[WorkItemLoop]
    varying: set[str]
    lane_group_variance: LaneGroupVariance
    slots: dict[str, str] = field(default_factory=dict)
    confined: set[str] = field(default_factory=set)
    ends_threads: bool = False
    ends_in_rows: bool = False
    is_even: bool = False
    private: set[str] = field(default_factory=set)
    """Values that may be addresses of memory of one thread."""
    of_threads: set[str] = field(default_factory=set)
    """Those of `slots` that are kept for each thread: that of the first may not be set, where it went another way."""

    def recomputation_cost(self, name: str) -> int:
        """Return the cost of computing a value again from indices, arguments and uniform values: simple instructions.

        A large number if it cannot be.
        """
        return _cost(self, name, _MAX_RECOMPUTATION_COST)

    def is_recomputed(self, name: str) -> bool:
        """Return whether a value is computed again where it is needed."""
        return self.recomputation_cost(name) <= _MAX_RECOMPUTATION_COST


def _cost(plan: Plan, name: str, left: int) -> int:
    if name not in plan.graph.values:
        return 0
    _, one = plan.graph.values[name]
    if isinstance(one, Phi):
        return 0 if name not in plan.varying and left < _MAX_RECOMPUTATION_COST else _MAX_RECOMPUTATION_COST + 1
    if one.op == "alloca":
        return 0
    if name not in plan.varying and left < _MAX_RECOMPUTATION_COST:
        return 0
    total = pure.recomputation_cost(one) or _MAX_RECOMPUTATION_COST + 1
    for use in one.uses:
        if total > left:
            break
        total += _cost(plan, use, left - total)
    return total


def is_local(graph: Graph, part: Part, name: str, place: str) -> bool:
    """Return whether a part sets a value before a block of it, in the same turn.

    Raises:
        CannotCut: it depends on the way.
    """
    if name not in graph.values:
        return False
    block, one = graph.values[name]
    if block not in part.edges or (isinstance(one, Phi) and block == part.head):
        return False
    if flow.dominates(part.parents, block, place):
        return True
    raise CannotCut("a value in it may come from before or after a barrier")


def needs_condition(graph: Graph, part: Part, name: str) -> bool:
    """Return whether a part asks for the condition at a block's end: to go on one of its ways, or to keep it."""
    if not graph.blocks[name].end.condition:
        return False
    return name == part.end or (len(graph.successors(name)) > 1 and bool(part.edges[name]))


def edge_values(graph: Graph, part: Part) -> Iterator[tuple[str, str, Phi, str]]:
    """Give the values that leave a part: the block, its successor, the phi there, and the value's text."""
    for name in part.blocks:
        for target in graph.successors(name):
            if name == part.end or target not in part.edges[name]:
                for phi in graph.blocks[target].phis:
                    yield name, target, phi, phi.incoming[name]


def fill(plan: Plan) -> None:
    """Find the values that each work-item loop needs, and how values are kept."""
    needed: set[str] = set()
    while True:
        before = len(needed)
        for item_loop in plan.item_loops:
            needed |= _needs(plan, item_loop, needed)
        if len(needed) == before:
            break
    places = _Places(plan)
    for name in needed:
        if _op(plan.graph, name) != "alloca":
            plan.slots[name] = _kept(plan, places, name)
    plan.of_threads = {name for name, how in plan.slots.items() if how == THREADS}
    users = _users(plan.graph)
    plan.confined = {name for name in _allocas(plan.graph) if _is_confined(plan, users, name)}
    plan.private = _private(plan.graph, users)
    plan.ends_threads = any(item_loop.part.ends_threads for item_loop in plan.item_loops)
    plan.ends_in_rows = any(
        item_loop.part.ends_threads for item_loop in plan.item_loops if item_loop.is_row or not item_loop.is_lanes
    )


def _op(graph: Graph, name: str) -> str:
    _, one = graph.values.get(name, ("", None))
    return one.op if isinstance(one, Instruction) else ""


def _needs(plan: Plan, item_loop: WorkItemLoop, needed: set[str]) -> set[str]:
    """Mark what a work-item loop does; return the values that it takes from others' slots."""
    graph, part = plan.graph, item_loop.part
    item_loop.live, item_loop.crossing = set(), set()
    kept: set[str] = set()
    work: list[tuple[str, str]] = []
    for name in part.blocks:
        block = graph.blocks[name]
        for one in block.body:
            if pure.has_effect(one) or one.name in needed:
                _mark(item_loop, one, name, work)
        for phi in block.phis if name != part.head else ():
            if phi.name in needed:
                _mark(item_loop, phi, name, work)
        if needs_condition(graph, part, name):
            work.append((block.end.condition, name))
        if name == part.end and block.barrier is not None and block.barrier.exchange is not None:
            work += [(use, name) for use in block.barrier.exchange.uses]
    for name, _, phi, value in edge_values(graph, part):
        if phi.name in needed:
            work.append((value, name))
    while work:
        value, place = work.pop()
        if not value.startswith("%") or value in graph.parameters:
            continue
        if _op(graph, value) == "alloca":
            item_loop.crossing.add(value)
            continue
        if is_local(graph, part, value, place):
            where, setter = graph.values[value]
            _mark(item_loop, setter, where, work)
            continue
        _load_outer(plan, item_loop, value, kept)
    return kept


def _mark(item_loop: WorkItemLoop, one: Instruction | Phi, block: str, work: list[tuple[str, str]]) -> None:
    if id(one) in item_loop.live:
        return
    item_loop.live.add(id(one))
    if isinstance(one, Phi):
        work += [(value, pred) for pred, value in one.incoming.items() if pred in item_loop.part.edges]
    else:
        uses = one.uses[1:] if one.callee == EXCHANGED else one.uses
        work += [(use, block) for use in uses]


def _load_outer(plan: Plan, item_loop: WorkItemLoop, name: str, kept: set[str]) -> None:
    if name in item_loop.crossing or name in plan.graph.parameters:
        return
    item_loop.crossing.add(name)
    if not plan.is_recomputed(name):
        kept.add(name)
        return
    _, one = plan.graph.values[name]
    if isinstance(one, Instruction) and one.op != "alloca":
        for use in one.uses:
            _load_outer(plan, item_loop, use, kept)


class _Places:
    """The work-item loops that read a value, have a block, or pass a value on to a phi."""

    def __init__(self, plan: Plan) -> None:
        self.reading: dict[str, list[WorkItemLoop]] = {}
        self.having: dict[str, list[WorkItemLoop]] = {}
        self.passing: dict[str, list[WorkItemLoop]] = {}
        for item_loop in plan.item_loops:
            for value in item_loop.crossing:
                self.reading.setdefault(value, []).append(item_loop)
            for block in item_loop.part.edges:
                self.having.setdefault(block, []).append(item_loop)
            for _, _, phi, _ in edge_values(plan.graph, item_loop.part):
                self.passing.setdefault(phi.name, []).append(item_loop)


def _kept(plan: Plan, found: _Places, name: str) -> str:
    if name not in plan.varying:
        return SCALAR
    block, one = plan.graph.values[name]
    places = [*found.reading.get(name, ()), *found.having.get(block, ())]
    if isinstance(one, Phi):
        places += found.passing.get(name, ())
    if not all(item_loop.is_lanes for item_loop in places) or len({item_loop.outer for item_loop in places}) > 1:
        return THREADS
    if isinstance(one, Phi) and block in plan.block_cut.parts:
        return THREADS  # it comes from an earlier turn of all warps
    return SCALAR if all(name not in item_loop.varying for item_loop in places) else LANES


def _allocas(graph: Graph) -> Iterator[str]:
    for name, (_, one) in graph.values.items():
        if isinstance(one, Instruction) and one.op == "alloca":
            yield name


def _users(graph: Graph) -> Users:
    """Return by value what uses it."""
    found: Users = {}
    for block in graph.blocks.values():
        for one in block.setters():
            for use in dict.fromkeys(one.incoming.values() if isinstance(one, Phi) else one.uses):
                found.setdefault(use, []).append((block.name, one))
    return found


def _private(graph: Graph, users: Users) -> set[str]:
    """Return the values that may be addresses of one thread's memory; all values, if such an address is in memory."""
    found = set(_allocas(graph))
    work = list(found)
    while work:
        at = work.pop()
        for _, one in users.get(at, ()):
            if isinstance(one, Instruction) and (one.op == "ptrtoint" or _gives_away(one, at)):
                return set(graph.values)
            if one.name and one.name not in found and (isinstance(one, Phi) or one.op != "load"):
                found.add(one.name)
                work.append(one.name)
    return found


def _gives_away(one: Instruction, address: str) -> bool:
    if one.op == "store":
        return one.values[0] == address
    return one.op == "call" and not one.callee.startswith("llvm.")


def _is_confined(plan: Plan, users: Users, name: str) -> bool:
    """Return whether only one work-item loop, that a block runs once, uses a place in memory."""
    derived, work = {name}, [name]
    blocks: set[str] = set()
    while work:
        at = work.pop()
        for block, one in users.get(at, ()):
            blocks.add(block)
            if isinstance(one, Instruction) and one.op == "store" and one.values[0] == at:
                return False
            if one.name and one.name not in derived and (isinstance(one, Phi) or one.op not in ("load",)):
                derived.add(one.name)
                work.append(one.name)
    item_loops = [item_loop for item_loop in plan.item_loops if any(block in item_loop.part.edges for block in blocks)]
    if len({item_loop.prefix for item_loop in item_loops}) != 1:
        return False
    edges = {head: [one for one in part.follows if one != END] for head, part in plan.block_cut.parts.items()}
    outer = item_loops[0].outer
    return not item_loops[0].is_lanes and outer not in flow.reached(edges, edges[outer])
