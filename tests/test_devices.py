"""Every program with kernels: on the CPU device, on Intel's OpenCL runtime, and on the stand-ins for AMD's runtime and
Metal. One executable holds the code of all of them, and that of one of NVIDIA's GPUs, which is assembled.

NVIDIA's GPUs take turns from program to program, and every third program is assembled for AMD's CDNA. The programs of
tests/gpu run on all devices; of the others every third one runs here, and the interfaces take turns from one to the
next. `make devices` runs all programs on all devices, and `make kernels` compiles them for six GPUs.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from _pytest.mark import ParameterSet
from ktc.base.cache import Cache
from ktc.emit.workers import Workers

from kernels import tried
from opencl import environment, library_folder, modules
from programs import GPU_ONLY, SECONDS, TESTS, Program, check, launching
from runtimes import HIP_SOURCES, METAL_SOURCES, built, faults, library, ran

TARGETS = MappingProxyType({"opencl": "spirv", "hip": "gfx1100", "metal": "apple-m4"})
NVIDIA, AMD = ("sm_75", "sm_80", "sm_90", "sm_120"), "gfx942"

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
        "tests/run/edition2026/primitives": "Metal has no fences",
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
        "tests/run/edition2026/device_host": "the stand-in has no default stream",
        "tests/gpu/printing": "AMD's GPUs do not tell which multiprocessor runs a block",
    },
    "metal": {
        "tests/run/gpu_host": "it uses launch attributes of NVIDIA's",
        "tests/run/device_graphs": "Metal has no graphs",
        "tests/run/edition2026/device_host": "Metal has no copies between streams of two contexts",
        "tests/gpu/printing": "kernels do not print on Apple's GPUs",
    },
})  # fmt: skip
"""Programs that are compiled for an API and not run, and why."""

OTHER_KERNELS = frozenset({
    "tests/run/device_algorithms", "tests/run/edition2026/library_kernels",
    "tests/run/linalg_grouped", "tests/run/linalg_matmul", "tests/run/nn_convolution", "tests/run/nn_decoding",
    "examples/kernel_library",
})  # fmt: skip
"""Programs whose kernels for the processor go with other launches than those for GPUs: no stand-in can run them."""

LONG = frozenset({
    "tests/gpu/mathematics", "tests/gpu/private_memory", "tests/run/device_algorithms", "tests/run/linalg_grouped",
    "tests/run/linalg_matmul", "tests/run/nn_attention", "tests/run/nn_attention_backward",
    "tests/run/nn_convolution", "tests/run/nn_decoding", "tests/run/nn_images", "tests/run/nn_small",
    "examples/kernel_library",
})  # fmt: skip
"""Programs for which Intel's compiler takes more than five seconds: `make devices` runs them."""


NUMBERED = list(enumerate(launching()))


def accepted(program: Program) -> list[str]:
    """Return the interfaces whose targets compile a program."""
    return [api for api in TARGETS if program.name not in REFUSED[api]]


