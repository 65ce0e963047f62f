"""Ways out of a function that end alike become one.

Where a call raises, the values that live there are destroyed and the function returns, or goes to a handler: the same
calls again after each call that may raise. Input: the lines of a function's blocks. Output: the same with what blocks
have in common at their ends written once. No line that is shared defines a value, so all it uses is known in each of
them.
"""

from collections.abc import Sequence

_SHARED = ("  call void ", "  store ")
_ENDS = ("  ret ", "  br label ")
_NOTHING = -1


def share_exits(lines: Sequence[str]) -> list[str]:
    """Return the lines of blocks with their common ends shared."""
    ends = _Ends()
    tails = {at: ends.tail(lines, at) for at, line in enumerate(lines) if line.startswith(_ENDS)}
    for tail in tails.values():
        for end in tail:
            ends.counts[end] += 1
    cuts: dict[int, int] = {}
    for at, tail in tails.items():
        length = max((n for n, end in enumerate(tail, 1) if ends.counts[end] > 1), default=0)
        if length > 1:
            cuts[at - length + 1] = tail[length - 1]
    if not cuts:
        return list(lines)
    made: list[str] = []
    at = 0
    while at < len(lines):
        if at in cuts:
            made.append(f"  br label %out{cuts[at]}")
            at += ends.length(cuts[at])
        else:
            made.append(lines[at])
            at += 1
    return made + ends.blocks(set(cuts.values()))


class _Ends:
    """Ends of blocks, each with a number: a line and the end that follows it."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[str, int], int] = {}
        self.parts: list[tuple[str, int]] = []
        self.counts: list[int] = []

    def tail(self, lines: Sequence[str], at: int) -> list[int]:
        """Return the ends of the block whose last line is at `at`, the shortest first."""
        found = [self._number(lines[at], _NOTHING)]
        while at > 0 and lines[at - 1].startswith(_SHARED):
            at -= 1
            found.append(self._number(lines[at], found[-1]))
        return found

    def _number(self, line: str, rest: int) -> int:
        number = self.numbers.setdefault((line, rest), len(self.parts))
        if number == len(self.parts):
            self.parts.append((line, rest))
            self.counts.append(0)
        return number

    def length(self, end: int) -> int:
        """Return the lines of an end."""
        count = 0
        while end != _NOTHING:
            count, end = count + 1, self.parts[end][1]
        return count

    def blocks(self, heads: set[int]) -> list[str]:
        """Return the blocks for ends that others jump to, and for common ends of several of these."""
        before: dict[int, set[int]] = {}
        for head in heads:
            end = head
            while self.parts[end][1] != _NOTHING:
                before.setdefault(self.parts[end][1], set()).add(end)
                end = self.parts[end][1]
        heads = heads | {end for end, several in before.items() if len(several) > 1 and self.parts[end][1] != _NOTHING}
        made: list[str] = []
        for head in sorted(heads):
            made.append(f"out{head}:")
            end = head
            while end != _NOTHING:
                line, end = self.parts[end]
                made.append(line)
                if end in heads:
                    made.append(f"  br label %out{end}")
                    break
        return made
