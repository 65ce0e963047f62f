"""Functions for operations that LLVM's SPIR-V back end has no instruction for.

Input: a kernel's module as `codegen` wrote it. Output: the same, with calls of functions that stand at its end and that
LLVM's optimiser makes part of the kernel; it would find the reversal of bits again, so that comes after it.
"""

import re

from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import Module
from ktc.emit.llvm_text.scanning import globals_in

_FLOAT_ATOMICS = ("fadd", "fsub", "fmax", "fmin")
_DIVISIONS = ("sdiv", "udiv", "srem", "urem")
_REVERSAL = "llvm.bitreverse."
_MULTIPLIED = {"ktc.mul_hi.s.i64": "_Z6mul_hill", "ktc.mul_hi.u.i64": "_Z6mul_himm"}
"""OpenCL's names of the upper half of a product."""
_INTEGERS = {"float": "i32", "double": "i64"}


def with_routines(text: str) -> str:
    """Return a module without what the back end refuses."""
    made: dict[str, str] = {}
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if "atomicrmw f" in line:
            lines[at] = _atomic(Instruction(line), made)
        elif " i128 " in line and ("div" in line or "rem" in line):
            lines[at] = _divided(Instruction(line), made)
    if "@ktc.mul_hi." in text:
        module = Module("\n".join(lines))
        module.rename(lambda symbol: _MULTIPLIED.get(symbol, symbol))
        lines = module.text().split("\n")
    return "\n".join([*lines, *made.values(), ""] if made else lines)


def _atomic(one: Instruction, made: dict[str, str]) -> str:
    """Return a change of a float as a call; `made` gets the function."""
    if one.op != "atomicrmw" or one.operation not in _FLOAT_ATOMICS:
        return one.source
    place, value = one.operands
    scope, order = one.scope and f" {one.scope}", one.ordering
    name = re.sub(r"\W+", ".", f"ktc.atomic.{one.operation}.{place.type}.{value.type}.{scope}.{order}").strip(".")
    made[name] = _changed(name, one.operation, place.type, value.type, scope, order)
    return f"{_given(one)}call {value.type} @{name}({place}, {value})"


def _divided(one: Instruction, made: dict[str, str]) -> str:
    """Return a division of 128 bits as a call; `made` gets the function."""
    if one.op not in _DIVISIONS or one.type != "i128":
        return one.source
    made["ktc.divide"] = _DIVIDE
    name = f"ktc.{one.op}.i128"
    made[name] = _division(name, one.op[0] == "s", one.op.endswith("rem"))
    left, right = one.operands
    return f"{_given(one)}call i128 @{name}({left}, {right}){one.attachments}"


def _given(one: Instruction) -> str:
    return f"  {one.name} = " if one.name else "  "


def with_reversals(text: str) -> str:
    """Return an optimised module with functions for the reversal of bits."""
    if f"@{_REVERSAL}" not in text:
        return text
    module = Module(text)
    named = globals_in(text)
    kinds = [kind for kind in ("i16", "i32", "i64", "i8") if f"@{_REVERSAL}{kind}" in named]
    made = {f"{_REVERSAL}{kind}": f"ktc.bitreverse.{kind}" for kind in kinds}
    module.rename(lambda symbol: made.get(symbol, symbol))
    return "\n".join([module.text(), *[_bit_reverse(f"ktc.bitreverse.{kind}", kind) for kind in kinds]])


def _function(head: str, lines: list[str]) -> str:
    return "\n".join([f"define internal {head} alwaysinline convergent nounwind {{", *lines, "}"])


def _changed(name: str, op: str, pointer: str, kind: str, scope: str, order: str) -> str:
    """A change of a float: recomputed until no other thread has changed it meanwhile."""
    bits = _INTEGERS[kind]
    failure = {"acq_rel": "acquire", "release": "monotonic"}.get(order, order)
    letter = "f32" if kind == "float" else "f64"
    step = {
        "fmax": f"call {kind} @llvm.maxnum.{letter}({kind} %old, {kind} %v)",
        "fmin": f"call {kind} @llvm.minnum.{letter}({kind} %old, {kind} %v)",
    }.get(op, f"{op} {kind} %old, %v")
    return _function(
        f"{kind} @{name}({pointer} %p, {kind} %v)",
        [
            "entry:",
            f"  %first = load {bits}, {pointer} %p",
            "  br label %again",
            "again:",
            f"  %held = phi {bits} [ %first, %entry ], [ %seen, %again ]",
            f"  %old = bitcast {bits} %held to {kind}",
            f"  %new = {step}",
            f"  %bits = bitcast {kind} %new to {bits}",
            f"  %pair = cmpxchg {pointer} %p, {bits} %held, {bits} %bits{scope} {order} {failure}",
            f"  %seen = extractvalue {{ {bits}, i1 }} %pair, 0",
            f"  %done = extractvalue {{ {bits}, i1 }} %pair, 1",
            "  br i1 %done, label %end, label %again",
            "end:",
            f"  ret {kind} %old",
        ],
    )


