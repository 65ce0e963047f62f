"""Barrier regions: parts of a graph that each thread runs without waiting, and the order in which they are run.

Input: a graph, the blocks to cut, who waits at their barriers, and which values may differ between the threads. Output:
a `BarrierRegions`: its `Part`s, each to become a loop over threads, and the branches between them, which all threads
take alike. Branches and loops that decide whether a barrier is reached are such branches; a way to the function's end
that some threads take and that passes no barrier ends these threads and lets the others go on.
"""

from dataclasses import field

from ktc.base.records import entity
from ktc.emit.llvm_text import flow
from ktc.emit.workgroups.graphs.graph import BLOCK_BARRIER, WARP_BARRIER, Graph, Node

END = "(end)"
"""Stands for the code after a cut."""


class CannotCut(Exception):
    """A kernel cannot be cut, and why; `number` says which of its barriers is the reason, -1 none."""

    def __init__(self, reason: str, number: int = -1) -> None:
        super().__init__(reason, number)
        self.reason, self.number = reason, number


_DIFFERS = {
    BLOCK_BARRIER: "the threads of a block may disagree on whether they reach this barrier",
    WARP_BARRIER: "the lanes of a warp may disagree on whether they reach this",
}


@entity
class Part:
    """A part that threads run from one barrier to the next.

    Args:
        head: its first block. blocks: all, in an order in which what is set comes before its use.
        end: the last block, which jumps to another part's head, stops, or ends with a branch that all take alike; ""
            if every way leads to the function's end.
        follows: the heads that may be run next; `END` leaves the cut.
        ends_threads: some threads may end here and others go on.
        inner: how it is cut further for the lanes of a warp, if it is.
    """

    head: str
    blocks: list[str]
    end: str
    follows: list[str]
    ends_threads: bool
    edges: dict[str, list[str]] = field(default_factory=dict)
    """Jumps within the part; any other jump of its blocks leads to the head that follows."""
    parents: dict[str, str] = field(default_factory=dict)
    """Immediate dominators within the part."""


@entity
class BarrierRegions:
    """The parts by head, the first to run first.

    Args:
        common: blocks whose branch is taken by all alike.
    """

    parts: dict[str, Part]
    common: set[str]


def cut(
    graph: Graph, head: str, blocks: set[str], ends: set[str], scope: str, varying: set[str]
) -> BarrierRegions:  # fmt: skip
    """Cut `blocks`, which are entered at `head` and left for `ends`, at the barriers of a scope."""
    return _Cutter(graph, head, blocks, ends, scope, varying).cut()


