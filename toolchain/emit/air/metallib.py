"""Apple's container of compiled kernels.

Input: a kernel's name, its AIR bitcode and the versions it was compiled for. Output: a metallib for macOS.

Source: Metal.jl, `library.jl`, which was checked against Apple's own files.
"""

import struct
from hashlib import sha256

from ktc.targets.air import Versions

_HEADER = struct.Struct("<4sHHHBBHBBQ")
_HEADER_BYTES = 88
_MACOS = 0x8000
_MACOS_64_BIT = 0x81
_KERNEL = 2
_END = b"ENDT"


def write(kernel: str, bitcode: bytes, versions: Versions) -> bytes:
    """Return the container with one kernel."""
    tags = _tag(b"NAME", kernel.encode() + b"\0")
    tags += _tag(b"TYPE", bytes([_KERNEL]))
    tags += _tag(b"HASH", sha256(bitcode).digest())
    tags += _tag(b"OFFT", struct.pack("<3Q", 0, 0, 0))
    tags += _tag(b"VERS", struct.pack("<4H", *versions.air[:2], *versions.metal[:2]))
    tags += _tag(b"MDSZ", struct.pack("<Q", len(bitcode)))
    tags += _END
    functions = struct.pack("<I", len(tags) + 4) + tags
    metadata = struct.pack("<I", 4 + len(_END)) + _END
    start = _HEADER_BYTES
    public = start + 4 + len(functions) + len(_END)  # the header's own extension tags are none
    private = public + len(metadata)
    modules = private + len(metadata)
    size = modules + len(bitcode)
    major, minor, patch = versions.container
    header = _HEADER.pack(
        b"MTLB", major | _MACOS, minor, patch, 0, _MACOS_64_BIT, versions.system[0], versions.system[1],
        versions.system[2], size,
    )  # fmt: skip
    table = struct.pack(
        "<8Q", start, len(functions), public, len(metadata), private, len(metadata), modules, len(bitcode)
    )
    count = struct.pack("<I", 1)
    return header + table + count + functions + _END + metadata + metadata + bitcode


def _tag(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<H", len(data)) + data
