"""Text of the block's function as it is written, and the metadata of its loops."""


class Output:
    """Lines, and nodes of metadata.

    Args:
        group: number of the node that stands for accesses of which threads do not depend on each other's.
        first_node: the first number of a node that is free.
    """

    def __init__(self, group: int, first_node: int) -> None:
        self.lines: list[str] = []
        self.nodes: list[str] = []
        self.access = f", !llvm.access.group !{group}"
        self._group, self._node = group, first_node

    def loop(self) -> str:
        """Return the metadata of a loop over threads, which is a loop of its own."""
        number = self._node
        self._node += 2
        self.nodes.append(f"!{number} = distinct !{{!{number}, !{number + 1}}}")
        self.nodes.append(f'!{number + 1} = !{{!"llvm.loop.parallel_accesses", !{self._group}}}')
        return f"!llvm.loop !{number}"

    def open_label(self) -> str:
        """Return the label of the block that is being written."""
        return next((line[:-1] for line in reversed(self.lines) if line.endswith(":") and line[0] != " "), "entry")
