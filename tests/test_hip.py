"""Programs for AMD's GPUs on a stand-in for their runtime.

It makes the kernarg segment of a launch by the kernel's metadata and runs the launch on the processor with it.
"""

from pathlib import Path

import pytest

from runtimes import HIP_SOURCES, built, faults, library, ran

PROGRAM = """
from gpu import thread_idx
from gpu.host import Attribute, DeviceAttribute, DeviceContext, DeviceGraph, FuncAttribute
from gpu.memory import AddressSpace, external_memory
from sys import argv

alias Floats = UnsafePointer[Float32, MutAnyOrigin]


struct Row(DevicePassable, ImplicitlyCopyable, Movable):
    var first: Int8
    var second: Float64
    var third: UInt16
    alias device_type: AnyType = Self

    fn __init__(out self, first: Int8, second: Float64, third: UInt16):
        self.first = first
        self.second = second
        self.third = third

    fn _to_device_type(self, target: LegacyOpaquePointer):
        target.bitcast[Self]()[] = self

    @staticmethod
    fn get_type_name() -> String:
        return "Row"

    @staticmethod
    fn get_device_type_name() -> String:
        return "Row"


fn add(p: Floats, n: Float32):
    p[thread_idx.x] += n


fn mixed(
    p: Floats,
    a: Int8,
    row: Row,
    b: Scalar[DType.bool],
    v: SIMD[DType.float32, 8],
    c: UInt16,
    q: Floats,
    d: Float64,
):
    var whole = Float32(a) + Float32(row.first) + Float32(row.third) + Float32(Int(Bool(b))) + Float32(c)
    p[thread_idx.x] = whole + Float32(row.second) + v[7] + q[thread_idx.x] + Float32(d)


fn through_shared(p: Floats, n: Int):
    var held = external_memory[Float32, address_space = AddressSpace.SHARED, alignment=16]()
    held[n] = p[thread_idx.x]
    p[thread_idx.x] = held[n] + 1


def arguments(ctx: DeviceContext):
    var p = ctx.enqueue_create_buffer[DType.float32](4)
    var q = ctx.enqueue_create_buffer[DType.float32](4)
    _ = q.enqueue_fill(1000)
    ctx.enqueue_function_checked[mixed, mixed](
        p,
        Int8(-3),
        Row(5, 0.25, 60000),
        Scalar[DType.bool](True),
        SIMD[DType.float32, 8](7),
        UInt16(40000),
        q,
        Float64(0.5),
        grid_dim=1,
        block_dim=4,
    )
    print(p)


def streams(ctx: DeviceContext):
    var first = ctx.create_stream(priority=-1)
    var second = ctx.create_stream(blocking=False)
    var a = ctx.enqueue_create_buffer[DType.float32](4)
    var b = ctx.enqueue_create_buffer[DType.float32](4)
    ctx.synchronize()
    first.enqueue_memset(a, Float32(2))
    var event = ctx.create_event()
    first.record_event(event)
    second.enqueue_wait_for(event)
    second.enqueue_copy(b, a)
    second.synchronize()
    print(b)
    for _ in range(40):  # memory that is given back, in the order of all streams
        var c = ctx.enqueue_create_buffer[DType.float32](4)
        _ = c.enqueue_fill(1)
        ctx.enqueue_function_checked[add, add](c, Float32(1), grid_dim=1, block_dim=4)
    ctx.trim_memory()

    @parameter
    fn work() raises:
        ctx.enqueue_function_checked[add, add](a, Float32(1), grid_dim=1, block_dim=4)

    print(ctx.execution_time[work](3) >= 0, a)


def graphs(ctx: DeviceContext):
    var a = ctx.enqueue_create_buffer[DType.float32](4)
    _ = a.enqueue_fill(0)
    ctx.synchronize()

    @parameter
    fn work(ctx: DeviceContext) raises:
        ctx.enqueue_function_checked[add, add](a, Float32(1), grid_dim=1, block_dim=4)
        ctx.enqueue_function_checked[add, add](a, Float32(2), grid_dim=1, block_dim=4)

    var graph = DeviceGraph.capture[work](ctx)
    graph.replay()
    graph.replay()
    print(len(graph), graph.update[work](), a)


def peers(ctx: DeviceContext):
    var other = DeviceContext(1)
    DeviceContext.enable_all_peer_access()
    var a = ctx.enqueue_create_buffer[DType.float32](4)
    var b = other.enqueue_create_buffer[DType.float32](4)
    _ = a.enqueue_fill(3)
    other.enqueue_copy(b, a)
    other.enqueue_function_checked[add, add](b, Float32(1), grid_dim=1, block_dim=4)
    ctx.enqueue_function_checked[add, add](a, Float32(1), grid_dim=1, block_dim=4)
    print(a, b)


def limits(ctx: DeviceContext):
    print(ctx.get_attribute(DeviceAttribute.WARP_SIZE), ctx.get_attribute(DeviceAttribute.MULTIPROCESSOR_COUNT))
    print(ctx.get_attribute(DeviceAttribute.MAX_SHARED_MEMORY_PER_BLOCK), ctx.api(), ctx.arch_name())
    var a = ctx.enqueue_create_buffer[DType.float32](4)
    _ = a.enqueue_fill(1)
    ctx.enqueue_function_checked[through_shared, through_shared](
        a,
        15_000,
        grid_dim=1,
        block_dim=1,
        shared_mem_bytes=60_004,
        func_attribute=FuncAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES(60_004),
    )
    var f = ctx.compile_function_checked[add, add]()
    print(a, f.get_attribute(Attribute.MAX_THREADS_PER_BLOCK))
    try:
        ctx.enqueue_function_checked[add, add](a, Float32(1), grid_dim=1, block_dim=2048)
    except e:
        print(e)
    try:
        ctx.enqueue_function_checked[through_shared, through_shared](
            a, 1, grid_dim=1, block_dim=1, shared_mem_bytes=70_000
        )
    except e:
        print(e)


def main():
    var ctx = DeviceContext()
    var what = String(argv()[1])
    if what == "arguments":
        arguments(ctx)
    elif what == "streams":
        streams(ctx)
    elif what == "graphs":
        graphs(ctx)
    elif what == "peers":
        peers(ctx)
    else:
        limits(ctx)
"""


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in."""
    return library(tmp_path_factory.mktemp("hip"), "libamdhip64.so.6", HIP_SOURCES)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, program_cache: Path) -> Path:
    """The program above."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.kpy").write_text(PROGRAM)
    return built(folder / "program.kpy", program_cache, folder)


