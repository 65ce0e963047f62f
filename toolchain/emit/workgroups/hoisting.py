"""Hoisting: instructions that a loop over threads does once, before its first iteration.

Input: a work-item loop, with what it needs known. Output: its instructions that give the same to all threads and may be
done earlier.
"""

from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.workgroups.graphs import pure
from ktc.emit.workgroups.graphs.graph import Graph
from ktc.emit.workgroups.work_item_loops import WorkItemLoop
from ktc.targets.cpu import EXCHANGE, EXCHANGED


def hoisted(graph: Graph, item_loop: WorkItemLoop) -> list[Instruction]:
    """Return the instructions that are uniform and have no effect, in an order in which they can be done."""
    part, found, names = item_loop.part, list[Instruction](), set[str]()
    for name in part.blocks:
        is_first = name == part.head
        for one in graph.blocks[name].body:
            if pure.has_effect(one):
                is_first = False
            if id(one) not in item_loop.live or one.name in item_loop.varying or not one.name:
                continue
            is_read = is_first and (one.op == "load" or one.callee == EXCHANGED)
            if (is_read or pure.recomputation_cost(one)) and all(
                is_before(graph, item_loop, names, use) for use in one.uses
            ):
                found.append(one)
                names.add(one.name)
    return found


def is_before(graph: Graph, item_loop: WorkItemLoop, names: set[str], name: str) -> bool:
    """Return whether a value is at hand before a work-item loop. `names`: what is done there."""
    if name in names or name in graph.parameters:
        return name not in item_loop.varying
    _, one = graph.values[name]
    if isinstance(one, Instruction) and one.callee == EXCHANGE:
        return True
    return name in item_loop.crossing and name not in item_loop.varying


def is_known(graph: Graph, item_loop: WorkItemLoop, names: set[str], text: str) -> bool:
    """Return whether an operand is at hand before a work-item loop."""
    return not text.startswith("%") or is_before(graph, item_loop, names, text)
