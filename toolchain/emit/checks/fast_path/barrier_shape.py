"""The shape of a kernel's function: its blocks, what lies between two barriers, and loops that may wait for others."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from ktc.emit.checks.body import Body
from ktc.emit.llvm_text import flow
from ktc.emit.llvm_text.instructions import Instruction
from ktc.targets.cpu import WAIT_FOR_BLOCK

BARRIER = WAIT_FOR_BLOCK
_READS = frozenset({"load", "atomicrmw", "cmpxchg", "call"})


class Shape:
    """The blocks of a function by number, the first is 1, and the edges between them."""

    def __init__(self, body: Body) -> None:
        self._body = body
        blocks = body.function.blocks
        number = {block.name: at for at, block in enumerate(blocks, 1)}
        self.edges = {number[block.name]: [number[name] for name in block.successors] for block in blocks}
        self.inside: dict[int, list[Instruction]] = {at: [] for at in self.edges}
        for one in body.instructions:
            self.inside[one.block].append(one)

    # ---- barriers ------------------------------------------------------------------------------------------

    def regions(self) -> list[list[Instruction]]:
        """Return the instructions that may run between two barriers: from the entry, and after each barrier."""
        starts = [(1, 0)]
        for at, inside in self.inside.items():
            starts += [(at, place + 1) for place, one in enumerate(inside) if one.callee == BARRIER]
        return [self._region(start) for start in starts]

    def _region(self, start: tuple[int, int]) -> list[Instruction]:
        found: list[Instruction] = []
        work, seen = [start], {start}
        while work:
            at, place = work.pop()
            for one in self.inside[at][place:]:
                if one.callee == BARRIER:
                    break
                found.append(one)
            else:
                for target in self.edges[at]:
                    if (target, 0) not in seen:
                        seen.add((target, 0))
                        work.append((target, 0))
        return found

    # ---- loops ---------------------------------------------------------------------------------------------

    def loops(self) -> dict[int, set[int]]:
        """Return the blocks of each loop by its first block."""
        names = {str(at): [str(target) for target in targets] for at, targets in self.edges.items()}
        return {int(head): {int(name) for name in loop} for head, loop in flow.loops_of(names, "1").items()}

    def ways(self) -> Iterator[tuple[Instruction, int, Callable[[], set[int]]]]:
        """Return branches of two targets: of each target its number, and a function for the blocks behind it alone."""
        names = {str(at): [str(target) for target in targets] for at, targets in self.edges.items()}
        parents, before = flow.immediate_dominators(names, "1"), flow.reversed_edges(names)
        children: dict[str, list[str]] = {}
        for name, parent in parents.items():
            if name != parent:
                children.setdefault(parent, []).append(name)
        for at, targets in self.edges.items():
            for number, target in enumerate(targets if len(targets) == 2 else ()):
                if before[str(target)] == [str(at)]:
                    yield self.inside[at][-1], number, partial(_below, children, target)

    def may_wait(self) -> bool:
        """Return whether a loop without a barrier ends only by a value read in it, which another thread may write."""
        for blocks in self.loops().values():
            if any(one.callee == BARRIER for at in blocks for one in self.inside[at]):
                continue
            ends = [self.inside[at][-1] for at in blocks if any(target not in blocks for target in self.edges[at])]
            if all(self._reads(end, blocks) for end in ends):
                return True
        return False

    def _reads(self, end: Instruction, blocks: set[int]) -> bool:
        """Return whether a branch depends on a value read in these blocks."""
        work = [value for value in end.uses if value in self._body.defined]
        seen = set(work)
        while work:
            one = self._body.defined[work.pop()]
            if one.block not in blocks:
                continue
            if one.op in _READS and not one.callee.startswith("llvm."):
                return True
            for value in one.uses:
                if value in self._body.defined and value not in seen:
                    seen.add(value)
                    work.append(value)
        return False


def _below(children: Mapping[str, list[str]], top: int) -> set[int]:
    """Return a node of a tree and those below it."""
    found: set[int] = set()
    work = [str(top)]
    while work:
        name = work.pop()
        found.add(int(name))
        work += children.get(name, ())
    return found
