"""A matrix product in four steps: naive, tiles in shared memory, a register tile per thread, and tensor cores.

    ktc run examples/matmul_ladder.kpy            # checks the four on a small matrix
    ktc run examples/matmul_ladder.kpy measure    # and measures them on one of 4096 x 4096

docs/tutorials/matmul.md explains each step and says what it gains on an H200.
"""

from std.sys import argv
from std.time import perf_counter_ns

from max.gpu import WARP_SIZE, barrier, block_idx, thread_idx
from max.gpu.host import DeviceContext
from layout import Layout, LayoutTensor
from layout.tensor_core import TensorCore, get_mma_shape

comptime Matrix[size: Int] = LayoutTensor[
    DType.float32, Layout.row_major(size, size), MutAnyOrigin
]
comptime Shared[rows: Int, columns: Int] = LayoutTensor[
    DType.float32,
    Layout.row_major(rows, columns),
    MutAnyOrigin,
    address_space=AddressSpace.SHARED,
]


def naive[size: Int](a: Matrix[size], b: Matrix[size], c: Matrix[size]):
    """One thread an element, straight from global memory."""
    var row = Int(block_idx.y) * 16 + Int(thread_idx.y)
    var column = Int(block_idx.x) * 16 + Int(thread_idx.x)
    var sum: Float32 = 0
    for k in range(size):
        sum += rebind[Float32](a[row, k]) * rebind[Float32](b[k, column])
    c[row, column] = sum


comptime TILE = 32


