"""Heat spreads over a plate: a five-point stencil, stepped a few hundred times between two buffers.

    ktc run examples/heat.kpy [OUT.pgm]

The left edge is kept hot and the others cold. The result is an image of the plate.
"""

from std.sys import argv

from max.gpu import global_idx
from max.gpu.host import DeviceContext
from layout import Layout, LayoutTensor

from netpbm import Image, write_image

comptime SIZE = 128
comptime STEPS = 400
comptime layout = Layout.row_major(SIZE, SIZE)
comptime Plate = LayoutTensor[DType.float32, layout, MutAnyOrigin]


def step(old: Plate, new: Plate):
    """Each inner point becomes the mean of its four neighbours."""
    var row = Int(global_idx.y)
    var column = Int(global_idx.x)
    if row > 0 and row < SIZE - 1 and column > 0 and column < SIZE - 1:
        var neighbours = (
            old[row - 1, column]
            + old[row + 1, column]
            + old[row, column - 1]
            + old[row, column + 1]
        )
        new[row, column] = 0.25 * neighbours


def main() raises:
    var ctx = DeviceContext()
    var first = ctx.enqueue_create_buffer[DType.float32](
        comptime(layout.size())
    )
    var second = ctx.enqueue_create_buffer[DType.float32](
        comptime(layout.size())
    )
    first.enqueue_fill(0)
    with first.map_to_host() as host:
        for row in range(SIZE):
            host[row * SIZE] = 255
    second.enqueue_copy_from(first)

    for _ in range(STEPS // 2):
        ctx.enqueue_function[step](
            Plate(first),
            Plate(second),
            grid_dim=(SIZE // 16, SIZE // 16),
            block_dim=(16, 16),
        )
        ctx.enqueue_function[step](
            Plate(second),
            Plate(first),
            grid_dim=(SIZE // 16, SIZE // 16),
            block_dim=(16, 16),
        )

    var picture = Image(SIZE, SIZE, 1)
    with first.map_to_host() as host:
        print("temperature in the middle row, every sixteenth point:")
        for column in range(0, SIZE, 16):
            print(" ", round(host[(SIZE // 2) * SIZE + column], 2))
        for i in range(comptime(layout.size())):
            picture.pixels[i] = UInt8(host[i])
    if len(argv()) > 1:
        write_image(String(argv()[1]), picture)
