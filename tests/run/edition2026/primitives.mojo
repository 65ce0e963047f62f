"""Warps, blocks, atomics and copies with the signatures of edition 2026."""

from max.gpu import barrier, block_idx, lane_id, syncwarp, thread_idx
from max.gpu.host import DeviceContext
from max.gpu.primitives import block, warp
from max.gpu.primitives.warp import shuffle_down, shuffle_xor
from max.gpu.intrinsics import threadfence, Scope, byte_permute
from max.gpu.memory import async_copy, async_copy_wait_all
from std.atomic import Atomic, Ordering, fence
from std.memory import stack_allocation


def warps(p: Pointer[Int32, MutAnyOrigin]):
    var v = Int32(lane_id())
    var t = thread_idx.x
    var r: Int32 = 0
    r += warp.sum(v)
    r += warp.max(v) * 3
    r += warp.min(v + 1)
    r += warp.broadcast(v + 4)
    r += warp.shuffle_up(v, UInt32(1))
    r += warp.shuffle_idx(v, UInt32(3))
    r += shuffle_down(v, UInt32(2))
    r += shuffle_xor(v, UInt32(1))
    r += warp.prefix_sum(v)
    r += warp.prefix_sum[exclusive=True](v)
    r += warp.lane_group_sum[num_lanes=4](v)
    r += warp.lane_group_max[num_lanes=8](v)
    r += warp.lane_group_min[num_lanes=8, stride=1](v)
    r += Int32(warp.vote[DType.uint32](lane_id() < 5))
    r += Int32(warp.match_any[mask_type=DType.uint32](v // 4)) + Int32(warp.match_all[mask_type=DType.uint32](v * 0) != 0)
    r += Int32(warp.match_all[mask_type=DType.uint32](v))
    syncwarp()
    p[unsafe_offset=t] = r


def blocks(p: Pointer[Float32, MutAnyOrigin]):
    var v = Float32(thread_idx.x)
    var a = block.sum[block_size=64](v)
    var b = block.max[block_size=64](v)
    var c = block.min[block_size=64, broadcast=True](v + 1)
    var d = block.broadcast[block_size=64](v, 5)
    var e = block.prefix_sum[block_size=64](v)
    var f = block.sum[block_dim_x=64, block_dim_y=1](v)
    f += block.max[block_dim_x=64, block_dim_y=1](v) + block.min[block_dim_x=64, block_dim_y=1](v)
    f += block.broadcast[block_dim_x=64, block_dim_y=1](v, 7) + block.prefix_sum[block_dim_x=64, block_dim_y=1](v)
    p[unsafe_offset=thread_idx.x] = a + b * 2 + c * 3 + d * 5 + e + f


def atomics(p: Pointer[Int32, MutAnyOrigin], q: Pointer[Float32, MutAnyOrigin]):
    _ = Atomic.fetch_add(p, Int32(1))
    _ = Atomic[Int32].fetch_add[ordering=Ordering.RELAXED](p.unsafe_offset(1), Int32(2))
    Atomic.max(p.unsafe_offset(2), Int32(thread_idx.x))
    Atomic.min(p.unsafe_offset(3), Int32(-thread_idx.x))
    _ = Atomic[Int32, scope="gpu"].fetch_add(p.unsafe_offset(4), Int32(1))
    _ = Atomic.fetch_add(q, Float32(0.5))
    threadfence[Scope.GPU]()
    fence[Ordering.SEQUENTIAL]()
    var expected: Int32 = 0
    if block_idx.x == 0 and thread_idx.x == 0:
        _ = Atomic[Int32].compare_exchange(p.unsafe_offset(5), expected, 9)


def copies(p: Pointer[Float32, MutAnyOrigin]):
    var s = stack_allocation[64, Float32, address_space=AddressSpace.SHARED]()
    var t = thread_idx.x
    async_copy[4](p.unsafe_offset(t).unsafe_address_space_cast[AddressSpace.GLOBAL](), s.unsafe_offset(t))
    async_copy_wait_all()
    barrier()
    p[unsafe_offset=t] = s[unsafe_offset=63 - t] + Float32(Int(byte_permute(UInt32(1), UInt32(2), UInt32(0x3210))))


def main() raises:
    var ctx = DeviceContext()
    var a = ctx.enqueue_create_buffer[DType.int32](64)
    var b = ctx.enqueue_create_buffer[DType.float32](64)
    ctx.enqueue_function[warps](a, grid_dim=1, block_dim=64)
    with a.map_to_host() as h:
        print(h[0], h[5], h[31], h[40])
    ctx.enqueue_function[blocks](b, grid_dim=1, block_dim=64)
    with b.map_to_host() as h:
        print(h[0], h[5], h[63])
    a.enqueue_fill(0)
    b.enqueue_fill(0)
    ctx.enqueue_function[atomics](a, b, grid_dim=2, block_dim=64)
    with a.map_to_host() as h, b.map_to_host() as g:
        print(h[0], h[1], h[2], h[3], h[4], h[5], g[0])
        for i in range(64):
            g[i] = Float32(i)
    ctx.enqueue_function[copies](b, grid_dim=1, block_dim=64)
    with b.map_to_host() as h:
        print(h[0], h[5], h[63])
    var counter = Atomic[Int32](3)
    counter += 4
    print(counter.fetch_add(1), counter.fetch_sub[ordering=Ordering.RELAXED](2), counter.load())
    counter.max(20)
    counter.store(counter.load[ordering=Ordering.ACQUIRE]() + 1)
    var seen: Int32 = 5
    print(counter.compare_exchange(seen, 1), seen, counter.compare_exchange(seen, 1), counter.load())
