"""Messages between a process and its children: each is pickled, with its length in front.

Input: a pipe and a value, or a pipe alone. Output: the bytes written, or the value that was read.
"""

import os
import pickle
from typing import TypeVar

T = TypeVar("T")

READ_BYTES = 1 << 16
_LENGTH_BYTES = 8


def frame(message: object) -> bytes:
    """Return the bytes of a message."""
    data = pickle.dumps(message)
    return len(data).to_bytes(_LENGTH_BYTES, "little") + data


def write(pipe: int, data: bytes) -> None:
    """Write all of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


def receive(pipe: int, kind: type[T]) -> T | None:
    """Read one message, which is of this kind; None also at the end of the pipe."""
    head = _read_exactly(pipe, _LENGTH_BYTES)
    if head is None:
        return None
    data = _read_exactly(pipe, int.from_bytes(head, "little"))
    message: T | None = None if data is None else pickle.loads(data)
    assert message is None or isinstance(message, kind)
    return message


def _read_exactly(pipe: int, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        if not (part := os.read(pipe, min(READ_BYTES, count - len(data)))):
            return None
        data += part
    return bytes(data)
