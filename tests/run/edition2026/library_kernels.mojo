"""The library's kernels from a program of edition 2026, on tile tensors."""

from layout import Idx, TileTensor, row_major
from linalg.matmul import batched_matmul, matmul
from max.gpu.host import DeviceContext
from nn.indexing import argmax
from nn.normalization import rms_norm
from nn.softmax import softmax


def main() raises:
    var ctx = DeviceContext()
    comptime layout = row_major[4, 8]()
    var a = ctx.enqueue_create_buffer[DType.float32](32)
    var b = ctx.enqueue_create_buffer[DType.float32](32)
    var c = ctx.enqueue_create_buffer[DType.float32](32)
    with a.map_to_host() as h:
        for i in range(32):
            h[i] = Float32(i % 8)
    b.enqueue_fill(0.5)
    matmul[transpose_b=True](
        TileTensor(c, row_major[4, 4]()), TileTensor(a, layout), TileTensor(b, layout), ctx
    )
    with c.map_to_host() as h:
        print(h[0], h[15])
    var rows = 4
    softmax(TileTensor(c, row_major(rows, Idx[8])), TileTensor(a, row_major(rows, Idx[8])), ctx)
    with c.map_to_host() as h:
        print(h[7] > h[6], abs(h[0] / h[1] - 0.36787945) < 1e-5)
    rms_norm(TileTensor(c, layout), TileTensor(a, layout), TileTensor(b, row_major[8]()), 1e-5, ctx)
    with c.map_to_host() as h:
        print(abs(h[7] - 0.836658) < 1e-4)
    var places = ctx.enqueue_create_buffer[DType.int32](4)
    argmax(places, TileTensor(a, layout), ctx)
    batched_matmul(
        TileTensor(c, row_major[2, 2, 2]()), TileTensor(a, row_major[2, 2, 8]()), TileTensor(b, row_major[2, 8, 2]()), ctx
    )
    with places.map_to_host() as p, c.map_to_host() as h:
        print(p[0], p[3], h[0], h[7])
