"""A transpose through a tile in shared memory, so that reads and writes of global memory are both coalesced.

    ktc run examples/transpose.kpy

The tile has one column more than it needs: without it, the threads of a warp would all read from one bank.
"""

from std.math import ceildiv

from max.gpu import barrier, block_idx, thread_idx
from max.gpu.host import DeviceContext
from layout import Layout, LayoutTensor

comptime ROWS = 200
comptime COLUMNS = 333
comptime TILE = 32
comptime LINES = 8  # Each thread copies TILE // LINES elements.

comptime Source = LayoutTensor[
    DType.float32, Layout.row_major(ROWS, COLUMNS), MutAnyOrigin
]
comptime Target = LayoutTensor[
    DType.float32, Layout.row_major(COLUMNS, ROWS), MutAnyOrigin
]
comptime Tile = LayoutTensor[
    DType.float32,
    Layout.row_major(TILE, TILE + 1),
    MutAnyOrigin,
    address_space=AddressSpace.SHARED,
]


def transpose(source: Source, target: Target):
    var tile = Tile.stack_allocation()
    var x = Int(block_idx.x) * TILE + Int(thread_idx.x)
    var y = Int(block_idx.y) * TILE + Int(thread_idx.y)

    comptime for step in range(0, TILE, LINES):
        if x < COLUMNS and y + step < ROWS:
            tile[Int(thread_idx.y) + step, Int(thread_idx.x)] = source[
                y + step, x
            ]
    barrier()

    x = Int(block_idx.y) * TILE + Int(thread_idx.x)
    y = Int(block_idx.x) * TILE + Int(thread_idx.y)

    comptime for step in range(0, TILE, LINES):
        if x < ROWS and y + step < COLUMNS:
            target[y + step, x] = tile[
                Int(thread_idx.x), Int(thread_idx.y) + step
            ]


def main() raises:
    with DeviceContext() as ctx:
        var source = ctx.enqueue_create_buffer[DType.float32](ROWS * COLUMNS)
        var target = ctx.enqueue_create_buffer[DType.float32](ROWS * COLUMNS)
        with source.map_to_host() as host:
            for i in range(ROWS * COLUMNS):
                host[i] = Float32(i)

        ctx.enqueue_function[transpose](
            Source(source),
            Target(target),
            grid_dim=(ceildiv(COLUMNS, TILE), ceildiv(ROWS, TILE)),
            block_dim=(TILE, LINES),
        )

        var wrong = 0
        with target.map_to_host() as host:
            for column in range(COLUMNS):
                for row in range(ROWS):
                    wrong += Int(
                        host[column * ROWS + row]
                        != Float32(row * COLUMNS + column)
                    )
        print(wrong, "of", ROWS * COLUMNS, "elements are wrong")
