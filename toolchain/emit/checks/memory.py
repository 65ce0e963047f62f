"""Accesses as LLVM writes them: loads, stores, atomics."""

from ktc.base.records import record
from ktc.emit.checks import check_locations
from ktc.emit.checks.layout import size_of
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.scanning import without_spaces

_ACQUIRES, _RELEASES = ("acquire", "acq_rel", "seq_cst"), ("release", "acq_rel", "seq_cst")
_COPIES = ("memcpy", "memmove", "memset")
_CODES = ("load", "store", "atomicrmw", "cmpxchg")


@record
class Access:
    """One access.

    Args:
        kind: type of what is read or written. value: what is written, or "".
        flags: as of a site. changes: the operation of an atomic, or "".
    """

    pointer: str
    kind: str
    value: str
    align: int
    flags: int
    changes: str = ""

    @property
    def size(self) -> int:
        """Bytes."""
        return size_of(self.kind)

    @property
    def is_atomic(self) -> bool:
        """Return whether it is one that other threads may do at once."""
        return bool(self.flags & check_locations.ATOMIC)


def access_of(one: Instruction) -> Access | None:
    """Return the access that an instruction is; None where it is none, or its size is not known."""
    if one.op not in _CODES:
        return None
    found = _access(one)
    return found if found.size else None


def copy_of(one: Instruction) -> str:
    """Return which of "memcpy", "memmove" and "memset" an instruction is, or ""."""
    if one.op != "call" or not one.callee.startswith("llvm.mem"):
        return ""
    name = one.callee.split(".")[1]
    return name if name in _COPIES else ""


def lifetime_of(one: Instruction) -> str:
    """Return the local whose lifetime begins with an instruction, or ""."""
    return one.arguments[-1].value if one.op == "call" and one.callee.startswith("llvm.lifetime.start.") else ""


def _access(one: Instruction) -> Access:
    align = one.align or 1
    if one.op == "load":
        flags = _plain_flags(one)
        kind = without_spaces(one.accessed[0])
        return Access(one.values[0], kind, "", align, flags, "load" if flags else "")
    if one.op == "store":
        flags, (value, place) = _plain_flags(one), one.operands
        changes = "store" if flags else ""
        return Access(
            place.value, without_spaces(value.type), value.value, align, flags | check_locations.WRITE, changes
        )
    place, value, *_ = one.operands
    kind = without_spaces(value.type)
    if one.op == "cmpxchg":
        flags = check_locations.ATOMIC | check_locations.WRITE | check_locations.MUST_BE_SET | _order(one)
        return Access(place.value, kind, "", align, flags, "cmpxchg")
    operation = one.operation
    is_load = operation in ("add", "sub", "or", "xor") and value.value == "0"
    flags = check_locations.ATOMIC | _order(one) | (0 if is_load else check_locations.WRITE)
    flags |= 0 if operation == "xchg" else check_locations.MUST_BE_SET
    return Access(place.value, kind, value.value, align, flags, "load" if is_load else operation)


def _plain_flags(one: Instruction) -> int:
    """Return the flags of a load or store: a volatile one counts as atomic."""
    return check_locations.ATOMIC | _order(one) if one.is_atomic or one.is_volatile else 0


def _order(one: Instruction) -> int:
    word = one.ordering
    return check_locations.ACQUIRE * (word in _ACQUIRES) | check_locations.RELEASE * (word in _RELEASES)
