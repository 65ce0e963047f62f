"""Floats of one byte: the numbers of their bits. The IR has no such type; a lane is an `i8`.

Input: a format and an exact number, or bits. Output: bits, or the number.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from ktc.base.records import record
from ktc.ir.arithmetic import round_digits


@record
class SmallFloat:
    """How one byte is a float.

    Args:
        fraction: the number of bits of the fraction.
        bias: the number added to exponents.
        most: the bits of the largest number.
        nan: the bits of what is not a number.
        infinity: the bits of infinity; those of `nan` where there is none.
        pair: the name of two of them in one register; empty if no target has instructions for them.
    """

    fraction: int
    bias: int
    most: int
    nan: int
    infinity: int
    pair: str = ""

    @property
    def least(self) -> int:
        """The exponent of the smallest number above 0."""
        return 1 - self.bias - self.fraction

    @property
    def has_minus_zero(self) -> bool:
        """Whether the code of -0.0 does not mean a NaN."""
        return self.nan != 0x80


FORMATS: Mapping[str, SmallFloat] = MappingProxyType(
    {
        "e4m3fn": SmallFloat(3, 7, 0x7E, 0x7F, 0x7F, "e4m3x2"),
        "e5m2": SmallFloat(2, 15, 0x7B, 0x7F, 0x7C, "e5m2x2"),
        "e4m3fnuz": SmallFloat(3, 8, 0x7F, 0x80, 0x80),
        "e5m2fnuz": SmallFloat(2, 16, 0x7F, 0x80, 0x80),
    }
)
"""Kind of a primitive type -> its format."""

EXPONENT = "e8m0fnu"
"""The kind whose byte is an exponent, without a sign: the bits `b` are 2**(b - 127), and 255 is not a number."""


def encode(form: SmallFloat, value: Fraction | int | float, saturate: bool = False) -> int:
    """Return the bits nearest to an exact number.

    A number that is too large becomes infinite, or not a number; with `saturate`, the largest number.
    """
    if isinstance(value, float) and math.isnan(value):
        return form.nan
    sign = 0x80 if math.copysign(1.0, value if isinstance(value, float) else (value > 0) - (value < 0)) < 0 else 0
    beyond = form.most if saturate else form.infinity
    if isinstance(value, float) and math.isinf(value):
        return beyond | sign
    digits, quantum = round_digits(abs(Fraction(value)), form.fraction + 1, form.least)
    bits = ((quantum - form.least) << form.fraction) + digits
    if not bits and not form.has_minus_zero:
        return 0
    return (bits if bits <= form.most else beyond) | sign


def decode(form: SmallFloat, bits: int) -> float:
    """Return the number that a byte stands for."""
    size, sign = bits & 0x7F, -1.0 if bits & 0x80 else 1.0
    if not form.has_minus_zero:
        if bits == form.nan:
            return math.nan
    elif size > form.most:
        return sign * math.inf if size == form.infinity != form.nan else math.nan
    exponent, digits = size >> form.fraction, size & ((1 << form.fraction) - 1)
    if exponent:
        digits |= 1 << form.fraction
    return sign * math.ldexp(digits, form.least + max(exponent - 1, 0))


def encode_exponent(value: Fraction | int | float) -> int:
    """Return the exponent of the least power of two that is not below a number's size; infinity is not a number."""
    if isinstance(value, float) and not math.isfinite(value):
        return 255
    size = abs(Fraction(value))
    if not size:
        return 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    while Fraction(2) ** exponent < size:
        exponent += 1
    while Fraction(2) ** (exponent - 1) >= size:
        exponent -= 1
    return min(max(exponent + 127, 0), 254)
