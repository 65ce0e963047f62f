"""The operation table against numpy, and what `build` folds."""

import math
import random
import struct
import warnings

import numpy as np
import pytest
from ktc import native
from ktc.diag.diagnostic import Bug
from ktc.ir.arithmetic import float_from_bits, float_to_bits, round_exact, round_to
from ktc.ir.nodes import Address, Argument, Const, GlobalAddress, Op
from ktc.ir.ops import ROWS, build, evaluate
from ktc.ir.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    I128,
    PTR,
    ArrayType,
    IntType,
    PointerType,
    StructType,
    VectorType,
)

UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
FLOATS = {F16: np.float16, F32: np.float32, F64: np.float64}

WRAPPING = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "umin": np.minimum,
    "umax": np.maximum,
    "eq": np.equal,
    "ne": np.not_equal,
    "ult": np.less,
    "ule": np.less_equal,
    "ugt": np.greater,
    "uge": np.greater_equal,
}
SIGNED_OPS = {
    "smin": np.minimum,
    "smax": np.maximum,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
}


def samples(bits: int) -> list[int]:
    """Return the edges and some random values."""
    top = (1 << bits) - 1
    rng = random.Random(bits)
    return [0, 1, 2, 3, top, top - 1, top >> 1, (top >> 1) + 1] + [rng.randrange(top + 1) for _ in range(6)]


def fold(name, kind, *values, type=None):
    result = build(name, tuple(Const(kind, value) for value in values), type)
    assert isinstance(result, Const), result
    return result.value


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_integers_equal_numpy(bits):
    kind, unsigned, signed = IntType(bits), UNSIGNED[bits], SIGNED[bits]
    mask = (1 << bits) - 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for a in samples(bits):
            ua = np.array(a, unsigned)
            sa = ua.view(signed)
            assert fold("neg", kind, a) == int(np.negative(sa)) & mask
            assert fold("not", kind, a) == int(np.invert(ua))
            assert fold("iabs", kind, a) == int(np.abs(sa)) & mask
            for b in samples(bits):
                ub = np.array(b, unsigned)
                sb = ub.view(signed)
                for name, reference in WRAPPING.items():
                    assert fold(name, kind, a, b) == int(reference(ua, ub)), (name, a, b)
                for name, reference in SIGNED_OPS.items():
                    assert fold(name, kind, a, b) == int(reference(sa, sb)) & mask, (name, a, b)
                if b:
                    assert fold("udiv", kind, a, b) == int(ua // ub)
                    assert fold("urem", kind, a, b) == int(ua % ub)
                    assert fold("srem", kind, a, b) == int(np.fmod(sa, sb)) & mask, (a, b)
                    quotient = fold("sdiv", kind, a, b)
                    assert (quotient * b + fold("srem", kind, a, b)) & mask == a
                shift = b % bits
                us = np.array(shift, unsigned)
                assert fold("shl", kind, a, shift) == int(ua << us)
                assert fold("lshr", kind, a, shift) == int(ua >> us)
                assert fold("ashr", kind, a, shift) == int(sa >> us.view(signed)) & mask


@pytest.mark.parametrize(
    ("name", "kind", "values", "expected"),
    [
        ("sdiv", I8, (0x80, 0xFF), 0x80),
        ("sdiv", I32, ((1 << 32) - 7, 2), (1 << 32) - 3),
        ("srem", I32, ((1 << 32) - 7, 2), (1 << 32) - 1),
        ("sdiv", I32, (1, 0), 0),
        ("urem", I32, (1, 0), 0),
        ("shl", I32, (1, 32), 0),
        ("ashr", I32, (1 << 31, 40), 0),
        ("add", I128, ((1 << 128) - 1, 2), 1),
        ("add", BOOL, (1, 1), 0),
        ("slt", BOOL, (1, 0), 1),
        ("ctpop", I32, (0xF0F0,), 8),
        ("ctlz", I32, (1,), 31),
        ("ctlz", I32, (0,), 32),
        ("cttz", I16, (8,), 3),
        ("cttz", I16, (0,), 16),
        ("bswap", I32, (0x01020304,), 0x04030201),
        ("bitreverse", I8, (0b00010110,), 0b01101000),
        ("fshl", I8, (0x81, 0xC0, 1), 0x03),
        ("fshl", I8, (0x81, 0xC0, 9), 0x03),
        ("sadd_sat", I8, (100, 100), 127),
        ("sadd_sat", I8, (0x80, 0xFF), 0x80),
        ("ssub_sat", I8, (0x80, 1), 0x80),
        ("uadd_sat", I8, (200, 100), 255),
        ("usub_sat", I8, (100, 200), 0),
        ("umulhi", I64, ((1 << 64) - 1, (1 << 64) - 1), (1 << 64) - 2),
        ("smulhi", I64, ((1 << 64) - 1, (1 << 64) - 1), 0),
        ("smulhi", I32, (1 << 31, 2), (1 << 32) - 1),
    ],
)
def test_integer_cases(name, kind, values, expected):
    assert fold(name, kind, *values) == expected


def float_samples(kind):
    values = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        1e-8,
        65504.0,
        3.0,
        -2.5,
        1e30,
        math.inf,
        -math.inf,
        math.nan,
        2.0**-24,
        7.5e-8,
    ]
    return [round_to(kind, value) for value in values]


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or struct.pack("d", a) == struct.pack("d", b)


