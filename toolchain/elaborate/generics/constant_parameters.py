"""Constants that are given to parameters: converted to the type that the parameter declares."""

from functools import partial

from ktc.diag.codes import Code
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import Mismatch, unfit
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionValue,
    OriginValue,
    ParameterArgument,
    PartialTy,
    StructTy,
)
from ktc.elaborate.types import struct_types, type_printer, type_relations
from ktc.syntax import ast


def converted(
    elab: Elaboration, param: ast.Param, value: ConstValue | FunctionValue, expected: StructTy, what: str
) -> ParameterArgument:
    """Convert a constant, or a function, to the struct that a parameter declares.

    Raises:
        Mismatch: it does not convert.
    """
    if isinstance(value, ConstValue):
        if value.ty is expected:
            return value
        is_alike = getattr(value.ty, "info", expected.info) is expected.info
        if isinstance(value.data, OriginValue) and (is_alike or not struct_types.fields_of(elab, expected)):
            if not value.data.mutable and _is_mutable_origin(expected):
                text = f"parameter '{param.name}' of {what} must be a mutable origin, and the origin given is immutable"
                raise Mismatch(Code.TYPE_MISMATCH, text, weight=2)
            return ConstValue(expected, type_relations.as_mutable(value.data, expected))
        if type_relations.fits(elab, value.ty, expected):
            return ConstValue(expected, value.data)
    made = elab.api.convert_constant(elab, value, expected)  # a closure may become an 'Optional'
    if made is None:
        raise unfit(param.name, what, expected, value, partial(type_printer.type_name, elab))
    return made


def of_open_type(
    elab: Elaboration, param: ast.Param, value: ParameterArgument, expected: ParameterArgument, what: str
) -> ParameterArgument:
    """Convert a constant to a type that a parameter declares in part: 4 to the `Optional[Int]` of `[n: Optional]`.

    Raises:
        Mismatch: no constructor makes such a type of it.
    """
    if not isinstance(value, ConstValue) or not isinstance(value.ty, StructTy) or value.ty.symbolic:
        return value
    if not isinstance(expected, (StructTy, PartialTy)) or expected.info is value.ty.info:
        return value
    made = elab.api.convert_constant(elab, value, expected)
    if made is None:
        raise unfit(param.name, what, expected, value, partial(type_printer.type_name, elab))
    return made


def _is_mutable_origin(expected: StructTy) -> bool:
    """Return whether a type of origins is `MutOrigin`."""
    mut = expected.params[0] if expected.params else None
    return isinstance(mut, ConstValue) and mut.data == 1
