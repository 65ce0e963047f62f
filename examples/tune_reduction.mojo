"""A sum whose block size, blocks and unrolling are choices for `ktc tune`, for short and for long inputs.

    ktc run examples/tune_reduction.kpy
    ktc tune examples/tune_reduction.kpy -D SHORT=100000 -D LONG=100000000

Each length is a class of its own: the tuning file may have other values for each, and one build takes both.
"""

from max.gpu import block_idx, grid_dim, thread_idx
import max.gpu.primitives.block as block
from max.gpu.host import DeviceBuffer, DeviceContext
from std.atomic import Atomic
from std.sys import get_defined_int
from tuning import measure, tunable

comptime SHORT = get_defined_int["SHORT", 10_000]()
comptime LONG = get_defined_int["LONG", 100_000]()

comptime Words = Pointer[Int32, MutAnyOrigin]


def sum_kernel[
    BLOCK: Int, UNROLL: Int
](total: Words, numbers: Words, count: Int64):
    var part = Int32(0)
    var step = Int(grid_dim.x) * BLOCK
    var first = Int(block_idx.x) * BLOCK + Int(thread_idx.x)
    var i = first
    while i + (UNROLL - 1) * step < Int(count):
        comptime for each in range(UNROLL):
            part += numbers[unsafe_offset=i + each * step]
        i += UNROLL * step
    while i < Int(count):
        part += numbers[unsafe_offset=i]
        i += step
    part = block.sum[block_size=BLOCK](part)
    if thread_idx.x == 0:
        _ = Atomic.fetch_add(total, part)


def sum[
    shape: StaticString
](
    ctx: DeviceContext,
    total: DeviceBuffer[DType.int32],
    numbers: DeviceBuffer[DType.int32],
) raises:
    comptime BLOCK = tunable["BLOCK", 64, 128, 256, 512, shape=shape]()
    comptime BLOCKS = tunable["BLOCKS", 64, 256, 1024, 4096, shape=shape]()
    comptime UNROLL = tunable["UNROLL", 1, 4, 8, shape=shape]()
    comptime kernel = sum_kernel[BLOCK, UNROLL]

    def launch(ctx: DeviceContext) raises {imm total, imm numbers}:
        total.enqueue_fill(0)
        ctx.enqueue_function[kernel](
            total,
            numbers,
            Int64(len(numbers)),
            grid_dim=BLOCKS,
            block_dim=BLOCK,
        )

    measure[shape=shape](launch, ctx, total)


def main() raises:
    with DeviceContext() as ctx:
        var total = ctx.enqueue_create_buffer[DType.int32](1)

        comptime for shape in [
            StaticString(StaticString("short")),
            StaticString(StaticString("long")),
        ]:
            comptime count = SHORT if shape == "short" else LONG
            var numbers = ctx.enqueue_create_buffer[DType.int32](count)
            with numbers.map_to_host() as host:
                for i in range(count):
                    host[i] = Int32(i % 10)
            sum[shape](ctx, total, numbers)
            with total.map_to_host() as host:
                print(shape, host[0])
