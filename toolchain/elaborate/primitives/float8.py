"""Floats of one byte: what their bits mean, and the conversions between them and float32.

Input: the kind of a primitive type (`FORMATS`) and a value of the IR, or an exact number. Output: a value of the IR, or
bits. The IR has no such floats: a lane is an `i8`, a conversion is written out in operations on `i32` and `f32`, which
every target and the interpreter have, and arithmetic is done in float32 and rounded. That rounds correctly: float32 has
more than twice the precision.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from ktc.base.records import record
from ktc.elaborate.primitives.use import Use
from ktc.ir import nodes, types
from ktc.ir.arithmetic import float_to_bits, round_digits

_INFINITY, _NAN = 0x7F800000, 0x7FC00000
"""The bits of float32's."""


@record
class SmallFloat:
    """How one byte is a float.

    Args:
        fraction: the number of bits of the fraction.
        bias: what is added to exponents.
        most: the bits of the largest number.
        nan: the bits of what is not a number.
        infinity: the bits of infinity; those of `nan` where there is none.
    """

    fraction: int
    bias: int
    most: int
    nan: int
    infinity: int

    @property
    def least(self) -> int:
        """The exponent of the smallest number above 0."""
        return 1 - self.bias - self.fraction

    @property
    def has_minus_zero(self) -> bool:
        """Whether -0.0 is not taken by what is not a number."""
        return self.nan != 0x80


FORMATS: Mapping[str, SmallFloat] = MappingProxyType(
    {
        "e4m3fn": SmallFloat(3, 7, 0x7E, 0x7F, 0x7F),
        "e5m2": SmallFloat(2, 15, 0x7B, 0x7F, 0x7C),
        "e4m3fnuz": SmallFloat(3, 8, 0x7F, 0x80, 0x80),
        "e5m2fnuz": SmallFloat(2, 16, 0x7F, 0x80, 0x80),
    }
)
"""Kind of a primitive type -> its format."""


def encode(form: SmallFloat, value: Fraction | int | float) -> int:
    """Return the bits nearest to an exact number; what is too large becomes infinite, or not a number."""
    if isinstance(value, float) and math.isnan(value):
        return form.nan
    sign = 0x80 if math.copysign(1.0, value if isinstance(value, float) else (value > 0) - (value < 0)) < 0 else 0
    if isinstance(value, float) and math.isinf(value):
        return form.infinity | sign
    digits, quantum = round_digits(abs(Fraction(value)), form.fraction + 1, form.least)
    bits = ((quantum - form.least) << form.fraction) + digits
    if not bits and not form.has_minus_zero:
        return 0
    return (bits if bits <= form.most else form.infinity) | sign


class _Words:
    """Writes operations on lanes of 32 bits; `let` is for what is used more than once."""

    def __init__(self, use: Use, lanes: int) -> None:
        self._use = use
        self._lanes = lanes
        self.word, self.float, self.byte = self._of(types.I32), self._of(types.F32), self._of(types.I8)

    def _of(self, element: "types.IntType | types.FloatType") -> types.Type:
        return types.VectorType(element, self._lanes) if self._lanes > 1 else element

    def _same(self, kind: types.Type, value: int | float) -> nodes.Const:
        return nodes.Const(kind, (value,) * self._lanes if self._lanes > 1 else value)

    def op(self, name: str, *args: nodes.Value | int | float) -> nodes.Value:
        """An operation; numbers stand for constants in all lanes."""
        values = [
            self._same(self.float if isinstance(arg, float) else self.word, arg)
            if isinstance(arg, int | float)
            else arg
            for arg in args
        ]
        return self._use.op(name, values)

    def to(self, name: str, value: nodes.Value, kind: types.Type) -> nodes.Value:
        """A conversion."""
        return self._use.op(name, (value,), kind)

    def let(self, value: nodes.Value) -> nodes.Value:
        """A value that is computed once."""
        return self._use.body.let(value, value.type) if isinstance(value, nodes.Op) else value


def widened(use: Use, form: SmallFloat, value: nodes.Value, lanes: int) -> nodes.Value:
    """Return lanes of one byte as float32, which holds every one of them."""
    words = _Words(use, lanes)
    op, shift = words.op, 23 - form.fraction
    byte = words.let(words.to("zext", value, words.word))
    size = words.let(op("and", byte, 0x7F))
    sign = op("shl", op("and", byte, 0x80), 24)
    normal = op("add", op("shl", size, shift), (127 - form.bias) << 23)
    tiny = op("fmul", words.to("uitofp", size, words.float), 2.0**form.least)
    bits = op("select", op("ult", size, 1 << form.fraction), words.to("bitcast", tiny, words.word), normal)
    if not form.has_minus_zero:
        bits = op("select", op("eq", byte, form.nan), _NAN, op("or", bits, sign))
        return words.to("bitcast", bits, words.float)
    last = form.most
    if form.infinity != form.nan:
        last = form.infinity
        bits = op("select", op("eq", size, last), _INFINITY, bits)
    bits = op("select", op("ugt", size, last), _NAN, bits)
    return words.to("bitcast", op("or", bits, sign), words.float)


def narrowed(use: Use, form: SmallFloat, value: nodes.Value, lanes: int, saturate: bool) -> nodes.Value:
    """Return float32 lanes rounded to one byte, to nearest even.

    What is too large, infinity too, becomes the largest number, or without `saturate` infinite or not a number.
    """
    words = _Words(use, lanes)
    op, shift = words.op, 23 - form.fraction
    bits = words.let(words.to("bitcast", value, words.word))
    size = words.let(op("and", bits, 0x7FFFFFFF))
    sign = op("and", op("lshr", bits, 24), 0x80)
    odd = op("and", op("lshr", size, shift), 1)
    rounded = op("lshr", op("add", size, op("add", odd, (1 << (shift - 1)) - 1)), shift)
    normal = op("sub", rounded, (127 - form.bias) << form.fraction)
    # The sum's last bit is worth the smallest number, so adding rounds to its multiples.
    unit = 2.0 ** (form.least + 23)
    total = words.to("bitcast", op("fadd", words.to("bitcast", size, words.float), unit), words.word)
    tiny = op("sub", total, float_to_bits(types.F32, unit))
    code = words.let(op("select", op("ult", size, (128 - form.bias) << 23), tiny, normal))
    if saturate:
        code = op("umin", code, form.most)
    else:
        code = op("select", op("ugt", code, form.most), form.infinity, code)
    code = words.let(code)
    result = op("or", code, sign)
    if not form.has_minus_zero:
        result = op("select", op("eq", code, 0), 0, result)
    return words.to("trunc", op("select", op("ugt", size, _INFINITY), form.nan, result), words.byte)
