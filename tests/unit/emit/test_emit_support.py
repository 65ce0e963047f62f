"""The routines that LLVM calls for conversions, against numpy and Python's own numbers."""

import ctypes
import random

import llvmlite.binding as llvm
import numpy as np
import pytest
from ktc.base.records import replace
from ktc.emit import llvm as emitted
from ktc.emit.support import routines
from ktc.targets.host import host_target

KINDS = {"half": ("hf", "i16", np.float16), "bfloat": ("bf", "i16", None), "float": ("sf", "i32", np.float32)}
KINDS["double"] = ("df", "i64", np.float64)
WIDE = ("float", "double", "half")
UNSIGNED = {"i16": ctypes.c_uint16, "i32": ctypes.c_uint32, "i64": ctypes.c_uint64}


def wrapper(name, source, result):
    """A function over the bits: the ABI of `half` and `i128` is LLVM's own business."""
    into = KINDS[result][1] if result != "i128" else "i128"
    have = KINDS[source][1] if source != "i128" else "i128"
    if "i128" in (source, result):
        load = "%x = load i128, ptr %in" if source == "i128" else f"%x = load {source}, ptr %in"
        return (
            f"define void @t{name}(ptr %in, ptr %out) {{ {load}\n %r = call {result} @{name}({source} %x)\n"
            f" store {result} %r, ptr %out\n ret void }}\n"
        )
    return (
        f"define {into} @t{name}({have} %b) {{ %x = bitcast {have} %b to {source}\n"
        f" %r = call {result} @{name}({source} %x)\n %i = bitcast {result} %r to {into}\n ret {into} %i }}\n"
    )


@pytest.fixture(scope="module")
def call():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = replace(host_target(), cpu="x86-64" if "x86" in host_target().triple else "", features="")
    text = f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"\n'
    short = [("__extendhfsf2", "half", "float"), ("__truncsfhf2", "float", "half"), ("__truncdfhf2", "double", "half")]
    short += [("__truncsfbf2", "float", "bfloat"), ("__truncdfbf2", "double", "bfloat")]
    text += "".join(wrapper(*row) for row in short)
    for kind in WIDE:
        letters = KINDS[kind][0]
        text += wrapper(f"__floatti{letters}", "i128", kind) + wrapper(f"__floatunti{letters}", "i128", kind)
        text += wrapper(f"__fix{letters}ti", kind, "i128") + wrapper(f"__fixuns{letters}ti", kind, "i128")
    text += "; itofp fpto\n"
    module = llvm.parse_assembly(text + routines(text, target))
    machine = llvm.Target.from_triple(target.triple).create_target_machine(cpu=target.cpu, reloc="pic", jit=True)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    kinds = {name: (KINDS[source][1], KINDS[result][1]) for name, source, result in short}

    def run(name, argument):
        address = engine.get_function_address(f"t{name}")
        if name in kinds:
            source, result = (UNSIGNED[kind] for kind in kinds[name])
            return ctypes.CFUNCTYPE(result, source)(address)(argument)
        given, made = ctypes.create_string_buffer(argument, 16), ctypes.create_string_buffer(16)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)(given, made)
        return made.raw

    run.engine = engine
    return run


def bits_of(value):
    return int(value.view(f"u{value.itemsize}"))


def floats(kind, count=4000):
    """Numbers of all sizes, and those at which rounding to half and bfloat turns."""
    chance = random.Random(5)
    top = {np.float32: 2**32, np.float64: 2**64}[kind]
    unsigned = f"u{np.dtype(kind).itemsize}"
    values = [np.array(chance.randrange(top), unsigned).view(kind)[()] for _ in range(count)]
    turns = [bits for bits in range(0, 0x7C00, 37)] + [0, 1, 0x3FF, 0x400, 0x7BFF]
    with np.errstate(over="ignore"):
        for bits in turns:
            low, high = (np.array(b, "u2").view("f2").astype(kind)[()] for b in (bits, bits + 1))
            middle = (low + high) / kind(2) if high < 1e9 else kind(65520)
            values += [low, middle, np.nextafter(middle, kind(0)), np.nextafter(middle, kind(1e9)), -middle]
            for small in (1e-45, 1e-40, 1.1754942e-38):
                values.append(kind(small) * kind(bits + 1))
    return [*values, kind(0), -kind(0), kind("inf"), kind("-inf"), kind("nan"), kind(65519.99), kind(3.39e38)]


def test_half_and_floats(call):
    for bits in range(0, 65536, 3):
        half = np.array(bits, "u2").view("f2")
        with np.errstate(invalid="ignore"):
            wanted = half.astype("f4")
        got = np.array(call("__extendhfsf2", bits), "u4").view("f4")
        assert got.tobytes() == wanted.tobytes() or (np.isnan(got) and np.isnan(wanted))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for name, kind in (("__truncsfhf2", np.float32), ("__truncdfhf2", np.float64)):
            for value in floats(kind):
                got = np.array(call(name, bits_of(value)), "u2").view("f2")
                same = got.tobytes() == value.astype("f2").tobytes()
                assert same or (np.isnan(value) and np.isnan(got)), (name, value)


