"""AIR's bitcode, read back by LLVM, which still reads the old form."""

import re
import struct

import llvmlite.binding as llvm
import pytest
from emit_modules import head
from ktc import targets
from ktc.diag.diagnostic import Bug
from ktc.emit.air import images as air
from ktc.emit.air.bitcode import bitcode
from ktc.emit.air.text import typed_text
from ktc.emit.air.values import float_bits, signed
from ktc.emit.llvm import optimized

TARGET = targets.find("apple-m4")

# Every instruction and every kind of constant that the writer knows.
TEXT = """
%pair = type { i32, [4 x float], <2 x half> }
@tab = internal addrspace(2) constant [3 x %pair] [%pair { i32 -5,
  [4 x float] [float 1.0, float 0x3FB99999A0000000, float -0.0, float 0x7FF8000000000000],
  <2 x half> <half 1.0, half 0xH3555> }, %pair zeroinitializer,
  %pair { i32 7, [4 x float] zeroinitializer, <2 x half> poison }]
@str = internal addrspace(2) constant [6 x i8] c"hi\\22\\0A\\FFx"
@sh = internal addrspace(3) global [64 x i64] undef, align 16
declare float @air.fast_exp.f32(float)
declare { i32, i1 } @llvm.uadd.with.overflow.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
declare float @llvm.fma.f32(float, float, float)
define internal float @helper(float %x, i32 %n) noinline {
  %c = fcmp olt float %x, 0.0
  %y = fneg float %x
  %z = select i1 %c, float %y, float %x
  %w = fdiv fast float %z, 3.0
  %m = call contract float @air.fast_exp.f32(float %w)
  %k = uitofp i32 %n to float
  %r = frem float %m, %k
  ret float %r
}
define void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(2) %n, <3 x i32> %tid, i32 %lane) {
entry:
  %t = extractelement <3 x i32> %tid, i32 1
  %m = load i64, ptr addrspace(2) %n
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %acc = phi float [ 0.0, %entry ], [ %acc2, %latch ]
  %p = phi ptr addrspace(1) [ %a, %entry ], [ %p2, %latch ]
  %v = load float, ptr addrspace(1) %p
  %p2 = getelementptr inbounds float, ptr addrspace(1) %p, i64 3
  %h = call float @helper(float %v, i32 %t)
  %lo = trunc i64 %i to i32
  switch i32 %lo, label %other [ i32 -1, label %one
    i32 2, label %two
    i32 70000, label %two ]
one:
  %f1 = call float @llvm.fma.f32(float %h, float 2.5, float %acc)
  br label %latch
two:
  %o = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %lo, i32 %t)
  %o0 = extractvalue { i32, i1 } %o, 0
  %o1 = extractvalue { i32, i1 } %o, 1
  %o2 = select i1 %o1, i32 -1, i32 %o0
  %f2 = sitofp i32 %o2 to float
  br label %latch
other:
  %q = udiv i64 %i, -9223372036854775808
  %qq = ashr exact i64 %m, 2
  %q2 = xor i64 %qq, %q
  %idx = and i64 %q2, 63
  %ps = getelementptr [64 x i64], ptr addrspace(3) @sh, i64 0, i64 %idx
  store volatile i64 %q2, ptr addrspace(3) %ps, align 8
  %big = load i64, ptr addrspace(3) getelementptr ([64 x i64], ptr addrspace(3) @sh, i64 0, i64 9)
  %f3 = uitofp i64 %big to float
  br label %latch
latch:
  %acc2 = phi float [ %f1, %one ], [ %f2, %two ], [ %f3, %other ]
  %next = add nuw nsw i64 %i, 1
  %done = icmp slt i64 %next, %m
  br i1 %done, label %loop, label %end
end:
  %mod = urem i32 %lane, 3
  %pt = getelementptr inbounds [3 x %pair], ptr addrspace(2) @tab, i32 0, i32 %mod, i32 2
  %hv = load <2 x half>, ptr addrspace(2) %pt
  %hx = fpext <2 x half> %hv to <2 x float>
  %sp = insertelement <2 x float> %hx, float %acc2, i32 0
  %sh = shufflevector <2 x float> %sp, <2 x float> %hx, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  %cm = fcmp ugt <4 x float> %sh, <float 1.0, float 2.0, float 3.0, float 4.0>
  %se = select <4 x i1> %cm, <4 x float> %sh, <4 x float> zeroinitializer
  store <4 x float> %se, ptr addrspace(1) %b, align 16
  %ch = getelementptr [6 x i8], ptr addrspace(2) @str, i32 0, i32 %mod
  %cv = load i8, ptr addrspace(2) %ch
  %pi = ptrtoint ptr addrspace(1) %b to i64
  %pj = add i64 %pi, 64
  %pp = inttoptr i64 %pj to ptr addrspace(1)
  store i8 %cv, ptr addrspace(1) %pp
  %fz = freeze i32 %lane
  %st = alloca [4 x i32], align 16
  %sa = getelementptr i32, ptr %st, i32 %mod
  store volatile i32 %fz, ptr %sa
  %ar = insertvalue [2 x i32] poison, i32 %fz, 1
  store [2 x i32] %ar, ptr addrspace(1) %pp
  %dyn = insertelement <4 x float> %se, float 5.0, i32 %mod
  %ex = extractelement <4 x float> %dyn, i32 %lane
  %bf = fptrunc float %ex to half
  store half %bf, ptr addrspace(1) %a
  ret void
}
!air.kernel = !{!0}
!air.version = !{!9}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3}
!3 = !{i32 0, !"air.buffer", null, i32 -1}
!9 = !{i32 2, i32 7, i32 0}
"""


