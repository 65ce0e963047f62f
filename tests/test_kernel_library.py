"""What the kernels of `linalg` and `nn` become for GPUs: the instructions that their speed rests on, without a GPU."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ktc.base.cache import Cache, digest
from ktc.emit.device import images
from ktc.emit.tools import assemble_ptx, find_ptxas
from ktc.emit.workers import Workers

from kernels import device_modules
from programs import TESTS, run_ktc

pytestmark = pytest.mark.thorough

PRODUCT = """
from gpu.host import DeviceContext
from layout import Layout, LayoutTensor
from linalg.matmul import matmul

alias square = Layout.row_major(1024, 1024)


def main():
    var ctx = DeviceContext()
    var memory = ctx.enqueue_create_buffer[DType.{dtype}](square.size())
    var x = LayoutTensor[DType.{dtype}, square](memory)
    var sums = ctx.enqueue_create_buffer[DType.{out}](square.size())
    matmul[transpose_b=True, tf32=True](LayoutTensor[DType.{out}, square](sums), x, x, ctx)
"""
ATTENTION = """
from gpu.host import DeviceContext
from layout import Layout, LayoutTensor
from nn.attention import flash_attention

alias layout = Layout.row_major(1, 512, 4, 64)


def main():
    var ctx = DeviceContext()
    var memory = ctx.enqueue_create_buffer[DType.bfloat16](layout.size())
    var x = LayoutTensor[DType.bfloat16, layout](memory)
    flash_attention[causal=True](x, x, x, x, ctx)
"""
GRADIENT = """
from gpu.host import DeviceContext
from layout import Layout, LayoutTensor
from nn.attention import flash_attention_backward

alias layout = Layout.row_major(1, 512, 4, 128)


def main():
    var ctx = DeviceContext()
    var memory = ctx.enqueue_create_buffer[DType.bfloat16](layout.size())
    var sums = ctx.enqueue_create_buffer[DType.float32](2048)
    var x = LayoutTensor[DType.bfloat16, layout](memory)
    var logs = LayoutTensor[DType.float32, Layout.row_major(1, 4, 512)](sums)
    flash_attention_backward[causal=True](x, x, x, x, x, logs, x, x, x, ctx)
"""
CONVOLUTION = """
from gpu.host import DeviceContext
from layout import Layout, LayoutTensor
from nn.convolution import conv2d
from utils.index import Index

alias layout = Layout.row_major(2, 32, 32, 64)


def main():
    var ctx = DeviceContext()
    var memory = ctx.enqueue_create_buffer[DType.bfloat16](layout.size())
    var x = LayoutTensor[DType.bfloat16, layout](memory)
    var f = LayoutTensor[DType.bfloat16, Layout.row_major(64, 3, 3, 64)](memory)
    conv2d(x, x, f, ctx, padding=Index(1, 1))
"""


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(2) as running:
        yield running


def assembly(text: str, target: str, folder: Path, cache: Path, workers: Workers) -> dict[str, str]:
    """Return the assembly of a program's kernels by name; several tests look at the same programs."""
    kept, key = Cache(cache), digest("assembly of a test", target, text)
    if (known := kept.get(key)) is not None:
        return dict(json.loads(known))
    source = folder / "program.kpy"
    source.write_text(text, "utf-8")
    modules = device_modules(source, [target], kept)[target]
    made = images(modules, {module.kernel: {"asm"} for module in modules}, 3, workers=workers)
    found = {name: image.data["asm"].decode() for name, image in made.items()}
    kept.put(key, json.dumps(found).encode())
    return found


