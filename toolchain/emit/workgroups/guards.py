"""Guards: the branch with which a kernel begins, on whether the thread's index is within bounds.

Input: a work-item loop. Output: its `Guard`, if it begins with such a branch. Nearly always all threads of a lane group
go the same way there, and without the branch a lane group needs no masks; where they do not, they are run one by one.

A first question of the form `if t < step` or `if t == 0` gives the loop's `Bounds`: the loop over x covers the threads
that have something to do. Reductions halve their threads in each step, and one thread stores a block's result; without
this all lane groups would be run, under masks that are never set.
"""

from collections.abc import Callable

from ktc.base.records import entity, replace
from ktc.emit.llvm_text import flow
from ktc.emit.llvm_text.functions import Phi, Terminator
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.workgroups.barrier_regions import Part
from ktc.emit.workgroups.graphs import pure
from ktc.emit.workgroups.graphs.graph import Graph, Node
from ktc.emit.workgroups.graphs.uniformity import LaneGroupVariance
from ktc.emit.workgroups.hoisting import hoisted, is_known
from ktc.emit.workgroups.lane_groups.segments import GROUP_LANES
from ktc.emit.workgroups.work_item_loops import Plan, WorkItemLoop, edge_values

_BLOCK = ("%s3", "%s4", "%s5")
"""The index of a block: with it a thread's index in the grid is computed."""
_LINEAR = frozenset({"add", "sub", "zext", "sext", "trunc", "or", "shl", "mul"})
_MORE_THAN_ALL = 1 << 20
_ITERATED = {"ult": "ugt", "ule": "uge", "slt": "sgt", "sle": "sge"}
_ITERATED |= {right: left for left, right in _ITERATED.items()} | {"eq": "eq"}
_OPPOSITE = {"ugt": "ule", "uge": "ult", "sgt": "sle", "sge": "slt", "ne": "eq"}
_OPPOSITE |= {right: left for left, right in _OPPOSITE.items()}


@entity
class Guard:
    """A branch at a loop's beginning.

    Args:
        condition: the branch's. continues_if: its value for threads that go on.
        is_idle: threads that do not go on have nothing to do.
        item_loop: the work-item loop without the other way. plan: with the graph of which it is a part.
    """

    condition: str
    continues_if: bool
    is_idle: bool
    item_loop: WorkItemLoop
    plan: Plan


def guard_of(plan: Plan, item_loop: WorkItemLoop) -> Guard | None:
    """Return the guard with which a work-item loop begins, if there is one."""
    graph, part = plan.graph, item_loop.part
    block = _first_branch(graph, item_loop)
    if block is None:
        return None
    at, condition, targets = block.name, block.end.condition, graph.successors(block.name)
    found = _Conditions(plan, part)
    if condition not in found.varying or not found.is_bound(condition):
        return None
    ways = [one for one in targets if not _is_idle(graph, item_loop, one, False)]
    if len(ways) != 1:
        return None
    (other,) = [one for one in targets if one != ways[0]]
    copied = {**graph.blocks, at: Node(at, Terminator(f"br label %{ways[0]}", ways), block.phis, block.body)}
    whole = Graph(graph.parameters, copied, graph.values)
    edges = {name: [one for one in part.edges[name] if (name, one) != (at, other)] for name in part.blocks}
    sequence = flow.order(edges, part.head)
    edges = {name: edges[name] for name in sequence}
    inner = Part(
        part.head, sequence, part.end, part.follows, part.ends_threads, edges,
        flow.immediate_dominators(edges, part.head),
    )  # fmt: skip
    if part.end and part.end not in edges:
        return None
    made = WorkItemLoop(
        item_loop.prefix,
        inner,
        item_loop.cut,
        item_loop.outer,
        item_loop.varying,
        live=item_loop.live,
        crossing=item_loop.crossing,
    )
    continues_if = block.end.targets[0] == ways[0]
    changed = replace(plan, graph=whole, lane_group_variance=LaneGroupVariance(whole))
    is_idle = _is_idle(graph, item_loop, other, True) and not _keeps(plan, item_loop)
    return Guard(condition, continues_if, is_idle, made, changed)


def _idle_way(plan: Plan, item_loop: WorkItemLoop) -> tuple[str, bool] | None:
    """Return the condition with which a work-item loop begins, and its value for the threads that have work.

    None if other threads have work too.
    """
    graph = plan.graph
    block = _first_branch(graph, item_loop)
    if block is None or _keeps(plan, item_loop):
        return None
    targets = graph.successors(block.name)
    ways = [one for one in targets if not _is_idle(graph, item_loop, one, True)]
    return (block.end.condition, block.end.targets[0] == ways[0]) if len(ways) == 1 else None


