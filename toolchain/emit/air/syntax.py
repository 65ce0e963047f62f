"""Small scanners for LLVM text with typed pointers: a type, what stands in brackets, what commas part."""

import re

from ktc.diag.diagnostic import Bug

NAME = r'@(?:[-\w$.]+|"[^"]*")'
LOCAL = r'%(?:[-\w$.]+|"[^"]*")'
_OPEN, _CLOSE = "([{<", ")]}>"


def take_type(text: str) -> tuple[str, str]:
    """Split "T rest" into the type and the rest."""
    text = text.strip()
    if text[0] in "[{<":
        end = len(inside(text, 0)) + 2
    else:
        found = re.match(rf"{LOCAL}|\w+", text)
        if found is None:
            raise unsupported(text)
        end = found.end()
    while True:
        if suffix := re.match(r"(?: addrspace\(\d+\))?\*", text[end:]):
            end += suffix.end()
        elif text[end:].startswith(" (") and text[(after := end + len(inside(text, end + 1)) + 3) :].startswith("*"):
            end = after  # a pointer to a function
        else:
            break
    return text[:end], text[end:].strip()


def last_type(text: str) -> str:
    """Return the type that `text` ends with ("define internal noundef float " gives "float")."""
    text = text.strip()
    for start in range(len(text)):
        if start and text[start - 1] != " ":
            continue
        kind, rest = take_type(text[start:])
        if not rest:
            return kind
    raise unsupported(text)


def inside(text: str, start: int) -> str:
    """Return what stands between the bracket at `start` and the one that closes it."""
    depth = 0
    quoted = False
    for index in range(start, len(text)):
        character = text[index]
        if character == '"':
            quoted = not quoted
        if quoted:
            continue
        depth += (character in _OPEN) - (character in _CLOSE)
        if depth == 0:
            return text[start + 1 : index]
    raise unsupported(text)


def split(text: str) -> list[str]:
    """Split at the commas that stand in no bracket."""
    parts, depth, start, quoted = [], 0, 0, False
    for index, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        if quoted:
            continue
        depth += (character in _OPEN) - (character in _CLOSE)
        if character == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()]


def unsupported(text: str) -> Bug:
    """Return the `Bug` for a piece of LLVM text that has no form in AIR."""
    return Bug(f"this has no form in AIR: {' '.join(text.split())[:300]}", "emit")
