"""Tile tensors in kernels: as arguments with known and unknown layouts, in shared memory, as tiles, vectors, shares."""

from layout import Idx, Layout, LayoutTensor, TensorLayout, TileTensor, lt_to_tt, row_major
from layout.tile_tensor import stack_allocation
from max.gpu import barrier, block_idx, global_idx, thread_idx
from max.gpu.host import DeviceContext
from max.gpu.memory import async_copy_wait_all

comptime N = 32
comptime TILE = 8
comptime square = row_major[N, N]()
comptime Square = TileTensor[DType.float32, type_of(square), MutAnyOrigin]
comptime SquareIn = TileTensor[DType.float32, type_of(square), ImmutAnyOrigin]


def product(c: Square, a: SquareIn, b: SquareIn):
    var left = stack_allocation[dtype=DType.float32, address_space=AddressSpace.SHARED](row_major[TILE, TILE]())
    var right = stack_allocation[dtype=DType.float32, address_space=AddressSpace.SHARED](row_major[TILE, TILE]())
    var x = thread_idx.x
    var y = thread_idx.y
    var sum: Float32 = 0
    for step in range(N // TILE):
        left[y, x] = a.tile[TILE, TILE](block_idx.y, step)[y, x]
        right[y, x] = b.tile[TILE, TILE](step, block_idx.x)[y, x]
        barrier()
        comptime for k in range(TILE):
            sum += rebind[Float32](left[y, k] * right[k, x])
        barrier()
    c.tile[TILE, TILE](block_idx.y, block_idx.x)[y, x] = sum


def halves(c: Square, a: SquareIn):
    """Each thread takes some vectors of a block of the matrix."""
    var shared = stack_allocation[dtype=DType.float32, address_space=AddressSpace.SHARED](row_major[16, 32]())
    comptime threads = row_major[4, 8]()
    var source = a.tile[16, 32](block_idx.y, 0).vectorize[1, 4]().distribute[threads](thread_idx.x)
    shared.vectorize[1, 4]().distribute[threads](thread_idx.x).copy_from_async(source)
    async_copy_wait_all()
    barrier()
    var mine = shared.tile[16, 32](0, 0).vectorize[1, 4]().distribute[threads](thread_idx.x)
    var to = c.tile[16, 32](block_idx.y, 0).vectorize[1, 4]().distribute[threads](thread_idx.x)
    comptime for i in range(4):
        to[i, 0] = mine[i, 0] * 0.5


def rows_scaled[L: TensorLayout](matrix: TileTensor[mut=True, DType.float32, L, MutAnyOrigin], factor: Float32):
    """The number of rows is known at run time only."""
    comptime assert matrix.flat_rank == 2
    var row = global_idx.x
    if row < Int(matrix.dim[0]()):
        for column in range(Int(matrix.dim(1))):
            matrix[row, column] = matrix[row, column] * factor + Float32(row)


def converted(matrix: Square):
    """The same elements as a layout tensor and back."""
    var old = matrix.to_layout_tensor()
    lt_to_tt(old.tile[1, N](global_idx.x, 0))[0, 3] = 7


def legacy(matrix: LayoutTensor[DType.float32, Layout.row_major(N, N), MutAnyOrigin]):
    """A layout tensor, whose shares are those of signed ids."""
    var mine = matrix.tile[8, 16](0, 0).vectorize[1, 4]().distribute[Layout.row_major(4, 4)](thread_idx.x)
    mine[0, 0] = mine[1, 0] + 1


def main() raises:
    var ctx = DeviceContext()
    var a = ctx.enqueue_create_buffer[DType.float32](N * N)
    var b = ctx.enqueue_create_buffer[DType.float32](N * N)
    var c = ctx.enqueue_create_buffer[DType.float32](N * N)
    with a.map_to_host() as ah, b.map_to_host() as bh:
        var rows = TileTensor(ah, square)
        for i in range(N):
            for j in range(N):
                rows[i, j] = Float32(i - j)
                bh[i * N + j] = 2 if i == j else 0
    ctx.enqueue_function[product](
        TileTensor(c, square),
        TileTensor[mut=False](a, square),
        TileTensor[mut=False](b, square),
        grid_dim=(4, 4),
        block_dim=(TILE, TILE),
    )
    with c.map_to_host() as h:
        print(h[0], h[1], h[N], h[N * N - 2])
    ctx.enqueue_function[halves](
        TileTensor(c, square), TileTensor[mut=False](a, square), grid_dim=(1, 2), block_dim=32
    )
    with c.map_to_host() as h:
        print(TileTensor(h, square).slice[30:32, 0:4]())
    var count = 5
    var few = row_major(count, Idx[N])
    ctx.enqueue_function[rows_scaled[type_of(few)]](TileTensor(c, few), Float32(2), grid_dim=1, block_dim=N)
    with c.map_to_host() as h:
        print(TileTensor(h, square).slice[3:6, 0:4]())
    ctx.enqueue_function[converted](TileTensor(c, square), grid_dim=2, block_dim=N // 2)
    with c.map_to_host() as h:
        print(TileTensor(h, square).slice[0:32, 3]())
    ctx.enqueue_function[legacy](
        LayoutTensor[DType.float32, Layout.row_major(N, N)](c), grid_dim=1, block_dim=16
    )
    with c.map_to_host() as h:
        print(h[0], h[4], h[3 * N])
