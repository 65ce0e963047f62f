"""The accesses of a kernel for a GPU that are compared with their memory, together where one comparison is enough."""

from ktc.base.records import entity, record
from ktc.emit.checks import check_locations as kinds
from ktc.emit.checks.body import Body
from ktc.emit.checks.gpu.origins import ARGUMENT, CHOSEN, OWN, SHARED, Origin, Origins
from ktc.emit.checks.memory import access_of, copy_of
from ktc.emit.checks.source_locations import Place, PlaceOf
from ktc.emit.llvm_text.instructions import Instruction

IN_SHARED, IN_ARRAY = 512, 1024
"""Flags of sites, as in `inline`."""
PASSED = (ARGUMENT, CHOSEN)
"""Origins whose memory the launch passes."""
_MAX = 16
"""Groups for which one branch stands."""
_FARTHEST = 1 << 20
"""Bytes between accesses that one comparison serves."""


@record
class Piece:
    """One access of a group: where it is and how far from the group's base.

    Args:
        one: the instruction. at, size: bytes. align: of its address.
    """

    one: Instruction
    at: int
    size: int
    align: int
    flags: int
    place: Place


@entity
class Group:
    """Accesses of one block whose addresses differ by constants: one comparison is enough.

    Args:
        pointer: that of the first, or the constant that it is computed from; at: how far it is in the same measure.
    """

    origin: Origin
    pointer: str
    at: int
    pieces: list[Piece]

    def takes(self, piece: Piece) -> bool:
        """Return whether one look at the first address says that this one is aligned, too, and near enough."""
        distance = piece.at - self.pieces[0].at
        return distance % piece.align == 0 and abs(distance) < _FARTHEST


def groups_of(body: Body, origins: Origins, place_of: PlaceOf) -> list[Group]:
    """Return the accesses of a kernel that may be wrong, those together that one comparison serves."""
    found: list[Group] = []
    open_: dict[tuple[object, ...], Group] = {}
    block = -1
    for one in body.instructions:
        if one.block != block or _is_call(one):
            open_, block = {}, one.block
        place = place_of(one)
        for pointer, size, align, flags in _accesses(one) if place is not None else ():
            origin = origins.of(pointer)
            if origin is None or place is None or (origin.kind == OWN and not origin.size):
                continue
            terms, distance = origins.terms(pointer)
            if origin.kind not in PASSED and terms == (origin.root,) and 0 <= distance <= origin.size - size:
                continue
            flags |= {SHARED: IN_SHARED, OWN: IN_ARRAY}.get(origin.kind, 0)
            piece = Piece(one, distance, size, align, flags, place)
            group = open_.get(terms)
            if group is None or group.origin != origin or not group.takes(piece):
                name, at = (pointer, distance) if pointer.startswith("%") else (origin.root, 0)
                group = open_[terms] = Group(origin, name, at, [])
                found.append(group)
            group.pieces.append(piece)
    return found


def bundles_of(body: Body, groups: list[Group]) -> dict[int, list[Group]]:
    """Return by line of the first access the groups for which one branch is enough: their addresses are known there."""
    found: dict[int, list[Group]] = {}
    first, segment = -1, -1
    for group in groups:
        one = group.pieces[0].one
        names = (group.pointer, group.origin.root)
        is_known = all(name not in body.defined or body.defined[name].line < first for name in names)
        if one.block != segment or not is_known or len(found[first]) == _MAX or _calls_between(body, first, one.line):
            first, segment = one.line, one.block
        found.setdefault(first, []).append(group)
    return found


def _calls_between(body: Body, first: int, last: int) -> bool:
    return any(first < one.line < last and _is_call(one) for one in body.instructions)


def _is_call(one: Instruction) -> bool:
    """Return whether an instruction may not come back."""
    return one.op == "call" and not one.callee.startswith(("llvm.", "ktc."))


def _accesses(one: Instruction) -> list[tuple[str, int, int, int]]:
    """Return the pointers of an instruction, with bytes, alignment and flags."""
    access = access_of(one)
    if access is not None:
        return [(access.pointer, access.size, access.align, access.flags & (kinds.WRITE | kinds.ATOMIC))]
    copies = copy_of(one)
    if not copies:
        return []
    words = one.values
    if not words[2].isdigit() or int(words[2]) == 0:
        return []
    pieces = [(words[0], int(words[2]), 1, kinds.WRITE)]
    return pieces if copies == "memset" else [*pieces, (words[1], int(words[2]), 1, 0)]
