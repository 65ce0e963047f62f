"""`Int` as `Scalar[DType.int]`, which it is in edition 2026.

The library has two types: `Int`, and the vector of one lane. Texts of edition 2026 see one: where a declared type is
that of vectors, an `Int` is taken for the scalar, and scalars that calls return are turned back, both at no cost.
"""

from ktc.base.editions import Edition
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ParameterArgument, PartialTy, StructTy
from ktc.elaborate.types import struct_types, well_known


def as_expected(body: Body, have: Ty, expected: ParameterArgument) -> Ty:
    """Return a type with the scalar that `Int` is in edition 2026 wherever the declared type has one of vectors."""
    is_struct = isinstance(have, StructTy) and isinstance(expected, (StructTy, PartialTy))
    if body.frame.module.edition is Edition.Y2025 or not is_struct:
        return have
    assert isinstance(have, StructTy) and isinstance(expected, (StructTy, PartialTy))
    if expected.info.name == "SIMD" and expected.info.module.is_library:
        return well_known.as_scalar(body.elab, have)
    if have.info is not expected.info or not have.params:
        return have
    params = tuple(
        as_expected(body, own, wanted) if isinstance(own, Ty) else own
        for own, wanted in zip(have.params, expected.params, strict=True)
    )
    return have if params == have.params else struct_types.struct_type(body.elab, have.info, params)
