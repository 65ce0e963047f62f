"""Saturating casts of vectors, written out: the same numbers as LLVM's own."""

import ctypes
import math
import struct

import llvmlite.binding as llvm
import pytest
from ktc.emit.loops import vector_casts

LANES = 4
NUMBERS = [
    0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 127.0, 127.5, 128.0, -128.0, -128.9, -129.0, 255.0, 255.9, 256.0, 32767.5,
    -32769.0, 65535.5, 65536.0, 2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0, 4294967040.0, 4294967296.0,
    9223371487098961920.0, 9223372036854775808.0, -9223372036854775808.0, 18446742974197923840.0, 1.9e19, 1e30, -1e30,
    math.inf, -math.inf, math.nan, 3.7,
]  # fmt: skip


def module(kinds: list[tuple[str, str, int]]) -> str:
    """Return a module with a function for each cast, of four numbers in memory."""
    lines = []
    for sign, have, bits in kinds:
        short = {"float": "f32", "double": "f64"}[have]
        name = f"llvm.fpto{sign}i.sat.v{LANES}i{bits}.v{LANES}{short}"
        lines += [
            f"declare <{LANES} x i{bits}> @{name}(<{LANES} x {have}>)",
            f"define void @{sign}{short}i{bits}(ptr %a, ptr %b) {{",
            f"  %1 = load <{LANES} x {have}>, ptr %a, align 1",
            f"  %2 = tail call <{LANES} x i{bits}> @{name}(<{LANES} x {have}> %1)",
            f"  store <{LANES} x i{bits}> %2, ptr %b, align 1",
            "  ret void",
            "}",
        ]
    return "\n".join(lines)


def casts(text: str, kinds: list[tuple[str, str, int]]) -> dict[tuple[str, str, int], list[int]]:
    """Run each function of a module on all numbers."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    found = {}
    with llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine) as engine:
        engine.finalize_object()
        for sign, have, bits in kinds:
            address = engine.get_function_address(f"{sign}{'f32' if have == 'float' else 'f64'}i{bits}")
            run = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)(address)
            results: list[int] = []
            for at in range(0, len(NUMBERS), LANES):
                given = struct.pack(f"<{LANES}{'f' if have == 'float' else 'd'}", *NUMBERS[at : at + LANES])
                out = ctypes.create_string_buffer(LANES * bits // 8)
                run(given, out)
                size = bits // 8
                results += [int.from_bytes(out.raw[one * size : one * size + size], "little") for one in range(LANES)]
            found[sign, have, bits] = results
    return found


@pytest.mark.skipif(not llvm.get_default_triple().startswith("x86_64"), reason="written out for x86 alone")
def test_expanded_casts_compute_the_same_numbers() -> None:
    kinds = [(sign, have, bits) for sign in "su" for have in ("float", "double") for bits in (8, 16, 32, 64)]
    text = module(kinds)
    written = vector_casts.split(text)
    assert "call" not in written and "fptosi <4 x float>" in written
    assert casts(written, kinds) == casts(text, kinds)


def test_only_modules_with_such_calls_are_touched() -> None:
    assert vector_casts.are_there(["main", "llvm.fptoui.sat.v16i8.v16f32"])
    assert not vector_casts.are_there(["main", "llvm.fptoui.sat.i8.f32", "llvm.sadd.sat.v4i32"])


def test_metadata_stays_and_attributes_are_removed() -> None:
    line = "  %r = call <4 x i8> @llvm.fptosi.sat.v4i8.v4f32(<4 x float> %x) #3, !dbg !7"
    assert vector_casts.split(line).split("\n")[-1].endswith("zeroinitializer, !dbg !7")
