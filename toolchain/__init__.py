"""ktc: an ahead-of-time compiler for a Pythonic GPU kernel language."""

from ktc.native import folders

__path__[:0] = folders()
