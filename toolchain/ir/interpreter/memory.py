"""Byte-addressed memory for the interpreter: allocations, bounds, and the layout of values in bytes.

An address is `(block number << 32) + offset`, so finding an allocation is one dictionary look-up, 4 GiB guard every
block from the next, and addresses can be stored in bytes, cast to integers and compared like real ones. Block numbers
are even, so what points below a block lies in an odd number that holds nothing. They start at `FIRST_BLOCK`, a pattern
that data hardly ever has by chance: that is what lets `freeze` find pointers in raw bytes. A constant block is `bytes`,
so writing to it fails by itself; a freed one is no longer there.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ktc.base.records import record
from ktc.diag.diagnostic import Bug
from ktc.ir.arithmetic import float_from_bits, float_to_bits
from ktc.ir.nodes import Plain
from ktc.ir.types import (
    BF16,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    VoidType,
    size_of,
)

FIRST_BLOCK = 0x6B74_6300
OFFSET_MASK = (1 << 32) - 1


class Failure(Exception):
    """Evaluation cannot go on; `kind` is one of `EvaluationError`'s."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


# ---- values in bytes -------------------------------------------------------------------------------

_LETTERS = {1: "B", 8: "B", 16: "H", 32: "I", 64: "Q"}


def scalar_letter(kind: Type) -> str:
    """Return the `struct` letter of a scalar whose plain value is what `struct` reads; "" for all else."""
    match kind:
        case IntType(bits):
            return _LETTERS.get(bits, "")
        case PointerType():
            return "Q"
        case FloatType(name):
            return {"f64": "d", "f32": "f", "f16": "e"}.get(name, "")
        case _:
            return ""


Scalar = int | float | bytes
Build = Callable[[Iterator[Any]], Any]
Spread = Callable[[Any, list[Scalar]], None]


@record
class Codec:
    """How values of one type lie in memory.

    Args:
        packer: all scalars in order, with padding.
        build: takes the scalars of one value from an iterator.
        spread: appends the scalars of one value to a list.
    """

    packer: struct.Struct
    build: Build
    spread: Spread

    def read(self, block: bytes | bytearray, offset: int) -> Any:
        """Return the value at `offset`."""
        return self.build(iter(self.packer.unpack_from(block, offset)))

    def write(self, block: bytearray, offset: int, value: Plain) -> None:
        """Write a value at `offset`."""
        scalars: list[Scalar] = []
        self.spread(value, scalars)
        self.packer.pack_into(block, offset, *scalars)


def codec(kind: Type) -> Codec:
    """Make the codec of a type."""
    letters, build, spread = _parts(kind)
    return Codec(struct.Struct("<" + letters), build, spread)


_Parts = tuple[str, Build, Spread]


def _spread_scalar(value: Scalar, out: list[Scalar]) -> None:
    out.append(value)


