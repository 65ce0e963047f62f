"""The fast path of a checked launch: loops over threads whose tests suspect too much rather than too little.

Input: a kernel of the CPU device, whole. Output: the same with tests, and a record for the library. `looped_kernel`
says how it works. `usage` finds how a kernel uses memory, `shadow_words` keep which thread used it, `suspects` gathers
the findings of a block, `strides` and `barrier_shape` analyse the kernel's code.
"""

from ktc.emit.checks.fast_path.looped_kernel import FastPath, fast_path, with_fast_path_record
from ktc.emit.checks.fast_path.suspects import with_beginning
from ktc.emit.checks.fast_path.usage import NoFastPath

__all__ = ("FastPath", "NoFastPath", "fast_path", "with_beginning", "with_fast_path_record")
