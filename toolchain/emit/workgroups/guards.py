"""What a kernel asks before it does anything: whether the thread's index is within bounds.

In: a leaf. Out: its `Guard`, if it begins with such a branch. Nearly always all threads of a strip go the same way
there, and without the branch a strip needs no masks; where they do not, they are run one by one.
"""

import re

from ktc.base.records import entity
from ktc.emit.workgroups import flow, pure
from ktc.emit.workgroups.cuts import Part
from ktc.emit.workgroups.graph import Block, Graph, Instruction, Phi, Terminator
from ktc.emit.workgroups.leaves import Leaf, Plan, edge_values
from ktc.emit.workgroups.uniformity import varying_in_strip

_LINEAR = frozenset({"add", "sub", "zext", "sext", "trunc", "or", "shl", "mul"})
_BOTH = re.compile(r"(?:and i1 (\S+), (\S+)|select i1 (\S+), i1 (\S+), i1 false)$")
_EITHER = re.compile(r"(?:or i1 (\S+), (\S+)|select i1 (\S+), i1 true, i1 (\S+))$")


@entity
class Guard:
    """A branch at a leaf's beginning.

    Args:
        condition: what decides. wanted: what it is where threads go on.
        is_idle: threads that do not go on have nothing to do.
        leaf: the leaf without the other way. plan: with the graph of which it is a part.
    """

    condition: str
    wanted: bool
    is_idle: bool
    leaf: Leaf
    plan: Plan


def guard_of(plan: Plan, leaf: Leaf) -> Guard | None:
    """Return the guard with which a leaf begins, if there is one."""
    graph, part = plan.graph, leaf.part
    at = part.head
    while True:
        block = graph.blocks[at]
        if at == part.end or not all(pure.is_pure(one) for one in block.body if id(one) in leaf.live):
            return None
        targets = graph.successors(at)
        if len(targets) != 1:
            break
        if targets[0] not in part.edges[at]:
            return None
        at = targets[0]
    condition = block.end.condition
    found = _Ask(plan, part)
    if len(targets) != 2 or condition not in found.varying or not found.is_bound(condition):
        return None
    ways = [one for one in targets if not _is_idle(graph, leaf, one, False)]
    if len(ways) != 1:
        return None
    (other,) = [one for one in targets if one != ways[0]]
    copied = {**graph.blocks, at: Block(at, Terminator(f"br label %{ways[0]}", ways), block.phis, block.body)}
    whole = Graph(graph.head, graph.parameters, copied, graph.values)
    edges = {name: [one for one in part.edges[name] if (name, one) != (at, other)] for name in part.blocks}
    sequence = flow.order(edges, part.head)
    edges = {name: edges[name] for name in sequence}
    inner = Part(
        part.head, sequence, part.end, part.follows, part.ends_threads, edges,
        flow.immediate_dominators(edges, part.head),
    )  # fmt: skip
    if part.end and part.end not in edges:
        return None
    made = Leaf(leaf.prefix, inner, leaf.cut, leaf.outer, leaf.varying, live=leaf.live, crossing=leaf.crossing)
    wanted = block.end.targets[0] == ways[0]
    changed = Plan(
        whole,
        plan.block_cut,
        plan.leaves,
        plan.varying,
        plan.slots,
        plan.confined,
        plan.ends_threads,
        plan.ends_in_rows,
        plan.is_even,
        plan.private,
    )
    is_idle = _is_idle(graph, leaf, other, True) and not _keeps(plan, leaf)
    return Guard(condition, wanted, is_idle, made, changed)


def _is_idle(graph: Graph, leaf: Leaf, name: str, to_the_end: bool) -> bool:
    """Say whether a way has nothing to do until it meets another, or until it leaves the part."""
    part = leaf.part
    before = flow.reversed_edges(part.edges)
    while name in part.edges:
        if len(before[name]) > 1 and not to_the_end:
            return True
        if any(id(one) in leaf.live for one in graph.blocks[name].body):
            return False
        if name == part.end or not part.edges[name]:
            return True
        if len(graph.successors(name)) > 1:
            return False
        name = part.edges[name][0]
    return True


def _keeps(plan: Plan, leaf: Leaf) -> bool:
    """Say whether something is kept for threads that have nothing to do."""
    part = leaf.part
    if plan.ends_threads or (part.end and plan.graph.blocks[part.end].end.condition):
        return True
    if any(phi.name in plan.slots for name in part.blocks for phi in plan.graph.blocks[name].phis):
        return True
    return any(phi.name in plan.slots for _, _, phi, _ in edge_values(plan.graph, part))


class _Ask:
    """Which conditions can be computed before all else, and say that an index is within bounds."""

    def __init__(self, plan: Plan, part: Part) -> None:
        self.plan, self.graph, self.part = plan, plan.graph, part
        self.varying = varying_in_strip(self.graph, set())

    def is_bound(self, name: str) -> bool:
        """Say whether a condition compares indices with what all threads have alike."""
        if name not in self.varying:
            return self._is_ready(name)
        _, one = self.graph.values.get(name, ("", None))
        if not isinstance(one, Instruction):
            return False
        words = one.text.split(" = ", 1)[1].split(", !", 1)[0]
        found = _BOTH.match(words) or _EITHER.match(words)
        if found is not None:
            return all(self.is_bound(part) for part in found.groups() if part is not None)
        return one.op == "icmp" and all(self._is_linear(use) for use in one.uses) and self._is_given(name)

    def _is_given(self, name: str) -> bool:
        """Say whether a value depends on an argument of the kernel: what is compared with other things, as the steps
        of a reduction, parts the threads of many strips."""
        if name in self.graph.parameters:
            return not name.startswith("%s")
        _, one = self.graph.values.get(name, ("", None))
        if isinstance(one, Phi) or one is None or name in self.plan.slots:
            return False
        return any(self._is_given(use) for use in one.uses)

    def _is_linear(self, name: str) -> bool:
        if name not in self.varying or name == "%s0":
            return self._is_ready(name)
        _, one = self.graph.values.get(name, ("", None))
        if not isinstance(one, Instruction) or one.op not in _LINEAR or name in self.plan.slots:
            return False
        return all(self._is_linear(use) for use in one.uses)

    def _is_ready(self, name: str) -> bool:
        """Say whether a value is at hand or computed of such values."""
        if not name.startswith("%") or name in self.graph.parameters:
            return True
        block, one = self.graph.values[name]
        inside = block in self.part.edges and not (isinstance(one, Phi) and block == self.part.head)
        if not inside:
            return True
        if not isinstance(one, Instruction) or not pure.cost_again(one):
            return False
        return all(self._is_ready(use) for use in one.uses)
