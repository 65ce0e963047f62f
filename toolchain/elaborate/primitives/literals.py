"""The primitives on literals: whole numbers of any size, exact rationals with infinities and NaN, and texts.

A float literal is a `Fraction`, or a `float` for what no fraction is: infinity, NaN and negative zero.
"""

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from ktc.diag.codes import Code
from ktc.elaborate.builder import ir_values
from ktc.elaborate.model.types import PrimTy
from ktc.elaborate.model.values import Result, RValue
from ktc.elaborate.primitives.arithmetic import PREDICATES
from ktc.elaborate.primitives.use import Use, comptime_str
from ktc.elaborate.types import primitive_types, type_printer
from ktc.elaborate.types.primitive_types import STRING, constant_of
from ktc.ir import nodes, types
from ktc.ir.arithmetic import round_exact
from ktc.ir.small_floats import EXPONENT, FORMATS, encode, encode_exponent

Handler = Callable[[Use], Result]

Real = Fraction | float

MAX_BITS = 1 << 16
"""How long an exact number may become."""
_MOST_DIGITS = 40
"""Longer numbers are shortened in diagnostics."""


_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {pred: getattr(operator, pred) for pred in PREDICATES}
)


def _literal(use: Use, at: int, name: str) -> int | float | Fraction:
    try:
        ty, data = constant_of(use.elab, use.args[at])
    except ValueError as error:
        use.fail(Code.NON_CONSTANT_VALUE, f"primitive operation '{use.name}': {error}")
    if not isinstance(ty, PrimTy) or ty.name != name:
        use.mismatch(f"operand {at + 1} is not a '{name}'")
    assert isinstance(data, (int, float, Fraction))
    return data


def _integer(use: Use, at: int) -> int:
    return int(_literal(use, at, "!kgen.int_literal"))


_INTEGER_BINARY: Mapping[str, Callable[[int, int], int]] = MappingProxyType(
    {
        "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
        "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift,
        "&": operator.and_, "|": operator.or_, "^": operator.xor,
    }
)  # fmt: skip


def _integer_binary(use: Use) -> Result:
    how = use.one_of("op", tuple(_INTEGER_BINARY))
    a, b = _integer(use, 0), _integer(use, 1)
    if b == 0 and how in ("//", "%"):
        return use.literal(0)  # as at run time
    if b < 0 and how in ("<<", ">>"):
        return use.literal(0)  # as the reference has it
    if b < 0 and how == "**":
        use.fail(Code.COMPILE_TIME_EVALUATION_FAILED, "a whole literal is raised to a negative power")
    bits = {"<<": a.bit_length() + b if a else 0, "**": a.bit_length() * b if abs(a) > 1 else 0}.get(how, 0)
    if bits > MAX_BITS:
        use.fail(Code.COMPILE_TIME_EVALUATION_LIMIT, f"a literal would have more than {MAX_BITS} bits")
    return use.literal(_INTEGER_BINARY[how](a, b))


def _integer_compare(use: Use) -> Result:
    return use.truth(_COMPARE[use.one_of("pred", PREDICATES)](_integer(use, 0), _integer(use, 1)))


def _integer_unary(use: Use) -> Result:
    how, value = use.one_of("op", ("-", "~")), _integer(use, 0)
    return use.literal(-value if how == "-" else ~value)


def _integer_to(use: Use) -> Result:
    value = _integer(use, 0)
    _, prim = use.prim_of()
    if prim.name == "uindex" and value < 0:
        use.fail(Code.TYPE_MISMATCH, f"the literal {_shown(value)} is negative, and the type is unsigned")
    if prim.name in ("index", "uindex") and not -(1 << 63) <= value < 1 << (63 + (prim.name == "uindex")):
        use.fail(Code.TYPE_MISMATCH, f"the literal {_shown(value)} does not fit into 64 bits")
    return _constant(use, value)


def _shown(value: int) -> str:
    """Return a number for a diagnostic, without the middle digits of a long one."""
    digits = str(abs(value))
    if len(digits) <= _MOST_DIGITS:
        return str(value)
    return f"{'-' * (value < 0)}{digits[:10]}...{digits[-10:]} ({len(digits)} digits)"


def _integer_to_float(use: Use) -> Result:
    return use.literal(Fraction(_integer(use, 0)))


