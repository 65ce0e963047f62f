"""Notes on PTX text for the library's loader: whether a function in it may call itself.

ptxas cannot compute how much stack such a kernel needs, and the driver then gives each thread 1 KiB. The library
(`gpu/host/_driver/kernels.kpy`) asks for more when it loads a text that begins with `RECURSION`.
"""

import re

RECURSION = b"// recursion\n"

CODE = b"\x7fKTCSASS"
"""Begins an image that has machine code beside its text. Then come, as u64, where the text begins and how long the code
is; the code; and the text. The library (`gpu/host/_driver/kernels.kpy`) tries the code first."""

_CODE_AT = 64

_PART = re.compile(
    rb"^[^\n]*\.(?:func|entry)\b[^\n]*?([\w$.]+)\($|\bcall(?:\.uni)?\s+(?:\([^)]*\),\s*)?([\w$.]+)", re.MULTILINE
)
"""The head of a function, or a call; of an indirect one what is found is a register."""


def noted(text: bytes) -> bytes:
    """Return PTX text with the note in front, if one of its functions may call itself."""
    return RECURSION + text if b".func" in text and _is_recursive(text) else text


def with_code(text: bytes, code: bytes) -> bytes:
    """Return the image of a kernel of which there is PTX text and the machine code of one processor."""
    size = -(-len(code) // _CODE_AT) * _CODE_AT
    head = CODE + (_CODE_AT + size).to_bytes(8, "little") + len(code).to_bytes(8, "little")
    return head.ljust(_CODE_AT, b"\0") + code.ljust(size, b"\0") + text


def _is_recursive(text: bytes) -> bool:
    calls: dict[bytes, set[bytes]] = {}
    inside = b""
    for name, called in _PART.findall(text):
        if name:
            inside = name
        else:
            calls.setdefault(inside, set()).add(called)
    return any(name in _reached(calls, name) for name in calls)


def _reached(calls: dict[bytes, set[bytes]], start: bytes) -> set[bytes]:
    seen: set[bytes] = set()
    work = [start]
    while work:
        new = calls.get(work.pop(), set()) - seen
        seen |= new
        work += new
    return seen
