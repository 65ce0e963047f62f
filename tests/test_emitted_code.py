"""The talk's program for every target: what each back end makes of its kernel, checked against tests/golden/.

The program is elaborated once for all targets. FileCheck directives in the golden files name what has to
occur, in order; [[TARGET]] and [[KERNEL]] stand for the target and the kernel's symbol.
"""

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser
from ktc import config, targets
from ktc.base.cache import Cache
from ktc.base.records import replace
from ktc.codegen.module import LlvmModule, lower_device
from ktc.diag.diagnostic import Sink
from ktc.driver import pipeline
from ktc.elaborate.program import elaborate
from ktc.emit.device import images
from ktc.emit.tools import assemble_ptx, find_ptxas
from ktc.emit.workers import Workers
from ktc.ir.nodes import Program
from ktc.passes import run as run_passes
from ktc.syntax.loader import Files, load
from ktc.targets.target import Target

from programs import ROOT, run_ktc

SOURCE = ROOT / "examples" / "vector_addition.kpy"
GOLDEN = Path(__file__).parent / "golden"
NVIDIA = [target for target in targets.device_targets() if target.vendor == "nvidia"]
AMD = [target for target in targets.device_targets() if target.vendor == "amd"]
APPLE = [target for target in targets.device_targets() if target.vendor == "apple"]
ALL = [*NVIDIA, *AMD, *APPLE]
DESCRIPTOR_BYTES = 64
AMDGPU_METADATA = 32


def named(target: Target) -> str:
    return target.name


def session(cache: Cache, accelerators: str) -> pipeline.Session:
    sink = Sink()
    made = config.resolve(config.Options(SOURCE, accelerators=accelerators), sink, cache)
    assert made is not None, sink.diagnostics
    return pipeline.Session(made, cache, sink)


@pytest.fixture(scope="module")
def cache(program_cache: Path) -> Cache:
    return Cache(program_cache)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(2) as running:
        yield running


@pytest.fixture(scope="module")
def kernels(cache: Cache) -> dict[str, LlvmModule]:
    """Return by target the module of the talk's kernel."""
    made = session(cache, ",".join([target.name for target in ALL]))
    package = load(Files(made.config.root, made.config.search, made.config.stdlib), cache, made.sink)
    assert package is not None, made.sink.diagnostics
    program: Program | None = elaborate(package, made.config, made.sink)
    assert program is not None, made.sink.diagnostics
    modules: dict[str, LlvmModule] = {}
    for unit in program.devices:
        passed = run_passes(unit, made.config, made.sink)
        (module,) = lower_device(passed)
        modules[unit.target.name] = module  # type: ignore[attr-defined]
    return modules


def emitted(module: LlvmModule, kind: str, workers: Workers, ptxas: str = "") -> bytes:
    return images([module], {module.kernel: {kind}}, 3, workers=workers, ptxas=ptxas)[module.kernel].data[kind]


def file_check(golden: str, text: str, **names: str) -> None:
    """Check `text` against tests/golden/`golden`.txt, whose variables [[NAME]] are `names`."""
    options = Options(match_filename=str(GOLDEN / f"{golden}.txt"), variables=dict(names))
    matcher = Matcher(options, FInput(f"<{golden}>", text), Parser.from_opts(options))
    assert matcher.run() == 0, f"tests/golden/{golden}.txt does not fit:\n{text}"


@pytest.mark.parametrize("target", NVIDIA, ids=named)
def test_ptx(target: Target, kernels: dict[str, LlvmModule], workers: Workers) -> None:
    module = kernels[target.name]
    text = emitted(module, "asm", workers).decode()
    file_check("ptx", text, TARGET=target.cpu, KERNEL=module.kernel)
    if not find_ptxas():
        pytest.skip("ptxas is not installed: the text was checked, not assembled")
    cubin = ELFFile(io.BytesIO(assemble_ptx(find_ptxas(), text.encode(), target.cpu)))
    assert cubin.get_section_by_name(f".text.{module.kernel}").data_size


@pytest.mark.parametrize("target", AMD, ids=named)
def test_amd_assembly(target: Target, kernels: dict[str, LlvmModule], workers: Workers) -> None:
    module = kernels[target.name]
    file_check("gcn", emitted(module, "asm", workers).decode(), TARGET=target.cpu, KERNEL=module.kernel)


@pytest.mark.parametrize("target", AMD, ids=named)
def test_amd_object(target: Target, kernels: dict[str, LlvmModule], workers: Workers) -> None:
    module = kernels[target.name]
    elf = ELFFile(io.BytesIO(emitted(module, "object", workers)))
    assert (elf["e_type"], elf["e_machine"]) == ("ET_DYN", "EM_AMDGPU")
    table = elf.get_section_by_name(".dynsym")
    assert isinstance(table, SymbolTableSection)
    symbols = {symbol.name: symbol for symbol in table.iter_symbols()}
    code, descriptor = symbols[module.kernel], symbols[f"{module.kernel}.kd"]
    assert descriptor["st_size"] == DESCRIPTOR_BYTES
    assert descriptor["st_info"]["type"] == "STT_OBJECT" and code["st_info"]["type"] == "STT_FUNC"
    rodata = elf.get_section_by_name(".rodata")
    start = descriptor["st_value"] - rodata["sh_addr"]
    held = rodata.data()[start : start + DESCRIPTOR_BYTES]
    shared, private, arguments = (int.from_bytes(held[at : at + 4], "little") for at in (0, 4, 8))
    assert (shared, private) == (0, 0)
    assert arguments >= 4 * 8, "three pointers and an Int"
    entry = int.from_bytes(held[16:24], "little", signed=True)
    assert descriptor["st_value"] + entry == code["st_value"]
    check_note(elf, module.kernel, target)


