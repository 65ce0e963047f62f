"""SPIR-V and OpenCL; test_devices.py has whole programs."""

import subprocess
from pathlib import Path

import pytest

from opencl import environment, library_folder
from programs import ROOT, TESTS, run_ktc

needs_runtime = pytest.mark.skipif(
    library_folder() is None, reason="Intel's OpenCL runtime is not installed (pip install '.[test]')"
)
ADDING = """
from gpu import barrier, block_dim, block_idx, thread_idx
from gpu.host import DeviceContext
from gpu.memory import AddressSpace
from memory import stack_allocation

alias BLOCK = 64


fn sums(values: UnsafePointer[Float32, MutAnyOrigin], totals: UnsafePointer[Float32, MutAnyOrigin], count: Int):
    var held = stack_allocation[BLOCK, Float32, address_space = AddressSpace.SHARED]()
    var thread = Int(thread_idx.x)
    var at = Int(block_idx.x * block_dim.x) + thread
    held[thread] = values[at] if at < count else 0
    barrier()
    var half = BLOCK // 2
    while half > 0:
        if thread < half:
            held[thread] += held[thread + half]
        barrier()
        half //= 2
    if thread == 0:
        totals[Int(block_idx.x)] = held[0]


def main():
    with DeviceContext() as ctx:
        var values = ctx.enqueue_create_buffer[DType.float32](150)
        var totals = ctx.enqueue_create_buffer[DType.float32](3)
        with values.map_to_host() as host:
            for i in range(150):
                host[i] = Float32(i)
        ctx.enqueue_function_checked[sums, sums](values, totals, 150, grid_dim=3, block_dim=BLOCK)
        with totals.map_to_host() as host:
            print(host[0], host[1], host[2])
        print(ctx.api(), ctx.arch_name())
"""

PRINTING = """
from gpu import thread_idx
from gpu.host import DeviceContext


fn greets(limit: Int):
    if thread_idx.x == 1:
        print("thread", thread_idx.x, "of", limit)
    debug_assert[assert_mode="safe"](Int(thread_idx.x) < limit, "there are ", limit)


def main():
    var ctx = DeviceContext()
    ctx.enqueue_function_checked[greets, greets](2, grid_dim=1, block_dim=2)
    ctx.synchronize()
    ctx.enqueue_function_checked[greets, greets](1, grid_dim=1, block_dim=2)
    ctx.synchronize()
"""


def run(source: Path, cache: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build a program for `spirv` and run it on Intel's runtime."""
    made = run_ktc(["build", "--target-accelerator", "spirv", "-o", "program", str(source)], cache, folder)
    assert made.returncode == 0, made.stderr
    return subprocess.run(
        [str(folder / "program")], env=environment(folder), cwd=folder, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip


def emitted(source: Path, kind: str, cache: Path, folder: Path) -> Path:
    done = run_ktc(
        ["emit", "--kind", kind, "--target-accelerator", "spirv", "-o", f"out.{kind}", str(source)], cache, folder
    )
    assert done.returncode == 0, done.stderr
    return folder / f"out.{kind}"


def test_disassembly(program_cache: Path, tmp_path: Path) -> None:
    text = emitted(ROOT / "examples" / "vector_addition.kpy", "asm", program_cache, tmp_path).read_text()
    assert "OpMemoryModel Physical64 OpenCL" in text
    assert "OpEntryPoint Kernel" in text and "SubgroupSize 32" in text
    assert text.count("OpPtrAccessChain") == 3  # addresses in global memory, not generic ones
    assert "CrossWorkgroup" in text and "Generic" not in text


@needs_runtime
def test_shared_memory_and_barriers(program_cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "adding.kpy"
    source.write_text(ADDING)
    done = run(source, program_cache, tmp_path)
    assert done.stdout == "2016.0 6112.0 3047.0\nopencl spirv\n", done.stderr


@pytest.mark.thorough
@needs_runtime
def test_prints_and_failures(program_cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "printing.kpy"
    source.write_text(PRINTING)
    done = run(source, program_cache, tmp_path)
    first, *rest = done.stdout.splitlines()
    assert first == "thread 1 of 2"
    assert rest[0] == "thread 1 of 1" and len(rest) == 2
    assert rest[1].endswith("block: [0,0,0] thread: [1,0,0] Assert Error: there are 1")
    assert done.returncode == 1 and "a kernel ended itself" in done.stderr


def test_without_opencl(program_cache: Path, tmp_path: Path) -> None:
    """The error says what is missing."""
    source = ROOT / "examples" / "vector_addition.kpy"
    made = run_ktc(["build", "--target-accelerator", "spirv", "-o", "program", str(source)], program_cache, tmp_path)
    assert made.returncode == 0, made.stderr
    nothing = {"PATH": "/usr/bin:/bin", "OCL_ICD_VENDORS": str(tmp_path), "OCL_ICD_FILENAMES": ""}
    done = subprocess.run(
        [str(tmp_path / "program")], env=nothing, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "no GPU found for this program (built for spirv): " in done.stderr


NARROW = """
from gpu import thread_idx
from gpu.host import DeviceContext
from os import Atomic


fn kernel(p: UnsafePointer[Scalar[DType.uint16], MutAnyOrigin]):
    _ = Atomic[DType.uint16].fetch_add(p, 1)


def main():
    var ctx = DeviceContext()
    var b = ctx.enqueue_create_buffer[DType.uint16](1)
    ctx.enqueue_function_checked[kernel, kernel](b, grid_dim=1, block_dim=2)
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "recursion",
            "16:4: error[unsupported-on-target]: spirv has no recursion, and functions of 'k' call themselves",
        ),
        (
            "narrow",
            "7:4: error[unsupported-on-target]: spirv changes no numbers of 8 or 16 bits atomically, as 'kernel' does",
        ),
    ],
)
def test_what_opencl_cannot_do(name: str, message: str, program_cache: Path, tmp_path: Path) -> None:
    source = TESTS / "gpu" / "recursion.kpy" if name == "recursion" else tmp_path / f"{name}.kpy"
    if name == "narrow":
        source.write_text(NARROW)
    done = run_ktc(["build", "--target-accelerator", "spirv", str(source)], program_cache, tmp_path)
    assert done.returncode == 1
    assert message in done.stderr