def _constant(use: Use, value: "int | Real") -> RValue:
    """Return a number as a constant of the type that attribute `_type` names; in all lanes if it is a vector."""
    ty, prim = use.prim_of()
    ir = prim.ir
    element = ir.element if isinstance(ir, types.VectorType) else ir
    plain: int | float
    if isinstance(element, types.FloatType):
        plain = value if isinstance(value, float) else round_exact(element, value)
    elif prim.kind == "b":
        plain = int(value != 0)
    elif prim.kind in FORMATS:
        plain = encode(FORMATS[prim.kind], value)
    elif prim.kind == EXPONENT:
        plain = encode_exponent(value)
    elif isinstance(element, types.IntType) and (prim.kind in ("s", "u") or not value):
        plain = (math.trunc(value) if _is_finite(value) else 0) & (1 << element.bits) - 1
    else:
        use.check_numbers(prim)
        use.mismatch(f"a number cannot become a '{type_printer.type_name(use.elab, ty)}'")
    assert ir is not None
    return RValue(ty, nodes.Const(ir, (plain,) * prim.lanes if isinstance(ir, types.VectorType) else plain))


def _real(use: Use, at: int) -> Real:
    return normalized(_literal(use, at, "!kgen.float_literal"))


def normalized(value: "int | Real") -> Real:
    """Return a number as a `Fraction`, or as a `float` if no fraction is equal to it."""
    if isinstance(value, float):
        special = not math.isfinite(value) or (value == 0.0 and math.copysign(1.0, value) < 0)
        return value if special else Fraction(value)
    return Fraction(value)


def _is_finite(value: "int | Real") -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _sign(value: Real) -> float:
    """Return a float of the same sign and class: zero, finite, infinite or NaN."""
    if isinstance(value, float):
        return value
    return float((value > 0) - (value < 0))


def _finite(value: Real) -> bool:
    return not isinstance(value, float) or value == 0.0


def _add(a: Real, b: Real) -> Real:
    if _finite(a) and _finite(b) and (total := Fraction(a) + Fraction(b)):
        return total
    return normalized(_sign(a) + _sign(b))


def _negate(a: Real) -> Real:
    return -a if isinstance(a, Fraction) and a else normalized(-_sign(a))


def _multiply(a: Real, b: Real) -> Real:
    if _finite(a) and _finite(b) and (product := Fraction(a) * Fraction(b)):
        return product
    return normalized(_sign(a) * _sign(b))


def _divide(a: Real, b: Real) -> Real:
    if b == 0:
        return math.nan  # as the reference has it, whatever is divided
    if _finite(a) and _finite(b) and a:
        return Fraction(a) / Fraction(b)
    return normalized(_sign(a) / _sign(b))


def _floor_divide(a: Real, b: Real) -> Real:
    quotient = _divide(a, b)
    if isinstance(quotient, Fraction):
        return Fraction(math.floor(quotient))
    # a negative number over infinity is just below zero
    return Fraction(-1) if quotient == 0 and a else quotient


def _remainder(a: Real, b: Real) -> Real:
    if b == 0 or not _finite(a) or b != b:  # noqa: PLR0124 - NaN
        return math.nan
    if a == 0:
        return a
    if not _finite(b):
        return a if (a > 0) == (b > 0) else b
    return Fraction(a) % Fraction(b)


def _power(a: Real, b: Real) -> Real:
    if isinstance(b, Fraction) and b.denominator == 1 and isinstance(a, Fraction) and (a or b >= 0):
        digits = max(a.numerator.bit_length(), a.denominator.bit_length())
        if digits <= 1 or digits * abs(b) <= MAX_BITS:
            return a**b.numerator
    try:
        return normalized(math.pow(_to_float(a), _to_float(b)))
    except OverflowError:
        odd = isinstance(b, Fraction) and b.denominator == 1 and b.numerator % 2 == 1
        return -math.inf if a < 0 and odd else math.inf
    except ValueError:
        # zero to a negative power, or a root of a negative number
        if a != 0:
            return math.nan
        odd = isinstance(b, Fraction) and b.denominator == 1 and b.numerator % 2 == 1
        return math.copysign(math.inf, _sign(a)) if odd else math.inf


