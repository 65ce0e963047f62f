"""SAXPY, the "hello world" of GPUs: y = a * x + y over long vectors.

    ktc run examples/saxpy.kpy

The kernel is a grid-stride loop, so one launch of a fixed size handles vectors of any length.
"""

from max.gpu import block_dim, global_idx, grid_dim
from max.gpu.host import DeviceContext

comptime COUNT = 100_000
comptime BLOCK = 256


def saxpy(
    a: Float32,
    x: Pointer[Float32, MutAnyOrigin],
    y: Pointer[Float32, MutAnyOrigin],
    count: Int64,
):
    """Adds `a * x` to `y`, element by element."""
    for i in range(
        Int(global_idx.x), Int(count), Int(grid_dim.x * block_dim.x)
    ):
        y[unsafe_offset=i] = a * x[unsafe_offset=i] + y[unsafe_offset=i]


def main() raises:
    with DeviceContext() as ctx:
        var x = ctx.enqueue_create_buffer[DType.float32](COUNT)
        var y = ctx.enqueue_create_buffer[DType.float32](COUNT)
        with x.map_to_host() as host:
            for i in range(COUNT):
                host[i] = Float32(i)
        y.enqueue_fill(1)

        ctx.enqueue_function[saxpy](
            Float32(2), x, y, Int64(COUNT), grid_dim=64, block_dim=BLOCK
        )

        with y.map_to_host() as host:
            print("y[0], y[1], y[-1]:", host[0], host[1], host[COUNT - 1])
