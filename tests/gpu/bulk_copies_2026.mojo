# targets: sm_90, cpu
# Copies of consecutive bytes, vectors over an edge, values that the blocks of a cluster exchange, places in buffers.
from std.memory import unsafe_stack_allocation
from std.sys import size_of
from std.utils import StaticTuple
from max.gpu import barrier, block_idx, global_idx, thread_idx
from max.gpu.host import DeviceContext, DevicePointer
from max.gpu.memory import (
    AddressSpace,
    ReduceOp,
    build_edge_mask,
    cp_async_bulk_global_shared_cta,
    cp_async_bulk_prefetch,
    cp_async_bulk_reduce_global_shared_cta,
    cp_async_bulk_shared_cluster_global,
    fence_async_view_proxy,
    gmem_edge_masked_load,
    smem_edge_masked_load,
)
from max.gpu.primitives.cluster import (
    block_rank_in_cluster,
    cluster_allgather,
    cluster_allreduce,
    cluster_sync,
    store_cluster_smem,
)
from max.gpu.sync import (
    cp_async_bulk_commit_group,
    cp_async_bulk_wait_group,
    mbarrier_arrive_expect_tx_shared,
    mbarrier_init,
    mbarrier_try_wait_parity_shared,
)

comptime COUNT = 64
comptime Floats = Pointer[Float32, MutAnyOrigin]


def copies(source: Floats, target: Floats, sums: Floats):
    """Copies numbers through shared memory, and adds them to others."""
    var held = unsafe_stack_allocation[
        COUNT, Float32, address_space=AddressSpace.SHARED, alignment=16
    ]()
    var arrived = unsafe_stack_allocation[
        1, Int64, address_space=AddressSpace.SHARED, alignment=8
    ]()
    comptime bytes = Int32(COUNT * size_of[Float32]())
    if thread_idx.x == 0:
        mbarrier_init(arrived, 1)
        cp_async_bulk_prefetch(source, bytes)
        mbarrier_arrive_expect_tx_shared(arrived, bytes)
        cp_async_bulk_shared_cluster_global(held, source, bytes, arrived)
    barrier()
    mbarrier_try_wait_parity_shared(arrived, 0, 10000000)
    held[unsafe_offset=thread_idx.x] *= 2
    fence_async_view_proxy()
    barrier()
    if thread_idx.x == 0:
        cp_async_bulk_global_shared_cta(target, held, bytes)
        cp_async_bulk_reduce_global_shared_cta[reduction_kind=ReduceOp.ADD](
            sums, held, bytes
        )
        cp_async_bulk_commit_group()
        cp_async_bulk_wait_group[0]()


def edges(source: Floats, target: Floats, count: Int32):
    """Reads vectors over the end of a buffer."""
    var held = unsafe_stack_allocation[
        8, Float32, address_space=AddressSpace.SHARED
    ]()
    for i in range(8):
        held[unsafe_offset=i] = Float32(i)
    var at = 4 * thread_idx.x
    var mask = build_edge_mask(Int32(at), 1, count)
    var sum = gmem_edge_masked_load[4](
        source.unsafe_offset(at), mask
    ) + smem_edge_masked_load[4](held, mask)
    target.unsafe_store(at, sum)


def larger[
    dtype: DType, width: SIMDLength
](a: SIMD[dtype, width], b: SIMD[dtype, width]) capturing -> SIMD[dtype, width]:
    return max(a, b)


@__llvm_metadata(`nvvm.cluster_dim`=StaticTuple[Int32, 3](4, 1, 1))
def exchange(made: Floats):
    """Blocks of a cluster gather values of all, find the largest, and write to a neighbour.
    """
    var slot = unsafe_stack_allocation[
        16, Float32, address_space=AddressSpace.SHARED
    ]()
    var own = unsafe_stack_allocation[
        1, Float32, address_space=AddressSpace.SHARED
    ]()
    var rank = block_rank_in_cluster()
    var all = cluster_allgather[4](
        slot, SIMD[DType.float32, 1](Float32(rank) + 10)
    )
    var most = cluster_allreduce[larger, 4](
        slot, SIMD[DType.float32, 2](Float32(rank), 1 - Float32(rank))
    )
    if thread_idx.x == 0:
        store_cluster_smem[DType.float32, 1](own, (rank + 1) % 4, Float32(rank))
    cluster_sync()
    if thread_idx.x == 1:
        var to = made.unsafe_offset(block_idx.x * 4)
        to.unsafe_store(
            0, SIMD[DType.float32, 4](all[3] + all[0], most[0], most[1], own[])
        )
    cluster_sync()


def add_one(p: Pointer[Float32, MutAnyOrigin], n: Int32):
    var i = global_idx.x
    if i < Int(n):
        p[unsafe_offset=i] += 1


def copy_and_read(ctx: DeviceContext) raises:
    var source = ctx.enqueue_create_buffer[DType.float32](COUNT)
    var target = ctx.enqueue_create_buffer[DType.float32](COUNT)
    var sums = ctx.enqueue_create_buffer[DType.float32](COUNT)
    with source.map_to_host() as host:
        for i in range(COUNT):
            host[i] = Float32(i)
    sums.enqueue_fill(100)
    ctx.enqueue_function[copies](
        source, target, sums, grid_dim=1, block_dim=COUNT
    )
    with target.map_to_host() as host:
        print(host[1], host[COUNT - 1])
    with sums.map_to_host() as host:
        print(host[1], host[COUNT - 1])
    target.enqueue_fill(-1)
    ctx.enqueue_function[edges](
        source, target, Int32(10), grid_dim=1, block_dim=4
    )
    with target.map_to_host() as host:
        for i in range(16):
            print(host[i], end=" ")
        print()


def exchange_values(ctx: DeviceContext) raises:
    var made = ctx.enqueue_create_buffer[DType.float32](32)
    ctx.enqueue_function[exchange](made, grid_dim=8, block_dim=2)
    with made.map_to_host() as host:
        for i in range(32):
            print(host[i], end=" ")
        print()


def point_into_a_buffer(ctx: DeviceContext) raises:
    var b = ctx.enqueue_create_buffer[DType.float32](16)
    b.enqueue_fill(0)
    var p: DevicePointer[DType.float32, origin_of(b)] = b.device_ptr()
    ctx.enqueue_function[add_one](p, Int32(4), grid_dim=1, block_dim=4)
    ctx.enqueue_function[add_one](p + 2, Int32(4), grid_dim=1, block_dim=4)
    var q = p + 6
    q += 1
    print(p == q, p < q, q.offset(), (q - 1).offset())
    print(len(q.buffer()))
    _ = q.unsafe_ptr()
    print(p != q, p <= q)
    with b.map_to_host() as h:
        for i in range(8):
            print(h[i], end=" ")
        print()


def main() raises:
    with DeviceContext() as ctx:
        copy_and_read(ctx)
        exchange_values(ctx)
        point_into_a_buffer(ctx)