def bfloat_of(value):
    """The nearest bfloat's bits by exact arithmetic on the bits of a float64."""
    sign, size = (0x8000 if np.signbit(value) else 0), abs(float(value))
    if size >= float.fromhex("0x1.FFp127"):
        return sign | 0x7F80
    exponent = max(int(np.frexp(size)[1]) - 1, -126) - 7 if size else -133
    count = size / 2.0**exponent if exponent > -1000 else 0  # exact: a power of two
    whole = int(count)
    rest = count - whole
    whole += rest > 0.5 or (rest == 0.5 and whole % 2)
    return sign | (whole if exponent == -133 else ((exponent + 133) << 7) + whole)


def test_bfloats(call):
    for name, kind in (("__truncsfbf2", np.float32), ("__truncdfbf2", np.float64)):
        for value in floats(kind):
            got = call(name, bits_of(value))
            if np.isnan(value):
                assert got & 0x7F80 == 0x7F80
                assert got & 0x7F
            else:
                assert got == bfloat_of(value), (name, value)


def test_wide_numbers(call):
    chance = random.Random(7)
    numbers = [chance.randrange(2 ** chance.randint(1, 128)) for _ in range(3000)]
    numbers += [0, 1, 2**24 + 1, 2**53 + 1, 2**127, 2**128 - 1, 65519, 65520, 2**64 + 2**11, 2**117 + 1]
    with np.errstate(over="ignore"):
        for kind in WIDE:
            letters, _, dtype = KINDS[kind]
            size = np.dtype(dtype).itemsize
            for number in numbers:
                signed = number - 2**128 if number >= 2**127 else number
                for name, value in ((f"__floatunti{letters}", number), (f"__floatti{letters}", signed)):
                    got = np.frombuffer(call(name, number.to_bytes(16, "little"))[:size], dtype)[0]
                    assert got == nearest(value, dtype), (name, value)
            for number in (0.0, 0.75, -1.5, 1e3, -65504.0, 2.0**100, -(2.0**126) * 1.25, 12345678.9):
                if abs(number) > 65504 and kind == "half":
                    continue
                held = dtype(number)
                got = int.from_bytes(call(f"__fix{letters}ti", held.tobytes()), "little", signed=True)
                assert got == int(held), (kind, number)


def nearest(value, dtype):
    """A whole number, rounded once."""
    digits = {np.float16: 11, np.float32: 24, np.float64: 53}[dtype]
    size = abs(value)
    cut = max(size.bit_length() - digits, 0)
    whole, rest = divmod(size, 1 << cut)
    whole += 2 * rest > 1 << cut or (2 * rest == 1 << cut and whole % 2)
    with np.errstate(over="ignore"):
        made = dtype(np.inf) if (whole << cut) >= 2**1000 else dtype(float(whole << cut))
    return -made if value < 0 else made


def test_divisions():
    """Divisions of 128 bits against Python's; LLVM would call a routine for them, and makes them in place instead."""
    target = host_target()
    text = f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"\n'
    for op in ("udiv", "urem", "sdiv", "srem"):
        text += (
            f"define void @t{op}(ptr %a, ptr %b, ptr %out) {{ %x = load i128, ptr %a\n %y = load i128, ptr %b\n"
            f" %r = {op} i128 %x, %y\n store i128 %r, ptr %out\n ret void }}\n"
        )
    with emitted.parsed(text) as module:
        code = emitted.object_code(module, target, 2)
        assert b"ti3" not in code
    engine = llvm.create_mcjit_compiler(
        llvm.parse_assembly(""), llvm.Target.from_triple(target.triple).create_target_machine(reloc="pic", jit=True)
    )
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    sizes = (1, 8, 31, 63, 64, 65, 100, 126, 127, 128)
    chosen = random.Random(3)
    pairs = [(chosen.getrandbits(a), chosen.getrandbits(b) or 1) for a in sizes for b in sizes for _ in range(8)]
    pairs += [(2**128 - 1, 1), (2**128 - 1, 2**128 - 1), (0, 7), (2**127, 3), (5, 2**128 - 5), (2**64, 2**64)]
    for x, y in pairs:
        signed = [one - (one >> 127 << 128) for one in (x, y)]
        quotient = abs(signed[0]) // abs(signed[1]) * (1 if (signed[0] < 0) == (signed[1] < 0) else -1)
        wanted = {"udiv": x // y, "urem": x % y, "sdiv": quotient, "srem": signed[0] - quotient * signed[1]}
        for op, value in wanted.items():
            numbers = [ctypes.create_string_buffer(one.to_bytes(16, "little"), 16) for one in (x, y, 0)]
            ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(engine.get_function_address(f"t{op}"))(*numbers)
            assert int.from_bytes(numbers[2].raw, "little") == value % 2**128, (op, x, y)