def _first_branch(graph: Graph, item_loop: WorkItemLoop) -> Node | None:
    """Return the block whose branch is the first, if it has two ways and nothing before it has an effect."""
    part, at = item_loop.part, item_loop.part.head
    while True:
        block = graph.blocks[at]
        if at == part.end or not all(pure.is_pure(one) for one in block.body if id(one) in item_loop.live):
            return None
        targets = graph.successors(at)
        if len(targets) != 1:
            return block if len(targets) == 2 and block.end.condition else None
        if targets[0] not in part.edges[at]:
            return None
        at = targets[0]


def _is_idle(graph: Graph, item_loop: WorkItemLoop, name: str, to_the_end: bool) -> bool:
    """Return whether a way has nothing to do until it meets another, or until it leaves the part."""
    part = item_loop.part
    before = flow.reversed_edges(part.edges)
    while name in part.edges:
        if len(before[name]) > 1 and not to_the_end:
            return True
        if any(id(one) in item_loop.live for one in graph.blocks[name].body):
            return False
        if name == part.end or not part.edges[name]:
            return True
        if len(graph.successors(name)) > 1:
            return False
        name = part.edges[name][0]
    return True


def _keeps(plan: Plan, item_loop: WorkItemLoop) -> bool:
    """Return whether something is kept for threads that have nothing to do."""
    part = item_loop.part
    if plan.ends_threads or (part.end and plan.graph.blocks[part.end].end.condition):
        return True
    if any(phi.name in plan.slots for name in part.blocks if name != part.head for phi in plan.graph.blocks[name].phis):
        return True
    once = {one.name for one in hoisted(plan.graph, item_loop)}
    kept = plan.slots.keys() - once
    if any(one.name in kept for name in part.blocks for one in plan.graph.blocks[name].body):
        return True
    return any(phi.name in plan.slots for _, _, phi, _ in edge_values(plan.graph, part))


class _Conditions:
    """Which conditions can be computed before all else, and say that an index is within bounds."""

    def __init__(self, plan: Plan, part: Part) -> None:
        self.plan, self.graph, self.part = plan, plan.graph, part
        self.varying = plan.lane_group_variance.varying(set())

    def is_bound(self, name: str) -> bool:
        """Return whether a condition compares indices with values that all threads have alike."""
        if name not in self.varying:
            return self._is_ready(name)
        _, one = self.graph.values.get(name, ("", None))
        if not isinstance(one, Instruction):
            return False
        found = _both(one) or _either(one)
        if found:
            return all(self.is_bound(part) for part in found)
        if one.op != "icmp" or not all(self._is_linear(use) for use in one.uses):
            return False
        return self._depends(name, _is_argument) or (_is_whole(one) and self._depends(name, _BLOCK.__contains__))

    def _depends(self, name: str, on: Callable[[str], bool]) -> bool:
        """Return whether a value depends on such a parameter: a condition that depends on no argument of the kernel, as
        the steps of a reduction, parts the threads of many lane groups."""
        if name in self.graph.parameters:
            return on(name)
        _, one = self.graph.values.get(name, ("", None))
        if isinstance(one, Phi) or one is None or name in self.plan.slots:
            return False
        return any(self._depends(use, on) for use in one.uses)

    def _is_linear(self, name: str) -> bool:
        if name not in self.varying or name == "%s0":
            return self._is_ready(name)
        _, one = self.graph.values.get(name, ("", None))
        if not isinstance(one, Instruction) or one.op not in _LINEAR or name in self.plan.slots:
            return False
        return all(self._is_linear(use) for use in one.uses)

    def _is_ready(self, name: str) -> bool:
        """Return whether a value is at hand or computed of such values."""
        if not name.startswith("%") or name in self.graph.parameters:
            return True
        block, one = self.graph.values[name]
        inside = block in self.part.edges and not (isinstance(one, Phi) and block == self.part.head)
        if not inside:
            return True
        if not isinstance(one, Instruction) or not pure.recomputation_cost(one):
            return False
        return all(self._is_ready(use) for use in one.uses)


def _is_argument(name: str) -> bool:
    return not name.startswith("%s")


def _is_whole(one: Instruction) -> bool:
    """Return whether an index is compared with a constant multiple of a lane group: the bound divides no group."""
    if not _is_compared(one) or not one.values[1].isdigit():
        return False
    predicate, bound = one.predicate, int(one.values[1])
    return predicate not in ("eq", "ne") and (bound + (predicate[1:] in ("gt", "le"))) % GROUP_LANES == 0


