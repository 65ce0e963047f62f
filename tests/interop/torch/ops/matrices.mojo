"""Operators with kernels of their own, over `TileTensor`s whose extents are known at compile time."""

import extensibility
from extensibility import InputTensor, OutputTensor
from layout import TileTensor
from layout.tile_layout import TensorLayout
from max.gpu import block_dim, block_idx, thread_idx
from max.gpu.host import DeviceContext


def transpose_kernel[
    dtype: DType, To: TensorLayout, From: TensorLayout
](
    output: TileTensor[mut=True, dtype, To, MutAnyOrigin],
    x: TileTensor[mut=True, dtype, From, MutAnyOrigin],
):
    var row = block_idx.y * block_dim.y + thread_idx.y
    var column = block_idx.x * block_dim.x + thread_idx.x
    if row < Int(x.dim(0)) and column < Int(x.dim(1)):
        output[column, row] = x[row, column]


@extensibility.register("transpose")
struct Transpose:
    @staticmethod
    def execute[
        target: StaticString, block: Int = 8
    ](
        output: OutputTensor[rank=2, ...],
        x: InputTensor[dtype=output.dtype, rank=2, ...],
        ctx: DeviceContext,
    ) raises:
        comptime if target == "gpu":
            var to = output.to_tile_tensor()
            var source = x.to_tile_tensor()
            comptime kernel = transpose_kernel[
                output.dtype, to.LayoutType, source.LayoutType
            ]
            ctx.enqueue_function[kernel](
                to,
                source,
                grid_dim=(
                    (x.dim_size(1) + block - 1) // block,
                    (x.dim_size(0) + block - 1) // block,
                ),
                block_dim=(block, block),
            )
        else:
            for row in range(x.dim_size[0]()):
                for column in range(x.dim_size[1]()):
                    output[column, row] = x[row, column]


@extensibility.register("checked_copy")
struct CheckedCopy:
    @staticmethod
    def execute(
        output: OutputTensor[rank=1, ...],
        x: InputTensor[dtype=output.dtype, rank=1, ...],
    ) raises:
        if output.size() != x.size():
            raise Error("ValueError: lengths differ: ", output.size(), " and ", x.size())
        for i in range(x.size()):
            output[i] = x[i]
