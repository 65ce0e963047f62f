"""Closures that cannot be started as kernels."""

from max.gpu import global_idx
from max.gpu.host import DeviceContext


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
