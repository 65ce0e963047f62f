"""Language types as C types, for exported functions.

Input: types. Output: `ir.exports.CType`, and the structs that they name; None where C has no such type.
"""

from ktc.base.records import replace
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.model.declarations import AliasInfo, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import ConstValue, FunctionTy, OriginValue, PrimTy, StructTy
from ktc.elaborate.tree.free_variables import parts
from ktc.elaborate.types import struct_types
from ktc.ir import types
from ktc.ir.exports import C_VOID, CStruct, CType
from ktc.syntax import ast

_KINDS = {"s": "int", "u": "uint", "f": "float", "b": "bool"}
_TEXTS = ("StringSlice", "StaticString")
_SCALARS = ("bool", "int", "uint", "float", "pointer", "function")
_TARGETS = ("type", "T", "pointee_type")
"""Names that pointer types give to the parameter for the type of the pointed-to value."""


class CTypes:
    """The types that C sees of one program; structs are described once."""

    def __init__(self, elab: Elaboration) -> None:
        self._elab = elab
        self.structs: dict[str, CStruct] = {}
        self._names: dict[StructTy, str] = {}
        self._pointed: dict[StructTy, str] = {}

    def of(self, ty: Ty) -> CType | None:
        """Return a type as a C type, None if C has none like it."""
        if isinstance(ty, StructTy) and not ty.info.module.is_library:
            own = any(name in ty.info.members for name in ("__copyinit__", "__moveinit__", "__del__"))
            is_plain = not own and not ty.params and ty.info.explicit_destroy is None
            name = self._struct(ty) if is_plain else ""
            return CType("struct", name=name) if name else None
        if isinstance(ty, StructTy):
            return self._of_library(ty)
        if isinstance(ty, FunctionTy):
            return self._function(ty)
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
        if found is None and isinstance(to, StructTy) and not to.info.module.is_library and not to.params:
            found = CType("struct", name=self._opaque(to))
        if found is None or found.kind == "array":
            found = C_VOID
        return CType("pointer", of=found, writes=writes)

    def _opaque(self, ty: StructTy) -> str:
        """Return the name of a struct that C only points to."""
        name = self._pointed.get(ty)
        if name is None:
            name = self._pointed[ty] = self._free_name(ty)
            self.structs[name] = CStruct(name, (), ty.info.node.doc)
        return name

    def _free_name(self, ty: StructTy) -> str:
        name = ty.info.name
        taken = name in self._names.values() or name in self._pointed.values()
        return f"{ty.info.module.name.replace('.', '_')}_{name}" if taken else name

    def _function(self, ty: FunctionTy) -> CType | None:
        """Return a type of functions: its calls are C's where it takes and gives numbers and pointers."""
        if ty.of is not None or ty.syntax is not None or ty.effects or ty.raises or ty.result_ref is not None:
            return None
        result = self.of(ty.result) if isinstance(ty.result, Ty) else None
        args: list[CType] = []
        for convention, kind in ty.args:
            made = self.of(kind) if isinstance(kind, Ty) else None
            if made is not None and convention in ("mut", "ref"):
                made = CType("pointer", of=made)
            if made is None or made.kind not in _SCALARS:
                return None
            args.append(made)
        if result is None or (result.kind != "void" and result.kind not in _SCALARS):
            return None
        return CType("function", of=result, args=tuple(args))

    def _struct(self, ty: StructTy) -> str:
        """Describe a struct and return its name, "" if one of its fields has no C type."""
        known = self._names.get(ty)
        if known is not None:
            return known
        name = self._names[ty] = self._free_name(ty)  # a struct may hold a pointer to itself
        fields: list[tuple[str, CType]] = []
        for (field, kind), node in zip(struct_types.fields_of(self._elab, ty), ty.info.field_nodes, strict=True):
            found = self.of(kind)
            if found is None:
                self._names[ty] = ""
                return ""
            if found.kind != "void":
                fields.append((field, written_as_char(found, node.type)))
        if not fields:
            self._names[ty] = ""
            return ""
        self.structs[name] = CStruct(name, tuple(fields), ty.info.node.doc, self._constants(ty, fields))
        return name

    def _constants(self, ty: StructTy, fields: list[tuple[str, CType]]) -> tuple[tuple[str, int], ...]:
        """Return the values that an exported struct of one whole number has names for: an enumeration."""
        if not ty.info.is_exported or len(fields) != 1 or fields[0][1].kind not in ("int", "uint"):
            return ()
        found: list[tuple[str, int]] = []
        for name, member in ty.info.members.items():
            value = evaluation.alias_value(self._elab, member, ty) if isinstance(member, AliasInfo) else None
            number = number_of(value, fields[0][1]) if isinstance(value, ConstValue) and value.ty is ty else None
            if isinstance(number, int):
                found.append((name, number))
        return tuple(found)


def number_of(value: ConstValue, kind: CType) -> int | float | None:
    """Return the number that a constant is, of a plain number or of a struct around one."""
    data = value.data
    while isinstance(data, tuple) and len(data) == 1:
        data = data[0]
    if kind.kind == "int" and isinstance(data, int) and data >> (kind.bits - 1) == 1:
        data -= 1 << kind.bits
    return data if isinstance(data, int | float) else None


def written_as_char(kind: CType, node: ast.Expr | None) -> CType:
    """Return a type as C has it where the program writes `c_char` for it: `char`, which is no `int8_t` to C."""
    if not any(isinstance(part, ast.Name) and part.id == "c_char" for part in parts(node)):
        return kind
    return _with_char(kind)


def _with_char(kind: CType) -> CType:
    if kind.of is not None and kind.kind != "function":
        return replace(kind, of=_with_char(kind.of))
    return replace(kind, name="char") if (kind.kind, kind.bits) == ("int", 8) else kind
