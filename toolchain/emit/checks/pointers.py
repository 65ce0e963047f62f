"""Where a pointer comes from: the pointer that it was computed from, which says what memory is meant."""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from ktc.base.records import record
from ktc.emit.checks.body import Body
from ktc.emit.checks.layout import constant_offset, size_of
from ktc.emit.checks.memory import access_of
from ktc.emit.checks.source_locations import PlaceOf
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.operands import Operand
from ktc.emit.llvm_text.scanning import GLOBAL, without_spaces

_SHARED = re.compile(r"%shared(?:\.i\d*)*$")
_GLOBAL = re.compile(GLOBAL)
_VARIABLE = re.compile(r"^; ktc\.shared (\d+) (\d+)( own)?$", re.MULTILINE)
_ARGUMENT = re.compile(r"%a(\d+)$")
_POINTER_STRUCT = re.compile(r"\{ ptr(?:, \w+)* \}")
_PLAIN = ("freeze", "bitcast", "addrspacecast")


@record
class Step:
    """A `getelementptr`: from `base`, by constants or not."""

    kind: str
    base: str
    indices: tuple[Operand, ...]

    @property
    def distance(self) -> int | None:
        """How far it goes in bytes, if that is constant."""
        return constant_offset(self.kind, [index.value for index in self.indices])


def step_of(one: Instruction) -> Step | None:
    """Return the parts of a `getelementptr`; None for another instruction."""
    if one.op != "getelementptr":
        return None
    base, *indices = one.operands
    return Step(without_spaces(one.source_type), base.value, tuple(indices))


def variables_of(text: str) -> list[tuple[int, int]]:
    """Return places and sizes of variables in shared memory, listed in the text until LLVM has read it."""
    return [(int(at), int(size)) for at, size, _ in _VARIABLE.findall(text)]


def unwatched_of(text: str) -> frozenset[int]:
    """Return the places of those whose accesses are not looked at."""
    return frozenset(int(at) for at, _, is_own in _VARIABLE.findall(text) if is_own)


class Pointers:
    """The pointers of one function.

    Args:
        constants: the module's, and their bytes. unwatched: see `unwatched_of`.
    """

    def __init__(self, body: Body, constants: Mapping[str, int], unwatched: AbstractSet[int] = frozenset()) -> None:
        self._unwatched = unwatched
        self._body, self.constants = body, constants
        self._roots: dict[str, str] = {}
        self.arrays = self._find_arrays()

    def root(self, value: str) -> str:
        """Return the base of a pointer: an alloca, a global, an argument, or a value that was loaded or chosen."""
        if value not in self._roots:
            self._roots[value] = self._root(value, set())
        return self._roots[value]

    def _root(self, value: str, seen: set[str]) -> str:
        if value in seen:
            return ""
        seen.add(value)
        one = self._body.defined.get(value)
        if one is None:
            named = _GLOBAL.search(value)
            return named.group() if named else value
        if one.op == "getelementptr":
            step = step_of(one)
            if step is None:
                return value
            if _SHARED.match(step.base) and step.distance is not None:
                return value  # one of the variables in shared memory
            return self._root(step.base, seen)
        if one.op in _PLAIN:
            return self._root(one.values[0], seen)
        if one.op == "extractvalue":
            held = self._inserted(one)
            return self._root(held, seen) if held else value
        if one.op in ("phi", "select"):
            values = one.values if one.op == "phi" else one.values[1:]
            roots = {self._root(arm, seen) for arm in values} - {""}
            return roots.pop() if len(roots) == 1 else value
        return value

    def _inserted(self, one: Instruction) -> str:
        """Return the value that an `extractvalue` takes out of a struct that is put together here, or ""."""
        if not _POINTER_STRUCT.fullmatch(one.operands[0].type) or len(one.indices) != 1:
            return ""
        held = one.values[0]
        while (made := self._body.defined.get(held)) is not None and made.op == "insertvalue":
            held, inserted = made.values
            if made.indices == one.indices:
                return inserted
        return ""

    def shared_offset(self, root: str) -> int | None:
        """Return where in shared memory the variable is that a root means; None if it is none."""
        if _SHARED.match(root):
            return 0
        one = self._body.defined.get(root)
        step = step_of(one) if one is not None and one.op == "getelementptr" else None
        return step.distance if step is not None and _SHARED.match(step.base) else None

    def is_unwatched(self, root: str) -> bool:
        """Return whether a root is memory of the library's own, whose accesses are not looked at."""
        return bool(self._unwatched) and self.shared_offset(root) in self._unwatched

    def is_constant(self, root: str) -> bool:
        """Return whether a root is a constant of the module."""
        return root in self.constants

    def alloca(self, root: str) -> str:
        """Return the type of the local that a root is, or ""."""
        one = self._body.defined.get(root)
        return one.allocated if one is not None and one.op == "alloca" and not one.operands else ""

    def _find_arrays(self) -> dict[str, int]:
        """Return the sizes of the locals whose indices are not all constants."""
        found: dict[str, int] = {}
        for one in self._body.instructions:
            if one.op != "getelementptr":
                continue
            step = step_of(one)
            if step is None or step.distance is not None:
                continue
            root = self.root(step.base)
            kind = self.alloca(root)
            if kind:
                found[root] = size_of(kind)
        return found

    def escapes(self, root: str) -> bool:
        """Return whether a local's address goes where its accesses are not seen."""
        work, seen = [root], {root}
        while work:
            value = work.pop()
            for use in self._body.uses.get(value, ()):
                if use.op == "load" or (use.op == "store" and use.values[0] != value):
                    continue
                if use.op == "getelementptr" and use.name:
                    if use.name not in seen:
                        seen.add(use.name)
                        work.append(use.name)
                elif not use.callee.startswith("llvm."):
                    return True
        return False

    def argument_of(self, root: str) -> int:
        """Return which argument of the kernel a pointer is, from 1 on, and at which byte of it, shifted; 0: none."""
        one, offset = self._body.defined.get(root), 0
        if one is not None and one.op == "load":
            access = access_of(one)
            held = self._body.defined.get(access.pointer) if access is not None else None
            root = access.pointer if access is not None else ""
            step = step_of(held) if held is not None and held.op == "getelementptr" else None
            if step is not None:
                root, offset = step.base, step.distance if step.distance is not None else -1
        match = _ARGUMENT.match(root)
        return 0 if match is None or not 0 <= offset < 1 << 16 else (int(match.group(1)) + 1) | offset << 8


@record
class CheckedFunction:
    """A function that gets checks: its instructions, its pointers, and the places of its instructions."""

    body: Body
    pointers: Pointers
    place_of: PlaceOf
