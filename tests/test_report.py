"""`ktc report`: what kernels need, its gates, and what it says of programs and machines that cannot be reported on."""

import json
import re
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from ktc.bench import kernel_facts, roofline
from ktc.cli.commands import main
from ktc.driver import build_cache
from ktc.emit import tools
from ktc.emit.tools import find_ptxas
from ktc.targets.target import Target

PROGRAM = """
from gpu import thread_idx
from gpu.host import DeviceContext
from gpu.memory import AddressSpace
from memory import stack_allocation


fn kernel(p: UnsafePointer[Float32, MutAnyOrigin]):
    var held = stack_allocation[64, Float32, address_space = AddressSpace.SHARED]()
    held[thread_idx.x] = p[thread_idx.x]
    p[thread_idx.x] = held[63 - thread_idx.x] * 2


def main():
    var ctx = DeviceContext()
    var p = ctx.enqueue_create_buffer[DType.float32](64)
    ctx.enqueue_function_checked[kernel, kernel](p, grid_dim=1, block_dim=64)
"""

PTXAS = """ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    48 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 4096 bytes smem
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program_cache: Path) -> Path:
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "program.kpy"
    path.write_text(PROGRAM, "utf-8")
    return path


@pytest.mark.skipif(not find_ptxas(), reason="ptxas is not installed")
def test_report(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--json", "--target-accelerator", "sm_90,gfx942", str(program)]) == 0
    found = {one["target"]: one for one in json.loads(capsys.readouterr().out)["kernels"]}
    assert {name: one["shared"] for name, one in found.items()} == {"sm_90": 256, "gfx942": 256}
    assert all(one["registers"] > 0 and one["spills"] == 0 for one in found.values())
    assert found["sm_90"]["mix"]["shared"] == 2 and found["gfx942"]["mix"]["shared"] == 2
    assert found["sm_90"]["occupancy"]["256"] == found["gfx942"]["occupancy"]["256"] == 1.0
    assert main(["report", "--max-registers", "2", "--no-spills", "--target-accelerator", "sm_90", str(program)]) == 1
    text = capsys.readouterr()
    assert "kernel  sm_90" in text.out and "registers on sm_90, more than 2" in text.err


def test_no_ptxas(program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_ptxas", lambda: "")
    assert main(["report", "--target-accelerator", "sm_90", str(program)]) == 1
    assert "there is no ptxas, which knows what kernels for NVIDIA need" in capsys.readouterr().err
    assert main(["report", "--target-accelerator", "gfx942", str(program)]) == 0
    assert "gfx942" in capsys.readouterr().out


def test_machine_code_when_ptxas_comes(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that is kept is not taken for one with another assembler."""
    command = ["build", "--embed-cubin", "--target-accelerator", "sm_90", str(program), "-o", "made"]
    found = ""
    monkeypatch.setattr(tools, "find_ptxas", lambda: found)
    monkeypatch.setattr(build_cache, "find_ptxas", lambda: found)
    for version in ("", "one", "two", "broken"):
        if version:
            found = str(program.parent / "ptxas")
            code = {"broken": "echo no memory >&2; exit 7"}.get(
                version, f'while [ "$1" != -o ]; do shift; done; echo code {version} > "$2"'
            )
            Path(found).write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo {version}; exit; }}\n{code}\n', "utf-8")
            Path(found).chmod(0o755)
        assert main(command) == (70 if version == "broken" else 0)
        said = capsys.readouterr().err
        if version == "broken":
            assert "ptxas refuses the kernel: no memory" in said
            break
        assert not version or f"code {version}".encode() in Path("made").read_bytes()
        assert ("there is no ptxas: the driver compiles" in said) == (not version)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--target-accelerator", "cpu"], "the program has no kernels for a GPU: there is nothing to report"),
        (["--chart", "x"], "--chart draws what --run measures: add --run"),
        (["--max-registers", "many"], "'many' is not a valid integer"),
        (["--fp-mode", "loose"], "'loose' is not a floating-point mode; the modes are exact, fast, ftz"),
        (["--fp-mode", "fast", "--target-accelerator", "cpu"], "--fp-mode is for NVIDIA and AMD GPUs"),
    ],
)
def test_what_cannot_be_reported(
    words: list[str], text: str, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *words, str(program)]) in (1, 2)
    assert text in capsys.readouterr().err


