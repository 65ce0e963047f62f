"""Kinds of a kernel's results that are no image, beside those of images: why there is none, or no better one.

They stand alone, so that the process that only asks for images does not load LLVM.
"""

LACKS = "lacks"
"""Which numbers of a kernel an Apple GPU does not have; there is no image then."""

REFUSED = "refused"
"""The part of a kernel that OpenCL cannot do; there is no image then."""

UNCUT = "uncut"
"""Why a kernel of the CPU device runs as coroutines: the number of a barrier, or -1, and words."""