def check_note(elf: ELFFile, kernel: str, target: Target) -> None:
    """Check the metadata that the runtime reads: MessagePack, whose short strings stand in it as they are."""
    section = elf.get_section_by_name(".note")
    assert isinstance(section, NoteSection)
    (note,) = section.iter_notes()
    assert note["n_name"] == "AMDGPU" and note["n_type"] in (AMDGPU_METADATA, "NT_AMDGPU_METADATA")
    data = section.data()
    for word in ("amdhsa.version", ".kernarg_segment_size", f"{kernel}.kd", f"amdgcn-amd-amdhsa--{target.cpu}"):
        assert word.encode() in data, word
    assert data.count(b"global_buffer") == 3 and data.count(b"by_value") == 1


@pytest.mark.parametrize("target", APPLE, ids=named)
def test_air(target: Target, kernels: dict[str, LlvmModule], workers: Workers) -> None:
    module = kernels[target.name]
    text = emitted(module, "asm", workers).decode()
    file_check("air", text, KERNEL=module.kernel)
    # LLVM reads no typed pointers as text any more, but still as bitcode, in the wrapper that Apple's tools want.
    code = emitted(module, "object", workers)
    assert code[:4] == bytes.fromhex("dec0170b")
    start, size = (int.from_bytes(code[at : at + 4], "little") for at in (8, 12))
    with llvm.create_context() as context, llvm.parse_bitcode(code[start : start + size], context) as read:
        again = str(read)
    assert re.search(rf"define void @{module.kernel}\(ptr addrspace\(1\)", again)
    assert "!air.kernel" in again and '"air.buffer"' in again
    assert "load float, ptr addrspace(1)" in again


def test_the_host_holds_the_kernel(cache: Cache) -> None:
    text = pipeline.emit(session(cache, "sm_90"), "llvm").decode()
    file_check("host", text)
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        module.verify()


MARKS = {
    "host": {
        "ast": b"FunctionDecl name=vector_addition",
        "ir": b"unit ",
        "llvm": b"@main(i32",
        "llvm-opt": b"@main(i32",
        "asm": b"main:",
        "object": b"\x7fELF",
    },
    "sm_90": {
        "ast": b"FunctionDecl name=vector_addition",
        "ir": b"unit sm_90",
        "llvm": b"define ptx_kernel void @vector_addition",
        "llvm-opt": b"@llvm.nvvm.read.ptx.sreg.tid.x",
        "asm": b".visible .entry vector_addition",
        "object": b"\x7fELF" if find_ptxas() else b".visible .entry vector_addition",
    },
    "cpu": {
        "llvm": b"define void @vector_addition",
        "llvm-opt": b"x float>",
        "asm": b"vector_addition",
        "object": b"\x7fELF",
    },
}


@pytest.mark.parametrize(("where", "kind"), [(where, kind) for where, kinds in MARKS.items() for kind in kinds])
def test_every_kind(where: str, kind: str, cache: Cache) -> None:
    on_device = where != "host"
    data = pipeline.emit(session(cache, where if on_device else "cpu"), kind, on_device=on_device)
    assert MARKS[where][kind] in data
    if kind == "llvm-opt" and on_device:
        assert b"__getattr__" not in data, "the library's calls are inlined"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="looks for instructions of x86-64")
def test_the_processor_adds_vectors(cache: Cache) -> None:
    made = session(cache, "cpu")
    (target,) = made.config.accelerators
    assert re.search(rb"vaddps\s|addps\s", pipeline.emit(made, "asm", "vector_addition", on_device=True)), target.cpu
    scalar = replace(made, config=replace(made.config, level=1))
    assert not re.search(rb"v?addps\s", pipeline.emit(scalar, "asm", "vector_addition", on_device=True))


SINES = """
from gpu import global_idx
from gpu.host import DeviceContext
from math import cos, sin, tan


fn sines(data: UnsafePointer[Float32, MutAnyOrigin]):
    var x = data[global_idx.x]
    data[global_idx.x] = sin(x) + cos(x) * tan(x)


def main():
    var ctx = DeviceContext()
    var data = ctx.enqueue_create_buffer[DType.float32](64)
    ctx.enqueue_function_checked[sines, sines](data, grid_dim=1, block_dim=64)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="looks for instructions of x86-64")
def test_the_processor_takes_sines_of_vectors(program_cache: Path, tmp_path: Path) -> None:
    """All angles are reduced in one way, without a call that would keep threads apart."""
    (tmp_path / "sines.kpy").write_text(SINES)
    words = ["emit", "--kind", "asm", "--target-accelerator", "cpu", "--target-cpu", "x86-64-v4", "--kernel", "sines"]
    done = run_ktc([*words, "sines.kpy"], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"vrndscalepd\s.*%[yz]mm", done.stdout) and "call" not in done.stdout


CLOSURE = """
def each[F: def(Int) -> None](count: Int, f: F):
    for i in range(count):
        f(i)


@export
def total_of(count: Int, step: Int) abi("C") -> Int:
    var total = 0

    def add(i: Int) {mut total, var step}:
        total += i * step

    each(count, add)
    return total


def main():
    print(total_of(10, 2))
"""


def test_a_closure_that_is_an_argument_costs_nothing(program_cache: Path, tmp_path: Path) -> None:
    """Its captures stay in registers, and its calls are inlined."""
    (tmp_path / "closure.mojo").write_text(CLOSURE)
    done = run_ktc(["emit", "--kind", "llvm-opt", "closure.mojo"], program_cache, tmp_path)
    found = re.search(r"^define i64 @total_of\(.*?^}", done.stdout, re.MULTILINE | re.DOTALL)
    assert found is not None, done.stderr
    assert not re.search(r"\b(?:call|alloca|load|store)\b", found[0]), found[0]