def test_embedding_is_for_nvidia(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--embed-cubin", "--target-accelerator", "gfx942", str(program)]) == 1
    assert "--embed-cubin is for NVIDIA GPUs, and the targets are gfx942" in capsys.readouterr().err


def test_the_output_of_ptxas() -> None:
    from ktc import targets

    target = next(one for one in targets.device_targets() if one.name == "sm_90")
    facts = kernel_facts.of_nvidia("k", "k", target, "\tadd.f32 \t%r1;\n\t@%p1 bra \tL;\n", PTXAS)
    assert (facts.registers, facts.spills, facts.shared, facts.stack) == (40, 12, 4096, 48)
    assert facts.mix == {"float": 1, "control": 1}
    assert facts.occupancy[256] == pytest.approx(0.75)  # 10 registers' units a warp: 6 blocks of 8 warps of 64


def waves_by_llvm(target: Target, registers: int) -> int:
    """Return how many waves of a SIMD fit, as LLVM says it of a kernel that takes so many registers."""
    text = f"""
        define amdgpu_kernel void @k() #0 {{
          call void asm sideeffect "", "~{{v{registers - 1}}}"()
          ret void
        }}
        attributes #0 = {{ "amdgpu-flat-work-group-size"="1,256" }}"""
    machine = llvm.Target.from_triple(target.triple).create_target_machine(cpu=target.cpu, opt=3)
    machine.set_asm_verbosity(True)
    said = re.search(r"; Occupancy: (\d+)", machine.emit_assembly(llvm.parse_assembly(text)))
    assert said
    return int(said[1])


def test_occupancy_of_amd() -> None:
    from ktc import targets

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    processors = [one for one in targets.device_targets() if one.vendor == "amd"]
    for target in processors:
        most = 8 if target.warp_lanes == 64 else 16
        for registers in (1, 24, 40, 64, 72, 96, 128, 144, 192, 256):
            found = kernel_facts.amd_occupancy(target, registers, 16, 0)
            assert found[64] * most == waves_by_llvm(target, registers), (target.name, registers)
    mi300 = next(one for one in processors if one.name == "gfx942")
    assert kernel_facts.amd_occupancy(mi300, 8, 16, 16 << 10)[256] == 0.5  # four blocks of four of 32 waves
    assert kernel_facts.amd_occupancy(mi300, 8, 104, 0)[1024] == 0.5  # seven waves of a SIMD: one block of sixteen


def test_a_profile_becomes_a_roofline(tmp_path: Path) -> None:
    profile = "device H200|132|1980000|3201000|6144\nlaunch k|8|256|2000\nlaunch k|8|256|1000\nlaunch j|1|1|500\n"
    ceiling, kernels = roofline.read(profile, 90)
    assert ceiling.name == "H200" and ceiling.bandwidth == pytest.approx(4.917e12, rel=1e-3)
    assert ceiling.arithmetic == pytest.approx(66.9e12, rel=1e-3)
    assert kernels["k"] == roofline.Measured(2, 3000, 1000)
    head = ",".join(f'"{name}"' for name in ("Kernel Name", *roofline.METRICS))
    counted = roofline.read_counters(
        f'==PROF==\n{head}\n"","Mbyte","inst","inst","inst"\n"k","2.5","1,000","10","500"\n'
    )
    assert counted == {"k": (2.5e6, 2010.0)}
    pytest.importorskip("matplotlib")
    made = roofline.draw(ceiling, {"k": roofline.Measured(1, 1000, 1000, 2.5e6, 2010.0)}, tmp_path / "roof")
    assert all(path.stat().st_size for path in made)


def test_sizes_add_up_to_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], program_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each function, constant and image of an executable, with its module."""
    path = tmp_path / "prog.kpy"
    path.write_text(
        "from gpu import global_idx\nfrom gpu.host import DeviceContext\n\n\n"
        "fn fill(p: UnsafePointer[Float32, MutAnyOrigin]):\n    p[Int(global_idx.x)] = 1\n\n\n"
        "@no_inline\nfn half(x: Int) -> Int:\n    return x // 2\n\n\n"
        "def main():\n    var ctx = DeviceContext()\n    var p = ctx.enqueue_create_buffer[DType.float32](8)\n"
        "    ctx.enqueue_function_checked[fill, fill](p, grid_dim=1, block_dim=half(16))\n    ctx.synchronize()\n"
    )
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    assert main(["report", "--size", "--json", "--target-accelerator", "cpu", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)
    own = {part["name"]: part["kind"] for part in found["parts"] if part["module"] == str(path)}
    assert own["fill"] == "device code" and own["half"] == "function"
    assert sum(part["size"] for part in found["parts"]) == sum(found["modules"].values()) == found["bytes"]
    assert all(part["size"] >= 0 for part in found["parts"])
    assert main(["build", "--target-accelerator", "cpu", str(path), "-o", str(tmp_path / "prog")]) == 0
    assert (tmp_path / "prog").stat().st_size == found["bytes"]
