"""SPIR-V, the code that OpenCL's drivers take: its disassembly, the module, and the image that the launcher reads.

In: the text of an optimised module with the address spaces of `targets.spirv.LAYOUT`. Out: the kinds that
are wanted: "asm" is the disassembly as LLVM prints it, "object" the module, "image" the module behind what the launcher
must know.
"""

import re
from collections.abc import Set

from ktc.emit import llvm
from ktc.emit.spirv.text import for_spirv
from ktc.targets.target import Target

MAGIC = 0x56525053_4354_4B7F
"""What an image begins with ("\\x7fKTC" "SPRV"). In 64 bits each follow the module's length in bytes and which
arguments stand behind the kernel's own (`text.HAS_MAILBOX`, `text.HAS_SHARED`)."""


REFUSED = "refused"
"""The kind of image that says what of a kernel OpenCL cannot do; there is no other then."""

_NARROW_ATOMIC = re.compile(r"^\s+(?:%\S+ = )?(?:atomicrmw|cmpxchg)\b[^\n]*? (?:i8|i16|half|bfloat) ", re.MULTILINE)


def emit(optimised: str, target: Target, kernel: str, level: int, kinds: Set[str]) -> dict[str, bytes]:
    """Return the kernel in each of `kinds` ("asm", "object", "image")."""
    refused = refusal(optimised)
    if refused:
        return {REFUSED: refused.encode()}
    text, arguments = for_spirv(optimised)
    made: dict[str, bytes] = {}
    # Emission changes the module, and LLVM's SPIR-V back end wants a machine of its own for each.
    if "asm" in kinds:
        with llvm.parsed(text, kernel) as module:
            made["asm"] = llvm.assembly(module, target, level).encode()
    if kinds & {"object", "image"}:
        with llvm.parsed(text, kernel) as module:
            code = llvm.object_code(module, target, level)
        made |= {"object": code} if "object" in kinds else {}
        made |= {"image": wrapped(code, arguments)} if "image" in kinds else {}
    return made


def refusal(text: str) -> str:
    """Return what an optimised kernel does that OpenCL cannot, "" if it does nothing of the kind."""
    if text.count("\ndefine ") > 1:  # all other functions have become a part of the kernel
        return "has no recursion, and functions of '{}' call themselves"
    if _NARROW_ATOMIC.search(text):
        return "changes no numbers of 8 or 16 bits atomically, as '{}' does"
    return ""


def wrapped(code: bytes, arguments: int) -> bytes:
    """Return a module as the launcher reads it."""
    return b"".join(number.to_bytes(8, "little") for number in (MAGIC, len(code), arguments)) + code
