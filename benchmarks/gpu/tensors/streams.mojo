"""Kernels that pass over memory once, and kernels that make few numbers of many."""

from std.atomic import Atomic
from std.math import erf, exp, log, rsqrt, sqrt, tanh
from max.gpu import WARP_SIZE, barrier, block_dim, block_idx, global_idx, grid_dim, lane_id, thread_idx
from max.gpu.primitives import warp

from types import F32, I32, Matrix, Vector, memory

comptime COUNT = 1 << 26
comptime BLOCK = 256
comptime BINS = 256
comptime ROWS = 16384
comptime COLUMNS = 4096


def copy(source: Vector[COUNT], target: Vector[COUNT]):
    var i = global_idx.x
    target[i] = source[i]


def copy4(source: Vector[COUNT], target: Vector[COUNT]):
    var i = global_idx.x
    target.vectorize[4]()[i] = source.vectorize[4]()[i]


def saxpy(a: Float32, x: Vector[COUNT], y: Vector[COUNT]):
    for i in range(global_idx.x, COUNT, grid_dim.x * block_dim.x):
        y[i] = a * x[i] + y[i] * 0.5


def gelu(x: Vector[COUNT], y: Vector[COUNT]):
    var i = global_idx.x
    var v = x[i]
    y[i] = 0.5 * v * (1 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)))


def gather(index: Vector[COUNT, I32], x: Vector[COUNT], y: Vector[COUNT]):
    var i = global_idx.x
    y[i] = x[Int(index[i])]


def cumulative(d: Float32) -> Float32:
    return 0.5 * (1 + erf(d * 0.7071067811865476))


def black_scholes(spot: Vector[COUNT], strike: Vector[COUNT], call: Vector[COUNT]):
    var i = global_idx.x
    var s = spot[i] * 50 + 10
    var k = strike[i] * 50 + 10
    comptime rate = Float32(0.02)
    comptime volatility = Float32(0.3)
    comptime years = Float32(1.5)
    var root = volatility * sqrt(years)
    var d1 = (log(s / k) + (rate + 0.5 * volatility * volatility) * years) / root
    var d2 = d1 - root
    call[i] = s * cumulative(d1) - k * exp(-rate * years) * cumulative(d2)


def histogram_shared(values: Vector[COUNT, I32], bins: Vector[BINS, I32]):
    var mine = memory[BINS, I32]()
    mine[thread_idx.x] = 0
    barrier()
    for i in range(global_idx.x, COUNT, grid_dim.x * block_dim.x):
        _ = Atomic.fetch_add(mine.ptr.unsafe_offset(Int(values[i] & (BINS - 1))), Int32(1))
    barrier()
    _ = Atomic.fetch_add(bins.ptr.unsafe_offset(thread_idx.x), mine[thread_idx.x])


def block_sum(value: Float32) -> Float32:
    """Adds up the values of a block's threads; all get the sum."""
    var parts = memory[32]()
    var lane = thread_idx.x % 32
    var sum = warp.sum(value)
    if lane == 0:
        parts[thread_idx.x // 32] = sum
    barrier()
    sum = warp.sum(parts[lane] if lane < BLOCK // 32 else 0)
    barrier()
    return sum


def block_max(value: Float32) -> Float32:
    """Finds the largest value of a block's threads; all get it."""
    var parts = memory[32]()
    var lane = thread_idx.x % 32
    var most = warp.max(value)
    if lane == 0:
        parts[thread_idx.x // 32] = most
    barrier()
    most = warp.max(parts[lane] if lane < BLOCK // 32 else parts[0])
    barrier()
    return most


def sum_plain(x: Vector[COUNT], result: Vector[COUNT]):
    var sum = Float32(0)
    for i in range(global_idx.x, COUNT, grid_dim.x * block_dim.x):
        sum += x[i]
    sum = block_sum(sum)
    if thread_idx.x == 0:
        result[block_idx.x] = sum


def sum_wide(x: Vector[COUNT], result: Vector[COUNT]):
    var sum = SIMD[F32, 4](0)
    for i in range(global_idx.x, COUNT // 4, grid_dim.x * block_dim.x):
        sum += x.vectorize[4]()[i]
    var all = block_sum(sum.reduce_add())
    if thread_idx.x == 0:
        result[block_idx.x] = all


def dot(x: Vector[COUNT], y: Vector[COUNT], result: Vector[COUNT]):
    var sum = Float32(0)
    for i in range(global_idx.x, COUNT, grid_dim.x * block_dim.x):
        sum += x[i] * y[i]
    sum = block_sum(sum)
    if thread_idx.x == 0:
        result[block_idx.x] = sum


def softmax(x: Matrix[ROWS, COLUMNS], y: Matrix[ROWS, COLUMNS]):
    var row = x.tile[1, COLUMNS](block_idx.x, 0)
    var made = y.tile[1, COLUMNS](block_idx.x, 0)
    var most = Float32.MIN
    for i in range(thread_idx.x, COLUMNS, BLOCK):
        most = max(most, row[0, i])
    most = block_max(most)
    var sum = Float32(0)
    for i in range(thread_idx.x, COLUMNS, BLOCK):
        sum += exp(row[0, i] - most)
    sum = 1 / block_sum(sum)
    for i in range(thread_idx.x, COLUMNS, BLOCK):
        made[0, i] = exp(row[0, i] - most) * sum


def rms_norm(x: Matrix[ROWS, COLUMNS], weight: Vector[COLUMNS], y: Matrix[ROWS, COLUMNS]):
    var row = block_idx.x
    var sum = Float32(0)
    for i in range(thread_idx.x, COLUMNS, BLOCK):
        sum += x[row, i] * x[row, i]
    var scale = rsqrt(block_sum(sum) / Float32(COLUMNS) + 1e-6)
    for i in range(thread_idx.x, COLUMNS, BLOCK):
        y[row, i] = x[row, i] * scale * weight[i]


def column_sums(x: Matrix[ROWS, COLUMNS], result: Matrix[ROWS // 64, COLUMNS]):
    var column = global_idx.x
    var sum = Float32(0)
    for row in range(block_idx.y * 64, block_idx.y * 64 + 64):
        sum += x[row, column]
    result[block_idx.y, column] = sum


def gemv(m: Matrix[ROWS, COLUMNS], x: Vector[COLUMNS], y: Vector[ROWS]):
    """Multiplies a matrix by a vector: a row for each warp."""
    var row = global_idx.x // WARP_SIZE
    var sum = Float32(0)
    for i in range(lane_id(), COLUMNS, WARP_SIZE):
        sum += m[row, i] * x[i]
    sum = warp.sum(sum)
    if lane_id() == 0:
        y[row] = sum
