"""Kernels that look at neighbours, and products of matrices."""

from std.math import exp, rsqrt
from max.gpu import barrier, block_idx, global_idx, thread_idx
from max.gpu.memory import AddressSpace
from max.gpu.primitives import warp

from streams import BLOCK, COUNT
from types import F32, I32, Matrix, Rows, Vector, memory, memory2

comptime SIDE = 8192
comptime RADIUS = 8
comptime POINTS = 2 * RADIUS + 1
comptime N = 2048
comptime TILE = 32
comptime BODIES = 32768
comptime SPARSE = 1 << 20
comptime EACH = 32
comptime HEADS = 64
comptime TOKENS = 1024
comptime HEAD = 64


def conv1d(x: Vector[COUNT], weights: Vector[32], y: Vector[COUNT]):
    """Seventeen neighbours, through shared memory."""
    var held = memory[BLOCK + 2 * RADIUS]()
    var t = thread_idx.x
    var i = global_idx.x
    held[t + RADIUS] = x[i]
    if t < RADIUS:
        held[t] = x[i - RADIUS] if i >= RADIUS else 0
        held[t + RADIUS + BLOCK] = x[i + BLOCK] if i + BLOCK < COUNT else 0
    barrier()
    var sum = Float32(0)
    comptime for j in range(POINTS):
        sum += held[t + j] * weights[j]
    y[i] = sum


def stencil5(x: Matrix[SIDE, SIDE], y: Matrix[SIDE, SIDE]):
    var column = global_idx.x
    var row = global_idx.y
    if 0 < column < SIDE - 1 and 0 < row < SIDE - 1:
        y[row, column] = 0.5 * x[row, column] + 0.125 * (
            x[row, column - 1] + x[row, column + 1] + x[row - 1, column] + x[row + 1, column]
        )


def stencil5_dynamic(x: Rows, y: Rows):
    """The same with extents that are known at run time only."""
    var column = global_idx.x
    var row = global_idx.y
    if 0 < column < Int(x.dim[1]()) - 1 and 0 < row < Int(x.dim[0]()) - 1:
        y[row, column] = 0.5 * x[row, column] + 0.125 * (
            x[row, column - 1] + x[row, column + 1] + x[row - 1, column] + x[row + 1, column]
        )


def conv2d(x: Matrix[SIDE, SIDE], weights: Matrix[5, 5], y: Matrix[SIDE, SIDE]):
    """5 x 5 neighbours of global memory, in loops."""
    var column = global_idx.x
    var row = global_idx.y
    if 2 <= column < SIDE - 2 and 2 <= row < SIDE - 2:
        var sum = Float32(0)
        for dy in range(5):
            for dx in range(5):
                sum += x[row + dy - 2, column + dx - 2] * weights[dy, dx]
        y[row, column] = sum


