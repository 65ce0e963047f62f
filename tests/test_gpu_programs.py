"""Programs of what some GPUs have: kernels are compiled and assembled for every target that the program's first line
names (`# targets: sm_90`). On a machine with a GPU they run as well, those of tests/gpu without such a line too;
tests/test_devices.py compiles those for GPUs in turn, `make kernels` all programs for all."""

import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ktc.base.cache import Cache
from ktc.codegen.module import LlvmModule
from ktc.emit.device import images
from ktc.emit.workers import Workers

from cpu_threads import difference
from kernels import device_modules, on_the_processor, tried, wanted
from programs import TESTS, Program, check, launching, run_ktc, shortened
from random_kernels import random_kernels

PROGRAMS = [Program(path, path.with_suffix("")) for path in sorted((TESTS / "gpu").glob("*.kpy"))]
EVERYWHERE = frozenset(one.name for one in launching())
SOME = [one for one in PROGRAMS if one.name not in EVERYWHERE]


def lowered(text: str, targets: list[str], folder: Path, cache: Cache) -> dict[str, tuple[LlvmModule, ...]]:
    """Return by target the kernels of a program that is given as text."""
    source = folder / "program.kpy"
    source.write_text(text, "utf-8")
    return device_modules(source, targets, cache)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(2) as running:
        yield running


@pytest.mark.parametrize("program", shortened(SOME), ids=lambda program: program.source.stem)
def test_kernels_assemble(program: Program, program_cache: Path, workers: Workers) -> None:
    """Each target's kernels become ELF files; without ptxas NVIDIA's stay text."""
    targets = wanted(program.source)
    found = tried(program.source, targets, Cache(program_cache), workers)
    assert sorted(found) == sorted(targets)
    assert all(isinstance(count, int) and count for count in found.values()), found


@functools.cache
def local_gpus(cache: Path) -> frozenset[str]:
    """Return the targets of this machine's GPUs. A process that has started CUDA cannot fork one that uses it."""
    ask = (
        "from pathlib import Path; from ktc import config; from ktc.base.cache import Cache; "
        f"print(*config.local_gpus(Cache(Path({str(cache)!r}))))"
    )
    return frozenset(
        subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True).stdout.split()
    )


@pytest.mark.device
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.source.stem)
def test_program(program: Program, program_cache: Path, tmp_path: Path) -> None:
    """What names its targets is compiled for the one that is here alone."""
    here = {name.rstrip("a") for name in local_gpus(program_cache)}
    named = wanted(program.source, ())
    fitting = [name for name in named if name.rstrip("a") in here]
    if named and not fitting:
        pytest.skip(f"it is for {', '.join(named)}")
    words = ["--target-accelerator", fitting[0]] if fitting else []
    check(program, run_ktc(["run", *words, str(program.source)], program_cache, tmp_path))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "program",
    [one for one in SOME if on_the_processor(one.source)],
    ids=lambda program: program.source.stem,
)
def test_program_on_the_processor(program: Program, program_cache: Path, tmp_path: Path) -> None:
    """The CPU device gives what GPUs give."""
    words = ["run", "--target-accelerator", "cpu", *program.words("cpu")]
    check(program, run_ktc([*words, str(program.source)], program_cache, tmp_path))


COROUTINES = [
    ("gpu/exchange", "-O3"), ("gpu/shared_structs", "-O3"), ("run/block_threads", "-O3"), ("run/block_atomics", "-O0"),
]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "level"), COROUTINES, ids=[name for name, _ in COROUTINES])
def test_threads_as_coroutines(name: str, level: str, program_cache: Path, tmp_path: Path) -> None:
    """What loops over threads give, coroutines give too; the tests above and of tests/run run loops."""
    source = TESTS / f"{name}.kpy"
    options = ["--target-accelerator", "cpu", "--cpu-threads", "coroutines", level]
    done = run_ktc(["run", *options, str(source)], program_cache, tmp_path)
    check(Program(source, source.with_suffix("")), done)


@pytest.mark.thorough
def test_random_threads_both_ways(program_cache: Path, tmp_path: Path) -> None:
    """`make cpu-threads` compares many more, and all programs that start kernels."""
    source = tmp_path / "random.kpy"
    source.write_text(random_kernels(7, 5), "utf-8")
    assert not difference(source, program_cache, tmp_path)


