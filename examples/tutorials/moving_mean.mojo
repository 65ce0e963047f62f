from std.math import ceildiv

from max.gpu import barrier, global_idx, thread_idx
from max.gpu.host import DeviceContext
from std.memory import unsafe_stack_allocation

comptime COUNT = 1000
comptime BLOCK = 128
comptime RADIUS = 2
comptime Floats = Pointer[Float32, MutAnyOrigin]


def moving_mean(values: Floats, means: Floats, count: Int64):
    """Averages each value with its neighbours up to RADIUS away."""
    var tile = unsafe_stack_allocation[
        BLOCK + 2 * RADIUS, Float32, address_space=AddressSpace.SHARED
    ]()
    var thread = Int(thread_idx.x)
    var i = Int(global_idx.x)

    # Each thread loads its own value; the first few also load the borders.
    tile[unsafe_offset=thread + RADIUS] = (
        values[unsafe_offset=i] if i < Int(count) else 0
    )
    if thread < RADIUS:
        var left = i - RADIUS
        var right = i + BLOCK
        tile[unsafe_offset=thread] = (
            values[unsafe_offset=left] if left >= 0 else 0
        )
        tile[unsafe_offset=thread + BLOCK + RADIUS] = (
            values[unsafe_offset=right] if right < Int(count) else 0
        )
    barrier()

    if i < Int(count):
        var sum: Float32 = 0
        for offset in range(2 * RADIUS + 1):
            sum += tile[unsafe_offset=thread + offset]
        means[unsafe_offset=i] = sum / (2 * RADIUS + 1)


def main() raises:
    var ctx = DeviceContext()
    var values = ctx.enqueue_create_buffer[DType.float32](COUNT)
    var means = ctx.enqueue_create_buffer[DType.float32](COUNT)
    with values.map_to_host() as host:
        for i in range(COUNT):
            host[i] = Float32(i)

    ctx.enqueue_function[moving_mean](
        values,
        means,
        Int64(COUNT),
        grid_dim=ceildiv(COUNT, BLOCK),
        block_dim=BLOCK,
    )

    with means.map_to_host() as host:
        print(host[10], host[500], host[997])
