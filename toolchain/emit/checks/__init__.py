"""Checks for a program's mistakes (`--check`), put into LLVM's text before it is optimised.

Input: a module for the CPU with line tables, as `codegen` made it. Output: the same with calls of the library's
checks (`stdlib/_check/hooks.kpy`) before accesses to memory, at barriers and fences, and around arithmetic. What is
inlined by all means is inlined first and locals become values, so an access that is left is one to memory, and each
value's way through a kernel can be seen; each check names a place in the program that the optimiser cannot move
(`sites`).
"""

from ktc.emit.checks.inline import with_bounds
from ktc.emit.checks.screening import Unscreened, screened, with_beginning, with_screen
from ktc.emit.checks.weave import instrumented

__all__ = ("Unscreened", "instrumented", "screened", "with_beginning", "with_bounds", "with_screen")
