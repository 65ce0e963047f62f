"""Well-known types and functions of the library, on which the language builds."""

from fractions import Fraction
from functools import partial

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import AliasInfo, OverloadSet, StructInfo, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.instance import ArgumentSignature
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    FunctionValue,
    OriginValue,
    ParameterArgument,
    ParameterPack,
    StructTy,
)
from ktc.elaborate.resolve import modules
from ktc.elaborate.types import primitive_types, struct_members, struct_types


def library_info(elab: Elaboration, name: str) -> StructInfo:
    """Return a struct of the library that the language itself builds on."""
    found = elab.types.library.get(name)
    if found is None:
        found = modules.prelude_name(elab, name) or modules.prelude_name(
            elab, "__" + name
        )  # programs import some of them
        if not isinstance(found, StructInfo):
            elab.fail(Code.MODULE_NOT_FOUND, f"the standard library has no '{name}'", elab.main_span())
        elab.types.library[name] = found
    assert isinstance(found, StructInfo)
    return found


def library_type(elab: Elaboration, name: str) -> StructTy:
    """Return a library struct without parameters."""
    return struct_types.struct_type(elab, library_info(elab, name), ())


def as_scalar(elab: Elaboration, ty: Ty) -> Ty:
    """Return the scalar type that `Int` or `UInt` is in edition 2026; any other type as it is."""
    if not isinstance(ty, StructTy) or ty.info.name not in ("Int", "UInt") or not ty.info.module.is_library:
        return ty
    key = ("scalar", ty.info.name)
    if key not in elab.types.library:
        alias = modules.prelude_name(elab, f"__{ty.info.name}Scalar")
        assert isinstance(alias, AliasInfo)
        elab.types.library[key] = elab.api.alias_value(elab, alias, None)
    found = elab.types.library[key]
    assert isinstance(found, StructTy)
    return found


def of_scalar(elab: Elaboration, ty: StructTy) -> StructTy:
    """Return `Int` or `UInt` for the scalar type that it is in edition 2026; any other type as it is."""
    if ty.info.name == "SIMD" and ty.info.module.is_library and not ty.symbolic:
        for own in (library_type(elab, "Int"), library_type(elab, "UInt")):
            if ty is as_scalar(elab, own):
                return own
    return ty


def literal(elab: Elaboration, struct: str, prim: str, value: int | float | Fraction | str) -> ConstValue:
    """Return a literal: a value without size whose type holds the number or text."""
    key = (struct, value)
    found = elab.types.library.get(key)
    if found is None:
        ty = struct_types.struct_type(
            elab, library_info(elab, struct), (ConstValue(primitive_types.prim(elab, prim), value),)
        )
        found = elab.types.library[key] = ConstValue(ty, ())
    assert isinstance(found, ConstValue)
    return found


def bool_constant(elab: Elaboration, value: bool) -> ConstValue:
    """Return `True` or `False`."""
    return ConstValue(library_type(elab, "Bool"), int(value))


def error_type(elab: Elaboration) -> StructTy:
    """Return the type of errors."""
    return library_type(elab, "Error")


def is_never(ty: Ty | None) -> bool:
    """Return whether a type is `Never`, which has no values: a function that raises it does not raise, and one that
    returns it does not return."""
    return isinstance(ty, StructTy) and ty.info.module.is_library and ty.info.name == "Never"


def tuple_type(elab: Elaboration, kinds: tuple[Ty, ...]) -> StructTy:
    """Return the type of tuples of these types."""
    return struct_types.struct_type(elab, library_info(elab, "Tuple"), (ParameterPack(kinds),))


def pack_type(elab: Elaboration, kinds: tuple[Ty | None, ...], mutable: bool = False) -> StructTy:
    """Return the type of `*args` of different types."""
    origin, any_trait = origin_constant(elab, OriginValue("any", mutable)), struct_members.trait_type(elab, ())
    given = bool_constant(elab, mutable), bool_constant(elab, False), origin, any_trait, ParameterPack(kinds)
    return struct_types.struct_type(elab, library_info(elab, "VariadicPack"), given)


