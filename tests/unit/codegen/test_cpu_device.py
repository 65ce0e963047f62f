"""Kernels compiled for the processor: run through the JIT, and looked at for vector code."""

import ctypes
from ctypes import CFUNCTYPE, c_float, c_int32, c_int64, c_void_p

import pytest
from codegen_kit import CPU, arg, function, i32, i64, in_order, op, optimised, parsed, running, unit, vector_add
from ktc.codegen.module import lower_device
from ktc.ir.nodes import (
    Call,
    CallIntrinsic,
    Global,
    GlobalAddress,
    If,
    Let,
    Load,
    Local,
    LocalAddress,
    Return,
    Store,
    Temp,
)
from ktc.ir.types import F32, I32, I64, PTR, VOID, ArrayType, StructType
from ktc.targets import find
from ktc.targets.host import host_target

ENTRY = CFUNCTYPE(None, c_void_p, c_void_p, c_int64, c_int64)


def launch(module, arguments, grid, block, *, first=0, last=None, level=3, added=0):
    blocks = grid[0] * grid[1] * grid[2]
    pointers = (c_void_p * len(arguments))(*(ctypes.addressof(held) for held in arguments))
    sizes = (c_int32 * 7)(*grid, *block, added)
    with running(module, level) as address:
        ENTRY(address(module.kernel))(pointers, sizes, first, blocks if last is None else last)


def pointer(array):
    return c_void_p(ctypes.addressof(array))


@pytest.mark.parametrize("early_return", [False, True])
def test_vector_add(early_return):
    (module,) = lower_device(vector_add(CPU, early_return))
    count = 1000
    a, b = (c_float * 1024)(*range(1024)), (c_float * 1024)(*(3.5,) * 1024)
    c = (c_float * 1024)()
    launch(module, (pointer(a), pointer(b), pointer(c), c_int64(count)), (4, 1, 1), (256, 1, 1))
    assert c[:] == [index + 3.5 for index in range(count)] + [0.0] * 24


@pytest.mark.parametrize("early_return", [False, True])
def test_vector_add_becomes_vector_code(early_return):
    target = find("cpu", host_target("x86_64-unknown-linux-gnu", "x86-64-v3"))
    (module,) = lower_device(vector_add(target, early_return), level=1)
    in_order(
        str(optimised(module)), "vector.body:", "@llvm.masked.load", "fadd contract <8 x float>", "@llvm.masked.store"
    )


def ids():
    """k(out): out[linear] = all twelve ids as base-10 digits, for blocks of at most 9 threads an axis."""
    names = [
        f"ktc.cpu.{group}.{axis}" for group in ("thread_idx", "block_idx", "block_dim", "grid_dim") for axis in "xyz"
    ]
    lets = [Let(Temp(slot, I32), CallIntrinsic(name, (), I32, True)) for slot, name in enumerate(names)]
    wide = [op("zext", Temp(slot, I32), to=I64) for slot in range(12)]
    digits = i64(0)
    for value in wide:
        digits = op("add", op("mul", digits, i64(10)), value)

    def linear(index, size):
        return op("add", index[0], op("mul", size[0], op("add", index[1], op("mul", size[1], index[2]))))

    block = linear(wide[3:6], wide[9:12])
    volume = op("mul", wide[6], op("mul", wide[7], wide[8]))
    at = op("add", op("mul", block, volume), linear(wide[0:3], wide[6:9]))
    body = (*lets, Store(op("offset", arg(0, PTR), at, attr=I64), digits), Return())
    return function("k", (PTR,), VOID, *body)


def test_every_thread_runs_once_with_its_ids():
    (module,) = lower_device(unit(CPU, ids(), kernels=("k",)))
    grid, block = (3, 2, 2), (4, 3, 2)
    expected = [
        int("".join(map(str, (tx, ty, tz, bx, by, bz, *block, *grid))))
        for bz in range(grid[2]) for by in range(grid[1]) for bx in range(grid[0])
        for tz in range(block[2]) for ty in range(block[1]) for tx in range(block[0])
    ]  # fmt: skip
    out = (c_int64 * len(expected))()
    launch(module, (pointer(out),), grid, block)
    assert out[:] == expected
    part = (c_int64 * len(expected))()
    launch(module, (pointer(part),), grid, block, first=2, last=5)
    assert part[:] == [0] * 48 + expected[48:120] + [0] * (len(expected) - 120)


def test_a_grid_without_blocks():
    (module,) = lower_device(unit(CPU, ids(), kernels=("k",)))
    launch(module, (c_void_p(0),), (0, 1, 1), (4, 1, 1))


