"""Each operation of the library of kernels gives the same on tile tensors as on layout tensors."""

from layout import Idx, Layout, LayoutTensor, TileTensor, row_major
from linalg.grouped_matmul import grouped_matmul
from linalg.matmul import batched_matmul, matmul
from max.gpu.host import DeviceBuffer, DeviceContext
from nn.attention import (
    flash_attention,
    flash_attention_backward,
    flash_attention_with_logs,
)
from nn.convolution import conv2d
from nn.cumsum import cumsum
from nn.decoding import paged_attention
from nn.indexing import gather, scatter_add, top_k
from nn.normalization import layer_norm
from nn.pooling import avg_pool2d, max_pool2d
from nn.rope import rope
from nn.softmax import log_softmax
from std.utils import Index

comptime F32 = DType.float32
comptime COUNT = 2 * 8 * 16 * 2
comptime Buffer = DeviceBuffer[F32]


struct Pair:
    """Two results of the same size, made from the same numbers."""

    var tile: Buffer
    var other: Buffer

    def __init__(out self, ctx: DeviceContext) raises:
        self.tile = ctx.enqueue_create_buffer[F32](COUNT)
        self.other = ctx.enqueue_create_buffer[F32](COUNT)
        self.tile.enqueue_fill(1)
        self.other.enqueue_fill(1)

    def show(self, name: String) raises:
        var same = True
        var sum = Float64(0)
        with self.tile.map_to_host() as mine, self.other.map_to_host() as other:
            for i in range(COUNT):
                same = same and mine[i] == other[i]
                sum += Float64(mine[i])
        print(name, same, sum != Float64(COUNT) and sum == sum)


def lt[
    layout: Layout
](buffer: Buffer) -> LayoutTensor[F32, layout, MutAnyOrigin]:
    return LayoutTensor[F32, layout](buffer).as_any_origin()


def products(ctx: DeviceContext, a: Buffer, b: Buffer) raises:
    var made = Pair(ctx)
    var rows = 6
    matmul[transpose_b=True](
        TileTensor(made.tile, row_major(rows, Idx[8])),
        TileTensor[mut=False](a, row_major(rows, Idx[16])),
        TileTensor(b, row_major[8, 16]()),
        ctx,
    )
    matmul[transpose_b=True](
        lt[Layout.row_major(6, 8)](made.other),
        lt[Layout.row_major(6, 16)](a),
        lt[Layout.row_major(8, 16)](b),
        ctx,
    )
    made.show("matmul")
    made = Pair(ctx)
    batched_matmul(
        TileTensor(made.tile, row_major[2, 4, 4]()),
        TileTensor(a, row_major[2, 4, 8]()),
        TileTensor(b, row_major[2, 8, 4]()),
        ctx,
    )
    batched_matmul(
        lt[Layout.row_major(2, 4, 4)](made.other),
        lt[Layout.row_major(2, 4, 8)](a),
        lt[Layout.row_major(2, 8, 4)](b),
        ctx,
    )
    made.show("batched_matmul")
    made = Pair(ctx)
    var offsets = ctx.enqueue_create_buffer[DType.int32](3)
    with offsets.map_to_host() as h:
        h[0] = 0
        h[1] = 2
        h[2] = 5
    grouped_matmul(
        TileTensor(made.tile, row_major[5, 4]()),
        TileTensor(a, row_major[5, 8]()),
        TileTensor(b, row_major[2, 8, 4]()),
        offsets,
        ctx,
    )
    grouped_matmul(
        lt[Layout.row_major(5, 4)](made.other),
        lt[Layout.row_major(5, 8)](a),
        lt[Layout.row_major(2, 8, 4)](b),
        offsets,
        ctx,
    )
    made.show("grouped_matmul")


def rows(ctx: DeviceContext, a: Buffer, b: Buffer) raises:
    comptime layout = row_major[8, 16]()
    comptime like = Layout.row_major(8, 16)
    var made = Pair(ctx)
    cumsum(TileTensor(made.tile, layout), TileTensor(a, layout), ctx)
    cumsum(lt[like](made.other), lt[like](a), ctx)
    made.show("cumsum")
    made = Pair(ctx)
    log_softmax(TileTensor(made.tile, layout), TileTensor(a, layout), ctx)
    log_softmax(lt[like](made.other), lt[like](a), ctx)
    made.show("log_softmax")
    made = Pair(ctx)
    layer_norm(
        TileTensor(made.tile, layout),
        TileTensor(a, layout),
        TileTensor(b, row_major[16]()),
        TileTensor(a, row_major[16]()),
        1e-5,
        ctx,
    )
    comptime line = Layout.row_major(16)
    layer_norm(
        lt[like](made.other), lt[like](a), lt[line](b), lt[line](a), 1e-5, ctx
    )
    made.show("layer_norm")
    made = Pair(ctx)
    var places = ctx.enqueue_create_buffer[DType.int32](8)
    with places.map_to_host() as h:
        for i in range(8):
            h[i] = Int32((i * 3) % 8)
    gather(TileTensor(made.tile, layout), TileTensor(a, layout), places, ctx)
    gather(lt[like](made.other), lt[like](a), places, ctx)
    scatter_add(
        TileTensor(made.tile, layout), TileTensor(b, layout), places, ctx
    )
    scatter_add(lt[like](made.other), lt[like](b), places, ctx)
    made.show("gather, scatter_add")
    made = Pair(ctx)
    var best = ctx.enqueue_create_buffer[DType.int32](16)
    top_k[2](made.tile, best, TileTensor(a, layout), ctx)
    top_k[2](made.other, best, lt[like](a), ctx)
    made.show("top_k")