def tiled[size: Int](a: Matrix[size], b: Matrix[size], c: Matrix[size]):
    """One thread an element; a block shares tiles of both factors."""
    var a_tile = Shared[TILE, TILE].stack_allocation()
    var b_tile = Shared[TILE, TILE].stack_allocation()
    var y = Int(thread_idx.y)
    var x = Int(thread_idx.x)
    var sum: Float32 = 0
    for step in range(size // TILE):
        a_tile[y, x] = a.tile[TILE, TILE](Int(block_idx.y), step)[y, x]
        b_tile[y, x] = b.tile[TILE, TILE](step, Int(block_idx.x))[y, x]
        barrier()

        comptime for k in range(TILE):
            sum += rebind[Float32](a_tile[y, k]) * rebind[Float32](b_tile[k, x])
        barrier()
    c.tile[TILE, TILE](Int(block_idx.y), Int(block_idx.x))[y, x] = sum


comptime BLOCK_TILE = 64
comptime DEPTH = 16
comptime PER_THREAD = 4  # Each thread computes 4 x 4 elements, 256 threads a tile of 64 x 64.


def registers[size: Int](a: Matrix[size], b: Matrix[size], c: Matrix[size]):
    """Each thread computes 4 x 4 elements."""
    var a_tile = Shared[DEPTH, BLOCK_TILE].stack_allocation()  # transposed, so that reads are contiguous
    var b_tile = Shared[DEPTH, BLOCK_TILE].stack_allocation()
    var thread = Int(thread_idx.x)
    var y = thread // 16
    var x = thread % 16
    var row = Int(block_idx.y) * BLOCK_TILE
    var column = Int(block_idx.x) * BLOCK_TILE
    var sums = Array[SIMD[DType.float32, PER_THREAD], PER_THREAD](fill=0)

    for start in range(0, size, DEPTH):
        var a_values = a.load[4](row + thread // 4, start + thread % 4 * 4)

        comptime for i in range(4):
            a_tile[thread % 4 * 4 + i, thread // 4] = a_values[i]
        b_tile.store(y, 4 * x, b.load[4](start + y, column + 4 * x))
        barrier()

        comptime for k in range(DEPTH):
            var left = a_tile.load[PER_THREAD](k, PER_THREAD * y)
            var right = b_tile.load[PER_THREAD](k, PER_THREAD * x)

            comptime for i in range(PER_THREAD):
                sums[i] = right.fma(left[i], sums[i])
        barrier()

    comptime for i in range(PER_THREAD):
        c.store(row + PER_THREAD * y + i, column + PER_THREAD * x, sums[i])


comptime WARPS = 4  # two by two, each with 32 x 32 elements of the block's 64 x 64


def tensor_cores[size: Int](a: Matrix[size], b: Matrix[size], c: Matrix[size]):
    """Each warp computes 32 x 32 elements with matrix instructions."""
    comptime shape = get_mma_shape[DType.float32, DType.float32]()
    comptime M = shape[0]
    comptime N = shape[1]
    comptime K = shape[2]
    var core = TensorCore[DType.float32, DType.float32, shape]()
    var a_tile = Shared[BLOCK_TILE, DEPTH].stack_allocation()
    var b_tile = Shared[DEPTH, BLOCK_TILE].stack_allocation()
    var warp = Int(thread_idx.x) // WARP_SIZE
    var a_rows = a_tile.tile[32, DEPTH](warp // 2, 0)
    var b_columns = b_tile.tile[DEPTH, 32](0, warp % 2)
    comptime EACH = M * N // WARP_SIZE  # elements of a product that one thread holds
    comptime COUNT = (32 // M) * (32 // N)
    var sums = (
        LayoutTensor[
            DType.float32,
            Layout.row_major(COUNT, EACH),
            MutAnyOrigin,
            address_space=AddressSpace.LOCAL,
        ]
        .stack_allocation()
        .fill(0)
    )

    for step in range(size // DEPTH):
        var a_source = a.tile[BLOCK_TILE, DEPTH](Int(block_idx.y), step)
        var b_source = b.tile[DEPTH, BLOCK_TILE](step, Int(block_idx.x))
        for i in range(
            Int(thread_idx.x), BLOCK_TILE * DEPTH // 4, WARPS * WARP_SIZE
        ):
            var place = 4 * i
            a_tile.store(
                place // DEPTH,
                place % DEPTH,
                a_source.load[4](place // DEPTH, place % DEPTH),
            )
            b_tile.store(
                place // BLOCK_TILE,
                place % BLOCK_TILE,
                b_source.load[4](place // BLOCK_TILE, place % BLOCK_TILE),
            )
        barrier()

        comptime for k in range(DEPTH // K):
            comptime for m in range(32 // M):
                var left = core.load_a(a_rows.tile[M, K](m, k))

                comptime for n in range(32 // N):
                    var right = core.load_b(b_columns.tile[K, N](k, n))
                    var sum = sums.tile[1, EACH](m * (32 // N) + n, 0)
                    sum.copy_from(core.mma_op(left, right, sum))
        barrier()

    var target = c.tile[BLOCK_TILE, BLOCK_TILE](
        Int(block_idx.y), Int(block_idx.x)
    ).tile[32, 32](warp // 2, warp % 2)

    comptime for m in range(32 // M):
        comptime for n in range(32 // N):
            core.store_d(
                target.tile[M, N](m, n),
                sums.tile[1, EACH](m * (32 // N) + n, 0),
            )


comptime Kernel[size: Int] = def(
    Matrix[size], Matrix[size], Matrix[size]
) thin -> None


def try_all[size: Int](ctx: DeviceContext, measure: Bool) raises:
    """Tries each kernel, and compares some elements with the exact product."""
    comptime assert size % 64 == 0, "the size is a multiple of the tiles' 64"
    var a = ctx.enqueue_create_buffer[DType.float32](size * size)
    var b = ctx.enqueue_create_buffer[DType.float32](size * size)
    var c = ctx.enqueue_create_buffer[DType.float32](size * size)
    with a.map_to_host() as left, b.map_to_host() as right:
        for i in range(size * size):
            left[i] = Float32(i * 7 % 5 - 2)
            right[i] = Float32(i * 3 % 7 - 3)

    @__parameter
    def show[
        kernel: Kernel[size]
    ](name: String, tile: Int, width: Int, height: Int) raises:
        def launch() raises {
            imm ctx,
            mut a,
            mut b,
            mut c,
            imm tile,
            imm width,
            imm height,
        }:
            ctx.enqueue_function[kernel](
                Matrix[size](a),
                Matrix[size](b),
                Matrix[size](c),
                grid_dim=(size // tile, size // tile),
                block_dim=(width, height),
            )

        c.enqueue_fill(0)
        launch()
        ctx.synchronize()
        var speed = String()
        if measure:
            comptime ROUNDS = 10
            var start = perf_counter_ns()
            for _ in range(ROUNDS):
                launch()
            ctx.synchronize()
            var seconds = Float64(perf_counter_ns() - start) / 1e9 / ROUNDS
            var rate = 2 * Float64(size) ** 3 / seconds / 1e9
            if rate < 100:
                speed = String("  ", round(rate, 1), " GFLOP/s")
            else:
                speed = String("  ", round(rate / 1000, 2), " TFLOP/s")

        var wrong = 0
        with a.map_to_host() as left, b.map_to_host() as right, c.map_to_host() as product:
            for sample in range(200):
                var row = sample * 37 % size
                var column = sample * 91 % size
                var sum: Float32 = 0
                for k in range(size):
                    sum += left[row * size + k] * right[k * size + column]
                wrong += Int(product[row * size + column] != sum)
        print(name, ("right" if wrong == 0 else "WRONG") + speed)

    show[naive[size]]("naive:       ", 16, 16, 16)
    show[tiled[size]]("tiled:       ", TILE, TILE, TILE)
    show[registers[size]]("registers:   ", BLOCK_TILE, 256, 1)
    show[tensor_cores[size]]("tensor cores:", BLOCK_TILE, WARPS * WARP_SIZE, 1)


def main() raises:
    with DeviceContext() as ctx:
        if len(argv()) == 1:
            try_all[128](ctx, measure=False)
        elif ctx.api() == "cpu":
            try_all[256](ctx, measure=True)
        else:
            try_all[4096](ctx, measure=True)
