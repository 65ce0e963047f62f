"""Run-time values of the interpreter as constants: what they point to becomes constant globals.

Input: the interpreter's memory and a plain value with integer pointers. Output: a plain value with `Address`es, and the
globals that they name. A pointer inside raw memory is an aligned word that names a live allocation (the interpreter's
addresses are chosen so that data does not look like one). So it is in an array of numbers, which may be the room for a
value of another type: a word of 64 bits is an `Address` there, and an array of smaller or larger numbers that holds one
cannot be a constant. Names follow from the content: equal memory gives equal names, whatever addresses it had.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from ktc.ir.interpreter.memory import OFFSET_MASK, Failure, Memory
from ktc.ir.interpreter.translate_values import member_types
from ktc.ir.nodes import Address, Const, Global, Plain
from ktc.ir.types import (
    CONSTANT_SPACE,
    I8,
    I64,
    PTR,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    size_of,
)  # fmt: skip

PREFIX = "const$"


class Freezer:
    """Freezes one value.

    Args:
        memory: where the pointers point.
        symbols: names of the globals and functions that have a block number.
    """

    def __init__(self, memory: Memory, symbols: Mapping[int, str]) -> None:
        self.memory = memory
        self.symbols = symbols
        self._order: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._in_constant_memory: set[int] = set()

    def plain(self, kind: Type, value: Any) -> Plain:
        """Return a value with its pointers as `Address`es."""
        match kind:
            case IntType() | FloatType():
                return value  # type: ignore[no-any-return]
            case PointerType(space):
                if space == CONSTANT_SPACE and value >> 32 not in self._names:
                    self._in_constant_memory.add(value >> 32)
                return self._pointer(value)
            case ArrayType(IntType() | VectorType(IntType())):
                return self._numbers(kind, value)
            case VectorType(IntType() | FloatType()):
                return value  # type: ignore[no-any-return]
            case _:
                parts = zip(member_types(kind), value, strict=True)
                return tuple([self.plain(part, plain) for part, plain in parts])

    def globals(self) -> list[Global]:
        """Return the globals of all blocks that were reached, sorted by name."""
        made = {self._names[number]: number for number in self._order}
        return [self._global(name, made[name]) for name in sorted(made)]

    def _pointer(self, address: int) -> Plain:
        if address == 0:
            return 0
        number, offset = address >> 32, address & OFFSET_MASK
        if number in self.symbols:
            return Address(self.symbols[number], offset)
        self.memory.check(address, 0)
        self._reach(number)
        return Address(self._names[number], offset)

    def _numbers(self, kind: ArrayType, value: Any) -> Plain:
        """Return an array of integers, which may be the room of values that have pointers."""
        content = bytearray(size_of(kind))
        self.memory.codec(kind).write(content, 0, value)
        words = self._words_in(content)
        if not words:
            return value  # type: ignore[no-any-return]
        element = kind.element.element if isinstance(kind.element, VectorType) else kind.element
        if element != I64:
            bits = size_of(element) * 8
            text = f"the value keeps a pointer in an array of numbers of {bits} bits, and a constant needs 64 for that"
            raise Failure("unsupported", text)
        return self._with_pointers(value, {start // 8 for start, _, _ in words}, 0)[0]

    def _with_pointers(self, value: Any, places: set[int], at: int) -> tuple[Plain, int]:
        """Return numbers with those at `places`, counted from `at`, as addresses, and where counting has come to."""
        if not isinstance(value, tuple):
            return (self._pointer(value) if at in places else value), at + 1
        parts = []
        for part in value:
            made, at = self._with_pointers(part, places, at)
            parts.append(made)
        return tuple(parts), at

    def _reach(self, number: int) -> None:
        """Name a block and all blocks that it leads to."""
        if number in self._names:
            return
        found: list[int] = []
        pending = [number]
        seen = {number}
        while pending:
            block = pending.pop()
            found.append(block)
            for _, target, _ in reversed(self._words(block)):
                if target not in self.symbols and target not in seen and target not in self._names:
                    seen.add(target)
                    pending.append(target)
        self._name(found)
        self._order.update((block, len(self._order) + at) for at, block in enumerate(found))

    def _name(self, blocks: list[int]) -> None:
        """Name blocks by their content, leaves first, so that equal memory has one name. Blocks in a cycle have no
        leaves: they take the digest of the whole group and their place in it."""
        waiting = list(blocks)
        while waiting:
            left = []
            for number in reversed(waiting):
                words = self._words(number)
                if all(target in self.symbols or target in self._names for _, target, _ in words):
                    where = "4$" if number in self._in_constant_memory else ""
                    self._names[number] = PREFIX + where + self._digest([number], {})
                else:
                    left.append(number)
            left.reverse()
            if len(left) == len(waiting):
                places = {number: at for at, number in enumerate(left)}
                group = self._digest(left, places)
                for number, at in places.items():
                    self._names[number] = f"{PREFIX}{group}.{at}"
                return
            waiting = left

    def _digest(self, blocks: list[int], places: Mapping[int, int]) -> str:
        digest = hashlib.sha256()
        for number in blocks:
            content = self.memory.blocks[number]
            digest.update(f"{len(content)} {self.memory.aligns[number]}\n".encode())
            at = 0
            for start, target, offset in self._words(number):
                digest.update(content[at:start])
                label = self.symbols.get(target) or self._names.get(target) or f"#{places[target]}"
                digest.update(f"\n{start} {label}+{offset}\n".encode())
                at = start + 8
            digest.update(content[at:])
        return digest.hexdigest()[:24]

    def _words(self, number: int) -> list[tuple[int, int, int]]:
        """Return (position, block number, offset) of the pointers in a block."""
        return self._words_in(self.memory.blocks[number])

    def _words_in(self, content: bytes | bytearray) -> list[tuple[int, int, int]]:
        usable = len(content) & ~7
        found = []
        for at, word in enumerate(memoryview(content)[:usable].cast("Q")):
            target = word >> 32
            if target and (target in self.symbols or target in self.memory.blocks):
                offset = word & OFFSET_MASK
                if target in self.symbols or offset <= len(self.memory.blocks[target]):
                    found.append((at * 8, target, offset))
        return found

    def _global(self, name: str, number: int) -> Global:
        content = bytes(self.memory.blocks[number])
        align = self.memory.aligns[number]
        words = self._words(number)
        space = CONSTANT_SPACE if number in self._in_constant_memory else 0
        if not words:
            return Global(name, ArrayType(I8, len(content)), content, True, space, align)
        kinds: list[Type] = []
        parts: list[Plain] = []
        at = 0
        for start, target, offset in (*words, (len(content), 0, 0)):
            if start > at:
                kinds.append(ArrayType(I8, start - at))
                parts.append(tuple(content[at:start]))
            if start < len(content):
                kinds.append(PTR)
                parts.append(Address(self.symbols.get(target) or self._names[target], offset))
            at = start + 8
        kind = StructType(tuple(kinds))
        return Global(name, kind, Const(kind, tuple(parts)), True, space, align)