def images(ctx: DeviceContext, a: Buffer, b: Buffer) raises:
    comptime image = row_major[2, 4, 4, 4]()
    comptime like = Layout.row_major(2, 4, 4, 4)
    var made = Pair(ctx)
    conv2d(
        TileTensor(made.tile, row_major[2, 4, 4, 2]()),
        TileTensor(a, image),
        TileTensor(b, row_major[2, 3, 3, 4]()),
        ctx,
        padding=Index(1, 1),
    )
    conv2d(
        lt[Layout.row_major(2, 4, 4, 2)](made.other),
        lt[like](a),
        lt[Layout.row_major(2, 3, 3, 4)](b),
        ctx,
        padding=Index(1, 1),
    )
    made.show("conv2d")
    made = Pair(ctx)
    max_pool2d(
        TileTensor(made.tile, row_major[2, 2, 2, 4]()),
        TileTensor(a, image),
        Index(2, 2),
        ctx,
    )
    max_pool2d(
        lt[Layout.row_major(2, 2, 2, 4)](made.other),
        lt[like](a),
        Index(2, 2),
        ctx,
    )
    made.show("max_pool2d")
    made = Pair(ctx)
    avg_pool2d(
        TileTensor(made.tile, row_major[2, 2, 2, 4]()),
        TileTensor(a, image),
        Index(2, 2),
        ctx,
    )
    avg_pool2d(
        lt[Layout.row_major(2, 2, 2, 4)](made.other),
        lt[like](a),
        Index(2, 2),
        ctx,
    )
    made.show("avg_pool2d")


def heads(ctx: DeviceContext, a: Buffer, b: Buffer) raises:
    comptime layout = row_major[1, 8, 2, 16]()
    comptime like = Layout.row_major(1, 8, 2, 16)
    comptime logs = row_major[1, 2, 8]()
    comptime logs_like = Layout.row_major(1, 2, 8)
    var made = Pair(ctx)
    rope(TileTensor(made.tile, layout), TileTensor(a, layout), ctx)
    rope(lt[like](made.other), lt[like](a), ctx)
    made.show("rope")
    made = Pair(ctx)
    flash_attention[causal=True](
        TileTensor(made.tile, layout),
        TileTensor(a, layout),
        TileTensor(b, layout),
        TileTensor(a, layout),
        ctx,
    )
    flash_attention[causal=True](
        lt[like](made.other), lt[like](a), lt[like](b), lt[like](a), ctx
    )
    made.show("flash_attention")
    var sums = Pair(ctx)
    flash_attention_with_logs(
        TileTensor(made.tile, layout),
        TileTensor(sums.tile, logs),
        TileTensor(a, layout),
        TileTensor(b, layout),
        TileTensor(a, layout),
        ctx,
    )
    flash_attention_with_logs(
        lt[like](made.other),
        lt[logs_like](sums.other),
        lt[like](a),
        lt[like](b),
        lt[like](a),
        ctx,
    )
    made.show("flash_attention_with_logs")
    sums.show("logs")
    var dq = Pair(ctx)
    var dk = Pair(ctx)
    var dv = Pair(ctx)
    flash_attention_backward(
        TileTensor(dq.tile, layout),
        TileTensor(dk.tile, layout),
        TileTensor(dv.tile, layout),
        TileTensor(b, layout),
        TileTensor(made.tile, layout),
        TileTensor(sums.tile, logs),
        TileTensor(a, layout),
        TileTensor(b, layout),
        TileTensor(a, layout),
        ctx,
    )
    flash_attention_backward(
        lt[like](dq.other),
        lt[like](dk.other),
        lt[like](dv.other),
        lt[like](b),
        lt[like](made.other),
        lt[logs_like](sums.other),
        lt[like](a),
        lt[like](b),
        lt[like](a),
        ctx,
    )
    dq.show("flash_attention_backward, dq")
    dk.show("dk")
    dv.show("dv")


def decoding(ctx: DeviceContext, a: Buffer, b: Buffer) raises:
    comptime queries = row_major[2, 2, 16]()
    comptime pages = row_major[2, 8, 2, 16]()
    comptime like = Layout.row_major(2, 2, 16)
    comptime pages_like = Layout.row_major(2, 8, 2, 16)
    var table = ctx.enqueue_create_buffer[DType.int32](2)
    var lengths = ctx.enqueue_create_buffer[DType.int32](2)
    with table.map_to_host() as h:
        h[0] = 1
        h[1] = 0
    lengths.enqueue_fill(5)
    var made = Pair(ctx)
    paged_attention(
        TileTensor(made.tile, queries),
        TileTensor(a, queries),
        TileTensor(a, pages),
        TileTensor(b, pages),
        TileTensor(table, row_major[2, 1]()),
        lengths,
        ctx,
    )
    paged_attention(
        lt[like](made.other),
        lt[like](a),
        lt[pages_like](a),
        lt[pages_like](b),
        LayoutTensor[DType.int32, Layout.row_major(2, 1)](table),
        lengths,
        ctx,
    )
    made.show("paged_attention")


def main() raises:
    with DeviceContext() as ctx:
        var a = ctx.enqueue_create_buffer[F32](COUNT)
        var b = ctx.enqueue_create_buffer[F32](COUNT)
        with a.map_to_host() as ha, b.map_to_host() as hb:
            for i in range(COUNT):
                ha[i] = Float32(i * 7 % 13) / 8 - 0.5
                hb[i] = Float32(i * 5 % 11) / 8 - 0.5
        products(ctx, a, b)
        rows(ctx, a, b)
        images(ctx, a, b)
        heads(ctx, a, b)
        decoding(ctx, a, b)
