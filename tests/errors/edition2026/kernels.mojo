"""Kernels that edition 2026 refuses: numbers whose width depends on the machine, errors, and values of the host."""

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


@fieldwise_init
struct Named(Copyable, Movable):
    var size: Int32
    var names: List[Int]


def prints(text: String):
    pass


def sums(numbers: List[Float32]):
    pass


def describes(named: Named):
    pass


def main() raises:
    var ctx = DeviceContext()
    var a = ctx.enqueue_create_buffer[DType.float32](8)
    ctx.enqueue_function[fill](a, 8, grid_dim=1, block_dim=8)
    ctx.enqueue_function[clear](a, UInt(8), grid_dim=1, block_dim=8)
    ctx.enqueue_function[fails](Int32(8), grid_dim=1, block_dim=8)  # error@5: invalid-kernel "'fails' cannot be a kernel: it may raise" help "a kernel is a 'def' without 'raises'"
    ctx.enqueue_function[prints](String("a"), grid_dim=1, block_dim=8)  # error@5: invalid-kernel "argument 'text' of kernel 'prints' has the type 'String', which a kernel cannot take" help "put its bytes into a buffer: a kernel takes a pointer to them and their number"
    ctx.enqueue_function[sums](List[Float32](), grid_dim=1, block_dim=8)  # error@5: invalid-kernel "has the type 'List[Float32]'" help "put its elements into a buffer: 'enqueue_create_buffer' makes one, and a kernel takes a pointer to it"
    ctx.enqueue_function[describes](Named(1, [2]), grid_dim=1, block_dim=8)  # error@5: invalid-kernel "has the type 'Named'" help "its field 'names' of type 'List[Int]' stays on the host; a struct of numbers and pointers can be passed"
