"""Where the pointers of a GPU's kernel come from: the launch, shared memory, or the thread's own."""

import re

from ktc.base.records import record
from ktc.emit.checks.body import Body
from ktc.emit.checks.layout import constant_offset, size_of
from ktc.emit.checks.memory import access_of
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import Module
from ktc.emit.llvm_text.operands import operand
from ktc.emit.llvm_text.scanning import GLOBAL, inside, split

_GLOBAL = re.compile(GLOBAL)
_CONSTANT = re.compile(r"getelementptr (?:\w+ |inrange\([^)]*\) )*\((.*)\)$")
_ARITHMETIC = ("add", "sub", "mul", "shl", "or")
_DEEPEST = 12
_IN_SHARED = 3
_VALUE = re.compile(r"\bby(?:val|ref)(?=\()")
_CASTS = ("addrspacecast", "bitcast", "freeze", "inttoptr", "ptrtoint")

ARGUMENT, CHOSEN, SHARED, OWN = "argument", "chosen", "shared", "own"


@record
class Origin:
    """The memory that a pointer means.

    Args:
        kind: `ARGUMENT`; `CHOSEN`, one of several of those; `SHARED` or `OWN`.
        root: the pointer that all is computed from.
        source: of an argument's pointer which one it is, see `header`. size: bytes of what has a known size, else 0.
    """

    kind: str
    root: str
    source: int = 0
    size: int = 0


_AGAIN = Origin("", "")
"""Stands for a value that is being looked at: it depends on itself."""


