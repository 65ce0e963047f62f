"""Types in LLVM's text: how far they reach, their sizes, and where their parts are."""

import re

_SCALARS = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8, "x86_fp80": 16, "fp128": 16}
_CLOSING = {"<": ">", "[": "]", "{": "}", "(": ")"}
_WORD = re.compile(r"[\w.]+")
_COUNTED = re.compile(r"[<\[]\s*(\d+) x ")


def type_end(text: str, start: int) -> int:
    """Return where the type ends that begins at `start`."""
    if text[start] not in _CLOSING:
        match = _WORD.match(text, start)
        return match.end() if match else start
    depth = 0
    for at in range(start, len(text)):
        if text[at] in _CLOSING:
            depth += 1
        elif text[at] in ">]})":
            depth -= 1
            if depth == 0:
                return at + 1
    return len(text)


def split(text: str) -> list[str]:
    """Return the parts between the commas that stand outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        if char in _CLOSING:
            depth += 1
        elif char in ">]})":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def size_of(kind: str) -> int:
    """Return a type's bytes in memory; 0 for what is not known."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind[0] == "i" and kind[1:].isdigit():
        bits = int(kind[1:])
        return bits // 8 if bits % 8 == 0 and bits <= 64 else 16 if bits == 128 else -(-bits // 8)
    count, element = _counted(kind)
    if element:
        if kind[0] == "<" and element == "i1":
            return -(-count // 8)
        return count * size_of(element)
    if kind[0] == "{":
        return _struct(kind)[1]
    return 0


def _align_of(kind: str) -> int:
    if kind[0] == "[":
        return _align_of(_counted(kind)[1])
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


def _counted(kind: str) -> tuple[int, str]:
    match = _COUNTED.match(kind)
    if match is None:
        return 0, ""
    return int(match.group(1)), kind[match.end() : -1].strip()


def lanes(kind: str) -> tuple[int, int]:
    """Return the number of a vector's lanes and the bytes of one; (0, 0) of what is no vector of whole bytes."""
    if not kind.startswith("<"):
        return 0, 0
    count, element = _counted(kind)
    return (0, 0) if element == "i1" else (count, size_of(element))


def constant_offset(kind: str, indices: list[str]) -> int | None:
    """Return how many bytes a `getelementptr` over a type moves; None if that is not constant."""
    total = 0
    for place, index in enumerate(indices):
        word = index.split()[-1]
        if not word.lstrip("-").isdigit():
            return None
        number = int(word)
        if place == 0:
            total += number * size_of(kind)
        elif kind[0] == "{":
            total += _struct(kind)[0][number]
            kind = split(kind[1:-1])[number]
        else:
            kind = _counted(kind)[1]
            if not kind:
                return None
            total += number * size_of(kind)
    return total
