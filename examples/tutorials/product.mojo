"""Products of square matrices."""

from max.gpu import barrier, block_idx, thread_idx
from layout import Layout, LayoutTensor

comptime TILE = 16
comptime Matrix[size: Int] = LayoutTensor[
    DType.float32, Layout.row_major(size, size), MutAnyOrigin
]
comptime Shared = LayoutTensor[
    DType.float32,
    Layout.row_major(TILE, TILE),
    MutAnyOrigin,
    address_space=AddressSpace.SHARED,
]


def tiled[size: Int](a: Matrix[size], b: Matrix[size], c: Matrix[size]):
    """Multiplies through tiles in shared memory; blocks have 16 x 16 threads.
    """
    var a_tile = Shared.stack_allocation()
    var b_tile = Shared.stack_allocation()
    var y = Int(thread_idx.y)
    var x = Int(thread_idx.x)
    var row = Int(block_idx.y) * TILE + y
    var column = Int(block_idx.x) * TILE + x
    var sum: Float32 = 0
    for start in range(0, size, TILE):
        a_tile[y, x] = a[row, start + x]
        b_tile[y, x] = b[start + y, column]
        barrier()
        for k in range(TILE):
            sum += rebind[Float32](a_tile[y, k]) * rebind[Float32](b_tile[k, x])
        barrier()
    c[row, column] = sum


@export
def trace(
    matrix: Pointer[Float32, ImmUnsafeAnyOrigin], size: Int
) raises -> Float64:
    """Returns the sum of the diagonal."""
    if size < 1:
        raise Error("ValueError: a matrix has at least one row")
    var sum = Float64(0)
    for i in range(size):
        sum += Float64(matrix[unsafe_offset=i * size + i])
    return sum
