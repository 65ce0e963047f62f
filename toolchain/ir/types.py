"""The types of the IR and their layout in memory.

Monomorphic and structural: a language struct with one field that takes memory *is* that field's type, so `Int` is
`i64` and `SIMD[DType.float32, 4]` is a vector. Signedness is in the operations, not in the types. A bool is `i1` as a
value and one byte, 0 or 1, in memory; a vector of n bools is n bytes in memory.
"""

from dataclasses import field
from typing import Union

from ktc.base.records import entity, record


@record
class IntType:
    """`iN`, N in 1, 8, 16, 32, 64, 128, 256."""

    bits: int

    def __str__(self) -> str:
        return f"i{self.bits}"


@record
class FloatType:
    """`f16`, `bf16`, `f32` or `f64`."""

    name: str

    @property
    def bits(self) -> int:
        """The width in bits."""
        return {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}[self.name]

    def __str__(self) -> str:
        return self.name


CONSTANT_SPACE = 4
"""The language's address space of constant memory."""


@record
class PointerType:
    """An untyped address; `space` is the language's address space number: 0 generic, 1 global, 3 shared, 4 constant,
    5 local. Each target has its own numbers for them."""

    space: int = 0

    def __str__(self) -> str:
        return f"ptr({self.space})" if self.space else "ptr"


@record
class VectorType:
    """`lanes` (a power of two, at least 2) scalars."""

    element: "IntType | FloatType"
    lanes: int

    def __str__(self) -> str:
        return f"<{self.lanes} x {self.element}>"


@record
class ArrayType:
    """`count` values, one after the other."""

    element: "Type"
    count: int

    def __str__(self) -> str:
        return f"[{self.count} x {self.element}]"


@record
class StructType:
    """Fields in order, each at its natural alignment, as in C. `StructType(())` takes no memory."""

    fields: tuple["Type", ...]
    _layout: list[tuple[tuple[int, ...], int, int]] = field(default_factory=list, compare=False)
    """The result of `layout`, once it is known: offsets, size, alignment."""

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offset of each field in bytes."""
        return self.layout[0]

    @property
    def layout(self) -> tuple[tuple[int, ...], int, int]:
        """The offset of each field, the size and the alignment, in bytes."""
        if not self._layout:
            self._layout.append(self._laid_out())
        return self._layout[0]

    def _laid_out(self) -> tuple[tuple[int, ...], int, int]:
        at, most, offsets = 0, 1, []
        for item in self.fields:
            align = align_of(item)
            most = max(most, align)
            at = (at + align - 1) // align * align
            offsets.append(at)
            at += size_of(item)
        return tuple(offsets), (at + most - 1) // most * most, most

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self.fields)) + "}"


@record
class VoidType:
    """No value; only as a result."""

    def __str__(self) -> str:
        return "void"


Type = Union[IntType, FloatType, PointerType, VectorType, ArrayType, StructType, VoidType]

BOOL = IntType(1)
I8 = IntType(8)
I16 = IntType(16)
I32 = IntType(32)
I64 = IntType(64)
I128 = IntType(128)
I256 = IntType(256)
F16 = FloatType("f16")
BF16 = FloatType("bf16")
F32 = FloatType("f32")
F64 = FloatType("f64")
PTR = PointerType(0)
VOID = VoidType()
UNIT = StructType(())


def size_of(kind: Type) -> int:
    """Return the size in bytes, a multiple of the alignment. Pointers have 8 bytes on every target."""
    match kind:
        case StructType():
            return kind.layout[1]
        case PointerType():
            return 8
        case IntType(bits):
            return max(1, bits // 8)
        case FloatType():
            return kind.bits // 8
        case VectorType(element, lanes) | ArrayType(element, lanes):
            return size_of(element) * lanes
        case VoidType():
            return 0


def align_of(kind: Type) -> int:
    """Return the alignment in bytes."""
    match kind:
        case StructType():
            return kind.layout[2]
        case PointerType():
            return 8
        case IntType() | FloatType() | VectorType():
            return max(1, min(size_of(kind), 64))
        case ArrayType(element, _):
            return align_of(element)
        case VoidType():
            return 1


def has_pointer(kind: Type) -> bool:
    """Return whether a value of the type holds an address."""
    match kind:
        case PointerType():
            return True
        case StructType(fields):
            return any(map(has_pointer, fields))
        case ArrayType(element):
            return has_pointer(element)
    return False


# ---- descriptions for debuggers of the language's types, which have names ----

ADDRESS_OF = "&"
"""Before a key: the argument is the address of such a value."""


@entity
class DescribedType:
    """A type of the language.

    Args:
        name: as messages show it.
        kind: its type in the IR.
        form: "signed", "unsigned", "float", "boolean", "pointer", "array", "vector" or "struct".
        target: key of what a pointer points to, or of an array's elements; "" where that is not known.
        fields: of a struct: name, offset in bytes, and key of each field that takes memory.
    """

    name: str
    kind: Type
    form: str
    target: str = ""
    fields: list[tuple[str, int, str]] = field(default_factory=list)
