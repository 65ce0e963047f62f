"""Loops that are rewritten compute what they did: both are run on this machine's processor."""

import ctypes

import llvmlite.binding as llvm
import pytest
from ktc.emit.loops.rewriting import improved

STRIDED = """\
define double @f(ptr %p, i64 %first, i64 %end, i32 %one, i32 %two) {
entry:
  %a = zext nneg i32 %one to i64
  %b = zext nneg i32 %two to i64
  %step = mul nuw nsw i64 %a, %b
  %any = icmp slt i64 %first, %end
  br i1 %any, label %loop, label %after

loop:                                             ; preds = %loop, %entry
  %i = phi i64 [ %first, %entry ], [ %next, %loop ]
  %sum = phi double [ 0.000000e+00, %entry ], [ %more, %loop ]
  %0 = getelementptr double, ptr %p, i64 %i
  %x = load double, ptr %0, align 8
  %scaled = fmul double %sum, 5.000000e-01
  %more = fadd double %scaled, %x
  %next = add i64 %i, %step
  %again = icmp slt i64 %next, %end
  br i1 %again, label %loop, label %after

after:                                            ; preds = %loop, %entry
  %made = phi double [ 0.000000e+00, %entry ], [ %more, %loop ]
  ret double %made
}
"""

COUNTED = """\
define double @f(ptr %p, i64 %first, i64 %end, i32 %one, i32 %two) {
entry:
  br label %loop

loop:                                             ; preds = %loop, %entry
  %i = phi i64 [ START, %entry ], [ %next, %loop ]
  %sum = phi double [ 0.000000e+00, %entry ], [ %more, %loop ]
  %at = getelementptr double, ptr %p, i64 %i
  %x = load double, ptr %at, align 8
  %odd = or disjoint i64 %i, 0
  %number = uitofp i64 %odd to double
  %scaled = fmul double %sum, %number
  %more = fadd double %scaled, %x
  %next = add nuw nsw i64 %i, STEP
  %done = icmp CHECK
  br i1 %done, label FIRST, label SECOND

after:                                            ; preds = %loop
  ret double %more
}
"""


def run(text: str, *words: int) -> float:
    """Run the function of a module over the numbers 1, 2, 3…"""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine()
    with llvm.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        numbers = (ctypes.c_double * 200)(*[1 + n * 0.25 for n in range(200)])
        kinds = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32)
        made = ctypes.CFUNCTYPE(ctypes.c_double, *kinds)(engine.get_function_address("f"))
        return float(made(ctypes.addressof(numbers), *words))


@pytest.mark.parametrize("end", [0, 1, 3, 4, 8, 9, 31, 64, 200])
def test_a_stride_that_is_known_at_run_time(end: int) -> None:
    text = improved(STRIDED)
    assert "loop.main" in text and text.count("load double") == 1 + 4 and text.count("freeze") == 4
    for first, one, two in ((0, 1, 1), (0, 2, 1), (3, 5, 1), (1, 3, 7), (0, 2**31 - 1, 2**31 - 1)):
        assert run(text, first, end, one, two) == run(STRIDED, first, end, one, two)


@pytest.mark.parametrize("step", [2, 3, 256])
def test_a_constant_stride(step: int) -> None:
    text = STRIDED.replace("%step = mul nuw nsw i64 %a, %b", "%step = add i64 %a, %b").replace(
        ", %step\n", f", {step}\n"
    )
    new = improved(text)
    assert "loop.main" in new and new.count("load double") == 1 + 8
    for end in (0, 1, 5, 12, 13, 200):
        assert run(new, 0, end, 1, 1) == run(text, 0, end, 1, 1)


def test_the_last_numbers_there_are() -> None:
    """The test for four turns more does not overflow."""
    text = improved(STRIDED)
    most = 2**63 - 1
    assert run(text, most - 3, most - 3, 1, 1) == 0


@pytest.mark.parametrize(
    ("start", "step", "check", "goes_on"),
    [
        (0, 1, "eq i64 %next, 64", False),
        (0, 1, "eq i64 %next, 63", False),
        (2, 3, "eq i64 %next, 62", False),
        (0, 2, "ult i64 %next, 50", True),
        (0, 1, "samesign ult i64 %i, 33", True),
        (1, 4, "ne i64 %next, 41", True),
        (0, 1, "ugt i64 %i, 20", False),
    ],
)
def test_counters_get_narrow(start: int, step: int, check: str, goes_on: bool) -> None:
    text = COUNTED.replace("START", str(start)).replace("STEP", str(step)).replace("CHECK", check)
    text = text.replace("FIRST", "%loop" if goes_on else "%after").replace("SECOND", "%after" if goes_on else "%loop")
    new = improved(text)
    assert "phi i32" in new and "phi i64" not in new
    assert run(new, 0, 0, 0, 0) == run(text, 0, 0, 0, 0)


