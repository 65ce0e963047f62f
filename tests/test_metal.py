"""Programs for Apple's GPUs on a stand-in for the Objective-C runtime and Metal.

It checks every message, reads the metallib, and runs each launch on the processor with what was bound.
"""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from runtimes import METAL_SOURCES, SOURCES, built, faults, library, ran

TARGETS = "apple-m1,apple-m4,cpu"

PROGRAM = """
from gpu import barrier, block_dim, thread_idx
from gpu.host import DeviceAttribute, DeviceContext
from gpu.memory import AddressSpace, external_memory
from sys import argv
from utils import StaticTuple

alias Floats = UnsafePointer[Float32, MutAnyOrigin]


@fieldwise_init
struct Held(DevicePassable, ImplicitlyCopyable, Movable):
    var values: Floats
    var factor: Float32
    alias device_type: AnyType = Self

    fn _to_device_type(self, target: LegacyOpaquePointer):
        target.bitcast[Self]()[] = self

    @staticmethod
    fn get_type_name() -> String:
        return "Held"

    @staticmethod
    fn get_device_type_name() -> String:
        return "Held"


fn add(p: Floats, n: Float32):
    p[thread_idx.x] += n


fn mixed(p: Floats, a: Int8, held: Held, v: SIMD[DType.float32, 4], c: UInt16, q: Floats, b: Scalar[DType.bool]):
    var whole = Float32(a) + Float32(c) + Float32(Int(Bool(b)))
    p[thread_idx.x] = whole + held.factor * held.values[thread_idx.x] + v[3] + q[thread_idx.x]


fn large(p: Floats, table: StaticTuple[Float32, 2000]):
    p[thread_idx.x] = table[1999] + table[Int(thread_idx.x)]


fn turned(p: Floats):
    var held = external_memory[Float32, address_space = AddressSpace.SHARED, alignment=16]()
    held[thread_idx.x] = p[thread_idx.x]
    barrier()
    p[thread_idx.x] = held[block_dim.x - 1 - thread_idx.x]


def arguments(ctx: DeviceContext):
    var p = ctx.enqueue_create_buffer[DType.float32](4)
    var q = ctx.enqueue_create_buffer[DType.float32](8)
    var r = ctx.enqueue_create_buffer[DType.float32](4)
    _ = q.enqueue_fill(1000)
    _ = r.enqueue_fill(0.25)
    ctx.enqueue_function_checked[mixed, mixed](
        p,
        Int8(-3),
        Held(r.unsafe_ptr(), 2),
        SIMD[DType.float32, 4](7),
        UInt16(40000),
        q.create_sub_buffer[DType.float32](4, 4),
        Scalar[DType.bool](True),
        grid_dim=1,
        block_dim=4,
    )
    print(p)
    var table = StaticTuple[Float32, 2000](3)
    table[2] = 5
    ctx.enqueue_function_checked[large, large](p, table, grid_dim=1, block_dim=4)
    print(p)
    _ = r


def streams(ctx: DeviceContext):
    var first = ctx.create_stream()
    var second = ctx.create_stream()
    var a = ctx.enqueue_create_buffer[DType.float32](4)
    var b = ctx.enqueue_create_buffer[DType.float32](4)
    ctx.synchronize()
    first.enqueue_memset(a, Float32(0))
    first.enqueue_memset(a, Float32(2))
    var event = ctx.create_event()
    first.record_event(event)
    second.enqueue_wait_for(event)
    second.enqueue_copy(b, a)
    second.synchronize()
    print(b)
    for _ in range(100):  # command buffers that nobody waits for, and memory that is given back
        var c = ctx.enqueue_create_buffer[DType.float32](4)
        _ = c.enqueue_fill(0)
        ctx.enqueue_function_checked[add, add](c, Float32(1), grid_dim=1, block_dim=4)
    ctx.trim_memory()

    @parameter
    fn work() raises:
        ctx.enqueue_function_checked[add, add](a, Float32(1), grid_dim=1, block_dim=4)

    print(ctx.execution_time[work](3) >= 0, a)


def limits(ctx: DeviceContext):
    print(ctx.api(), ctx.arch_name(), ctx.name(), ctx.get_api_version(), DeviceContext.number_of_devices())
    print(ctx.get_attribute(DeviceAttribute.WARP_SIZE), ctx.get_attribute(DeviceAttribute.MAX_SHARED_MEMORY_PER_BLOCK))
    var a = ctx.enqueue_create_buffer[DType.float32](4)
    with a.map_to_host() as host:
        for i in range(4):
            host[i] = i
    ctx.enqueue_function_checked[turned, turned](a, grid_dim=1, block_dim=4, shared_mem_bytes=16)
    print(a)
    try:
        ctx.enqueue_function_checked[turned, turned](a, grid_dim=1, block_dim=4, shared_mem_bytes=40_000)
    except e:
        print(e)
    try:
        ctx.enqueue_function_checked[add, add](
            UnsafePointer[Float32, MutAnyOrigin](), Float32(1), grid_dim=1, block_dim=2000
        )
    except e:
        print(e)


def lost(ctx: DeviceContext):
    var host = List[Float32](1, 2, 3)
    var place = Floats(__mlir_value=host.unsafe_ptr().__mlir_value)
    ctx.enqueue_function_checked[add, add](place, Float32(1), grid_dim=1, block_dim=3)
    ctx.synchronize()


def main():
    var ctx = DeviceContext()
    var what = String(argv()[1])
    if what == "arguments":
        arguments(ctx)
    elif what == "streams":
        streams(ctx)
    elif what == "limits":
        limits(ctx)
    else:
        lost(ctx)
"""


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in, under the names of both libraries."""
    made = library(tmp_path_factory.mktemp("metal"), "Metal.framework.so", METAL_SOURCES)
    made.with_name("libobjc.A.dylib").symlink_to(made)
    return made


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, program_cache: Path) -> Path:
    """The program above."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.kpy").write_text(PROGRAM)
    return built(folder / "program.kpy", program_cache, folder, targets=TARGETS)


