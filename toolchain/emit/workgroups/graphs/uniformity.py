"""Which values may differ between the threads of a block, or between the lanes of a warp.

Input: a graph, and how the thread's indices lie. Output: the names of values that may differ; all others are the same
for all threads that come there together. Karrenberg and Hack, "Whole-Function Vectorization"; LLVM's divergence
analysis.

A plain load through an address that is the same for all gives the same to all: a program in which another thread writes
there between the same two barriers has a race. Private memory, atomics and volatile loads are another matter.
"""

from itertools import islice

from ktc.emit.llvm_text import flow
from ktc.emit.llvm_text.functions import Phi
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.workgroups.graphs.graph import Graph
from ktc.targets.cpu import EXCHANGED, LANE_SLOT, WARP_LANES, WARP_SLOT

_THREAD = ("%s0", "%s1", "%s2", f"%s{LANE_SLOT}", f"%s{WARP_SLOT}")
_CASTS = frozenset({"zext", "sext", "trunc"})
_MEMORY = frozenset({"atomicrmw", "cmpxchg", "alloca"})
_ALIKE = ("llvm.", "__ktc_check_")
"""Prefixes of functions that give the same result for the same arguments, but for those of `_is_source`."""
_CLAIM = "__ktc_check_claim"


def varying_in_block(graph: Graph) -> set[str]:
    """Return the values that may differ between the threads of a block."""
    return _Analysis(graph, set(_THREAD), False, False).run()


def varying_in_warp(graph: Graph, is_row: bool, is_whole: bool) -> tuple[set[str], bool]:
    """Return the values that may differ between lanes of a warp, and whether this needs blocks of whole warps in x.

    Args:
        is_row: the lanes are neighbours in x, from a multiple of their number on.
        is_whole: every lane takes part in exchanges.
    """
    sources = {"%s0", f"%s{LANE_SLOT}"} if is_row else set(_THREAD[:-1])
    analysis = _Analysis(graph, sources, is_row, is_whole)
    return analysis.run(), analysis.is_even


def varying_in_lane_group(graph: Graph, kept: set[str]) -> set[str]:
    """Return the values that may differ between neighbours in x. `kept`: values that are taken to differ."""
    return LaneGroupVariance(graph).varying(kept)


