"""A first look at launches of a checked program, as loops over threads that doubt too much rather than too little.

Input: a kernel of the CPU device, whole. Output: the same with tests, and what the library has to know of it; `screen`
says how it works, `usage` what a kernel does with memory, `claims` who had what, `doubts` gathers what is doubtful,
`strides` and `waiting` what its code shows.
"""

from ktc.emit.checks.screening.doubts import with_beginning
from ktc.emit.checks.screening.screen import Screen, screened, with_screen
from ktc.emit.checks.screening.usage import Unscreened

__all__ = ("Screen", "Unscreened", "screened", "with_beginning", "with_screen")
