"""A kernel's use of memory that its threads share: the arguments that it changes, the variables between two barriers.

Input: a kernel's function. Output: `Usage`, for the fast path (`looped_kernel`).
"""

from ktc.base.records import entity
from ktc.emit.checks import check_locations as kinds
from ktc.emit.checks.fast_path.barrier_shape import Shape
from ktc.emit.checks.memory import Access, access_of, copy_of
from ktc.emit.checks.pointers import CheckedFunction
from ktc.emit.llvm_text.instructions import Instruction

READ, WRITE, ATOMIC = 1, 2, 4
"""Flags of a pointer: how the kernel uses its memory."""

_GRANULES = (1, 2, 4, 8)


class NoFastPath(Exception):
    """A kernel is not taken."""


@entity
class Root:
    """A pointer of the kernel's arguments.

    Args:
        origin: which argument, see `Pointers.argument_of`. flags: of `READ`, `WRITE` and `ATOMIC`. granule: bytes.
    """

    origin: int
    flags: int = 0
    granule: int = 8


class Usage:
    """The accesses of one kernel's function.

    Args:
        variables: places and sizes of the variables in shared memory.

    Raises:
        NoFastPath: it accesses memory of which too little is known.
    """

    def __init__(
        self,
        function: CheckedFunction,
        variables: list[tuple[int, int]],
        shape: Shape,
    ) -> None:
        self._body, self._pointers, self._place_of = function.body, function.pointers, function.place_of
        self._variables = variables
        self.roots: dict[int, Root] = {}
        """By origin."""
        self._found_accesses = self._accesses()
        self.granules = self._shared_granules()
        self.claiming = self._written_between(shape)

    def _accesses(self) -> list[tuple[Instruction, Access]]:
        """Return the accesses to memory that threads share; notes what is done with which argument's."""
        found = []
        for one in self._body.instructions:
            if copy_of(one):
                self._refuse_copy(one)
            access = access_of(one) if self._place_of(one) is not None else None
            if access is None:
                continue
            root = self._pointers.root(access.pointer)
            is_shared = not (self._pointers.is_unwatched(root) or self._pointers.is_constant(root))
            if not is_shared or self._pointers.alloca(root) or self.is_own(root):
                continue
            found.append((one, access))
            if self._pointers.shared_offset(root) is None:
                self._note(access, root)
            elif access.size not in _GRANULES and access.size % 8:
                raise NoFastPath("it has accesses of odd sizes")
        return found

    def is_own(self, pointer: str) -> bool:
        """Return whether a pointer comes from a local that holds the addresses of locals only."""
        one = self._body.defined.get(pointer)
        access = access_of(one) if one is not None and one.op == "load" else None
        holder = self._pointers.root(access.pointer) if access is not None else ""
        if not self._pointers.alloca(holder):
            return False
        work, seen = [holder], {holder}
        while work:
            value = work.pop()
            for use in self._body.uses.get(value, ()):
                if use.op == "getelementptr" and use.name not in seen:
                    seen.add(use.name)
                    work.append(use.name)
                elif not self._is_harmless(use, value):
                    return False
        return True

    def _is_harmless(self, use: Instruction, place: str) -> bool:
        """Return whether a use of a place for addresses puts none there but those of locals."""
        if use.op == "store":
            held = access_of(use)
            if held is None or held.value == place:
                return False
            return bool(self._pointers.alloca(self._pointers.root(held.value)))
        return use.op in ("load", "getelementptr") or use.callee.startswith("llvm.lifetime.")

    def _refuse_copy(self, one: Instruction) -> None:
        for given in one.arguments:
            root = self._pointers.root(given.value) if given.type == "ptr" else ""
            is_own = self._pointers.alloca(root) and root not in self._pointers.arrays
            if root and not is_own and not self._pointers.is_constant(root):
                raise NoFastPath("it copies memory")

    def _note(self, access: Access, pointer: str) -> None:
        origin = self._pointers.argument_of(pointer)
        if not origin or (access.size not in _GRANULES and access.size % 8):
            raise NoFastPath("it accesses what is no argument's")
        root = self.roots.setdefault(origin, Root(origin))
        root.granule = min(root.granule, access.size, max(access.align, 1))
        root.flags |= ATOMIC if access.is_atomic else WRITE if access.flags & kinds.WRITE else READ

    def _shared_granules(self) -> dict[int, int]:
        """Return for each variable in shared memory, by its place, the least bytes of an access."""
        found: dict[int, int] = {}
        for _, access in self._found_accesses:
            at = self.variable_of(access)
            if at is not None:
                found[at] = min(found.get(at, 8), access.size, max(access.align, 1))
        return found

    def variable_of(self, access: Access) -> int | None:
        """Return the place of the variable in shared memory that an access means."""
        offset = self._pointers.shared_offset(self._pointers.root(access.pointer))
        if offset is None:
            return None
        for at, size in self._variables:
            if at <= offset < at + size:
                return at
        return max([at for at, size in self._variables if not size and at <= offset], default=0)

    def _written_between(self, shape: Shape) -> set[int]:
        """Return the lines of accesses to shared memory that is written, not by atomics alone, between two barriers."""
        by_line = {one.line: access for one, access in self._found_accesses}
        found = set()
        for region in shape.regions():
            inside: dict[int, list[tuple[int, Access]]] = {}
            for one in region:
                access = by_line.get(one.line)
                at = self.variable_of(access) if access is not None else None
                if access is not None and at is not None:
                    inside.setdefault(at, []).append((one.line, access))
            for accesses in inside.values():
                writes = {access.is_atomic for _, access in accesses if access.flags & kinds.WRITE}
                if writes and (False in writes or not all(access.is_atomic for _, access in accesses)):
                    found |= {line for line, _ in accesses}
        return found
