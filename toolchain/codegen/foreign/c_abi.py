"""How C passes values: the calling conventions of the host's processors, in the terms of LLVM.

Input: IR types. Output: for each value the types in which LLVM passes it, or that it goes through memory.

Source: System V ABI, AMD64 supplement 1.0, section 3.2.3; Procedure Call Standard for the Arm 64-bit Architecture,
sections 6.8 and 6.9; RISC-V ELF psABI, chapter "Procedure Calling Convention".
"""

from collections.abc import Iterator

from ktc.base.records import entity, record
from ktc.ir.types import ArrayType, FloatType, StructType, Type, align_of, size_of
from ktc.targets import triples

_WORD = 8


@record
class Passed:
    """One value.

    Args:
        pieces: the types in which it is passed, each with its offset in bytes; empty where it goes through memory.
        is_scalar: it is passed as it is.
        is_on_stack: it goes through memory, in the caller's list of arguments (`byval`); else as an address.
        group: the one LLVM type of the pieces, where they must be passed together; "" where each is an argument.
    """

    pieces: tuple[tuple[int, str], ...] = ()
    is_scalar: bool = False
    is_on_stack: bool = False
    group: str = ""


_SCALAR = Passed(is_scalar=True)


@entity
class Registers:
    """The registers that the arguments so far have left."""

    whole: int
    floats: int


class Convention:
    """The C convention of one processor. Arguments are classified in their order."""

    def __init__(self, triple: str, returns_in_memory: bool) -> None:
        parts = triples.parsed(triple)
        self._machine, self._is_windows = parts.architecture, parts.system == triples.WINDOWS
        many = 6 if self._machine == "x86_64" else 8
        hidden = returns_in_memory and self._machine != "aarch64"
        self._left = Registers(many - hidden, 8)

    def argument(self, kind: Type) -> Passed:
        """Return how an argument is passed."""
        if not isinstance(kind, StructType | ArrayType):
            if isinstance(kind, FloatType):
                self._left.floats -= 1
            else:
                self._left.whole -= 1
            return _SCALAR
        if self._is_windows:
            return self._on_windows(kind)
        if self._machine == "x86_64":
            return self._on_x86(kind)
        return self._small(kind)

    def _on_windows(self, kind: Type) -> Passed:
        """Return how a struct is passed: as a number of its size if there is one, otherwise by its address.

        Source: Microsoft's description of the x64 calling convention.
        """
        size = size_of(kind)
        return Passed(((0, f"i{8 * size}"),)) if size in (1, 2, 4, 8) else Passed()

    def _on_x86(self, kind: Type) -> Passed:
        if size_of(kind) > 2 * _WORD:
            return Passed(is_on_stack=True)
        pieces = eightbytes(kind)
        floats = sum(text in _FLOAT_PIECES for _, text in pieces)
        if floats > max(self._left.floats, 0) or len(pieces) - floats > max(self._left.whole, 0):
            return Passed(is_on_stack=True)
        self._left.floats -= floats
        self._left.whole -= len(pieces) - floats
        return Passed(pieces)

    def _small(self, kind: Type) -> Passed:
        floats = _same_floats(kind) if self._machine == "aarch64" else None
        if floats is not None:
            element, count = floats
            width = size_of(element)
            name = _FLOATS[element.name]
            return Passed(tuple((i * width, name) for i in range(count)), group=f"[{count} x {name}]")
        if size_of(kind) > 2 * _WORD:
            return Passed()
        if size_of(kind) > _WORD:
            return Passed(((0, "i64"), (_WORD, "i64")), group="[2 x i64]")
        return Passed(((0, "i64"),))

    def result(self, kind: Type) -> Passed:
        """Return how a result is given."""
        if not isinstance(kind, StructType | ArrayType):
            return _SCALAR
        if self._is_windows:
            found = self._on_windows(kind)
            return _grouped(found.pieces) if found.pieces else Passed()
        if self._machine == "x86_64":
            return Passed() if size_of(kind) > 2 * _WORD else _grouped(eightbytes(kind))
        found = self._small(kind)
        return _grouped(found.pieces) if found.pieces else Passed()


def in_memory(kind: Type, triple: str) -> bool:
    """Return whether C gives a result of this type through an address."""
    found = Convention(triple, False).result(kind)
    return not found.is_scalar and not found.pieces


def _grouped(pieces: tuple[tuple[int, str], ...]) -> Passed:
    if len(pieces) == 1:
        return Passed(pieces, group=pieces[0][1])
    return Passed(pieces, group="{ " + ", ".join(text for _, text in pieces) + " }")


_FLOATS = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}
_FLOAT_PIECES = ("half", "float", "double")


def eightbytes(kind: Type) -> tuple[tuple[int, str], ...]:
    """Return the words of a struct of at most 16 bytes, in the class of registers that each goes to."""
    size, found = size_of(kind), list[tuple[int, str]]()
    leaves = list(_leaves(kind, 0))
    for start in range(0, size, _WORD):
        inside = [(at, leaf) for at, leaf in leaves if start <= at < start + _WORD]
        rest = min(size - start, _WORD)
        if inside and all(isinstance(leaf, FloatType) for _, leaf in inside):
            used = max(at + size_of(leaf) for at, leaf in inside) - start
            found.append((start, "half" if used == 2 else "float" if used <= 4 else "double"))
        else:
            found.append((start, f"i{8 * rest}"))
    return tuple(found)


def _leaves(kind: Type, at: int) -> Iterator[tuple[int, Type]]:
    match kind:
        case StructType(fields):
            for offset, field in zip(kind.offsets, fields, strict=True):
                yield from _leaves(field, at + offset)
        case ArrayType(element, count):
            for index in range(count):
                yield from _leaves(element, at + index * size_of(element))
        case _:
            yield at, kind


def _same_floats(kind: Type) -> tuple[FloatType, int] | None:
    """Return the one type of float that a struct is made of, and how many there are: at most four."""
    leaves = [leaf for _, leaf in _leaves(kind, 0)]
    first = leaves[0]
    if isinstance(first, FloatType) and len(leaves) <= 4 and all(leaf == first for leaf in leaves):
        return first, len(leaves)
    return None


def alignment(kind: Type) -> int:
    """Return the alignment of a value on the stack, in bytes."""
    return max(align_of(kind), _WORD)
