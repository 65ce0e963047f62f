"""Types in memory: their sizes, and where their parts are."""

from collections.abc import Sequence

from ktc.emit.llvm_text.scanning import counted, split

_SCALARS = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8, "x86_fp80": 16, "fp128": 16}


def size_of(kind: str) -> int:
    """Return a type's bytes in memory; 0 if they are not known."""
    size = _SCALARS.get(kind)
    if size is not None:
        return size
    if kind[0] == "i" and kind[1:].isdigit():
        bits = int(kind[1:])
        return bits // 8 if bits % 8 == 0 and bits <= 64 else 16 if bits == 128 else -(-bits // 8)
    count, element = counted(kind)
    if element:
        if kind[0] == "<" and element == "i1":
            return -(-count // 8)
        return count * size_of(element)
    if kind[0] == "{":
        return _struct(kind)[1]
    return _SCALARS["ptr"] if kind.startswith("ptr ") else 0


def _align_of(kind: str) -> int:
    if kind[0] == "[":
        return _align_of(counted(kind)[1])
    if kind[0] == "{":
        return max((_align_of(part) for part in split(kind[1:-1])), default=1)
    size = max(size_of(kind), 1)
    power = 1
    while power < size:
        power *= 2
    return min(power, 64)


def _struct(kind: str) -> tuple[tuple[int, ...], int]:
    at, places, align = 0, [], 1
    for part in split(kind[1:-1]):
        own = _align_of(part)
        at = -(-at // own) * own
        places.append(at)
        at += size_of(part)
        align = max(align, own)
    return tuple(places), -(-at // align) * align


def lanes(kind: str) -> tuple[int, int]:
    """Return the number of a vector's lanes and the bytes of one; (0, 0) for any type but a vector of whole bytes."""
    if not kind.startswith("<"):
        return 0, 0
    count, element = counted(kind)
    return (0, 0) if element == "i1" else (count, size_of(element))


def constant_offset(kind: str, indices: Sequence[str]) -> int | None:
    """Return how many bytes a `getelementptr` over a type moves by these values; None if that is not constant."""
    total = 0
    for place, word in enumerate(indices):
        if not word.lstrip("-").isdigit():
            return None
        number = int(word)
        if place == 0:
            total += number * size_of(kind)
        elif kind[0] == "{":
            total += _struct(kind)[0][number]
            kind = split(kind[1:-1])[number]
        else:
            kind = counted(kind)[1]
            if not kind:
                return None
            total += number * size_of(kind)
    return total
