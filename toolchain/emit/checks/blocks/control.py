"""Which branches lead to a block: its dominators, and the conditions on the way."""

import re

from ktc.emit.checks.body import Body

_LABEL = re.compile(r'("[^"]+"|[\w.$-]+):')
_TARGET = re.compile(r'label %("[^"]+"|[\w.$-]+)')
_BRANCH = re.compile(r"br i1 (%\S+), label %(\S+), label %(\S+)$")


class Control:
    """The blocks of one function, by number as `Body` counts them."""

    def __init__(self, body: Body) -> None:
        labels = [match.group(1) for line in body.lines[1:] if (match := _LABEL.match(line)) is not None]
        self._numbers = {label: number for number, label in enumerate(labels, 1)}
        self._branches: dict[int, tuple[str, int, int]] = {}
        count = len(labels) + 1
        self._before: list[list[int]] = [[] for _ in range(count)]
        for one in body.instructions:
            if one.code not in ("br", "switch", "invoke"):
                continue
            targets = [self._numbers[label] for label in _TARGET.findall(one.text)]
            for target in targets:
                self._before[target].append(one.block)
            match = _BRANCH.match(one.text)
            if match is not None and targets[0] != targets[1]:
                self._branches[one.block] = match.group(1), targets[0], targets[1]
        self._above = self._dominators(1 if labels and self._before[0] == [] else 0, count)

    def _dominators(self, entry: int, count: int) -> list[set[int]]:
        everything = set(range(count))
        above = [set(everything) for _ in range(count)]
        above[entry] = {entry}
        changed = True
        while changed:
            changed = False
            for block in range(count):
                if block == entry or not self._before[block]:
                    continue
                new = {block} | set.intersection(*(above[other] for other in self._before[block]))
                if new != above[block]:
                    above[block], changed = new, True
        return above

    def is_back(self, block: int, label: str) -> bool:
        """Return whether an edge to a block comes from a block that it leads to."""
        return block in self._above[self._numbers[label.removeprefix("%")]]

    def guards(self, block: int) -> tuple[tuple[str, bool], ...]:
        """Return the conditions that hold in a block, and whether they are true."""
        found = []
        for other in sorted(self._above[block]):
            if other not in self._branches:
                continue
            condition, then, otherwise = self._branches[other]
            for target, is_true in ((then, True), (otherwise, False)):
                others = [one for one in self._before[target] if one != other]
                if target in self._above[block] and all(target in self._above[one] for one in others):
                    found.append((condition, is_true))
        return tuple(found)
