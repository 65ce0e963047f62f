"""Atomic instructions as AIR's functions.

Input: an `atomicrmw`, or an atomic load or store, in text with typed pointers. Output: lines that call, and what the
module must declare for it.

AIR's functions order no other memory: Metal has no stronger order before its version 4.1.
"""

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Bug, CompileError, Diagnostic
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.operands import Operand

_NAMES = {
    "add": "add.s", "sub": "sub.s", "and": "and.s", "or": "or.s", "xor": "xor.s", "min": "min.s", "max": "max.s",
    "umin": "min.u", "umax": "max.u", "xchg": "xchg", "fadd": "add",
}  # fmt: skip
_SPACES = {" addrspace(1)": ("global", 2), " addrspace(3)": ("local", 1)}
"""By an address space the word for it, and the number of the scope: the device, the threadgroup."""
_RELAXED = "i32 0"
Calls = tuple[list[str], str]
"""Lines of the function, and a declaration."""


def called(one: Instruction, typed: str) -> Calls:
    """Return an `atomicrmw`, or an atomic load or store, as a call. `typed`: a free name."""
    if one.op == "load":
        return _called(one, "load", one.accessed[0], one.operands[0], "", typed)
    if one.op == "store":
        value, place = one.operands
        return _called(one, "store", value.type, place, str(value), typed)
    place, value = one.operands
    return _called(one, _NAMES.get(one.operation, ""), value.type, place, str(value), typed)


def _called(one: Instruction, what: str, kind: str, place: Operand, operand: str, typed: str) -> Calls:
    pointer, value, _ = place
    space, scope = _SPACES.get(pointer[2:-1], ("", 0))
    word = {"i32": "i32", "float": "f32"}.get(kind, "")
    if what and not space and pointer == "i8*":
        words = "for Apple's GPUs, an atomic operation needs to know whether its address is in global or shared memory"
        help = (
            "give the pointer an 'address_space', or keep in shared memory and on the stack only addresses of one kind"
        )
        raise CompileError([Diagnostic(Code.UNSUPPORTED_ON_TARGET, None, words, help)])
    if not (what and space and word) or (word == "f32") != (what == "add"):
        raise Bug(f"AIR has no such atomic operation: {one.rest[:300]}", "emit")
    function = f"@air.atomic.{space}.{what}.{word}"
    result = "void" if what == "store" else kind
    pointer_type = f"{kind}{pointer[2:]}"
    arguments = ", ".join(
        [f"{pointer_type} {typed}", *([operand] if operand else []), _RELAXED, f"i32 {scope}", "i1 true"]
    )
    types = ", ".join([pointer_type, *([kind] if operand else []), "i32", "i32", "i1"])
    return [
        f"  {typed} = bitcast {pointer} {value} to {pointer_type}",
        f"  {one.name + ' = ' if one.name else ''}call {result} {function}({arguments})",
    ], f"declare {result} {function}({types})"