def list_type(elab: Elaboration, kind: Ty, mutable: bool = False) -> StructTy:
    """Return the type of `*args` of one type."""
    return struct_types.struct_type(elab, library_info(elab, "VariadicList"), (kind, bool_constant(elab, mutable)))


def parameter_list_type(elab: Elaboration, pack: ParameterPack) -> StructTy:
    """Return the struct with the members that a variadic parameter has in edition 2026."""
    first = pack.items[0] if pack.items else None
    kind = first.ty if isinstance(first, ConstValue) else pack.kind
    if isinstance(kind, StructTy):
        return struct_types.struct_type(elab, library_info(elab, "ParameterList"), (kind, pack))
    return struct_types.struct_type(elab, library_info(elab, "TypeList"), (pack,))


def owned_type(elab: Elaboration, sig: ArgumentSignature) -> StructTy:
    """Return the type of `var *args`, which are the function's to destroy."""
    if sig.variadic == "pack":
        return struct_types.struct_type(elab, library_info(elab, "_OwnedVariadicPack"), (ParameterPack(sig.pack),))
    given = (
        bool_constant(elab, True),
        sig.ty,
        origin_constant(elab, OriginValue("external", True)),
        bool_constant(elab, True),
    )
    return struct_types.struct_type(elab, library_info(elab, "VariadicListMem"), given)


def list_info(elab: Elaboration) -> StructInfo:
    """Return the struct of `*args` of one type."""
    return library_info(elab, "VariadicList")


def known_methods(elab: Elaboration, ty: StructTy, name: str) -> OverloadSet:
    """Return methods that the library must have."""
    found = struct_members.method_set(elab, ty, name)
    assert found is not None
    return found


def pack_items(elab: Elaboration, ty: Ty) -> tuple[ParameterArgument, ...] | None:
    """Return the types of a `VariadicPack`, owned or not, or None."""
    if isinstance(ty, StructTy) and ty.info in map(partial(library_info, elab), ("VariadicPack", "_OwnedVariadicPack")):
        pack = ty.params[-1]
        return pack.items if isinstance(pack, ParameterPack) else None
    return None


def origin_constant(elab: Elaboration, value: OriginValue) -> ConstValue:
    """Return an origin as a parameter value."""
    ty = struct_types.struct_type(elab, library_info(elab, "Origin"), (bool_constant(elab, value.mutable),))
    return ConstValue(ty, value)


def materialized(elab: Elaboration, ty: Ty, pack: bool = False) -> Ty:
    """Return the run-time type of a literal's type; other types are their own."""
    if not isinstance(ty, StructTy) or ty.info.materialized is None:
        if isinstance(ty, FunctionTy) and ty.of is not None:
            return elab.api.thin_type(elab, ty.of) or ty
        return ty
    info = ty.info
    key = f"{info.uid}{'pack' if pack else ''}"
    found = elab.types.library.get(key)
    if found is None:
        node = info.materialized_in_packs if pack else info.materialized
        assert node is not None
        found = elab.types.library[key] = elab.api.evaluate(elab, node, info.scope, info.module)
        if not isinstance(found, Ty):
            elab.fail(Code.TYPE_MISMATCH, "a type is expected here", Span(info.module.source, node.start, node.end))
    assert isinstance(found, Ty)
    return found


def static_set(elab: Elaboration, member: OverloadSet, statics: OverloadSet) -> OverloadSet:
    """Return the overloads meant through the type, one object for each member."""
    if statics is member:
        return member
    found = elab.types.library.setdefault(f"static{id(member)}", statics)
    assert isinstance(found, OverloadSet)
    return found


def startup_function(elab: Elaboration, name: str, module: str = "std.builtin._runtime.startup") -> FunctionValue:
    """Return a function that the compiler itself calls."""
    found = modules.prelude_name(elab, name)
    if found is None:
        startup = elab.modules.package.find(module)
        assert startup is not None
        found = modules.module_name(elab, modules.enter(elab, startup), name)
    assert isinstance(found, OverloadSet)
    return FunctionValue(found)


def inferred_type(elab: Elaboration, ty: ParameterArgument) -> ParameterArgument:
    """Return the type that a parameter of this type says for another one: a literal's run-time type."""
    return materialized(elab, ty) if isinstance(ty, StructTy) else ty
