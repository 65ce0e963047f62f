from max.gpu import thread_idx
from max.gpu.host import DeviceContext


def greet():
    print("hello from thread", thread_idx.x)


def main() raises:
    var ctx = DeviceContext()
    ctx.enqueue_function[greet](grid_dim=1, block_dim=3)
    ctx.synchronize()
    print("hello from the host")