@pytest.mark.parametrize(
    ("what", "wanted"),
    [
        (
            "arguments",
            ["DeviceBuffer([41005.5, 41005.5, 41005.5, 41005.5])", "DeviceBuffer([6.0, 6.0, 8.0, 6.0])"],
        ),
        ("streams", ["DeviceBuffer([2.0, 2.0, 2.0, 2.0])", "True DeviceBuffer([5.0, 5.0, 5.0, 5.0])"]),
    ],
)
def test_the_host_side(what: str, wanted: list[str], program: Path, runtime: Path) -> None:
    done, notes = ran(program, runtime, [what], KTC_DEVICE="metal")
    assert done.stdout.splitlines() == wanted, done.stderr
    assert not faults(notes) and any(line.startswith("dispatch") for line in notes)


@pytest.mark.parametrize(("generation", "target"), [("2", "apple-m1"), ("5", "apple-m4")])
def test_limits(generation: str, target: str, program: Path, runtime: Path) -> None:
    """The newest target that the GPU runs is taken; what Metal does not give is one error each."""
    done, notes = ran(program, runtime, ["limits"], METAL_GENERATION=generation)
    assert not faults(notes)
    assert done.stdout.splitlines()[:3] == [
        f"metal {target} stand-in for Metal 3000 1", "32 32768", "DeviceBuffer([3.0, 2.0, 1.0, 0.0])"
    ]  # fmt: skip
    assert done.stdout.count("the kernel takes blocks of fewer threads, or less shared memory") == 2


def test_memory_of_the_host_is_no_buffer(program: Path, runtime: Path) -> None:
    done, notes = ran(program, runtime, ["lost"], KTC_DEVICE="metal")
    assert "failed: an argument points to no memory of the device (error 700)" in done.stderr
    assert not faults(notes) and done.returncode == 1


def test_failures_carry_the_message_of_metal(program: Path, runtime: Path) -> None:
    done, notes = ran(program, runtime, ["streams"], KTC_DEVICE="metal", METAL_FAILS="1")
    assert "the GPU could not do what it was given: Caused GPU Address Fault Error (error 719)" in done.stderr
    assert not faults(notes)


def test_no_memory(program: Path, runtime: Path) -> None:
    done, _ = ran(program, runtime, ["arguments"], KTC_DEVICE="metal", DRIVER_MEMORY="20")
    assert "allocating device memory failed: out of device memory (error 2)" in done.stderr


def test_without_metal(program: Path, tmp_path: Path) -> None:
    done, _ = ran(program, tmp_path / "none", ["arguments"], KTC_DEVICE="metal")
    assert "no GPU found for this program (built for apple-m1, apple-m4, cpu): Metal is not installed" in done.stderr


ARM_LIBRARIES = Path("/usr/aarch64-linux-gnu")
"""Where Debian's libc6-arm64-cross is; an executable's loader comes from there."""
QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("ziglang"), reason="zig links for other machines (pip install 'ktc[cross]')")
@pytest.mark.skipif(not (QEMU and ARM_LIBRARIES.exists()), reason="qemu-aarch64 and libc6-arm64-cross run it")
def test_the_calling_convention_of_arm(program: Path, program_cache: Path, tmp_path: Path) -> None:
    """Macs pass structs by their address, which x86-64 does not."""
    source = program.with_name("program.kpy")
    made = built(source, program_cache, tmp_path, ["--target-triple", "aarch64-unknown-linux-gnu"], TARGETS)
    runtime = tmp_path / "Metal.framework.so"
    words = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        "aarch64-linux-gnu",
        "-shared",
        "-fPIC",
        "-o",
        str(runtime),
    ]
    subprocess.run([*words, *(str(SOURCES / name) for name in METAL_SOURCES)], check=True)
    runtime.with_name("libobjc.A.dylib").symlink_to(runtime)
    log = tmp_path / "log"
    here = {"LD_LIBRARY_PATH": str(tmp_path), "DRIVER_LOG": str(log), "KTC_DEVICE": "metal"}
    set_here = [word for name, value in here.items() for word in ("-E", f"{name}={value}")]
    done = subprocess.run(
        [str(QEMU), "-L", str(ARM_LIBRARIES), *set_here, str(made), "arguments"],
        env=dict(os.environ), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("DeviceBuffer([41005.5, 41005.5, 41005.5, 41005.5])"), done.stderr
    assert not faults(log.read_text().splitlines())