def _parts(kind: Type) -> _Parts:
    letter = scalar_letter(kind)
    if letter:
        return letter, next, _spread_scalar
    match kind:
        case IntType(bits):
            return _wide(bits // 64)
        case FloatType():
            return "H", lambda parts: float_from_bits(BF16, next(parts)), _spread_bf16
        case VectorType(element, count) | ArrayType(element, count):
            return _repeated(element, count)
        case StructType():
            return _struct(kind)
        case VoidType():
            raise Bug("a void value has no bytes", "ir.memory")
    raise Bug(f"no layout for {kind}", "ir.memory")


def _wide(words: int) -> _Parts:
    """An integer of several words of 64 bits, the lowest first."""

    def build(parts: Iterator[int]) -> int:
        return sum(next(parts) << 64 * place for place in range(words))

    def spread(value: int, out: list[Scalar]) -> None:
        out += (value >> 64 * place & (1 << 64) - 1 for place in range(words))

    return "Q" * words, build, spread


def _spread_bf16(value: float, out: list[Scalar]) -> None:
    out.append(float_to_bits(BF16, value))


def _repeated(element: Type, count: int) -> _Parts:
    letters, build, spread = _parts(element)
    if len(letters) == 1 and build is next:
        return (
            f"{count}{letters}",
            lambda parts: tuple([next(parts) for _ in range(count)]),
            lambda value, out: out.extend(value),
        )

    def spread_all(value: Sequence[Plain], out: list[Scalar]) -> None:
        for part in value:
            spread(part, out)

    return letters * count, lambda parts: tuple([build(parts) for _ in range(count)]), spread_all


def _struct(kind: StructType) -> _Parts:
    letters, at = [], 0
    members = [_parts(field) for field in kind.fields]
    for field, start, (inner, _, _) in zip(kind.fields, kind.offsets, members, strict=True):
        if start > at:
            letters.append(f"{start - at}x")
        letters.append(inner)
        at = start + size_of(field)
    if size_of(kind) > at:
        letters.append(f"{size_of(kind) - at}x")
    builds = [build for _, build, _ in members]
    spreads = [spread for _, _, spread in members]

    def spread_all(value: Sequence[Plain], out: list[Scalar]) -> None:
        for spread, part in zip(spreads, value, strict=True):
            spread(part, out)

    return "".join(letters), lambda parts: tuple([build(parts) for build in builds]), spread_all


# ---- memory ---------------------------------------------------------------------------------------


class Memory:
    """All allocations of one interpreter.

    Args:
        max_bytes: how much may be live at a time.
    """

    def __init__(self, max_bytes: int) -> None:
        self.blocks: dict[int, bytearray | bytes] = {}
        self.aligns: dict[int, int] = {}
        self.heap: set[int] = set()
        self.live_bytes = 0
        self.max_bytes = min(max_bytes, OFFSET_MASK)
        self.is_quiet, self.unprinted = False, 0
        """Whether what the program prints is dropped, and how often that was done."""
        self._next = FIRST_BLOCK
        self._codecs: dict[Type, Codec] = {}

    def allocate(self, size: int, align: int = 16, heap: bool = False) -> int:
        """Return the address of `size` new zero bytes. Only heap blocks may be freed by the program."""
        self._grow(size)
        number = self.reserve()
        self.blocks[number] = bytearray(size)
        self.aligns[number] = align
        if heap:
            self.heap.add(number)
        return number << 32

    def reserve(self) -> int:
        """Return a new block number without memory behind it."""
        self._next += 2
        return self._next

    def place(self, number: int, content: bytearray | bytes, align: int) -> None:
        """Put memory behind a reserved block number."""
        self._grow(len(content))
        self.blocks[number] = content
        self.aligns[number] = align

    def _grow(self, size: int) -> None:
        if size > self.max_bytes - self.live_bytes:
            raise Failure("limit", f"compile-time evaluation needs more than {self.max_bytes} bytes of memory")
        self.live_bytes += size

    def release(self, number: int) -> None:
        """Drop a block."""
        self.live_bytes -= len(self.blocks.pop(number))
        del self.aligns[number]
        self.heap.discard(number)

    def free(self, address: int) -> None:
        """Do what C's free does; null is fine."""
        if address == 0:
            return
        number, offset = address >> 32, address & OFFSET_MASK
        if number not in self.heap or offset:
            self.check(address, 0)
            raise Failure("fault", "memory is freed that was not allocated with malloc")
        self.release(number)

    def check(self, address: int, size: int) -> tuple[bytearray | bytes, int]:
        """Return (block, offset) of `size` accessible bytes."""
        block = self.blocks.get(address >> 32)
        if block is None:
            raise Failure("fault", self.explain(address >> 32))
        offset = address & OFFSET_MASK
        if offset + size > len(block):
            raise Failure("fault", f"memory access outside of its allocation of {len(block)} bytes")
        return block, offset

    def explain(self, number: int) -> str:
        """Return why block `number` cannot be accessed."""
        if number == 0:
            return "null pointer is dereferenced"
        if FIRST_BLOCK < number <= self._next and number & 1:
            return "memory access outside of its allocation"
        if FIRST_BLOCK < number <= self._next:
            return "memory is accessed after it was freed"
        return "memory is accessed through a pointer that points to nothing"

    def writable(self, address: int, size: int) -> tuple[bytearray, int]:
        """Return (block, offset) of `size` bytes that may be changed."""
        block, offset = self.check(address, size)
        if isinstance(block, bytes):
            raise Failure("fault", "constant memory is written")
        return block, offset

    def codec(self, kind: Type) -> Codec:
        """Return the codec of a type, made once."""
        found = self._codecs.get(kind)
        if found is None:
            found = self._codecs[kind] = codec(kind)
        return found

    def read(self, kind: Type, address: int) -> Any:
        """Return the plain value of type `kind` at an address; pointers are integers."""
        block, offset = self.check(address, size_of(kind))
        return self.codec(kind).read(block, offset)

    def write(self, kind: Type, address: int, value: Plain) -> None:
        """Write a plain value of type `kind`; pointers are integers."""
        block, offset = self.writable(address, size_of(kind))
        self.codec(kind).write(block, offset, value)

    def read_bytes(self, address: int, size: int) -> bytes:
        """Return `size` bytes."""
        if size == 0:
            return b""
        block, offset = self.check(address, size)
        return bytes(block[offset : offset + size])

    def write_bytes(self, address: int, content: bytes) -> None:
        """Write bytes."""
        if content:
            block, offset = self.writable(address, len(content))
            block[offset : offset + len(content)] = content

    def c_string(self, address: int) -> bytes:
        """Return the bytes up to the next zero byte."""
        block, offset = self.check(address, 1)
        end = block.find(0, offset)
        if end < 0:
            raise Failure("fault", f"memory access outside of its allocation of {len(block)} bytes")
        return bytes(block[offset:end])
