"""Which branches lead to a block: its dominators, and the conditions on the way."""

from ktc.emit.checks.body import Body
from ktc.emit.llvm_text import flow


class Control:
    """The blocks of one function, by number as instructions have it."""

    def __init__(self, body: Body) -> None:
        blocks = body.function.blocks
        edges = body.function.edges
        self._names = ["", *edges]
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._branches = {
            block.name: branch for block in blocks if (branch := block.branch) is not None and branch[1] != branch[2]
        }
        self._before = flow.reversed_edges(edges)
        self._parents = flow.immediate_dominators(edges, blocks[0].name)

    def _is_above(self, above: str, below: str) -> bool:
        """Return whether each way to `below` leads through `above`; there is none to a block that is never reached."""
        return below not in self._parents or flow.dominates(self._parents, above, below)

    def is_back(self, block: int, label: str) -> bool:
        """Return whether an edge to a block comes from a block that it leads to."""
        return self._is_above(self._names[block], label)

    def guards(self, block: int) -> tuple[tuple[str, bool], ...]:
        """Return the conditions that hold in a block, and whether they are true."""
        name, found = self._names[block], []
        above = sorted(flow.dominators_of(self._parents, name), key=self._numbers.__getitem__)
        for other in above:
            if other not in self._branches:
                continue
            condition, then, otherwise = self._branches[other]
            for target, is_true in ((then, True), (otherwise, False)):
                others = [one for one in self._before[target] if one != other]
                if target in above and all(self._is_above(target, one) for one in others):
                    found.append((condition, is_true))
        return tuple(found)
