"""Counters of loops that start at a thread's index: a part that all threads have alike, and the index added to it.

Input: a graph, and what may differ between threads. Output: the same graph, its phis of the form `index + common`
split, so that neighbours in x are seen to read and write neighbours in memory.
"""

from ktc.emit.llvm_text import flow
from ktc.emit.llvm_text.functions import Phi
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.workgroups.graphs.graph import Graph

_SUMS = ("add", "sub", "mul", "shl", "or")
_X = "%s0"


def split(graph: Graph, varying: set[str]) -> bool:
    """Split the counters of a graph's loops; says whether there was one."""
    edges = {name: graph.successors(name) for name in graph.blocks}
    found = False
    for head, loop in flow.loops_of(edges, graph.entry).items():
        for phi in list(graph.blocks[head].phis):
            if phi.name in varying and phi.type in ("i32", "i64"):
                found |= _Splitter(graph, varying, head, loop, phi).split()
    return found


class _Splitter:
    def __init__(self, graph: Graph, varying: set[str], head: str, loop: set[str], phi: Phi) -> None:
        self.graph, self.varying, self.head, self.loop, self.phi = graph, varying, head, loop, phi
        self.common = f"{phi.name}.common"
        self.stride = 0
        self.made: list[Instruction] = []
        self.count = 0

    def split(self) -> bool:
        """Split the phi, if the value from each way is a multiple of the thread's index and something common."""
        graph, phi = self.graph, self.phi
        incoming: dict[str, str] = {}
        placed: list[tuple[str, list[Instruction]]] = []
        for pred in sorted(phi.incoming, key=lambda one: one in self.loop):
            self.made = []
            known = self._parts(phi.incoming[pred])
            if known is None or not known[0] or self.stride not in (0, known[0]):
                return False
            self.stride = known[0]
            incoming[pred] = known[1]
            placed.append((pred, self.made))
        for pred, made in placed:
            graph.blocks[pred].body += made
            for one in made:
                graph.values[one.name] = (pred, one)
        self._replace(incoming)
        return True

    def _replace(self, incoming: dict[str, str]) -> None:
        graph, phi, kind = self.graph, self.phi, self.phi.type
        block = graph.blocks[self.head]
        common = Phi(self.common, kind, incoming)
        block.phis[block.phis.index(phi)] = common
        graph.values[self.common] = (self.head, common)
        index, made = _X, []
        if kind != "i32":
            index = f"{phi.name}.index"
            made.append(_instruction(index, f"zext i32 {_X} to {kind}"))
        if self.stride != 1:
            made.append(_instruction(f"{phi.name}.times", f"mul {kind} {index}, {self.stride}"))
            index = f"{phi.name}.times"
        made.append(_instruction(phi.name, f"add {kind} {self.common}, {index}"))
        block.body[:0] = made
        for one in made:
            graph.values[one.name] = (self.head, one)
            self.varying.add(one.name)

    def _parts(self, text: str) -> tuple[int, str] | None:
        """Return how often the thread's index is in a value, and the text of the rest."""
        if text == self.phi.name:
            return (self.stride, self.common) if self.stride else None
        if text not in self.varying:
            return 0, text
        if text == _X:
            return 1, "0"
        _, one = self.graph.values.get(text, ("", None))
        if not isinstance(one, Instruction):
            return None
        if one.op in ("zext", "sext") and one.values[0] == _X:
            return 1, "0"
        return self._sum(one) if one.op in _SUMS and one.type[0] == "i" else None

    def _sum(self, one: Instruction) -> tuple[int, str] | None:
        op, kind = one.op, one.type
        if op == "or":
            if not one.flags:
                return None
            op = "or disjoint"
        left = self._parts(one.values[0])
        right = self._parts(one.values[1]) if left is not None else None
        if left is None or right is None:
            return None
        if op in ("mul", "shl"):
            if right[0] or not right[1].isdigit():
                return None
            stride = left[0] * int(right[1]) if op == "mul" else left[0] << int(right[1])
        else:
            stride = left[0] - right[0] if op == "sub" else left[0] + right[0]
            op = "add" if op != "sub" else op
        if op == "add" and "0" in (left[1], right[1]):
            return stride, left[1] if right[1] == "0" else right[1]
        self.count += 1
        name = f"{self.common}.{len(self.phi.incoming)}.{len(self.made)}.{self.count}"
        self.made.append(_instruction(name, f"{op} {kind} {left[1]}, {right[1]}"))
        return stride, name


def _instruction(name: str, words: str) -> Instruction:
    return Instruction(f"  {name} = {words}")
