"""The tensors of these kernels: a `TileTensor`, or with `-D LAYOUT_TENSOR` a `LayoutTensor`."""

from std.sys import is_defined
from max.gpu.host import DeviceBuffer
from max.gpu.memory import AddressSpace
from layout import Layout, LayoutTensor, RuntimeLayout, TileTensor, UNKNOWN_VALUE, row_major
from layout.tile_tensor import stack_allocation
from std.utils import IndexList

comptime TILES = not is_defined["LAYOUT_TENSOR"]()
comptime F32 = DType.float32
comptime I32 = DType.int32

comptime View[n: Int, dtype: DType, space: AddressSpace] = (
    TileTensor[dtype, type_of(row_major[n]()), MutAnyOrigin, address_space=space]
    if TILES
    else LayoutTensor[dtype, Layout.row_major(n), MutAnyOrigin, address_space=space]
)
comptime View2[m: Int, n: Int, dtype: DType, space: AddressSpace] = (
    TileTensor[dtype, type_of(row_major[m, n]()), MutAnyOrigin, address_space=space]
    if TILES
    else LayoutTensor[dtype, Layout.row_major(m, n), MutAnyOrigin, address_space=space]
)
comptime Vector[n: Int, dtype: DType = F32] = View[n, dtype, AddressSpace.GENERIC]
comptime Matrix[m: Int, n: Int, dtype: DType = F32] = View2[m, n, dtype, AddressSpace.GENERIC]
comptime Rows = (
    TileTensor[F32, type_of(row_major(Int(1), Int(1))), MutAnyOrigin]
    if TILES
    else LayoutTensor[F32, Layout.row_major(UNKNOWN_VALUE, UNKNOWN_VALUE), MutAnyOrigin]
)
"""A matrix whose extents are known at run time only."""


@always_inline
def memory[n: Int, dtype: DType = F32, space: AddressSpace = AddressSpace.SHARED]() -> View[n, dtype, space]:
    """Returns a tensor of shared memory or of a thread's own."""
    comptime if TILES:
        return rebind[View[n, dtype, space]](
            stack_allocation[dtype, address_space=space, alignment=16](row_major[n]()).as_unsafe_any_origin()
        )
    else:
        comptime T = LayoutTensor[dtype, Layout.row_major(n), MutAnyOrigin, address_space=space]
        return rebind[View[n, dtype, space]](T.stack_allocation[stack_alignment=16]())


@always_inline
def memory2[
    m: Int, n: Int, dtype: DType = F32, space: AddressSpace = AddressSpace.SHARED
]() -> View2[m, n, dtype, space]:
    """Returns a matrix in shared memory or in a thread's own."""
    comptime if TILES:
        return rebind[View2[m, n, dtype, space]](
            stack_allocation[dtype, address_space=space, alignment=16](row_major[m, n]()).as_unsafe_any_origin()
        )
    else:
        comptime T = LayoutTensor[dtype, Layout.row_major(m, n), MutAnyOrigin, address_space=space]
        return rebind[View2[m, n, dtype, space]](T.stack_allocation[stack_alignment=16]())


def vector[n: Int, dtype: DType](buffer: DeviceBuffer[dtype]) -> Vector[n, dtype]:
    """Returns the beginning of a buffer as a vector."""
    comptime if TILES:
        return rebind[Vector[n, dtype]](TileTensor(buffer, row_major[n]()).as_unsafe_any_origin())
    else:
        return rebind[Vector[n, dtype]](LayoutTensor[dtype, Layout.row_major(n)](buffer).as_any_origin())


def matrix[m: Int, n: Int, dtype: DType](buffer: DeviceBuffer[dtype]) -> Matrix[m, n, dtype]:
    """Returns the beginning of a buffer as a matrix."""
    comptime if TILES:
        return rebind[Matrix[m, n, dtype]](TileTensor(buffer, row_major[m, n]()).as_unsafe_any_origin())
    else:
        return rebind[Matrix[m, n, dtype]](LayoutTensor[dtype, Layout.row_major(m, n)](buffer).as_any_origin())


def rows(buffer: DeviceBuffer[F32], m: Int, n: Int) -> Rows:
    """Returns the beginning of a buffer as a matrix of extents that are known at run time only."""
    comptime if TILES:
        return rebind[Rows](TileTensor(buffer, row_major(m, n)).as_unsafe_any_origin())
    else:
        comptime like = Layout.row_major(UNKNOWN_VALUE, UNKNOWN_VALUE)
        var layout = RuntimeLayout[like].row_major(IndexList[2](m, n))
        return rebind[Rows](LayoutTensor[F32, like](buffer, layout).as_any_origin())
