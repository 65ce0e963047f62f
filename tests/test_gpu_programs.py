"""Programs whose kernels no processor runs: each kernel is compiled and assembled for every target that the program's
first line names (`# targets: sm_90`; by default for six). On a machine with a GPU they run as well."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from ktc import config
from ktc.cache import Cache
from ktc.codegen.module import LlvmModule, lower_device
from ktc.diag.diagnostic import Sink
from ktc.elaborate.elaborator import elaborate
from ktc.emit.device import images
from ktc.emit.tools import find_ptxas
from ktc.emit.workers import Workers
from ktc.passes import run as run_passes
from ktc.syntax.loader import load

from programs import TESTS, Program, check, run_ktc

FOLDER = TESTS / "gpu"
EVERYWHERE = "sm_75,sm_80,sm_90,sm_120,gfx942,gfx1100"
PROGRAMS = [Program(path, path.with_suffix("")) for path in sorted(FOLDER.glob("*.kpy"))]


def wanted(source: Path) -> str:
    first = source.read_text("utf-8").splitlines()[0]
    return first.removeprefix("# targets:").replace(" ", "") if first.startswith("# targets:") else EVERYWHERE


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(2) as running:
        yield running


def device_modules(source: Path, cache: Cache) -> dict[str, tuple[LlvmModule, ...]]:
    """Return by target the kernels of a program."""
    sink = Sink()
    made = config.resolve(config.Options(source, accelerators=wanted(source)), sink, cache)
    assert made is not None, sink.diagnostics
    package = load(made.root, made.search, made.stdlib, cache, sink)
    assert package is not None, sink.diagnostics
    program = elaborate(package, made, sink)
    assert program is not None and not sink.error_count, [found.message for found in sink.diagnostics]
    return {
        unit.target.name: lower_device(run_passes(unit, made, sink))  # type: ignore[attr-defined]
        for unit in program.devices
    }


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.source.stem)
def test_kernels_assemble(program: Program, program_cache: Path, workers: Workers) -> None:
    """Each target's kernels become ELF files; without ptxas NVIDIA's stay text."""
    found = device_modules(program.source, Cache(program_cache))
    assert sorted(found) == sorted(wanted(program.source).split(","))
    for name, modules in found.items():
        kinds = {module.kernel: {"object"} for module in modules}
        made = images(modules, kinds, 3, workers=workers, ptxas=find_ptxas())
        start = b"\x7fELF" if find_ptxas() or name.startswith("gfx") else b"//"
        for module in modules:
            assert made[module.kernel].data["object"].lstrip().startswith(start), (name, module.kernel)


@pytest.mark.device
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.source.stem)
def test_program(program: Program, program_cache: Path, tmp_path: Path) -> None:
    check(program, run_ktc(["run", str(program.source)], program_cache, tmp_path))


def test_launch_bounds(tmp_path: Path) -> None:
    """`@__llvm_metadata` bounds the threads of a kernel's block, for each vendor in its own words."""
    found = device_modules(TESTS / "run" / "launch_bounds.kpy", Cache(tmp_path))
    for name, word in {"sm_90": '"nvvm.maxntid"="{}"', "gfx942": '"amdgpu-flat-work-group-size"="1,{}"'}.items():
        for kernel, most in zip(found[name], (256, 128), strict=True):
            assert word.format(most) in kernel.text
