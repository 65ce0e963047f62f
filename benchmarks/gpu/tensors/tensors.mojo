"""Kernels of the folder above on tensors: build it with `-D LAYOUT_TENSOR` too, and compare.

It prints of each kernel the microseconds and the checksum of what it made.
"""

from max.gpu import block_dim, global_idx, grid_dim
from max.gpu.host import DeviceBuffer, DeviceContext

from streams import *
from tiles import *
from types import F32, I32, matrix, rows, vector

comptime ROUNDS = 5
comptime STRIDE = 1009
"""Every so manieth element of a result is part of its checksum."""
comptime BLOCKS = 132 * 8
comptime WIDE = COUNT // BLOCK


def fill_floats(p: Pointer[Float32, MutAnyOrigin], count: Int64, seed: Int64):
    for i in range(global_idx.x, Int(count), grid_dim.x * block_dim.x):
        p[unsafe_offset=i] = Float32(Int32((UInt32(i + Int(seed)) * 2654435761) >> 16)) / 65536.0


def fill_ints(p: Pointer[Int32, MutAnyOrigin], count: Int64, limit: Int32):
    for i in range(global_idx.x, Int(count), grid_dim.x * block_dim.x):
        p[unsafe_offset=i] = Int32((UInt32(i + 1) * 2654435761) >> 1) % limit


def floats(ctx: DeviceContext, count: Int, seed: Int = 1) raises -> DeviceBuffer[F32]:
    """Makes a buffer of numbers from 0 up to 1."""
    var made = ctx.enqueue_create_buffer[F32](count)
    ctx.enqueue_function[fill_floats](made, Int64(count), Int64(seed), grid_dim=1024, block_dim=256)
    return made


def ints(ctx: DeviceContext, count: Int, limit: Int32) raises -> DeviceBuffer[I32]:
    """Makes a buffer of whole numbers from 0 up to `limit`."""
    var made = ctx.enqueue_create_buffer[I32](count)
    ctx.enqueue_function[fill_ints](made, Int64(count), limit, grid_dim=1024, block_dim=256)
    return made


def checksum[dtype: DType](result: DeviceBuffer[dtype]) raises -> Float64:
    """Adds some of the numbers up."""
    var host = result.context().enqueue_create_host_buffer[dtype](len(result))
    result.enqueue_copy_to(host)
    result.context().synchronize()
    var sum = Float64(0)
    for i in range(0, len(result), STRIDE):
        sum += Float64(host[i])
    return sum


def show[
    F: def(DeviceContext) raises -> None, dtype: DType, //
](name: String, ctx: DeviceContext, result: DeviceBuffer[dtype], launch: F, repeats: Int = 20) raises:
    """Prints a kernel's name, the microseconds of a launch (the least of some rounds) and the checksum."""
    launch(ctx)
    launch(ctx)
    ctx.synchronize()
    var least = Float64.MAX
    for _ in range(ROUNDS):
        least = min(least, Float64(ctx.execution_time(launch, repeats)) / 1e3 / Float64(repeats))
    print(name, least, checksum(result), sep="\t")


def stream_kernels(ctx: DeviceContext) raises:
    var x = floats(ctx, COUNT)
    var y = floats(ctx, COUNT, 7)
    var z = floats(ctx, COUNT, 3)
    var index = ints(ctx, COUNT, COUNT)
    var bins = ints(ctx, BINS, 1)
    var vx = vector[COUNT](x)
    var vy = vector[COUNT](y)
    var vz = vector[COUNT](z)
    var vi = vector[COUNT](index)
    var vb = vector[BINS](bins)
    show(
        "copy",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[copy](vx, vz, grid_dim=WIDE, block_dim=BLOCK),
    )
    show(
        "copy4",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[copy4](
            vx, vz, grid_dim=WIDE // 4, block_dim=BLOCK
        ),
    )
    show(
        "saxpy",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[saxpy](
            Float32(1.5), vx, vz, grid_dim=BLOCKS, block_dim=BLOCK
        ),
    )
    show(
        "gelu",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[gelu](vx, vz, grid_dim=WIDE, block_dim=BLOCK),
    )
    show(
        "gather",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[gather](
            vi, vx, vz, grid_dim=WIDE, block_dim=BLOCK
        ),
    )
    show(
        "black_scholes",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[black_scholes](
            vx, vy, vz, grid_dim=WIDE, block_dim=BLOCK
        ),
    )
    show(
        "histogram_shared",
        ctx,
        bins,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[histogram_shared](
            vi, vb, grid_dim=BLOCKS, block_dim=BLOCK
        ),
    )
    show(
        "sum_plain",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[sum_plain](
            vx, vz, grid_dim=BLOCKS, block_dim=BLOCK
        ),
    )
    show(
        "sum_wide",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[sum_wide](
            vx, vz, grid_dim=BLOCKS, block_dim=BLOCK
        ),
    )
    show(
        "dot",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[dot](vx, vy, vz, grid_dim=BLOCKS, block_dim=BLOCK),
    )
    _ = x
    _ = y
    _ = index


