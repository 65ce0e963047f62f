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


def ptx(body: str, folder: Path, cache: Path, workers: Workers, target: str = "sm_90", level: int = 3) -> str:
    """Return the assembly of a kernel whose body is given."""
    source = folder / "program.kpy"
    source.write_text(HEAD + body + TAIL, "utf-8")
    (module,) = device_modules(source, [target], Cache(cache))[target]
    return images([module], {module.kernel: {"asm"}}, level, workers=workers)[module.kernel].data["asm"].decode()


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


ARITHMETIC = """
    q[t] = sqrt(q[t]) / q[t + 32] + q[t + 64] * q[t + 96]
"""


@pytest.mark.parametrize(
    ("modes", "wanted"),
    [
        ("exact", ["sqrt.rn.f32", "div.rn.f32", "fma.rn.f32"]),
        ("ftz", ["sqrt.rn.ftz.f32", "div.rn.ftz.f32", "fma.rn.ftz.f32"]),
        ("approx", ["sqrt.approx.f32", "div.approx.f32", "fma.rn.f32"]),
        ("no-contract", ["sqrt.rn.f32", "div.rn.f32", "mul.rn.f32", "add.rn.f32"]),
        ("fast", ["sqrt.approx.ftz.f32", "div.approx.ftz.f32", "fma.rn.ftz.f32"]),
    ],
)
def test_modes_of_arithmetic(
    modes: str,
    wanted: list[str],
    program_cache: Path,
    tmp_path: Path,
    workers: Workers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    head = HEAD.replace("\n\nfn kernel", f'\nfrom math import sqrt\n\n\n@fp_mode("{modes}")\nfn kernel')
    monkeypatch.setitem(globals(), "HEAD", head)
    text = ptx(ARITHMETIC, tmp_path, program_cache, workers)
    assert re.findall(r"^\s*((?:sqrt|div|fma|mul|add)\S*f32)\s", text, re.MULTILINE) == wanted


MODES_OF_FUNCTIONS = """
from math import sqrt


fn plain(x: Float32, y: Float32) -> Float32:
    return sqrt(x) / y


@fp_mode("approx")
fn rough(x: Float32, y: Float32) -> Float32:
    return plain(x, y) + 1 / x


@fp_mode("no-contract")
fn both(x: Float32, y: Float32) -> Float32:
    return rough(x, y) * x + plain(y, x)


fn kernel"""


def test_modes_of_functions(
    program_cache: Path, tmp_path: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a function with a mode calls is in that mode too, but not for others that call the same."""
    monkeypatch.setitem(globals(), "HEAD", HEAD.replace("\n\nfn kernel", MODES_OF_FUNCTIONS))
    for call, wanted in (
        ("plain(q[0], q[1]) * q[2] + rough(q[3], q[4])",
         ["sqrt.rn", "div.rn", "sqrt.approx", "div.approx", "rcp.approx", "add", "fma.rn"]),
        ("both(q[0], q[1])",
         ["sqrt.approx", "div.approx", "rcp.approx", "add.rn", "sqrt.rn", "div.rn", "mul.rn", "add.rn"]),
    ):  # fmt: skip
        text = ptx(f"    q[t] = {call}\n", tmp_path, program_cache, workers)
        assert re.findall(r"^\s*((?:sqrt|div|rcp|fma|mul|add)\S*)\.f32\s", text, re.MULTILINE) == wanted


LOOPS = """
    var sum = Float32(0)
    for i in range(t, Int(p[0]), 256):
        sum += q[i]
    for i in range(64):
        sum = sum * 3 + Float32(i)
    q[t] = sum
"""


def test_loops_keep_loads_in_flight_and_count_narrow(program_cache: Path, tmp_path: Path, workers: Workers) -> None:
    text = ptx(LOOPS, tmp_path, program_cache, workers)
    assert text.count("ld.global.b32") == 1 + 8 + 1  # the bound, eight turns at a time, one turn of the rest
    assert "cvt.rn.f32.u32" in text and "cvt.rn.f32.u64" not in text and "cvt.rn.f32.s64" not in text


def test_variables_are_no_memory_without_optimisation(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """ptxas optimises at every level of ours, and takes minutes where each inlined call has variables in memory."""
    body = """
    var x = q[t] * 2
    var y = max(x, q[t + 1])
    q[t] = x * y
"""
    text = ptx(body, tmp_path, program_cache, workers, level=0)
    assert "__local_depot" not in text
    assert re.search(r"[ls][dt]\.local", text) is None


def test_shared_memory_has_the_size_of_its_target(program_cache: Path, tmp_path: Path) -> None:
    """The name of a kernel's shared memory is the same for all targets."""
    body = """
    alias count = 64 if is_nvidia_gpu() else 16
    var held = stack_allocation[count, Float32, address_space = AddressSpace.SHARED]()
    held[t % count] = q[t]
    barrier()
    q[t] = held[0]
"""
    source = tmp_path / "program.kpy"
    source.write_text("from sys import is_nvidia_gpu\n" + HEAD + body + TAIL, "utf-8")
    for targets in (["sm_90", "gfx942"], ["gfx942", "sm_90"]):
        made = device_modules(source, targets, Cache(program_cache))
        found = {name: re.findall(r"addrspace\(3\) global \[(\d+) x float\]", made[name][0].text) for name in targets}
        assert found == {"sm_90": ["64"], "gfx942": ["16"]}


def test_launches_that_are_never_reached_make_no_kernels(program_cache: Path, tmp_path: Path) -> None:
    """They are checked for mistakes; a kernel that only they launch is neither compiled nor missed."""
    source = tmp_path / "program.kpy"
    body = "    if p[t] > 0:\n        p[t] = 2\n"
    start = "ctx.enqueue_function_checked[kernel, kernel](p, q, grid_dim=1, block_dim=32)"
    closure = f"    @parameter\n    fn go(ctx: DeviceContext) raises:\n        {start}\n"
    for rest in (
        f"    if True:\n        return\n    {start}\n",
        f"{closure}    if True:\n        return\n    go(ctx)\n",
        closure,
    ):
        source.write_text(HEAD + body + TAIL.replace(f"    {start}\n", rest), "utf-8")
        assert device_modules(source, ["sm_90", "cpu"], Cache(program_cache)) == {"sm_90": (), "cpu": ()}


def test_a_launch_that_is_reached_later_makes_its_kernel(program_cache: Path, tmp_path: Path) -> None:
    """Unreachable code may call the closure first."""
    source = tmp_path / "program.kpy"
    start = "ctx.enqueue_function_checked[kernel, kernel](p, q, grid_dim=1, block_dim=32)"
    rest = f"    @parameter\n    fn go(ctx: DeviceContext) raises:\n        {start}\n"
    rest += "    for _ in range(2):\n        break\n        go(ctx)\n    go(ctx)\n"
    source.write_text(HEAD + "    p[t] = 2\n" + TAIL.replace(f"    {start}\n", rest), "utf-8")
    made = device_modules(source, ["sm_90", "cpu"], Cache(program_cache))
    assert {name: len(modules) for name, modules in made.items()} == {"sm_90": 1, "cpu": 1}


def test_constant_memory_keeps_its_name(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """A launch finds by its name what it fills."""
    body = """
    var few = stack_allocation[4, Float32, name = StaticString("factors"), address_space = AddressSpace.CONSTANT]()
    var one = stack_allocation[1, Int32, StaticString("shift"), address_space = AddressSpace.CONSTANT]()
    q[t] = few[t % 4] + Float32(one[0])
"""
    text = ptx(body, tmp_path, program_cache, workers)
    assert re.findall(r"^\.visible \.const .*\.b8 (.*);", text, re.MULTILINE) == ["factors[16]", "shift[4]"], text


TENSORS = """
from gpu import barrier, block_idx, thread_idx
from gpu.host import DeviceContext
from gpu.memory import AddressSpace
from layout import Layout, LayoutTensor
from layout.tile_layout import row_major
from layout.tile_tensor import TileTensor, stack_allocation

alias square = row_major[64, 64]()
alias threads = LAYOUT(8, 4)


fn kernel(c: TENSOR[MutAnyOrigin], a: TENSOR[ImmutAnyOrigin]):
    var left = SHARED
    var x = Int(thread_idx.x)
    var y = Int(block_idx.y)
    var sum: Float32 = 0
    for step in range(4):
        left[x // 16, x % 16] = a.tile[16, 16](y, step)[x // 16, x % 16]
        barrier()
        @parameter
        for k in range(16):
            sum += rebind[Float32](left[x // 16, k] * a[k, x])
        barrier()
    var share = a.tile[16, 32](y, 0).vectorize[1, 4]().distribute[threads](THREAD)
    var to = c.tile[16, 32](y, 1).vectorize[1, 4]().distribute[threads](THREAD)
    to[1, 1] = share[0, 1] * sum


def main():
    var ctx = DeviceContext()
    var p = ctx.enqueue_create_buffer[DType.float32](64 * 64)
    ctx.enqueue_function_checked[kernel, kernel](MADE, grid_dim=1, block_dim=32)
"""
AS_LAYOUT_TENSOR = {
    "LAYOUT(8, 4)": "Layout.row_major(8, 4)",
    "TENSOR": "LayoutTensor[DType.float32, Layout.row_major(64, 64), ",
    "SHARED": "LayoutTensor[DType.float32, Layout.row_major(16, 16), MutAnyOrigin, address_space="
    "AddressSpace.SHARED].stack_allocation()",
    "THREAD": "thread_idx.x",
}
AS_TILE_TENSOR = {
    "LAYOUT(8, 4)": "row_major[8, 4]()",
    "TENSOR": "TileTensor[DType.float32, __type_of(square), ",
    "SHARED": "stack_allocation[DType.float32, address_space=AddressSpace.SHARED](row_major[16, 16]())",
    "THREAD": "Int(thread_idx.x)",
}


def test_tile_tensors_are_as_fast(tmp_path: Path, program_cache: Path, workers: Workers) -> None:
    """A kernel has the same PTX with tile tensors as with layout tensors: tiles, vectors, shares, shared memory."""
    made = []
    for words, argument in ((AS_LAYOUT_TENSOR, "{}"), (AS_TILE_TENSOR, "{}, square")):
        text = TENSORS
        for word, meaning in words.items():
            text = text.replace(f"{word}[", meaning).replace(word, meaning)
        tensor = words["TENSOR"]
        values = ", ".join(
            f"{tensor}{origin}]({argument.format('p')})" for origin in ("MutAnyOrigin", "ImmutAnyOrigin")
        )
        source = tmp_path / "program.kpy"
        source.write_text(text.replace("MADE", values), "utf-8")
        (module,) = device_modules(source, ["sm_90"], Cache(program_cache))["sm_90"]
        asm = images([module], {module.kernel: {"asm"}}, 3, workers=workers)[module.kernel].data["asm"].decode()
        made.append(re.sub(r"\$\d+", "", asm.replace(module.kernel, "kernel")))
    assert made[0] == made[1]