def in_turn(number: int, program: Program) -> list[str]:
    """Return the interfaces of a program in `make test-all`: all for one of tests/gpu, else one or none."""
    apis = accepted(program)
    if for_devices(program):
        return apis
    return apis[number // 3 % len(apis) :][:1] if apis and is_run(number, program) else []


def is_run(number: int, program: Program) -> bool:
    """Return whether `make test-all` runs a program on devices: all of tests/gpu, and every third one of the others."""
    return for_devices(program) or number % 3 == 0


def for_devices(program: Program) -> bool:
    return program.name.startswith("tests/gpu/")


def listed(numbered: list[tuple[int, Program]], every: bool = True) -> list[ParameterSet]:
    """Return the parameters of a test; with `every=False`, `make test` takes one program of three."""
    return [
        pytest.param(
            number, one, id=one.name.removeprefix("tests/"), marks=[] if every or not n % 3 else [pytest.mark.thorough]
        )
        for n, (number, one) in enumerate(numbered)
    ]


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(2) as running:
        yield running


@pytest.fixture(scope="session")
def runtimes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The stand-ins, by API; none where there is no C compiler."""
    if shutil.which("cc") is None:
        return {}
    hip = library(tmp_path_factory.mktemp("hip"), "libamdhip64.so.6", HIP_SOURCES)
    metal = library(tmp_path_factory.mktemp("metal"), "Metal.framework.so", METAL_SOURCES)
    metal.with_name("libobjc.A.dylib").symlink_to(metal)
    return {"hip": hip, "metal": metal}


@pytest.mark.parametrize(
    ("number", "program"),
    listed([one for one in NUMBERED if one[1].name not in LONG and is_run(*one)], every=False),
)
def test_program(
    number: int, program: Program, runtimes: Mapping[str, Path], program_cache: Path, tmp_path: Path
) -> None:
    """It gives on each device what is expected, does nothing that a runtime forbids, and its SPIR-V is valid."""
    on_devices(program, NVIDIA[number % len(NVIDIA)], in_turn(number, program), runtimes, program_cache, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize(
    ("number", "program"),
    listed([one for one in NUMBERED if one[1].name not in LONG and in_turn(*one) != accepted(one[1])]),
)
def test_program_on_other_devices(
    number: int, program: Program, runtimes: Mapping[str, Path], program_cache: Path, tmp_path: Path
) -> None:
    gpu = NVIDIA[(number + 1) % len(NVIDIA)]
    apis = [api for api in accepted(program) if api not in in_turn(number, program)]
    on_devices(program, gpu, apis, runtimes, program_cache, tmp_path)


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            one, id=one.name.removeprefix("tests/"), marks=pytest.mark.thorough if number % 3 == 1 else pytest.mark.wide
        )
        for number, one in NUMBERED
        if one.name not in LONG
    ],
)
def test_kernels_for_cdna(program: Program, program_cache: Path, workers: Workers) -> None:
    """Its warps have 64 threads. With more devices in one program, launches could not go by that."""
    if REFUSED["hip"].get(program.name) is None:
        (found,) = tried(program.source, [AMD], Cache(program_cache), workers).values()
        assert isinstance(found, int) and found, found


@pytest.mark.thorough
@pytest.mark.parametrize("program", [one for one in launching() if one.name in LONG], ids=lambda one: one.name)
def test_long_program(program: Program, program_cache: Path, tmp_path: Path) -> None:
    """It runs on the CPU device. LLVM needs up to a minute to optimise one of them; `make kernels` assembles them."""
    run_on_cpu(program, compiled(program, (), program_cache, tmp_path, "-O0"))


@pytest.mark.wide
@pytest.mark.parametrize(("number", "program"), listed([one for one in NUMBERED if one[1].name in LONG]))
def test_long_program_on_devices(
    number: int, program: Program, runtimes: Mapping[str, Path], program_cache: Path, tmp_path: Path
) -> None:
    on_devices(program, NVIDIA[number % len(NVIDIA)], accepted(program), runtimes, program_cache, tmp_path)


def compiled(program: Program, gpus: tuple[str, ...], cache: Path, folder: Path, *more: str) -> Path:
    """Build a program for GPUs and for the CPU device, with machine code of all."""
    targets = gpus if program.name in GPU_ONLY else (*gpus, "cpu")
    words = [*more, *program.words("flags"), *(["--embed-cubin"] if set(gpus) & {*NVIDIA} else [])]
    made = built(program.source, cache, folder, words, ",".join(targets))
    data = made.read_bytes()
    for gpu in gpus:
        if gpu.startswith("sm_"):
            assert f".target {gpu}".encode() in data, f"no kernel for {gpu}"
        elif gpu.startswith("gfx"):
            assert f"amdgcn-amd-amdhsa--{gpu}".encode() in data, f"no kernel for {gpu}"
    return made


def run_on_cpu(program: Program, made: Path) -> None:
    if program.name not in GPU_ONLY:
        check(program, executed(program, made, {**os.environ, "KTC_DEVICE": "cpu", "NO_COLOR": "1"}))


def on_devices(
    program: Program, gpu: str, apis: list[str], runtimes: Mapping[str, Path], cache: Path, folder: Path
) -> None:
    made = compiled(program, (*[TARGETS[api] for api in apis], gpu), cache, folder)
    run_on_cpu(program, made)
    if "opencl" in apis:
        validate(made)
        if library_folder() is not None and program.name not in NOT_RUN["opencl"]:
            check(program, executed(program, made, environment(made.parent)))
    for api in runtimes:
        if api not in apis or program.name in NOT_RUN[api] or program.name in OTHER_KERNELS:
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


def executed(program: Program, made: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run an executable with these variables in its environment."""
    return subprocess.run(
        [str(made), *program.words("args")], env=variables, cwd=made.parent, input=program.read("in") or "",
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip


def refused() -> list[ParameterSet]:
    """Return the refused programs by API; `make test-all` takes the first of each reason."""
    found, seen = [], set[tuple[str, str]]()
    for api, names in REFUSED.items():
        for name, why in names.items():
            if name not in LONG:
                found.append(pytest.param(api, name, marks=[pytest.mark.wide] if (api, why) in seen else []))
                seen.add((api, why))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(("api", "name"), refused())
def test_what_a_target_refuses(api: str, name: str, program_cache: Path, tmp_path: Path) -> None:
    """The error says what the target lacks."""
    source = next(path for end in (".kpy", ".mojo") if (path := (TESTS.parent / name).with_suffix(end)).exists())
    with pytest.raises(AssertionError, match=r"error\[(unsatisfied-constraint|unsupported-on-target)\]"):
        built(source, program_cache, tmp_path, (), TARGETS[api])
