"""Evaluation of the operations that are not element-wise.

Input: operand types, plain values, the result's type and the attribute. Output: a plain value, or None where only the
linker knows it (the bits of an address).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ktc.ir import arithmetic as ints
from ktc.ir import float_arithmetic as floats
from ktc.ir.nodes import Address, ImageSize, Plain
from ktc.ir.op_rules import element_of
from ktc.ir.types import FloatType, IntType, Type, VectorType, size_of

Values = tuple[Any, ...]
"""Plain values of operands; the operation's row says which kinds they have."""

Evaluator = Callable[[tuple[Type, ...], Values, Type, Any], "Plain | None"]

_ADDRESS_MASK = (1 << 64) - 1


def compare_addresses(name: str, values: tuple[Plain, ...]) -> int | None:
    """Compare pointers of which at least one is an address constant: known within one global, and against null."""
    a, b = values
    if isinstance(a, Address) and isinstance(b, Address):
        if a.name != b.name:
            return None
        x, y = a.offset, b.offset
    elif name in ("eq", "ne") and (a == 0 or b == 0):
        return int(name == "ne")
    else:
        return None
    match name:
        case "eq":
            return int(x == y)
        case "ne":
            return int(x != y)
        case "ult":
            return int(x < y)
        case "ule":
            return int(x <= y)
        case "ugt":
            return int(x > y)
        case "uge":
            return int(x >= y)
        case _:
            return None


def to_bits(kind: Type, value: Any) -> int:
    """Return the bits of a number or a vector of numbers, lane 0 lowest."""
    if isinstance(kind, VectorType):
        element, bits, at = kind.element, 0, 0
        for lane in value:
            bits |= to_bits(element, lane) << at
            at += element.bits
        return bits
    if isinstance(kind, FloatType):
        return ints.float_to_bits(kind, value)
    return int(value)


def from_bits(kind: Type, bits: int) -> Plain:
    """Return the number or vector with these bits."""
    if isinstance(kind, VectorType):
        element = kind.element
        width = element.bits
        mask = (1 << width) - 1
        return tuple(from_bits(element, bits >> at & mask) for at in range(0, width * kind.lanes, width))
    if isinstance(kind, FloatType):
        return ints.float_from_bits(kind, bits)
    return bits


def has_symbol(value: object) -> bool:
    """Return whether a plain value contains an address or an image size, which only the linker knows."""
    if isinstance(value, tuple):
        return any(map(has_symbol, value))
    return isinstance(value, Address | ImageSize)


def _bitcast(types: tuple[Type, ...], values: Values, result: Type, attr: object) -> Plain | None:
    if types[0] == result:
        return values[0]  # type: ignore[no-any-return]
    return None if has_symbol(values[0]) else from_bits(result, to_bits(types[0], values[0]))


def _pointer_to_int(types: tuple[Type, ...], values: Values, result: Type, attr: object) -> Plain | None:
    value = values[0]
    return value & ((1 << result.bits) - 1) if isinstance(value, int) and isinstance(result, IntType) else None


def _int_to_pointer(types: tuple[Type, ...], values: Values, result: Type, attr: object) -> Plain | None:
    return values[0] & _ADDRESS_MASK if isinstance(values[0], int) else None


def _space_cast(types: tuple[Type, ...], values: Values, result: Type, attr: object) -> Plain | None:
    # what null or a global's address becomes in another space is the target's business
    return values[0] if types[0] == result else None


def _select(types: tuple[Type, ...], values: Values, result: Type, attr: object) -> Plain | None:
    mask, yes, no = values
    if isinstance(mask, tuple):
        return tuple(y if m else n for m, y, n in zip(mask, yes, no, strict=True))
    return (yes if mask else no) if isinstance(mask, int) else None


def _splat(types: tuple[Type, ...], values: Values, result: Type, attr: object) -> Plain | None:
    return (values[0],) * result.lanes if isinstance(result, VectorType) else values[0]


def _zero(kind: Type) -> Plain:
    return 0.0 if isinstance(kind, FloatType) else 0


