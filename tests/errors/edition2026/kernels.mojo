"""Kernels that edition 2026 refuses: numbers whose width depends on the machine, and errors."""

from max.gpu import global_idx
from max.gpu.host import DeviceContext


def fill(p: Pointer[Float32, MutAnyOrigin], n: Int):  # error@48: invalid-kernel "argument 'n' of kernel 'fill' is of type 'Int', not of fixed width" help "write 'Int32' or 'Int64'"
    if global_idx.x < n:
        p[unsafe_offset=global_idx.x] = 1


def clear(p: Pointer[Float32, MutAnyOrigin], n: UInt):  # error@49: invalid-kernel "is of type 'UInt'"
    if UInt(global_idx.x) < n:
        p[unsafe_offset=global_idx.x] = 0


def fails(n: Int32) raises:
    raise Error(n)


def main() raises:
    var ctx = DeviceContext()
    var a = ctx.enqueue_create_buffer[DType.float32](8)
    ctx.enqueue_function[fill](a, 8, grid_dim=1, block_dim=8)
    ctx.enqueue_function[clear](a, UInt(8), grid_dim=1, block_dim=8)
    ctx.enqueue_function[fails](Int32(8), grid_dim=1, block_dim=8)  # error@5: invalid-kernel "'fails' cannot be a kernel: it may raise" help "a kernel is a 'def' without 'raises'"
