"""Constants as LLVM spells them.

Input: a type and a plain value. Output: text, in value form or in memory form (see `codegen.types`). Names that a
constant refers to are passed to `refer`, which returns the text of the address.
"""

import re
import struct
from collections.abc import Callable, Mapping

from ktc.codegen.values.types import TypeTable
from ktc.diag.diagnostic import Bug
from ktc.ir.nodes import Address, ImageSize, Plain
from ktc.ir.types import ArrayType, FloatType, IntType, PointerType, StructType, Type, VectorType

Refer = Callable[[str, int], str]
"""(name, language's address space that is needed) to the constant's text without its type."""

_PLAIN_SYMBOL = re.compile(r"[A-Za-z$._][A-Za-z0-9$._]*")
_UNPRINTABLE = re.compile(r"[^ !#-\[\]-~]")


class ImagesNeeded(Exception):
    """The host's code cannot be written before its images are there: a constant holds the size of one."""


def symbol(name: str) -> str:
    """Return `@name`, quoted if need be."""
    return f"@{name}" if _PLAIN_SYMBOL.fullmatch(name) else f'@"{quoted(name.encode())}"'


def quoted(data: bytes) -> str:
    """Return the inside of an LLVM string for `data`."""
    return _UNPRINTABLE.sub(lambda found: f"\\{ord(found[0]):02X}", data.decode("latin-1"))


def float_text(kind: FloatType, value: float) -> str:
    """Return a float exactly, as its bits."""
    if kind.name == "f64":
        return "0x" + struct.pack(">d", value).hex().upper()
    if kind.name == "f32":
        rounded = struct.unpack(">f", struct.pack(">f", value))[0]
        return "0x" + struct.pack(">d", rounded).hex().upper()
    if kind.name == "f16":
        return "0xH" + struct.pack(">e", value).hex().upper()
    return "0xR" + struct.pack(">f", value)[:2].hex().upper()


class ConstantWriter:
    """Writes constants of one module."""

    def __init__(self, types: TypeTable, refer: Refer, image_sizes: Mapping[str, int] | None) -> None:
        self._types = types
        self._refer = refer
        self._image_sizes = image_sizes

    def value(self, kind: Type, plain: Plain) -> str:
        """Return the constant in value form, without its type."""
        if kind.__class__ is IntType and plain.__class__ is int:
            return str(plain) if kind.bits != 1 else ("true" if plain else "false")
        if isinstance(kind, VectorType) and isinstance(plain, tuple):
            if _is_zero(plain):
                return "zeroinitializer"
            element = self._types.value(kind.element)
            if all(lane == plain[0] for lane in plain) and not isinstance(plain[0], float):
                return f"splat ({element} {self.value(kind.element, plain[0])})"
            return "<" + ", ".join(f"{element} {self.value(kind.element, lane)}" for lane in plain) + ">"
        if isinstance(kind, PointerType):
            return self._pointer(kind, plain)
        return self.memory(kind, plain)

    def memory(self, kind: Type, plain: Plain) -> str:
        """Return the constant in memory form, without its type."""
        match kind:
            case IntType():
                if isinstance(plain, ImageSize):
                    return str(self._image_size(plain.name))
                if isinstance(plain, Address):
                    return f"ptrtoint (ptr {self._address(plain, 0)} to i{kind.bits})"
                return str(plain)
            case FloatType() if isinstance(plain, int | float):
                return float_text(kind, plain)
            case PointerType():
                text = self._pointer(kind, plain)
                if self._types.memory(kind) == "i64":
                    # LLVM folds no widening cast of a narrow pointer; only null can stand in memory.
                    if text != "null":
                        raise Bug("an address in a narrow address space cannot be a constant in memory", "codegen")
                    return "0"
                return text
            case VectorType(element, _) | ArrayType(element, _) if isinstance(plain, tuple):
                return self._sequence(kind, element, plain)
            case StructType() if isinstance(plain, tuple):
                return self._struct(kind, plain)
        raise Bug(f"no constant of type {kind}: {plain!r}", "codegen")

    def typed(self, kind: Type, plain: Plain) -> str:
        """Return the constant in memory form after its type."""
        return f"{self._types.memory(kind)} {self.memory(kind, plain)}"

    def _sequence(self, kind: Type, element: Type, plain: tuple[Plain, ...]) -> str:
        if _is_zero(plain):
            return "zeroinitializer"
        if element == IntType(8) and isinstance(kind, ArrayType) and all(isinstance(item, int) for item in plain):
            return f'c"{quoted(bytes(plain))}"'  # type: ignore[arg-type]
        start, end = "[]" if isinstance(kind, ArrayType) else "<>"
        return start + ", ".join(self.typed(element, item) for item in plain) + end

    def _struct(self, kind: StructType, plain: tuple[Plain, ...]) -> str:
        if _is_zero(plain):
            return "zeroinitializer"
        padded = self._types.members(kind)
        if padded is None:
            members = [self.typed(field, item) for field, item in zip(kind.fields, plain, strict=True)]
            return "{ " + ", ".join(members) + " }"
        parts = [
            self.typed(kind.fields[index], plain[index]) if index >= 0 else f"[{gap} x i8] zeroinitializer"
            for index, gap in padded
        ]
        return "<{ " + ", ".join(parts) + " }>"

    def _pointer(self, kind: PointerType, plain: Plain) -> str:
        if isinstance(plain, Address):
            return self._address(plain, kind.space)
        if plain == 0:
            return "null"
        return f"inttoptr (i64 {plain} to {self._types.value(kind)})"

    def _address(self, address: Address, space: int) -> str:
        text = self._refer(address.name, space)
        if not address.offset:
            return text
        pointer = self._types.value(PointerType(space))
        return f"getelementptr inbounds (i8, {pointer} {text}, i64 {address.offset})"

    def _image_size(self, name: str) -> int:
        if self._image_sizes is None:
            raise ImagesNeeded
        size = self._image_sizes.get(name)
        if size is None:
            raise Bug(f"the size of image '{name}' is needed before there is one", "codegen")
        return size


def _is_zero(plain: Plain) -> bool:
    """Return whether every bit is zero; -0.0 is not."""
    if plain.__class__ is tuple:
        return all(map(_is_zero, plain))
    if plain.__class__ is float:
        return struct.pack("d", plain) == bytes(8)
    return plain.__class__ is int and plain == 0
