"""Metallibs, taken by a reader that was made from descriptions of the format; what launchers must know of them."""

import ctypes
import struct

import pytest
from ktc import targets
from ktc.emit.air import images, metallib
from ktc.targets.air import versions

from runtimes import METAL_SOURCES, library

CODE = images.wrap(b"BC\xc0\xde" + bytes(range(120)))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    made = ctypes.CDLL(str(library(tmp_path_factory.mktemp("metal"), "Metal.framework.so", METAL_SOURCES)))
    made.read_metallib.restype = ctypes.c_char_p
    return made


def refusal(reader: ctypes.CDLL, data: bytes) -> str:
    """Return why a metallib is refused, or ""."""
    words = reader.read_metallib(data, ctypes.c_size_t(len(data)), ctypes.create_string_buffer(1024))
    return words.decode() if words else ""


@pytest.mark.parametrize("name", ["apple-m1", "apple-m4", "apple-m5"])
def test_the_reader_accepts_the_metallib(name: str, reader: ctypes.CDLL) -> None:
    target = targets.find(name)
    assert target is not None
    assert refusal(reader, metallib.write("a_kernel", CODE, versions(target))) == ""


@pytest.mark.parametrize(
    ("words", "place", "bits"),
    [
        ("no metallib", 0, 1),
        ("not for macOS", 11, 1),
        ("its header says", 16, 1),
        ("section 1 overlaps", 40, 64),
        ("the list of functions has another size", 92, 1),
        ("the name does not end", 110, 1),
        ("the function is no kernel", 117, 1),
        ("the hash is another one", -3, 1),
        ("the hash is another one", 124, 1),
    ],
)
def test_the_reader_refuses(words: str, place: int, bits: int, reader: ctypes.CDLL) -> None:
    target = targets.find("apple-m4")
    assert target is not None
    data = bytearray(metallib.write("a_kernel", CODE, versions(target)))
    data[place] ^= bits
    assert words in refusal(reader, bytes(data))


def test_kinds_of_arguments() -> None:
    lines = [
        '!{i32 1, !"air.buffer", !"air.address_space", i32 2, !"air.arg_type_name", !"struct", !"air.arg_name", !"n"}',
        '!{i32 0, !"air.buffer", !"air.address_space", i32 1, !"air.arg_type_name", !"uchar", !"air.arg_name", !"p"}',
        '!{i32 2, !"air.buffer", !"air.address_space", i32 2, !"air.arg_type_name", !"long", !"air.arg_name", !"i"}',
        '!{i32 3, !"air.thread_position_in_threadgroup", !"air.arg_type_name", !"uint3"}',
    ]
    assert images.argument_kinds("\n".join(lines)) == b"\1\3\2"
    assert (
        images.wrapped(b"MTLB", b"\1\2", 7) == struct.pack("<4Q", images.MAGIC, 4, 2, 7) + b"\1\2" + bytes(6) + b"MTLB"
    )


def test_memory_that_a_launch_sizes_is_all_that_is_left() -> None:
    text = "@x = external hidden addrspace(3) global [0 x i8], align 16"
    assert images.with_room(text, 1024) == "@x = internal addrspace(3) global [1024 x i8] undef, align 16"
    kept = "@y = external addrspace(1) global [0 x i8]"
    assert images.with_room(kept, 1024) == kept
