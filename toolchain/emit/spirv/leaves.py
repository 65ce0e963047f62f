"""Types that SPIR-V's back end lacks, as numbers that it has: structs, arrays, vectors of odd lengths, 128 bits.

Input: a type, or a constant of it. Output: the types, or the texts, of its leaves: what stands for it.
"""

import re

from ktc.emit.llvm_text.scanning import members, split, take_type
from ktc.emit.spirv.syntax import unsupported

LANES = (2, 3, 4, 8, 16)
"""Vectors that OpenCL has."""

WIDE = "i128"
LIMB = "i64"
_LIMB_MASK = (1 << 64) - 1
_LEGAL = re.compile(r"(?:i1|i8|i16|i32|i64|half|float|double)$")


def leaves(kind: str) -> tuple[str, ...] | None:
    """Return the leaves of a type, None if it stays as it is."""
    if kind == WIDE:
        return (LIMB, LIMB)
    if kind[0] not in "[{<":
        return None
    if kind[0] == "<" and not kind.startswith("<{"):
        count, element = kind[1:-1].split(" x ", 1)
        if int(count) in LANES and _LEGAL.match(element):
            return None
    return tuple(leaf for member in members(kind) for leaf in leaves(member) or (member,))


def width(kind: str) -> int:
    """Return how many leaves a type has."""
    return len(leaves(kind) or (kind,))


def position(kind: str, path: list[int]) -> tuple[int, str]:
    """Return the first leaf of the member to which indices lead, and the member's type."""
    at = 0
    for index in path:
        parts = members(kind)
        at += sum(width(part) for part in parts[:index])
        kind = parts[index]
    return at, kind


def constant(kind: str, text: str) -> list[str]:
    """Return the leaves of a constant."""
    known = leaves(kind)
    if known is None:
        return [text]
    if text in ("poison", "undef"):
        return [text] * len(known)
    if text == "zeroinitializer" or (kind == WIDE and text == "0"):
        return [zero(leaf) for leaf in known]
    if kind == WIDE:
        number = int(text) & ((1 << 128) - 1)
        return [str(number & _LIMB_MASK), str(number >> 64)]
    if text.startswith("splat ("):
        element, value = take_type(text[len("splat (") : -1])
        return constant(element, value) * (len(known) // width(element))
    if text.startswith('c"'):
        raise unsupported(f"{kind} {text}")
    parts = split(text[2:-2] if text.startswith("<{") else text[1:-1])
    return [leaf for part in parts for leaf in constant(*take_type(part))]


def zero(kind: str) -> str:
    """Return the text of zero."""
    if kind.startswith("ptr"):
        return "null"
    if kind[0] == "<":
        return "zeroinitializer"
    return "0xR0000" if kind == "bfloat" else "0.0" if kind in ("half", "float", "double") else "0"