def test_launch_bounds(program_cache: Path) -> None:
    """`@__llvm_metadata` bounds the threads of a kernel's block, for each vendor in its own words."""
    found = device_modules(TESTS / "run" / "launch_bounds.kpy", ["sm_90", "gfx942"], Cache(program_cache))
    for name, word in {"sm_90": '"nvvm.maxntid"="{}"', "gfx942": '"amdgpu-flat-work-group-size"="1,{}"'}.items():
        for kernel, most in zip(found[name], (256, 128), strict=True):
            assert word.format(most) in kernel.text
    assert '"nvvm.minctasm"="2"' in found["sm_90"][1].text and "minctasm" not in found["gfx942"][1].text


READING = """
from gpu import thread_idx
from gpu.host import DeviceContext
from gpu.memory import AddressSpace
from layout import Layout, LayoutTensor

alias row = Layout.row_major(64)


fn kernel[mut: Bool, //, origin: Origin[mut]](
    made: LayoutTensor[DType.float32, row, MutAnyOrigin], source: LayoutTensor[DType.float32, row, origin]
):
    var shared = LayoutTensor[
        DType.float32, row, MutAnyOrigin, address_space = AddressSpace.SHARED
    ].stack_allocation()
    shared[thread_idx.x] = source[thread_idx.x]
    made[thread_idx.x] = shared.get_immutable()[thread_idx.x] + source.load[2](Int(thread_idx.x), 0)[1]


def main():
    with DeviceContext() as ctx:
        var a = ctx.enqueue_create_buffer[DType.float32](64)
        var made = LayoutTensor[DType.float32, row, MutAnyOrigin](a)
        var read = LayoutTensor[DType.float32, row, ImmutAnyOrigin](a)
        alias reading = kernel[ImmutAnyOrigin]
        alias writing = kernel[MutAnyOrigin]
        ctx.enqueue_function_checked[reading, reading](made, read, grid_dim=1, block_dim=32)
        ctx.enqueue_function_checked[writing, writing](made, made, grid_dim=1, block_dim=32)
"""


def test_immutable_tensors_are_invariant(tmp_path: Path, program_cache: Path) -> None:
    """Loads of what an immutable tensor in global memory shows may go where they are best; no others."""
    found = lowered(READING, ["sm_90"], tmp_path, Cache(program_cache))["sm_90"]
    assert sorted(one.text.count("!invariant.load") for one in found) == [0, 2]


VENDORS = """
from gpu import thread_idx
from gpu.cluster import cluster_sync
from gpu.host import DeviceContext
from sys import has_nvidia_gpu_accelerator


fn clustered(p: UnsafePointer[Float32, MutAnyOrigin]):
    cluster_sync()
    p[thread_idx.x] = 1


fn plain(p: UnsafePointer[Float32, MutAnyOrigin]):
    p[thread_idx.x] = 2


def main():
    var ctx = DeviceContext()
    var b = ctx.enqueue_create_buffer[DType.float32](32)
    ctx.enqueue_function_checked[plain, plain](b, grid_dim=1, block_dim=32)

    @parameter
    if has_nvidia_gpu_accelerator():
        var f = ctx.compile_function_checked[clustered, clustered]()
        ctx.enqueue_function_checked(f, b, grid_dim=1, block_dim=32)
"""


@pytest.mark.parametrize(("targets", "counts"), [("sm_90 gfx942", (2, 1)), ("gfx942 sm_90", (1, 2)), ("gfx942", (1,))])
def test_kernels_for_one_vendor_are_compiled_for_it_alone(
    targets: str, counts: tuple[int, ...], tmp_path: Path, program_cache: Path
) -> None:
    source = tmp_path / "vendors.kpy"
    source.write_text(VENDORS, "utf-8")
    found = device_modules(source, targets.split(), Cache(program_cache))
    assert tuple([len(found[target]) for target in targets.split()]) == counts


SHARED = """
from gpu import barrier, thread_idx
from gpu.host import DeviceContext
from memory import stack_allocation


fn kernel(p: UnsafePointer[Float32, MutAnyOrigin]):
    var held = stack_allocation[32, Float32, address_space = AddressSpace.SHARED]()
    held[thread_idx.x] = p[thread_idx.x]
    held[thread_idx.x] += 1
    barrier()
    p[thread_idx.x] = held[31 - thread_idx.x]


def main():
    var ctx = DeviceContext()
    var b = ctx.enqueue_create_buffer[DType.float32](32)
    ctx.enqueue_function_checked[kernel, kernel](b, grid_dim=1, block_dim=32)
"""


