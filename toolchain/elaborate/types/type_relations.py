"""Relations of types: equality and subtyping."""

from ktc.base.records import replace
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    Opaque,
    OriginValue,
    ParameterPack,
    ParameterValue,
    StructTy,
    TraitTy,
)
from ktc.elaborate.types import struct_types


def as_mutable(origin: OriginValue, expected: StructTy) -> OriginValue:
    """Return an origin as one of a type of origins: a writable origin serves where a read-only one is expected."""
    mut = expected.params[0] if expected.params else None
    if origin.mutable and isinstance(mut, ConstValue) and not mut.data:
        return replace(origin, mutable=False, cast=False)
    return origin


def is_static(value: object) -> bool:
    """Return whether an origin is that of the program's constants."""
    return isinstance(value, ConstValue) and isinstance(value.data, OriginValue) and value.data.kind == "static"


def same_type(elab: Elaboration, a: Ty, b: Ty, *, is_mutability_free: bool = False) -> bool:
    """Return whether two types are the same, ignoring origins; `is_mutability_free`: also what may be written to."""
    if a is b:
        return True
    if not isinstance(a, StructTy) or not isinstance(b, StructTy):
        return False
    if a.info is not b.info:
        own, other = a.info.narrows or a.info, b.info.narrows or b.info
        return own is other
    free = _mutabilities(a, b) if is_mutability_free else ()
    return all(
        place in free or same_parameter(elab, x, y, is_mutability_free=is_mutability_free)
        for place, (x, y) in enumerate(zip(a.params, b.params, strict=True))
    )


def _mutabilities(a: StructTy, b: StructTy) -> set[int]:
    """Return the places of parameters that say, in both types, whether an origin of the type may be written to."""
    origins = [
        (x.data.mutable, y.data.mutable)
        for x, y in zip(a.params, b.params, strict=True)
        if isinstance(x, ConstValue) and isinstance(y, ConstValue)
        if isinstance(x.data, OriginValue) and isinstance(y.data, OriginValue)
    ]
    return {
        place
        for place, (x, y) in enumerate(zip(a.params, b.params, strict=True))
        if isinstance(x, ConstValue) and isinstance(y, ConstValue)
        if isinstance(x.ty, StructTy) and x.ty == y.ty and x.ty.info.name == "Bool" and (x.data, y.data) in origins
    }


def same_parameter(
    elab: Elaboration, a: ParameterValue | None, b: ParameterValue | None, *, is_mutability_free: bool = False
) -> bool:
    """Return whether two parameters are the same, ignoring origins, which are erased in instances."""
    if isinstance(a, Ty) and isinstance(b, Ty):
        return same_type(elab, a, b, is_mutability_free=is_mutability_free)
    if isinstance(a, ParameterPack) and isinstance(b, ParameterPack) and len(a.items) == len(b.items):
        return all(
            same_parameter(elab, x, y, is_mutability_free=is_mutability_free)
            for x, y in zip(a.items, b.items, strict=True)
        )
    both = isinstance(a, ConstValue) and isinstance(b, ConstValue) and (a.data, b.data)
    if both and isinstance(both[0], OriginValue) and isinstance(both[1], OriginValue):
        return is_mutability_free or both[0].mutable == both[1].mutable
    return a == b


def fits(elab: Elaboration, have: Ty, expected: Ty) -> bool:
    """Return whether a type is a subtype of another: origins and mutability may weaken."""
    if have is expected:
        return True
    if isinstance(have, StructTy) and isinstance(expected, StructTy) and have.info is expected.info:
        return all(param_fits(elab, a, b) for a, b in zip(have.params, expected.params, strict=True))
    if isinstance(have, FunctionTy) and isinstance(expected, FunctionTy):
        return elab.api.fits_function(elab, have, expected)
    return False


def param_fits(elab: Elaboration, a: ParameterValue | None, b: ParameterValue | None) -> bool:
    if a == b or isinstance(a, Opaque) or isinstance(b, Opaque):
        return True
    if isinstance(a, ConstValue) and isinstance(b, ConstValue):
        if isinstance(a.data, OriginValue) and isinstance(b.data, OriginValue):
            kinds = a.data.kind, b.data.kind
            if kinds == ("local", "local") and a.data.local is not b.data.local:
                return False
            if kinds == ("external", "local") or (kinds[1] == "external" and kinds[0] != "external"):
                return False  # a variable is no memory from elsewhere, and what points anywhere may be one
            # what points anywhere points to no constant of the program
            return (a.data.mutable or not b.data.mutable) and (is_static(a) or not is_static(b))
        prim = struct_types.base_prim(elab, a.ty)
        # the `mut` parameter of a pointer: from mutable to immutable
        return prim is not None and prim.kind == "b" and a.ty is b.ty and a.data == 1
    if isinstance(a, TraitTy) and isinstance(b, TraitTy):
        return not a.traits  # of a pack of arguments, whose types were checked one by one
    if isinstance(a, Ty) and isinstance(b, Ty):
        return fits(elab, a, b)
    return False
