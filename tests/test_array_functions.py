"""Exported functions with a context and tensors, called with arrays of numpy on the CPU device."""

from pathlib import Path

import ktc
import numpy as np
import pytest

OF_2025 = '''
from gpu import global_idx
from gpu.host import DeviceContext
from layout import IntTuple, Layout, LayoutTensor, UNKNOWN_VALUE

alias Vector = LayoutTensor[DType.float32, Layout.row_major(UNKNOWN_VALUE), MutAnyOrigin]
alias Square = LayoutTensor[
    DType.float64, Layout(IntTuple(3, 3), IntTuple(UNKNOWN_VALUE, UNKNOWN_VALUE)), ImmutAnyOrigin
]


fn scale_kernel(output: Vector, x: Vector, by: Float32):
    var i = Int(global_idx.x)
    if i < x.dim(0):
        output[i] = x[i] * by


@export
fn scale(ctx: DeviceContext, output: Vector, x: Vector, by: Float32 = 2) raises:
    """Multiplies each element."""
    if x.dim(0) > 1000:
        raise Error("ValueError: too many elements")
    ctx.enqueue_function_checked[scale_kernel, scale_kernel](
        output, x, by, grid_dim=(x.dim(0) + 63) // 64, block_dim=64
    )


@export
fn trace(m: Square) -> Float64:
    return m[0, 0][0] + m[1, 1][0] + m[2, 2][0]


@export("twice")
fn doubled(ctx: DeviceContext, x: Vector) raises:
    scale(ctx, x, x)


fn bump(x: UnsafePointer[Float32, MutAnyOrigin], count: Int):
    var i = Int(global_idx.x)
    if i < count:
        x[i] += 1


@export
fn add(a: Int, b: Int) -> Int:
    return a + b
'''

OF_2026 = """
from layout import TileTensor, row_major
from max.gpu.host import DeviceContext

comptime Matrix = TileTensor[mut=True, DType.int32, type_of(row_major(1, 1)), MutAnyOrigin]
comptime Pair = TileTensor[mut=True, DType.int32, type_of(row_major[2]()), MutAnyOrigin]


@export
def sums(rows: Pair, m: Matrix, name: StringSpan, ctx: DeviceContext) raises -> Int:
    for row in range(Int(m.dim(0))):
        rows[row] = 0
        for column in range(Int(m.dim(1))):
            rows[row] += m[row, column]
    return name.byte_length()
"""


@pytest.fixture(scope="module")
def functions() -> ktc.Library:
    return ktc.compile(OF_2025, "functions", target="cpu")


def test_arrays_are_tensors(functions: ktc.Library) -> None:
    x = np.arange(100, dtype=np.float32)
    result = np.empty_like(x)
    functions.scale(result, x, 3.0)
    assert np.array_equal(result, x * 3)
    functions.scale(x=x, output=result)
    assert np.array_equal(result, x * 2)
    assert functions.scale.__doc__ == "Multiplies each element."
    square = np.arange(36.0).reshape(6, 6)
    square.flags.writeable = False
    views = (square[:3, :3], square[::2, ::2], square.T[:3, 3:])
    assert [functions.trace(one) for one in views] == [one.trace() for one in views]
    assert functions.add(1, 2) == 3


def test_names_kernels_and_code_of_a_file_with_them(functions: ktc.Library) -> None:
    assert sorted(functions.functions) == ["add", "scale", "trace", "twice"]
    x = np.ones(4, np.float32)
    functions.twice(x)
    functions.kernel("bump")[1, 32](x, 3)
    assert x.tolist() == [3.0, 3.0, 3.0, 2.0]
    assert "scale_kernel" in functions.scale.asm("ptx")
    assert "define" in functions.add.asm("llvm")


def test_arrays_are_tile_tensors() -> None:
    library = ktc.compile(OF_2026, "functions_of_2026", target="cpu")
    rows, m = np.zeros(2, np.int32), np.arange(6, dtype=np.int32).reshape(2, 3)
    assert library.sums(rows, m, "name") == 4
    assert rows.tolist() == [3, 12]
    with pytest.raises(ValueError, match=r"'rows' must have the layout \(2,\):\(1,\), not \(3,\):\(1,\)"):
        library.sums(np.zeros(3, np.int32), m, "name")


def test_what_does_not_fit(functions: ktc.Library) -> None:
    x, fixed = np.zeros(4, np.float32), np.zeros(4, np.float32)
    fixed.flags.writeable = False
    scale, trace = functions.scale, functions.trace
    for arguments, named, kind, said in (
        ((x, x.astype(np.float64)), {}, TypeError, "'x' must be an array of float32, not of float64"),
        ((x,), {}, TypeError, r"scale\(\) takes 3 arguments \(output, x, by\), not 1"),
        ((x, x, 1.0, 2), {}, TypeError, "not 4"),
        ((x, [1]), {}, TypeError, "'x' must be an array of numpy, torch, cupy or JAX, not list"),
        ((x, x, "a"), {}, TypeError, r"scale\(\): argument 'by' must be a number, not str"),
        ((x, x), {"z": 1}, TypeError, "has no argument 'z'; it takes output, x, by"),
        ((x, x), {"x": x}, TypeError, "gets its argument 'x' twice"),
        ((), {"x": x}, TypeError, "misses its argument 'output'"),
        ((x[::2], x), {}, ValueError, r"'output' must have the layout \(\?,\):\(1,\), not \(2,\):\(2,\)"),
        ((fixed, x), {}, ValueError, "'output' is read only, and the function may write it"),
        ((x, np.zeros(2000, np.float32)), {}, ValueError, "too many elements"),
    ):  # fmt: skip
        with pytest.raises(kind, match=said):
            scale(*arguments, **named)
    with pytest.raises(ValueError, match="'m' must have 2 dimensions, not 1"):
        trace(np.zeros(3))


def test_a_changed_file_is_compiled_again(tmp_path: Path) -> None:
    path = tmp_path / "functions.kpy"
    path.write_text(OF_2025)
    library = ktc.load(path, target="cpu")
    path.write_text(OF_2025.replace("x[i] * by", "x[i] + by"))
    library.reload()
    x = np.ones(4, np.float32)
    library.scale(x, x, 4.0)
    assert x.tolist() == [5.0] * 4
