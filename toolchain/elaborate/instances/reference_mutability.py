"""Mutability that depends on the caller: a result that points into the arguments may be written
through only if they may.

Input: a call's signature and its values. Output: the type of the result as the caller has it. An instance does not
depend on whether its `ref` arguments may be changed, so its result type says that they may; here that is taken back.
"""

from collections.abc import Iterator

from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.instance import ArgumentSignature, Instance, Signature
from ktc.elaborate.model.types import ConstValue, OriginValue, ParameterArgument, ParameterPack, PartialTy, StructTy
from ktc.elaborate.model.values import Place, Result, RValue, Values
from ktc.elaborate.tree.argument_uses import names_in
from ktc.elaborate.types import struct_types, well_known
from ktc.syntax import ast


def depends_on_caller(sig: ArgumentSignature) -> bool:
    """Return whether it is the caller who decides if an argument may be changed: a `ref` argument without an origin."""
    return sig.convention == "ref" and not sig.node.origin


def is_always_immutable(elab: Elaboration, instance: Instance, sig: ArgumentSignature) -> bool:
    """Return whether the body of a function may not change a `ref` argument: no origin says that it may."""
    if not sig.node.origin:
        return True
    named = names_in(sig.node.origin[0])
    others = [other for other in instance.signature.args if other.name in named]
    if others:  # the place of another argument
        return any(other.convention == "read" or depends_on_caller(other) for other in others)
    value = elab.api.evaluate(elab, sig.node.origin[0], instance.scope, instance.fn.module)
    return isinstance(value, ConstValue) and isinstance(value.data, OriginValue) and not value.data.mutable


def readonly_result(elab: Elaboration, signature: Signature, values: Values) -> Ty:
    """Return the type of a call's result, read only where it points into what the caller may not change."""
    ty = signature.result_ty
    if not signature.borrowed_args or not any(
        origin.mutable and not origin.cast for origin in struct_types.origins_of(elab, ty)
    ):
        return ty
    borrowed = [(signature.args[i], values[i]) for i in signature.borrowed_args if i not in signature.pointed_args]
    if not any(
        sig.convention == "read" or (depends_on_caller(sig) and _is_read_only(value)) for sig, value in borrowed
    ):
        return ty
    return _immutable_type(elab, ty, {inner for sig, _ in borrowed for inner in _types_in(sig.ty)})


def own_result(elab: Elaboration, signature: Signature) -> Ty:
    """Return the result type as the function's own body can give it."""
    borrowed = [signature.args[i] for i in signature.borrowed_args if i not in signature.pointed_args]
    if not any(sig.convention == "read" or depends_on_caller(sig) for sig in borrowed):
        return signature.result_ty
    return _immutable_type(elab, signature.result_ty, {inner for sig in borrowed for inner in _types_in(sig.ty)})


def _immutable_argument(elab: Elaboration, value: ParameterArgument, kept: set[StructTy]) -> ParameterArgument:
    if isinstance(value, ParameterPack):
        return ParameterPack(tuple(_immutable_argument(elab, item, kept) for item in value.items), value.kind)
    return _immutable_type(elab, value, kept) if isinstance(value, Ty) else value


def _immutable_type(elab: Elaboration, ty: Ty, kept: set[StructTy]) -> Ty:
    """Return a type with its origins, and the parameters that say whether they are mutable, read only; the types in
    `kept` stay as they are, for they come from elsewhere."""
    if not isinstance(ty, StructTy) or ty in kept or not struct_types.origins_of(elab, ty):
        return ty
    found = [_immutable_argument(elab, value, kept) for value in ty.params]
    at = {param.name: i for i, param in enumerate(ty.info.node.params)}
    for i, (param, value) in enumerate(zip(ty.info.node.params, ty.params, strict=True)):
        origin = value.data if isinstance(value, ConstValue) else None
        if (
            not isinstance(origin, OriginValue)
            or not origin.mutable
            or origin.cast
            or origin.kind not in ("local", "some")
        ):
            continue
        found[i] = well_known.origin_constant(elab, OriginValue(origin.kind, False, origin.local))
        mut = at.get(_mutability(param))
        if mut is not None:
            found[mut] = well_known.bool_constant(elab, False)
    return struct_types.struct_type(elab, ty.info, tuple(found))


def read_only_as(elab: Elaboration, have: StructTy, expected: PartialTy) -> StructTy:
    """Return the type of an argument with the origins read only whose `mut` the declared type gives as `False`."""
    if not struct_types.origins_of(elab, have):
        return have
    given = {param.name: value for param, value in zip(have.info.node.params, expected.params, strict=True)}
    found = list(have.params)
    for i, (param, value) in enumerate(zip(have.info.node.params, have.params, strict=True)):
        origin = value.data if isinstance(value, ConstValue) else None
        mut = _mutability(param)
        wanted = given.get(mut)
        if isinstance(origin, OriginValue) and origin.mutable and isinstance(wanted, ConstValue) and wanted.data == 0:
            found[i] = well_known.origin_constant(elab, OriginValue(origin.kind, False, origin.local))
            found[list(given).index(mut)] = wanted
    return have if tuple(found) == have.params else struct_types.struct_type(elab, have.info, tuple(found))


def _mutability(param: ast.Param) -> str:
    """Return the name of the parameter that says whether an origin is mutable: `mut` of `origin: Origin[mut]`."""
    kind = param.type
    return (
        kind.args[0].id if isinstance(kind, ast.Subscript) and kind.args and isinstance(kind.args[0], ast.Name) else ""
    )


def _is_read_only(value: Result) -> bool:
    return value.read_only if isinstance(value, RValue) else isinstance(value, Place) and not value.mutable


def _types_in(ty: ParameterArgument) -> Iterator[StructTy]:
    """Yield the types that are parameters of a type."""
    for value in ty.params if isinstance(ty, StructTy) else ty.items if isinstance(ty, ParameterPack) else ():
        if isinstance(value, StructTy):
            yield value
        yield from _types_in(value)
