"""Loops inside of threads, run by sixteen threads at once that are neighbours in x: a lane group.

Input: a work-item loop whose threads have loops. Output: a `LaneGroup`: segments between the places where lanes part or
meet, the order in which they are run, and what is kept from one to another. Each segment becomes a loop of sixteen
iterations, which LLVM makes vectors of. Where lanes may go different ways, each has a place, the number of the segment
that it runs next; a segment is run under the mask of the lanes whose place it is, and a loop goes on while a lane is in
it. Karrenberg and Hack, "Whole-Function Vectorization", do it with masks alone.
"""

from ktc.emit.llvm_text import flow
from ktc.emit.llvm_text.functions import Phi
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.workgroups.barrier_regions import Part
from ktc.emit.workgroups.graphs import pure
from ktc.emit.workgroups.hoisting import hoisted, is_known
from ktc.emit.workgroups.lane_groups.segments import LaneGroup, Order, Segment, blocks_by_head, ordered
from ktc.emit.workgroups.work_item_loops import (
    LANES,
    SCALAR,
    Plan,
    WorkItemLoop,
    edge_values,
    is_local,
    needs_condition,
)
from ktc.targets.cpu import SUSPECT

_MAX_SEGMENTS = 60
_MAX_LIVE = 1500
_MAX_RECOMPUTATION_COST = 24
_NEVER = 1 << 20


def lane_group_of(plan: Plan, item_loop: WorkItemLoop) -> LaneGroup | None:
    """Return how a work-item loop is run in lane groups, or None if that is not possible or of no use."""
    loops = flow.loops_of(item_loop.part.edges, item_loop.part.head)
    if item_loop.is_lanes or not _is_fit(plan, item_loop, loops):
        return None
    heads = blocks_by_head(item_loop.part, loops)
    if heads is None or len(heads) > _MAX_SEGMENTS:
        return None
    order = ordered(item_loop.part, heads, loops, item_loop.part.head)
    return _Planner(plan, item_loop, heads, order, loops).planned()


# ---- which leaves ---------------------------------------------------------------------------------------------


def _is_fit(plan: Plan, item_loop: WorkItemLoop, loops: dict[str, set[str]]) -> bool:
    if len(item_loop.live) > _MAX_LIVE or any(_is_memory(plan, name) for name in item_loop.crossing):
        return False
    atomic = set[str]()
    for name in item_loop.part.blocks:
        block = plan.graph.blocks[name]
        for one in block.setters():
            if id(one) in item_loop.live and not _is_vectorised(one):
                if not _is_atomic(plan, one):
                    return False
                atomic.add(name)
        if block.barrier is not None and block.barrier.exchange is not None:
            return False
    # Atomics are taken one by one, in the segments that have them; a loop without them is worth it.
    if atomic and all(loop & atomic for loop in loops.values()):
        return False
    number = {name: at for at, name in enumerate(item_loop.part.blocks)}
    return all(
        number[target] > number[name] or flow.dominates(item_loop.part.parents, target, name)
        for name, targets in item_loop.part.edges.items() for target in targets
    )  # fmt: skip


def _is_memory(plan: Plan, name: str) -> bool:
    """Return whether a value is memory of a thread: lanes would share it."""
    _, one = plan.graph.values[name]
    return isinstance(one, Instruction) and one.op == "alloca"


def _is_atomic(plan: Plan, one: Instruction | Phi) -> bool:
    """Return whether an instruction changes memory atomically, or takes what that gave apart."""
    if isinstance(one, Phi):
        return False
    if one.op == "extractvalue":
        origin = plan.graph.values.get(one.uses[0], ("", one))[1]
        return isinstance(origin, Instruction) and origin.op == "cmpxchg"
    if one.op in ("load", "store"):
        return one.is_volatile and not one.is_atomic and one.accessed[0][0] == "i"
    return one.op in ("atomicrmw", "cmpxchg")


def _is_vectorised(one: Instruction | Phi) -> bool:
    if one.name and one.type.startswith(("<", "{", "[")):
        return False
    if isinstance(one, Phi) or is_omitted(one):
        return True
    if one.op in ("load", "store"):
        return not one.is_atomic and not one.is_volatile and one.accessed[0][0] not in "<{["
    return pure.is_pure(one) or one.callee == SUSPECT


def is_omitted(one: Instruction) -> bool:
    """Return whether an instruction is only a note to LLVM."""
    return one.callee in ("llvm.assume", "llvm.experimental.noalias.scope.decl")


# ---- values ---------------------------------------------------------------------------------------------------


