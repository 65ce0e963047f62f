"""The primitive types.

Input: a type's name and its parameters as parameter values. Output: the `PrimTy`. Also how an aggregate of language
types becomes one IR type (`erase`), and how a number is read out of a parameter value.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import ConstValue, ParameterPack, PrimArg, PrimTy, StructTy, signed
from ktc.elaborate.model.values import RValue
from ktc.elaborate.types import struct_types
from ktc.elaborate.types.struct_types import erase
from ktc.ir import nodes, types

STRING = types.StructType((types.PTR, types.I64))
"""A `!kgen.string` at run time: address and length."""


BOOL_CODE = 1
"""The dtype code of bool."""


FLOAT32_CODE = 18
"""The dtype code of float32."""


DTYPES: Mapping[int, tuple[str, "types.IntType | types.FloatType"]] = MappingProxyType(
    {
        BOOL_CODE: ("b", types.BOOL),
        2: ("s", types.I8),
        3: ("u", types.I8),
        4: ("s", types.I16),
        5: ("u", types.I16),
        6: ("s", types.I32),
        7: ("u", types.I32),
        8: ("s", types.I64),
        9: ("u", types.I64),
        10: ("s", types.I128),
        11: ("u", types.I128),
        12: ("s", types.I256),
        13: ("u", types.I256),
        16: ("f", types.F16),
        17: ("f", types.BF16),
        FLOAT32_CODE: ("f", types.F32),
        19: ("f", types.F64),
        20: ("e4m3fn", types.I8),
        21: ("e5m2", types.I8),
        22: ("e4m3fnuz", types.I8),
        23: ("e5m2fnuz", types.I8),
        24: ("s", types.I64),
        25: ("u", types.I64),
        26: ("e3m4", types.I8),
        27: ("e8m0fnu", types.I8),
    }
)
"""Code of a dtype to (kind, IR type of a lane). Floats of one byte are bytes in the IR, each a kind of its own."""


SPACES = (0, 1, 3, 4, 5)


_INTEGERS: Mapping[int, "types.Type"] = MappingProxyType({8: types.I8, 16: types.I16, 32: types.I32, 64: types.I64})


_PLAIN: Mapping[str, tuple[str, "types.Type | None"]] = MappingProxyType(
    {
        "index": ("s", types.I64),
        "uindex": ("u", types.I64),
        "i1": ("b", types.BOOL),
        "i8": ("s", types.I8),
        "i16": ("s", types.I16),
        "i32": ("s", types.I32),
        "i64": ("s", types.I64),
        "i128": ("s", types.I128),
        **{f"si{width}": ("s", ty) for width, ty in _INTEGERS.items()},
        **{f"ui{width}": ("u", ty) for width, ty in _INTEGERS.items()},
        "f16": ("f", types.F16),
        "bf16": ("f", types.BF16),
        "f32": ("f", types.F32),
        "f64": ("f", types.F64),
        "!kgen.string": ("", STRING),
        "!kgen.none": ("", types.UNIT),
        "!kgen.int_literal": ("", None),
        "!kgen.float_literal": ("", None),
        "!kgen.target": ("", None),
        "!kgen.origin": ("", None),
    }
)
"""The types without parameters: (kind, IR type)."""


_LITERALS = ("!kgen.int_literal", "!kgen.float_literal", "!kgen.string")

MAX_LANES = 1 << 15
"""As many as the reference takes; each operation on a vector is unrolled."""


def canonical(elab: Elaboration, name: str, args: tuple[object, ...]) -> tuple[PrimArg, ...]:
    """Return the one spelling of a type's parameters, by which types can be interned: `int`s, types, a `ParameterPack`.

    Raises:
        ValueError: the parameters do not fit, or there is no such type.
    """
    match name:
        case "!pop.simd":
            _count(name, args, 2)
            lanes, code = comptime_int(elab, args[0]), comptime_int(elab, args[1])
            if lanes < 1 or lanes & (lanes - 1):
                raise ValueError(f"the number of lanes must be a power of two, not {lanes}")
            if lanes > MAX_LANES:
                raise ValueError(f"a vector has at most {MAX_LANES} lanes, not {lanes}")
            if code not in DTYPES:
                raise ValueError(f"a vector cannot have lanes of dtype {'invalid' if code == 0 else code}")
            return lanes, code
        case "!kgen.pointer":
            if not args:
                return ()
            _count(name, args, 1)
            space = comptime_int(elab, args[0])
            if space not in SPACES:
                raise ValueError(f"there is no address space {space}")
            return (space,) if space else ()
        case "!pop.array":
            _count(name, args, 2)
            count = comptime_int(elab, args[0])
            if count < 0:
                raise ValueError(f"an array cannot have {count} elements")
            return count, _type(args[1])
        case "!kgen.pack" | "!kgen.refs":
            members: list[Ty] = []
            for arg in args:
                members.extend(map(_type, arg.items) if isinstance(arg, ParameterPack) else [_type(arg)])
            return (ParameterPack(tuple(members)),)
        case "!kgen.variadic":
            _count(name, args, 1)
            return (_type(args[0]),)
    if name not in _PLAIN:
        raise ValueError(f"there is no primitive type '{name}'")
    _count(name, args, 0)
    return ()


def make(elab: Elaboration, name: str, given: tuple[object, ...]) -> PrimTy:
    """Return a new primitive type; its `args` are the canonical ones.

    Raises:
        ValueError: the parameters do not fit, or there is no such type.
    """
    args = canonical(elab, name, given)
    match name:
        case "!pop.simd":
            lanes, code = args
            assert isinstance(lanes, int) and isinstance(code, int)
            kind, element = DTYPES[code]
            return PrimTy(name, args, types.VectorType(element, lanes) if lanes > 1 else element, kind, lanes)
        case "!kgen.pointer":
            space = args[0] if args else 0
            assert isinstance(space, int)
            return PrimTy(name, args, types.PointerType(space))
        case "!pop.array":
            # An array without elements takes no place, so that a struct with it can be its other field alone.
            count, item = args
            assert isinstance(count, int) and isinstance(item, Ty)
            ir = types.ArrayType(struct_types.ir_type(elab, item), count) if count else types.UNIT
            return PrimTy(name, args, ir)
        case "!kgen.pack" | "!kgen.refs":
            pack = args[0]
            assert isinstance(pack, ParameterPack)
            members = [member for member in pack.items if isinstance(member, Ty)]
            parts = [struct_types.ir_type(elab, member) if name == "!kgen.pack" else types.PTR for member in members]
            return PrimTy(name, args, erase(parts)[0])
        case "!kgen.variadic":
            return PrimTy(name, args, None)
    kind, plain = _PLAIN[name]
    return PrimTy(name, args, plain, kind)


def variadic_item(ty: object) -> Ty | None:
    """Return the trait or type of the members of a parameter that holds several: `Sized` of `VariadicOf[Sized]`."""
    if isinstance(ty, PrimTy) and ty.name == "!kgen.variadic":
        assert isinstance(ty.args[0], Ty)
        return ty.args[0]
    return None


def _count(name: str, args: tuple[object, ...], expected: int) -> None:
    if len(args) != expected:
        raise ValueError(f"primitive type '{name}' has {expected} parameters, not {len(args)}")


def _type(value: object) -> Ty:
    if not isinstance(value, Ty):
        raise ValueError("a type is needed here")
    return value


def constant_of(elab: Elaboration, value: object) -> tuple[Ty | None, Any]:
    """Return the type and data of a constant. For a literal, whose value is in its type, those of that value.

    Raises:
        ValueError: it is not known at compile time.
    """
    match value:
        case bool() | int() | str():
            return None, value
        case ConstValue(ty, data):
            pass
        case RValue(ty, nodes.Const(_, data)):
            pass
        case _:
            raise ValueError("a value that is known at compile time is needed here")
    if isinstance(ty, StructTy) and ty.params:
        first = ty.params[0]
        if isinstance(first, ConstValue) and isinstance(first.ty, PrimTy) and first.ty.name in _LITERALS:
            return first.ty, first.data
    return ty, data


def comptime_int(elab: Elaboration, value: object) -> int:
    """Return the whole number that a parameter value is or stands for.

    Raises:
        ValueError: it is none.
    """
    ty, data = constant_of(elab, value)
    if not isinstance(data, int):
        raise ValueError("an integer is needed here")
    if ty is None:
        return int(data)
    prim = ty if isinstance(ty, PrimTy) else struct_types.base_prim(elab, ty)
    if prim is not None and prim.kind == "s" and isinstance(prim.ir, types.IntType):
        return signed(data, prim.ir.bits)
    return data


def comptime_bool(elab: Elaboration, value: object) -> bool:
    """Return the truth value that a parameter value is or stands for.

    Raises:
        ValueError: it is none.
    """
    return comptime_int(elab, value) != 0


def begin(elab: Elaboration) -> None:
    """Make the type that every elaboration needs."""
    elab.types.none = prim(elab, "!kgen.none")


def prim(elab: Elaboration, name: str, args: tuple[object, ...] = ()) -> PrimTy:
    """Return the primitive type; ValueError if there is none such."""
    key = (name, args)
    found = elab.types.primitives.get(key)
    if found is None:
        made = make(elab, name, args)
        canonical = (made.name, made.args)
        found = elab.types.primitives.setdefault(("=", canonical), made)
        elab.types.primitives[key] = found
    return found