@pytest.mark.parametrize("check", ["eq i64 %next, 63", "ult i64 %next, %end", "ult i64 %next, 4294967296"])
def test_what_may_not_fit_stays_wide(check: str) -> None:
    """A counter that jumps over its end, has none that is known, or a large one."""
    text = COUNTED.replace("START", "0").replace("STEP", "2").replace("CHECK", check)
    goes_on = "ult" in check
    text = text.replace("FIRST", "%loop" if goes_on else "%after").replace("SECOND", "%after" if goes_on else "%loop")
    assert improved(text) is text


def test_numbers_are_stored_in_their_order() -> None:
    """What one turn stores the next may load: of a loop with a constant number of turns several stand in a row."""
    text = COUNTED.replace("START", "0").replace("STEP", "1").replace("CHECK", "eq i64 %next, 96")
    text = text.replace("FIRST", "%after").replace("SECOND", "%loop")
    stored = "  %to = getelementptr i8, ptr %at, i64 8\n  store double %scaled, ptr %to, align 8\n"
    text = text.replace("  %more =", f"{stored}  %more =").replace("%scaled = fmul", "%scaled = fadd")
    new = improved(text)
    assert new.count("store double") == 4
    assert run(new, 0, 0, 0, 0) == run(text, 0, 0, 0, 0)


@pytest.mark.parametrize(
    "line",
    [
        "  call void @wait()",
        "  store double %x, ptr %p, align 8",
        "  store volatile double %x, ptr %p, align 8",
        "  fence seq_cst",
    ],
)
def test_loops_in_which_threads_wait_stay(line: str) -> None:
    text = STRIDED.replace("  %scaled =", f"{line}\n  %scaled =")
    assert improved(text) is text


REST = """\
define double @f(ptr %p, i64 %n, i64 %d, i32 %one, i32 %two) {
entry:
  %r = srem i64 %n, %d
  %x = xor i64 %r, %d
  %c = icmp slt i64 TESTED, 0
  CHOICE
  %e = icmp HOW i64 %r, %m
  %made = uitofp i1 %e to double
  ret double %made
}
"""
CHOICES = (
    "%s = select i1 %c, i64 %d, i64 0\n  %m = sub nsw i64 0, %s",
    "%minus = sub i64 0, %d\n  %m = select i1 %c, i64 %minus, i64 0",
)


@pytest.mark.parametrize("how", ["eq", "ne"])
@pytest.mark.parametrize("tested", ["%x", "%r"])
@pytest.mark.parametrize("choice", CHOICES)
def test_remainders_are_compared_as_they_are(how: str, tested: str, choice: str) -> None:
    text = REST.replace("TESTED", tested).replace("CHOICE", choice).replace("HOW", how)
    new = improved(text)
    assert "icmp eq i64 %r, 0" in new or "icmp ne i64 %r, 0" in new
    for number in (0, 1, -1, 6, -6, 7, -7, 2**63 - 1, -(2**63)):
        for divisor in (1, 2, 3, 7, -1, -3, -7, 2**63 - 1, -(2**63)):
            if (number, divisor) != (-(2**63), -1):
                assert run(new, number, divisor, 0, 0) == run(text, number, divisor, 0, 0), (number, divisor)


SIDES = """\
define double @f(ptr %p, i64 %i, i64 %n, i32 %one, i32 %two) {
entry:
  %there = getelementptr double, ptr %p, i64 %i
  %c = icmp slt i64 %i, %n
  br i1 %c, label %first, label %second

first:                                            ; preds = %entry
  %0 = getelementptr double, ptr %p, i64 %i
  %1 = getelementptr i8, ptr %0, i64 16
  %x = load double, ptr %1, align 8
  %2 = getelementptr i8, ptr %0, i64 8
  %y = load double, ptr %2, align 8
  %sum = fadd double %x, %y
  br label %after

second:                                           ; preds = %entry
  %3 = getelementptr i8, ptr %there, i64 16
  %z = load double, ptr %3, align 8
  br label %after

after:                                            ; preds = %second, %first
  %made = phi double [ %sum, %first ], [ %z, %second ]
  ret double %made
}
"""


def test_loads_of_both_sides_are_done_before() -> None:
    new = improved(SIDES)
    assert new.count("load double") == 2
    assert [run(new, i, 5, 0, 0) for i in range(9)] == [run(SIDES, i, 5, 0, 0) for i in range(9)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  %z = load", "  store double 0.000000e+00, ptr %there, align 8\n  %z = load"),
        ("  %z = load", "  fence seq_cst\n  %z = load"),
        ("%z = load double", "%z = load volatile double"),
        ("%there, i64 16", "%there, i64 24"),
        ("br i1 %c, label %first, label %second", "br i1 %c, label %first, label %after"),
    ],
)
def test_other_loads_of_sides_stay(old: str, new: str) -> None:
    text = SIDES.replace(old, new)
    if "label %after" in new:
        text = text.replace("[ %z, %second ]", "[ %z, %second ], [ 0.000000e+00, %entry ]")
        text = text.replace("preds = %entry\n  %3", "No predecessors!\n  %3")
    assert improved(text) is text