class Origins:
    """The pointers of one kernel.

    Args:
        module: its variables in shared memory are known.
    """

    def __init__(self, body: Body, module: Module) -> None:
        self._body = body
        self._shared = {one.name: size_of(one.type) for one in module.globals() if one.space == _IN_SHARED}
        self._values: dict[str, int] = {}
        self._arguments: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._known: dict[str, Origin | None] = {}
        for number, one in enumerate(body.function.signature.parameters, 1):
            held = _VALUE.search(one.attributes)
            if held is not None:
                self._values[one.value] = size_of(inside(one.attributes, held.end()))
            elif one.type.startswith("ptr"):
                self._arguments[one.value] = number
            self._numbers[one.value] = number

    def of(self, pointer: str) -> Origin | None:
        """Return the origin of a pointer; None if it is not known."""
        if pointer not in self._known:
            found = self._find(pointer, set())
            self._known[pointer] = None if found == _AGAIN else found
        return self._known[pointer]

    def step(self, pointer: str) -> tuple[str, int]:
        """Return a pointer's last step that is not constant, and the constant bytes after it."""
        distance = 0
        while True:
            one = self._body.defined.get(pointer)
            if one is None or one.op != "getelementptr":
                return pointer, distance
            base, steps = self._parts(one)
            if steps is None:
                return pointer, distance
            pointer, distance = base, distance + steps

    def terms(self, pointer: str) -> tuple[tuple[object, ...], int]:
        """Return a pointer as a base and numbers with factors, and the constant bytes that are added to it."""
        found: dict[str, int] = {}
        distance = 0
        constant = _CONSTANT.match(pointer)
        if constant is not None:
            kind, base, *indices = split(constant.group(1))
            steps = constant_offset(kind, [operand(index).value for index in indices])
            return (operand(base).value,), steps or 0
        while True:
            one = self._body.defined.get(pointer)
            if one is None or one.op != "getelementptr":
                break
            base, *indices = one.values
            steps = constant_offset(one.source_type, indices)
            if steps is None and len(indices) != 1:
                break
            distance += self._add(indices[0], size_of(one.source_type), found, 0) if steps is None else steps
            pointer = base
        listed = tuple(sorted([(name, factor) for name, factor in found.items() if factor]))
        return (pointer, *listed), _signed(distance)

    def _add(self, name: str, factor: int, found: dict[str, int], depth: int) -> int:
        """Add a whole number of 64 bits to a sum; returns what of it is constant."""
        if name.lstrip("-").isdigit():
            return int(name) * factor
        one = self._body.defined.get(name)
        if one is not None and depth < _DEEPEST and _is_sum(one):
            left, right = one.values
            if one.op in ("add", "sub", "or"):
                other = -factor if one.op == "sub" else factor
                return self._add(left, factor, found, depth + 1) + self._add(right, other, found, depth + 1)
            if right.isdigit():
                more = int(right) if one.op == "mul" else 1 << min(int(right), 63)
                return self._add(left, factor * more, found, depth + 1)
        found[name] = found.get(name, 0) + factor
        return 0

    def keeps_alignment(self, pointer: str, root: str, align: int) -> bool:
        """Return whether a pointer is as aligned as the one that it was computed from."""
        while pointer != root:
            one = self._body.defined.get(pointer)
            if one is None or one.op != "getelementptr":
                return False
            base, *indices = one.values
            distance = constant_offset(one.source_type, indices)
            if distance is None and (len(indices) > 1 or size_of(one.source_type) % align):
                return False
            if distance is not None and distance % align:
                return False
            pointer = base
        return True

    def _find(self, pointer: str, seen: set[str]) -> Origin | None:
        if pointer[0] != "%":
            named = _GLOBAL.search(pointer)
            if named is None or named.group() not in self._shared:
                return None
            return Origin(SHARED, named.group(), size=self._shared[named.group()])
        if pointer in seen:
            return _AGAIN
        seen.add(pointer)
        if pointer in self._arguments:
            return Origin(ARGUMENT, pointer, self._arguments[pointer])
        if pointer in self._values:
            return Origin(OWN, pointer, size=self._values[pointer])
        one = self._body.defined.get(pointer)
        if one is None:
            return None
        if one.op == "getelementptr":
            return self._find(self._parts(one)[0], seen)
        if one.op in _CASTS:
            return self._find(one.values[0], seen)
        if one.op == "alloca":
            return Origin(OWN, pointer, size=_alloca_size(one))
        if one.op == "load":
            return self._loaded(one)
        if one.op in ("phi", "select"):
            return self._chosen(one, seen)
        return None

    def _chosen(self, one: Instruction, seen: set[str]) -> Origin | None:
        """Return the origin of one of several values."""
        found = {self._find(value, seen) for value, _ in choices(one) if value != "poison"} - {_AGAIN}
        if len(found) <= 1:
            return found.pop() if found else _AGAIN
        are_passed = all(origin is not None and origin.kind in (ARGUMENT, CHOSEN) for origin in found)
        return Origin(CHOSEN, one.name) if found and are_passed else None

    def _loaded(self, one: Instruction) -> Origin | None:
        """Return the origin of a pointer that stands in a value which the launch passes."""
        access = access_of(one)
        if access is None or access.kind != "ptr":
            return None
        base, distance = self.step(access.pointer)
        while (held := self._body.defined.get(base)) is not None and held.op == "addrspacecast":
            base, more = self.step(held.values[0])
            distance += more
        if base not in self._values or not 0 <= distance < 1 << 16:
            return None
        return Origin(ARGUMENT, one.name, self._numbers[base] | distance << 8)

    def _parts(self, one: Instruction) -> tuple[str, int | None]:
        """Return the base of a `getelementptr` and how many bytes it goes, if that is constant."""
        base, *indices = one.values
        return base, constant_offset(one.source_type, indices)


def choices(one: Instruction) -> list[tuple[str, str]]:
    """Return the values of a `phi` or a `select`, those of a `phi` with their blocks."""
    if one.op == "phi":
        return one.incoming
    return [(value, "") for value in one.values[1:]]


def _signed(number: int) -> int:
    """Return a number of 64 bits with its sign."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _is_sum(one: Instruction) -> bool:
    """Return whether an instruction computes a number of 64 bits of which the parts can be told."""
    if one.op not in _ARITHMETIC or one.type != "i64":
        return False
    return one.flags == "disjoint " if one.op == "or" else True


def _alloca_size(one: Instruction) -> int:
    return size_of(one.allocated) if not one.operands else 0
