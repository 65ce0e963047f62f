"""What a kernel does for functions of Float32 that its GPU has an instruction for."""

import re
from pathlib import Path

import pytest
from ktc.cli.commands import main

PROGRAM = """\
from gpu import thread_idx
from gpu.host import DeviceContext
from math import cos, erf, exp, exp2, log, log2, log10, rsqrt, sin, tanh


fn kernel(p: UnsafePointer[Float32, MutAnyOrigin]):
    var i = Int(thread_idx.x)
    p[i] = CALL


def main():
    var ctx = DeviceContext()
    var buffer = ctx.enqueue_create_buffer[DType.float32](32)
    ctx.enqueue_function_checked[kernel, kernel](buffer, grid_dim=1, block_dim=32)
"""


pytestmark = pytest.mark.usefixtures("program_cache")  # with the library for sm_90


def assembly(folder: Path, call: str, target: str) -> str:
    """Return the text of the kernel, without that of the functions that it calls."""
    source, made = folder / "prog.kpy", folder / "kernel.s"
    source.write_text(PROGRAM.replace("CALL", call))
    words = ["emit", "--kind", "asm", "--target-accelerator", target, "--kernel", "kernel", str(source)]
    assert main([*words, "-o", str(made)]) == 0
    return made.read_text()


@pytest.mark.parametrize(
    ("call", "target", "instruction"),
    [
        ("exp(p[i])", "sm_90", "ex2.approx.ftz.f32"),
        ("exp2(p[i])", "sm_75", "ex2.approx.f32"),
        ("rsqrt(p[i])", "sm_90", "rsqrt.approx.f32"),
        ("exp(p[i])", "gfx942", "v_exp_f32"),
        ("Float32(exp(p[i].cast[DType.float16]()))", "sm_90", "ex2.approx.ftz.f32"),
    ],
)
def test_an_instruction_where_there_is_one(tmp_path: Path, call: str, target: str, instruction: str) -> None:
    assert instruction in assembly(tmp_path, call, target)


@pytest.mark.parametrize("call", ["sin(p[i])", "cos(p[i])"])
def test_angles_near_zero_need_no_long_product(tmp_path: Path, call: str) -> None:
    text = assembly(tmp_path, call, "sm_90")
    before, _, behind = text[text.index(".entry") :].partition("bra")
    far, _, after = behind.partition("\n$L")
    assert "shr.u64" in far, "the long product is behind a branch"
    near = [line for line in (before + after).splitlines() if re.match(r"\t(fma|mul|add|sub)", line)]
    assert ".f64" not in text and len(near) < 40, near


@pytest.mark.parametrize("call", ["log", "log2", "log10", "tanh", "erf"])
def test_one_polynomial_and_no_division(tmp_path: Path, call: str) -> None:
    lines = assembly(tmp_path, f"{call}(p[i])", "sm_90").splitlines()
    words = [line for line in lines if re.match(r"\t(fma|mul|add|sub|div|ex2|rcp|setp|selp)", line)]
    assert not any("div" in line for line in words) and len(words) < 40, words