@pytest.mark.parametrize("kind", [F16, F32, F64], ids=str)
def test_floats_equal_numpy(kind):
    scalar = FLOATS[kind]
    binary = {"fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.divide, "frem": np.fmod}
    compare = {"foeq": np.equal, "fune": np.not_equal, "folt": np.less, "fole": np.less_equal}
    unary = {"floor": np.floor, "ceil": np.ceil, "trunc_f": np.trunc, "roundeven": np.rint, "sqrt": np.sqrt}
    with np.errstate(all="ignore"):
        for a in float_samples(kind):
            x = scalar(a)
            for name, reference in unary.items():
                assert same(fold(name, kind, a), float(reference(x))), (name, a)
            for b in float_samples(kind):
                y = scalar(b)
                for name, reference in binary.items():
                    assert same(fold(name, kind, a, b), float(reference(x, y))), (name, a, b)
                for name, reference in compare.items():
                    assert fold(name, kind, a, b) == int(reference(x, y)), (name, a, b)
                assert fold("fuo", kind, a, b) == int(math.isnan(a) or math.isnan(b))


@pytest.mark.parametrize("kind", [F16, F32], ids=str)
def test_rounding_equals_numpy(kind):
    rng = random.Random(1)
    scalar = FLOATS[kind]
    with np.errstate(all="ignore"):
        for _ in range(2000):
            value = rng.uniform(-2, 2) * 2.0 ** rng.randint(-160, 140)
            assert same(round_to(kind, value), float(scalar(value)))


def test_bf16_rounds_once_to_nearest_even():
    one = 1.0
    step = 2.0**-7
    assert round_to(BF16, one + step / 2) == one
    assert round_to(BF16, one + step * 1.5) == one + 2 * step
    # through f32 this would be a tie, and round down
    assert round_to(BF16, one + step / 2 + 2.0**-40) == one + step
    assert round_to(BF16, 3.4e38) == math.inf
    assert round_to(BF16, 2.0**-134) == 0.0
    assert round_to(BF16, 2.0**-133) == 2.0**-133
    assert same(round_to(BF16, -(2.0**-140)), -0.0)


@pytest.mark.parametrize("kind", [F16, BF16, F32, F64], ids=str)
def test_bits_of_floats_survive(kind):
    for bits in samples(kind.bits):
        value = float_from_bits(kind, bits)
        if not math.isnan(value):
            assert float_to_bits(kind, value) == bits
            assert same(round_to(kind, value), value)
            assert round_exact(kind, 0) == 0.0


@pytest.mark.parametrize("kind", [F16, F32, F64], ids=str)
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_number_casts_equal_numpy(kind, bits):
    origin = IntType(bits)
    with np.errstate(all="ignore"):
        for value in samples(bits):
            unsigned = UNSIGNED[bits](value)
            assert same(fold("uitofp", origin, value, type=kind), float(unsigned.astype(FLOATS[kind])))
            signed = np.array(value, UNSIGNED[bits]).view(SIGNED[bits])
            assert same(fold("sitofp", origin, value, type=kind), float(signed.astype(FLOATS[kind])))


@pytest.mark.parametrize(
    ("name", "value", "kind", "expected"),
    [
        ("fptosi", 3.9, I32, 3),
        ("fptosi", -3.9, I32, (1 << 32) - 3),
        ("fptosi", 1e20, I32, (1 << 31) - 1),
        ("fptosi", -math.inf, I32, 1 << 31),
        ("fptosi", math.nan, I32, 0),
        ("fptoui", -1.0, I8, 0),
        ("fptoui", 256.0, I8, 255),
        ("fptoui", math.inf, I64, (1 << 64) - 1),
    ],
)
def test_casts_to_integers_saturate(name, value, kind, expected):
    assert fold(name, F64, value, type=kind) == expected


def test_fma_rounds_once():
    # in double, a * b + c rounds to 1.0; exactly, it is below a tie of f32
    a = 1.0 + 2.0**-12
    exact = fold("fma", F32, a, a, 2.0**-60)
    assert exact == round_to(F32, 1.0 + 2.0**-11 + 2.0**-23)
    assert fold("fma", F64, 1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0) == -(2.0**-60)
    assert fold("fma", F64, 1e308, 10.0, -math.inf) == -math.inf
    assert same(fold("fma", F64, -0.0, 1.0, -0.0), -0.0)


def test_minimum_maximum_and_rounding_cases():
    assert fold("fmin", F32, math.nan, 1.0) == 1.0
    assert fold("fmax", F32, 1.0, math.nan) == 1.0
    assert same(fold("fmin", F64, 0.0, -0.0), -0.0)
    assert same(fold("fmax", F64, -0.0, 0.0), 0.0)
    assert fold("round_half_away", F64, 2.5) == 3.0
    assert fold("round_half_away", F64, -2.5) == -3.0
    assert fold("round_half_away", F64, 0.49999999999999994) == 0.0
    assert fold("roundeven", F64, 2.5) == 2.0
    assert same(fold("ceil", F64, -0.5), -0.0)


V4 = VectorType(I32, 4)
X = Argument(0, I32)
Y = Argument(1, I32)
W = Argument(2, I64)
P = Argument(3, PTR)
B = Argument(4, BOOL)
VEC = Argument(5, V4)
F = Argument(6, F32)


def vec(*lanes):
    return Const(V4, lanes)


def test_vectors():
    assert build("add", (vec(1, 2, 3, 4), vec(5, 6, 7, (1 << 32) - 1))) == vec(6, 8, 10, 3)
    mask = build("slt", (vec(1, 2, 3, 4), vec(2, 2, 2, 2)))
    assert mask == Const(VectorType(BOOL, 4), (1, 0, 0, 0))
    assert build("select", (mask, vec(1, 2, 3, 4), vec(9, 9, 9, 9))) == vec(1, 9, 9, 9)
    assert build("splat", (Const(I32, 7),), V4) == vec(7, 7, 7, 7)
    assert build("extract", (vec(1, 2, 3, 4), Const(I64, 2))) == Const(I32, 3)
    assert build("insert", (vec(1, 2, 3, 4), Const(I32, 9), Const(I64, 0))) == vec(9, 2, 3, 4)
    shuffled = build("shuffle", (vec(1, 2, 3, 4), vec(5, 6, 7, 8)), None, (7, 0))
    assert shuffled == Const(VectorType(I32, 2), (8, 1))
    assert build("bitcast", (Const(VectorType(I8, 4), (1, 2, 3, 4)),), I32) == Const(I32, 0x04030201)
    assert build("bitcast", (Const(VectorType(BOOL, 8), (1, 0, 1, 0, 0, 0, 0, 1)),), I8) == Const(I8, 0x85)
    assert build("bitcast", (Const(I32, 0x3F800000),), F32) == Const(F32, 1.0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("add", 10), ("mul", 24), ("and", 0), ("or", 7), ("xor", 4), ("smin", 1), ("smax", 4), ("umin", 1), ("umax", 4)],
)
def test_reductions(name, expected):
    assert build("reduce_" + name, (vec(1, 2, 3, 4),)) == Const(I32, expected)


