"""What a row's LLVM spelling computes is what its Python says: every scalar row, compiled and run."""

import ctypes
import itertools
import math
import random
import struct

import llvmlite.binding as llvm
import pytest
from ktc.ir.arithmetic import round_to
from ktc.ir.ops import ROWS, Row, evaluate
from ktc.ir.types import BOOL, F32, F64, I8, I32, I64, FloatType, IntType

NAMES = {F32: "float", F64: "double"}
C_TYPES = {
    BOOL: ctypes.c_uint8,
    I8: ctypes.c_uint8,
    I32: ctypes.c_uint32,
    I64: ctypes.c_uint64,
    F32: ctypes.c_float,
    F64: ctypes.c_double,
}
CASES = [
    *((row, kind, kind) for row in ROWS.values() if row.rule.__name__ == "ints" for kind in (I8, I32, I64)),
    *((row, kind, kind) for row in ROWS.values() if row.rule.__name__ == "floats" for kind in (F32, F64)),
    *((row, kind, BOOL) for row in ROWS.values() if row.kind == "icmp" for kind in (I8, I64)),
    *((row, kind, BOOL) for row in ROWS.values() if row.kind == "fcmp" for kind in (F32, F64)),
    *((ROWS[name], I8, I64) for name in ("zext", "sext")),
    (ROWS["trunc"], I64, I8),
    (ROWS["fptrunc"], F64, F32),
    (ROWS["fpext"], F32, F64),
    *((ROWS[name], kind, out) for name in ("sitofp", "uitofp") for kind in (I8, I64) for out in (F32, F64)),
    *((ROWS[name], kind, out) for name in ("fptosi", "fptoui") for kind in (F32, F64) for out in (I8, I64)),
]
# written with several instructions, which are codegen's; llvm.bswap has no i8
CASES = [case for case in CASES if case[0].kind != "special" and (case[0].name, case[1]) != ("bswap", I8)]


def spelled(kind) -> str:
    return NAMES.get(kind) or str(kind)


def body(row: Row, kind, out) -> str:
    operands = ", ".join(f"%{at}" for at in range(row.arity))
    source, result = spelled(kind), spelled(out)
    if row.kind in ("icmp", "fcmp"):
        return f"{row.kind} {row.llvm} {source} {operands}"
    if row.kind == "cast":
        return f"{row.llvm} {source} {operands} to {result}"
    if row.kind == "intrinsic":
        return f"call {result} @{intrinsic_name(row, kind, out)}({', '.join(typed(row, kind))})"
    return f"{row.llvm} {source} {operands}"


def typed(row: Row, kind) -> list[str]:
    return [f"{spelled(kind)} %{at}" for at in range(row.arity)] + list(row.extra)


def intrinsic_name(row: Row, kind, out) -> str:
    return row.llvm + "".join("." + str(out if which == "result" else kind) for which in row.suffixes)


def function(row: Row, kind, out) -> tuple[str, str]:
    """Return (symbol, text); i1 results are widened."""
    symbol = f"{row.name}.{kind}.{out}"
    params = ", ".join([spelled(kind)] * row.arity)
    result = "i8" if out == BOOL else spelled(out)
    widen = "  %w = zext i1 %r to i8\n  ret i8 %w\n" if out == BOOL else f"  ret {result} %r\n"
    return symbol, f"define {result} @{symbol}({params}) {{\n  %r = {body(row, kind, out)}\n{widen}}}\n"


@pytest.fixture(scope="module")
def engine():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    declared = {}
    for row, kind, out in CASES:
        if row.kind == "intrinsic":
            operands = [spelled(kind)] * row.arity + [extra.split()[0] for extra in row.extra]
            name = intrinsic_name(row, kind, out)
            declared[name] = f"declare {spelled(out)} @{name}({', '.join(operands)})\n"
    text = "".join(declared.values()) + "".join(function(*case)[1] for case in CASES)
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def samples(kind, rng):
    if isinstance(kind, FloatType):
        plain = [0.0, -0.0, 0.5, -2.5, 3.0, 1e30, -1e-40, math.inf, -math.inf, math.nan, rng.uniform(-300, 300)]
        return [round_to(kind, value) for value in plain]
    assert isinstance(kind, IntType)
    top = (1 << kind.bits) - 1
    return [0, 1, 5, top, top - 1, top >> 1, (top >> 1) + 1, rng.randint(0, top), rng.randint(0, top)]


def is_defined(row: Row, kind, args) -> bool:
    """Leave out what LLVM does not define, and the sign of a zero that minnum may choose."""
    if not row.total:
        if row.name in ("shl", "lshr", "ashr"):
            return args[1] < kind.bits
        top = (1 << kind.bits) - 1
        return args[1] != 0 and not (row.name[0] == "s" and args == ((top >> 1) + 1, top))
    return not (row.name in ("fmin", "fmax") and args[0] == args[1] == 0.0)


def same(a, b) -> bool:
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or struct.pack("d", a) == struct.pack("d", b)
    return a == b


@pytest.mark.parametrize("case", CASES, ids=lambda case: function(*case)[0])
def test_llvm_agrees(engine, case):
    row, kind, out = case
    symbol, _ = function(*case)
    call = ctypes.CFUNCTYPE(C_TYPES[out], *[C_TYPES[kind]] * row.arity)(engine.get_function_address(symbol))
    values = samples(kind, random.Random(symbol))
    for args in itertools.product(values, repeat=row.arity):
        if is_defined(row, kind, args):
            expected = evaluate(row.name, (kind,) * row.arity, args, out)
            assert same(call(*args), expected), (args, call(*args), expected)
