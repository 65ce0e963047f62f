"""What a loop over threads does once, before its first turn.

Input: a leaf, with what it needs known. Output: its instructions that give the same to all threads and may be done
earlier.
"""

from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.workgroups.graphs import pure
from ktc.emit.workgroups.graphs.graph import Graph
from ktc.emit.workgroups.leaves import Leaf
from ktc.targets.cpu import EXCHANGE, EXCHANGED


def hoisted(graph: Graph, leaf: Leaf) -> list[Instruction]:
    """Return what is the same for all threads and has no effect, in an order in which it can be done."""
    part, found, names = leaf.part, list[Instruction](), set[str]()
    for name in part.blocks:
        is_first = name == part.head
        for one in graph.blocks[name].body:
            if pure.has_effect(one):
                is_first = False
            if id(one) not in leaf.live or one.name in leaf.varying or not one.name:
                continue
            is_read = is_first and (one.op == "load" or one.callee == EXCHANGED)
            if (is_read or pure.recomputation_cost(one)) and all(
                is_before(graph, leaf, names, use) for use in one.uses
            ):
                found.append(one)
                names.add(one.name)
    return found


def is_before(graph: Graph, leaf: Leaf, names: set[str], name: str) -> bool:
    """Return whether a value is at hand before a leaf's loop. `names`: what is done there."""
    if name in names or name in graph.parameters:
        return name not in leaf.varying
    _, one = graph.values[name]
    if isinstance(one, Instruction) and one.callee == EXCHANGE:
        return True
    return name in leaf.crossing and name not in leaf.varying


def is_known(graph: Graph, leaf: Leaf, names: set[str], text: str) -> bool:
    """Return whether an operand is at hand before a leaf's loop."""
    return not text.startswith("%") or is_before(graph, leaf, names, text)
