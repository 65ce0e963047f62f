"""SPIR-V, the code that OpenCL's drivers take: its disassembly, the module, and the image that the launcher reads.

Input: the text of an optimised module with the address spaces of `targets.spirv.LAYOUT`. Output: the kinds that are
wanted: "asm" is the disassembly as LLVM prints it, "object" the module, "image" the module after what the launcher
must know.
"""

import ctypes
import re
import struct
from collections.abc import Callable, Set

from ktc.emit import llvm
from ktc.emit.outcomes import REFUSED
from ktc.emit.spirv.matrices import EXTENSION, exchanges, has_matrices
from ktc.emit.spirv.syntax import instruction
from ktc.emit.spirv.text import for_spirv
from ktc.targets.target import Target

MAGIC = 0x56525053_4354_4B7F
"""The magic number of an image ("\\x7fKTC" "SPRV"). In 64 bits each follow the module's length in bytes and which
arguments stand after the kernel's own (`text.HAS_MAILBOX`, `text.HAS_SHARED`)."""


_ATTEMPTS = 12
_UNTYPED_RESULTS = frozenset({7, 11, 248, *range(19, 39)})
"""OpString, OpExtInstImport, OpLabel, and the types."""
_NO_RESULT = frozenset({
    *range(0, 1), *range(2, 7), 8, 10, *range(14, 18), 39, 56, 62, 63, 64, 71, 72, *range(74, 77), 218, 219, 220, 221,
    *range(224, 226), 228, *range(246, 248), *range(249, 258), 259, 317, 319, *range(330, 333), 5632, 5633,
})  # fmt: skip
"""Debug names, modes, decorations, stores, barriers, branches and merges."""

_ATOMICS = ("atomicrmw", "cmpxchg")
_NARROW = ("i8", "i16", "half", "bfloat")


def emit(optimised: str, target: Target, kernel: str, level: int, kinds: Set[str]) -> dict[str, bytes]:
    """Return the kernel in each of `kinds` ("asm", "object", "image")."""
    refused = refusal(optimised)
    if refused:
        return {REFUSED: refused.encode()}
    text, arguments = for_spirv(optimised, target)
    if has_matrices(text):
        llvm.allow_spirv_extension(EXTENSION)
    made: dict[str, bytes] = {}
    if "asm" in kinds:
        made["asm"] = _retried(lambda: _assembly(text, kernel, target, level), _doubled_names)
    if kinds & {"object", "image"}:
        code = _retried(lambda: _object(text, kernel, target, level), _doubled_ids)
        made |= {"object": code} if "object" in kinds else {}
        made |= {"image": wrapped(code, arguments)} if "image" in kinds else {}
    return made


def _retried(make: Callable[[], bytes], is_doubled: Callable[[bytes], bool]) -> bytes:
    """Return LLVM's output, made once more where a label has the number of another result.

    LLVM 22 keeps the numbers of results by a function's address in memory, beyond the end of a module. A function that
    gets the memory of one of an earlier module then gets its numbers too: one module of ten in a process with several.
    Memory that is allocated between two attempts takes that place, so that the next attempt gets another address.
    """
    taken: list[ctypes.Array[ctypes.c_char]] = []
    for _ in range(_ATTEMPTS):
        made = make()
        if not is_doubled(made):
            break
        taken += [ctypes.create_string_buffer(size) for size in range(256, 8192, 16) for _ in range(4)]
    return made


def _assembly(text: str, kernel: str, target: Target, level: int) -> bytes:
    with llvm.parsed(text, kernel) as module:
        return plain_zeros_of_text(llvm.assembly(module, target, level)).encode()


def _object(text: str, kernel: str, target: Target, level: int) -> bytes:
    """Emission changes the module, so each form starts from the text."""
    with llvm.parsed(text, kernel) as module:
        return plain_zeros(llvm.object_code(module, target, level))


_TYPE_INT, _CONSTANT, _CONSTANT_NULL = 21, 43, 46


def plain_zeros(code: bytes) -> bytes:
    """Return a module whose zero integers are constants like others.

    LLVM writes them as `OpConstantNull`, which SPIR-V does not allow as the number of a struct's member.
    """
    words = struct.unpack(f"<{len(code) // 4}I", code)
    widths: dict[int, int] = {}
    made = list(words[:5])
    at = 5
    while at < len(words):
        length, code_of = max(words[at] >> 16, 1), words[at] & 0xFFFF
        found = words[at : at + length]
        if code_of == _TYPE_INT:
            widths[found[1]] = found[2]
        if code_of == _CONSTANT_NULL and found[1] in widths:
            zero = [0] * (2 if widths[found[1]] > 32 else 1)
            found = (3 + len(zero) << 16 | _CONSTANT, found[1], found[2], *zero)
        made += found
        at += length
    return struct.pack(f"<{len(made)}I", *made)


def plain_zeros_of_text(text: str) -> str:
    """Return a disassembly changed in the same way."""
    integers = set(re.findall(r"^\s*(%\S+) = OpTypeInt ", text, re.MULTILINE))
    return re.sub(
        r"^(\s*%\S+ = OpConstant)Null (%\S+)$",
        lambda found: f"{found[1]} {found[2]} 0" if found[2] in integers else found[0],
        text, flags=re.MULTILINE,
    )  # fmt: skip


def _doubled_names(text: bytes) -> bool:
    """Return whether two results of a disassembly have one number."""
    names = re.findall(rb"^\s*(%\d+) = ", text, re.MULTILINE)
    return len(names) != len(set(names))


def _doubled_ids(code: bytes) -> bool:
    """Return whether two results of a module have one number.

    Source: SPIR-V 1.4, sections 2.3 and 3.32: five words of header; an instruction's first word has its length above
    its code, and its result stands after its type if it has one.
    """
    words = struct.unpack(f"<{len(code) // 4}I", code)
    seen: set[int] = set()
    at = 5
    while at < len(words):
        length, code_of = words[at] >> 16, words[at] & 0xFFFF
        place = 1 if code_of in _UNTYPED_RESULTS else 0 if code_of in _NO_RESULT else 2
        if place and place < length:
            if words[at + place] in seen:
                return True
            seen.add(words[at + place])
        at += max(length, 1)
    return False


def refusal(text: str) -> str:
    """Return the first thing in an optimised kernel that OpenCL cannot do, "" if there is none."""
    if text.count("\ndefine ") > 1:  # all other functions have become a part of the kernel
        return "has no recursion, and functions of '{}' call themselves"
    if exchanges(text):  # the sub-groups of matrix instructions are parts of warps
        return "has no shuffles, votes and barriers of warps in kernels with matrix instructions, as '{}' is"
    atomics = [instruction(line) for line in text.splitlines() if "atomicrmw " in line or "cmpxchg " in line]
    if any(one is not None and one.op in _ATOMICS and one.operands[1].type in _NARROW for one in atomics):
        return "changes no numbers of 8 or 16 bits atomically, as '{}' does"
    return ""


def wrapped(code: bytes, arguments: int) -> bytes:
    """Return a module as the launcher reads it."""
    return b"".join(number.to_bytes(8, "little") for number in (MAGIC, len(code), arguments)) + code