def row_kernels(ctx: DeviceContext) raises:
    var x = floats(ctx, ROWS * COLUMNS)
    var z = floats(ctx, ROWS * COLUMNS, 3)
    var weights = floats(ctx, COLUMNS, 5)
    var made = floats(ctx, ROWS)
    var mx = matrix[ROWS, COLUMNS](x)
    var mz = matrix[ROWS, COLUMNS](z)
    var vw = vector[COLUMNS](weights)
    var vm = vector[ROWS](made)
    var sums = matrix[ROWS // 64, COLUMNS](z)
    show(
        "softmax",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[softmax](mx, mz, grid_dim=ROWS, block_dim=BLOCK),
    )
    show(
        "rms_norm",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[rms_norm](
            mx, vw, mz, grid_dim=ROWS, block_dim=BLOCK
        ),
    )
    show(
        "column_sums",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[column_sums](
            mx, sums, grid_dim=(COLUMNS // BLOCK, ROWS // 64), block_dim=BLOCK
        ),
    )
    show(
        "gemv",
        ctx,
        made,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[gemv](
            mx, vw, vm, grid_dim=ROWS // 8, block_dim=BLOCK
        ),
    )
    _ = x
    _ = weights


def stencil_kernels(ctx: DeviceContext) raises:
    var x = floats(ctx, COUNT)
    var z = floats(ctx, COUNT, 3)
    var weights = floats(ctx, 32, 5)
    var totals = floats(ctx, WIDE)
    var forces = floats(ctx, 3 * BODIES)
    var vx = vector[COUNT](x)
    var vz = vector[COUNT](z)
    var mx = matrix[SIDE, SIDE](x)
    var mz = matrix[SIDE, SIDE](z)
    var rx = rows(x, SIDE, SIDE)
    var rz = rows(z, SIDE, SIDE)
    var vw = vector[32](weights)
    var mw = matrix[5, 5](weights)
    var vt = vector[WIDE](totals)
    var body = vector[BODIES](x)
    var mf = matrix[3, BODIES](forces)
    show(
        "conv1d",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[conv1d](
            vx, vw, vz, grid_dim=WIDE, block_dim=BLOCK
        ),
    )
    show(
        "stencil5",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[stencil5](
            mx, mz, grid_dim=(SIDE // 32, SIDE // 8), block_dim=(32, 8)
        ),
    )
    show(
        "stencil5_dynamic",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[stencil5_dynamic](
            rx, rz, grid_dim=(SIDE // 32, SIDE // 8), block_dim=(32, 8)
        ),
    )
    show(
        "conv2d",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[conv2d](
            mx, mw, mz, grid_dim=(SIDE // 32, SIDE // 8), block_dim=(32, 8)
        ),
    )
    show(
        "scan",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[scan](vx, vz, vt, grid_dim=WIDE, block_dim=BLOCK),
    )
    show(
        "bitonic",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[bitonic](vx, vz, grid_dim=WIDE, block_dim=BLOCK),
    )
    show(
        "transpose",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[transpose](
            mx, mz, grid_dim=(SIDE // TILE, SIDE // TILE), block_dim=(TILE, 8)
        ),
    )
    show(
        "nbody",
        ctx,
        forces,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[nbody](
            body, body, body, mf, grid_dim=BODIES // BLOCK, block_dim=BLOCK
        ),
        5,
    )
    _ = x
    _ = weights
    _ = totals


def product_kernels(ctx: DeviceContext) raises:
    var x = floats(ctx, SPARSE * EACH)
    var y = floats(ctx, SPARSE * EACH, 7)
    var z = floats(ctx, N * N, 3)
    var made = floats(ctx, SPARSE)
    var columns = ints(ctx, SPARSE * EACH, SPARSE)
    var starts = ints(ctx, SPARSE + 256, 1)
    var a = matrix[N, N](x)
    var b = matrix[N, N](y)
    var c = matrix[N, N](z)
    var vs = vector[SPARSE + 256](starts)
    var vc = vector[SPARSE * EACH](columns)
    var values = vector[SPARSE * EACH](x)
    var vy = vector[SPARSE](y)
    var vm = vector[SPARSE](made)
    var q = matrix[HEADS * TOKENS, HEAD](x)
    var k = matrix[HEADS * TOKENS, HEAD](y)
    var out = matrix[HEADS * TOKENS, HEAD](z)
    ctx.enqueue_function[starts_of_rows](vs, grid_dim=SPARSE // BLOCK + 1, block_dim=BLOCK)
    show(
        "matmul_naive",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[matmul_naive](
            a, b, c, grid_dim=(N // 32, N // 32), block_dim=(32, 32)
        ),
        5,
    )
    show(
        "matmul_tiled",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[matmul_tiled](
            a, b, c, grid_dim=(N // TILE, N // TILE), block_dim=(TILE, TILE)
        ),
        5,
    )
    show(
        "matmul_blocked",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[matmul_blocked](
            a, b, c, grid_dim=(N // 128, N // 128), block_dim=256
        ),
        5,
    )
    show(
        "spmv",
        ctx,
        made,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[spmv](
            vs, vc, values, vy, vm, grid_dim=SPARSE // BLOCK, block_dim=BLOCK
        ),
    )
    show(
        "attention",
        ctx,
        z,
        lambda (on: DeviceContext) raises {imm}: on.enqueue_function[attention](
            q, k, k, out, grid_dim=HEADS * TOKENS // 8, block_dim=BLOCK
        ),
        5,
    )
    _ = x
    _ = y
    _ = columns
    _ = starts


def main() raises:
    var ctx = DeviceContext()
    stream_kernels(ctx)
    row_kernels(ctx)
    stencil_kernels(ctx)
    product_kernels(ctx)