def test_shared_memory_is_changed_in_place(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """A number in shared memory is an argument that is changed; Apple's barrier is a function, no intrinsic."""
    found = lowered(SHARED, ["sm_90", "gfx942", "apple-m2"], tmp_path, Cache(program_cache))
    for modules in found.values():
        assert images(modules, {one.kernel: {"asm"} for one in modules}, 3, workers=workers)


INDICES = """
from gpu import thread_idx
from gpu.host import DeviceContext


fn kernel(p: UnsafePointer[Float32, MutAnyOrigin]):
    var t = Int(thread_idx.x)
    p[t // 8 % 4] = 1


def main():
    var ctx = DeviceContext()
    var b = ctx.enqueue_create_buffer[DType.float32](32)
    ctx.enqueue_function_checked[kernel, kernel](b, grid_dim=1, block_dim=32)
"""


def test_divisions_of_indices_round_no_further(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """Of the index of a thread, which is not negative, the quotient rounded down is some of its bits."""
    modules = lowered(INDICES, ["sm_90"], tmp_path, Cache(program_cache))["sm_90"]
    kernel = modules[0].kernel
    text = images(modules, {kernel: {"asm"}}, 3, workers=workers)[kernel].data["asm"].decode()
    assert "bfe.u32" in text and "selp" not in text


LANES = """
import gpu.warp as warp
from gpu import thread_idx
from gpu.host import DeviceContext


fn kernel(p: UnsafePointer[Float32, MutAnyOrigin], q: UnsafePointer[UInt32, MutAnyOrigin]):
    var t = thread_idx.x
    q[t] = warp.vote[DType.uint32](p[t] > 0)
    p[t] = warp.sum(p[t]) + warp.shuffle_up(p[t], 1)


def main():
    var ctx = DeviceContext()
    var b = ctx.enqueue_create_buffer[DType.float32](32)
    var q = ctx.enqueue_create_buffer[DType.uint32](32)
    ctx.enqueue_function_checked[kernel, kernel](b, q, grid_dim=1, block_dim=32)
"""


def test_apples_lanes_are_functions(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """What the lanes of a warp exchange are calls that nothing may move to where fewer lanes run."""
    modules = lowered(LANES, ["apple-m4"], tmp_path, Cache(program_cache))["apple-m4"]
    kernel = modules[0].kernel
    text = images(modules, {kernel: {"asm"}}, 3, workers=workers)[kernel].data["asm"].decode()
    assert text.count("call i32 @air.simd_shuffle.u.i32(") == 6 and text.count("call i64 @air.simd_ballot.i64(") == 1
    assert re.search(
        r"declare i32 @air.simd_shuffle.u.i32\(i32, i16\).* #(\d+)\n(?s:.*)attributes #\1 = { convergent", text
    )


ROUNDING = """
from gpu import thread_idx
from gpu.host import DeviceContext


alias Bytes = UnsafePointer[UInt8, MutAnyOrigin]


fn kernel(p: UnsafePointer[Float32, MutAnyOrigin], q: UnsafePointer[Int32, MutAnyOrigin], r: Bytes):
    var t = thread_idx.x
    q[t] = p[t].cast[DType.int32]()
    r[t] = p[t].cast[DType.uint8]()


def main():
    var ctx = DeviceContext()
    var p = ctx.enqueue_create_buffer[DType.float32](32)
    var q = ctx.enqueue_create_buffer[DType.int32](32)
    var r = ctx.enqueue_create_buffer[DType.uint8](32)
    ctx.enqueue_function_checked[kernel, kernel](p, q, r, grid_dim=1, block_dim=32)
"""


def test_casts_to_whole_numbers_saturate_by_themselves(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """NVIDIA's instruction gives the nearest number and 0 for a nan: nothing is compared."""
    modules = lowered(ROUNDING, ["sm_80"], tmp_path, Cache(program_cache))["sm_80"]
    kernel = modules[0].kernel
    text = images(modules, {kernel: {"asm"}}, 3, workers=workers)[kernel].data["asm"].decode()
    assert "cvt.rzi.s32.f32" in text and "setp" not in text and "selp" not in text