class _Cutter:
    def __init__(
        self, graph: Graph, head: str, blocks: set[str], ends: set[str], scope: str, varying: set[str]
    ) -> None:
        self.graph, self.head, self.blocks, self.ends = graph, head, blocks, ends
        self.varying, self.scope = varying, scope
        self.scopes = (BLOCK_BARRIER,) if scope == BLOCK_BARRIER else (WARP_BARRIER,)
        self.common: set[str] = set()
        self.exits: set[tuple[str, str]] = set()
        self.going: set[str] = set()

    def cut(self) -> BarrierRegions:
        barriers = {name for name in self.blocks if self._barriers(name)}
        onward = {
            name: [one for one in targets if one != END or name not in self._ending]
            for name, targets in self._edges().items()
        }
        self.going = flow.reaching(onward, barriers | ({END} if self._is_inner else set())) if barriers else set(onward)
        self._find_common(barriers)
        heads = self._heads()
        while True:
            parts = {head: self._part(head, heads) for head in heads}
            again = self._shared(parts)
            if not again:
                break
            heads |= again
        ordered = [self.head, *sorted(heads - {self.head})]
        run = self._run(parts)
        return BarrierRegions({head: parts[head] for head in ordered if head in run}, self.common)

    @property
    def _ending(self) -> set[str]:
        return {name for name in self.blocks if not self.graph.blocks[name].end.targets}

    @property
    def _is_inner(self) -> bool:
        return bool(self.ends)

    def _barriers(self, name: str) -> bool:
        barrier = self.graph.blocks[name].barrier
        return barrier is not None and barrier.scope in self.scopes

    def _edges(self) -> dict[str, list[str]]:
        """Return the edges within, all ways out as one to `END`."""
        found: dict[str, list[str]] = {END: []}
        for name in self.blocks:
            targets = self.graph.successors(name)
            inside = [END if one not in self.blocks or self._is_left(name, one) else one for one in targets]
            found[name] = list(dict.fromkeys(inside)) or [END]
        return found

    def _is_left(self, name: str, target: str) -> bool:
        barrier = self.graph.blocks[name].barrier
        return target in self.ends or (self._is_inner and barrier is not None and barrier.scope == BLOCK_BARRIER)

    def _find_common(self, barriers: set[str]) -> None:
        """Find the branches that decide whether a barrier is reached; they must be the same for all threads."""
        edges = self._edges()
        self._cut_exits(edges)
        around = flow.reversed_edges(edges)
        self.after = flow.immediate_dominators(around, END)
        if len(self.after) < len(set(flow.order(edges, self.head))):
            if not self.exits:
                raise CannotCut("it has a loop without an end")
            raise CannotCut(_DIFFERS[self.scope], max(map(self._number, sorted(barriers)), default=-1))
        self.dependences = flow.control_dependences(edges, self.after)
        work = [(name, self._number(name)) for name in sorted(barriers)]
        while work:
            decided, number = work.pop()
            for name in self.dependences[decided]:
                if name not in self.common:
                    if self.graph.blocks[name].end.condition in self.varying:
                        raise CannotCut(_DIFFERS.get(self.scope, ""), number)
                    self.common.add(name)
                    work.append((name, number))

    def _number(self, name: str) -> int:
        barrier = self.graph.blocks[name].barrier
        return barrier.number if barrier is not None else -1

    def _cut_exits(self, edges: dict[str, list[str]]) -> None:
        """Leave out ways on which threads end by themselves."""
        for name in self.blocks:
            kept = [one for one in edges[name] if one in self.going]
            if kept and self.graph.blocks[name].end.condition in self.varying:
                self.exits |= {(name, one) for one in edges[name] if one not in kept}
                edges[name] = kept

    def _heads(self) -> set[str]:
        heads = {self.head}
        for name in self.blocks:
            if self._barriers(name) or name in self.common:
                heads.update(self.graph.successors(name))
        for name in self.common:
            if self.after[name] != END:
                heads.add(self.after[name])
        return heads

    def _part(self, head: str, heads: set[str]) -> Part:
        """Follow the ways from a head to where all threads wait or take a branch alike."""
        edges: dict[str, list[str]] = {}
        found: dict[str, set[str]] = {}
        work, exiting, ends_threads = [head], set[str](), False
        while work:
            name = work.pop()
            if name in edges:
                continue
            edges[name] = []
            if self._barriers(name) or name in self.common:
                found.setdefault(name, set()).update(self.graph.successors(name))
                continue
            targets = self.graph.successors(name)
            if self._is_inner and len(targets) > 1 and all(one in self.ends for one in targets):
                # All threads of the block take this branch alike, so its condition is to be kept.
                found.setdefault(name, set()).add(END)
                continue
            ends_threads |= not targets
            for target in targets:
                if name in exiting or (name, target) in self.exits:
                    exiting.add(target)
                elif target in heads or target not in self.blocks or self._is_left(name, target):
                    follow = target if target in heads and not self._is_left(name, target) else END
                    found.setdefault("", set()).add(follow)
                    continue
                edges[name].append(target)
                work.append(target)
        if len(found) > 1 or len(found.get("", ())) > 1:
            raise CannotCut(
                "its barriers are reached on paths that are not nested",
                self._number(next(iter(found))) if next(iter(found)) else -1,
            )
        end, follows = next(iter(found.items())) if found else ("", set())
        sequence = flow.order(edges, head)
        parents = flow.immediate_dominators(edges, head)
        following = [one for one in self.graph.successors(end) if one in follows] if end else sorted(follows)
        return Part(head, sequence, end, following, ends_threads and bool(found), edges, parents)

    def _shared(self, parts: dict[str, Part]) -> set[str]:
        """Return blocks that all threads reach together and that lie in several parts: they become parts."""
        counts: dict[str, int] = {}
        for part in parts.values():
            for name in part.blocks:
                counts[name] = counts.get(name, 0) + (name != part.head)
        several = {name for name, count in counts.items() if count > 1 and name not in parts and name in self.going}
        chosen = {name for name in several if self._is_together(name)}
        before = self.graph.predecessors()
        return {name for name in chosen if not any(one in chosen for one in before[name])} or chosen

    def _is_together(self, name: str) -> bool:
        work, seen = [name], {name}
        while work:
            for one in self.dependences.get(work.pop(), ()):
                if one not in self.common:
                    return False
                if one not in seen:
                    seen.add(one)
                    work.append(one)
        return True

    def _run(self, parts: dict[str, Part]) -> set[str]:
        edges = {head: [one for one in part.follows if one != END] for head, part in parts.items()}
        return set(flow.order(edges, self.head))


def with_barriers(graph: Graph, blocks: list[str], scope: str) -> bool:
    """Return whether blocks have a barrier of a scope."""
    return any(_has(graph.blocks[name], scope) for name in blocks)


def _has(block: Node, scope: str) -> bool:
    return block.barrier is not None and block.barrier.scope == scope
