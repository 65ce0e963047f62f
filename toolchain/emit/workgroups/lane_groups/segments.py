"""Segments of a work-item loop in lane groups: the blocks between two places where lanes diverge or reconverge.

Input: a loop's part and its loops. Output: the blocks of each segment, and the order in which they are run.
"""

from dataclasses import field
from typing import Union

from ktc.base.records import entity
from ktc.emit.llvm_text import flow
from ktc.emit.workgroups.barrier_regions import Part
from ktc.emit.workgroups.work_item_loops import WorkItemLoop

GROUP_LANES = 16

Order = list[Union[str, tuple[str, "Order"]]]
"""Heads of segments, and loops: their first segment's head and the segments of each iteration."""


@entity
class Segment:
    """The code that lanes run from one place to the next.

    Args:
        number: a lane's place, when it runs this next. given: kept values that it may set.
        uniform_branch: the block whose branch is the same for all lanes, "" if there is none.
        successors: the heads of the segments that may come next, "" for leaving the lane group.
        is_full: all lanes of the lane group run it.
        loop_local: phis that only the lanes in its loop need, and they are all here.
    """

    number: int
    item_loop: WorkItemLoop
    given: list[str] = field(default_factory=list)
    uniform_branch: str = ""
    successors: list[str] = field(default_factory=list)
    is_full: bool = False
    loop_local: set[str] = field(default_factory=set)


@entity
class LaneGroup:
    """How sixteen threads run a work-item loop.

    Args:
        slots: by value, whether it is kept once or for each lane.
    """

    segments: dict[str, Segment]
    order: Order
    varying: set[str]
    slots: dict[str, str] = field(default_factory=dict)
    is_masked: bool = False


def blocks_by_head(part: Part, loops: dict[str, set[str]]) -> dict[str, list[str]] | None:
    """Return the blocks of each segment by its first."""
    heads = {part.head, *loops}
    for loop in loops.values():
        for name in loop:
            for target in part.edges[name]:
                if target not in loop:
                    heads.update(part.edges[target] if _is_edge(part, target) else [target])
    before = flow.reversed_edges(part.edges)
    while True:
        owner: dict[str, str] = {}
        new = set[str]()
        for name in part.blocks:
            owners = {name} if name in heads else {owner[pred] for pred in before[name] if pred in owner}
            if len(owners) > 1:
                new.add(name)
                owners = {name}
            owner[name] = next(iter(owners))
        if not new:
            break
        heads |= new
    found: dict[str, list[str]] = {head: [] for head in part.blocks if head in heads}
    for name in part.blocks:
        found[owner[name]].append(name)
    return found


def _is_edge(part: Part, name: str) -> bool:
    """Return whether a block may only be a way from one block to another (`Graph.split_edge`)."""
    return ".to." in name and len(part.edges[name]) == 1


def ordered(part: Part, heads: dict[str, list[str]], loops: dict[str, set[str]], first: str, inside: str = "") -> Order:
    """Return segments in an order in which lanes wait where they meet, each loop's together."""
    blocks = loops[inside] if inside else set(part.edges)
    inner = {head: loop for head, loop in loops.items() if head != inside and head in blocks}
    outermost = {
        head: loop for head, loop in inner.items()
        if not any(head in other and head != name for name, other in inner.items())
    }  # fmt: skip

    def item(head: str) -> str:
        return next((name for name, loop in outermost.items() if head in loop), head)

    nodes = {item(head): set[str]() for head in heads if head in blocks}
    for head, own in heads.items():
        if head not in blocks:
            continue
        for name in own:
            for target in part.edges[name]:
                if target in heads and target in blocks and target != inside and item(target) != item(head):
                    nodes[item(head)].add(item(target))
    sequence = flow.order({name: sorted(targets) for name, targets in nodes.items()}, item(first))
    return [
        (name, ordered(part, heads, loops, name, name)) if name in outermost else name for name in sequence
    ]  # fmt: skip
