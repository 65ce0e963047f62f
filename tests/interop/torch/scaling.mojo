"""A function on the device of its tensors."""

from layout import TileTensor, row_major
from max.gpu import global_idx
from max.gpu.host import DeviceContext

comptime Vector = TileTensor[
    mut=True, DType.float32, type_of(row_major(1)), MutAnyOrigin
]


def scale_kernel(output: Vector, x: Vector, by: Float32):
    var i = global_idx.x
    if i < Int(x.dim(0)):
        output[i] = x[i] * by


@export
def scale(output: Vector, x: Vector, by: Float32, ctx: DeviceContext) raises:
    """Multiplies each element."""
    comptime block = 128
    ctx.enqueue_function[scale_kernel](
        output,
        x,
        by,
        grid_dim=(Int(x.dim(0)) + block - 1) // block,
        block_dim=block,
    )
