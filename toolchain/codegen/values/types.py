"""IR types as LLVM spells them, for one target.

Input: IR types and a target. Output: text. A type has a value form (a bool is `i1`) and a memory form (a bool is `i8`,
a pointer narrower than 8 bytes is an `i64`); struct and array types hold their members in memory form. Where LLVM's own
layout would differ from the IR's, a struct becomes a packed one with explicit padding.
"""

import re

from ktc.diag.diagnostic import Bug
from ktc.ir.types import (
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    VoidType,
    align_of,
    size_of,
)
from ktc.targets.target import Target

_FLOATS = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}
_MAX_NATURAL_ALIGN = 64
"""`ir.types.align_of` stops here; LLVM aligns wider vectors to their size."""


class TypeTable:
    """Text of types for one target. Texts are kept by object identity: hashing a type costs more than printing it."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._narrow = {int(space) for space in re.findall(r"-p(\d+):32:", target.data_layout)}
        self._wide = {bits for bits in (128, 256) if f"i{bits}:{bits}" in target.data_layout}
        self._values: dict[int, str] = {}
        self._memory: dict[int, str] = {}
        self._empty: dict[int, bool] = {}
        self._alive: list[Type] = []

    def space(self, space: int) -> int:
        """Return LLVM's number of the language's address space."""
        return self.target.spaces[space]

    def value(self, kind: Type) -> str:
        """Return the type of an SSA value."""
        text = self._values.get(id(kind))
        if text is None:
            text = self._values[id(kind)] = self._value(kind)
            self._alive.append(kind)
        return text

    def memory(self, kind: Type) -> str:
        """Return the type in memory and inside structs and arrays."""
        text = self._memory.get(id(kind))
        if text is None:
            text = self._memory[id(kind)] = self._in_memory(kind)
            self._alive.append(kind)
        return text

    def is_empty(self, kind: Type) -> bool:
        """Return whether nothing is there: no register, no memory, no argument (void is not empty)."""
        empty = self._empty.get(id(kind))
        if empty is None:
            empty = self._empty[id(kind)] = size_of(kind) == 0 and not isinstance(kind, VoidType)
            self._alive.append(kind)
        return empty

    def raw(self, kind: Type) -> str:
        """Return the type that an LLVM intrinsic or inline assembly gives: struct members in value form."""
        if isinstance(kind, StructType):
            return "{ " + ", ".join(map(self.value, kind.fields)) + " }"
        return self.value(kind)

    def suffix(self, kind: Type) -> str:
        """Return how the type is spelled in an overloaded intrinsic's name."""
        match kind:
            case VectorType(element, lanes):
                return f"v{lanes}{self.suffix(element)}"
            case PointerType(space):
                return f"p{self.space(space)}"
            case IntType() | FloatType():
                return str(kind)
        raise Bug(f"no intrinsic takes {kind}", "codegen")

    def member(self, kind: Type, index: int) -> int:
        """Return the index of a member of a struct or array in LLVM's type."""
        if isinstance(kind, StructType) and self._is_odd(kind):
            return sum(1 + bool(gap) for gap in self._gaps(kind)[:index]) + bool(self._gaps(kind)[index])
        return index

    def members(self, kind: StructType) -> tuple[tuple[int, int], ...] | None:
        """Return (index of field or -1, bytes of padding) of each member of a padded struct, None if not padded."""
        if not self._is_odd(kind):
            return None
        found: list[tuple[int, int]] = []
        for index, gap in enumerate(self._gaps(kind)):
            if gap:
                found.append((-1, gap))
            if index < len(kind.fields):
                found.append((index, 0))
        return tuple(found)

    def _value(self, kind: Type) -> str:
        match kind:
            case IntType(bits):
                return f"i{bits}"
            case FloatType(name):
                return _FLOATS[name]
            case PointerType(space):
                number = self.space(space)
                return f"ptr addrspace({number})" if number else "ptr"
            case VectorType(element, lanes):
                return f"<{lanes} x {self._value(element)}>"
            case VoidType():
                return "void"
            case _:
                return self._in_memory(kind)

    def _in_memory(self, kind: Type) -> str:
        match kind:
            case IntType(1):
                return "i8"
            case PointerType(space) if self.space(space) in self._narrow:
                return "i64"
            case VectorType(IntType(1), lanes):
                return f"<{lanes} x i8>"
            case ArrayType(element, count):
                return f"[{count} x {self.memory(element)}]"
            case StructType(fields):
                padded = self.members(kind)
                if padded is None:
                    return "{ " + ", ".join(map(self.memory, fields)) + " }" if fields else "{}"
                parts = [self.memory(fields[index]) if index >= 0 else f"[{gap} x i8]" for index, gap in padded]
                return "<{ " + ", ".join(parts) + " }>"
            case _:
                return self._value(kind)

    def _is_odd(self, kind: Type) -> bool:
        match kind:
            case VectorType():
                return size_of(kind) > _MAX_NATURAL_ALIGN
            case IntType(128 | 256 as bits):
                return bits not in self._wide
            case ArrayType(element, _):
                return self._is_odd(element)
            case StructType(fields):
                return any(map(self._is_odd, fields))
            case _:
                return False

    def _gaps(self, kind: StructType) -> list[int]:
        """Return the bytes of padding before each field and after the last."""
        gaps, at = [], 0
        for field, offset in zip(kind.fields, kind.offsets, strict=True):
            gaps.append(offset - at)
            at = offset + size_of(field)
        return [*gaps, size_of(kind) - at]


def alignment(kind: Type, requested: int) -> int:
    """Return the alignment in bytes of an access: `requested`, or the type's own."""
    return requested or align_of(kind)
