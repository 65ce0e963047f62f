"""Bounds alone, a block at a time: blocks whose accesses are inside by their ranges run without tests.

Input: a marked kernel of the CPU device. Output: a module that looks at blocks before they run. `control` says which
branches lead where, `intervals` computes with ranges, `ranges` finds those of a kernel's accesses, `scout` makes the
functions.
"""

from ktc.emit.checks.blocks.ranges import Unknown
from ktc.emit.checks.blocks.scout import joined, named, scouted, untested

__all__ = ("Unknown", "joined", "named", "scouted", "untested")
