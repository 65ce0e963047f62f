"""The type rules of the operation table: operand types in, result type out; a wrong operand is a `Bug`.

A rule gets (name, operand types, attribute, wanted result type or None). Rows whose result does not follow from the
operands (casts, `splat`, `make`) need the expected type. Scalar rows take vectors too, element by element.
"""

from ktc.diag.diagnostic import Bug
from ktc.ir.types import (
    BOOL,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)

Types = tuple[Type, ...]


def mismatch(name: str, types: Types, reason: str) -> Bug:
    """Return the `Bug` for an operation that does not fit its operands."""
    return Bug(f"operation '{name}' on ({', '.join(map(str, types))}): {reason}", "ir.ops")


def element_of(kind: Type) -> Type:
    """Return the scalar type of a vector's lanes, or the type itself."""
    return kind.element if kind.__class__ is VectorType else kind


def _all_same(name: str, types: Types) -> Type:
    first = types[0]
    for other in types:
        if other is not first and other != first:
            raise mismatch(name, types, "the operands have different types")
    return first


def _expected(name: str, types: Types, result: Type, expected: Type | None) -> Type:
    if expected is not None and expected is not result and expected != result:
        raise mismatch(name, types, f"gives {result}, not {expected}")
    return result


def ints(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """Integers of one type, and so is the result."""
    kind = _all_same(name, types)
    if element_of(kind).__class__ is not IntType:
        raise mismatch(name, types, "needs integers")
    return kind if expected is None else _expected(name, types, kind, expected)


def floats(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """Floats of one type, and so is the result."""
    kind = _all_same(name, types)
    if element_of(kind).__class__ is not FloatType:
        raise mismatch(name, types, "needs floats")
    return kind if expected is None else _expected(name, types, kind, expected)


def _mask_of(kind: Type) -> Type:
    return VectorType(BOOL, kind.lanes) if isinstance(kind, VectorType) else BOOL


def compare(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """Integers or pointers of one type; gives i1 or a vector of them."""
    kind = _all_same(name, types)
    if element_of(kind).__class__ not in (IntType, PointerType):
        raise mismatch(name, types, "needs integers or pointers")
    return _expected(name, types, _mask_of(kind), expected)


def compare_signed(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """Integers of one type (addresses have no sign); gives i1 or a vector of them."""
    kind = _all_same(name, types)
    if element_of(kind).__class__ is not IntType:
        raise mismatch(name, types, "needs integers")
    return _expected(name, types, _mask_of(kind), expected)


def compare_floats(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """Floats of one type; gives i1 or a vector of them."""
    kind = _all_same(name, types)
    if element_of(kind).__class__ is not FloatType:
        raise mismatch(name, types, "needs floats")
    return _expected(name, types, _mask_of(kind), expected)


# cast -> (class of the operand, class of the result, sign of the change of width: -1 narrower, 1 wider, 0 any)
_CASTS = {
    "trunc": (IntType, IntType, -1),
    "zext": (IntType, IntType, 1),
    "sext": (IntType, IntType, 1),
    "fptrunc": (FloatType, FloatType, -1),
    "fpext": (FloatType, FloatType, 1),
    "sitofp": (IntType, FloatType, 0),
    "uitofp": (IntType, FloatType, 0),
    "fptosi": (FloatType, IntType, 0),
    "fptoui": (FloatType, IntType, 0),
    "ptrtoint": (PointerType, IntType, 0),
    "inttoptr": (IntType, PointerType, 0),
    "spacecast": (PointerType, PointerType, 0),
}


def cast(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """A scalar or vector to the expected type, with the same number of lanes. A cast to the same type is allowed (and
    `build` removes it)."""
    if expected is None:
        raise mismatch(name, types, "needs its result type")
    kind = types[0]
    origin, target = element_of(kind), element_of(expected)
    before, after, widens = _CASTS[name]
    if origin.__class__ is not before or target.__class__ is not after or _lanes(kind) != _lanes(expected):
        raise mismatch(name, types, f"cannot give {expected}")
    if widens and origin != target:
        change = target.bits - origin.bits  # type: ignore[union-attr]
        if change * widens <= 0:
            raise mismatch(name, types, f"cannot give {expected}")
    return expected


def _lanes(kind: Type) -> int:
    return kind.lanes if isinstance(kind, VectorType) else 1


def bit_width(kind: Type) -> int:
    """Return the width in bits of a scalar or vector value; a pointer has 64."""
    element = element_of(kind)
    bits = element.bits if isinstance(element, IntType | FloatType) else 64 if isinstance(element, PointerType) else 0
    return bits * _lanes(kind)


def bitcast(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """A number or a vector of numbers to another one with as many bits."""
    if expected is None:
        raise mismatch(name, types, "needs its result type")
    for kind in (types[0], expected):
        if not isinstance(element_of(kind), IntType | FloatType):
            raise mismatch(name, types, f"cannot give {expected}")
    if bit_width(types[0]) != bit_width(expected):
        raise mismatch(name, types, f"cannot give {expected}: another width")
    return expected


def select(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """An i1 and two values of one type, or a mask and two vectors with as many lanes."""
    mask, kind = types[0], types[1]
    _all_same(name, types[1:])
    if mask != BOOL and not (
        isinstance(mask, VectorType)
        and mask.element == BOOL
        and isinstance(kind, VectorType)
        and kind.lanes == mask.lanes
    ):
        raise mismatch(name, types, "needs an i1 or a fitting mask")
    return _expected(name, types, kind, expected)


def splat(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """A scalar to a vector type of that scalar (or, with one lane, to itself)."""
    if expected is None:
        raise mismatch(name, types, "needs its result type")
    if element_of(expected) != types[0]:
        raise mismatch(name, types, f"cannot give {expected}")
    return expected


def extract(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """(vector, integer) to its element."""
    if types[1].__class__ is not IntType:
        raise mismatch(name, types, "needs an integer as index")
    return _expected(name, types, element_of(types[0]), expected)


def insert(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """(vector, element, integer) to the vector."""
    if types[2].__class__ is not IntType or element_of(types[0]) != types[1]:
        raise mismatch(name, types, "needs a vector, an element of it and an integer")
    return _expected(name, types, types[0], expected)


def shuffle(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """Two vectors of one type and a lane list to a vector with as many lanes as the list."""
    kind = _all_same(name, types)
    if not isinstance(attr, tuple) or not attr:
        raise mismatch(name, types, "needs a lane list")
    if min(attr) < 0 or max(attr) >= 2 * _lanes(kind):
        raise mismatch(name, types, f"has no such lanes: {attr}")
    element = element_of(kind)
    if not isinstance(element, IntType | FloatType):
        raise mismatch(name, types, "needs vectors")
    return _expected(name, types, VectorType(element, len(attr)) if len(attr) > 1 else element, expected)


def reduce_ints(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """A vector of integers to one."""
    element = element_of(types[0])
    if element.__class__ is not IntType:
        raise mismatch(name, types, "needs integers")
    return _expected(name, types, element, expected)


def reduce_floats(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """A vector of floats to one."""
    element = element_of(types[0])
    if element.__class__ is not FloatType:
        raise mismatch(name, types, "needs floats")
    return _expected(name, types, element, expected)


def make(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """The fields of a struct (the expected type, or just these fields), or the elements of an array."""
    if expected is None:
        return StructType(types)
    fields = expected.fields if isinstance(expected, StructType) else None
    if isinstance(expected, ArrayType):
        fields = (expected.element,) * expected.count
    if fields != types:
        raise mismatch(name, types, f"cannot give {expected}")
    return expected


def member(name: str, types: Types, kind: Type, index: object) -> Type:
    """Return the type of member `index` of an aggregate."""
    if isinstance(index, int):
        if isinstance(kind, StructType) and 0 <= index < len(kind.fields):
            return kind.fields[index]
        if isinstance(kind, ArrayType) and 0 <= index < kind.count:
            return kind.element
    raise mismatch(name, types, f"{kind} has no member {index}")


def get(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """Member `attr` of a struct or array."""
    return _expected(name, types, member(name, types, types[0], attr), expected)


def put(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """(aggregate, new member) to the aggregate."""
    if member(name, types, types[0], attr) != types[1]:
        raise mismatch(name, types, "the new member has another type")
    return _expected(name, types, types[0], expected)


def field(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """A pointer, attr (struct type, index), to a pointer in the same space."""
    if types[0].__class__ is not PointerType or not isinstance(attr, tuple):
        raise mismatch(name, types, "needs a pointer, a struct type and an index")
    if not isinstance(attr[0], StructType) or not 0 <= attr[1] < len(attr[0].fields):
        raise mismatch(name, types, f"{attr[0]} has no field {attr[1]}")
    return types[0] if expected is None else _expected(name, types, types[0], expected)


def offset(name: str, types: Types, attr: object, expected: Type | None) -> Type:
    """(pointer, integer), attr the element type, to a pointer in the same space."""
    if types[0].__class__ is not PointerType or types[1].__class__ is not IntType or attr is None:
        raise mismatch(name, types, "needs a pointer, an integer and an element type")
    return types[0] if expected is None else _expected(name, types, types[0], expected)
