"""Language types as C types, for exported functions.

Input: types. Output: `ir.exports.CType`, and the structs that they name; None where C has no such type.
"""

from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import ConstValue, OriginValue, PrimTy, StructTy
from ktc.elaborate.types import struct_types
from ktc.ir import types
from ktc.ir.exports import C_VOID, CStruct, CType

_KINDS = {"s": "int", "u": "uint", "f": "float", "b": "bool"}
_TEXTS = ("StringSlice", "StaticString")
_TARGETS = ("type", "T", "pointee_type")
"""What pointers call the parameter with the type that they point to."""


class CTypes:
    """The types that C sees of one program; structs are described once."""

    def __init__(self, elab: Elaboration) -> None:
        self._elab = elab
        self.structs: dict[str, CStruct] = {}
        self._names: dict[StructTy, str] = {}

    def of(self, ty: Ty) -> CType | None:
        """Return a type as a C type, None if C has none like it."""
        if isinstance(ty, StructTy) and not ty.info.module.is_library:
            own = any(name in ty.info.members for name in ("__copyinit__", "__moveinit__", "__del__"))
            is_plain = not own and not ty.params and ty.info.explicit_destroy is None
            name = self._struct(ty) if is_plain else ""
            return CType("struct", name=name) if name else None
        if isinstance(ty, StructTy):
            return self._of_library(ty)
        return self._number(ty) if isinstance(ty, PrimTy) else None

    def _of_library(self, ty: StructTy) -> CType | None:
        if struct_types.ir_type(self._elab, ty) == types.UNIT:
            return C_VOID
        if ty.info.name in _TEXTS:
            return CType("text")
        if ty.info.name == "PythonObject":
            return CType("object")
        prim = struct_types.base_prim(self._elab, ty)
        if prim is None:
            return None
        if prim.name == "!kgen.pointer":
            return None if prim.args else self._pointer(ty)
        if prim.name == "!pop.array" and ty.info.name == "InlineArray":
            count, item = prim.args
            assert isinstance(count, int) and isinstance(item, Ty)
            element = self.of(item)
            return CType("array", of=element, count=count) if element is not None else None
        return self._number(prim)

    def _number(self, prim: PrimTy) -> CType | None:
        kind, bits = _KINDS.get(prim.kind, ""), getattr(prim.ir, "bits", 0)
        if prim.lanes != 1 or not kind or bits > 64 or getattr(prim.ir, "name", "") == "bf16":
            return None
        return CType(kind, 8 if kind == "bool" else bits)

    def _pointer(self, ty: StructTy) -> CType:
        to, writes = None, True
        for param, value in zip(ty.info.node.params, ty.params, strict=True):
            if param.name in _TARGETS and isinstance(value, Ty):
                to = value
            if isinstance(value, ConstValue) and isinstance(value.data, OriginValue):
                writes = value.data.mutable
        found = self.of(to) if to is not None else None
        if found is None or found.kind == "array":
            found = C_VOID
        return CType("pointer", of=found, writes=writes)

    def _struct(self, ty: StructTy) -> str:
        """Describe a struct and return its name, "" if one of its fields has no C type."""
        known = self._names.get(ty)
        if known is not None:
            return known
        name = ty.info.name
        taken = name in self._names.values()
        name = f"{ty.info.module.name.replace('.', '_')}_{name}" if taken else name
        self._names[ty] = name  # a struct may hold a pointer to itself
        fields: list[tuple[str, CType]] = []
        for field, kind in struct_types.fields_of(self._elab, ty):
            found = self.of(kind)
            if found is None:
                self._names[ty] = ""
                return ""
            if found.kind != "void":
                fields.append((field, found))
        if not fields:
            self._names[ty] = ""
            return ""
        self.structs[name] = CStruct(name, tuple(fields), ty.info.node.doc)
        return name
