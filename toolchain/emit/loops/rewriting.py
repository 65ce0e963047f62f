"""Loops of GPU kernels, rewritten in the text that LLVM's passes gave.

LLVM leaves two things undone that decide how fast a kernel is. Counters stay 64 bits wide, since `Int` is, and a GPU
adds, compares and converts 64 bits in several instructions (`narrowed`). And it unrolls no loop whose number of turns
it cannot compute cheaply, as of a loop that strides over an array by the size of the grid, so that one load waits for
the one before it (`unrolled`).

Input: the text of an optimised module. Output: the same program.
"""

from ktc.emit.llvm_text.modules import Module
from ktc.emit.loops.common_loads import joined
from ktc.emit.loops.counters import narrowed
from ktc.emit.loops.remainders import compared
from ktc.emit.loops.unrolling import unrolled


def improved(text: str) -> str:
    """Return the text of a module with better loops; the same object if nothing was found."""
    module, changed = Module(text), False
    for at, _ in list(module.definitions()):
        if "switch" in module.entities[at] or "indirectbr" in module.entities[at]:
            continue
        function = module.at(at)
        done = compared(function.blocks)
        done = joined(function.blocks) or done
        done = narrowed(function.blocks) or done
        done = unrolled(function.blocks) or done
        if done:
            module.entities[at] = function.text()
        changed = changed or done
    return module.text() if changed else text
