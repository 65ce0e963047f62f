"""LLVM's bitstream container: records of numbers in nested blocks.

Source: LLVM, BitCodeFormat, "Bitstream Format". Records are written unabbreviated, but for the one blob.
"""

from collections.abc import Sequence

_END_BLOCK, _ENTER_BLOCK, _DEFINE_ABBREVIATION, _UNABBREVIATED = 0, 1, 2, 3
_FIRST_ABBREVIATION = 4
_WORD = 32
_BLOB_ENCODING = 5


class Bitstream:
    """A writer; `data` gives the bytes."""

    def __init__(self) -> None:
        self._bits = 0
        self._count = 0
        self._done = bytearray(b"BC\xc0\xde")
        self._width = 2
        self._open: list[tuple[int, int]] = []

    def data(self) -> bytes:
        """Return the bitstream; all blocks are closed."""
        return bytes(self._done)

    def enter(self, block: int, width: int) -> None:
        """Begin a block whose abbreviation numbers have `width` bits."""
        self._fixed(_ENTER_BLOCK, self._width)
        self._variable(block, 8)
        self._variable(width, 4)
        self._align()
        self._open.append((self._width, len(self._done)))
        self._done += bytes(4)
        self._width = width

    def leave(self) -> None:
        """End the innermost block."""
        self._fixed(_END_BLOCK, self._width)
        self._align()
        self._width, start = self._open.pop()
        self._done[start : start + 4] = ((len(self._done) - start) // 4 - 1).to_bytes(4, "little")

    def record(self, code: int, values: Sequence[int]) -> None:
        """Write one record."""
        self._fixed(_UNABBREVIATED, self._width)
        self._variable(code, 6)
        self._variable(len(values), 6)
        for value in values:
            self._variable(value, 6)

    def blob(self, code: int, data: bytes) -> None:
        """Write a record that is nothing but bytes."""
        self._fixed(_DEFINE_ABBREVIATION, self._width)
        self._variable(2, 5)
        self._fixed(1, 1)
        self._variable(code, 8)
        self._fixed(0, 1)
        self._fixed(_BLOB_ENCODING, 3)
        self._fixed(_FIRST_ABBREVIATION, self._width)
        self._variable(len(data), 6)
        self._align()
        self._done += data + bytes(-len(data) % 4)

    def _fixed(self, value: int, width: int) -> None:
        self._bits |= value << self._count
        self._count += width
        while self._count >= _WORD:
            self._done += (self._bits & 0xFFFFFFFF).to_bytes(4, "little")
            self._bits >>= _WORD
            self._count -= _WORD

    def _variable(self, value: int, width: int) -> None:
        high = 1 << (width - 1)
        while value >= high:
            self._fixed((value & (high - 1)) | high, width)
            value >>= width - 1
        self._fixed(value, width)

    def _align(self) -> None:
        if self._count:
            self._fixed(0, _WORD - self._count)