def scan(x: Vector[COUNT], y: Vector[COUNT], totals: Vector[COUNT // BLOCK]):
    """Sums of all numbers before, block by block."""
    var held = memory2[2, BLOCK]()
    var t = thread_idx.x
    var i = global_idx.x
    var inside = 0
    held[0, t] = x[i]
    barrier()
    var distance = 1
    while distance < BLOCK:
        var next = 1 - inside
        if t >= distance:
            held[next, t] = held[inside, t] + held[inside, t - distance]
        else:
            held[next, t] = held[inside, t]
        inside = next
        barrier()
        distance *= 2
    y[i] = held[inside, t]
    if t == BLOCK - 1:
        totals[block_idx.x] = held[inside, t]


def bitonic(x: Vector[COUNT], y: Vector[COUNT]):
    """Sorts the numbers of each block."""
    var held = memory[BLOCK]()
    var t = thread_idx.x
    held[t] = x[global_idx.x]
    barrier()
    var size = 2
    while size <= BLOCK:
        var step = size // 2
        while step > 0:
            var other = t ^ step
            if other > t:
                var one = held[t]
                var two = held[other]
                if (one > two) == (t & size == 0):
                    held[t] = two
                    held[other] = one
            barrier()
            step //= 2
        size *= 2
    y[global_idx.x] = held[t]


def nbody(x: Vector[BODIES], y: Vector[BODIES], z: Vector[BODIES], forces: Matrix[3, BODIES]):
    """The forces between all bodies: a block's share of them at a time in shared memory."""
    var held = memory2[3, BLOCK]()
    var t = thread_idx.x
    var i = global_idx.x
    var px = x[i]
    var py = y[i]
    var pz = z[i]
    var fx = Float32(0)
    var fy = Float32(0)
    var fz = Float32(0)
    for tile in range(0, BODIES, BLOCK):
        held[0, t] = x[tile + t]
        held[1, t] = y[tile + t]
        held[2, t] = z[tile + t]
        barrier()
        for j in range(BLOCK):
            var dx = held[0, j] - px
            var dy = held[1, j] - py
            var dz = held[2, j] - pz
            var inverse = rsqrt(dx * dx + dy * dy + dz * dz + 0.01)
            var weight = inverse * inverse * inverse
            fx += dx * weight
            fy += dy * weight
            fz += dz * weight
        barrier()
    forces[0, i] = fx
    forces[1, i] = fy
    forces[2, i] = fz


def transpose(x: Matrix[SIDE, SIDE], y: Matrix[SIDE, SIDE]):
    """32 x 32 tiles, four rows for each thread; rows of 33 keep the banks apart."""
    var held = memory2[TILE, TILE + 1]()
    var source = x.tile[TILE, TILE](block_idx.y, block_idx.x)
    var target = y.tile[TILE, TILE](block_idx.x, block_idx.y)
    var column = thread_idx.x
    comptime for j in range(0, TILE, 8):
        held[thread_idx.y + j, column] = source[thread_idx.y + j, column]
    barrier()
    comptime for j in range(0, TILE, 8):
        target[thread_idx.y + j, column] = held[column, thread_idx.y + j]


def matmul_naive(a: Matrix[N, N], b: Matrix[N, N], c: Matrix[N, N]):
    var row = global_idx.y
    var column = global_idx.x
    var sum = Float32(0)
    for k in range(N):
        sum += a[row, k] * b[k, column]
    c[row, column] = sum


def matmul_tiled(a: Matrix[N, N], b: Matrix[N, N], c: Matrix[N, N]):
    var one = memory2[TILE, TILE]()
    var two = memory2[TILE, TILE]()
    var x = thread_idx.x
    var y = thread_idx.y
    var sum = Float32(0)
    for k in range(N // TILE):
        one[y, x] = a.tile[TILE, TILE](block_idx.y, k)[y, x]
        two[y, x] = b.tile[TILE, TILE](k, block_idx.x)[y, x]
        barrier()
        comptime for j in range(TILE):
            sum += one[y, j] * two[j, x]
        barrier()
    c.tile[TILE, TILE](block_idx.y, block_idx.x)[y, x] = sum


def matmul_blocked(a: Matrix[N, N], b: Matrix[N, N], c: Matrix[N, N]):
    """A block makes 128 x 128 numbers, each of its 256 threads 8 x 8 of them in registers."""
    comptime BM = 128
    comptime BK = 8
    comptime T = 8
    var one = memory2[BK, BM]()
    var two = memory2[BK, BM]()
    var sums = memory2[T, T, space=AddressSpace.LOCAL]()
    _ = sums.fill(0)
    var t = thread_idx.x
    for k in range(N // BK):
        var part = a.tile[BM, BK](block_idx.y, k).vectorize[1, 4]()[t // 2, t % 2]
        comptime for i in range(4):
            one[t % 2 * 4 + i, t // 2] = part[i]
        two.vectorize[1, 4]()[t // 32, t % 32] = b.tile[BK, BM](k, block_idx.x).vectorize[1, 4]()[t // 32, t % 32]
        barrier()
        comptime for j in range(BK):
            var left = one.vectorize[1, T]()[j, t // 16]
            var right = two.vectorize[1, T]()[j, t % 16]
            comptime for i in range(T):
                comptime for l in range(T):
                    sums[i, l] += left[i] * right[l]
        barrier()
    c.tile[BM, BM](block_idx.y, block_idx.x).tile[T, T](t // 16, t % 16).copy_from(sums)


def spmv(
    starts: Vector[SPARSE + 256, I32],
    columns: Vector[SPARSE * EACH, I32],
    values: Vector[SPARSE * EACH],
    x: Vector[SPARSE],
    y: Vector[SPARSE],
):
    """A sparse matrix (compressed rows) by a vector: a thread for each row."""
    var row = global_idx.x
    var sum = Float32(0)
    for i in range(Int(starts[row]), Int(starts[row + 1])):
        sum += values[i] * x[Int(columns[i])]
    y[row] = sum


def starts_of_rows(starts: Vector[SPARSE + 256, I32]):
    starts[global_idx.x] = Int32(global_idx.x) * EACH


comptime Heads = Matrix[HEADS * TOKENS, HEAD]


def attention(q: Heads, k: Heads, v: Heads, made: Heads):
    """A warp for each query: the softmax is kept up to date from key to key."""
    var lane = thread_idx.x % 32
    var query = global_idx.x // 32
    var head = query // TOKENS * TOKENS
    var mine = q.vectorize[1, 2]()[query, lane]
    var most = Float32.MIN
    var sum = Float32(0)
    var out = SIMD[F32, 2](0)
    for token in range(head, head + TOKENS):
        var score = warp.sum((mine * k.vectorize[1, 2]()[token, lane]).reduce_add()) * 0.125
        var higher = max(most, score)
        var scale = exp(most - higher)
        var weight = exp(score - higher)
        sum = sum * scale + weight
        out = out * scale + weight * v.vectorize[1, 2]()[token, lane]
        most = higher
    made.vectorize[1, 2]()[query, lane] = out / sum
