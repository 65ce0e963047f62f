"""What the checks put into LLVM's text: which calls, before what, and with which place."""

import re

from ktc.base.library import stdlib_folder
from ktc.emit import llvm
from ktc.emit.checks.body import Body
from ktc.emit.checks.instrument import instrumented
from ktc.emit.llvm_text.functions import Function
from ktc.targets import host as hosts
from ktc.targets.checked import UNCHECKED, UNWATCHED_SHARED
from llvmlite import binding

HEAD = """
target datalayout = "{layout}"
target triple = "{triple}"
@"var$ktc.check.site" = internal global i64 0
declare void @takes(ptr, i64)
declare hidden i64 @__ktc_check_alloc(i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal void @work(ptr %p, i64 %i, i64 %d) #0 !dbg !3 {{
  {body}
  ret void
}}
define void @K(ptr %p, i64 %i, i64 %d) {{
  call void @work(ptr %p, i64 %i, i64 %d)
  ret void
}}
attributes #0 = {{ nounwind }}
attributes #1 = {{ alwaysinline nounwind }}
!llvm.dbg.cu = !{{!0}}
!llvm.module.flags = !{{!6}}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: true, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "prog.kpy", directory: "")
!2 = !DISubroutineType(types: !5)
!3 = distinct !DISubprogram(name: "work", scope: !1, file: !1, line: 3, type: !2, spFlags: DISPFlagDefinition, unit: !0)
!4 = !DILocation(line: 7, column: 5, scope: !3)
!5 = !{{null}}
!6 = !{{i32 2, !"Debug Info Version", i32 3}}
"""


def made(body: str, checks: tuple[str, ...], is_kernel: bool = False, note: str = "") -> str:
    target = hosts.host_target()
    assert target is not None
    lines = "\n  ".join(line + (", !dbg !4" if line else "") for line in body.strip().splitlines())
    text = HEAD.format(layout=target.data_layout, triple=target.triple, body=lines)
    text = text.replace("unit: !0)", f"unit: !0{note})")
    found = instrumented(text, checks, is_kernel, llvm.machine(target, 2))
    with binding.create_context() as context, binding.parse_assembly(found, context) as module:
        module.verify()
    return found


def calls(text: str) -> list[str]:
    return re.findall(r"call [^@\n]*@__ktc_check_(\w+)\(", text)


def test_an_access_of_the_host_is_checked_once() -> None:
    text = made("%q = getelementptr i32, ptr %p, i64 %i\nstore i32 1, ptr %q, align 4", ("bounds",))
    assert calls(text) == ["host"]
    assert text.index("@__ktc_check_host(") < text.index("store i32 1")
    assert re.search(r"@ktc\.site\.\d+ = .*i32 7, i32 5, i32 4", text)  # line, column, size


def test_only_the_chosen_checks_are_inserted() -> None:
    body = "%q = getelementptr i32, ptr %p, i64 %i\nstore i32 1, ptr %q, align 4\n%r = sdiv i64 %i, %d"
    assert calls(made(body, ("arithmetic",))) == ["zero"]
    assert calls(made("%q = alloca i32\nstore i32 1, ptr %q, align 4", ("bounds",))) == []


def test_addresses_passed_to_a_call() -> None:
    assert calls(made("call void @takes(ptr %p, i64 %i)", ("bounds",))) == ["passed"]
    assert calls(made("%q = alloca i64\ncall void @takes(ptr %q, i64 %i)", ("bounds",))) == []


def test_accesses_of_a_kernel() -> None:
    body = "%q = getelementptr i32, ptr %p, i64 %i\n%v = load i32, ptr %q, align 4\nstore i32 %v, ptr %p, align 4"
    found = calls(made(body, ("bounds", "memory", "races"), is_kernel=True))
    assert [name for name in found if name in ("read", "write")] == ["read", "write"]


def test_a_computed_constant_is_one_argument() -> None:
    place = 'getelementptr (i8, ptr @"var$ktc.check.site", i64 4)'
    body = f"call void @llvm.memset.p0.i64(ptr {place}, i8 0, i64 4, i1 false)"
    assert f"ptrtoint ptr {place} to i64" in made(body, ("bounds",))
    text = made(f"%o = atomicrmw add ptr {place}, i32 1 seq_cst, align 4", ("bounds", "races"), is_kernel=True)
    assert f"ptrtoint ptr {place} to i64" in text


def test_a_function_of_the_library_whose_address_is_taken_is_declared() -> None:
    text = made("%q = alloca ptr\nstore ptr @__ktc_check_alloc, ptr %q\ncall void @takes(ptr %q, i64 0)", ("bounds",))
    assert "declare hidden i64 @__ktc_check_alloc(i64)" in text


def test_the_operand_of_a_cast() -> None:
    lines = ["trunc nuw nsw i64 %v to i32", "sext <4 x i32> %v to <4 x i64>, !dbg !3", "freeze <4 x i32> %v"]
    lines = ["define void @k() {", "entry:", *(f"  %{at} = {line}" for at, line in enumerate(lines)), "}"]
    body = Body(Function(lines))
    assert [one.values for one in body.instructions] == [("%v",)] * (len(lines) - 3)


def test_accesses_of_unchecked_functions() -> None:
    body = "%q = getelementptr i32, ptr %p, i64 %i\nstore i32 1, ptr %q, align 4"
    note = f', annotations: !{{!{{!"{UNCHECKED}", !""}}}}'
    assert calls(made(body, ("bounds",), note=note)) == []
    assert len(calls(made(body, ("bounds",)))) == 1


def test_the_library_names_its_shared_memory_that_is_not_checked() -> None:
    text = (stdlib_folder() / "gpu" / "_cpu" / "mma.kpy").read_text(encoding="utf-8")
    assert f'name="{UNWATCHED_SHARED.partition("$")[2]}' in text
