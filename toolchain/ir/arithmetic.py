"""Arithmetic on plain scalars, exactly as the compiled code does it.

Input: the operand's scalar type, the result's scalar type and plain values (ints 0 <= v < 2**bits, floats already
rounded to their type). Output: a plain value. `ir.ops` names these functions in its table and does vectors and
aggregates.

f32, f16 and bf16 are computed in double and rounded once more. For + - * / and sqrt that gives the correctly rounded
result, since 53 >= 2 * p + 2 for every narrower precision p (24, 11, 8): the first rounding can never land on a tie of
the second one that the exact result was not on. It does not hold for fma and for wide integers, which go through exact
rationals. Where LLVM leaves a result undefined (division by zero, shifts by the width or more) it is 0 here.
"""

import math
import struct
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from ktc.ir.types import FloatType, IntType

# ---- rounding and bit patterns ---------------------------------------------------------------------

_PACK_F32 = struct.Struct("<f")
_PACK_F16 = struct.Struct("<e")
_PACK_F64 = struct.Struct("<d")

# precision in bits with the hidden one; exponent of the smallest subnormal; exponent of the first power that overflows
_FORMATS: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {"f16": (11, -24, 16), "bf16": (8, -133, 128), "f32": (24, -149, 128), "f64": (53, -1074, 1024)}
)


