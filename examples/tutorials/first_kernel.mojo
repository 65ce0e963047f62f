from std.math import ceildiv

from max.gpu import global_idx
from max.gpu.host import DeviceContext

comptime COUNT = 1000
comptime BLOCK = 256
comptime Floats = Pointer[Float32, MutAnyOrigin]


def scale(values: Floats, factor: Float32, count: Int64):
    var i = Int(global_idx.x)
    if i < Int(count):
        values[unsafe_offset=i] *= factor


def main() raises:
    var ctx = DeviceContext()

    # Memory on the device. Work on it is queued, and done in order.
    var values = ctx.enqueue_create_buffer[DType.float32](COUNT)

    # A view of it on the host; the device sees the changes when the block ends.
    with values.map_to_host() as host:
        for i in range(COUNT):
            host[i] = Float32(i)

    # Enough blocks of 256 threads for every element.
    ctx.enqueue_function[scale](
        values,
        Float32(3),
        Int64(COUNT),
        grid_dim=ceildiv(COUNT, BLOCK),
        block_dim=BLOCK,
    )

    with values.map_to_host() as host:
        print("first:", host[0], host[1], " last:", host[COUNT - 1])
