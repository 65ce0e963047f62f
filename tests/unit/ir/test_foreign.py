"""C functions and intrinsics at compile time, each called as the interpreter calls it."""

import math

import pytest
from ktc.ir.interpreter.external_functions import EXTERNALS, intrinsic
from ktc.ir.interpreter.memory import Failure, Memory
from ktc.ir.types import F32, F64, I8, I32, I64, PTR, VOID, VectorType


@pytest.fixture
def memory():
    return Memory(1 << 20)


def put(memory, content):
    address = memory.allocate(len(content), heap=True)
    memory.write_bytes(address, content)
    return address


def call(memory, name, types, args, result):
    return EXTERNALS[name](memory, types, args, result)


def test_realloc_keeps_the_content_and_frees_the_old_block(memory):
    old = put(memory, b"abcdef")
    new = call(memory, "realloc", (PTR, I64), (old, 4), PTR)
    assert memory.read_bytes(new, 4) == b"abcd"
    with pytest.raises(Failure):
        memory.read_bytes(old, 1)
    assert memory.live_bytes == 4


def test_blocks_of_memory(memory):
    a = call(memory, "calloc", (I64, I64), (4, 4), PTR)
    assert memory.read_bytes(a, 16) == bytes(16)
    call(memory, "memset", (PTR, I32, I64), (a, 0x141, 4), PTR)
    call(memory, "memmove", (PTR, PTR, I64), (a + 2, a, 4), PTR)
    assert memory.read_bytes(a, 8) == b"AAAAAA\0\0"
    assert call(memory, "strlen", (PTR,), (a,), I64) == 6
    assert call(memory, "memcmp", (PTR, PTR, I64), (a, a + 1, 6), I32) == 1
    assert call(memory, "memcmp", (PTR, PTR, I64), (a + 1, a, 6), I32) == (1 << 32) - 1
    place = memory.allocate(8)
    assert call(memory, "posix_memalign", (PTR, I64, I64), (place, 64, 100), I32) == 0
    assert memory.aligns[memory.read(PTR, place) >> 32] == 64


def test_access_past_the_end_fails(memory):
    a = put(memory, b"abc")
    for name, args in (("memset", (a, 0, 4)), ("memcpy", (a, a, 4)), ("strlen", (a,))):
        with pytest.raises(Failure):
            call(memory, name, (), args, I64)


def test_double_free_fails(memory):
    a = put(memory, b"abc")
    call(memory, "free", (PTR,), (a,), VOID)
    with pytest.raises(Failure, match="freed"):
        call(memory, "free", (PTR,), (a,), VOID)
    with pytest.raises(Failure, match="malloc"):
        call(memory, "free", (PTR,), (put(memory, b"abc") + 1,), VOID)


@pytest.mark.parametrize(
    ("form", "types", "args", "text"),
    [
        (b"%d|%5lld|%-3i|%u", (I32, I64, I32, I32), ((1 << 32) - 1, 42, 7, (1 << 32) - 1), b"-1|   42|7  |4294967295"),
        (b"%.3f %g %.17g %e", (F64,) * 4, (0.5, 1e20, 0.1, 1.5), b"0.500 1e+20 0.10000000000000001 1.500000e+00"),
        (b"%x%%%c", (I32, I32), (255, 65), b"ff%A"),
    ],
)
def test_snprintf(memory, form, types, args, text):
    target = memory.allocate(100)
    length = call(memory, "snprintf", (PTR, I64, PTR, *types), (target, 100, put(memory, form + b"\0"), *args), I32)
    assert length == len(text)
    assert memory.c_string(target) == text
    call(memory, "snprintf", (PTR, I64, PTR, *types), (target, 3, put(memory, form + b"\0"), *args), I32)
    assert memory.c_string(target) == text[:2]


def test_snprintf_refuses_what_it_does_not_know(memory):
    with pytest.raises(Failure, match="format"):
        call(memory, "snprintf", (PTR, I64, PTR, PTR), (0, 0, put(memory, b"%p\0"), 0), I32)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("pow", (2.0, 10.0), 1024.0),
        ("pow", (-8.0, 1.0 / 3.0), math.nan),
        ("pow", (0.0, -1.0), math.inf),
        ("pow", (-10.0, 333.0), -math.inf),
        ("exp", (1000.0,), math.inf),
        ("log", (0.0,), -math.inf),
        ("log", (-1.0,), math.nan),
        ("sinh", (-1000.0,), -math.inf),
        ("sqrt", (2.0,), math.sqrt(2.0)),
        ("round", (2.5,), 3.0),
        ("fmod", (-7.0, 3.0), -1.0),
    ],
)
def test_c_math(memory, name, args, expected):
    result = call(memory, name, (F64,) * len(args), args, F64)
    assert result == expected or (math.isnan(result) and math.isnan(expected))


def test_float_math_is_rounded(memory):
    run = intrinsic("llvm.exp.f32")
    assert run is not None
    assert run(memory, (F32,), (1.0,), F32) == 2.7182817459106445
    pair = VectorType(F32, 2)
    run = intrinsic("llvm.sin.v2f32")
    assert run is not None
    assert run(memory, (pair,), ((0.0, 1.0),), pair) == (0.0, 0.8414709568023682)


def test_intrinsics_are_found_by_their_longest_name(memory):
    run = intrinsic("llvm.sadd.sat.i8")
    assert run is not None
    assert run(memory, (I8, I8), (100, 100), I8) == 127
    run = intrinsic("llvm.ctlz.i32")
    assert run is not None
    assert run(memory, (I32, I8), (1, 0), I32) == 31
    assert intrinsic("llvm.nvvm.barrier0") is None
