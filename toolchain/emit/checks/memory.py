"""Accesses as LLVM writes them: loads, stores, atomics."""

import re

from ktc.base.records import record
from ktc.emit.checks import sites
from ktc.emit.checks.body import Instruction
from ktc.emit.checks.layout import size_of, split, type_end

_ALIGN = re.compile(r", align (\d+)")
_SCOPED = re.compile(r"( syncscope\([^)]*\))?( (unordered|monotonic|acquire|release|acq_rel|seq_cst))?$")
_ORDERING = re.compile(r"\b(unordered|monotonic|acquire|release|acq_rel|seq_cst)\b")
_ACQUIRES, _RELEASES = ("acquire", "acq_rel", "seq_cst"), ("release", "acq_rel", "seq_cst")
_RMW = re.compile(r"atomicrmw (?:volatile )?(\w+) ptr (\([^()]*\)|[^,()]*(?:\(.*?\))?), ")


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
        return bool(self.flags & sites.ATOMIC)


def access_of(one: Instruction) -> Access | None:
    """Return the access that an instruction is."""
    reader = {"load": _load, "store": _store, "atomicrmw": _rmw, "cmpxchg": _exchange}.get(one.code)
    found = reader(one.text) if reader is not None else None
    return found if found is not None and found.size else None


def _align(text: str) -> int:
    match = _ALIGN.search(text)
    return int(match.group(1)) if match else 1


def _plain(pointer: str) -> str:
    """Return a pointer without the scope and the order that follow it."""
    return pointer.split(maxsplit=1)[0] if pointer[0] in "%@" else _SCOPED.sub("", pointer)


def _order(text: str) -> int:
    match = _ORDERING.search(text)
    word = match.group(1) if match else ""
    return sites.ACQUIRE * (word in _ACQUIRES) | sites.RELEASE * (word in _RELEASES)


def _words(text: str, code: str) -> tuple[str, int]:
    """Return the text after the words that say that an access is atomic, and flags."""
    rest, flags = text[len(code) + 1 :], 0
    for word in ("atomic ", "volatile "):
        if rest.startswith(word):
            rest, flags = rest[len(word) :], flags | sites.ATOMIC
    return rest, flags


def _load(text: str) -> Access | None:
    rest, flags = _words(text, "load")
    end = type_end(rest, 0)
    space, _, pointer = split(rest[end + 1 :])[0].partition(" ")
    if space != "ptr":
        return None
    pointer = _plain(pointer)
    flags |= _order(rest[end:]) if flags else 0
    return Access(pointer, rest[:end], "", _align(text), flags, "load" if flags else "")


def _store(text: str) -> Access | None:
    rest, flags = _words(text, "store")
    end = type_end(rest, 0)
    value, _, target = rest[end + 1 :].rpartition(", ptr ")
    if not value:
        return None
    flags |= _order(target) if flags else 0
    return Access(
        _plain(split(target)[0]), rest[:end], value, _align(text), flags | sites.WRITE, "store" if flags else ""
    )


def _rmw(text: str) -> Access | None:
    match = _RMW.match(text)
    if match is None:
        return None
    rest = text[match.end() :]
    end = type_end(rest, 0)
    value = split(rest[end + 1 :])[0].split()[0]
    op = match.group(1)
    is_load = op in ("add", "sub", "or", "xor") and value == "0"
    flags = sites.ATOMIC | _order(rest[end + 1 :]) | (0 if is_load else sites.WRITE)
    flags |= 0 if op == "xchg" else sites.MUST_BE_SET
    return Access(match.group(2), rest[:end], value, _align(text), flags, "load" if is_load else op)


def _exchange(text: str) -> Access | None:
    parts = split(text[len("cmpxchg ") :].removeprefix("weak ").removeprefix("volatile "))
    pointer = parts[0].split()[1]
    kind = parts[1].split()[0]
    flags = sites.ATOMIC | sites.WRITE | sites.MUST_BE_SET | _order(parts[2])
    return Access(pointer, kind, "", _align(text), flags, "cmpxchg")
