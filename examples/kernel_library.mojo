# What the kernel library offers, on small tensors of ones and counted numbers; docs/kernels.md shows these calls.
from std.algorithm.device import cumsum, histogram, select, sum, unique
from std.algorithm.sorting import radix_sort
from max.gpu.host import DeviceBuffer, DeviceContext
from layout import Layout, LayoutTensor
from linalg.grouped_matmul import grouped_matmul
from linalg.matmul import matmul
from nn.activations import activate, gelu
from nn.attention import (
    flash_attention,
    flash_attention_backward,
    flash_attention_with_logs,
)
from nn.convolution import conv2d
from nn.cumsum import cumsum as row_cumsum
from nn.decoding import paged_attention
from nn.indexing import gather, top_k
from nn.normalization import rms_norm
from nn.pooling import max_pool2d
from nn.rope import rope
from nn.softmax import softmax
from std.utils import Index

comptime float = DType.float32
comptime Matrix[rows: Int, columns: Int] = LayoutTensor[
    float, Layout.row_major(rows, columns), MutAnyOrigin
]


def filled[
    dtype: DType = float
](ctx: DeviceContext, count: Int, step: Int = 0) raises -> DeviceBuffer[dtype]:
    """Returns ones, or with a step numbers between 0 and 6 in no order."""
    var made = ctx.enqueue_create_buffer[dtype](count)
    with made.map_to_host() as host:
        for i in range(count):
            host[i] = Scalar[dtype](i * step % 7 if step else 1)
    return made


def show[
    dtype: DType, //
](title: String, buffer: DeviceBuffer[dtype], count: Int = 6) raises:
    with buffer.map_to_host() as host:
        var text = title + ":"
        for i in range(min(count, len(buffer))):
            text += " " + String(round(Float64(host[i]) * 1000) / 1000)  # devices differ in the last digits
        print(text)


def products(ctx: DeviceContext) raises:
    comptime m = 16
    comptime n = 8
    comptime k = 32
    var sums = filled(ctx, m * n)
    var c = Matrix[m, n](sums)
    var a_memory = filled(ctx, m * k)
    var a = Matrix[m, k](a_memory)
    var b_memory = filled(ctx, n * k)
    var b = Matrix[n, k](b_memory)
    var bias = filled(ctx, n, 3)
    var biases = bias.unsafe_ptr()

    @__parameter
    def with_bias[
        dtype: DType, width: Int
    ](row: Int, column: Int, sums: SIMD[dtype, width]) -> SIMD[dtype, width]:
        return max(
            sums + biases.unsafe_load[width=width](column).cast[dtype](), 0
        )

    matmul[transpose_b=True](c, a, b, ctx)  # (m, n) = (m, k) @ (n, k) transposed
    show("product", sums)
    matmul[transpose_b=True, epilogue=with_bias](c, a, b, ctx)
    show("with a bias", sums)


def groups(ctx: DeviceContext) raises:
    var sums = filled(ctx, 12 * 8)
    var c = Matrix[12, 8](sums)
    var a_memory = filled(ctx, 12 * 16)
    var a = Matrix[12, 16](a_memory)
    var b_memory = filled(ctx, 3 * 16 * 8)
    var b = LayoutTensor[float, Layout.row_major(3, 16, 8), MutAnyOrigin](
        b_memory
    )
    var offsets = ctx.enqueue_create_buffer[DType.int32](4)
    with offsets.map_to_host() as host:  # group 0 has rows 0 to 4, group 1 none, group 2 the rest
        host[0], host[1], host[2], host[3] = (
            Int32(0),
            Int32(5),
            Int32(5),
            Int32(12),
        )

    grouped_matmul(c, a, b, offsets, ctx)  # c[rows] = a[rows] @ b[i]; rows: offsets[i] up to offsets[i + 1]
    show("groups", sums)


def attention(ctx: DeviceContext) raises:
    comptime layout = Layout.row_major(1, 8, 2, 16)  # (batches, length, heads, depth)
    var made = filled(ctx, 8 * 2 * 16)
    var output = LayoutTensor[float, layout](made)
    var q_memory = filled(ctx, 8 * 2 * 16)
    var q = LayoutTensor[float, layout, MutAnyOrigin](q_memory)
    var k_memory = filled(ctx, 8 * 2 * 16)
    var k = LayoutTensor[float, layout, MutAnyOrigin](k_memory)
    var v_memory = filled(ctx, 8 * 2 * 16, 1)
    var v = LayoutTensor[float, layout, MutAnyOrigin](v_memory)

    rope(q, q, ctx, first_position=0)
    flash_attention[causal=True, window=4](output, q, k, v, ctx)  # each query sees the last four keys
    show("attention", made)

    comptime Heads = LayoutTensor[float, layout, MutAnyOrigin]
    var log_memory = filled(ctx, 2 * 8)
    var logs = LayoutTensor[float, Layout.row_major(1, 2, 8), MutAnyOrigin](
        log_memory
    )
    var gradient_memory = filled(ctx, 8 * 2 * 16)
    var gradient = Heads(gradient_memory)
    var dq_memory = filled(ctx, 8 * 2 * 16)
    var dk_memory = filled(ctx, 8 * 2 * 16)
    var dv_memory = filled(ctx, 8 * 2 * 16)
    var dq = Heads(dq_memory)
    var dk = Heads(dk_memory)
    var dv = Heads(dv_memory)

    flash_attention_with_logs[causal=True](output, logs, q, k, v, ctx)
    flash_attention_backward[causal=True](
        dq, dk, dv, gradient, output, logs, q, k, v, ctx
    )
    show("gradient of the values", dv_memory)


