"""Text of the block's function as it is written, and the metadata of its loops."""

from ktc.emit.workgroups.lane_groups.segments import GROUP_LANES
from ktc.targets.cpu import WARP_LANES

_ONCE = '"llvm.loop.unroll.disable"'


def _as_one(lanes: int) -> tuple[str, ...]:
    return _ONCE, f'"llvm.loop.vectorize.width", i32 {lanes}', '"llvm.loop.interleave.count", i32 1'


class Output:
    """Lines, and nodes of metadata.

    Args:
        group: number of the node that stands for accesses of which threads do not depend on each other's.
        first_node: the first number of a node that is free.
        is_vectorised: LLVM makes vectors of loops.
    """

    def __init__(self, group: int, first_node: int, is_vectorised: bool) -> None:
        self.lines: list[str] = []
        self.nodes: list[str] = []
        self.access = f", !llvm.access.group !{group}"
        self._group, self._node = group, first_node
        self.is_vectorised = is_vectorised

    def loop(self) -> str:
        """Return the metadata of a loop over threads, which is a loop of its own."""
        return self._metadata(f'"llvm.loop.parallel_accesses", !{self._group}')

    def lane_loop(self) -> str:
        """Return the metadata of a loop over a warp's lanes, which becomes one iteration of vectors."""
        return self._metadata(f'"llvm.loop.parallel_accesses", !{self._group}', *_as_one(WARP_LANES))

    def lane_group_loop(self) -> str:
        """Return the metadata of a loop over the lanes of a lane group, which becomes one iteration of vectors."""
        return self._metadata(f'"llvm.loop.parallel_accesses", !{self._group}', *_as_one(GROUP_LANES))

    def single_loop(self) -> str:
        """Return the metadata of a loop that a thread runs by itself where others run it in lane groups."""
        return self._metadata(_ONCE, '"llvm.loop.vectorize.width", i32 1')

    def plain_loop(self) -> str:
        """Return the metadata of a loop around others, of which one copy is enough."""
        return self._metadata(_ONCE)

    def _metadata(self, *words: str) -> str:
        number = self._node
        self._node += 1 + len(words)
        parts = ", ".join([f"!{one}" for one in range(number, self._node)])
        self.nodes.append(f"!{number} = distinct !{{{parts}}}")
        self.nodes += [f"!{at} = !{{!{word}}}" for at, word in enumerate(words, number + 1)]
        return f"!llvm.loop !{number}"

    def open_label(self) -> str:
        """Return the label of the block that is being written."""
        return next((line[:-1] for line in reversed(self.lines) if line.endswith(":") and line[0] != " "), "entry")
