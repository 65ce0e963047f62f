"""`ktc report`: what kernels need, its gates, and what it says of programs and machines that cannot be reported on."""

import json
from pathlib import Path

import pytest
from ktc.bench import kernel_facts, roofline
from ktc.cli.commands import main
from ktc.emit.tools import find_ptxas

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
    assert found["sm_90"]["occupancy"]["256"] == 1.0
    assert main(["report", "--max-registers", "2", "--no-spills", "--target-accelerator", "sm_90", str(program)]) == 1
    text = capsys.readouterr()
    assert "kernel  sm_90" in text.out and "registers on sm_90, more than 2" in text.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--target-accelerator", "cpu"], "the program has no kernels for a GPU: there is nothing to report"),
        (["--chart", "x"], "--chart draws what --run measures: add --run"),
        (["--max-registers", "many"], "'many' is not a valid integer"),
        (["--fp-mode", "loose"], "'loose' is no floating-point mode: there are exact, fast, ftz"),
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


def test_what_ptxas_says() -> None:
    from ktc import targets

    target = next(one for one in targets.device_targets() if one.name == "sm_90")
    facts = kernel_facts.of_nvidia("k", "k", target, "\tadd.f32 \t%r1;\n\t@%p1 bra \tL;\n", PTXAS)
    assert (facts.registers, facts.spills, facts.shared, facts.stack) == (40, 12, 4096, 48)
    assert facts.mix == {"float": 1, "control": 1}
    assert facts.occupancy[256] == pytest.approx(0.75)  # 10 registers' units a warp: 6 blocks of 8 warps of 64


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
