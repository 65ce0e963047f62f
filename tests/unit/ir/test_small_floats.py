"""Floats of one byte: each byte to a number and back, roundings, and NVIDIA's casts of two at compile time."""

import math
from fractions import Fraction

import pytest
from ktc.ir.interpreter.external_functions import intrinsic
from ktc.ir.interpreter.memory import Memory
from ktc.ir.small_floats import FORMATS, decode, encode, encode_exponent
from ktc.ir.types import F16, F32, I16, VectorType


@pytest.mark.parametrize("kind", FORMATS)
def test_each_byte_is_a_number_and_back(kind):
    form = FORMATS[kind]
    for bits in range(256):
        number = decode(form, bits)
        assert encode(form, number) == (form.nan if math.isnan(number) else bits)


@pytest.mark.parametrize(
    ("kind", "number", "bits", "saturated"),
    [
        ("e4m3fn", 448.0, 0x7E, 0x7E),
        ("e4m3fn", 465.0, 0x7F, 0x7E),
        ("e4m3fn", -math.inf, 0xFF, 0xFE),
        ("e4m3fn", -math.nan, 0x7F, 0x7F),
        ("e4m3fn", Fraction(17, 16), 0x38, 0x38),
        ("e5m2", 1e9, 0x7C, 0x7B),
        ("e5m2", -0.0, 0x80, 0x80),
        ("e4m3fnuz", -0.0, 0, 0),
        ("e5m2fnuz", math.inf, 0x80, 0x7F),
    ],
)
def test_roundings(kind, number, bits, saturated):
    assert encode(FORMATS[kind], number) == bits
    assert encode(FORMATS[kind], number, saturate=True) == saturated


def test_exponents_are_rounded_up():
    numbers = (0, 1, -1.0, 1.1, Fraction(1, 3), 2.0**-127, 2.0**-126 * 0.75, 1e-300, 3e38, math.inf, math.nan)
    assert [encode_exponent(number) for number in numbers] == [0, 127, 127, 128, 126, 0, 1, 0, 254, 255, 255]


def test_casts_of_two():
    memory, half = Memory(1 << 20), VectorType(F16, 2)
    narrow, widen = intrinsic("llvm.nvvm.ff.to.e5m2x2.rn"), intrinsic("llvm.nvvm.e5m2x2.to.f16x2.rn")
    assert narrow(memory, (F32, F32), (-1e9, 1.5), I16) == 0xFB3E
    assert widen(memory, (I16,), (0xFC3E,), half) == (1.5, -math.inf)