def decoding(ctx: DeviceContext) raises:
    comptime Queries = LayoutTensor[
        float, Layout.row_major(2, 4, 16), MutAnyOrigin
    ]  # (sequences, heads, depth)
    comptime Pages = LayoutTensor[
        float, Layout.row_major(3, 8, 2, 16), MutAnyOrigin
    ]  # (pages, page length, key heads, depth)
    var made = filled(ctx, 2 * 4 * 16)
    var output = Queries(made)
    var q_memory = filled(ctx, 2 * 4 * 16)
    var q = Queries(q_memory)
    var k_memory = filled(ctx, 3 * 8 * 2 * 16)
    var k = Pages(k_memory)
    var v_memory = filled(ctx, 3 * 8 * 2 * 16, 5)
    var v = Pages(v_memory)
    var table_memory = filled[DType.int32](ctx, 2 * 2)
    var table = LayoutTensor[DType.int32, Layout.row_major(2, 2), MutAnyOrigin](
        table_memory
    )
    var lengths = filled[DType.int32](ctx, 2)
    with table_memory.map_to_host() as pages, lengths.map_to_host() as count:
        pages[0], pages[1], pages[2], pages[3] = (
            Int32(2),
            Int32(0),
            Int32(1),
            Int32(0),
        )
        count[0], count[1] = Int32(11), Int32(8)

    paged_attention(output, q, k, v, table, lengths, ctx)
    show("decoding", made)


def rows(ctx: DeviceContext) raises:
    var made = filled(ctx, 4 * 16, 5)
    var values = Matrix[4, 16](made)
    var weight_memory = filled(ctx, 16)
    var weight = LayoutTensor[float, Layout.row_major(16), MutAnyOrigin](
        weight_memory
    )

    rms_norm(values, values, weight, 1e-6, ctx)  # output may be input
    softmax(values, values, ctx)
    show("rows", made, 4)
    row_cumsum(values, values, ctx)  # output may be input
    show("sums of rows", made, 4)


def items(ctx: DeviceContext) raises:
    var made = filled(ctx, 3 * 16)
    var places = filled[DType.int32](ctx, 4 * 2)
    var best = filled(ctx, 4 * 2)
    var numbers_memory = filled(ctx, 4 * 16, 5)
    var numbers = Matrix[4, 16](numbers_memory)
    var chosen = filled[DType.int32](ctx, 3, 3)

    top_k[2](best, places, numbers, ctx)
    gather(Matrix[3, 16](made), numbers, chosen, ctx)
    activate[gelu](made, made, ctx)
    show("best", best)
    show("their places", places)
    show("rows by number", made)


def images(ctx: DeviceContext) raises:
    comptime channels = 4
    comptime Image[n: Int] = LayoutTensor[
        float, Layout.row_major(1, n, n, channels), MutAnyOrigin
    ]
    var made = filled(ctx, 4 * 4 * channels)
    var input_memory = filled(ctx, 8 * 8 * channels)
    var input = Image[8](input_memory)
    var between_memory = filled(ctx, 8 * 8 * channels)
    var between = Image[8](between_memory)
    var window = filled(ctx, channels * 9 * channels)
    var filters = LayoutTensor[
        float, Layout.row_major(channels, 3, 3, channels), MutAnyOrigin
    ](window)

    conv2d(
        between, input, filters, ctx, stride=Index(1, 1), padding=Index(1, 1)
    )
    max_pool2d(Image[4](made), between, Index(2, 2), ctx)
    show("pooled", made)


def buffers(ctx: DeviceContext) raises:
    comptime count = 1000
    var numbers = filled(ctx, count, 3)
    var output = filled(ctx, count)
    var total = filled(ctx, 1)
    var kept = filled[DType.int32](ctx, 1)
    var counts = filled[DType.int32](ctx, 7)

    @__parameter
    def is_small[
        dtype: DType
    ](numbers: Pointer[Scalar[dtype], MutAnyOrigin], at: Int) -> Bool:
        return numbers[unsafe_offset=at] < 2

    sum(total, numbers, ctx)
    histogram[7](counts, numbers, 0, 7, ctx)
    show("sum", total)
    show("histogram", counts, 7)
    cumsum(output, numbers, ctx)
    show("sums so far", output)
    select[is_small](output, kept, numbers, ctx)  # keeps the order
    show("small ones", kept)
    radix_sort[descending=True](output, numbers, ctx)
    unique(numbers, kept, output, ctx)
    show("different ones", numbers, 7)


def main() raises:
    var ctx = DeviceContext()
    products(ctx)
    groups(ctx)
    attention(ctx)
    decoding(ctx)
    rows(ctx)
    items(ctx)
    images(ctx)
    buffers(ctx)
