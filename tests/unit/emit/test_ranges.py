"""`emit/checks/blocks`: ranges of a block's accesses, run as machine code."""

import ctypes

import llvmlite.binding as llvm
import pytest
from ktc.emit.checks.blocks.control import Control
from ktc.emit.checks.blocks.intervals import NEEDED
from ktc.emit.checks.blocks.ranges import Ranges, Unknown
from ktc.emit.checks.body import Body
from ktc.emit.checks.pointers import Pointers
from ktc.emit.llvm_text.functions import Function

_INDICES = ", ".join([f"i32 %s{number}" for number in range(12)])
_LIBRARY = """
define i64 @__ktc_check_start(i64 %root) {
  ret i64 %root
}
define i64 @__ktc_check_size(i64 %root) {
  ret i64 400
}
"""


def ranges(lines: str) -> str:
    """Return the function of a kernel with `ptr %a0, i64 %a1`."""
    text = f"define void @k.body(ptr %a0, i64 %a1, {_INDICES}, ptr %shared) {{\n{lines}\n}}"
    body = Body(Function(text.split("\n")))
    return Ranges(body, Pointers(body, frozenset()), []).function("k.ranges")


def is_right(lines: str, count: int, block: int, threads: int = 32) -> bool:
    """Say whether a block of threads is right, of a kernel over 100 numbers."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = ranges(lines).replace("internal ", "").replace("alwaysinline ", "") + _LIBRARY + "\n".join(NEEDED)
    machine = llvm.Target.from_default_triple().create_target_machine()
    with llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine) as engine:
        engine.finalize_object()
        kinds = [ctypes.c_int64] * 2 + [ctypes.c_int32] * 9 + [ctypes.c_int64]
        function = ctypes.CFUNCTYPE(ctypes.c_bool, *kinds)(engine.get_function_address("k.ranges"))
        return bool(function(1 << 20, count, block, 0, 0, threads, 1, 1, 4, 1, 1, 0))


_GUARDED = """entry:
  %b = zext i32 %s3 to i64
  %d = zext i32 %s6 to i64
  %t = zext i32 %s0 to i64
  %first = mul i64 %b, %d
  %i = add i64 %first, %t
  %inside = icmp slt i64 %i, %a1
  br i1 %inside, label %then, label %end
then:
  %p = getelementptr float, ptr %a0, i64 %i
  store float 0.0, ptr %p, align 4
  br label %end
end:
  ret void"""

_LOOP = """entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %k, %a1
  br i1 %more, label %body, label %end
body:
  %next = add i64 %k, 1
  %twice = shl i64 %k, 1
  %p = getelementptr float, ptr %a0, i64 %twice
  store float 0.0, ptr %p, align 4
  br label %loop
end:
  ret void"""


def test_a_guard_narrows_the_range() -> None:
    assert [is_right(_GUARDED, 100, block) for block in (0, 3, 4)] == [True] * 3
    assert [is_right(_GUARDED, 101, block) for block in (0, 2, 3)] == [True, True, False]
    assert is_right(_GUARDED, 1 << 40, 2)
    assert not is_right(_GUARDED, 1 << 40, 3)


def test_the_range_of_a_loop_counter() -> None:
    assert [is_right(_LOOP, count, 0) for count in (-1, 0, 50, 51)] == [True, True, True, False]


def test_what_was_loaded_has_no_range() -> None:
    with pytest.raises(Unknown):
        ranges(_GUARDED.replace("%i = add i64 %first, %t", "%i = load i64, ptr %a0, align 8"))


def test_another_step_has_no_range() -> None:
    with pytest.raises(Unknown):
        ranges(_LOOP.replace("%next = add i64 %k, 1", "%next = xor i64 %k, 1"))


_SWITCH = """entry:
  %kind = urem i64 %a1, 3
  switch i64 %kind, label %other [
    i64 0, label %then
    i64 1, label %then
  ]
then:
  %t = zext i32 %s0 to i64
  %p = getelementptr float, ptr %a0, i64 %t
  store float 0.0, ptr %p, align 4
  br label %other
other:
  ret void"""


def test_a_switch_leads_to_all_its_targets() -> None:
    assert is_right(_SWITCH, 3, 0) and not is_right(_SWITCH, 3, 0, threads=101)
    body = Body(Function(f"define void @k(i64 %a1, ptr %a0, i32 %s0) {{\n{_SWITCH}\n}}".split("\n")))
    assert Control(body).guards(2) == ()
    assert not Control(body).is_back(2, "%entry") and not Control(body).is_back(3, "%then")


def test_the_function_has_the_parameters_that_it_is_called_with() -> None:
    head = "define void @k.body({ ptr, i64 } %a0, float %a1, ptr %a2, i32 %s0, i32 %s6) {"
    body = Body(Function([head, "entry:", "  store float %a1, ptr %a2, align 4", "  ret void", "}"]))
    text = Ranges(body, Pointers(body, frozenset()), []).function("k.ranges")
    assert "({ ptr, i64 } %a0, float %a1, ptr %a2, i32 %s6) alwaysinline" in text
