"""Values that SPIR-V has not, rewritten: LLVM reads the result, and an interpreter of both gives the same numbers."""

import ctypes
import re
import struct

import llvmlite.binding as llvm
import pytest
from ktc.emit.spirv import images
from ktc.emit.spirv.leaves import constant, leaves
from ktc.emit.spirv.legal import legal
from ktc.emit.spirv.routines import with_reversals, with_routines
from ktc.emit.spirv.text import HAS_MAILBOX, HAS_SHAPE, HAS_SHARED, for_spirv
from ktc.targets.spirv import TARGETS

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

GENERIC = TARGETS[0]

MULTIPLY_HIGH = """
define i64 @_Z6mul_himm(i64 %a, i64 %b) {
  %x = zext i64 %a to i128
  %y = zext i64 %b to i128
  %p = mul i128 %x, %y
  %h = lshr i128 %p, 64
  %r = trunc i128 %h to i64
  ret i64 %r
}
"""

VALUES = (0, 1, 2, 5, 63, 64, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0x123456789ABCDEF0)


def function(lines: str) -> str:
    """Return a function that computes an i64 of two; its result is stored, as a kernel's is."""
    return f"define void @k(i64 %a, i64 %b, ptr %out) {{\nentry:\n{lines}\n  store i64 %r, ptr %out\n  ret void\n}}\n"


def results(text: str) -> list[int]:
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(module, machine)
    call = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p)(engine.get_function_address("k"))
    out = ctypes.c_uint64()
    found = []
    for a in VALUES:
        for b in VALUES:
            call(a, b, ctypes.byref(out))
            found.append(out.value)
    return found


def wide(operation: str) -> str:
    return f"""
  %s = sext i64 %a to i128
  %m = mul i128 %s, 1000000007000000009
  %u = zext i64 %b to i128
  %v = add i128 %u, %m
{operation}
  %lo = trunc i128 %w to i64
  %up = lshr i128 %w, 64
  %hi = trunc i128 %up to i64
  %r = xor i64 %lo, %hi"""


CASES = {
    "add": wide("  %w = add i128 %v, %m"),
    "sub": wide("  %w = sub i128 %u, %m"),
    "mul": wide("  %w = mul i128 %v, %m"),
    "shl": wide("  %c = and i128 %u, 127\n  %w = shl i128 %v, %c"),
    "lshr": wide("  %c = and i128 %u, 127\n  %w = lshr i128 %v, %c"),
    "ashr": wide("  %c = and i128 %u, 127\n  %w = ashr i128 %v, %c"),
    "slt": wide("  %c = icmp slt i128 %v, %m\n  %w = select i1 %c, i128 %v, i128 %u"),
    "uge": wide("  %c = icmp uge i128 %v, %m\n  %w = select i1 %c, i128 %m, i128 %u"),
    "smin": wide("  %w = call i128 @llvm.smin.i128(i128 %v, i128 %m)"),
    "umax": wide("  %w = call i128 @llvm.umax.i128(i128 %v, i128 %m)"),
    "abs": wide("  %w = call i128 @llvm.abs.i128(i128 range(i128 0, 5) %v, i1 false)"),
    "ctlz": wide("  %w = call i128 @llvm.ctlz.i128(i128 %v, i1 false)"),
    "cttz": wide("  %w = call i128 @llvm.cttz.i128(i128 %m, i1 false)"),
    "ctpop": wide("  %w = call i128 @llvm.ctpop.i128(i128 %v)"),
    "bswap": wide("  %w = call i128 @llvm.bswap.i128(i128 %v)"),
    "odd integers": """
  %t = trunc i64 %a to i33
  %q = trunc i64 %b to i33
  %m = mul i33 %t, 3
  %n = sub i33 %m, %q
  %c = icmp slt i33 %n, -5
  %d = lshr i33 %n, 3
  %e = ashr i33 %n, 2
  %f = select i1 %c, i33 %d, i33 %e
  %g = zext i33 %f to i64
  %h = sext i33 %n to i64
  %i = trunc i64 %a to i2
  %j = icmp eq i2 %i, -1
  %k = zext i1 %j to i64
  %x = xor i64 %g, %h
  %r = add i64 %x, %k""",
    "a switch": """
  %i = trunc i64 %a to i3
  switch i3 %i, label %other [
    i3 -1, label %first
    i3 1, label %second
  ]

first:
  br label %other

second:
  br label %other

other:
  %r = phi i64 [ 7, %entry ], [ 8, %first ], [ %b, %second ]""",
    "structs": """
  %p = insertvalue { i64, { i32, i64 } } zeroinitializer, i64 %a, 0
  %c = icmp ult i64 %a, %b
  br i1 %c, label %then, label %join

then:
  %q = insertvalue { i64, { i32, i64 } } %p, i64 %b, 1, 1
  br label %join

join:
  %s = phi { i64, { i32, i64 } } [ %p, %entry ], [ %q, %then ]
  %slot = alloca { i64, { i32, i64 } }
  store { i64, { i32, i64 } } %s, ptr %slot
  %l = load { i64, { i32, i64 } }, ptr %slot
  %x = extractvalue { i64, { i32, i64 } } %l, 0
  %i = extractvalue { i64, { i32, i64 } } %l, 1
  %y = extractvalue { i32, i64 } %i, 1
  %r = sub i64 %x, %y""",
    "wide vectors": """
  %v = insertelement <32 x i64> zeroinitializer, i64 %a, i64 3
  %m = and i64 %b, 31
  %w = insertelement <32 x i64> %v, i64 %b, i64 %m
  %s = shufflevector <32 x i64> %w, <32 x i64> splat (i64 9), <4 x i32> <i32 3, i32 31, i32 40, i32 5>
  %d = add <4 x i64> %s, <i64 1, i64 2, i64 3, i64 4>
  %e = extractelement <4 x i64> %d, i64 0
  %f = extractelement <32 x i64> %w, i64 %m
  %g = call i64 @llvm.vector.reduce.add.v32i64(<32 x i64> %w)
  %x = xor i64 %e, %f
  %r = add i64 %x, %g""",
    "bits in reverse": "  %r = call i64 @llvm.bitreverse.i64(i64 %a)",
}


