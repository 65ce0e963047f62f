"""Every program with kernels, as SPIR-V on Intel's OpenCL runtime and on the stand-ins for AMD's runtime and Metal.

One executable holds the code of all of them. It must give on each what it gives on the CPU device.
"""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from _pytest.mark import ParameterSet

from opencl import environment, library_folder, modules
from programs import TESTS, Program, check, programs
from runtimes import HIP_SOURCES, METAL_SOURCES, built, faults, library, ran

TARGETS = MappingProxyType({"opencl": "spirv", "hip": "gfx1100", "metal": "apple-m4"})

REFUSED: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "opencl": {
        "tests/run/kernel_clock": "OpenCL has no clock",
        "tests/gpu/matrices": "OpenCL has no matrix instructions without an extension",
        "tests/gpu/printing": "OpenCL does not tell which multiprocessor runs a block",
        "tests/gpu/recursion": "SPIR-V for OpenCL has no recursion",
        "examples/matmul_ladder": "OpenCL has no matrix instructions without an extension",
    },
    "hip": {
        "examples/matmul_ladder": "TensorCore is for CDNA",
    },
    "metal": {
        "tests/gpu/exchange": "Metal has no fences",
        "tests/gpu/kernels": "Metal has no float64",
        "tests/gpu/mathematics": "Metal has no float64",
        "tests/run/block_atomics": "Metal has no fences",
        "tests/run/block_threads": "Metal has no float64",
        "tests/run/copied_captures": "Metal has no fences",
        "tests/run/device_algorithms": "Metal adds no int64 atomically",
        "tests/run/kernel_arrays": "Metal has no float64",
        "tests/run/kernel_clock": "Metal has no clock",
        "tests/run/linalg_matmul": "Metal has no float64",
        "tests/run/ported_names": "Metal has no fences",
        "tests/run/wide_division": "Metal has no int128",
        "examples/extension": "Metal has no float64",
        "examples/kernel_library": "Metal adds no int64 atomically",
        "examples/kmeans": "Metal adds no int64 atomically",
        "examples/lu": "Metal has no float64",
        "examples/matmul_ladder": "TensorCore is not for Metal",
        "examples/pi": "Metal adds no int64 atomically",
    },
})  # fmt: skip
"""Programs that an API's target refuses, and why."""

NOT_RUN: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "opencl": {
        "tests/run/block_threads": "threads of a block come to different barriers, which OpenCL does not define",
        "tests/run/device_graphs": "OpenCL has no graphs without an extension",
        "tests/run/gpu_host": "OpenCL has no launch attributes",
        "tests/run/divergent_loops": "threads leave loops with barriers at different turns, which is undefined there",
        "tests/run/nn_rows": "Intel's compiler crashes on one of its kernels",
        "tests/gpu/exchange": "its kernels wait for other blocks, which the runtime may run one after the other",
        "tests/gpu/partial_warps": "lanes of a warp wait at different barriers, which sub-groups need not",
    },
    "hip": {
        "tests/run/gpu_host": "it uses launch attributes of NVIDIA's",
        "tests/gpu/exchange": "it wants 100,000 bytes of shared memory",
        "tests/gpu/printing": "kernels do not print on AMD's GPUs",
    },
    "metal": {
        "tests/run/gpu_host": "it uses launch attributes of NVIDIA's",
        "tests/run/device_graphs": "Metal has no graphs",
        "tests/gpu/printing": "kernels do not print on Apple's GPUs",
    },
})  # fmt: skip
"""Programs that are compiled for an API and not run, and why."""

OTHER_KERNELS = frozenset({
    "tests/run/device_algorithms",
    "tests/run/linalg_grouped", "tests/run/linalg_matmul", "tests/run/nn_convolution", "tests/run/nn_decoding",
    "examples/kernel_library",
})  # fmt: skip
"""Programs whose kernels for the processor go with other launches than those for GPUs: no stand-in can run them."""

WITHOUT_LAUNCHES = frozenset({"tests/stdlib/mixed_layouts"})

LONG = frozenset({
    "tests/gpu/mathematics", "tests/gpu/private_memory", "tests/run/device_algorithms", "tests/run/linalg_grouped",
    "tests/run/linalg_matmul", "tests/run/nn_attention", "tests/run/nn_attention_backward",
    "tests/run/nn_convolution", "tests/run/nn_decoding", "tests/run/nn_images", "tests/run/nn_small",
    "examples/kernel_library",
})  # fmt: skip
"""Programs for which Intel's compiler takes more than five seconds: `make devices` runs them."""


def launching() -> list[ParameterSet]:
    """Return the programs with kernels that are meant for every device."""
    found = [Program(path, path.with_suffix("")) for path in sorted((TESTS / "gpu").glob("*.kpy"))]
    found += [one for one in programs() if "DeviceContext" in one.source.read_text("utf-8")]
    return [
        pytest.param(one, id=one.name.removeprefix("tests/"), marks=[pytest.mark.wide] if one.name in LONG else [])
        for one in found
        if one.name not in WITHOUT_LAUNCHES and not one.source.read_text("utf-8").startswith("# targets:")
    ]


@pytest.fixture(scope="session")
def runtimes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The stand-ins, by API."""
    hip = library(tmp_path_factory.mktemp("hip"), "libamdhip64.so.6", HIP_SOURCES)
    metal = library(tmp_path_factory.mktemp("metal"), "Metal.framework.so", METAL_SOURCES)
    metal.with_name("libobjc.A.dylib").symlink_to(metal)
    return {"hip": hip, "metal": metal}


@pytest.mark.parametrize("program", launching())
def test_program(program: Program, runtimes: Mapping[str, Path], program_cache: Path, tmp_path: Path) -> None:
    """It gives what it gives on the CPU device, does nothing that a runtime forbids, and its SPIR-V is valid."""
    apis = [api for api in TARGETS if program.name not in REFUSED[api]]
    targets = ",".join([*[TARGETS[api] for api in apis], "cpu"])
    made = built(program.source, program_cache, tmp_path, program.words("flags"), targets)
    if "opencl" in apis:
        validate(made)
    for api in apis:
        if program.name in NOT_RUN[api] or (api != "opencl" and program.name in OTHER_KERNELS):
            continue
        if api == "opencl":
            if library_folder() is not None:
                check(program, on_opencl(program, made))
            continue
        done, notes = ran(made, runtimes[api], program.words("args"), program.read("in") or "", KTC_DEVICE=api)
        assert not faults(notes), api
        assert any(line.startswith(("launch", "dispatch")) for line in notes), api
        check(program, done)


def validate(program: Path) -> None:
    """Have spirv-val read every module of an executable, where it is installed."""
    found = modules(program.read_bytes())
    assert found
    if shutil.which("spirv-val") is None:
        return
    for module in found:
        done = subprocess.run(["spirv-val", "-"], input=module, capture_output=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()


def on_opencl(program: Program, made: Path) -> subprocess.CompletedProcess[str]:
    """Run an executable on Intel's runtime."""
    return subprocess.run(
        [str(made), *program.words("args")], env=environment(made.parent), cwd=made.parent,
        input=program.read("in") or "", capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("api", "name"), [(api, name) for api, names in REFUSED.items() for name in names if name not in LONG]
)
def test_what_a_target_refuses(api: str, name: str, program_cache: Path, tmp_path: Path) -> None:
    """The error says what the target lacks."""
    with pytest.raises(AssertionError, match=r"error\[(unsatisfied-constraint|unsupported-on-target)\]"):
        built((TESTS.parent / name).with_suffix(".kpy"), program_cache, tmp_path, (), TARGETS[api])