@pytest.mark.parametrize(
    ("target", "dtype", "out", "instruction"),
    [
        ("sm_90a", "bfloat16", "bfloat16", r"wgmma.mma_async.sync.aligned.m64n\d+k16.f32.bf16.bf16"),
        ("sm_90a", "float8_e4m3fn", "bfloat16", r"wgmma.mma_async.sync.aligned.m64n\d+k32.f32.e4m3.e4m3"),
        ("sm_90a", "int8", "int32", r"wgmma.mma_async.sync.aligned.m64n\d+k32.s32.s8.s8"),
        ("sm_90a", "float32", "float32", r"wgmma.mma_async.sync.aligned.m64n\d+k8.f32.tf32.tf32"),
        ("sm_80", "float16", "float16", r"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_80", "int8", "int32", r"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
        ("gfx942", "bfloat16", "bfloat16", r"v_mfma_f32_16x16x16_bf16"),
        ("gfx942", "float32", "float32", r"v_mfma_f32_16x16x4_f32"),
        ("gfx942", "int8", "int32", r"v_mfma_i32_16x16x32_i8"),
    ],
)
def test_products_use_matrix_instructions(
    target: str, dtype: str, out: str, instruction: str, tmp_path: Path, program_cache: Path, workers: Workers
) -> None:
    """Each target multiplies by its own instruction of the type; on sm_90a the tiles come by the accelerator."""
    made = assembly(PRODUCT.format(dtype=dtype, out=out), target, tmp_path, program_cache, workers)
    found = [text for text in made.values() if re.search(instruction, text)]
    assert found, [*made]
    if target == "sm_90a":
        assert "cp.async.bulk.tensor.3d" in found[0]


def test_few_tiles_are_shared(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """Blocks share the tiles of a small product with a long `k`; flags say when sums are in memory."""
    text = PRODUCT.format(dtype="bfloat16", out="bfloat16").replace("row_major(1024, 1024)", "row_major(512, 65536)")
    text = text.replace(
        "LayoutTensor[DType.bfloat16, square](sums)", "LayoutTensor[DType.bfloat16, Layout.row_major(512, 512)](sums)"
    )
    made = assembly(text, "sm_90a", tmp_path, program_cache, workers)
    (found,) = (text for name, text in made.items() if name.startswith("streams_kernel"))
    assert "wgmma.mma_async" in found and "fence" in found and "st.global.v4" in found
    assert not any(
        name.startswith("streams_kernel")
        for name in assembly(
            PRODUCT.format(dtype="bfloat16", out="bfloat16"), "sm_90a", tmp_path, program_cache, workers
        )
    )


def test_float32_comes_by_the_accelerator(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """Tiles of float32 are transposed in shared memory; the loop has no copies of single numbers."""
    text = PRODUCT.format(dtype="float32", out="float32").replace("[transpose_b=True, tf32=True]", "")
    made = assembly(text, "sm_90a", tmp_path, program_cache, workers)
    (found,) = (text for name, text in made.items() if name.startswith("threads_kernel"))
    assert "cp.async.bulk.tensor.3d" in found and found.count("fma.rn.f32") >= 2048 and "cp.async.ca" not in found


def test_arrivals_order_no_memory(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """An arrival that orders memory in the cluster cost a third of the speed of products on an H200."""
    made = assembly(PRODUCT.format(dtype="bfloat16", out="bfloat16"), "sm_90a", tmp_path, program_cache, workers)
    assert not any("arrive.release.cluster" in text for text in made.values())


@pytest.mark.skipif(find_ptxas() is None, reason="no ptxas")
@pytest.mark.parametrize(
    "text",
    [PRODUCT.format(dtype="bfloat16", out="bfloat16"), ATTENTION, GRADIENT],
    ids=["matmul", "attention", "gradient"],
)
def test_assembled(text: str, tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """NVIDIA's assembler takes the kernels."""
    ptxas = find_ptxas()
    assert ptxas is not None
    for ptx in assembly(text, "sm_90a", tmp_path, program_cache, workers).values():
        assert assemble_ptx(ptxas, ptx.encode(), "sm_90a")


def test_attention_overlaps(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """While weights of one block are made, matrix instructions of another one run: one group may be under way."""
    made = assembly(ATTENTION, "sm_90a", tmp_path, program_cache, workers)
    (flash,) = (text for text in made.values() if "wgmma" in text)
    assert "wgmma.wait_group.sync.aligned 1" in flash and "ex2.approx.ftz.f32" in flash
    assert re.search(r"cvt.rn.bf16x2.f32", flash)


@pytest.mark.parametrize(
    "text",
    [PRODUCT.format(dtype="bfloat16", out="bfloat16"), ATTENTION, GRADIENT, CONVOLUTION],
    ids=["matmul", "attention", "gradient", "convolution"],
)
def test_registers_add_up(text: str, tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """Groups of warps that ask for more registers than the launch has wait without end."""
    for made in assembly(text, "sm_90a", tmp_path, program_cache, workers).values():
        given = re.search(r"setmaxnreg.dec.sync.aligned.u32 (\d+)", made)
        taken = re.search(r"setmaxnreg.inc.sync.aligned.u32 (\d+)", made)
        threads = re.search(r"\.maxntid (\d+)", made)
        if given and taken and threads:
            groups = int(threads[1]) // 128
            together = re.search(r"\.minnctapersm (\d+)", made)
            at_launch = 65536 // int(threads[1]) // int(together[1] if together else 1) // 8 * 8
            assert int(given[1]) + (groups - 1) * int(taken[1]) <= groups * at_launch


def test_gradients_of_attention(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """On sm_90a five products of a tile, and sums of 16 bytes; other targets assemble too."""
    made = assembly(GRADIENT, "sm_90a", tmp_path, program_cache, workers)
    (found,) = (text for text in made.values() if "wgmma" in text)
    assert "red.relaxed.gpu.global.add.v4.f32" in found and "fence.proxy.async.shared::cta" in found
    assert all("s_endpgm" in text for text in assembly(GRADIENT, "gfx942", tmp_path, program_cache, workers).values())


def test_convolutions_without_patches(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """On sm_90a boxes of four dimensions come by the accelerator; CDNA multiplies patches by its own instructions."""
    made = assembly(CONVOLUTION, "sm_90a", tmp_path, program_cache, workers)
    found = [text for name, text in made.items() if name.startswith("convolution_kernel")]
    assert found and all("cp.async.bulk.tensor.4d" in text and "wgmma" in text for text in found)
    made = assembly(CONVOLUTION, "gfx942", tmp_path, program_cache, workers)
    assert any("v_mfma_f32_16x16x16_bf16" in text for text in made.values())


SCAN = """
from algorithm.device import cumsum
from gpu.host import DeviceContext


def main():
    var ctx = DeviceContext()
    var numbers = ctx.enqueue_create_buffer[DType.int32](20000)
    cumsum(numbers, numbers, ctx)
"""


def test_scans_exchange_in_all_lanes(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """No shuffle of all lanes stands where some have jumped over it: an H200 waited for them without end."""
    made = assembly(SCAN, "sm_90", tmp_path, program_cache, workers)
    for text in made.values():
        assert "shfl.sync.down" in text
        blocks = re.split(r"^\$L\w+:", text, flags=re.MULTILINE)
        for block in blocks:
            # a block that begins behind a conditional jump and has nothing but a shuffle
            assert not re.search(r"@%p\d+ bra[^\n]*\n\s*shfl.sync.down", block)


LONG_ROWS = """
from gpu.host import DeviceContext
from layout import Layout, LayoutTensor
from nn.normalization import rms_norm


def main():
    var ctx = DeviceContext()
    var numbers = ctx.enqueue_create_buffer[DType.bfloat16](2 * 32768)
    var weights = ctx.enqueue_create_buffer[DType.bfloat16](32768)
    var rows = LayoutTensor[DType.bfloat16, Layout.row_major(2, 32768)](numbers)
    rms_norm(rows, rows, LayoutTensor[DType.bfloat16, Layout.row_major(32768)](weights), 1e-6, ctx)
"""


def test_weights_of_long_rows_stay_in_the_cache(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """A row of 64 KiB would displace the weights, which each block of a multiprocessor reads."""
    made = assembly(LONG_ROWS, "sm_90a", tmp_path, program_cache, workers)
    (text,) = [text for text in made.values() if "L1::evict_last" in text]
    assert len(re.findall(r"ld\.global\.L1::no_allocate\.v4", text)) == 8
    assert len(re.findall(r"ld\.global\.nc\.L1::evict_last\.v4", text)) == 8


def test_tile_tensors_give_the_same(tmp_path: Path, program_cache: Path) -> None:
    """Each operation takes tile tensors, from edition 2026, and gives what it gives on layout tensors."""
    done = run_ktc(["run", "-O0", str(TESTS / "kernel_library" / "tile_tensors.mojo")], program_cache, tmp_path)
    lines = done.stdout.splitlines()
    assert len(lines) == 19, done.stderr
    assert [line for line in lines if not line.endswith(" True True")] == []