@pytest.mark.parametrize("name", CASES)
def test_same_numbers(name: str) -> None:
    text = function(CASES[name])
    changed = legal(text)
    for odd in ("i128", "i33", "i2 ", "i3 ", "<32 x", "phi {", "@llvm.bitreverse"):
        assert odd not in changed
    changed = changed.replace("declare i64 @_Z6mul_himm(i64, i64)", "").replace(", addrspace(5)", "")
    assert results(changed + MULTIPLY_HIGH) == results(text)


@pytest.mark.parametrize("op", ["udiv", "urem", "sdiv", "srem"])
def test_division_of_128_bits(op: str) -> None:
    text = function(f"""
  %s = {op[0].replace("u", "z")}ext i64 %a to i128
  %m = mul i128 %s, 1000000007000000009
  %u = zext i64 %b to i128
  %d = or i128 %u, 1
  %w = {op} i128 %m, %d
  %lo = trunc i128 %w to i64
  %up = lshr i128 %w, 64
  %hi = trunc i128 %up to i64
  %r = xor i64 %lo, %hi""")
    changed = with_routines(text)
    assert f"{op} i128" not in changed
    found = results(re.sub(r",? addrspace\(5\)", "", changed))
    assert found == [quotient(op, a, b | 1) for a in VALUES for b in VALUES]


def quotient(op: str, a: int, b: int) -> int:
    """Return both halves of the result, as the function above gives them."""
    if op[0] == "s" and a >> 63:
        a -= 1 << 64
    number = a * 1000000007000000009
    whole = abs(number) // b * (-1 if number < 0 else 1)
    result = (whole if op.endswith("div") else number - whole * b) & ((1 << 128) - 1)
    return (result ^ result >> 64) & ((1 << 64) - 1)


def test_bfloat_is_rounded_to_even() -> None:
    text = function("""
  %n = trunc i64 %a to i32
  %f = bitcast i32 %n to float
  %h = fptrunc float %f to bfloat
  %s = fadd bfloat %h, 0xR3F80
  %w = fpext bfloat %s to float
  %c = fcmp uno float %w, %w
  %z = select i1 %c, float 0.0, float %w
  %i = bitcast float %z to i32
  %r = zext i32 %i to i64""")
    changed = legal(text)
    assert "bfloat" not in changed
    found = results(changed)
    assert found[VALUES.index(1) * len(VALUES)] == 0x3F800000  # a subnormal number and 1
    assert found[VALUES.index(0x123456789ABCDEF0) * len(VALUES)] == 0x3F800000  # 0x9ABCDEF0 is -7.8e-23


def test_leaves() -> None:
    assert leaves("<4 x float>") is None and leaves("i32") is None
    assert leaves("<{ i8, [2 x float] }>") == ("i8", "float", "float")
    assert leaves("<5 x i16>") == ("i16",) * 5
    assert constant("{ i128, ptr }", "{ i128 -1, ptr null }") == ["18446744073709551615"] * 2 + ["null"]