def _to_float(value: Real) -> float:
    return value if isinstance(value, float) else round_exact(types.F64, value)


_REAL_BINARY: Mapping[str, Callable[[Real, Real], Real]] = MappingProxyType(
    {
        "+": _add,
        "-": lambda a, b: _add(a, _negate(b)),
        "*": _multiply,
        "/": _divide,
        "//": _floor_divide,
        "%": _remainder,
        "**": _power,
    }
)


def _real_binary(use: Use) -> Result:
    how = use.one_of("op", tuple(_REAL_BINARY))
    value = _REAL_BINARY[how](_real(use, 0), _real(use, 1))
    if isinstance(value, Fraction) and value.numerator.bit_length() + value.denominator.bit_length() > 2 * MAX_BITS:
        use.fail(Code.COMPILE_TIME_EVALUATION_LIMIT, f"a literal would have more than {MAX_BITS} bits")
    return use.literal(value)


def _real_compare(use: Use) -> Result:
    return use.truth(_COMPARE[use.one_of("pred", PREDICATES)](_real(use, 0), _real(use, 1)))


def _real_unary(use: Use) -> Result:
    use.one_of("op", ("-",))
    return use.literal(_negate(_real(use, 0)))


def _real_to(use: Use) -> Result:
    prim = use.prim_of()[1]
    if prim.kind in ("s", "u", "b"):
        text = "a literal with a decimal point is not converted to an integer implicitly: remove the decimal point"
        use.fail(Code.UNSATISFIED_CONSTRAINT, f"{text}, or convert a 'Float64'")
    return _constant(use, _real(use, 0))


def _real_to_int(use: Use) -> Result:
    value = _real(use, 0)
    if not _is_finite(value):
        use.fail(Code.COMPILE_TIME_EVALUATION_FAILED, f"{value} is not an integer")
    return use.literal(math.trunc(value))


def _text(use: Use, at: int) -> str:
    try:
        return comptime_str(use.body, use.args[at])
    except ValueError as error:
        use.fail(Code.NON_CONSTANT_VALUE, f"primitive operation '{use.name}': {error}")


def _string_concat(use: Use) -> Result:
    return use.string(_text(use, 0) + _text(use, 1))


def _string_compare(use: Use) -> Result:
    # by code points, which is the order of the bytes of UTF-8
    return use.truth(_COMPARE[use.one_of("pred", PREDICATES)](_text(use, 0), _text(use, 1)))


def _string_part(use: Use) -> Result:
    """The address or the length; of a value at run time too."""
    data = use.name == "kgen.string.data"
    value: nodes.Value
    try:
        _, plain = constant_of(use.elab, use.args[0])
    except ValueError:
        plain = None
    if isinstance(plain, str):
        value = ir_values.string_global(use.body, plain)
    else:
        value = ir_values.rvalue(use.body, use.val(0))
        if value.type != STRING:
            use.mismatch("operand 1 is not a '!kgen.string'")
    part = use.op("get", (value,), None, 0 if data else 1)
    return use.address(part) if data else RValue(primitive_types.prim(use.elab, "index", ()), part)


# operation -> (what does it, number of operands, attributes)
LITERALS: Mapping[str, tuple[Handler, int, tuple[str, ...]]] = MappingProxyType(
    {
        "kgen.int_literal.binary": (_integer_binary, 2, ("op",)),
        "kgen.int_literal.compare": (_integer_compare, 2, ("pred",)),
        "kgen.int_literal.unary": (_integer_unary, 1, ("op",)),
        "kgen.int_literal.to": (_integer_to, 1, ("_type",)),
        "kgen.int_literal.to_float": (_integer_to_float, 1, ()),
        "kgen.float_literal.binary": (_real_binary, 2, ("op",)),
        "kgen.float_literal.compare": (_real_compare, 2, ("pred",)),
        "kgen.float_literal.unary": (_real_unary, 1, ("op",)),
        "kgen.float_literal.to": (_real_to, 1, ("_type",)),
        "kgen.float_literal.to_int": (_real_to_int, 1, ()),
        "kgen.string.concat": (_string_concat, 2, ()),
        "kgen.string.compare": (_string_compare, 2, ("pred",)),
        "kgen.string.data": (_string_part, 1, ()),
        "kgen.string.size": (_string_part, 1, ()),
    }
)
