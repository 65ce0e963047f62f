"""Copies of tile tensors by the threads of a block."""

from layout import TileTensor, row_major
from layout.tile_io import copy_dram_to_local, copy_dram_to_sram, copy_dram_to_sram_async, copy_local_to_dram
from layout.tile_io import copy_local_to_shared, copy_sram_to_dram, copy_sram_to_local
from layout.tile_tensor import stack_allocation
from max.gpu import barrier
from max.gpu.host import DeviceContext
from max.gpu.memory import async_copy_wait_all

comptime square = row_major[16, 32]()
comptime Square = TileTensor[DType.float32, type_of(square), MutAnyOrigin]
comptime threads = row_major[8, 8]()


def there_and_back(to: Square, source: Square):
    var shared = stack_allocation[DType.float32, address_space=AddressSpace.SHARED](square)
    var other = stack_allocation[DType.float32, address_space=AddressSpace.SHARED](square)
    copy_dram_to_sram[threads](shared.vectorize[1, 4](), source.vectorize[1, 4]())
    copy_dram_to_sram_async[threads](other.vectorize[1, 4](), source.vectorize[1, 4]())
    async_copy_wait_all()
    barrier()
    var own = stack_allocation[DType.float32, address_space=AddressSpace.LOCAL](row_major[2, 4]())
    copy_sram_to_local[threads](own, other)
    for i in range(2):
        for j in range(4):
            own[i, j] = own[i, j] + 1000
    barrier()
    copy_local_to_shared[threads](other, own)
    barrier()
    copy_sram_to_dram[threads](to.vectorize[1, 4](), other.vectorize[1, 4]())
    barrier()
    var mine = stack_allocation[DType.float32, address_space=AddressSpace.LOCAL](row_major[2, 4]())
    copy_dram_to_local[threads](mine, to)
    mine[0, 0] = -1
    copy_local_to_dram[threads](to, mine)


def masked(to: Square, source: Square):
    var shared = stack_allocation[DType.float32, address_space=AddressSpace.SHARED](square)
    copy_dram_to_sram_async[threads, masked=True](shared.vectorize[1, 4](), source.vectorize[1, 4](), 5)
    async_copy_wait_all()
    barrier()
    copy_sram_to_dram[threads](to.vectorize[1, 4](), shared.vectorize[1, 4]())


def main() raises:
    var ctx = DeviceContext()
    var a = ctx.enqueue_create_buffer[DType.float32](16 * 32)
    var b = ctx.enqueue_create_buffer[DType.float32](16 * 32)
    with a.map_to_host() as h:
        for i in range(16 * 32):
            h[i] = Float32(i)
    ctx.enqueue_function[there_and_back](TileTensor(b, square), TileTensor(a, square), grid_dim=1, block_dim=64)
    with b.map_to_host() as h:
        print(TileTensor(h, square).slice[6:10, 6:10]())
    ctx.enqueue_function[masked](TileTensor(b, square), TileTensor(a, square), grid_dim=1, block_dim=64)
    with b.map_to_host() as h:
        print(TileTensor(h, square).slice[3:7, 0:4]())
