"""AIR, the code of Apple's GPUs: text, bitcode and the container that Metal loads.

Input: the text of an optimised module with AIR's triple, layout and metadata. Output: the requested kinds: "asm" is
AIR as LLVM text with typed pointers; "object" its bitcode, in the form that Apple's compilers read; "image" the
metallib around it, after what the launcher must know.
"""

import re
import struct
from collections.abc import Set

from ktc.emit.air import metallib
from ktc.emit.air.bitcode import bitcode
from ktc.emit.air.text import typed_text
from ktc.emit.outcomes import LACKS
from ktc.targets.air import versions
from ktc.targets.target import Target

_WRAPPER_MAGIC = 0x0B17C0DE
_WRAPPER_BYTES = 20
_ANY_PROCESSOR = 0xFFFFFFFF

MAGIC = 0x4C54454D_4354_4B7F
"""The magic number of an image ("\\x7fKTC" "METL"). In 64 bits each follow the metallib's length in bytes, the number
of arguments, and how many bytes of shared memory a launch may add; then a byte for each argument, its kind, filled up
to a multiple of 8; then the metallib."""

_POINTER, _NUMBER, _STRUCT = 1, 2, 3
"""Kinds of arguments: the address of memory of the device, and values in constant memory: a number, and what may hold
addresses."""
_KINDS = {"uchar": _POINTER, "struct": _STRUCT}

_ARGUMENT = re.compile(r'!\{i32 (\d+), !"air\.buffer".*!"air\.arg_type_name", !"(\w+)"')
_SIZED_BY_LAUNCH = re.compile(r"= external (?:hidden )?(addrspace\(3\) global )\[0 x i8\]")

_TYPES = re.compile(r"(?<![%@.\w])(?:i(?P<bits>\d+)|(?P<double>double))\b")
_WIDEST = 64


def emit(optimised: str, target: Target, kernel: str, kinds: Set[str], shared_bytes: int = 0) -> dict[str, bytes]:
    """Return the kernel in each of `kinds` ("asm", "object", "image").

    Args:
        shared_bytes: how much shared memory the kernel names itself.
    """
    room = max(target.shared_bytes - shared_bytes, 0)
    text = typed_text(with_room(optimised, room))
    lacking = unsupported_number(text)
    if lacking:
        return {LACKS: lacking.encode()}
    made: dict[str, bytes] = {"asm": text.encode()} if "asm" in kinds else {}
    if kinds & {"object", "image"}:
        code = wrap(bitcode(text))
        made |= {"object": code} if "object" in kinds else {}
        if "image" in kinds:
            made["image"] = wrapped(metallib.write(kernel, code, versions(target)), argument_kinds(text), room)
    return made


def with_room(text: str, room: int) -> str:
    """Return a module in which shared memory that a launch sizes is as large as it can be.

    Metal gives such memory as a further argument; a variable needs no other code, and takes all that a block has.
    """
    return _SIZED_BY_LAUNCH.sub(rf"= internal \1[{room} x i8] undef" if room else r"= internal \1[16 x i8] undef", text)


def argument_kinds(text: str) -> bytes:
    """Return the kind of each argument of a module's kernel, which its metadata tells."""
    found = {int(number): name for number, name in _ARGUMENT.findall(text)}
    return bytes([_KINDS.get(found[number], _NUMBER) for number in sorted(found)])


def wrapped(library: bytes, kinds: bytes, room: int) -> bytes:
    """Return a metallib as the launcher reads it."""
    return struct.pack("<4Q", MAGIC, len(library), len(kinds), room) + kinds + bytes(-len(kinds) % 8) + library


def unsupported_number(text: str) -> str:
    """Return the type of numbers in a module's instructions that Metal does not have: "float64", "int128" …, or ""."""
    for line in text.splitlines():
        if not line.startswith("  "):
            continue
        for found in _TYPES.finditer(line):
            if found["double"]:
                return "float64"
            if int(found["bits"]) > _WIDEST:
                return f"int{found['bits']}"
    return ""


def wrap(code: bytes) -> bytes:
    """Return bitcode in the wrapper that Apple's tools expect.

    Source: LLVM, BitCodeFormat, "Bitcode Wrapper Format".
    """
    fields = (_WRAPPER_MAGIC, 0, _WRAPPER_BYTES, len(code), _ANY_PROCESSOR)
    head = b"".join(field.to_bytes(4, "little") for field in fields)
    return head + code + bytes(-len(head + code) % 16)
