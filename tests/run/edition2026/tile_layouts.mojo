"""Layouts, coordinates and views of tile tensors, on the host: known numbers in the type, others as values."""

from layout import ComptimeInt, Coord, Idx, MutTileTensor, RowMajorLayout, TensorLayout, TileTensor
from layout import col_major, coord, lt_to_tt, row_major
from layout.coord import DynamicCoord
from layout.tile_layout import Layout, blocked_product, coalesce, crd2idx, idx2crd, upcast, zipped_divide
from layout.tile_tensor import stack_allocation
from std.utils import IndexList


def describe[T: TensorLayout](layout: T):
    print(T.rank, T.flat_rank, T.all_dims_known, T.static_shape[0], T.static_stride[0], T.shape_known, T.stride_known)


def set_corner[L: TensorLayout](tensor: TileTensor[mut=True, DType.float32, L, ...]):
    comptime assert tensor.flat_rank == 2, "a matrix is expected"
    tensor[0, 0] = 42


def show(tensor: MutTileTensor[DType.float32, RowMajorLayout[ComptimeInt[4], ComptimeInt[8]], MutAnyOrigin]):
    print(tensor[1, 1])


def numbers(c: Coord):
    comptime for i in range(c.rank):
        print(Int(c[i]), end=" ")
    print(c.rank, type_of(c).rank, len(c))


def layouts():
    var known = row_major[4, 6]()
    describe(known)
    print(known.shape_coord(), known.stride_coord(), known.size(), known.cosize(), known.product())
    print(known(Coord(Idx[1], Idx[2])), known(Coord(1, 2)), known(Coord(5)), known.idx2crd(9))
    print(crd2idx(Coord(1, 2), Coord(Idx[4], 6), Coord(6, Idx[1])), crd2idx(7, Coord(4, 6), Coord(6, 1)))
    print(idx2crd(9, Coord(Idx[4], 6), Coord(6, Idx[1])))
    var n = 7
    var rows = row_major(Coord(n, Idx[3]))
    describe(rows)
    print(rows, row_major(n, Idx[3]), col_major(Coord(Int32(5), n, Idx[3])))
    var nested = Layout(Coord(Coord(Idx[2], Idx[3]), Idx[4]), Coord(Coord(Idx[1], Idx[8]), Idx[2]))
    print(nested, nested.rank, nested.flat_rank)
    print(nested(Coord(Coord(Idx[1], Idx[2]), Idx[3])), nested(Coord(5, 3)), nested(Coord(7)))
    print(coalesce(row_major[2, 4]()), zipped_divide[Coord(Idx[2], Idx[3])](row_major[4, 6]()))
    print(upcast[factor=2](row_major[4, 8]()), blocked_product(row_major[2, 2](), row_major[3, 3]()))
    print(known.transpose(), known.make_dynamic[DType.int32](), row_major[5](), row_major(Idx[5]))


def coordinates():
    var c = Coord(Idx[3], 4, Coord(Idx[1], Int32(2)))
    print(c, len(c), c.rank, c.flat_rank, c.product(), Int(c[0]), c[1], c[2])
    numbers(Coord(1, Idx[2]))
    numbers(coord[5, 6, 7])
    print(DynamicCoord[DType.int64, 3](1, 2, 3), Coord((3, 4)))
    print(Coord(IndexList[2](3, 4)), Coord(IndexList[3, element_type=DType.int32](1, 2, 3))[2])
    print(Coord(Idx[2], Idx[3]) == Coord(Idx[2], 3), Coord(1, 2) == Coord(1, 3))


def views(mut numbers: List[Float32]):
    var t = TileTensor(numbers, row_major[5, 7]())
    print(t.tile[2, 3](1, 1), t.tile[2, 3](1, 1).layout, t.tile[2, 3](2, 2).layout)
    print(t.tile[2, 2](Coord(1, 1)))
    print(t.vectorize[1, 4]().layout, t.vectorize[2, 1]().layout, t.distribute[row_major[2, 4]()](5).layout)
    var v = TileTensor(numbers, row_major[4, 8]())
    var w = v.vectorize[1, 4]()
    print(w.layout, w.element_size, w[1, 1], TileTensor(numbers, row_major[16]()).vectorize[4]()[2])
    print(v.distribute[row_major[2, 4]()](3).layout, v.distribute[row_major[2, 4]()](3))
    print(v.tile[2, 4](0, 1).vectorize[1, 2]().distribute[row_major[2, 1]()](1))
    print(v.slice[1:3, 2:4](), v.slice[1, 2:4]().layout, v.reshape(row_major[2, 16]()).layout, v.reshape[2, 16]().layout)
    print(v.coalesce().layout, v.coalesce()[9], v.transpose().layout, v.reshape(Coord(Idx[8], Idx[4])).layout)
    print(v.distribute_with_offset[row_major[2, 4]()](5)[2], v.tile_with_offset[2, 4](Coord(1, 1))[2])
    var parts = v.as_imm()
    print(parts.split[2, 1]()[1], parts.split[2]()[0].layout, parts.split[0](3, 1).layout, parts.split(3, 2).layout)
    var n = 3
    var d = TileTensor(numbers, row_major(n, Idx[8]))
    print(d.rank, d.flat_rank, d.all_dims_known, d.dim[0](), d.dim(1), d.static_shape[0], d.dynamic_stride(0))
    print(d.vectorize[1, 4]().layout, d.distribute[row_major[2, 4]()](1).layout, d.tile[1, 4](0, 1).layout)
    print(d.tile[2, 4](0, 1), d.vectorize[1, 4]()[1, 1], d.transpose().layout)
    print(TileTensor(numbers, row_major(n, Idx[4])))
    print(TileTensor(numbers, row_major[2, 2, 2]()))
    var nested = TileTensor(
        numbers, Layout(Coord(Coord(Idx[2], Idx[3]), Idx[4]), Coord(Coord(Idx[1], Idx[8]), Idx[2]))
    )
    print(nested[1, 2, 3], nested[Coord(Coord(1, 2), 3)], nested.dim[0](), nested[5, 3])


def elements(mut numbers: List[Float32]):
    var v = TileTensor(numbers, row_major[4, 8]())
    set_corner(v)
    show(v.as_unsafe_any_origin())
    print(v[0, 0], v.load[4](Coord(1, 2)), v.load[width=2]((1, 2)), v.load_linear[2](IndexList[2](1, 2)), v.raw_load(3))
    v.store[2](Coord(0, 0), SIMD[DType.float32, 2](9, 8))
    v[0, 2] = 100
    v[Coord(0, 3)] = 101
    v[(0, 4)] = 102
    v[0, 5] += 1
    print(v, v.is_row_major, v.num_elements())
    print(v.to_layout_tensor()[1, 1], lt_to_tt(v.to_layout_tensor())[1, 2], v.bitcast[DType.int32]()[1, 1])
    var own = stack_allocation[DType.float32](row_major[2, 2]())
    own.copy_from(v.tile[2, 2](1, 1))
    print(own, own.as_span()[1])
    var array = Array[Float32, 16](uninitialized=True)
    var filled = TileTensor(array, row_major[4, 4]()).fill(1.5)
    filled[2, 3] += 2
    print(filled[2, 3], filled[Idx[2], 3], filled.ptr_at_offset(Coord(2, 3))[])
    filled.exp()
    print(filled[0, 0])


def main():
    layouts()
    coordinates()
    var numbers = List[Float32](length=64, fill=0)
    for i in range(64):
        numbers[i] = Float32(i)
    views(numbers)
    elements(numbers)