def test_float_reductions_combine_halves():
    # (1e8 + -1e8) + (1 + 1): in sequence, the first 1 would be lost
    lanes = Const(VectorType(F32, 4), (1e8, 1.0, -1e8, 1.0))
    assert build("reduce_fadd", (lanes,)) == Const(F32, 2.0)
    assert build("reduce_fmax", (lanes,)) == Const(F32, 1e8)


def test_aggregates_and_pointers():
    pair = StructType((I8, I64))
    made = build("make", (Const(I8, 1), Const(I64, 2)), pair)
    assert made == Const(pair, (1, 2))
    assert build("get", (made,), None, 1) == Const(I64, 2)
    assert build("set", (made, Const(I64, 9)), None, 1) == Const(pair, (1, 9))
    assert build("make", (X, Y)).type == StructType((I32, I32))
    assert build("make", (X, Y), ArrayType(I32, 2)).type == ArrayType(I32, 2)
    address = Const(PTR, Address("table", 8))
    assert build("field", (address,), None, (pair, 1)) == Const(PTR, Address("table", 16))
    assert build("offset", (address, Const(I32, (1 << 32) - 1)), None, I32) == Const(PTR, Address("table", 4))
    assert build("offset", (Const(PTR, 0), Const(I64, 3)), None, pair) == Const(PTR, 48)
    assert build("field", (P,), None, (pair, 0)) is P
    assert build("field", (Argument(0, PointerType(3)),), None, (pair, 1)).type == PointerType(3)


