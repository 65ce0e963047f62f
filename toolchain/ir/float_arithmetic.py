"""Arithmetic on plain floats, and casts between scalars; the other half of `ir.arithmetic`, same conventions."""

import math
from fractions import Fraction

from ktc.ir.arithmetic import ROUND, round_exact, round_to, signed, wrap
from ktc.ir.types import FloatType, IntType

# ---- arithmetic ------------------------------------------------------------------------------------------


def fadd(kind: FloatType, _: FloatType, a: float, b: float) -> float:
    return ROUND[kind.name](a + b)


def fsub(kind: FloatType, _: FloatType, a: float, b: float) -> float:
    return ROUND[kind.name](a - b)


def fmul(kind: FloatType, _: FloatType, a: float, b: float) -> float:
    return ROUND[kind.name](a * b)


def fdiv(kind: FloatType, _: FloatType, a: float, b: float) -> float:
    if b == 0.0:
        if a == 0.0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)
    return ROUND[kind.name](a / b)


def frem(_: FloatType, __: FloatType, a: float, b: float) -> float:
    # fmod is exact, and its result has no more digits than its operands
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0.0:
        return math.nan
    return math.fmod(a, b)


def fneg(_: FloatType, __: FloatType, a: float) -> float:
    return -a


def fma(kind: FloatType, _: FloatType, a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        # the sum of two zeros keeps their common sign; x - x is +0
        return a * b + c if c == 0.0 else 0.0
    return math.copysign(round_exact(kind, exact), -1.0 if exact < 0 else 1.0)


def fmin(_: FloatType, __: FloatType, a: float, b: float) -> float:
    """IEEE minNum: a quiet NaN loses; of two zeros the negative one is taken."""
    if math.isnan(a):
        return b
    if math.isnan(b):
        return a
    if a == b:
        return a if math.copysign(1.0, a) < 0 else b
    return min(a, b)


def fmax(_: FloatType, __: FloatType, a: float, b: float) -> float:
    """IEEE maxNum: a quiet NaN loses; of two zeros the positive one is taken."""
    if math.isnan(a):
        return b
    if math.isnan(b):
        return a
    if a == b:
        return b if math.copysign(1.0, a) < 0 else a
    return max(a, b)


def fabs(_: FloatType, __: FloatType, a: float) -> float:
    return math.fabs(a)


def floor(_: FloatType, __: FloatType, a: float) -> float:
    return math.copysign(math.floor(a), a) if math.isfinite(a) else a


def ceil(_: FloatType, __: FloatType, a: float) -> float:
    return math.copysign(math.ceil(a), a) if math.isfinite(a) else a


def trunc_f(_: FloatType, __: FloatType, a: float) -> float:
    return math.copysign(math.trunc(a), a) if math.isfinite(a) else a


def roundeven(_: FloatType, __: FloatType, a: float) -> float:
    return math.copysign(round(a), a) if math.isfinite(a) else a


def round_half_away(_: FloatType, __: FloatType, a: float) -> float:
    if not math.isfinite(a):
        return a
    whole = abs(math.trunc(a))
    # x - trunc(x) is exact, adding 0.5 first is not (0.49999999999999994)
    return math.copysign(whole + (math.fabs(a) - whole >= 0.5), a)


def sqrt(kind: FloatType, _: FloatType, a: float) -> float:
    return ROUND[kind.name](math.sqrt(a)) if a >= 0.0 else math.nan


def copysign(_: FloatType, __: FloatType, a: float, b: float) -> float:
    return math.copysign(a, b)


# ---- casts ---------------------------------------------------------------------------------------------


def trunc(_: IntType, out: IntType, a: int) -> int:
    return a & ((1 << out.bits) - 1)


def zext(_: IntType, __: IntType, a: int) -> int:
    return a


def sext(kind: IntType, out: IntType, a: int) -> int:
    return wrap(out, signed(kind, a))


def fptrunc(_: FloatType, out: FloatType, a: float) -> float:
    return round_to(out, a)


def fpext(_: FloatType, __: FloatType, a: float) -> float:
    return a


def uitofp(_: IntType, out: FloatType, a: int) -> float:
    # up to 2**53 an int is a double exactly, so there is one rounding
    return ROUND[out.name](float(a)) if a <= 1 << 53 else round_exact(out, a)


def sitofp(kind: IntType, out: FloatType, a: int) -> float:
    value = signed(kind, a)
    return ROUND[out.name](float(value)) if abs(value) <= 1 << 53 else round_exact(out, value)


def fptosi(_: FloatType, out: IntType, a: float) -> int:
    if math.isnan(a):
        return 0
    top = (1 << (out.bits - 1)) - 1
    if math.isinf(a):
        return wrap(out, top if a > 0 else -top - 1)
    return wrap(out, max(-top - 1, min(top, math.trunc(a))))


def fptoui(_: FloatType, out: IntType, a: float) -> int:
    top = (1 << out.bits) - 1
    if math.isnan(a) or a <= 0.0:
        return 0
    return top if math.isinf(a) else min(top, math.trunc(a))