def _is_compared(one: Instruction) -> bool:
    return one.op == "icmp" and one.operands[0].type in ("i32", "i64")


def _both(one: Instruction) -> tuple[str, ...]:
    """Return the two conditions that hold where this one does, or nothing."""
    if one.type != "i1" or one.op not in ("and", "select") or (one.op == "select" and one.values[2] != "false"):
        return ()
    return one.values[:2]


def _either(one: Instruction) -> tuple[str, ...]:
    """Return the two conditions of which one holds where this one does, or nothing."""
    if one.type != "i1" or one.op not in ("or", "select") or (one.op == "select" and one.values[1] != "true"):
        return ()
    return one.values[:1] + one.values[-1:]


# ---- which threads of a row have something to do ----------------------------------------------------------------


@entity
class Bounds:
    """A question about a thread's index in x, `index predicate value`.

    Args:
        predicate: `eq`, or what is less. kind: the type of both. value: the same for all threads.
    """

    predicate: str
    kind: str
    value: str

    @property
    def is_one(self) -> bool:
        """One thread of a row at most."""
        return self.predicate == "eq"

    def lines(self, at: str, value: str) -> list[str]:
        """Return the lines that set `at`.lo and `at`.hi, the first thread and the one after the last, as i32.

        A loop over several threads ends with a whole lane group where the row has one: the rest of it has nothing to
            do.
        """
        kind, low, high = self.kind, f"%{at}.lo", f"%{at}.hi"
        lines: list[str] = []
        is_or, sign = self.predicate.endswith("e"), "s" if self.predicate[0] == "s" else "u"
        if sign == "s":
            lines.append(f"  %{at}.least = call {kind} @llvm.smax.{kind}({kind} {value}, {kind} {-1 if is_or else 0})")
            value = f"%{at}.least"
        lines.append(f"  %{at}.most = call {kind} @llvm.{sign}min.{kind}({kind} {value}, {kind} {_MORE_THAN_ALL})")
        short = f"trunc {kind} %{at}.most to i32" if kind != "i32" else f"add nsw i32 %{at}.most, 0"
        lines.append(f"  {low if self.is_one else f'%{at}.last'} = {short}")
        if self.is_one:
            lines.append(f"  %{at}.inside = icmp ult i32 {low}, %s6")
            lines.append(f"  %{at}.one = zext i1 %{at}.inside to i32")
            return [*lines, f"  {high} = add nuw nsw i32 {low}, %{at}.one"]
        return [
            *lines,
            f"  %{at}.filled = add nsw i32 %{at}.last, {GROUP_LANES - 1 + is_or}",
            f"  %{at}.strips = and i32 %{at}.filled, {-GROUP_LANES}",
            f"  {high} = call i32 @llvm.umin.i32(i32 %{at}.strips, i32 %s6)",
            f"  {low} = add i32 0, 0",
        ]


def bounds_of(plan: Plan, item_loop: WorkItemLoop) -> Bounds | None:
    """Return the bounds of the threads that have something to do, if that is known."""
    found = _idle_way(plan, item_loop)
    if found is None:
        return None
    condition, continues_if = found
    return _asked(plan, item_loop, condition, continues_if)


def _asked(plan: Plan, item_loop: WorkItemLoop, name: str, continues_if: bool) -> Bounds | None:
    _, one = plan.graph.values.get(name, ("", None))
    if not isinstance(one, Instruction):
        return None
    both = _both(one)
    if both and continues_if:
        parts = [_asked(plan, item_loop, part, True) for part in both]
        known = [part for part in parts if part is not None]
        return next((part for part in known if part.is_one), known[0] if known else None)
    if not _is_compared(one):
        return None
    predicate, kind, (left, right) = one.predicate, one.operands[0].type, one.values
    if not _is_index(plan, left):
        predicate, left, right = _ITERATED.get(predicate, ""), right, left
    if not continues_if:
        predicate = _OPPOSITE.get(predicate, "")
    if predicate not in ("eq", "ult", "ule", "slt", "sle") or not _is_index(plan, left):
        return None
    once = {one.name for one in hoisted(plan.graph, item_loop)}
    is_alike = right not in item_loop.varying and is_known(plan.graph, item_loop, once, right)
    return Bounds(predicate, kind, right) if is_alike else None


def _is_index(plan: Plan, name: str) -> bool:
    """Return whether a value is the thread's index in x, perhaps widened."""
    if name == "%s0":
        return True
    _, one = plan.graph.values.get(name, ("", None))
    return isinstance(one, Instruction) and one.op in ("zext", "sext") and one.uses == ("%s0",)
