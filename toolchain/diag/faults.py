"""Mistakes that programs built with `--check` report while they run: their codes, and a line about each."""

from collections.abc import Mapping
from types import MappingProxyType

FAULTS: Mapping[str, str] = MappingProxyType(
    {
        "out-of-bounds": "an index or address is outside of its memory",
        "null-pointer": "memory is accessed through a null pointer",
        "misaligned": "an address is not aligned as the access declares",
        "host-access": "the host accesses device memory, or a kernel host memory",
        "use-after-free": "memory is used after it was freed",
        "double-free": "memory is freed twice",
        "uninitialised-read": "a computation uses memory that was never written",
        "stack-overflow": "the stack overflows",
        "race-shared": "two threads of a block access the same shared memory, and nothing orders them",
        "race-global": "two threads access the same global memory, and nothing orders them",
        "divergent-barrier": "threads of a block wait at different barriers",
        "bad-shuffle-mask": "a lane reads from a lane that takes no part in the shuffle",
        "deadlock": "threads wait for a value that no thread changes",
        "missing-synchronize": "the host accesses memory that the device may still use",
        "leak": "memory is still allocated when 'main' returns",
        "division-by-zero": "an integer is divided by zero",
        "shift-count": "an integer is shifted by a negative count, or by all of its bits",
        "integer-overflow": "signed arithmetic for an index overflows its type",
    }
)
"""By code, a title. `launch-limits`, which they report too, is a warning of the compiler (`Code`)."""