def _bit_reverse(name: str, kind: str) -> str:
    """Neighbouring bits, pairs and halves of bytes change places, then the bytes."""
    size = int(kind[1:])
    lines, value = ["entry:"], "%x"
    for by, mask in ((1, 0x55), (2, 0x33), (4, 0x0F)):
        whole = int.from_bytes(bytes([mask]) * (size // 8), "little")
        lines += [
            f"  %a{by} = lshr {kind} {value}, {by}",
            f"  %b{by} = and {kind} %a{by}, {whole}",
            f"  %c{by} = and {kind} {value}, {whole}",
            f"  %d{by} = shl {kind} %c{by}, {by}",
            f"  %e{by} = or {kind} %b{by}, %d{by}",
        ]
        value = f"%e{by}"
    if size > 8:
        lines.append(f"  %r = call {kind} @llvm.bswap.{kind}({kind} {value})")
        value = "%r"
    return _function(f"{kind} @{name}({kind} %x)", [*lines, f"  ret {kind} {value}"])


_DIVIDE = _function(
    "void @ktc.divide(i128 %n, i128 %d, ptr addrspace(5) %whole, ptr addrspace(5) %rest)",
    [
        "entry:",
        "  br label %again",
        "again:",
        "  %i = phi i128 [ 127, %entry ], [ %next, %again ]",
        "  %q = phi i128 [ 0, %entry ], [ %q2, %again ]",
        "  %r = phi i128 [ 0, %entry ], [ %r2, %again ]",
        "  %moved = shl i128 %r, 1",
        "  %high = lshr i128 %n, %i",
        "  %bit = and i128 %high, 1",
        "  %with = or i128 %moved, %bit",
        "  %fits = icmp uge i128 %with, %d",
        "  %less = sub i128 %with, %d",
        "  %r2 = select i1 %fits, i128 %less, i128 %with",
        "  %one = shl i128 1, %i",
        "  %more = or i128 %q, %one",
        "  %q2 = select i1 %fits, i128 %more, i128 %q",
        "  %next = sub i128 %i, 1",
        "  %end = icmp eq i128 %i, 0",
        "  br i1 %end, label %done, label %again",
        "done:",
        "  store i128 %q2, ptr addrspace(5) %whole",
        "  store i128 %r2, ptr addrspace(5) %rest",
        "  ret void",
    ],
)
"""Bit by bit. A divisor of more than 127 bits would lose the remainder's upper bit; `_division` gives magnitudes."""


def _division(name: str, signed: bool, is_remainder: bool) -> str:
    """A quotient or a remainder; signed ones through the magnitudes."""
    lines = ["entry:", "  %whole = alloca i128, addrspace(5)", "  %rest = alloca i128, addrspace(5)"]
    left, right = "%a", "%b"
    if signed:
        lines += [
            "  %na = icmp slt i128 %a, 0",
            "  %ma = sub i128 0, %a",
            "  %ua = select i1 %na, i128 %ma, i128 %a",
            "  %nb = icmp slt i128 %b, 0",
            "  %mb = sub i128 0, %b",
            "  %ub = select i1 %nb, i128 %mb, i128 %b",
        ]
        left, right = "%ua", "%ub"
    lines += [
        f"  call void @ktc.divide(i128 {left}, i128 {right}, ptr addrspace(5) %whole, ptr addrspace(5) %rest)",
        f"  %r = load i128, ptr addrspace(5) {'%rest' if is_remainder else '%whole'}",
    ]
    if not signed:
        return _function(f"i128 @{name}(i128 %a, i128 %b)", [*lines, "  ret i128 %r"])
    lines += [
        f"  %negative = {'or i1 %na, false' if is_remainder else 'xor i1 %na, %nb'}",
        "  %minus = sub i128 0, %r",
        "  %result = select i1 %negative, i128 %minus, i128 %r",
        "  ret i128 %result",
    ]
    return _function(f"i128 @{name}(i128 %a, i128 %b)", lines)
