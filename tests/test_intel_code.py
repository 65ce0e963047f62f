"""What matrix products become for Intel's GPUs: instructions of sub-groups in SPIR-V, without a GPU."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ktc.base.cache import Cache
from ktc.emit.device import Refused as NotEmitted
from ktc.emit.device import images
from ktc.emit.workers import Workers

from kernels import Refused, device_modules, multiplying

PROGRAM = """
from gpu import thread_idx
from gpu.host import DeviceContext
from gpu.mma import mma
from layout import Layout, LayoutTensor
from layout.tensor_core import TensorCore, get_fragment_size, get_mma_shape

alias Pointer = UnsafePointer[_, MutAnyOrigin]


fn product[dtype: DType, sums: DType](p: Pointer[Scalar[dtype]], q: Pointer[Scalar[sums]]):
    alias sizes = get_fragment_size[get_mma_shape[dtype, sums]()]()
    var t = Int(thread_idx.x)
    var d = q.load[width = sizes[2]](sizes[2] * t)
    mma(d, p.load[width = sizes[0]](sizes[0] * t), p.load[width = sizes[1]](sizes[1] * t), d)
    q.store(sizes[2] * t, d)


fn tiles[transpose_b: Bool](
    p: Pointer[BFloat16], q: Pointer[BFloat16], r: Pointer[Float32]
):
    alias shape = get_mma_shape[DType.bfloat16, DType.float32]()
    alias depth = 2 * shape[2]
    alias right = Layout.row_major(shape[1], depth) if transpose_b else Layout.row_major(depth, shape[1])
    var a = LayoutTensor[DType.bfloat16, Layout.row_major(shape[0], depth)](p)
    var b = LayoutTensor[DType.bfloat16, right](q)
    var c = LayoutTensor[DType.float32, Layout.row_major(shape[0], shape[1])](r)
    var core = TensorCore[DType.float32, DType.bfloat16, shape, transpose_b]()
    var sum = core.mma_op(core.load_a(a), core.load_b(b), core.load_c(c))
    core.store_d(c, sum)


def main():
    var ctx = DeviceContext()
    _ = ctx.compile_function_checked[
        product[DType.float16, DType.float32], product[DType.float16, DType.float32]
    ]()
    _ = ctx.compile_function_checked[product[DType.int8, DType.int32], product[DType.int8, DType.int32]]()
    _ = ctx.compile_function_checked[product[DType.uint8, DType.int32], product[DType.uint8, DType.int32]]()
    _ = ctx.compile_function_checked[tiles[False], tiles[False]]()
    _ = ctx.compile_function_checked[tiles[True], tiles[True]]()
"""

SHUFFLING = """
from gpu import thread_idx, warp
from gpu.host import DeviceContext
from gpu.mma import mma


fn shuffled(p: UnsafePointer[Float16, MutAnyOrigin], q: UnsafePointer[Float32, MutAnyOrigin]):
    var d = SIMD[DType.float32, 8](q[Int(thread_idx.x)])
    mma(d, p.load[width=8](), p.load[width=16](), d)
    q[0] = warp.sum(d[0])


def main():
    _ = DeviceContext().compile_function_checked[shuffled, shuffled]()
"""

FLOATS = """
    _ = ctx.compile_function_checked[
        product[DType.float32, DType.float32], product[DType.float32, DType.float32]
    ]()
"""
"""TF32, which Xe-HPG has not."""

SIGNED = "MatrixASignedComponentsINTEL|MatrixBSignedComponentsINTEL|"
HALVES = "MatrixAPackedFloat16INTEL|MatrixBPackedFloat16INTEL"
BFLOATS = "MatrixAPackedBFloat16INTEL|MatrixBPackedBFloat16INTEL"
BYTES = "MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL"
TF32 = "MatrixATF32INTEL|MatrixBTF32INTEL"
BOTH = {"product": [HALVES, SIGNED + BYTES, BYTES], "tiles": [BFLOATS] * 4}
"""The operands of the instructions: the tiles are two instructions deep."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(1) as running:
        yield running


def validator() -> str:
    """Return a spirv-val that knows the extension, which came into SPIRV-Tools in 2025; "" if there is none."""
    for name in (Path(sys.prefix) / "bin" / "spirv-val", shutil.which("spirv-val")):
        if name and Path(name).exists():
            text = subprocess.run([str(name), "--version"], capture_output=True, text=True, check=False).stdout
            found = re.search(r"v(20\d\d)", text)
            if found and int(found[1]) >= 2025:
                return str(name)
    return ""


@pytest.mark.parametrize(("target", "lanes"), [("intel-xe-hpg", 8), ("intel-xe-hpc", 16), ("intel-xe2", 16)])
def test_instructions(target: str, lanes: int, tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    source = tmp_path / "program.kpy"
    source.write_text(PROGRAM + (FLOATS if lanes == 16 else ""), "utf-8")
    modules = device_modules(source, [target], Cache(program_cache))[target]
    made = images(modules, {one.kernel: {"asm", "object"} for one in modules}, 3, workers=workers)
    found: dict[str, list[str]] = {"product": [], "tiles": []}
    for module in modules:
        data = made[module.kernel].data
        text = data["asm"].decode()
        assert f"SubgroupSize {lanes}" in text and 'Extension "SPV_INTEL_subgroup_matrix_multiply' in text
        found[module.kernel.split("_")[0]] += re.findall(
            r"OpSubgroupMatrixMultiplyAccumulateINTEL(?: %\d+)+ (\S+)$", text, re.MULTILINE
        )
        if validator():
            done = subprocess.run(
                [validator(), "--target-env", "spv1.4", "-"], input=data["object"], capture_output=True, check=False
            )
            assert done.returncode == 0, done.stderr.decode()
    assert {name: sorted(all_) for name, all_ in found.items()} == {
        name: sorted([*all_, TF32] if name == "product" and lanes == 16 else all_) for name, all_ in BOTH.items()
    }


def test_warps_are_not_exchanged(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    source = tmp_path / "program.kpy"
    source.write_text(SHUFFLING, "utf-8")
    modules = device_modules(source, ["intel-xe-hpc"], Cache(program_cache))["intel-xe-hpc"]
    with pytest.raises(NotEmitted, match="no shuffles, votes and barriers of warps"):
        images(modules, {one.kernel: {"asm"} for one in modules}, 3, workers=workers)


@pytest.mark.parametrize(
    ("target", "types", "words"),
    [
        ("spirv", "SIMD[DType.float32, 8], SIMD[DType.float16, 8]", "is for Intel GPUs with matrix engines"),
        ("intel-xe-lpg", "SIMD[DType.float32, 8], SIMD[DType.float16, 8]", "is for Intel GPUs with matrix engines"),
        ("intel-xe-hpg", "SIMD[DType.float32, 8], SIMD[DType.float32, 8]", "has no instruction for these types"),
        ("intel-xe-hpg", "SIMD[DType.float32, 4], SIMD[DType.float16, 16]", "has no instruction for these sizes"),
        ("intel-xe-hpg", "SIMD[DType.float16, 8], SIMD[DType.float16, 16]", "has no instruction for these types"),
    ],
)
def test_what_a_gpu_does_not_multiply(target: str, types: str, words: str, program_cache: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=re.escape(words)):
        device_modules(multiplying(types, tmp_path), [target], Cache(program_cache))
