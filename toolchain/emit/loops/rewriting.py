"""Loops of GPU kernels, rewritten in the text that LLVM's passes gave.

LLVM leaves two things undone that decide how fast a kernel is. Counters stay 64 bits wide, since `Int` is, and a GPU
adds, compares and converts 64 bits in several instructions (`narrowed`). And it unrolls no loop whose number of turns
it cannot compute cheaply, as of a loop that strides over an array by the size of the grid, so that one load waits for
the one before it (`unrolled`).

Input: the text of an optimised module. Output: the same program.
"""

import re

from ktc.emit.loops.blocks import blocks_of, text_of
from ktc.emit.loops.common_loads import joined
from ktc.emit.loops.counters import narrowed
from ktc.emit.loops.remainders import compared
from ktc.emit.loops.unrolling import unrolled

_FUNCTION = re.compile(r"^define .*?^}\n", re.MULTILINE | re.DOTALL)


def improved(text: str) -> str:
    """Return the text of a module with better loops; the same object if nothing was found."""
    changed = False

    def function(found: re.Match[str]) -> str:
        nonlocal changed
        head, blocks = blocks_of(found[0])
        if not blocks or any("switch" in line or "indirectbr" in line for block in blocks for line in block.lines):
            return found[0]
        done = compared(blocks)
        done = joined(blocks) or done
        done = narrowed(blocks) or done
        done = unrolled(blocks) or done
        changed = changed or done
        return text_of(head, blocks) if done else found[0]

    new = _FUNCTION.sub(function, text)
    return new if changed else text
