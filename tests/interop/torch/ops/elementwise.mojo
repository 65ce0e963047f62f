"""Operators that compute each element with `foreach`."""

import extensibility
from extensibility import InputTensor, OutputTensor, foreach
from layout import Coord
from max.gpu.host import DeviceContext


@extensibility.register("add_constant")
struct AddConstant:
    @staticmethod
    def execute[
        target: StaticString, value: Int
    ](
        output: OutputTensor,
        x: InputTensor[dtype=output.dtype, rank=output.rank, ...],
        ctx: DeviceContext,
    ) raises:
        def added[width: Int](place: Coord) {var x} -> SIMD[x.dtype, width]:
            return x.load[width](place) + Scalar[x.dtype](value)

        foreach[target=target](added, output, ctx)


@extensibility.register("blend")
struct Blend[inverted: Bool = False]:
    @staticmethod
    def execute[
        dtype: DType, rank: Int, target: StaticString
    ](
        output: OutputTensor[dtype=dtype, rank=rank, ...],
        weight: Float32,
        a: InputTensor[dtype=dtype, rank=rank, ...],
        b: InputTensor[dtype=dtype, rank=rank, ...],
        ctx: DeviceContext,
    ) raises:
        var share = (1 - weight if Self.inverted else weight).cast[dtype]()

        def blended[
            width: Int
        ](place: Coord) {var a, var b, var share} -> SIMD[dtype, width]:
            var left = a.load[width](place)
            return left + (b.load[width](place) - left) * share

        foreach[target=target](blended, output, ctx)


@extensibility.register("power")
struct Power:
    @staticmethod
    def execute[
        dtype: DType, target: StaticString
    ](
        output: OutputTensor[dtype=dtype, ...],
        x: InputTensor[dtype=dtype, rank=output.rank, ...],
        factor: Scalar[dtype],
        exponent: Int32,
        negated: Bool,
        ctx: DeviceContext,
    ) raises:
        var sign = Scalar[dtype](-1 if negated else 1)

        def raised[
            width: Int
        ](place: Coord) {var x, var factor, var exponent, var sign} -> SIMD[
            dtype, width
        ]:
            var result = SIMD[dtype, width](factor * sign)
            for _ in range(Int(exponent)):
                result *= x.load[width](place)
            return result

        foreach[target=target](raised, output, ctx)