def scramble():
    """k(out): each thread writes its id through a pointer to an array of its own that lies in memory."""
    array, holder = Local(1, ArrayType(I32, 8)), Local(2, StructType((PTR, I32)))
    thread = Temp(0, I32)
    slot = op("zext", op("and", thread, i32(7)), to=I64)
    back = Temp(2, PTR)
    return function(
        "k", (PTR,), VOID,
        Let(thread, CallIntrinsic("ktc.cpu.thread_idx.x", (), I32, True)),
        Store(LocalAddress(holder), LocalAddress(array)),
        Let(Temp(1, PTR), Load(LocalAddress(holder), PTR)),
        Store(op("offset", Temp(1, PTR), slot, attr=I32), thread),
        Let(back, Load(LocalAddress(holder), PTR)),
        Let(Temp(3, I32), Load(op("offset", back, slot, attr=I32), I32)),
        Store(op("offset", arg(0, PTR), op("zext", thread, to=I64), attr=I32), Temp(3, I32)),
        Return(),
    )  # fmt: skip


def test_locals_stay_a_threads_own():
    (module,) = lower_device(unit(CPU, scramble(), kernels=("k",)))
    assert module.text.count("!llvm.access.group") == 1, "only the store to the argument is surely no local"
    out = (c_int32 * 64)()
    launch(module, (pointer(out),), (1, 1, 1), (64, 1, 1))
    assert out[:] == list(range(64))


def test_shared_memory_is_the_blocks():
    tile = Global("tile", ArrayType(F32, 16), None, False, 3)
    other = Global("other", ArrayType(F32, 16), None, False, 3)
    thread = Temp(0, I32)
    index = op("zext", thread, to=I64)
    deep = function(
        "deep", (I64,), F32,
        Store(op("offset", GlobalAddress("other", 3), arg(0, I64), attr=F32), op("uitofp", arg(0, I64), to=F32)),
        Let(Temp(1, F32), Load(op("offset", GlobalAddress("other", 3), arg(0, I64), attr=F32), F32)),
        Return(Temp(1, F32)),
        inline="never",
    )  # fmt: skip
    kernel = function(
        "k", (PTR,), VOID,
        Let(thread, CallIntrinsic("ktc.cpu.thread_idx.x", (), I32, True)),
        Let(Temp(1, F32), Call("deep", (index,), F32)),
        If(op("eq", thread, i32(0)), (Store(GlobalAddress("tile", 3), Temp(1, F32)),)),
        Store(op("offset", arg(0, PTR), index, attr=F32), Temp(1, F32)),
        Return(),
    )  # fmt: skip
    (module,) = lower_device(unit(CPU, deep, kernel, globals=(tile, other), kernels=("k",)))
    assert "@tile" not in module.text and "alloca [128 x i8], align 64" in module.text
    out = (c_float * 16)()
    launch(module, (pointer(out),), (1, 1, 1), (16, 1, 1))
    assert out[:] == [float(number) for number in range(16)]


def test_the_unoptimised_code_is_right_too():
    (module,) = lower_device(vector_add(CPU))
    parsed(module)
    a, c = (c_float * 8)(*range(8)), (c_float * 8)()
    launch(module, (pointer(a), pointer(a), pointer(c), c_int64(7)), (2, 1, 1), (4, 1, 1), level=0)
    assert c[:] == [0, 2, 4, 6, 8, 10, 12, 0]


def swapping():
    """k(out): out[t] = 10 * the number of the thread beside it, through memory that the launch sizes."""
    tile = Global("shared$tile", ArrayType(I32, 0), None, False, 3, 4)
    thread = Temp(0, I32)
    beside = op("xor", op("zext", thread, to=I64), i64(1))
    place = op("offset", GlobalAddress("shared$tile", 3), op("zext", thread, to=I64), attr=I32)
    other = op("offset", GlobalAddress("shared$tile", 3), beside, attr=I32)
    kernel = function(
        "k", (PTR,), VOID,
        Let(thread, CallIntrinsic("ktc.cpu.thread_idx.x", (), I32, True)),
        Store(place, op("mul", thread, i32(10))),
        Let(None, CallIntrinsic("ktc.cpu.wait.block", (), VOID, False)),
        Let(Temp(1, I32), Load(other, I32)),
        Store(op("offset", arg(0, PTR), op("zext", thread, to=I64), attr=I32), Temp(1, I32)),
        Return(),
    )  # fmt: skip
    return unit(CPU, kernel, globals=(tile,), kernels=("k",))


def test_a_kernel_that_waits_is_a_coroutine():
    (module,) = lower_device(swapping())
    in_order(
        module.text, "define void @k(", "%shared = alloca i8, i32 %shared.bytes", "call ptr @k.body(",
        "@llvm.coro.resume", "ptr @k.body(", "presplitcoroutine", "call ptr @llvm.coro.begin", "store i8 1, ptr %state",
        "call i8 @llvm.coro.suspend", "store i8 2, ptr %state", "ret ptr %coro.frame",
    )  # fmt: skip
    assert "llvm.coro" not in str(optimised(module))


@pytest.mark.parametrize("level", [1, 3])
def test_threads_wait_for_one_another(level):
    (module,) = lower_device(swapping())
    out = (c_int32 * 64)()
    launch(module, (pointer(out),), (1, 1, 1), (64, 1, 1), level=level, added=256)
    assert out[:] == [10 * (number ^ 1) for number in range(64)]