def test_a_failing_kernel_leaves_a_note() -> None:
    text = """target datalayout = "e"
define spir_kernel void @k(i64 %p0) {
entry:
  %c = icmp eq i64 %p0, 0
  br i1 %c, label %bad, label %good

bad:
  tail call void @llvm.trap()
  unreachable

good:
  ret void
}
"""
    kernel = for_spirv(text, GENERIC)
    assert kernel.arguments == HAS_MAILBOX
    assert "@k(i64 %p0, i64 %ktc.mailbox)" in kernel.text
    assert "store i32 1, ptr addrspace(1) %ktc.mail" in kernel.text and "unreachable" not in kernel.text


def test_shared_memory_of_the_launch_is_an_argument() -> None:
    text = """target datalayout = "e"
@held = external addrspace(3) global [0 x i8], align 16
define spir_kernel void @k(i64 %p0) {
entry:
  store i32 1, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @held, i64 8), align 4
  store i32 2, ptr addrspacecast (ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @held, i64 8) to ptr), align 4
  ret void
}
"""
    kernel = for_spirv(text, GENERIC)
    assert kernel.arguments == HAS_SHARED
    assert "@k(i64 %p0, ptr addrspace(3) %ktc.shared)" in kernel.text and "@held" not in kernel.text
    assert "addrspacecast ptr addrspace(3) %ktc.place1 to ptr addrspace(4)" in kernel.text


def test_a_kernel_with_warps_receives_the_shape_of_its_block() -> None:
    text = """target datalayout = "e"
declare i64 @_Z12get_local_idj(i32)
declare i64 @_Z14get_local_sizej(i32)
declare i32 @_Z22get_sub_group_local_idv()
define spir_kernel void @k(i64 %p0) {
entry:
  %row = tail call i64 @_Z12get_local_idj(i32 1)
  %size = tail call i64 @_Z14get_local_sizej(i32 0)
  %lane = tail call i32 @_Z22get_sub_group_local_idv()
  ret void
}
"""
    kernel = for_spirv(text, GENERIC)
    assert kernel.arguments == HAS_SHAPE and "@k(i64 %p0, i64 %ktc.shape)" in kernel.text
    assert "%row = add i64 %ktc.id1, 0" in kernel.text and "%size = add i64 %ktc.size0, 0" in kernel.text
    without = text.replace("  %lane = tail call i32 @_Z22get_sub_group_local_idv()\n", "")
    assert for_spirv(without, GENERIC).arguments == 0


def test_reversal_is_made_once_for_a_type() -> None:
    text = "declare i32 @llvm.bitreverse.i32(i32)\n%a = call i32 @llvm.bitreverse.i32(i32 %b)\n"
    assert with_reversals(text).count("define internal i32 @ktc.bitreverse.i32") == 1


def test_numbers_that_two_results_share() -> None:
    """A module whose label has the number of its function is made once more; LLVM's own modules come out sound."""

    def module(label: int) -> bytes:
        words = [0x07230203, 0x10400, 0, 10, 0, 2 << 16 | 19, 1, 3 << 16 | 33, 2, 1, 5 << 16 | 54, 1, 3, 0, 2]
        return struct.pack(f"<{len(words) + 4}I", *words, 2 << 16 | 248, label, 1 << 16 | 253, 1 << 16 | 56)

    assert images._doubled_ids(module(3)) and not images._doubled_ids(module(4))
    assert images._doubled_names(b"  %1 = OpTypeVoid\n  %1 = OpLabel\n") and not images._doubled_names(
        b"  %1 = OpLabel\n"
    )
    made = iter([module(3), module(2), module(4), module(5)])
    assert images._retried(lambda: next(made), images._doubled_ids) == module(4)


def test_zeros_are_constants_like_others() -> None:
    """The number of a struct's member may not be an `OpConstantNull`."""
    header, kinds = (
        [0x07230203, 0x10400, 0, 9, 0],
        [4 << 16 | 21, 1, 32, 0, 4 << 16 | 21, 2, 64, 0, 3 << 16 | 22, 3, 32],
    )
    nulls = [3 << 16 | 46, 1, 4, 3 << 16 | 46, 2, 5, 3 << 16 | 46, 3, 6]
    wanted = [4 << 16 | 43, 1, 4, 0, 5 << 16 | 43, 2, 5, 0, 0, 3 << 16 | 46, 3, 6]
    code = struct.pack("<25I", *header, *kinds, *nulls)
    assert images.plain_zeros(code) == struct.pack("<28I", *header, *kinds, *wanted)
    text = "\t%1 = OpTypeInt 32 0\n\t%3 = OpTypeFloat 32\n\t%4 = OpConstantNull %1\n\t%6 = OpConstantNull %3\n"
    assert images.plain_zeros_of_text(text) == text.replace("Null %1", " %1 0")
