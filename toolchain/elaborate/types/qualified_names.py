"""The names of types that programs ask for: with their modules and all their parameters.

In: a type. Out: its text as the language's `get_type_name` gives it.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ktc.elaborate.model.declarations import ModuleInfo
from ktc.elaborate.model.values import KV, OriginValue, PackPV, PrimTy, StructTy, Ty, is_symbolic, show, signed
from ktc.ir.types import ArrayType, FloatType, StructType, VectorType

if TYPE_CHECKING:
    from ktc.elaborate.types.struct_types import Structs

_SHORT = frozenset({"Int", "UInt", "Bool", "String", "SIMD"})
_HIDDEN = "<unprintable>"


def qualified(elab: "Structs", value: Any, builtins: bool) -> str:
    """Return the whole name of a type, or a value among its parameters.

    Args:
        builtins: Whether `Int` and its like have their modules too.
    """
    match value:
        case StructTy():
            return _struct(elab, value, builtins)
        case Ty():
            return elab.type_name(value)
        case KV(_, OriginValue()):
            return "{}"
        case KV(StructTy() as ty, data):
            return _constant(elab, ty, data, builtins)
        case PackPV():
            return _HIDDEN
        case _:
            return "?" if is_symbolic(value) else show(value)


def _struct(elab: "Structs", ty: StructTy, builtins: bool) -> str:
    info = ty.info
    name = info.name
    if builtins or not info.module.is_library or name not in _SHORT:
        name = f"{'stdlib.' if info.module.is_library else ''}{_module_name(info.module)}.{name}"
    texts = [qualified(elab, param, builtins) for param in ty.params]
    return f"{name}[{', '.join(texts)}]" if texts else name


def _module_name(module: ModuleInfo) -> str:
    name = Path(module.source.path).stem if module.name == "__main__" else module.name
    return name.removeprefix("std.").removesuffix(".__init__")


def _constant(elab: "Structs", ty: StructTy, data: Any, builtins: bool) -> str:
    prim = elab.base_prim(ty)
    if ty.info.module.is_library and ty.info.name == "Origin":
        return "{}"
    if ty.info.module.is_library and ty.info.name == "AddressSpace" and prim is not None:
        return show(KV(prim, data))
    if ty.info.module.is_library and ty.info.name == "StringSlice":
        text = elab.string_of(data)
        return f'{{"{text}", {len(text.encode("utf-8", "surrogateescape"))}}}'
    if prim is None or isinstance(prim.ir, (ArrayType, StructType)):
        return f"{{{_HIDDEN}}}" if ty.params else _HIDDEN
    if isinstance(prim, PrimTy) and isinstance(prim.ir, FloatType):
        number = show(KV(prim, data)).removesuffix(".0")
        return f"{number} : {_struct(elab, ty, builtins)}"
    if isinstance(data, tuple) and isinstance(prim, PrimTy) and isinstance(prim.ir, VectorType) and prim.kind in "su":
        bits = prim.ir.element.bits
        lanes = ", ".join(str(signed(lane, bits) if prim.kind == "s" else lane) for lane in data)
        return f"[{lanes}] : {_struct(elab, ty, builtins)}"
    name = ty.info.show_constant(ty, data)
    if builtins and name.startswith(f"{ty.info.name}."):
        return f"{_struct(elab, ty, builtins)}{name.removeprefix(ty.info.name)}"
    return name
