"""Bounds alone, a block at a time: blocks whose accesses are inside by their ranges run without tests.

Input: a marked kernel of the CPU device. Output: a module that looks at blocks before they run. `control` says which
branches lead where, `intervals` computes with ranges, `ranges` finds those of a kernel's accesses, `block_precheck`
makes the functions.
"""

from ktc.emit.checks.blocks.block_precheck import joined, named, untested, with_precheck
from ktc.emit.checks.blocks.ranges import Unknown

__all__ = ("Unknown", "joined", "named", "untested", "with_precheck")
