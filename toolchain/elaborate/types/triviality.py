"""`T.__del__is_trivial` and the like: whether destroying, copying or moving a value runs no code of its own."""

from collections.abc import Mapping
from types import MappingProxyType

from ktc.elaborate.model.declarations import AliasInfo, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import FunctionTy, StructTy
from ktc.elaborate.types import struct_members, struct_types

FLAGS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "__del__is_trivial": ("__del__", "AnyType"),
        "__copyinit__is_trivial": ("__copyinit__", "Copyable"),
        "__moveinit__is_trivial": ("__moveinit__", "Movable"),
    }
)
"""Each flag with the method that it stands for and the trait that promises it."""


def bound_promises(elab: Elaboration, ty: StructTy, flag: str) -> bool:
    """Return whether the bound of an archetype guarantees a flag."""
    trait = FLAGS[flag][1]
    return trait == "AnyType" or any(one.name == trait for one in struct_members.traits_of(elab, ty.info))


def is_trivial(elab: Elaboration, ty: Ty, flag: str) -> bool:
    """Return whether a type has no such method, nor any of its fields; an alias of the type decides."""
    if not isinstance(ty, StructTy):
        return not isinstance(ty, FunctionTy) or not ty.is_escaping
    if FLAGS[flag][0] == "__copyinit__" and struct_members.is_only_moved(elab, ty):
        return False
    own = ty.info.members.get(flag)
    if isinstance(own, AliasInfo):
        return bool(getattr(elab.api.alias_value(elab, own, ty), "data", False))
    if ty.info.register_trivial:
        return True
    if FLAGS[flag][0] in ty.info.members:
        return False
    return all(is_trivial(elab, kind, flag) for _, kind in struct_types.fields_of(elab, ty))