class LaneGroupVariance:
    """The values that may differ between neighbours in x, asked many times of a graph that stays as it is."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._analysis: _Analysis | None = None

    def varying(self, kept: set[str]) -> set[str]:
        """Return the values that may differ. `kept`: values that are taken to differ."""
        if self._analysis is None:
            sources = {"%s0", f"%s{LANE_SLOT}", f"%s{WARP_SLOT}"}
            self._analysis = _Analysis(self._graph, sources, False, False)
            self._analysis.run()
        return self._analysis.extended(kept)


class _Analysis:
    def __init__(self, graph: Graph, sources: set[str], is_row: bool, is_whole: bool) -> None:
        self.graph, self.varying, self.is_row, self.is_whole = graph, set(sources), is_row, is_whole
        self.has_warps = f"%s{WARP_SLOT}" in sources
        """The threads belong to several warps, which exchange words of their own."""
        self.lanes = {"%s0", f"%s{LANE_SLOT}"} if is_row else set()
        """Values that are a multiple of the warp's size and the lane's number added to it."""
        self.sums = set[str]()
        """Those of them that are so only where a block's extent in x is a multiple of the warp's size."""
        self.is_even = False
        """One of `sums` was taken to be so."""
        self.edges = {name: graph.successors(name) for name in graph.blocks}
        self.sequence = flow.order(self.edges, graph.entry)
        self.number = {name: at for at, name in enumerate(self.sequence)}
        self._reducible: bool | None = None
        self.users: dict[str, list[tuple[str, Instruction | Phi]]] = {}
        self.deciding: dict[str, list[str]] = {}
        for block in graph.blocks.values():
            for phi in block.phis:
                for value in phi.incoming.values():
                    self.users.setdefault(value, []).append((block.name, phi))
            for one in block.body:
                for use in one.uses:
                    self.users.setdefault(use, []).append((block.name, one))
            if block.end.condition:
                self.deciding.setdefault(block.end.condition, []).append(block.name)

    def run(self) -> set[str]:
        work = list(self.varying)
        for block in self.graph.blocks.values():
            work += [one.name for one in block.body if one.name and self._is_source(one)]
        self.varying.update(work)
        self._spread(work)
        return self.varying

    def extended(self, more: set[str]) -> set[str]:
        """Return the values that may differ if these do too; call `run` first."""
        base = self.varying
        self.varying = base | more
        self._spread(list(more - base))
        found, self.varying = self.varying, base
        return found

    def _spread(self, work: list[str]) -> None:
        while work:
            name = work.pop()
            for _, user in self.users.get(name, ()):
                if user.name and user.name not in self.varying and not self._is_same(user):
                    self.varying.add(user.name)
                    work.append(user.name)
            for branch in self.deciding.get(name, ()):
                for found in self._joined(branch):
                    if found not in self.varying:
                        self.varying.add(found)
                        work.append(found)

    def _is_source(self, one: Instruction) -> bool:
        if one.op in _MEMORY:
            return True
        if one.op == "load":
            return one.is_atomic or one.is_volatile
        if one.callee == EXCHANGED:
            return self.has_warps
        return one.op == "call" and (not one.callee.startswith(_ALIKE) or one.callee == _CLAIM)

    def _is_same(self, user: Instruction | Phi) -> bool:
        """Return whether something is the same for all, though one of its operands differs."""
        if isinstance(user, Phi):
            return False
        if user.callee == EXCHANGED:
            _, lane, otherwise = user.values
            return lane not in self.varying and (self.is_whole or otherwise not in self.varying)
        if user.op == "add" and self._is_index(user):
            self.lanes.add(user.name)
            self.sums.add(user.name)
            return False
        if not self.lanes or len(user.uses) != 1 or user.uses[0] not in self.lanes:
            return False
        is_same = self._is_rounded(user)
        self.is_even |= is_same and user.uses[0] in self.sums
        return is_same

    def _is_index(self, user: Instruction) -> bool:
        """Return whether a sum is the index of a thread in the grid, in x."""
        for one, other in (user.uses, user.uses[::-1]) if len(user.uses) == 2 else ():
            product = self.graph.values.get(other, ("", None))[1]
            if one in self.lanes and isinstance(product, Instruction) and product.op == "mul":
                return sorted(map(self._origin, product.uses)) == ["%s3", "%s6"]
        return False

    def _origin(self, value: str) -> str:
        """Return the value that was widened to make this one, or this one."""
        one = self.graph.values.get(value, ("", None))[1]
        return one.uses[0] if isinstance(one, Instruction) and one.op == "zext" else value

    def _is_rounded(self, user: Instruction) -> bool:
        if user.op in _CASTS:
            self.lanes.add(user.name)
            self.sums.update([user.name] if user.uses[0] in self.sums else [])
            return False
        if user.op not in ("lshr", "ashr", "and", "icmp"):
            return False
        number = user.values[1]
        if user.op != "icmp":
            if not number.removeprefix("-").isdigit():
                return False
            return int(number) % WARP_LANES == 0 if user.op == "and" else int(number) >= WARP_LANES.bit_length() - 1
        if user.uses[0] == f"%s{LANE_SLOT}" or user.predicate in ("eq", "ne") or not number.isdigit():
            return False
        # All of a warp's indices lie on one side of a multiple of its size.
        return (int(number) + (user.predicate in ("ule", "ugt", "sle", "sgt"))) % WARP_LANES == 0

    def _joined(self, branch: str) -> set[str]:
        """Return the values that differ because threads part at a branch: phis where paths from it meet, and what is
        set in a loop that they leave in different turns and used outside."""
        found = self._met_phis(self.edges[branch], branch)
        for loop in self._left_loops(branch):
            found |= self._used_outside(loop)
            targets = list(dict.fromkeys(one for name in self._exiting(loop) for one in self._outside(loop, name)))
            for target in targets:
                for phi in self.graph.blocks[target].phis:
                    if len({text for pred, text in phi.incoming.items() if pred in loop}) > 1:
                        found.add(phi.name)
            if len(targets) > 1:
                found |= self._met_phis(targets, "")
        return found

    def _met_phis(self, starts: list[str], branch: str) -> set[str]:
        return {phi.name for name in self._meetings(starts, branch) for phi in self.graph.blocks[name].phis}

    def _meetings(self, starts: list[str], branch: str) -> set[str]:
        """Return the blocks that two paths reach from different starts, which have nothing else in common.

        Args:
            branch: where paths are not followed any further; "" if there is no such block.
        """
        labels = {name: name for name in starts}
        met: set[str] = set()
        ahead = set(starts)
        for name in islice(self.sequence, min(self.number[one] for one in starts), None):
            label = labels.get(name)
            if label is None or name == branch:
                continue
            ahead.discard(name)
            if not ahead and name in met and self._is_reducible():
                break  # all paths come together here, and the code after it is on one path
            for target in self.edges[name]:
                if target not in labels and self.number[target] > self.number[name]:
                    ahead.add(target)
                if labels.setdefault(target, label) != label and target not in met:
                    met.add(target)
                    labels[target] = target
        return met

    def _is_reducible(self) -> bool:
        """Return whether each way back leads to the head of a loop, which is on each way into it."""
        if self._reducible is None:
            parents = flow.immediate_dominators(self.edges, self.graph.entry)
            number = self.number
            self._reducible = all(
                number[target] > number[name] or flow.dominates(parents, target, name)
                for name in self.sequence for target in self.edges[name]
            )  # fmt: skip
        return self._reducible

    def _left_loops(self, branch: str) -> list[set[str]]:
        """Return the loops around a branch that threads leave in different turns or places because they part there:
        a path from it leaves the loop, or leads to an exit that another path avoids."""
        return [loop for head, loop in self._loops().items() if branch in loop and self._is_left(branch, head, loop)]

    def _is_left(self, branch: str, head: str, loop: set[str]) -> bool:
        exiting = self._exiting(loop)
        if branch in exiting:
            return True
        iteration = {name: [one for one in self.edges[name] if one != head] for name in loop}
        iteration = {name: [one for one in targets if one in loop] for name, targets in iteration.items()}
        reached = flow.reached(iteration, [branch])
        for name in exiting & reached:
            others = flow.reached(iteration, [branch], {name}) - {name}
            if any(one in exiting or head in self.edges[one] for one in others):
                return True
        return False

    def _exiting(self, loop: set[str]) -> set[str]:
        return {name for name in loop if self._outside(loop, name)}

    def _outside(self, loop: set[str], name: str) -> list[str]:
        return [target for target in self.edges[name] if target not in loop]

    def _loops(self) -> dict[str, set[str]]:
        if not hasattr(self, "_found_loops"):
            self._found_loops = flow.loops_of(self.edges, self.graph.entry)
        return self._found_loops

    def _used_outside(self, loop: set[str]) -> set[str]:
        """Return the values of a loop that blocks outside use, and the phis outside that take one on leaving it."""
        found = set[str]()
        for name in loop:
            for one in self.graph.blocks[name].setters():
                if one.name and any(at not in loop for at in self.deciding.get(one.name, ())):
                    found.add(one.name)
                for place, user in self.users.get(one.name, ()) if one.name else ():
                    if not isinstance(user, Phi):
                        found |= {one.name} if place not in loop else set()
                        continue
                    origins = [pred for pred, value in user.incoming.items() if value == one.name]
                    if any(at not in loop for at in origins):
                        found.add(one.name)
                    if place not in loop:
                        found.add(user.name)
        return found
