from max.gpu import thread_idx
from max.gpu.host import DeviceContext


def scale(values: Pointer[Float32, MutAnyOrigin]):
    values[unsafe_offset=Int(thread_idx.x)] *= 2


def main() raises:
    var ctx = DeviceContext()
    ctx.enqueue_function[scale](
        Pointer[Float32, MutAnyOrigin](), grid_dim=1, block_dim=4
    )
    ctx.synchronize()
