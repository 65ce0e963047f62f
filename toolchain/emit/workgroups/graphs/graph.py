"""A kernel's function as a graph of nodes, in which it is cut.

Input: a function. Output: a `Graph`: phis and terminators taken apart, each wait for other threads at the end of a node
of its own.
"""

from dataclasses import field

from ktc.base.records import entity, record
from ktc.emit.llvm_text.functions import Function, Phi, Terminator, with_plain_names
from ktc.emit.llvm_text.instructions import Instruction
from ktc.targets.cpu import EXCHANGE, WAIT_FOR_BLOCK, WAIT_FOR_WARP

BLOCK_BARRIER, WARP_BARRIER = "block", "warp"
"""Who waits at a barrier: the threads of a block or the lanes of a warp."""


@record
class Barrier:
    """Where a thread waits.

    Args:
        scope: `BLOCK_BARRIER` or `WARP_BARRIER`. exchange: the call that gives a word, if it is one.
        number: the call's last argument, which says where it is.
    """

    scope: str
    exchange: Instruction | None = None
    number: int = 0


@entity
class Node:
    """A block of the graph.

    Args:
        name: its label. barrier: threads wait at its end; then there is one target.
    """

    name: str
    end: Terminator
    phis: list[Phi] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)
    barrier: Barrier | None = None

    def setters(self) -> "list[Instruction | Phi]":
        """Return its phis and instructions, and the call of an exchange at its end."""
        exchange = self.barrier.exchange if self.barrier is not None else None
        return [*self.phis, *self.body, exchange] if exchange is not None else [*self.phis, *self.body]


@entity
class Graph:
    """A function.

    Args:
        parameters: names and types. blocks: by name, the entry first.
    """

    parameters: dict[str, str]
    blocks: dict[str, Node]
    values: dict[str, tuple[str, Instruction | Phi]] = field(default_factory=dict)
    """By name: the block where it is set, and the instruction that sets it."""

    @property
    def entry(self) -> str:
        """The first block's name."""
        return next(iter(self.blocks))

    def successors(self, name: str) -> list[str]:
        """Return where control goes from a block, each block once."""
        return list(dict.fromkeys(self.blocks[name].end.targets))

    def predecessors(self) -> dict[str, list[str]]:
        """Return by block where control comes from."""
        found: dict[str, list[str]] = {name: [] for name in self.blocks}
        for name in self.blocks:
            for target in self.successors(name):
                found[target].append(name)
        return found

    def split_edge(self, origin: str, target: str) -> str:
        """Put an empty block on an edge; returns its name."""
        name = f"{origin}.to.{target}"
        if name in self.blocks:
            name += ".way"
        block = self.blocks[origin]
        block.end.targets = [name if one == target else one for one in block.end.targets]
        block.end.text = block.end.written({target: name})
        self.blocks[name] = Node(name, Terminator(f"br label %{target}", [target]))
        for phi in self.blocks[target].phis:
            phi.incoming[name] = phi.incoming.pop(origin)
        return name


def read(function: Function) -> Graph:
    """Read a function."""
    function = with_plain_names(function)
    parameters = {one.value: one.type for one in function.signature.parameters}
    graph = Graph(parameters, {})
    for block in function.blocks:
        node = graph.blocks[block.name[1:]] = Node(block.name[1:], block.terminator, block.phis)
        node.body = [one for one in block.instructions if not one.is_note and not one.is_terminator and one.op != "phi"]
    _split_at_barriers(graph)
    _split_edges(graph)
    for node in graph.blocks.values():
        for one in node.setters():
            if one.name:
                graph.values[one.name] = (node.name, one)
    return graph


def _split_edges(graph: Graph) -> None:
    """Give each way from a branch to a block with other ways to it a block of its own."""
    before = graph.predecessors()
    for name in list(graph.blocks):
        targets = graph.successors(name)
        for target in targets if len(targets) > 1 else ():
            if len(before[target]) > 1:
                graph.split_edge(name, target)


_SCOPES = {WAIT_FOR_BLOCK: BLOCK_BARRIER, WAIT_FOR_WARP: WARP_BARRIER, EXCHANGE: WARP_BARRIER}


def _barrier_of(one: Instruction) -> Barrier | None:
    scope = _SCOPES.get(one.callee)
    if scope is None:
        return None
    number = one.values[-1]
    return Barrier(scope, one if one.callee == EXCHANGE else None, int(number) if number.isdigit() else 0)


def _split_at_barriers(graph: Graph) -> None:
    blocks: dict[str, Node] = {}
    last: dict[str, str] = {}
    for block in graph.blocks.values():
        rest, end, number = block.body, block.end, 0
        blocks[block.name] = part = block
        part.body = []
        for one in rest:
            barrier = _barrier_of(one)
            if barrier is None:
                part.body.append(one)
                continue
            number += 1
            name = f"{block.name}.after{number}"
            part.end, part.barrier = Terminator(f"br label %{name}", [name]), barrier
            blocks[name] = part = Node(name, end)
        part.end = end
        last[block.name] = part.name
    graph.blocks = blocks
    for block in blocks.values():
        for phi in block.phis:
            phi.incoming = {last[pred]: value for pred, value in phi.incoming.items()}
