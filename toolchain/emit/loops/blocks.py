"""The basic blocks of a function in LLVM's text. Input: the text of a function. Output: blocks, and text again."""

import re
from collections.abc import Iterator

from ktc.base.records import entity

NAME = r'%(?:"[^"]*"|[-a-zA-Z$._0-9]+)'
_NAMES = re.compile(NAME)
_DEFINED = re.compile(rf"^  ({NAME}) = (.*)$")
_PHI = re.compile(rf"^  ({NAME}) = phi (.+?) (\[.*)$")
_PAIR = re.compile(rf"\[ (.+?), ({NAME}) \]")
_BRANCH = re.compile(rf"^  br i1 ({NAME}), label ({NAME}), label ({NAME})")
_LABEL = re.compile(r'^("[^"]*"|[-a-zA-Z$._0-9]+):')


@entity
class Block:
    """A basic block.

    Args:
        name: as branches write it, with its "%".
        lines: its instructions, without the label.
    """

    name: str
    label: str
    lines: list[str]

    def phis(self) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
        """Yield name, type, and pairs of value and block of each phi."""
        for line in self.lines:
            found = _PHI.match(line)
            if found:
                yield found[1], found[2], _PAIR.findall(found[3])

    def branch(self) -> tuple[str, str, str] | None:
        """Return condition and targets of a conditional branch at the end."""
        found = _BRANCH.match(self.lines[-1]) if self.lines else None
        return (found[1], found[2], found[3]) if found else None

    def definition(self, name: str) -> str:
        """Return what an instruction of this block says after its "="; "" if it is not of this block."""
        return next((found[2] for line in self.lines if (found := _DEFINED.match(line)) and found[1] == name), "")


def blocks_of(function: str) -> tuple[str, list[Block]]:
    """Return the line that opens a function, and its blocks."""
    head, _, rest = function.partition("\n")
    blocks: list[Block] = []
    for line in rest.splitlines():
        found = _LABEL.match(line)
        if found:
            blocks.append(Block(f"%{found[1]}", line, []))
        elif line.startswith(" ") and blocks:
            if blocks[-1].lines and blocks[-1].lines[-1].count("[") > blocks[-1].lines[-1].count("]"):
                blocks[-1].lines[-1] += "\n" + line  # a switch has several lines
            else:
                blocks[-1].lines.append(line)
    return head, blocks


def text_of(head: str, blocks: list[Block]) -> str:
    """Return a function's text."""
    return "\n".join([head, *[line for block in blocks for line in (block.label, *block.lines)], "}\n"])


def defined(line: str) -> str:
    """Return the name that a line defines, or ""."""
    found = _DEFINED.match(line)
    return found[1] if found else ""


def used(line: str) -> set[str]:
    """Return the names that a line mentions and does not define."""
    names = _NAMES.findall(line)
    return set(names[1:] if _DEFINED.match(line) else names)


def renamed(line: str, names: dict[str, str]) -> str:
    """Return a line with other names."""
    return _NAMES.sub(lambda found: names.get(found[0], found[0]), line)
