"""Loops of GPU kernels, rewritten in the text that LLVM's passes gave.

LLVM leaves two things undone that decide how fast a kernel is. Counters stay 64 bits wide, since `Int` is, and a GPU
adds, compares and converts 64 bits in several instructions (`narrowed`). And it unrolls no loop whose number of turns
it cannot compute cheaply, as of a loop that strides over an array by the size of the grid, so that one load waits for
the one before it (`unrolled`).

In: the text of an optimised module. Out: the same program.
"""

import re
from collections.abc import Iterator

from ktc.records import entity

NAME = r'%(?:"[^"]*"|[-a-zA-Z$._0-9]+)'
_NAMES = re.compile(NAME)
_DEFINED = re.compile(rf"^  ({NAME}) = (.*)$")
_PHI = re.compile(rf"^  ({NAME}) = phi (.+?) (\[.*)$")
_PAIR = re.compile(rf"\[ (.+?), ({NAME}) \]")
_BRANCH = re.compile(rf"^  br i1 ({NAME}), label ({NAME}), label ({NAME})")
_LABEL = re.compile(r'^("[^"]*"|[-a-zA-Z$._0-9]+):')
_FUNCTION = re.compile(r"^define .*?^}\n", re.MULTILINE | re.DOTALL)


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


def improved(text: str) -> str:
    """Return the text of a module with better loops; the same object if nothing was found."""
    from ktc.emit.loop_counters import narrowed
    from ktc.emit.loop_unrolling import unrolled

    if "phi" not in text:
        return text
    changed = False

    def function(found: re.Match[str]) -> str:
        nonlocal changed
        head, blocks = blocks_of(found[0])
        if not blocks or any("switch" in line or "indirectbr" in line for block in blocks for line in block.lines):
            return found[0]
        done = narrowed(blocks)
        done = unrolled(blocks) or done
        changed = changed or done
        return text_of(head, blocks) if done else found[0]

    new = _FUNCTION.sub(function, text)
    return new if changed else text
