"""Sums over several GPUs: each adds its part of a vector to those of all others.

Without several GPUs the ranks share one device.
"""

from comm import Group, all_reduce

from max.gpu.host import DeviceBuffer, DeviceContext

comptime SIZE = 1000
comptime RANKS = 4


def main() raises:
    var devices = DeviceContext.number_of_devices()
    var contexts = List[DeviceContext]()
    for rank in range(RANKS):
        contexts.append(DeviceContext(rank % devices))
    var group = Group(contexts^)

    var inputs = List[DeviceBuffer[DType.float32]]()
    var outputs = List[DeviceBuffer[DType.float32]]()
    for rank in range(RANKS):
        ref ctx = group.contexts[rank]
        var input = ctx.enqueue_create_buffer[DType.float32](SIZE)
        with input.map_to_host() as host:
            for i in range(SIZE):
                host[i] = Float32(rank + i)
        inputs.append(input)
        outputs.append(ctx.enqueue_create_buffer[DType.float32](SIZE))

    all_reduce(group, inputs, outputs)

    for rank in range(RANKS):
        with outputs[rank].map_to_host() as host:
            print("rank", rank, host[0], host[SIZE - 1])
