"""Mistakes with tile tensors: each is reported at the line of the program that makes it."""

from layout import Coord, Idx, TileTensor, row_major
from layout.tile_tensor import stack_allocation


def main():
    var numbers = List[Float32](length=24, fill=0)
    var t = TileTensor(numbers, row_major[4, 6]())
    print(t[1])  # error@11: unsatisfied-constraint "a tensor of rank 2 is indexed with 1 number"
    t.as_imm()[0, 0] = 1  # error@5: unsatisfied-constraint "cannot store to an immutable tensor"
    print(t.vectorize[1, 2]().vectorize[1, 2]()[0, 0])  # error@11: unsatisfied-constraint "the tensor is vectorised already"
    var rows = 3
    var own = stack_allocation[DType.float32](row_major(rows, Idx[2]))  # error@15: unsatisfied-constraint "memory of a fixed size needs a known layout"
    print(own[0, 0])
    print(t.slice[1:2]())  # error@11: unsatisfied-constraint "each dimension needs a range or a coordinate"
    print(t.distribute[row_major[4]()](1))  # error@11: unsatisfied-constraint "the layouts of tensor and threads differ in rank"
    var few = Array[Float32, 4](fill=0)
    print(TileTensor(few, row_major[4, 6]())[0, 0])  # error@11: unsatisfied-constraint "the array is smaller than the layout"
    print(t[Coord(1, 2, 3)])  # error@11: unsatisfied-constraint "a tensor of rank 2 is indexed with 3 numbers"
    print(t[1.5, 2])  # error@11: unsatisfied-constraint "a number with a fraction cannot be an index"