class _Planner:
    def __init__(
        self, plan: Plan, item_loop: WorkItemLoop, heads: dict[str, list[str]], order: Order, loops: dict[str, set[str]]
    ) -> None:
        self.plan, self.graph, self.outer, self.order, self.loops = plan, plan.graph, item_loop, order, loops
        self.part = item_loop.part
        self.heads = heads
        setters = [one for name in self.part.edges for one in self.graph.blocks[name].setters()]
        self.extra = plan.of_threads - {one.name for one in setters if self._is_internal(one.name)}
        self.needed: set[str] = set()
        self.lane_group = LaneGroup({}, order, set())

    def planned(self) -> LaneGroup | None:
        for _ in range(8):
            self._try()
            bad = self._not_kept_once()
            if not bad:
                break
            self.extra |= bad
        else:
            return None
        lane_group = self.lane_group
        lane_group.slots = {name: SCALAR if name not in lane_group.varying else LANES for name in self.needed}
        for segment in lane_group.segments.values():
            segment.given = sorted(self._given(segment))
            segment.loop_local = self._loop_local(segment.item_loop)
        self._find_uniform_branches()
        return lane_group

    def _try(self) -> None:
        varying = self.plan.lane_group_variance.varying(self.extra)
        self.needed = set()
        self.lane_group = LaneGroup({}, self.order, varying)
        for number, (head, blocks) in enumerate(self.heads.items(), 1):
            edges = {name: [one for one in self.part.edges[name] if one in blocks and one != head] for name in blocks}
            edges = {name: [one for one in targets if one not in self.heads] for name, targets in edges.items()}
            part = Part(head, flow.order(edges, head), "", [], False, edges, flow.immediate_dominators(edges, head))
            item_loop = WorkItemLoop(f"{self.outer.prefix}.g{number}", part, self.outer.cut, self.outer.outer, varying)
            self.lane_group.segments[head] = Segment(number, item_loop)
        while True:
            before = len(self.needed)
            for segment in self.lane_group.segments.values():
                self._needs(segment.item_loop)
            if len(self.needed) == before:
                break

    def _is_internal(self, name: str) -> bool:
        block, one = self.graph.values.get(name, ("", None))
        return block in self.part.edges and not (isinstance(one, Phi) and block == self.part.head)

    def _needs(self, item_loop: WorkItemLoop) -> None:
        """Mark the instructions of a segment, and the values that it takes from others."""
        graph, part = self.graph, item_loop.part
        item_loop.live, item_loop.crossing = set(), set()
        work: list[tuple[str, str]] = []
        for phi in graph.blocks[part.head].phis if part.head != self.part.head else ():
            if phi.name in self.plan.slots:
                self._load_outer(item_loop, phi.name)
        for name in part.blocks:
            block = graph.blocks[name]
            for one in block.body:
                if not is_omitted(one) and (pure.has_effect(one) or self._is_needed(one.name)):
                    self._mark(item_loop, one, name, work)
            for phi in block.phis if name != part.head else ():
                if self._is_needed(phi.name):
                    self._mark(item_loop, phi, name, work)
            if needs_condition(graph, self.part, name):
                work.append((block.end.condition, name))
            for target in self.part.edges[name]:
                for phi in graph.blocks[target].phis if target in self.heads else ():
                    if phi.name in self.needed:
                        work.append((phi.incoming[name], name))
        for name, _, phi, value in edge_values(graph, self.part):
            if phi.name in self.plan.slots and name in part.edges:
                work.append((value, name))
        while work:
            value, place = work.pop()
            if not value.startswith("%") or value in graph.parameters:
                continue
            if is_local(graph, part, value, place):
                where, setter = graph.values[value]
                self._mark(item_loop, setter, where, work)
            else:
                self._load_outer(item_loop, value)

    def _is_needed(self, name: str) -> bool:
        return bool(name) and (name in self.needed or name in self.plan.slots)

    def _mark(self, item_loop: WorkItemLoop, one: Instruction | Phi, block: str, work: list[tuple[str, str]]) -> None:
        if id(one) in item_loop.live:
            return
        item_loop.live.add(id(one))
        if isinstance(one, Phi):
            work += [(value, pred) for pred, value in one.incoming.items() if pred in item_loop.part.edges]
        else:
            work += [(use, block) for use in one.uses]

    def _load_outer(self, item_loop: WorkItemLoop, name: str) -> None:
        if name in item_loop.crossing or name in self.graph.parameters:
            return
        item_loop.crossing.add(name)
        _, one = self.graph.values[name]
        if not self._is_internal(name):
            again = name not in self.plan.slots
        else:
            again = (
                name in self.lane_group.varying
                and self._cost(item_loop, name, _MAX_RECOMPUTATION_COST) <= _MAX_RECOMPUTATION_COST
            )
            if not again:
                self.needed.add(name)
        if again and isinstance(one, Instruction) and one.op != "alloca":
            for use in one.uses:
                self._load_outer(item_loop, use)

    def _cost(self, item_loop: WorkItemLoop, name: str, left: int) -> int:
        """Return the cost of computing a value again in a segment, a large number if it cannot be."""
        if not self._is_internal(name):
            return 0
        block, one = self.graph.values[name]
        # A value set in a loop is another one in its next iteration, which other lanes may have begun.
        if any(block in loop and item_loop.part.head not in loop for loop in self.loops.values()):
            return _NEVER
        if name not in self.lane_group.varying:
            return 0
        if isinstance(one, Phi):
            return _NEVER
        total = pure.recomputation_cost(one) or _NEVER
        for use in one.uses:
            if total > left:
                break
            total += self._cost(item_loop, use, left - total)
        return total

    def _given(self, segment: Segment) -> set[str]:
        """Return the kept values that a segment sets, with phis of those that follow."""
        found = set[str]()
        part = segment.item_loop.part
        for name in part.blocks:
            block = self.graph.blocks[name]
            setters = [*block.body, *(block.phis if name != part.head else ())]
            found |= {one.name for one in setters if one.name in self.needed}
            for target in self.part.edges[name]:
                if target in self.heads:
                    found |= {phi.name for phi in self.graph.blocks[target].phis if phi.name in self.needed}
        return found

    def _loop_local(self, item_loop: WorkItemLoop) -> set[str]:
        """Return the phis of a loop of one segment that nothing outside reads."""
        head = item_loop.part.head
        if len(self.heads.keys() & self.loops.get(head, set())) != 1:
            return set()
        others = [one.item_loop.crossing for one in self.lane_group.segments.values() if one.item_loop is not item_loop]
        names = {phi.name for phi in self.graph.blocks[head].phis}
        return names.difference(self.plan.slots, *others)

    def _not_kept_once(self) -> set[str]:
        """Return values that all lanes have alike, but that are not known before the loop of lanes that sets them."""
        found = set[str]()
        varying = self.lane_group.varying
        for segment in self.lane_group.segments.values():
            item_loop = segment.item_loop
            names = {one.name for one in hoisted(self.graph, item_loop)}
            for name in self._given(segment) - varying:
                block, one = self.graph.values[name]
                if block in item_loop.part.edges and not (isinstance(one, Phi) and block in self.heads):
                    found |= {name} - names
                elif isinstance(one, Phi):
                    texts = {
                        text
                        for pred, text in one.incoming.items()
                        if pred in item_loop.part.edges and pred in self.part.edges
                    }
                    if len(texts) > 1 or not all(is_known(self.graph, item_loop, names, text) for text in texts):
                        found.add(name)
        return found

    # ---- ways -----------------------------------------------------------------------------------------------------

    def _find_uniform_branches(self) -> None:
        """Find whether all lanes go the same way from each segment."""
        lane_group = self.lane_group
        alike = not self.plan.ends_threads
        for segment in lane_group.segments.values():
            alike = self._successors(segment) and alike
        lane_group.is_masked = not alike
        for segment in lane_group.segments.values():
            segment.is_full = alike or (segment.item_loop.part.head == self.part.head and not self.plan.ends_threads)
            if not alike:
                segment.uniform_branch = ""

    def _successors(self, segment: Segment) -> bool:
        """Find where lanes go from a segment; says whether all go the same way."""
        part = segment.item_loop.part
        reach: dict[str, set[str]] = {}
        for name in reversed(part.blocks):
            targets = self.part.edges[name] if name != self.part.end else []
            reach[name] = {one if one in self.heads else "" for one in targets if one not in part.edges[name]}
            if not targets or len(targets) < len(set(self.graph.blocks[name].end.targets)):
                reach[name].add("")
            for one in part.edges[name]:
                reach[name] |= reach[one]
        segment.successors = sorted(reach[part.head])
        at = part.head
        while len(reach[at]) > 1:
            inside = part.edges[at]
            if len(self.part.edges[at]) == 1 and len(set(self.graph.blocks[at].end.targets)) == 1:
                at = inside[0]
                continue
            names = {one.name for one in hoisted(self.graph, segment.item_loop)}
            if not all(len(reach[one]) == 1 for one in inside):
                return False
            segment.uniform_branch = at
            return is_known(self.graph, segment.item_loop, names, self.graph.blocks[at].end.condition)
        return True
