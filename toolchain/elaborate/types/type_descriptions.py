"""Descriptions of types for debuggers: names, fields and their offsets, what pointers point to.

Input: types. Output: `ir.described.DescribedType`s in the table of the elaboration, by key; called for `-g2` only.
"""

from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import FunctionTy, ParameterArgument, ParameterPack, PrimTy, StructTy
from ktc.elaborate.types import mangling, struct_types, type_printer
from ktc.ir import types
from ktc.ir.types import DescribedType

_NUMBERS = {"s": "signed", "u": "unsigned", "f": "float", "b": "boolean"}
_SCALARS = frozenset({"Bool", "Int", "SIMD", "Tuple", "UInt"})
_UNIONS = frozenset({"UnsafeMaybeUninitialized", "Variant"})
"""Structs of the library that hold values of other types in memory without a type."""


def describe(elab: Elaboration, ty: Ty) -> str:
    """Return the key of a type's description, "" for what takes no memory."""
    kind = struct_types.ir_type(elab, ty)
    if not types.size_of(kind):
        return ""
    key = mangling.key_text(elab, struct_types.canonical(elab, ty))
    table = elab.types.described
    if key not in table:
        table[key] = made = DescribedType(type_printer.shown(elab, ty), kind, "struct")
        _fill(elab, ty, made)
    return key


def _fill(elab: Elaboration, ty: Ty, made: DescribedType) -> None:
    match ty:
        case FunctionTy():
            made.form = "pointer"
        case PrimTy():
            _primitive(elab, ty, made)
        case StructTy(info=info) if info.module.is_library and _is_plain(elab, ty, made):
            return
        case StructTy():
            for name, kind in struct_types.fields_of(elab, ty):
                _, slot = struct_types.slot_of(elab, ty, name)
                key = describe(elab, kind)
                if key:
                    made.fields.append((name, _offset(made.kind, slot), key))


def _offset(kind: types.Type, slot: int) -> int:
    return kind.offsets[slot] if slot >= 0 and isinstance(kind, types.StructType) else 0


def _is_plain(elab: Elaboration, ty: StructTy, made: DescribedType) -> bool:
    """Describe the structs of the library that stand for something simpler than their fields."""
    name, params = ty.info.name, ty.params
    prim = struct_types.base_prim(elab, ty)
    if name in _SCALARS and prim is not None:
        _primitive(elab, prim, made)
    elif name == "UnsafePointer" and isinstance(made.kind, types.PointerType):
        made.form = "pointer"
        pointee = next((one for one in params if isinstance(one, Ty)), None)
        made.target = describe(elab, pointee) if pointee is not None else ""
    elif name == "InlineArray" and prim is not None and isinstance(made.kind, types.ArrayType):
        _primitive(elab, prim, made)
    elif name in _UNIONS:
        _union(elab, ty, made)
    else:
        return False
    return True


def _union(elab: Elaboration, ty: StructTy, made: DescribedType) -> None:
    """Describe what may lie in a union: each of its types at the beginning, and which one it is."""
    packs = [one.items if isinstance(one, ParameterPack) else (one,) for one in ty.params]
    kinds = [item for pack in packs for item in pack if isinstance(item, Ty)]
    for index, kind in enumerate(kinds):
        key = describe(elab, kind)
        if key:
            made.fields.append((f"_{index}", 0, key))
    for name, kind in struct_types.fields_of(elab, ty):
        if name == "_kind":
            made.fields.append(
                (name, _offset(made.kind, struct_types.slot_of(elab, ty, name)[1]), describe(elab, kind))
            )


def _primitive(elab: Elaboration, ty: PrimTy, made: DescribedType) -> None:
    match ty:
        case PrimTy("!pop.array", (_, Ty() as item)):
            made.form, made.target = "array", describe(elab, item)
        case PrimTy("!pop.simd", kind=kind) if isinstance(made.kind, types.VectorType):
            made.form, made.target = "vector", _lane(elab, ty, made.kind)
        case PrimTy(args=(ParameterPack(items),)):
            _members(elab, items, made)
        case PrimTy(kind=kind):
            made.form = "pointer" if isinstance(made.kind, types.PointerType) else _NUMBERS.get(kind, "unsigned")


def _lane(elab: Elaboration, ty: PrimTy, kind: types.VectorType) -> str:
    """Return the key of a vector's element."""
    form = _NUMBERS.get(ty.kind, "unsigned")
    word = {"signed": "Int", "unsigned": "UInt", "float": "Float", "boolean": "Bool"}[form]
    name = word if form == "boolean" else f"{word}{kind.element.bits}"
    key = f"lane {name}"
    elab.types.described.setdefault(key, DescribedType(name, kind.element, form))
    return key


def _members(elab: Elaboration, items: tuple[ParameterArgument, ...], made: DescribedType) -> None:
    """Describe the members of a tuple: `_0`, `_1` …"""
    kinds = [item for item in items if isinstance(item, Ty)]
    whole, at = struct_types.erase([struct_types.ir_type(elab, kind) for kind in kinds])
    for index, (kind, slot) in enumerate(zip(kinds, at, strict=True)):
        key = describe(elab, kind)
        if key:
            made.fields.append((f"_{index}", _offset(whole, slot), key))
