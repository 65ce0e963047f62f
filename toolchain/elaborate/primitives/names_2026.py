"""Names of types as programs of edition 2026 print them: those of containers' values in `repr`, and of `reflect[T]`.

Input: a type. Output: its name with all parameters; types among these have their modules, but for a few that are short.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ktc.elaborate.model.declarations import ModuleInfo, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionValue,
    OriginValue,
    ParameterPack,
    PrimTy,
    StructTy,
    is_symbolic,
    show,
    show_constant,
)
from ktc.elaborate.types import constant_printer, struct_types, well_known
from ktc.elaborate.types.constant_printer import HIDDEN

_SHORT = frozenset({"Bool", "List", "SIMD", "String"})
"""Types of the library that have no module before them, wherever they stand."""

_RENAMED: Mapping[str, str] = MappingProxyType({
    "ArcPointer": "memory.arc_pointer.ArcPointer", "AHasher": "hash._ahash.AHasher",
    "InlineArray": "collections.array.Array", "Span": "collections.span.Span",
    "StringSlice": "collections.string.string_span.StringSpan", "UnsafePointer": "memory.pointer.Pointer",
})  # fmt: skip
"""Types of the library that have another name or place than here, with both."""


def unqualified(elab: Elaboration, ty: Ty) -> str:
    """Return the name of a type without its own module."""
    return _name(elab, ty, is_whole=False)


def qualified(elab: Elaboration, ty: Ty) -> str:
    """Return the name of a type with its module."""
    return _name(elab, ty, is_whole=True)


def _name(elab: Elaboration, ty: Ty, is_whole: bool) -> str:
    ty = well_known.as_scalar(elab, ty)
    if not isinstance(ty, StructTy) or ty.info.closure is not None:
        return str(ty)
    name = _place(ty.info.module, ty.info.name)
    if not is_whole or (ty.info.module.is_library and ty.info.name in _SHORT):
        name = name.rpartition(".")[2]
    if ty.info.module.is_library and ty.info.name == "SIMD":
        dtype, lanes = [show(one) for one in ty.params]
        return f"{name}[{dtype}, {lanes}]"
    texts = _parameters(elab, ty)
    return f"{name}[{', '.join(texts)}]" if texts else name


def _place(module: ModuleInfo, name: str) -> str:
    """Return a struct's name behind that of its module."""
    if module.is_library:
        own = f"{module.name.removeprefix('std.').removesuffix('.__init__')}.{name}"
        return f"std.{_RENAMED.get(name, own)}"
    own = Path(module.source.path).stem if module.name == "__main__" else module.name
    return f"{own.removesuffix('.__init__')}.{name}"


def _parameters(elab: Elaboration, ty: StructTy) -> list[str]:
    """Return the parameters; behind the inferred ones stand as many as the kinds of origins leave open."""
    kinds = [param.kind for param in ty.info.node.params]
    first = kinds.count("infer")
    texts = [_parameter(elab, param) for param in ty.params]
    opened = [one for one in ty.params if isinstance(one, ConstValue) and isinstance(one.data, OriginValue)]
    inferred = [] if ty.info.module.is_library and ty.info.name == "StringSlice" else texts[:first]
    return [*inferred, *["{}"] * len(opened), *texts[first:]]


def _parameter(elab: Elaboration, value: object) -> str:
    match value:
        case Ty():
            return _name(elab, value, is_whole=True)
        case ConstValue(_, OriginValue()):
            return "{}"
        case ConstValue(StructTy() as ty, data):
            return _constant(elab, ty, data)
        case ParameterPack():
            return f"{HIDDEN}, {{}}"
        case FunctionValue() | ConstValue(PrimTy(ir=None)) | ConstValue(PrimTy(), str()):
            return HIDDEN
        case _:
            return "?" if is_symbolic(value) else show(value)


def _constant(elab: Elaboration, ty: StructTy, data: object) -> str:
    prim = struct_types.base_prim(elab, ty)
    if ty.info.module.is_library and ty.info.name == "AddressSpace" and prim is not None:
        return show(ConstValue(prim, data))
    scalar = well_known.as_scalar(elab, ty)
    if scalar is not ty:
        return f"{show_constant(ty, data)} : {_name(elab, scalar, is_whole=True)}"
    found = constant_printer.struct_constant(elab, ty, data, lambda part: _parameter(elab, part))
    return found if found is not None else show_constant(ty, data)
