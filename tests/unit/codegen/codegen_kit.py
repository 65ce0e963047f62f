"""Small units by hand, and LLVM to read, optimise and run what becomes of them."""

from contextlib import contextmanager

import llvmlite.binding as llvm
from ktc.ir import ops
from ktc.ir.nodes import (
    Argument,
    Call,
    CallIntrinsic,
    Const,
    Function,
    If,
    Kernel,
    Let,
    Load,
    Return,
    Store,
    Temp,
    Unit,
)
from ktc.ir.types import BOOL, F32, I32, I64, PTR, VOID
from ktc.targets import find
from ktc.targets.host import host_target

HOST = host_target()
NVIDIA = find("sm_90")
AMD = find("gfx942")
APPLE = find("apple-m4")
CPU = find("cpu", HOST)


def i32(value):
    return Const(I32, value % 2**32)


def i64(value):
    return Const(I64, value % 2**64)


def arg(index, kind):
    return Argument(index, kind)


def op(name, *args, to=None, attr=None):
    return ops.build(name, args, to, attr)


def function(symbol, params, result, *body, linkage="export", **more):
    named = tuple((f"p{index}", kind) for index, kind in enumerate(params))
    return Function(symbol, symbol, named, result, tuple(body), linkage, **more)


def unit(target, *functions, globals=(), kernels=()):
    return Unit(
        target,
        {one.symbol: one for one in functions},
        {one.name: one for one in globals},
        tuple(Kernel(name, name) for name in kernels),
    )


def parsed(module):
    """Read and verify; the text is shown when that fails."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    try:
        held = llvm.parse_assembly(module.text)
        held.verify()
    except RuntimeError as error:
        raise AssertionError(f"{error}\n{module.text}") from None
    return held


def machine(target, level=3):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=level, reloc="pic", codemodel="default"
    )


def optimised(module, level=3):
    held = parsed(module)
    made = machine(module.target, level)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.loop_interleaving = module.target.vendor == "cpu"
    builder = llvm.create_pass_builder(made, options)
    builder.getModulePassManager().run(held, builder)
    return held


def assembly(module, level=3):
    return machine(module.target, level).emit_assembly(optimised(module, level))


@contextmanager
def running(module, level=2):
    """Give a function from a symbol to its address."""
    held = optimised(module, level) if level else parsed(module)
    engine = llvm.create_mcjit_compiler(held, machine(module.target, level))
    engine.finalize_object()
    yield engine.get_function_address
    del engine


def in_order(text, *parts):
    """Assert that each part stands in `text` after the one before."""
    at = 0
    for part in parts:
        found = text.find(part, at)
        assert found >= 0, f"no {part!r} after offset {at} in:\n{text}"
        at = found + len(part)


IDS = {
    "nvidia": ("llvm.nvvm.read.ptx.sreg.tid.x", "llvm.nvvm.read.ptx.sreg.ctaid.x", "llvm.nvvm.read.ptx.sreg.ntid.x"),
    "amd": ("llvm.amdgcn.workitem.id.x", "llvm.amdgcn.workgroup.id.x", None),
    "apple": (
        "llvm.air.thread_position_in_threadgroup.x",
        "llvm.air.threadgroup_position_in_grid.x",
        "llvm.air.threads_per_threadgroup.x",
    ),
    "cpu": ("ktc.cpu.thread_idx.x", "ktc.cpu.block_idx.x", "ktc.cpu.block_dim.x"),
}


def global_index(target):
    """The helper `index() -> i64`: block_idx.x * block_dim.x + thread_idx.x (a block of 256 where none is known)."""
    thread, block, size = IDS[target.vendor]
    lets = [Let(Temp(0, I32), CallIntrinsic(thread, (), I32, True))]
    lets.append(Let(Temp(1, I32), CallIntrinsic(block, (), I32, True)))
    dim = i64(256)
    if size:
        lets.append(Let(Temp(2, I32), CallIntrinsic(size, (), I32, True)))
        dim = op("zext", Temp(2, I32), to=I64)
    wide = [op("zext", Temp(number, I32), to=I64) for number in (0, 1)]
    result = op("add", op("mul", wide[1], dim), wide[0])
    return function("index", (), I64, *lets, Return(result), linkage="internal", inline="always")


def vector_add(target, early_return=False):
    """vadd(a, b, c, n): c[i] = a[i] + b[i] for i < n; as a guard around the work, or as an early return before it."""
    i = Temp(0, I64)
    a, b, c = (op("offset", arg(index, PTR), i, attr=F32) for index in range(3))
    work = (
        Let(Temp(1, F32), Load(a, F32)),
        Let(Temp(2, F32), Load(b, F32)),
        Store(c, op("fadd", Temp(1, F32), Temp(2, F32))),
    )
    inside = op("slt", i, arg(3, I64))
    if early_return:
        body = (If(op("xor", inside, Const(BOOL, 1)), (Return(),)), *work, Return())
    else:
        body = (If(inside, work), Return())
    kernel = function("vadd", (PTR, PTR, PTR, I64), VOID, Let(i, Call("index", (), I64)), *body, linkage="internal")
    return unit(target, global_index(target), kernel, kernels=("vadd",))