@pytest.mark.parametrize(
    ("what", "wanted"),
    [
        ("arguments", ["DeviceBuffer([101010.75, 101010.75, 101010.75, 101010.75])"]),
        ("streams", ["DeviceBuffer([2.0, 2.0, 2.0, 2.0])", "True DeviceBuffer([5.0, 5.0, 5.0, 5.0])"]),
        ("graphs", ["2 True DeviceBuffer([6.0, 6.0, 6.0, 6.0])"]),
        ("peers", ["DeviceBuffer([4.0, 4.0, 4.0, 4.0]) DeviceBuffer([4.0, 4.0, 4.0, 4.0])"]),
    ],
)
def test_the_host_side(what: str, wanted: list[str], program: Path, runtime: Path) -> None:
    done, notes = ran(program, runtime, [what], KTC_DEVICE="hip", DRIVER_DEVICES="2")
    assert done.stdout.splitlines() == wanted, done.stderr
    assert not faults(notes)
    assert any(line.startswith("launch") for line in notes) or what == "graphs"


def test_limits(program: Path, runtime: Path) -> None:
    done, notes = ran(program, runtime, ["limits"], KTC_DEVICE="hip")
    assert not faults(notes)
    assert done.stdout.splitlines()[:3] == ["32 48", "65536 hip gfx1100", "DeviceBuffer([2.0, 1.0, 1.0, 1.0]) 1024"]
    assert "block_dim (x=2048, ) has more than the 1024 threads that a block may have" in done.stdout
    assert "failed: invalid argument" in done.stdout, "there are 64 KiB of shared memory"
