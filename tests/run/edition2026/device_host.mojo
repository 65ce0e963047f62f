"""Hosts of edition 2026: copies, streams, events, measurements, element by element functions, ids that are signed."""

from layout import Coord, TileTensor, row_major
from max.algorithm.functional import elementwise
from max.gpu import global_idx, lane_id, thread_idx, warp_id
from max.gpu.host import DeviceBuffer, DeviceContext, Dim


def fill(p: Pointer[Float32, MutAnyOrigin], value: Float32, n: Int32):
    var i = global_idx.x
    if i < Int(n):
        p[unsafe_offset=i] = value + Float32(i)


def counted(data: Pointer[NoneType, MutAnyOrigin]):
    data.unsafe_bitcast[Int32]()[] += 1


def members(ctx: DeviceContext) raises:
    """Members that few programs use, on any device."""
    ctx.run_healthcheck()
    var calls = Int32(0)
    var data = Pointer(to=calls).unsafe_bitcast[NoneType]().as_unsafe_any_origin()
    ctx.stream().enqueue_host_func(counted, data)
    ctx.stream().enqueue_host_func(counted, data)
    ctx.synchronize()
    var second = ctx.create_stream()
    var count = ctx.num_streams()
    var other = ctx.select_stream(count - 1)
    var a = other.enqueue_create_buffer[DType.int32](4)
    a.enqueue_fill(calls)
    other.synchronize()
    var b = ctx.enqueue_create_buffer[DType.int32](4)
    ctx.enqueue_copy_no_cross_stream_sync(b, a)
    with b.map_to_host() as host:
        print(host[3], count >= 1, ctx.max_single_alloc_size() > 1000)
    try:
        _ = ctx.select_stream(count)
    except error:
        print(String(error).byte_length() > 0)
    second.synchronize()
    print(len(DeviceBuffer[DType.int8].empty(ctx)), ctx.assert_default_target().id())
    var external = ctx.create_external_stream(Optional[Pointer[NoneType, MutAnyOrigin]](None))
    external.synchronize()


def on_cpu() raises:
    var cpu: DeviceContext.CPU = DeviceContext.cpu()
    var sum = 0

    def first() {mut sum}:
        sum = 100

    def each(i: Int) {mut sum}:
        sum += i

    cpu.enqueue_cpu_function(first)
    cpu.enqueue_cpu_range(each, 5)
    cpu.synchronize()
    print(sum, cpu.is_host_unified(), cpu.assert_cpu_target().api())
    var numbers: List[Float32] = [1, 2, 3]
    var view = cpu.wrap_host_memory[DType.float32](numbers.unsafe_ptr(), 3)
    view.enqueue_fill(7)
    cpu.synchronize()
    print(numbers, view.unsafe_host_ptr()[unsafe_offset=2])
    var host = cpu.enqueue_create_host_buffer[DType.int32](3)
    host.reassign_ownership_to(cpu)
    host[1] = 9
    print(host^.take_ptr()[unsafe_offset=1])


def show(ctx: DeviceContext, b: DeviceBuffer[DType.float32]) raises:
    with b.map_to_host() as h:
        print(h[0], h[len(b) - 1])


def signed_ids(p: Pointer[Int32, MutAnyOrigin]):
    var before = thread_idx.x - 5
    if before < 0:
        p[unsafe_offset=thread_idx.x] = Int32(before)
    if lane_id() - 3 < 0 and warp_id() - 1 < 0:
        p[unsafe_offset=lane_id()] -= 100
    var last: Int = global_idx.x
    if last == 31:
        p[unsafe_offset=last] = 7


def each(ctx: DeviceContext) raises:
    var numbers = List[Float32](length=12, fill=1)
    var t = TileTensor(numbers, row_major[3, 4]())

    def on_host[width: Int, alignment: Int = 1](place: Coord) {var t}:
        var i = Int(place[0].value())
        t.store[width](
            place, SIMD[DType.float32, width](Float32(i * 10 + Int(place[1])))
        )

    elementwise[simd_width=2, target="cpu"](on_host, Coord(3, 4), ctx)
    print(t)
    var buffer = ctx.enqueue_create_buffer[DType.float32](12)
    var on_device = TileTensor(buffer, row_major[3, 4]())

    def set[width: Int, alignment: Int = 1](place: Coord) {var on_device}:
        on_device.store[width](
            place,
            SIMD[DType.float32, width](
                Float32(Int(place[0]) * 10 + Int(place[1]))
            ),
        )

    elementwise[simd_width=2, target="gpu"](set, Coord(3, 4), ctx)
    with buffer.map_to_host() as h:
        print(h[0], h[2], h[11])


def main() raises:
    var ctx = DeviceContext()
    comptime N = 16
    var a = ctx.enqueue_create_buffer[DType.float32](N)
    var h = ctx.enqueue_create_host_buffer[DType.float32](N)
    ctx.synchronize()
    for i in range(N):
        h[i] = Float32(i)
    ctx.enqueue_copy(a, h)
    show(ctx, a)
    var list = List[Float32](length=N, fill=3)
    ctx.enqueue_copy(a, Span(list))
    show(ctx, a)
    ctx.enqueue_copy(Span(list), a)
    ctx.enqueue_copy(dst_buf=a, src_ptr=list.unsafe_ptr())
    ctx.enqueue_copy(dst_ptr=list.unsafe_ptr(), src_buf=a)
    a.enqueue_fill(2)
    a.enqueue_copy_to(h)
    h.enqueue_copy_from(a)
    ctx.enqueue_memset(a, Float32(5))
    show(ctx, a)
    var sub = a.create_sub_buffer[DType.float32](4, 4)
    ctx.enqueue_function[fill](
        sub, Float32(10), Int32(4), grid_dim=1, block_dim=4
    )
    show(ctx, sub)
    var f = ctx.compile_function[fill]()
    var s = ctx.create_stream()
    s.enqueue_function(
        f, a, Float32(1), Int32(N), grid_dim=Dim(1), block_dim=Dim(N, 1, 1)
    )
    s.synchronize()
    var e = ctx.create_event()
    s.record_event(e)
    ctx.stream().enqueue_wait_for(e)
    e.synchronize()
    show(ctx, a)
    ctx.enqueue_function(
        f, a, Float32(7), Int32(N), grid_dim=(1,), block_dim=(N,)
    )
    show(ctx, a)

    def work(c: DeviceContext) raises {imm}:
        c.enqueue_function(f, a, Float32(8), Int32(N), grid_dim=1, block_dim=N)

    var t = ctx.execution_time(work, 3)
    print(t > 0)
    show(ctx, a)
    print(h.as_span()[2], len(h))
    var host_only = DeviceContext(api="cpu")
    var hb = host_only.enqueue_create_host_buffer[DType.int32](4)
    for i in range(4):
        hb[i] = Int32(i)
    print(hb)
    print(h)
    var ids = ctx.enqueue_create_buffer[DType.int32](64)
    ids.enqueue_fill(0)
    ctx.enqueue_function[signed_ids](ids, grid_dim=1, block_dim=64)
    with ids.map_to_host() as id:
        print(id[0], id[4], id[5], id[31], id[32])
    each(ctx)
    members(ctx)
    on_cpu()
