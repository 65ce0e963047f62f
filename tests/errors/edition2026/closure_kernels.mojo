"""Closures that cannot be started as kernels."""

from max.algorithm.functional import elementwise
from max.gpu import global_idx
from max.gpu.host import DeviceContext
from std.utils.coord import Coord


def main() raises:
    with DeviceContext() as ctx:
        var items: List[Int] = [1]
        var count = 3

        def referring() {imm}:
            print(Int(global_idx.x) < count)

        def owning() {var items^}:
            print(Int(global_idx.x) < len(items))

        ctx.enqueue_function(referring, grid_dim=1, block_dim=8)  # error@9: invalid-kernel "'referring' captures 'count' by reference" help "write 'var count'"
        ctx.enqueue_function(owning, grid_dim=1, block_dim=8)  # error@9: invalid-kernel "'owning' captures 'items' of type 'List[Int]'"

        def each[width: Int, alignment: Int = 1](at: Coord) {imm count}:
            print(count)

        elementwise[4, target="gpu"](each, Coord(8), ctx)  # error@9: invalid-kernel "'each' captures 'count' by reference"
