"""SPIR-V: every module is valid, and programs give on an OpenCL device what they give on the CPU device."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from opencl import environment, library_folder, modules
from programs import ROOT, TESTS, Program, check, programs, run_ktc

LEFT_OUT = {
    "tests/run/block_threads": "threads of a block come to different barriers, which OpenCL does not define",
    "tests/run/device_graphs": "OpenCL has no graphs without an extension",
    "tests/run/divergent_loops": "threads leave loops with barriers at different turns, which is undefined there",
    "tests/run/gpu_host": "OpenCL has no launch attributes",
    "tests/run/kernel_clock": "OpenCL has no clock",
    "tests/run/nn_rows": "Intel's compiler crashes on one of its kernels",
    "tests/gpu/first_threads": "its warps lie in several rows of a block; sub-groups of OpenCL need not",
    "tests/gpu/exchange": "its kernels wait for other blocks, which the runtime may run one after the other",
    "tests/gpu/matrices": "OpenCL has no matrix instructions without an extension",
    "tests/gpu/partial_warps": "lanes of a warp wait at different barriers, which sub-groups need not",
    "tests/gpu/printing": "OpenCL does not tell which multiprocessor runs a block",
    "tests/gpu/recursion": "SPIR-V for OpenCL has no recursion",
    "examples/matmul_ladder": "OpenCL has no matrix instructions without an extension",
}
"""Programs that do not run through OpenCL, and why."""

REFUSED = frozenset({
    "tests/run/gpu_host", "tests/run/kernel_clock", "tests/gpu/matrices", "tests/gpu/printing", "tests/gpu/recursion",
    "examples/matmul_ladder",
})  # fmt: skip
"""Those of them that do not compile."""

LONG = frozenset({
    "tests/gpu/mathematics", "tests/gpu/private_memory", "tests/run/device_algorithms", "tests/run/linalg_grouped",
    "tests/run/linalg_matmul", "tests/run/nn_attention", "tests/run/nn_attention_backward",
    "tests/run/nn_convolution", "tests/run/nn_decoding", "tests/run/nn_images", "tests/run/nn_small",
    "examples/kernel_library",
})  # fmt: skip
"""Programs for which Intel's compiler takes more than five seconds: `pytest -m wide` runs them."""


def launching() -> list[Program]:
    """Return the programs with kernels that are meant for every device."""
    found = [Program(path, path.with_suffix("")) for path in sorted((TESTS / "gpu").glob("*.kpy"))]
    found += [
        one for one in programs() if "DeviceContext" in one.source.read_text("utf-8") and "stdlib" not in one.name
    ]
    return [one for one in found if one.name not in LEFT_OUT and not one.source.read_text().startswith("# targets:")]


def marked(one: Program) -> ParameterSet:
    return pytest.param(one, id=one.source.stem, marks=[pytest.mark.wide] if one.name in LONG else [])


needs_runtime = pytest.mark.skipif(
    library_folder() is None, reason="Intel's OpenCL runtime is not installed (pip install '.[test]')"
)
needs_validator = pytest.mark.skipif(shutil.which("spirv-val") is None, reason="spirv-val is not installed")

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


def run(
    source: Path, words: Sequence[str], cache: Path, folder: Path, arguments: Sequence[str] = (), given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Build a program for `spirv` and run it on Intel's runtime."""
    made = run_ktc(["build", "--target-accelerator", "spirv", *words, "-o", "program", str(source)], cache, folder)
    assert made.returncode == 0, made.stderr
    validate(folder / "program")
    command = [str(folder / "program"), *arguments]
    return subprocess.run(
        command,
        env=environment(folder),
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


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


@needs_validator
@pytest.mark.parametrize("name", [name for name in LEFT_OUT if name not in REFUSED])
def test_modules_are_valid(name: str, program_cache: Path, tmp_path: Path) -> None:
    """Those of programs that are not run; `test_program` checks those of the others."""
    source = ROOT / f"{name}.kpy"
    made = run_ktc(["build", "--target-accelerator", "spirv", "-o", "program", str(source)], program_cache, tmp_path)
    assert made.returncode == 0, made.stderr
    validate(tmp_path / "program")


def validate(program: Path) -> None:
    """Have spirv-val read every module of an executable, where it is installed."""
    found = modules(program.read_bytes())
    assert found
    if shutil.which("spirv-val") is None:
        return
    for module in found:
        done = subprocess.run(["spirv-val", "-"], input=module, capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()


@needs_runtime
@pytest.mark.parametrize("program", [marked(one) for one in launching()])
def test_program(program: Program, program_cache: Path, tmp_path: Path) -> None:
    """It gives what it gives on the CPU device."""
    arguments, given = program.words("args"), program.read("in") or ""
    check(program, run(program.source, program.words("flags"), program_cache, tmp_path, arguments, given))


@needs_runtime
def test_shared_memory_and_barriers(program_cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "adding.kpy"
    source.write_text(ADDING)
    done = run(source, (), program_cache, tmp_path)
    assert done.stdout == "2016.0 6112.0 3047.0\nopencl spirv\n", done.stderr


@needs_runtime
def test_prints_and_failures(program_cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "printing.kpy"
    source.write_text(PRINTING)
    done = run(source, (), program_cache, tmp_path)
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
