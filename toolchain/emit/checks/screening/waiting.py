"""The shape of a kernel's function: its blocks, what lies between two barriers, and loops that may wait for others."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from ktc.emit.checks.body import Body, Instruction
from ktc.emit.llvm_text import flow

_LABEL = re.compile(r'("[^"]+"|[\w.$-]+):')
_TARGET = re.compile(r'label %("[^"]+"|[\w.$-]+)')
BARRIER = "@ktc.cpu.wait.block("
_READS = frozenset({"load", "atomicrmw", "cmpxchg", "call"})


class Shape:
    """The blocks of a function by number, the first is 1, and the edges between them."""

    def __init__(self, body: Body) -> None:
        self._body = body
        labels: dict[str, int] = {}
        named: dict[int, list[str]] = {}
        for line in body.lines[1:]:
            match = _LABEL.match(line)
            if match is not None:
                labels[match.group(1)] = len(labels) + 1
                named[len(labels)] = []
            elif labels:
                named[len(labels)] += _TARGET.findall(line)
        self.edges = {at: list(dict.fromkeys(labels[name] for name in names)) for at, names in named.items()}
        self.inside: dict[int, list[Instruction]] = {at: [] for at in self.edges}
        for one in body.instructions:
            self.inside[one.block].append(one)

    # ---- barriers ------------------------------------------------------------------------------------------

    def regions(self) -> list[list[Instruction]]:
        """Return what may run between two barriers of the block: from the entry on, and from after each barrier."""
        starts = [(1, 0)]
        for at, inside in self.inside.items():
            starts += [(at, place + 1) for place, one in enumerate(inside) if BARRIER in one.text]
        return [self._region(start) for start in starts]

    def _region(self, start: tuple[int, int]) -> list[Instruction]:
        found: list[Instruction] = []
        work, seen = [start], {start}
        while work:
            at, place = work.pop()
            for one in self.inside[at][place:]:
                if BARRIER in one.text:
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
        """Return branches of two targets, for each target its number and what gives the blocks run only by that way."""
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
        """Return whether a loop without a barrier ends only by what is read in it, which another thread may write."""
        for blocks in self.loops().values():
            if any(BARRIER in one.text for at in blocks for one in self.inside[at]):
                continue
            ends = [self.inside[at][-1] for at in blocks if any(target not in blocks for target in self.edges[at])]
            if all(self._reads(end, blocks) for end in ends):
                return True
        return False

    def _reads(self, end: Instruction, blocks: set[int]) -> bool:
        """Return whether a branch depends on what is read in these blocks."""
        work = [value for value in self._body.operands(end) if value in self._body.defined]
        seen = set(work)
        while work:
            one = self._body.defined[work.pop()]
            if one.block not in blocks:
                continue
            if one.code in _READS and "@llvm." not in one.text:
                return True
            for value in self._body.operands(one):
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
