"""Work-group compilation: a kernel whose threads wait for one another, as loops over the threads between its barriers.

Input: a module of the CPU device whose kernel is whole, with calls where threads wait (`LlvmModule.marked`). Output:
the same with a function that runs a block's threads, region by region, for LLVM to vectorise; or why the kernel cannot
be cut.

`graph` reads the function, `uniformity` finds what all threads have alike, `barrier_regions` cuts at the barriers,
`work_item_loops` decides how values are kept from one loop to the next, and `writer` writes the block's function. POCL
and Intel's OpenCL runtime do the same; Karrenberg and Hack, "Improving Performance of OpenCL on CPUs", describe it.
"""

import re
from typing import Any

from ktc.emit.llvm_text.modules import Module, attached_node, free_node
from ktc.emit.workgroups import counters, work_item_loops
from ktc.emit.workgroups.barrier_regions import BarrierRegions, CannotCut, cut, with_barriers
from ktc.emit.workgroups.graphs.graph import BLOCK_BARRIER, WARP_BARRIER, Graph, read
from ktc.emit.workgroups.graphs.uniformity import (
    LaneGroupVariance,
    varying_in_block,
    varying_in_lane_group,
    varying_in_warp,
)
from ktc.emit.workgroups.output import Output
from ktc.emit.workgroups.work_item_loops import Plan, WorkItemLoop
from ktc.emit.workgroups.writer import BlockWriter
from ktc.targets.cpu import LACKS_NAME, LACKS_TEXT

__all__ = ("CannotCut", "in_loops")

_MACHINE = re.compile(r' "target-(?:cpu|features)"="[^"]*"')


def in_loops(module: Any, kernel: str, is_vectorised: bool = True, are_warps_whole: bool = False) -> str:
    """Return the text of a module with its kernel cut.

    Args:
        module: LLVM's module, simplified.
        kernel: the symbol of the kernel. is_vectorised: LLVM will make vectors of loops.
        are_warps_whole: only a kernel will do of which no thread ends before others that it exchanges words with.

    Raises:
        CannotCut: the kernel cannot be cut.
    """
    text = str(module)
    whole = Module(text)
    at = whole.place_of(f"{kernel}.body")
    plan = planned(read(whole.at(at)), are_warps_whole)
    group, first = attached_node(text, "llvm.access.group"), free_node(text)
    output = Output(first if group is None else group, first + 1, is_vectorised)
    attributes = " nounwind" + "".join(dict.fromkeys(_MACHINE.findall(text)))
    written = whole.entities[at] = BlockWriter(plan, output, f"{kernel}.block", attributes).write()
    whole.drop_declarations(lambda symbol: symbol == f"{kernel}.block" or symbol.startswith("ktc.cpu."))
    known = whole.symbols("declare ", "define ")
    whole.add([line for name, line in _DECLARED.items() if f"@{name}(" in written and name not in known])
    if f"@{LACKS_NAME}," in written and not any(one.symbol == LACKS_NAME for one in whole.globals()):
        whole.add([LACKS_TEXT])
    whole.add([*([f"!{first} = distinct !{{}}"] if group is None else []), *output.nodes])
    return whole.text()


_DECLARED = {
    "aligned_alloc": "declare ptr @aligned_alloc(i64, i64)",
    "free": "declare void @free(ptr)",
    "write": "declare i64 @write(i32, ptr, i64)",
    "abort": "declare void @abort()",
    **{
        f"llvm.{name}.{kind}": f"declare {kind} @llvm.{name}.{kind}({kind}, {kind})"
        for name in ("umin", "smin", "smax")
        for kind in ("i32", "i64")
    },
    "llvm.memset.p0.i64": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
}


def planned(graph: Graph, are_warps_whole: bool = False) -> Plan:
    """Cut a kernel, and decide what becomes of its values. `are_warps_whole`: see `in_loops`.

    Raises:
        CannotCut: it cannot be cut.
    """
    counters.split(graph, varying_in_lane_group(graph, set()))
    varying = varying_in_block(graph)
    whole = cut(graph, graph.entry, set(graph.blocks), set(), BLOCK_BARRIER, varying)
    made: list[WorkItemLoop] = []
    is_even = False
    for number, (head, part) in enumerate(list(whole.parts.items())):
        if not with_barriers(graph, part.blocks, WARP_BARRIER):
            made.append(WorkItemLoop(f"r{number}", part, whole, head, varying))
            continue
        for is_row in (True, False):
            lanes, needs_equal_lanes = _warp_leaves(graph, whole, head, is_row)
            made += lanes
            is_even |= needs_equal_lanes
    if are_warps_whole and any(
        part.ends_threads for part in [*whole.parts.values(), *(item_loop.part for item_loop in made)]
    ):
        raise CannotCut("some of its threads end before others")
    plan = Plan(graph, whole, made, varying, LaneGroupVariance(graph), is_even=is_even)
    work_item_loops.fill(plan)
    return plan


def _warp_leaves(graph: Graph, whole: BarrierRegions, head: str, is_row: bool) -> tuple[list[WorkItemLoop], bool]:
    part = whole.parts[head]
    alike, is_even = varying_in_warp(
        graph, is_row, is_row and not any(one.ends_threads for one in whole.parts.values())
    )
    inner = cut(graph, head, set(part.blocks), set(whole.parts), WARP_BARRIER, alike)
    for one in inner.parts.values() if part.ends_threads else ():
        # All lanes of a warp may end where other warps go on.
        one.ends_threads |= any(not graph.successors(name) for name in one.blocks)
    way = "row" if is_row else "any"
    made = [
        WorkItemLoop(f"b.{head}.{way}.{at}", one, inner, head, alike, True, is_row) for at, one in inner.parts.items()
    ]
    return made, is_even