def test_symbols_fold_only_where_they_can():
    a, b, null = Const(PTR, Address("a", 4)), Const(PTR, Address("b")), Const(PTR, 0)
    assert build("eq", (a, a)) == Const(BOOL, 1)
    assert build("ult", (a, Const(PTR, Address("a", 8)))) == Const(BOOL, 1)
    assert build("eq", (a, null)) == Const(BOOL, 0)
    assert isinstance(build("eq", (a, b)), Op)
    assert isinstance(build("ptrtoint", (a,), I64), Op)
    assert build("inttoptr", (build("ptrtoint", (a,), I64),), PTR) is a
    assert isinstance(build("field", (GlobalAddress("a"),), None, (StructType((I8, I64)), 1)), Op)


@pytest.mark.parametrize(
    ("name", "args", "type", "attr", "expected"),
    [
        ("add", (X, Const(I32, 0)), None, None, X),
        ("add", (Const(I32, 0), X), None, None, X),
        ("mul", (X, Const(I32, 1)), None, None, X),
        ("mul", (Const(I32, 0), X), None, None, Const(I32, 0)),
        ("mul", (VEC, vec(1, 1, 1, 1)), None, None, VEC),
        ("sub", (X, Const(I32, 0)), None, None, X),
        ("and", (B, Const(BOOL, 1)), None, None, B),
        ("or", (B, Const(BOOL, 1)), None, None, Const(BOOL, 1)),
        ("ne", (B, Const(BOOL, 0)), None, None, B),
        ("eq", (B, Const(BOOL, 0)), None, None, Op("not", (B,), BOOL)),
        ("not", (build("slt", (X, Y)),), None, None, build("sge", (X, Y))),
        ("not", (build("not", (X,)),), None, None, X),
        ("zext", (X,), I32, None, X),
        ("trunc", (build("sext", (X,), I64),), I32, None, X),
        ("zext", (build("zext", (X,), I64),), I128, None, Op("zext", (X,), I128)),
        ("select", (Const(BOOL, 1), X, Y), None, None, X),
        ("select", (B, Const(BOOL, 1), Const(BOOL, 0)), None, None, B),
        ("get", (build("make", (X, W)),), None, 1, W),
        ("get", (build("set", (Argument(9, StructType((I32, I64))), W), None, 1),), None, 1, W),
        ("extract", (build("splat", (X,), V4), Y), None, None, X),
        ("extract", (build("insert", (VEC, X, Const(I64, 2))), Const(I32, 2)), None, None, X),
        ("offset", (P, Const(I64, 0)), None, I32, P),
        ("fmul", (F, Const(F32, 1.0)), None, None, F),
        ("splat", (X,), I32, None, X),
        ("reduce_add", (X,), None, None, X),
        ("shuffle", (VEC, VEC), None, (0, 1, 2, 3), VEC),
        ("bitcast", (build("bitcast", (F,), I32),), F32, None, F),
    ],
)
def test_simplifications(name, args, type, attr, expected):
    assert build(name, args, type, attr) == expected


