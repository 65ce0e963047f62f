"""Constants among the parameters of a type, as `get_type_name` shows them."""

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import ConstValue, PrimTy, StructTy, signed
from ktc.elaborate.types import string_constants, struct_types
from ktc.ir import types
from ktc.ir.types import FloatType, VectorType

HIDDEN = "<unprintable>"

_DIGITS = {64: 17, 32: 9, 16: 5}

_MOST_PADDING = 3

_OF_A_LITERAL = 1 << 61
"""A bit in the last word of a `String`, set where it shares the bytes of a literal."""


def struct_constant(elab: Elaboration, ty: StructTy, data: object, shown: Callable[[object], str]) -> str | None:
    """Return the text of a constant that is a struct, or None for those that are shown as other values are.

    Args:
        shown: Returns what stands for a constant in it, and for its type.
    """
    known = _of_library(elab, ty, data) if ty.info.module.is_library else None
    if known is not None:
        return known
    prim = struct_types.base_prim(elab, ty)
    if isinstance(prim, PrimTy) and ty.info.module.is_library and ty.info.name == "SIMD":
        return f"{_lanes(prim, data)} : {shown(ty)}"
    if ty.info.module.is_library and (prim is None or isinstance(prim.ir, (types.ArrayType, types.StructType))):
        return f"{{{HIDDEN}}}" if ty.params else HIDDEN
    if ty.info.module.is_library:
        return None
    return _fields(elab, ty, data, shown)


def _of_library(elab: Elaboration, ty: StructTy, data: object) -> str | None:
    """Return the text of a value of a library struct whose fields are not shown."""
    match ty.info.name:
        case "Origin" | "StringLiteral" | "IntLiteral" | "FloatLiteral":
            return "{}"
        case "NoneType":
            return "None"
        case "StringSlice" | "String":
            text = string_constants.string_of(elab, data)
            size = len(text.encode("utf-8", "surrogateescape"))
            return f'{{"{text}", {size}{f", {_OF_A_LITERAL}" if ty.info.name == "String" else ""}}}'
        case "Optional":
            return f"{{{{{HIDDEN}}}}}"
        case "IndexList":
            return HIDDEN
        case "UInt":
            return str(signed(data, 64)) if isinstance(data, int) else HIDDEN
    return None


def _fields(elab: Elaboration, ty: StructTy, data: object, shown: Callable[[object], str]) -> str:
    kinds = [kind for _, kind in struct_types.fields_of(elab, ty)]
    _, places = struct_types.erase([struct_types.ir_type(elab, kind) for kind in kinds])
    texts = [
        _part(kind, data[at] if at >= 0 and isinstance(data, (tuple, list)) else data if at == -2 else (), shown)
        for kind, at in zip(kinds, places, strict=True)
    ]
    if len(texts) == 1 and ty.info.register_passable:
        return texts[0]
    return f"{{{', '.join(texts)}}}"


def _part(kind: Ty, data: object, shown: Callable[[object], str]) -> str:
    return shown(ConstValue(kind, data)) if isinstance(kind, StructTy) else HIDDEN


def _lanes(prim: PrimTy, data: object) -> str:
    """Return the lanes of a vector, in brackets unless there is one."""
    kind = prim.ir.element if isinstance(prim.ir, VectorType) else prim.ir
    if not isinstance(prim.ir, VectorType):
        return _lane(prim, kind, data)
    count = prim.ir.lanes
    lanes: Sequence[object] = data if isinstance(data, (tuple, list)) else [data] * count
    return f"[{', '.join(_lane(prim, kind, lane) for lane in lanes)}]"


def _lane(prim: PrimTy, kind: object, value: object) -> str:
    if prim.kind == "b":
        return str(bool(value))
    if isinstance(kind, FloatType) and isinstance(value, (int, float)):
        return float_text(float(value), 4 if kind == types.BF16 else _DIGITS[kind.bits])
    if isinstance(value, int) and prim.kind == "s":
        return str(signed(value, kind.bits)) if isinstance(kind, types.IntType) else str(value)
    return str(value)


def float_text(value: float, digits: int) -> str:
    """Return a number with the digits that tell it from its neighbours, as LLVM writes it."""
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(Decimal(value)).normalize()
    sign, parts, exponent = rounded.as_tuple()
    assert isinstance(exponent, int)
    text, most = "".join(map(str, parts)), exponent + len(parts) - 1
    lead = "-" if sign else ""
    if exponent > _MOST_PADDING or (exponent >= 0 and len(text) + exponent > digits) or most < -_MOST_PADDING:
        return f"{lead}{text[0]}.{text[1:] or '0'}E{'+' if most >= 0 else '-'}{abs(most)}"
    return lead + format(abs(rounded), "f")
