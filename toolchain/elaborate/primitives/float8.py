"""The conversions between floats of one byte and float32.

Input: a format (`ir/small_floats.py`) and a value of the IR. Output: a value of the IR. The IR has no such floats: a
lane is an `i8`, and arithmetic is done in float32 and rounded. That rounds correctly: float32 has more than twice the
precision. A conversion is written out in operations on `i32` and `f32`, which every target and the interpreter have;
for a target with instructions of its own it is a call of the intrinsic, for two lanes at a time.
"""

from ktc.elaborate.primitives.use import Use
from ktc.ir import nodes, types
from ktc.ir.arithmetic import float_to_bits
from ktc.ir.small_floats import SmallFloat

_INFINITY, _NAN = 0x7F800000, 0x7FC00000
"""The bits of float32's."""


def _once(use: Use, value: nodes.Value) -> nodes.Value:
    return use.body.let(value, value.type) if isinstance(value, nodes.Op) else value


class _Words:
    """Writes operations on lanes of 32 bits; `let` names a value that is used more than once."""

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
        return _once(self._use, value)


def widened(use: Use, form: SmallFloat, value: nodes.Value, lanes: int) -> nodes.Value:
    """Return lanes of one byte as float32, which holds every one of them."""
    if form.pair and use.body.target.widen_float8:
        return _widened_pairs(use, form, value, lanes)
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

    Too large numbers and infinity become the largest number, or without `saturate` infinite or not a number.
    """
    if saturate and form.pair and use.body.target.narrow_float8:
        return _narrowed_pairs(use, form, value, lanes)
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


def _pairs(use: Use, name: str, args: tuple[nodes.Value, ...], kind: types.Type) -> nodes.Value:
    return use.body.let(nodes.CallIntrinsic(name, args, kind, True), kind)


def _at(use: Use, value: nodes.Value, lane: int) -> nodes.Value:
    return use.op("extract", (value, nodes.Const(types.I64, lane)))


def _widened_pairs(use: Use, form: SmallFloat, value: nodes.Value, lanes: int) -> nodes.Value:
    """The same by the target's instruction, which makes float16 of two."""
    name, half = use.body.target.widen_float8.format(form.pair), types.VectorType(types.F16, 2)
    if lanes == 1:
        both = _pairs(use, name, (use.op("zext", (value,), types.I16),), half)
        return use.op("fpext", (_at(use, both, 0),), types.F32)
    count = lanes // 2
    words = use.op("bitcast", (value,), types.VectorType(types.I16, count) if count > 1 else types.I16)
    words = _once(use, words)
    if count == 1:
        return use.op("fpext", (_pairs(use, name, (words,), half),), types.VectorType(types.F32, 2))
    made: nodes.Value = nodes.Const(types.VectorType(types.I32, count), (0,) * count)
    for at in range(count):
        both = use.op("bitcast", (_pairs(use, name, (_at(use, words, at),), half),), types.I32)
        made = use.op("insert", (made, both, nodes.Const(types.I64, at)))
    halves = use.op("bitcast", (made,), types.VectorType(types.F16, lanes))
    return use.op("fpext", (halves,), types.VectorType(types.F32, lanes))


def _narrowed_pairs(use: Use, form: SmallFloat, value: nodes.Value, lanes: int) -> nodes.Value:
    """The same by the target's instruction, which saturates; its first operand becomes the upper byte."""
    name = use.body.target.narrow_float8.format(form.pair)
    if lanes == 1:
        both = _pairs(use, name, (nodes.Const(types.F32, 0.0), value), types.I16)
        return use.op("trunc", (both,), types.I8)
    value, count = _once(use, value), lanes // 2
    pairs = [
        _pairs(use, name, (_at(use, value, 2 * at + 1), _at(use, value, 2 * at)), types.I16) for at in range(count)
    ]
    made = pairs[0]
    if count > 1:
        made = nodes.Const(types.VectorType(types.I16, count), (0,) * count)
        for at, pair in enumerate(pairs):
            made = use.op("insert", (made, pair, nodes.Const(types.I64, at)))
    return use.op("bitcast", (made,), types.VectorType(types.I8, lanes))


def widened_exponent(use: Use, value: nodes.Value, lanes: int) -> nodes.Value:
    """Return exponents of one byte as float32: powers of two, the least of them subnormal."""
    words = _Words(use, lanes)
    op = words.op
    byte = words.let(words.to("zext", value, words.word))
    bits = op("select", op("eq", byte, 0), 1 << 22, op("shl", byte, 23))
    return words.to("bitcast", op("select", op("eq", byte, 255), _NAN, bits), words.float)


def narrowed_exponent(use: Use, value: nodes.Value, lanes: int) -> nodes.Value:
    """Return the exponents of float32 lanes, whatever their sign, rounded up; what is not finite is not a number."""
    words = _Words(use, lanes)
    op = words.op
    size = words.let(op("and", words.to("bitcast", value, words.word), 0x7FFFFFFF))
    # A subnormal number's exponent is -127 up to 2**-127, the only power of two among them that has a byte.
    above = op("select", op("ult", size, 1 << 23), (1 << 23) - 1 - (1 << 22), (1 << 23) - 1)
    code = op("umin", op("lshr", op("add", size, above), 23), 254)
    return words.to("trunc", op("select", op("uge", size, _INFINITY), 255, code), words.byte)
