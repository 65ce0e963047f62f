"""Softmax of the rows of a matrix: one block a row, with the block's maximum and sum.

    ktc run examples/softmax.kpy
"""

from std.math import exp

from max.gpu.primitives import block
from max.gpu import block_idx, thread_idx
from max.gpu.host import DeviceContext
from layout import Layout, LayoutTensor
from std.utils.numerics import neg_inf

comptime ROWS = 24
comptime COLUMNS = 1000
comptime BLOCK = 128
comptime Matrix = LayoutTensor[
    DType.float32, Layout.row_major(ROWS, COLUMNS), MutAnyOrigin
]


def softmax(input: Matrix, output: Matrix):
    """Subtracts the row's maximum first, so that no exponential overflows."""
    var row = Int(block_idx.x)
    var first = Int(thread_idx.x)

    var largest = neg_inf[DType.float32]()
    for column in range(first, COLUMNS, BLOCK):
        largest = max(largest, rebind[Float32](input[row, column]))
    largest = block.max[block_size=BLOCK](largest)

    var sum: Float32 = 0
    for column in range(first, COLUMNS, BLOCK):
        sum += exp(rebind[Float32](input[row, column]) - largest)
    sum = block.sum[block_size=BLOCK](sum)

    for column in range(first, COLUMNS, BLOCK):
        output[row, column] = exp(input[row, column] - largest) / sum


def main() raises:
    var ctx = DeviceContext()
    var input = ctx.enqueue_create_buffer[DType.float32](ROWS * COLUMNS)
    var output = ctx.enqueue_create_buffer[DType.float32](ROWS * COLUMNS)
    with input.map_to_host() as host:
        for i in range(ROWS * COLUMNS):
            host[i] = Float32((i * 7919) % 200 - 100)

    ctx.enqueue_function[softmax](
        Matrix(input), Matrix(output), grid_dim=ROWS, block_dim=BLOCK
    )

    var worst: Float64 = 0
    with input.map_to_host() as values, output.map_to_host() as host:
        for row in range(ROWS):
            var total: Float64 = 0
            for column in range(COLUMNS):
                total += exp(Float64(values[row * COLUMNS + column]) - 100)
            for column in range(COLUMNS):
                var expected = (
                    exp(Float64(values[row * COLUMNS + column]) - 100) / total
                )
                worst = max(
                    worst, abs(Float64(host[row * COLUMNS + column]) - expected)
                )
    print("largest error below 1e-7:", worst < 1e-7)
