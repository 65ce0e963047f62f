"""Three ways to add up a million numbers: a tree in shared memory, shuffles within warps, and the library's `block.sum`.

    ktc run examples/reduction.kpy

Each block leaves one partial sum; an atomic addition collects them.
"""

from std.math import ceildiv
from std.atomic import Atomic

from max.gpu import barrier, global_idx, lane_id, thread_idx, WARP_SIZE
from max.gpu.primitives import block, warp
from max.gpu.host import DeviceContext
from std.memory import unsafe_stack_allocation

comptime COUNT = 1_000_000
comptime BLOCK = 256

comptime Numbers = Pointer[Int32, MutAnyOrigin]


def sum_by_tree(numbers: Numbers, total: Numbers, count: Int64):
    """Halves the number of active threads in each step."""
    var shared = unsafe_stack_allocation[
        BLOCK, Int32, address_space=AddressSpace.SHARED
    ]()
    var thread = Int(thread_idx.x)
    var i = Int(global_idx.x)
    shared[unsafe_offset=thread] = (
        numbers[unsafe_offset=i] if i < Int(count) else 0
    )
    barrier()

    var active = BLOCK // 2
    while active > 0:
        if thread < active:
            shared[unsafe_offset=thread] += shared[
                unsafe_offset=thread + active
            ]
        barrier()
        active //= 2

    if thread == 0:
        _ = Atomic.fetch_add(total, shared[unsafe_offset=0])


def sum_by_shuffles(numbers: Numbers, total: Numbers, count: Int64):
    """Adds within each warp through registers, then the sums of the warps."""
    var sums = unsafe_stack_allocation[
        BLOCK // WARP_SIZE, Int32, address_space=AddressSpace.SHARED
    ]()
    var thread = Int(thread_idx.x)
    var i = Int(global_idx.x)
    var mine = numbers[unsafe_offset=i] if i < Int(count) else 0

    var offset = WARP_SIZE // 2
    while offset > 0:
        mine += warp.shuffle_down(mine, UInt32(offset))
        offset //= 2
    if lane_id() == 0:
        sums[unsafe_offset=thread // WARP_SIZE] = mine
    barrier()

    if thread == 0:
        var sum: Int32 = 0
        for w in range(BLOCK // WARP_SIZE):
            sum += sums[unsafe_offset=w]
        _ = Atomic.fetch_add(total, sum)


def sum_by_library(numbers: Numbers, total: Numbers, count: Int64):
    var i = Int(global_idx.x)
    var mine = numbers[unsafe_offset=i] if i < Int(count) else 0
    var sum = block.sum[block_size=BLOCK](mine)
    if thread_idx.x == 0:
        _ = Atomic.fetch_add(total, sum)


def main() raises:
    with DeviceContext() as ctx:
        var numbers = ctx.enqueue_create_buffer[DType.int32](COUNT)
        var total = ctx.enqueue_create_buffer[DType.int32](1)
        var expected: Int32 = 0
        with numbers.map_to_host() as host:
            for i in range(COUNT):
                host[i] = Int32(i % 1000)
                expected += host[i]
        print("expected:", expected)

        @__parameter
        def show[
            kernel: def(Numbers, Numbers, Int64) thin -> None
        ](name: String) raises:
            total.enqueue_fill(0)
            ctx.enqueue_function[kernel](
                numbers,
                total,
                Int64(COUNT),
                grid_dim=ceildiv(COUNT, BLOCK),
                block_dim=BLOCK,
            )
            with total.map_to_host() as host:
                print(name, host[0])

        show[sum_by_tree]("tree:    ")
        show[sum_by_shuffles]("shuffles:")
        show[sum_by_library]("library: ")
