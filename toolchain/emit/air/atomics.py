"""Atomic instructions as AIR's functions.

Input: the operands of an `atomicrmw`, or of an atomic load or store, in text with typed pointers. Output: lines that
call, and what the module must declare for it.

AIR's functions order no other memory: Metal has no stronger order before its version 4.1.
"""

import re

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Bug, CompileError, Diagnostic
from ktc.emit.air.syntax import split, take_type

_NAMES = {
    "add": "add.s", "sub": "sub.s", "and": "and.s", "or": "or.s", "xor": "xor.s", "min": "min.s", "max": "max.s",
    "umin": "min.u", "umax": "max.u", "xchg": "xchg", "fadd": "add",
}  # fmt: skip
_SPACES = {" addrspace(1)": ("global", 2), " addrspace(3)": ("local", 1)}
"""By an address space the word for it, and the number of the scope: the device, the threadgroup."""
_RELAXED = "i32 0"
_ORDER = re.compile(r"(?: syncscope\(\"[^\"]*\"\))? (?:unordered|monotonic|acquire|release|acq_rel|seq_cst)$")

Calls = tuple[list[str], str]
"""Lines of the function, and a declaration."""


def changed(indent: str, name: str, rest: str, typed: str) -> Calls:
    """Return an `atomicrmw`: `rest` is "add i8 addrspace(1)* %p, i32 1 seq_cst, align 4"; `typed` a free name."""
    rest = rest.removeprefix("volatile ")
    operation, _, operands = rest.partition(" ")
    place, operand, *_ = split(operands)
    operand = _ORDER.sub("", operand)
    return _called(indent, name, _NAMES.get(operation, ""), take_type(operand)[0], place, operand, typed, rest)


def loaded(indent: str, name: str, rest: str, typed: str) -> Calls:
    """Return an atomic load: `rest` is "i32, i8 addrspace(1)* %p monotonic, align 4"."""
    kind, place, *_ = split(rest.removeprefix("volatile "))
    return _called(indent, name, "load", kind, _ORDER.sub("", place), "", typed, rest)


def stored(indent: str, rest: str, typed: str) -> Calls:
    """Return an atomic store: `rest` is "i32 %v, i8 addrspace(1)* %p monotonic, align 4"."""
    operand, place, *_ = split(rest.removeprefix("volatile "))
    return _called(indent, "", "store", take_type(operand)[0], _ORDER.sub("", place), operand, typed, rest)


def _called(indent: str, name: str, what: str, kind: str, place: str, operand: str, typed: str, text: str) -> Calls:
    pointer, value = take_type(place)
    space, scope = _SPACES.get(pointer[2:-1], ("", 0))
    word = {"i32": "i32", "float": "f32"}.get(kind, "")
    if what and not space and pointer == "i8*":
        words = "for Apple's GPUs, an atomic operation needs to know whether its address is in global or shared memory"
        help = (
            "give the pointer an 'address_space', or keep in shared memory and on the stack only addresses of one kind"
        )
        raise CompileError([Diagnostic(Code.UNSUPPORTED_ON_TARGET, None, words, help)])
    if not (what and space and word) or (word == "f32") != (what == "add"):
        raise Bug(f"AIR has no such atomic operation: {' '.join(text.split())[:300]}", "emit")
    function = f"@air.atomic.{space}.{what}.{word}"
    result = "void" if what == "store" else kind
    pointer_type = f"{kind}{pointer[2:]}"
    arguments = ", ".join(
        [f"{pointer_type} {typed}", *([operand] if operand else []), _RELAXED, f"i32 {scope}", "i1 true"]
    )
    types = ", ".join([pointer_type, *([kind] if operand else []), "i32", "i32", "i1"])
    return [
        f"{indent}{typed} = bitcast {pointer} {value} to {pointer_type}",
        f"{indent}{name + ' = ' if name else ''}call {result} {function}({arguments})",
    ], f"declare {result} {function}({types})"