def _round_f32(value: float) -> float:
    try:
        return float(_PACK_F32.unpack(_PACK_F32.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _round_f16(value: float) -> float:
    try:
        return float(_PACK_F16.unpack(_PACK_F16.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _round_bf16(value: float) -> float:
    if value == 0.0 or not math.isfinite(value):
        return value
    # one rounding straight from double: going through f32 would round twice
    quantum = max(math.frexp(value)[1] - 8, -133)
    rounded = math.ldexp(round(math.ldexp(value, -quantum)), quantum)
    if abs(rounded) >= 2.0**128:
        return math.copysign(math.inf, value)
    return math.copysign(rounded, value)


ROUND: Mapping[str, Callable[[float], float]] = MappingProxyType(
    {"f16": _round_f16, "bf16": _round_bf16, "f32": _round_f32, "f64": float}
)


def round_to(kind: FloatType, value: float) -> float:
    """Round a double to `kind`, to nearest even; what is too large becomes infinite."""
    return ROUND[kind.name](value)


def round_exact(kind: FloatType, value: Fraction | int) -> float:
    """Round an exact number to `kind`, to nearest even, with one rounding."""
    if value == 0:
        return 0.0
    precision, least, limit = _FORMATS[kind.name]
    digits, quantum = round_digits(abs(Fraction(value)), precision, least)
    if digits.bit_length() + quantum > limit:
        return -math.inf if value < 0 else math.inf
    return math.ldexp(-digits if value < 0 else digits, quantum)


def round_digits(size: Fraction, precision: int, least: int) -> tuple[int, int]:
    """Round a number that is not negative to multiples of a power of two, to nearest even.

    Returns the multiple, of at most `precision` bits (or the next power of two), and the exponent, `least` or more.
    """
    if not size:
        return 0, least
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    quantum = max(exponent - precision + 1, least)
    return round(size / Fraction(2) ** quantum), quantum


def float_to_bits(kind: FloatType, value: float) -> int:
    """Return the bit pattern of a float of type `kind`."""
    match kind.name:
        case "f64":
            return int.from_bytes(_PACK_F64.pack(value), "little")
        case "f32":
            return int.from_bytes(_PACK_F32.pack(value), "little")
        case "f16":
            return int.from_bytes(_PACK_F16.pack(value), "little")
        case _:
            # every bf16 is an f32 whose low half is zero; a NaN keeps its quiet bit, or it would become infinity
            return int.from_bytes(_PACK_F32.pack(value), "little") >> 16 | (0x40 if math.isnan(value) else 0)


def float_from_bits(kind: FloatType, bits: int) -> float:
    """Return the float of type `kind` with this bit pattern."""
    match kind.name:
        case "f64":
            return float(_PACK_F64.unpack(bits.to_bytes(8, "little"))[0])
        case "f32":
            return float(_PACK_F32.unpack(bits.to_bytes(4, "little"))[0])
        case "f16":
            return float(_PACK_F16.unpack(bits.to_bytes(2, "little"))[0])
        case _:
            return float(_PACK_F32.unpack((bits << 16).to_bytes(4, "little"))[0])


def signed(kind: IntType, value: int) -> int:
    """Return the two's complement reading of a normalised value."""
    return value - (1 << kind.bits) if value >> (kind.bits - 1) else value


def wrap(kind: IntType, value: int) -> int:
    """Return any int normalised to `kind`."""
    return value & ((1 << kind.bits) - 1)


# ---- integers ------------------------------------------------------------------------------------------


def add(kind: IntType, _: IntType, a: int, b: int) -> int:
    return (a + b) & ((1 << kind.bits) - 1)


def sub(kind: IntType, _: IntType, a: int, b: int) -> int:
    return (a - b) & ((1 << kind.bits) - 1)


def mul(kind: IntType, _: IntType, a: int, b: int) -> int:
    return (a * b) & ((1 << kind.bits) - 1)


def udiv(_: IntType, __: IntType, a: int, b: int) -> int:
    return a // b if b else 0


def urem(_: IntType, __: IntType, a: int, b: int) -> int:
    return a % b if b else 0


def sdiv(kind: IntType, _: IntType, a: int, b: int) -> int:
    x, y = signed(kind, a), signed(kind, b)
    if y == 0:
        return 0
    quotient = abs(x) // abs(y)
    return wrap(kind, quotient if (x < 0) == (y < 0) else -quotient)


def srem(kind: IntType, _: IntType, a: int, b: int) -> int:
    x, y = signed(kind, a), signed(kind, b)
    if y == 0:
        return 0
    rest = abs(x) % abs(y)
    return wrap(kind, -rest if x < 0 else rest)


def bit_and(_: IntType, __: IntType, a: int, b: int) -> int:
    return a & b


def bit_or(_: IntType, __: IntType, a: int, b: int) -> int:
    return a | b


def bit_xor(_: IntType, __: IntType, a: int, b: int) -> int:
    return a ^ b


def shl(kind: IntType, _: IntType, a: int, b: int) -> int:
    return wrap(kind, a << b) if b < kind.bits else 0


def lshr(kind: IntType, _: IntType, a: int, b: int) -> int:
    return a >> b if b < kind.bits else 0


def ashr(kind: IntType, _: IntType, a: int, b: int) -> int:
    return wrap(kind, signed(kind, a) >> b) if b < kind.bits else 0


def neg(kind: IntType, _: IntType, a: int) -> int:
    return wrap(kind, -a)


def bit_not(kind: IntType, _: IntType, a: int) -> int:
    return a ^ ((1 << kind.bits) - 1)


def smin(kind: IntType, _: IntType, a: int, b: int) -> int:
    return a if signed(kind, a) <= signed(kind, b) else b


def smax(kind: IntType, _: IntType, a: int, b: int) -> int:
    return a if signed(kind, a) >= signed(kind, b) else b


def umin(_: IntType, __: IntType, a: int, b: int) -> int:
    return min(a, b)


def umax(_: IntType, __: IntType, a: int, b: int) -> int:
    return max(a, b)


def iabs(kind: IntType, _: IntType, a: int) -> int:
    return wrap(kind, abs(signed(kind, a)))


def ctpop(_: IntType, __: IntType, a: int) -> int:
    return a.bit_count()


def ctlz(kind: IntType, _: IntType, a: int) -> int:
    # i1 cannot hold every count; wrapping is what LLVM's result type does too
    return wrap(kind, kind.bits - a.bit_length())


def cttz(kind: IntType, _: IntType, a: int) -> int:
    return wrap(kind, (a & -a).bit_length() - 1 if a else kind.bits)


def bswap(kind: IntType, _: IntType, a: int) -> int:
    return int.from_bytes(a.to_bytes(kind.bits // 8, "little"), "big") if kind.bits >= 8 else a


def bitreverse(kind: IntType, _: IntType, a: int) -> int:
    return int(format(a, f"0{kind.bits}b")[::-1], 2)


def fshl(kind: IntType, _: IntType, a: int, b: int, c: int) -> int:
    return wrap(kind, ((a << kind.bits | b) << (c % kind.bits)) >> kind.bits)


def _clamp_signed(kind: IntType, value: int) -> int:
    top = (1 << (kind.bits - 1)) - 1
    return wrap(kind, max(-top - 1, min(top, value)))


def sadd_sat(kind: IntType, _: IntType, a: int, b: int) -> int:
    return _clamp_signed(kind, signed(kind, a) + signed(kind, b))


def ssub_sat(kind: IntType, _: IntType, a: int, b: int) -> int:
    return _clamp_signed(kind, signed(kind, a) - signed(kind, b))


def uadd_sat(kind: IntType, _: IntType, a: int, b: int) -> int:
    return min(a + b, (1 << kind.bits) - 1)


def usub_sat(_: IntType, __: IntType, a: int, b: int) -> int:
    return max(a - b, 0)


def umulhi(kind: IntType, _: IntType, a: int, b: int) -> int:
    return (a * b) >> kind.bits


def smulhi(kind: IntType, _: IntType, a: int, b: int) -> int:
    return wrap(kind, (signed(kind, a) * signed(kind, b)) >> kind.bits)


# ---- comparisons ---------------------------------------------------------------------------------------


def eq(_: object, __: IntType, a: object, b: object) -> int:
    return int(a == b)


def ne(_: object, __: IntType, a: object, b: object) -> int:
    return int(a != b)


def slt(kind: IntType, _: IntType, a: int, b: int) -> int:
    return int(signed(kind, a) < signed(kind, b))


def sle(kind: IntType, _: IntType, a: int, b: int) -> int:
    return int(signed(kind, a) <= signed(kind, b))


def sgt(kind: IntType, _: IntType, a: int, b: int) -> int:
    return int(signed(kind, a) > signed(kind, b))


def sge(kind: IntType, _: IntType, a: int, b: int) -> int:
    return int(signed(kind, a) >= signed(kind, b))


def lt(_: object, __: IntType, a: Any, b: Any) -> int:
    """Unsigned less-than of ints, ordered less-than of floats."""
    return int(a < b)


def le(_: object, __: IntType, a: Any, b: Any) -> int:
    return int(a <= b)


def gt(_: object, __: IntType, a: Any, b: Any) -> int:
    return int(a > b)


def ge(_: object, __: IntType, a: Any, b: Any) -> int:
    return int(a >= b)


def foeq(_: FloatType, __: IntType, a: float, b: float) -> int:
    return int(a == b)


def fune(_: FloatType, __: IntType, a: float, b: float) -> int:
    return int(a != b)


def fuo(_: FloatType, __: IntType, a: float, b: float) -> int:
    return int(math.isnan(a) or math.isnan(b))
