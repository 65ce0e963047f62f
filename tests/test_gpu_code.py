"""What kernels become for NVIDIA GPUs, where the instructions chosen decide how fast they are: PTX, without a GPU."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ktc.base.cache import Cache
from ktc.emit.device import images
from ktc.emit.workers import Workers

from kernels import device_modules

HEAD = """
from gpu import barrier, thread_idx
from gpu.host import DeviceContext
from gpu.memory import AddressSpace
from memory import stack_allocation
from os import Atomic
from os.atomic import Consistency

alias Ints = UnsafePointer[Int32, MutAnyOrigin]
alias Floats = UnsafePointer[Float32, MutAnyOrigin]


fn kernel(p: Ints, q: Floats):
    var t = Int(thread_idx.x)
"""
TAIL = """

def main():
    var ctx = DeviceContext()
    var p = ctx.enqueue_create_buffer[DType.int32](64)
    var q = ctx.enqueue_create_buffer[DType.float32](64)
    ctx.enqueue_function_checked[kernel, kernel](p, q, grid_dim=1, block_dim=32)
"""


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(2) as running:
        yield running


def ptx(body: str, folder: Path, cache: Path, workers: Workers, target: str = "sm_90") -> str:
    """Return the assembly of a kernel whose body is given."""
    source = folder / "program.kpy"
    source.write_text(HEAD + body + TAIL, "utf-8")
    (module,) = device_modules(source, [target], Cache(cache))[target]
    return images([module], {module.kernel: {"asm"}}, 3, workers=workers)[module.kernel].data["asm"].decode()


def ordered(text: str) -> list[str]:
    """Return the atomic instructions and fences, without their operands."""
    return re.findall(r"^\s*((?:atom|fence|ld\.acquire|st\.release)[^\s;]*)", text, re.MULTILINE)


ATOMICS = """
    var s = stack_allocation[1, Int32, address_space = AddressSpace.SHARED]()
    _ = Atomic.fetch_add(p, Int32(1))
    _ = Atomic.fetch_add(q, Float32(1))
    _ = Atomic.fetch_add(s, Int32(1))
    Atomic.max(p, Int32(2))
    _ = Atomic[DType.int32, scope="block"].fetch_sub(p, Int32(3))
    p[1] = s[0]
"""
EXPLICIT = """
    _ = Atomic.fetch_add[ordering=Consistency.MONOTONIC](p, Int32(1))
    _ = Atomic.fetch_add[ordering=Consistency.ACQUIRE](p, Int32(2))
    _ = Atomic[DType.int32, scope="gpu"].fetch_add[ordering=Consistency.RELEASE](p, Int32(3))
    _ = Atomic[DType.int32, scope="block"].fetch_add[ordering=Consistency.ACQUIRE_RELEASE](p, Int32(4))
    _ = Atomic.fetch_add[ordering=Consistency.SEQUENTIAL](p, Int32(5))
"""


def test_changes_are_bare_instructions(program_cache: Path, tmp_path: Path, workers: Workers) -> None:
    """A change that names no ordering is one instruction, as `atomicAdd` is in CUDA."""
    kinds = ordered(ptx(ATOMICS, tmp_path, program_cache, workers))
    assert kinds == [
        "atom.global.add.u32", "atom.global.add.f32", "atom.shared.add.u32", "atom.global.max.s32",
        "atom.global.add.u32",
    ]  # fmt: skip


def test_explicit_orderings_have_their_fences(program_cache: Path, tmp_path: Path, workers: Workers) -> None:
    kinds = ordered(ptx(EXPLICIT, tmp_path, program_cache, workers))
    assert ["atom" if kind.startswith("atom.") else kind for kind in kinds] == [
        "atom",
        "atom", "fence.acq_rel.sys",
        "fence.acq_rel.gpu", "atom",
        "fence.acq_rel.cta", "atom", "fence.acq_rel.cta",
        "fence.sc.sys", "atom", "fence.acq_rel.sys",
    ]  # fmt: skip