def without_casts(lines):
    """Put what is cast from pointer to pointer where the cast was used."""
    same, kept = {}, []
    for line in lines:
        if found := re.match(r"  (%\S+) = ", line):
            same.pop(found[1], None)  # a name of another function
        line = re.sub(r"%(?:\"[^\"]*\"|[\w.$-]+)", lambda name: same.get(name[0], name[0]), line)
        if found := re.match(r"  (%\S+) = bitcast ptr(?: addrspace\(\d+\))? (.+) to ptr", line):
            same[found[1]] = found[2]
        else:
            kept.append(line)
    return kept


def optimized_text(text, level):
    with optimized(text, TARGET, level, "k") as module:
        return str(module)


def read_back(text):
    """What LLVM reads in the bitcode that is written for LLVM assembly."""
    with llvm.create_context() as context, llvm.parse_bitcode(bitcode(typed_text(text)), context) as module:
        module.verify()
        return str(module)


def instructions(text):
    """The instructions of each function without names, and without the casts that typed pointers need."""
    lines = [re.sub(r",? ![\w.]+ !\d+| #\d+$", "", line) for line in text.splitlines() if line.startswith("  ")]
    lines = without_casts([line for line in lines if "@llvm.assume" not in line])
    lines = [re.sub(r"\b(?:fastcc|coldcc|nneg|disjoint|samesign) ", "", line) for line in lines]
    lines = [re.sub(r"(= trunc) (?:nuw |nsw )+", r"\1 ", line) for line in lines]
    lines = [re.sub(r"(getelementptr(?: inbounds)?)(?: nuw| nusw)+", r"\1", line) for line in lines]
    return [re.sub(r"%(?!pair)(\"[^\"]*\"|[\w.$-]+)", "%", line).replace("%pair.0", "%pair") for line in lines]


@pytest.mark.parametrize("level", [0, 1, 3])
def test_llvm_reads_the_same_instructions(level):
    before = optimized_text(head(TARGET) + TEXT, level)
    assert instructions(read_back(before)) == instructions(before)


def test_globals_and_metadata():
    old = optimized_text(head(TARGET) + TEXT, 0)
    new = read_back(old).replace("%pair.0", "%pair")
    for line in (f'target triple = "{TARGET.triple}"', f'target datalayout = "{TARGET.data_layout}"'):
        assert line in new.splitlines()
    for start in ("@tab = ", "@str = ", "@sh = ", "!air.kernel", "!0 = ", "!2 = ", "!3 = "):
        (wanted,) = [line for line in old.splitlines() if line.startswith(start)]
        assert wanted in new.splitlines(), start
    assert "!{i32 2, i32 7, i32 0}" in new


def test_attributes_that_change_code_are_kept():
    text = f"""{head(TARGET)}
declare void @air.wg.barrier(i32, i32) convergent nounwind
define void @k(ptr addrspace(1) noalias readonly captures(none) %a) {{
  call void @air.wg.barrier(i32 2, i32 1)
  ret void
}}"""
    after = read_back(optimized_text(text, 0))
    assert "convergent nounwind" in after
    assert re.search(r"@k\(ptr addrspace\(1\) noalias readonly captures\(none\)", after)


def test_the_metallib_contains_wrapped_bitcode():
    with optimized(head(TARGET) + TEXT, TARGET, 3, "k") as module:
        made = air.emit(str(module), TARGET, "k", {"asm", "object", "image"})
    assert made["object"][:4] == (0x0B17C0DE).to_bytes(4, "little")
    magic, size, count, _ = struct.unpack_from("<4Q", made["image"])
    assert magic == air.MAGIC and made["image"].endswith(made["object"])
    assert made["image"][32 + (count + 7) // 8 * 8 :][:4] == b"MTLB" and made["image"][-size:][:4] == b"MTLB"
    assert b"define void @k(" in made["asm"]


def test_the_same_bytes_every_time():
    texts = [typed_text(optimized_text(head(TARGET) + TEXT, 3)) for _ in range(2)]
    assert bitcode(texts[0]) == bitcode(texts[1])


@pytest.mark.parametrize("line", ["call void %f()", "resume i32 1", "%x = va_arg i8* null, i32"])
def test_what_it_does_not_know_is_refused(line):
    with pytest.raises(Bug, match="AIR has no"):
        bitcode(f"define void @k(void ()* %f) {{\n  {line}\n  ret void\n}}\n")


@pytest.mark.parametrize(
    ("kind", "text", "bits"),
    [
        ("float", "1.000000e+00", 0x3F800000), ("float", "0x3FB99999A0000000", 0x3DCCCCCD), ("half", "0xH3555", 0x3555),
        ("bfloat", "0xR3F80", 0x3F80), ("double", "-0.0", 1 << 63), ("half", "1.0", 0x3C00),
    ],
)  # fmt: skip
def test_bits_of_numbers(kind, text, bits):
    assert float_bits(kind, text) == bits


def test_signed_numbers():
    assert [signed(number) for number in (0, 1, -1, 5)] == [0, 2, 3, 10]
