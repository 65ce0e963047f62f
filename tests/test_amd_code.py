"""What kernels become for AMD's GPUs: matrix instructions and accesses through buffer resources, without a GPU."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ktc.base.cache import Cache
from ktc.codegen.module import LlvmModule
from ktc.emit.device import images
from ktc.emit.workers import Workers

from kernels import Refused, device_modules, multiplying

pytestmark = pytest.mark.thorough

PROGRAM = """
from gpu import thread_idx
from gpu.host import DeviceContext
from gpu.intrinsics import AMDBufferResource
from gpu.mma import mma
from sys.info import _is_amd_cdna, _is_amd_rdna3, _is_amd_mi300x, _is_amd_mi355x, is_amd_gpu

alias Floats = UnsafePointer[Float32, MutAnyOrigin]


fn matrices[dtype: DType, sums: DType](p: Floats):
    var t = Int(thread_idx.x)

    @parameter
    if is_amd_gpu():
        alias is_later = _is_amd_mi300x() or _is_amd_mi355x()
        alias width = (8 if dtype.is_integral() and is_later else 4) if _is_amd_cdna() else 16 if _is_amd_rdna3() else 8
        var a = p.load[width=width](width * t).cast[dtype]()
        alias count = 4 if _is_amd_cdna() else 8
        var d = SIMD[sums, count](0)
        mma(d, a, a, d)
        p.store(count * t, d.cast[DType.float32]())


fn buffers(p: Floats, q: Floats):
    var i = Int32(thread_idx.x)
    var source = AMDBufferResource(p, 100)
    var target = AMDBufferResource(q, 256)
    target.store[DType.float32, 4](4 * i, source.load[DType.float32, 4](4 * i) + source.load[DType.float32, 1](i))


fn says(n: Int):
    print("thread", thread_idx.x, "of", n)


def main():
    var ctx = DeviceContext()
    _ = ctx.compile_function_checked[says, says]()
    _ = ctx.compile_function_checked[matrices[DType.float16, DType.float32], matrices[DType.float16, DType.float32]]()
    _ = ctx.compile_function_checked[matrices[DType.bfloat16, DType.float32], matrices[DType.bfloat16, DType.float32]]()
    _ = ctx.compile_function_checked[matrices[DType.int8, DType.int32], matrices[DType.int8, DType.int32]]()
    _ = ctx.compile_function_checked[buffers, buffers]()
"""

INSTRUCTIONS = {
    "gfx90a": ("v_mfma_f32_16x16x16f16", "v_mfma_f32_16x16x16bf16_1k", "v_mfma_i32_16x16x16i8"),
    "gfx942": ("v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x16_bf16", "v_mfma_i32_16x16x32_i8"),
    "gfx950": ("v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x16_bf16", "v_mfma_i32_16x16x32_i8"),
    "gfx1100": ("v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16", "v_wmma_i32_16x16x16_iu8"),
    "gfx1200": ("v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16", "v_wmma_i32_16x16x16_iu8"),
}
"""The instruction of matrices of float16, bfloat16 and int8."""

RESOURCES = {
    "gfx90a": "0x20000",
    "gfx942": "0x20000",
    "gfx950": "0x20000",
    "gfx1100": "0x31004000",
    "gfx1200": "0x31004000",
}
"""The last word of a buffer resource, without which nothing is compared with the end of memory."""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory, program_cache: Path) -> dict[str, tuple[LlvmModule, ...]]:
    """The program's kernels by target."""
    source = tmp_path_factory.mktemp("amd") / "program.kpy"
    source.write_text(PROGRAM, "utf-8")
    return device_modules(source, list(INSTRUCTIONS), Cache(program_cache))


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(1) as running:
        yield running


@pytest.mark.parametrize("target", INSTRUCTIONS)
def test_instructions(target: str, kernels: dict[str, tuple[LlvmModule, ...]], workers: Workers) -> None:
    modules = kernels[target]
    made = images(modules, {one.kernel: {"asm"} for one in modules}, 3, workers=workers)
    texts = {one.kernel: made[one.kernel].data["asm"].decode() for one in modules}
    matrices = [re.findall(r"v_[wm][mf]ma\w+", text) for name, text in texts.items() if name.startswith("matrices")]
    assert sorted(matrices) == sorted([one] for one in INSTRUCTIONS[target])
    printing = [name for name, text in texts.items() if "hidden_printf_buffer" in text and "- '0:0:1,%s'" in text]
    assert [name[:4] for name in printing] == ["says"], "others are not given the buffer for what they print"
    (buffers,) = (text for name, text in texts.items() if name.startswith("buffers"))
    four, one = ("dwordx4", "dword") if target.startswith("gfx9") else ("b128", "b32")
    wanted = [f"buffer_load_{four}", f"buffer_load_{one}", f"buffer_store_{four}"]
    assert re.findall(r"buffer_\w+", buffers) == wanted, "nothing is read or written by address"
    assert not re.search(r"(global|flat)_(load|store)", buffers)
    assert RESOURCES[target] in buffers and re.search(r"s_mov\w+ s\d+, 0x190\b", buffers), "100 elements are 400 bytes"


@pytest.mark.parametrize(
    ("target", "types", "words"),
    [
        ("gfx90a", "SIMD[DType.int32, 4], SIMD[DType.int8, 8]", "gfx90a multiplies 4 + 4"),
        (
            "gfx1030",
            "SIMD[DType.float32, 8], SIMD[DType.float16, 16]",
            "is for CDNA (gfx90a, gfx942, gfx950), RDNA 3 and",
        ),
        ("gfx1100", "SIMD[DType.float32, 4], SIMD[DType.float16, 4]", "mma() has no instruction for these sizes"),
        (
            "gfx1100",
            "SIMD[DType.float32, 8], SIMD[DType.float8_e4m3fn, 16]",
            "mma() has no instruction for these types",
        ),
    ],
)
def test_what_a_gpu_does_not_multiply(target: str, types: str, words: str, program_cache: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=re.escape(words)):
        device_modules(multiplying(types, tmp_path), [target], Cache(program_cache))
