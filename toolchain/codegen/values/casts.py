"""Conversions that processors have no good instruction for, written out.

Input: an operation and the text of its operand. Output: the text of its result; `new` writes an instruction.
"""

import struct
from collections.abc import Callable

from ktc.codegen.values.types import TypeTable
from ktc.ir.nodes import Op
from ktc.ir.types import FloatType, IntType, Type, VectorType
from ktc.targets.target import Target

New = Callable[[str], str]


def _element(kind: Type) -> Type:
    return kind.element if isinstance(kind, VectorType) else kind


def is_lane_by_lane(target: Target, op: Op) -> bool:
    """Whether LLVM makes a saturating cast of a vector lane by lane, though it need not."""
    if not target.splits_vector_casts or not isinstance(op.type, VectorType):
        return False
    have, want = _element(op.args[0].type), op.type.element
    return isinstance(have, FloatType) and have.bits >= 32 and isinstance(want, IntType) and 8 <= want.bits <= 64


def has_target_function(target: Target, op: Op) -> bool:
    """Whether the target has an instruction for a saturating cast that LLVM does not know to saturate."""
    have, want = _element(op.args[0].type), _element(op.type)
    known = isinstance(have, FloatType) and have.name in ("f16", "bf16", "f32", "f64")
    return bool(target.saturating_cast) and known and isinstance(want, IntType) and 8 <= want.bits <= 64


def by_target_function(instruction: str, op: Op, value: str, target: Target, types: TypeTable, new: New) -> str:
    """A saturating cast by the target's own function, lane by lane."""
    signed = instruction == "fptosi"
    if not isinstance(op.type, VectorType):
        return _target_function(signed, op.args[0].type, op.type, value, target, types, new)
    have, want = _element(op.args[0].type), op.type.element
    made = "poison"
    for lane in range(op.type.lanes):
        number = new(f"extractelement {types.value(op.args[0].type)} {value}, i32 {lane}")
        whole = _target_function(signed, have, want, number, target, types, new)
        made = new(f"insertelement {types.value(op.type)} {made}, {types.value(want)} {whole}, i32 {lane}")
    return made


def _target_function(
    signed: bool, have: Type, want: Type, value: str, target: Target, types: TypeTable, new: New
) -> str:
    assert isinstance(have, FloatType)
    assert isinstance(want, IntType)
    bits, kind = max(want.bits, 32), types.value(have)
    if have.bits < 32:
        value, kind = new(f"fpext {kind} {value} to float"), "float"
    # A narrower number is cut from a signed number of 32 bits.
    word = ("" if signed or want.bits < 32 else "u") + ("i" if bits == 32 else "ll")
    name = target.saturating_cast.format("d" if kind == "double" else "f", word)
    made = new(f"call i{bits} @{name}({kind} {value})")
    if bits == 64 or kind == "double":
        strange = new(f"fcmp uno {kind} {value}, {value}")
        made = new(f"select i1 {strange}, i{bits} 0, i{bits} {made}")
    if want.bits < 32:
        most = (1 << (want.bits - signed)) - 1
        made = new(f"call i32 @llvm.smin.i32(i32 {made}, i32 {most})")
        made = new(f"call i32 @llvm.smax.i32(i32 {made}, i32 {-most - 1 if signed else 0})")
        made = new(f"trunc i32 {made} to i{want.bits}")
    return made


def bounded(instruction: str, op: Op, value: str, types: TypeTable, new: New) -> str:
    """A saturating cast of a vector, by comparisons: `fptosi` or `fptoui` of values inside its range."""
    assert isinstance(op.type, VectorType)
    assert isinstance(op.type.element, IntType)
    signed, bits, number = instruction == "fptosi", op.type.element.bits, _element(op.args[0].type)
    kind, result = types.value(op.args[0].type), types.value(op.type)
    most = (1 << (bits - signed)) - 1
    least = -most - 1 if signed else 0
    flags, same = f"<{op.type.lanes} x i1>", f"splat (i{bits} "
    high = f"splat ({types.value(number)} {_double(float(most + 1))})"
    low = f"splat ({types.value(number)} {_double(float(least) if signed else -1.0)})"
    above = new(f"fcmp oge {kind} {value}, {high}")
    below = new(f"fcmp {'olt' if signed else 'ole'} {kind} {value}, {low}")
    strange = new(f"fcmp uno {kind} {value}, {value}")
    outside = new(f"or {flags} {above}, {below}")
    never = new(f"or {flags} {outside}, {strange}")
    inside = new(f"select {flags} {never}, {kind} zeroinitializer, {kind} {value}")
    plain = new(f"{instruction} {kind} {inside} to {result}")
    upper = new(f"select {flags} {above}, {result} {same}{most if signed else -1}), {result} {plain}")
    return new(f"select {flags} {below}, {result} {same}{least}), {result} {upper}")


def flushes_subnormals(target: Target, op: Op) -> bool:
    """Whether a cast may make zeros of subnormal numbers: x86's instruction for bfloat does."""
    kinds = (_element(op.args[0].type), _element(op.type))
    return target.flushes_bfloat and kinds == (FloatType("f32"), FloatType("bf16"))


def to_bfloat(op: Op, value: str, types: TypeTable, new: New) -> str:
    """A float rounded to bfloat, by its bits."""
    lanes = op.type.lanes if isinstance(op.type, VectorType) else 0

    def of(kind: str) -> str:
        return f"<{lanes} x {kind}>" if lanes else kind

    def same(number: int) -> str:
        return f"splat (i32 {number})" if lanes else str(number)

    wide, narrow, flag, have = of("i32"), of("i16"), of("i1"), types.value(op.args[0].type)
    bits = new(f"bitcast {have} {value} to {wide}")
    high = new(f"lshr {wide} {bits}, {same(16)}")
    odd = new(f"and {wide} {high}, {same(1)}")
    up = new(f"add {wide} {odd}, {same(0x7FFF)}")
    raised = new(f"add {wide} {bits}, {up}")
    rounded = new(f"lshr {wide} {raised}, {same(16)}")
    quiet = new(f"or {wide} {high}, {same(0x40)}")
    strange = new(f"fcmp uno {have} {value}, {value}")
    chosen = new(f"select {flag} {strange}, {wide} {quiet}, {wide} {rounded}")
    short = new(f"trunc {wide} {chosen} to {narrow}")
    return new(f"bitcast {narrow} {short} to {types.value(op.type)}")


def _double(value: float) -> str:
    """A number as LLVM writes it for float and double."""
    return f"0x{struct.pack('>d', value).hex().upper()}"
