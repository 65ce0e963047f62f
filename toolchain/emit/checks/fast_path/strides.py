"""How far apart the addresses of neighbouring threads are."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from ktc.emit.checks.body import Body
from ktc.emit.checks.fast_path.barrier_shape import Shape
from ktc.emit.checks.layout import size_of
from ktc.emit.checks.memory import access_of
from ktc.emit.checks.pointers import Pointers, step_of
from ktc.emit.llvm_text.instructions import Instruction

Stride = tuple[int, frozenset[int]] | None
"""A number, and the first blocks of the loops in which it is one."""

_NEIGHBOURS = ("%s0", "%s12", "%s13")
"""The values that differ between threads that are neighbours in x: the index, the lane, the warp."""
_KEEPING = ("zext", "sext", "trunc", "freeze", "bitcast", "ptrtoint", "inttoptr")
_UNLIKE = ("call", "atomicrmw", "cmpxchg", "alloca")
_ALWAYS = frozenset[int]()


class Strides:
    """Strides of a function's values: the difference between a thread's value and that of its neighbour in x.

    Args:
        loops: the blocks of each loop by its first block.
    """

    def __init__(self, body: Body, pointers: Pointers, loops: Mapping[int, AbstractSet[int]]) -> None:
        self._body, self._pointers, self._loops = body, pointers, loops
        self._known: dict[str, Stride] = {}
        self._open: set[str] = set()
        self._assumed: set[str] = set()
        """Values that are being looked at."""

    def of(self, value: str, block: int) -> int | None:
        """Return the stride of a number, or of an address in bytes, as a block sees it; None: no constant one."""
        found = self._stride(value)
        if found is None or not all(block in self._loops.get(head, ()) for head in found[1]):
            return None
        return found[0]

    def blocks_of_one(self, shape: Shape) -> set[int]:
        """Return the blocks that one thread of a row runs, as under `if t == 0`."""
        found = set[int]()
        for branch, number, below in shape.ways():
            one = self._body.defined.get(branch.condition)
            if one is None or one.predicate != ("ne" if number else "eq"):
                continue
            strides = [self.of(value, one.block) for value in one.values]
            if None not in strides and strides[0] != strides[1]:
                found |= below()
        return found

    def _stride(self, value: str) -> Stride:
        if value == "%s0":
            return 1, _ALWAYS
        if value in _NEIGHBOURS:
            return None
        one = self._body.defined.get(value)
        if one is None:
            return 0, _ALWAYS  # a constant or an argument
        if value not in self._known:
            self._known[value] = None  # on a way around
            self._open.add(value)
            self._known[value] = self._of(one)
            self._open.discard(value)
        return self._known[value]

    def _of(self, one: Instruction) -> Stride:
        if one.op == "getelementptr":
            return self._of_step(one)
        if one.op == "phi":
            return self._of_phi(one)
        if one.op in _KEEPING:
            return self._stride(one.values[0])
        if one.op == "load":
            return self._of_load(one)
        if one.op in _UNLIKE:
            return None
        parts = one.values
        strides = [self._stride(part) for part in parts]
        found = [stride for stride in strides if stride is not None]
        if len(found) < len(strides):
            return None
        heads = frozenset[int]().union(*(stride[1] for stride in found))
        number = _combined(one, parts, [stride[0] for stride in found])
        return None if number is None else (number, heads)

    def _of_load(self, one: Instruction) -> Stride:
        access = access_of(one)
        if access is None or access.is_atomic or self._pointers.alloca(self._pointers.root(access.pointer)):
            return None
        found = self._stride(access.pointer)
        return found if found is not None and found[0] == 0 else None

    def _of_step(self, one: Instruction) -> Stride:
        step = step_of(one)
        base = self._stride(step.base) if step is not None else None
        if step is None or base is None:
            return None
        if step.distance is not None:
            return base
        index = self._stride(step.indices[0].value) if len(step.indices) == 1 else None
        return None if index is None else (base[0] + index[0] * size_of(step.kind), base[1] | index[1])

    def _of_phi(self, one: Instruction) -> Stride:
        """A loop's number: what all threads have alike, or what it begins with and what is added alike in each turn."""
        values = [value for value, _ in one.incoming]
        if len(values) == 2 and one.block in self._loops and self._is_alike(one, values):
            return 0, frozenset({one.block})
        starts = [value for value in values if not self._adds_to(one.name, value)]
        if len(values) != 2 or len(starts) != 1:
            return None
        start = self._stride(starts[0])
        return None if start is None else (start[0], start[1] | {one.block})

    def _is_alike(self, one: Instruction, values: list[str]) -> bool:
        """Return whether a loop's number is the same for all threads if it was so in the turn before."""
        known = self._known
        dropped = self._open - self._assumed  # of loops around it stays what is assumed of them
        self._known = {name: stride for name, stride in known.items() if name not in dropped}
        self._known[one.name] = 0, frozenset({one.block})
        self._assumed.add(one.name)
        found = [self._stride(value) for value in values]
        self._assumed.discard(one.name)
        if all(stride is not None and stride[0] == 0 for stride in found):
            return True
        self._known = known
        return False

    def _adds_to(self, name: str, value: str) -> bool:
        one = self._body.defined.get(value)
        if one is None or one.op != "add":
            return False
        others = [value for value in one.values if value != name]
        added = self._stride(others[0]) if len(others) == 1 else None
        return added is not None and added[0] == 0


def _combined(one: Instruction, parts: tuple[str, ...], numbers: list[int]) -> int | None:
    if not any(numbers):
        return 0
    if one.op in ("add", "sub") or (one.op == "or" and "disjoint" in one.flags):
        return numbers[0] - numbers[1] if one.op == "sub" else numbers[0] + numbers[1]
    if one.op in ("mul", "shl") and parts[1].isdigit():
        return numbers[0] * (int(parts[1]) if one.op == "mul" else 1 << int(parts[1]))
    return numbers[1] * int(parts[0]) if one.op == "mul" and parts[0].isdigit() else None
