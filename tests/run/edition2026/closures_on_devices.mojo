"""Closures of edition 2026 in kernels, given to functions of kernels, and started as kernels."""

from max.algorithm.functional import elementwise
from max.gpu import barrier, global_idx, thread_idx
from max.gpu.host import DeviceContext
from std.algorithm import vectorize
from std.utils.coord import Coord

comptime COUNT = 8


def apply[F: def(Int) -> Float32](f: F, i: Int) -> Float32:
    return f(i) + f(i + 1)


@fieldwise_init
struct Fold[F: ImplicitlyCopyable & def(Float32, Float32) -> Float32](
    ImplicitlyCopyable
):
    var f: Self.F
    var start: Float32

    def over(self, count: Int) -> Float32:
        var result = self.start
        for i in range(count):
            result = self.f(result, Float32(i))
        return result


def kernel(p: Pointer[Float32, MutAnyOrigin], n: Int32):
    var i = Int(global_idx.x)
    var scale = Float32(2)
    var sum = Float32(0)

    def value(j: Int) {imm} -> Float32:
        return Float32(j) * scale

    def add(j: Int) {mut sum, var scale}:
        sum += Float32(j) * scale

    if i < Int(n):
        for j in range(i):
            add(j)

        def step[w: Int](j: Int) {mut sum}:
            sum += Float32(w)

        vectorize[4](i, step)
        p[unsafe_offset=i] = (
            apply(value, i) + sum + apply(lambda (j: Int) -> Float32: 1.0, i)
        )


def main() raises:
    with DeviceContext() as ctx:
        var buffer = ctx.enqueue_create_buffer[DType.float32](COUNT)
        ctx.enqueue_function[kernel](
            buffer, Int32(COUNT), grid_dim=1, block_dim=COUNT
        )
        with buffer.map_to_host() as host:
            for i in range(COUNT):
                print(host[i], end=" ")
            print()

        var data = buffer.unsafe_ptr()
        var scale = Float32(3)
        var count = Int32(COUNT)

        def scaled() {var data, var scale, var count}:
            var i = Int(global_idx.x)
            if i < Int(count):
                data[unsafe_offset=i] = Float32(i) * scale

        ctx.enqueue_function(scaled, grid_dim=2, block_dim=COUNT // 2)
        with buffer.map_to_host() as host:
            for i in range(COUNT):
                print(host[i], end=" ")
            print()

        var fold = Fold(lambda (a: Float32, b: Float32) -> Float32: a + b, 100)

        def folded() {var data, var fold}:
            var i = Int(thread_idx.x)
            var before = data[unsafe_offset=(i + 1) % COUNT]
            barrier()
            data[unsafe_offset=i] = before + fold.over(i)

        ctx.enqueue_function(folded, grid_dim=1, block_dim=COUNT)
        with buffer.map_to_host() as host:
            for i in range(COUNT):
                print(host[i], end=" ")
            print()

        def each[width: Int, alignment: Int = 1](at: Coord) {var data}:
            var i = Int(at[0].value())
            data.unsafe_store(i, SIMD[DType.float32, width](Float32(i)))

        elementwise[4, target="gpu"](each, Coord(COUNT), ctx)
        with buffer.map_to_host() as host:
            for i in range(COUNT):
                print(host[i], end=" ")
            print()
        var sums: List[Float32] = [0, 0, 0, 0, 0, 0]

        @__parameter
        def of_parameter[width: Int, alignment: Int = 1](at: Coord):
            sums[Int(at[0].value())] = Float32(width)

        elementwise[of_parameter, 4](6, ctx)
        elementwise[of_parameter, 4](Coord(2), ctx)
        print(sums[0], sums[1], sums[4], sums[5])