def _extract(types: tuple[Type, ...], values: Values, result: Type, attr: object) -> Plain | None:
    lanes, at = values
    if not isinstance(lanes, tuple):
        return lanes  # type: ignore[no-any-return]
    return lanes[at] if at < len(lanes) else _zero(result)


def _insert(types: tuple[Type, ...], values: Values, result: Type, attr: object) -> Plain | None:
    lanes, lane, at = values
    if not isinstance(lanes, tuple):
        return lane  # type: ignore[no-any-return]
    return (*lanes[:at], lane, *lanes[at + 1 :]) if at < len(lanes) else (_zero(types[1]),) * len(lanes)


def _shuffle(types: tuple[Type, ...], values: Values, result: Type, attr: Any) -> Plain | None:
    lanes = tuple(lane for value in values for lane in (value if isinstance(value, tuple) else (value,)))
    picked = tuple(lanes[at] for at in attr)
    return picked if isinstance(result, VectorType) else picked[0]


def _reduce(step: Callable[..., Plain]) -> Evaluator:
    """In halves: v[0:n/2] op v[n/2:n] until one lane is left."""

    def run(types: tuple[Type, ...], values: Values, result: Type, attr: object) -> Plain | None:
        lanes = values[0]
        if not isinstance(lanes, tuple):
            return lanes  # type: ignore[no-any-return]
        if has_symbol(lanes):
            return None
        kind = element_of(types[0])
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = tuple(step(kind, kind, lanes[at], lanes[at + half]) for at in range(half))
        return lanes[0]  # type: ignore[no-any-return]

    return run


def _make(types: tuple[Type, ...], values: Values, result: Type, attr: object) -> Plain | None:
    return values


def _get(types: tuple[Type, ...], values: Values, result: Type, attr: Any) -> Plain | None:
    return values[0][attr]  # type: ignore[no-any-return]


def _set(types: tuple[Type, ...], values: Values, result: Type, attr: Any) -> Plain | None:
    whole, part = values
    return (*whole[:attr], part, *whole[attr + 1 :])


def move_address(pointer: Plain, distance: int) -> Plain:
    """Return a plain pointer `distance` bytes further on."""
    if isinstance(pointer, Address):
        return Address(pointer.name, pointer.offset + distance)
    assert isinstance(pointer, int)
    return pointer + distance & _ADDRESS_MASK


def _field(types: tuple[Type, ...], values: Values, result: Type, attr: Any) -> Plain:
    kind, index = attr
    return move_address(values[0], kind.offsets[index])


def _offset(types: tuple[Type, ...], values: Values, result: Type, attr: Any) -> Plain | None:
    pointer, index = values
    kind = types[1]
    if not isinstance(index, int):
        return None
    assert isinstance(kind, IntType)
    return move_address(pointer, ints.signed(kind, index) * size_of(attr))


EVALUATORS: Mapping[str, Evaluator] = MappingProxyType(
    {
        "bitcast": _bitcast,
        "ptrtoint": _pointer_to_int,
        "inttoptr": _int_to_pointer,
        "spacecast": _space_cast,
        "select": _select,
        "splat": _splat,
        "extract": _extract,
        "insert": _insert,
        "shuffle": _shuffle,
        "reduce_add": _reduce(ints.add),
        "reduce_mul": _reduce(ints.mul),
        "reduce_and": _reduce(ints.bit_and),
        "reduce_or": _reduce(ints.bit_or),
        "reduce_xor": _reduce(ints.bit_xor),
        "reduce_smin": _reduce(ints.smin),
        "reduce_smax": _reduce(ints.smax),
        "reduce_umin": _reduce(ints.umin),
        "reduce_umax": _reduce(ints.umax),
        "reduce_fadd": _reduce(floats.fadd),
        "reduce_fmul": _reduce(floats.fmul),
        "reduce_fmin": _reduce(floats.fmin),
        "reduce_fmax": _reduce(floats.fmax),
        "make": _make,
        "get": _get,
        "set": _set,
        "field": _field,
        "offset": _offset,
    }
)
