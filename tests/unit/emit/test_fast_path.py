"""The fast path of checked launches: which kernels have one, and which accesses it tests."""

import pytest
from ktc.emit import llvm
from ktc.emit.checks.fast_path import FastPath, NoFastPath, fast_path
from ktc.targets import host as hosts
from llvmlite import binding

INDICES = ", ".join(f"i32 %s{slot}" for slot in range(14))
TEXT = f"""
target datalayout = "{{layout}}"
target triple = "{{triple}}"
; ktc.shared 0 1024
declare void @ktc.cpu.wait.block(i32)
declare i32 @ktc.cpu.exchange(i32, i64, i32)
declare void @print(i32)
define void @k.body(ptr %a0, ptr %a1, i32 %n, {INDICES}, ptr %shared) !dbg !3 {{{{
{{body}}
}}}}
!llvm.dbg.cu = !{{{{!0}}}}
!llvm.module.flags = !{{{{!6}}}}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: true, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "prog.kpy", directory: "")
!2 = !DISubroutineType(types: !5)
!3 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 3, type: !2, spFlags: DISPFlagDefinition, unit: !0)
!4 = !DILocation(line: 7, column: 5, scope: !3)
!5 = !{{{{null}}}}
!6 = !{{{{i32 2, !"Debug Info Version", i32 3}}}}
"""
INDEX = "%t = zext i32 %s0 to i64"
BARRIER = "call void @ktc.cpu.wait.block(i32 0)"


def fast_path_of(*lines: str) -> FastPath:
    target = hosts.host_target()
    assert target is not None
    body = "entry:\n" + "\n".join(line if line.endswith(":") else f"  {line}, !dbg !4" for line in lines)
    text = TEXT.format(layout=target.data_layout, triple=target.triple, body=body)
    found = fast_path(text, "k", llvm.machine(target, 2))
    with binding.create_context() as context, binding.parse_assembly(found.text, context) as module:
        module.verify()
    return found


def test_memory_that_is_only_read_is_not_tracked() -> None:
    found = fast_path_of(
        INDEX, "%p = getelementptr float, ptr %a0, i64 %t", "%v = load float, ptr %p, align 4",
        "%q = getelementptr float, ptr %a1, i64 %t", "store float %v, ptr %q, align 4", "ret void",
    )  # fmt: skip
    assert [(root.origin, root.flags, root.granule) for root in found.roots] == [(1, 1, 4), (2, 2, 4)]
    assert found.text.count("call i64 @__ktc_check_own(") == 1
    assert "call i32 @__ktc_check_claim(" not in found.text


def test_neighbours_that_may_write_to_one_address_are_tested_in_turn() -> None:
    found = fast_path_of(
        INDEX, "%h = lshr i64 %t, 1", "%q = getelementptr i32, ptr %a1, i64 %h", "store i32 1, ptr %q, align 4",
        "ret void",
    )  # fmt: skip
    assert found.text.count("call i32 @__ktc_check_claim(") == 1


def shared_reads(between: str) -> FastPath:
    return fast_path_of(
        INDEX, "%p = getelementptr i32, ptr %shared, i64 %t", "store i32 %s0, ptr %p, align 4", between,
        "%q = getelementptr i32, ptr %shared, i64 255", "%v = load i32, ptr %q, align 4",
        "%r = getelementptr i32, ptr %a1, i64 %t", "store i32 %v, ptr %r, align 4", "ret void",
    )  # fmt: skip


def test_shared_memory_is_tracked_where_it_is_written_before_the_next_barrier() -> None:
    apart, together = shared_reads(BARRIER).text, shared_reads("%none = add i32 %n, 1").text
    assert (apart.count(", 2046"), together.count(", 2046")) == (0, 1)  # the word of several readers
    for text in (apart, together):
        assert text.count("call i64 @__ktc_check_shared_own()") == 2


def test_a_kernel_that_may_wait_for_another_thread_has_no_fast_path() -> None:
    with pytest.raises(NoFastPath, match="wait"):
        fast_path_of(
            "br label %again", "again:", "%v = load i32, ptr %a0, align 4", "%c = icmp eq i32 %v, 0",
            "br i1 %c, label %again, label %over", "over:", "ret void",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("call void @print(i32 %n)", "print"),
        ("%x = call i32 @ktc.cpu.exchange(i32 %n, i64 65535, i32 0)", "masks"),
        ("%v = load float, ptr %a0, align 4", "does not use"),
    ],
)
def test_kernels_that_the_fast_path_cannot_judge_are_refused(line: str, why: str) -> None:
    with pytest.raises(NoFastPath, match=why):
        fast_path_of(line, "ret void")


def test_a_step_that_all_threads_halve_alike_keeps_neighbours_apart() -> None:
    loop = [
        INDEX, "br label %head", "head:", "%step = phi i64 [ 32, %entry ], [ %half, %head ]",
        "%i = add i64 %t, %step", "%p = getelementptr float, ptr %shared, i64 %i", "%v = load float, ptr %p, align 4",
        "%q = getelementptr float, ptr %shared, i64 %t", "store float %v, ptr %q, align 4", BARRIER,
        "%half = lshr i64 %step, 1", "%more = icmp ne i64 %half, 0", "br i1 %more, label %head, label %done",
        "done:", "ret void",
    ]  # fmt: skip
    assert "call i32 @__ktc_check_claim(" not in fast_path_of(*loop).text
    differs = [line.replace("[ %half, %head ]", "[ %t, %head ]") for line in loop]
    assert fast_path_of(*differs).text.count("call i32 @__ktc_check_claim(") == 1


def test_a_product_is_doubted_without_an_operation_of_two_results() -> None:
    found = fast_path_of(
        "%w = sext i32 %n to i64", "%x = mul i64 %w, %w", "%q = getelementptr float, ptr %a1, i64 %x",
        "store float 1.0, ptr %q, align 4", "ret void",
    )  # fmt: skip
    assert "with.overflow" not in found.text and "icmp ugt i64" in found.text
