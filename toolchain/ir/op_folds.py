"""Folds of `ops.build` for operands that are not all constant: neutral elements, casts of casts, parts of a whole.

Input: operands, result type, attribute. Output: the simpler value, or None. Only what is exact: no float identity that
loses a signed zero. The aim is to hand LLVM few instructions, not to optimise.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ktc.ir.nodes import Const, Op, Plain, Value
from ktc.ir.op_rules import element_of
from ktc.ir.types import BOOL, IntType, Type, VectorType

Simplifier = Callable[[tuple[Value, ...], Type, Any], "Value | None"]


def _splat_of(value: Value) -> Plain | None:
    """Return the scalar that a constant is, or has in all lanes; None for all else."""
    if value.__class__ is not Const:
        return None
    plain = value.value
    if plain.__class__ is tuple:
        first = plain[0] if plain else None
        return first if all(lane == first for lane in plain) else None
    return plain


def _ones(kind: Type) -> int:
    element = element_of(kind)
    assert isinstance(element, IntType)
    return (1 << element.bits) - 1


def _neutral(right: int, left: int | None = None, absorbing: int | None = None) -> Simplifier:
    """x op right -> x, left op x -> x, and either side absorbing -> that constant."""

    def simplify(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
        a, b = args
        if b.__class__ is Const:
            plain = _splat_of(b)
            if plain == right:
                return a
            return b if absorbing is not None and plain == absorbing else None
        if a.__class__ is Const:
            plain = _splat_of(a)
            if left is not None and plain == left:
                return b
            return a if absorbing is not None and plain == absorbing else None
        return None

    return simplify


def _all_lanes(value: Value, text: str) -> bool:
    plain = value.value  # type: ignore[union-attr]
    return all(repr(lane) == text for lane in plain) if plain.__class__ is tuple else repr(plain) == text


def _float_neutral(right: str, left: str = "") -> Simplifier:
    """As `_neutral`; floats by their text, since -0.0 == 0.0."""

    def simplify(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
        a, b = args
        if b.__class__ is Const:
            return a if _all_lanes(b, right) else None
        if left and a.__class__ is Const and _all_lanes(a, left):
            return b
        return None

    return simplify


def _and(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
    for one, other in (args, args[::-1]):
        if one.__class__ is Const:
            plain = _splat_of(one)
            if plain == 0:
                return one
            if plain == _ones(type):
                return other
    return None


def _or(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
    for one, other in (args, args[::-1]):
        if one.__class__ is Const:
            plain = _splat_of(one)
            if plain == 0:
                return other
            if plain == _ones(type):
                return one
    return None


_INVERSES: Mapping[str, str] = MappingProxyType(
    {"eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle", "ult": "uge", "uge": "ult",
     "ule": "ugt", "ugt": "ule", "foeq": "fune", "fune": "foeq"}
)  # fmt: skip


def _not(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
    a = args[0]
    if not isinstance(a, Op):
        return None
    if a.name == "not":
        return a.args[0]
    inverse = _INVERSES.get(a.name)
    return Op(inverse, a.args, a.type) if inverse else None


def _twice(name: str) -> Simplifier:
    def simplify(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
        a = args[0]
        return a.args[0] if isinstance(a, Op) and a.name == name else None

    return simplify


def _xor(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
    for one, other in (args, args[::-1]):
        if one.__class__ is Const:
            plain = _splat_of(one)
            if plain == 0:
                return other
            if plain == _ones(type):
                return _not((other,), type, None) or Op("not", (other,), type)
    return None


def _bool_test(expected: int) -> Simplifier:
    """Comparison of an i1 with a constant: itself or its inverse."""

    def simplify(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
        for one, other in (args, args[::-1]):
            if one.__class__ is Const and one.type == BOOL:
                if one.value == expected:
                    return other
                return _not((other,), BOOL, None) or Op("not", (other,), BOOL)
        return None

    return simplify


def _same_type(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
    return args[0] if args[0].type == type else None


def _inverse_cast(*names: str) -> Simplifier:
    """A cast to its own type, and a cast back to where the value comes from."""

    def simplify(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
        a = args[0]
        if a.type == type:
            return a
        if isinstance(a, Op) and a.name in names and a.args[0].type == type:
            return a.args[0]
        return None

    return simplify


def _widen(name: str) -> Simplifier:
    """A widening of the same widening is one; a sext of a zext is a zext."""

    def simplify(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
        a = args[0]
        if a.type == type:
            return a
        if isinstance(a, Op) and (a.name == name or (name == "sext" and a.name == "zext")):
            return Op(a.name, a.args, type)
        return None

    return simplify


def _int_to_pointer(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
    a = args[0]
    # a narrower integer has lost bits of the address
    if isinstance(a, Op) and a.name == "ptrtoint" and a.args[0].type == type and a.type == IntType(64):
        return a.args[0]
    return None


def _pointer_to_int(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
    a = args[0]
    return a.args[0] if isinstance(a, Op) and a.name == "inttoptr" and a.args[0].type == type == IntType(64) else None


def _bswap(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
    # LLVM has no llvm.bswap of one byte
    return args[0] if element_of(type) == IntType(8) else None


def _select(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
    mask, yes, no = args
    if mask.__class__ is Const and mask.value.__class__ is int:
        return yes if mask.value else no
    if yes is no:
        return yes
    if type == BOOL and yes.__class__ is Const and no.__class__ is Const:
        if yes.value == no.value:
            return yes
        return mask if yes.value else _not((mask,), BOOL, None) or Op("not", (mask,), BOOL)
    return None


def _one_lane(at: int) -> Simplifier:
    """A 'vector' of one lane is its scalar."""

    def simplify(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
        return None if args[0].type.__class__ is VectorType else args[at]

    return simplify


def _splat(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
    return None if type.__class__ is VectorType else args[0]


def _extract(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
    vector, index = args
    if vector.type.__class__ is not VectorType:
        return vector
    while vector.__class__ is Op:
        if vector.name == "splat":
            return vector.args[0]
        if vector.name != "insert" or index.__class__ is not Const:
            return None
        inner, lane, at = vector.args
        if at.__class__ is not Const:
            return None
        if at.value == index.value:
            return lane
        vector = inner
    if vector.__class__ is Const and index.__class__ is Const and index.value < vector.type.lanes:  # type: ignore
        return Const(type, vector.value[index.value])  # type: ignore
    return None


def _shuffle(args: tuple[Value, ...], type: Type, attr: Any) -> Value | None:
    kind = args[0].type
    lanes = kind.lanes if isinstance(kind, VectorType) else 1
    if kind == type and attr == tuple(range(lanes)):
        return args[0]
    if kind == type and attr == tuple(range(lanes, 2 * lanes)):
        return args[1]
    if lanes > 1:
        if isinstance(type, VectorType):
            return None
        return _lane(args, attr[0], lanes, type)
    if len(attr) == 1:
        only: Value = args[attr[0]]
        return only
    assert isinstance(type, VectorType)
    if len(set(attr)) == 1:
        return Op("splat", (args[attr[0]],), type)
    value: Value = Op("splat", (args[attr[0]],), type)
    for at, lane in enumerate(attr):
        if lane != attr[0]:
            value = Op("insert", (value, args[lane], Const(IntType(32), at)), type)
    return value


def _lane(args: tuple[Value, ...], lane: int, lanes: int, type: Type) -> Value:
    """Lane `lane` of two vectors laid end to end."""
    extracted = (args[lane // lanes], Const(IntType(32), lane % lanes))
    return _extract(extracted, type, None) or Op("extract", extracted, type)


def _get(args: tuple[Value, ...], type: Type, attr: Any) -> Value | None:
    whole = args[0]
    while whole.__class__ is Op:
        if whole.name == "make":
            part: Value = whole.args[attr]
            return part
        if whole.name != "set":
            return None
        if whole.attr == attr:
            return whole.args[1]
        whole = whole.args[0]
    return Const(type, whole.value[attr]) if whole.__class__ is Const else None  # type: ignore


def _set(args: tuple[Value, ...], type: Type, attr: Any) -> Value | None:
    whole, part = args
    if isinstance(whole, Op) and whole.name == "make":
        return Op("make", (*whole.args[:attr], part, *whole.args[attr + 1 :]), type)
    return None


def _field(args: tuple[Value, ...], type: Type, attr: Any) -> Value | None:
    return args[0] if attr[0].offsets[attr[1]] == 0 else None


def _offset(args: tuple[Value, ...], type: Type, attr: object) -> Value | None:
    index = args[1]
    return args[0] if index.__class__ is Const and index.value == 0 else None


_REDUCTIONS = ("add", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax", "fadd", "fmul", "fmin", "fmax")

SIMPLIFIERS: Mapping[str, Simplifier] = MappingProxyType(
    {
        "add": _neutral(0, 0),
        "sub": _neutral(0),
        "mul": _neutral(1, 1, 0),
        "sdiv": _neutral(1),
        "udiv": _neutral(1),
        "shl": _neutral(0),
        "lshr": _neutral(0),
        "ashr": _neutral(0),
        "and": _and,
        "or": _or,
        "xor": _xor,
        "not": _not,
        "neg": _twice("neg"),
        "fneg": _twice("fneg"),
        "fadd": _float_neutral("-0.0", "-0.0"),
        "fsub": _float_neutral("0.0"),
        "fmul": _float_neutral("1.0", "1.0"),
        "fdiv": _float_neutral("1.0"),
        "eq": _bool_test(1),
        "ne": _bool_test(0),
        "trunc": _inverse_cast("zext", "sext"),
        "zext": _widen("zext"),
        "sext": _widen("sext"),
        "fptrunc": _inverse_cast("fpext"),
        "fpext": _widen("fpext"),
        "bitcast": _inverse_cast("bitcast"),
        "ptrtoint": _pointer_to_int,
        "inttoptr": _int_to_pointer,
        "spacecast": _same_type,
        "bswap": _bswap,
        "select": _select,
        "splat": _splat,
        "extract": _extract,
        "insert": _one_lane(1),
        "shuffle": _shuffle,
        **{f"reduce_{name}": _one_lane(0) for name in _REDUCTIONS},
        "get": _get,
        "set": _set,
        "field": _field,
        "offset": _offset,
    }
)