def test_one_lane_is_a_scalar():
    pair = build("shuffle", (X, Y), None, (1, 0))
    assert pair.type == VectorType(I32, 2)
    assert build("extract", (pair, Const(I32, 0))) is Y
    assert build("extract", (pair, Const(I32, 1))) is X
    assert build("shuffle", (VEC, VEC), None, (5,)) == build("extract", (VEC, Const(I32, 1)))
    assert build("extract", (X, Const(I32, 0))) is X
    assert build("insert", (X, Y, Const(I32, 0))) is Y


def test_nan_keeps_being_nan_in_bf16():
    assert float_to_bits(BF16, float_from_bits(F32, 0x7F800001)) & 0x7FFF > 0x7F80


def test_signed_zeros_are_not_simplified_away():
    assert isinstance(build("fadd", (F, Const(F32, 0.0))), Op)
    assert build("fadd", (F, Const(F32, -0.0))) is F
    pair = Argument(0, VectorType(F32, 2))
    assert isinstance(build("fadd", (pair, Const(pair.type, (-0.0, 0.0)))), Op)


@pytest.mark.parametrize(
    ("name", "args", "type", "attr"),
    [
        ("add", (X, W), None, None),
        ("add", (F, F), None, None),
        ("fadd", (X, X), None, None),
        ("add", (X,), None, None),
        ("zext", (W,), I32, None),
        ("trunc", (X,), I64, None),
        ("bitcast", (X,), I64, None),
        ("select", (X, X, X), None, None),
        ("field", (P,), None, (StructType((I8,)), 1)),
        ("get", (X,), None, 0),
        ("shuffle", (VEC, VEC), None, (8,)),
        ("make", (X,), StructType((I64,)), None),
        ("add", (X, Y), I64, None),
    ],
)
def test_wrong_operands_are_bugs(name, args, type, attr):
    with pytest.raises(Bug):
        build(name, args, type, attr)


def test_the_table_is_read_only_and_complete():
    if not native.is_used():  # compiled modules have dictionaries for speed
        with pytest.raises(TypeError):
            ROWS["x"] = None
    for name, row in ROWS.items():
        assert row.name == name
        assert (row.scalar is None) != (row.special is None)
        assert row.kind in {"binary", "unary", "cast", "icmp", "fcmp", "intrinsic", "special"}
        assert row.llvm.startswith("llvm.") or row.kind != "intrinsic"


def test_addresses_that_the_linker_decides_are_not_evaluated():
    assert evaluate("ptrtoint", (PTR,), (Address("a"),), I64) is None
