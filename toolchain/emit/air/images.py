"""AIR, the code of Apple's GPUs: text, bitcode and the container that Metal loads.

In: the text of an optimised module with AIR's triple, layout and metadata. Out: the kinds that are wanted:
"asm" is AIR as LLVM text with typed pointers; "object" its bitcode, in the form that Apple's compilers read; "image"
the metallib around it.
"""

import re
from collections.abc import Set

from ktc.emit.air import metallib
from ktc.emit.air.bitcode import bitcode
from ktc.emit.air.text import typed_text
from ktc.targets.air import versions
from ktc.targets.target import Target

_WRAPPER_MAGIC = 0x0B17C0DE
_WRAPPER_BYTES = 20
_ANY_PROCESSOR = 0xFFFFFFFF

LACKS = "lacks"
"""The kind of image that says which numbers of a kernel the GPU has not; there is no other then."""

_TYPES = re.compile(r"(?<![%@.\w])(?:i(?P<bits>\d+)|(?P<double>double))\b")
_WIDEST = 64


def emit(optimised: str, target: Target, kernel: str, kinds: Set[str]) -> dict[str, bytes]:
    """Return the kernel in each of `kinds` ("asm", "object", "image")."""
    text = typed_text(optimised)
    lacking = lacks(text)
    if lacking:
        return {LACKS: lacking.encode()}
    made: dict[str, bytes] = {"asm": text.encode()} if "asm" in kinds else {}
    if kinds & {"object", "image"}:
        code = wrap(bitcode(text))
        made |= {"object": code} if "object" in kinds else {}
        made |= {"image": metallib.write(kernel, code, versions(target))} if "image" in kinds else {}
    return made


def lacks(text: str) -> str:
    """Return the type of numbers among a module's instructions that Metal has not: "float64", "int128" …, or ""."""
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
