"""Copiers, iterators, tensors that may be absent, layouts of layouts, and tuples made of tuples."""

from layout import (
    Coord,
    Idx,
    Layout,
    LayoutTensor,
    TileTensor,
    lt_to_tt_idx,
    row_major,
    to_index_list,
)
from layout.int_tuple import IntTuple
from layout.tile_iterator import TileTensorIter
from layout.tile_io import (
    GenericToLocalTileCopier,
    GenericToSharedAsyncTileCopier,
    LocalToGenericTileCopier,
    LocalToSharedTileCopier,
    SharedToGenericTileCopier,
    SharedToLocalTileCopier,
)
from layout.tile_layout import (
    BlockedProductLayout,
    CoalesceLayout,
    UpcastLayout,
    col_major_nested,
)
from layout.tile_tensor import (
    DefaultEngine,
    NullableTileTensor,
    stack_allocation,
)
from max.gpu import barrier, thread_idx
from max.gpu.host import DeviceContext
from max.gpu.memory import AddressSpace, async_copy_wait_all

comptime square = row_major[8, 8]()
comptime threads = row_major[4, 8]()
comptime Square = TileTensor[DType.float32, type_of(square), MutAnyOrigin]


def through_shared(x: Square, y: Square):
    """Copies by all copiers one after the other, and adds 1 in between."""
    var shared = stack_allocation[
        DType.float32, address_space=AddressSpace.SHARED
    ](square)
    var own = stack_allocation[DType.float32, address_space=AddressSpace.LOCAL](
        row_major[2, 1]()
    )
    comptime into_shared = GenericToSharedAsyncTileCopier[threads]()
    into_shared.copy(shared, x)
    async_copy_wait_all()
    barrier()
    comptime out_of_shared = SharedToGenericTileCopier[threads]()
    out_of_shared.copy(y, shared)
    barrier()
    comptime into_own = GenericToLocalTileCopier[threads]()
    into_own.copy(own, y)
    own[1, 0] += 1
    comptime own_to_shared = LocalToSharedTileCopier[threads]()
    own_to_shared.copy(shared, own)
    barrier()
    own[0, 0] = 0
    comptime shared_to_own = SharedToLocalTileCopier[threads]()
    shared_to_own.copy(own, shared)
    comptime out_of_own = LocalToGenericTileCopier[threads]()
    out_of_own.copy(y, own)


def tiles(x: Square, sums: Pointer[Float32, MutAnyOrigin]):
    """Goes through memory in tiles of two rows."""
    comptime pair = row_major[2, 8]()
    var it = TileTensorIter(x.ptr, pair, bound=64)
    var sum = Float32(0)
    for _ in range(4):
        sum += it[][1, thread_idx.x]
        it += 1
    var around = TileTensorIter[
        DType.float32, type_of(pair), MutAnyOrigin, circular=True
    ](x.ptr, pair, bound=64, stride=16)
    sums[unsafe_offset=thread_idx.x] = sum + around.next(5).get()[0, 0]


def main() raises:
    with DeviceContext() as ctx:
        var x = ctx.enqueue_create_buffer[DType.float32](64)
        var y = ctx.enqueue_create_buffer[DType.float32](64)
        with x.map_to_host() as host:
            for i in range(64):
                host[i] = Float32(i)
        var tx = TileTensor(x, square).as_unsafe_any_origin()
        var ty = TileTensor(y, square).as_unsafe_any_origin()
        ctx.enqueue_function[through_shared](tx, ty, grid_dim=1, block_dim=32)
        with y.map_to_host() as host:
            print(host[0], host[31], host[32], host[63])
        ctx.enqueue_function[tiles](tx, y.unsafe_ptr(), grid_dim=1, block_dim=8)
        with y.map_to_host() as host:
            print(host[0], host[7])

    var numbers: List[Float32] = [1, 2, 3, 4]
    var tensor = TileTensor(numbers, row_major[2, 2]())
    var there = NullableTileTensor(tensor)
    print(there.value()[1, 1], there.dim[1](), there.num_elements())
    comptime Absent = NullableTileTensor[
        DType.float32,
        type_of(square),
        MutAnyOrigin,
        Engine=DefaultEngine[element_width=1],
    ]
    var absent = Absent(None, square)
    print(absent.dim[0](), absent.rank)
    print(UpcastLayout[type_of(square), 2]())
    print(CoalesceLayout[type_of(square)]())
    print(
        BlockedProductLayout[
            type_of(row_major[2, 2]()), type_of(row_major[3, 4]())
        ]()
    )
    print(col_major_nested(Coord(Coord(Idx[2], Idx[3]), Idx[4])))

    var nested = Coord(Idx[1], 5, Coord(Idx[2], Idx[3]))
    print(
        nested.reverse(),
        nested.flatten(),
        nested.concat(Coord(Idx[7], 8)),
        nested.replace[1](Idx[9]),
    )
    print(
        Coord(Idx[4], 3).make_dynamic[DType.int64](),
        nested.flatten().cast[DType.int32](),
    )
    comptime assert type_of(nested.flatten()).flat_rank == 4 and type_of(
        nested.reverse()
    ).rank == 3
    print(to_index_list[2](IntTuple(1, 2)))
    print(
        lt_to_tt_idx(
            LayoutTensor[DType.float32, Layout.row_major(2, 2)](numbers)
        )[1, 0]
    )
