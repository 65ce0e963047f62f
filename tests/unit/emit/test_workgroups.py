"""Kernels cut at their barriers: what becomes a loop over threads, what all do alike, and what cannot be cut."""

import re

import pytest
from ktc.emit import llvm
from ktc.emit.workgroups import CannotCut, in_loops
from ktc.targets import find
from ktc.targets.host import host_target

TARGET = find("cpu", host_target("x86_64-unknown-linux-gnu", "x86-64-v3"))
IDS = ", ".join(f"i32 %s{slot}" for slot in range(14))
DECLARED = """
declare void @k.block(ptr, i32, i32, i32, i32, i32, i32, i32, i32, i32, ptr)
declare void @ktc.cpu.wait.block(i32) convergent noduplicate nounwind
declare void @ktc.cpu.wait.warp(i32) convergent noduplicate nounwind
declare i32 @ktc.cpu.exchange(i32, i32) convergent noduplicate nounwind
declare i32 @ktc.cpu.exchanged(i32, i32, i32) convergent noduplicate nounwind
"""


def cut(body: str) -> str:
    """Return the function that runs a block of a kernel with this body."""
    text = f"{DECLARED}\ndefine void @k.body(ptr %a0, {IDS}, ptr %shared) {{\nentry:\n{body}\n}}\n"
    with llvm.parsed(text, "k") as module:
        made = in_loops(module, "k")
    with llvm.parsed(made, "k"):  # which verifies it
        return made[made.index("define internal void @k.") :]


def loops(text: str) -> list[str]:
    """Return what is done in each loop over threads: one line an instruction, without the loop's own."""
    own = re.compile(r"%\S+\.(s\d+|x64|t|t32|first|first64|rows|plane|[xyz]\.\w+) =|^br ")
    found = []
    for part in re.findall(r"\.x:\n(.*?)\.x\.end:", text, re.DOTALL):
        lines = [line.strip() for line in part.split("\n") if line.startswith("  ")]
        found.append("\n".join(line for line in lines if not own.search(line)))
    return found


STORE = """
  %i = zext i32 %s0 to i64
  %p = getelementptr float, ptr %shared, i64 %i
  store float 1.0, ptr %p, align 4
"""
WAIT = "  call void @ktc.cpu.wait.block(i32 7)\n"


def test_a_barrier_makes_two_loops() -> None:
    read = "  %q = getelementptr float, ptr %p, i64 1\n  %v = load float, ptr %q, align 4\n"
    text = cut(f"{STORE}{WAIT}{read}  %r = getelementptr float, ptr %a0, i64 %i\n  store float %v, ptr %r\n  ret void")
    first, second = loops(text)
    assert "store float 1.0" in first and "load" not in first
    assert "load float" in second and "zext i32" in second  # an address is computed again, and kept nowhere
    assert "alloca" not in text
    assert text.count('"llvm.loop.parallel_accesses"') == 2


def test_values_that_live_across_a_barrier_are_stored_for_each_thread() -> None:
    load = "  %r = getelementptr float, ptr %a0, i64 %i\n  %v = load float, ptr %r, align 4\n"
    text = cut(f"{STORE}{load}{WAIT}  store float %v, ptr %p\n  ret void")
    assert "= alloca [1024 x float], align 64" in text
    assert text.count("alloca") == 1


LOOPING = """
  br label %head
head:
  %n = phi i32 [ %s6, %entry ], [ %half, %join ]
  %more = icmp ugt i32 %n, 1
  br i1 %more, label %body, label %exit
body:
  %half = lshr i32 %n, 1
  %mine = icmp ult i32 {who}, %half
  br i1 %mine, label %then, label %join
then:
  store i32 %n, ptr %a0
  br label %join
join:
  call void @ktc.cpu.wait.block(i32 3)
  br label %head
exit:
  ret void
"""


def test_a_loop_that_all_threads_take_alike_stays_outside() -> None:
    text = cut(LOOPING.format(who="%s0"))
    assert "alloca i32" in text and "1024" not in text  # its counter is kept once
    (only,) = [one for one in loops(text) if "store" in one]
    assert "icmp ult" in only


@pytest.mark.parametrize(
    ("condition", "number"),
    [("icmp ult i32 %s0, 7", 7), ("icmp eq i32 %s13, 0", 7), ("trunc i32 %old to i1", 7)],
)
def test_a_barrier_that_threads_may_miss_is_not_cut(condition: str, number: int) -> None:
    body = f"""
  %old = atomicrmw add ptr %a0, i32 1 monotonic
  %some = {condition}
  br i1 %some, label %wait, label %join
wait:
{WAIT}  br label %join
join:
{WAIT}  ret void"""
    with pytest.raises(CannotCut, match="the threads of a block may disagree") as found:
        cut(body)
    assert found.value.number == number


def test_threads_that_return_before_a_barrier_are_left_out() -> None:
    text = cut(f"""
  %some = icmp ult i32 %s0, %s3
  br i1 %some, label %go, label %stop
go:
{WAIT}  store i32 %s0, ptr %a0
  br label %stop
stop:
  ret void""")
    assert "%ended = alloca [1024 x i8]" in text and "store i8 1, ptr" in text
    assert "label %block.done" in text


EXCHANGE = """
  %x = call i32 @ktc.cpu.exchange(i32 %s0, i32 1)
  %lane = xor i32 %s12, 16
  %y = call i32 @ktc.cpu.exchanged(i32 %x, i32 %lane, i32 %s0)
  %i = zext i32 %s0 to i64
  %p = getelementptr i32, ptr %a0, i64 %i
  store i32 %y, ptr %p
  ret void
"""


def test_an_exchange_of_known_lanes_is_a_shuffle() -> None:
    text = cut(EXCHANGE)
    lanes = ", ".join(f"i32 {lane ^ 16}" for lane in range(32))
    assert f"<32 x i32> <{lanes}>" in text
    assert ".l.next, 32" in text  # the lanes of a whole warp


def test_a_condition_of_the_warp_may_hold_an_exchange() -> None:
    first = "  %first = icmp ult i32 %s0, 32\n  br i1 %first, label %some, label %none\nsome:\n"
    with pytest.raises(CannotCut, match="the lanes of a warp may disagree"):
        cut(
            f"{first}{EXCHANGE}\nnone:\n  call void @ktc.cpu.wait.warp(i32 2)\n  ret void"
        )  # where a warp has more than one row of the block, it may not
    alike = "  %first = icmp eq i32 %s13, 0\n  br i1 %first, label %some, label %none\nsome:\n"
    assert "shufflevector" in cut(f"{alike}{EXCHANGE}\nnone:\n  ret void")


def test_private_memory_that_lives_across_a_barrier_is_each_threads_own() -> None:
    text = cut(f"  %m = alloca [4 x i32], align 4\n  store i32 %s0, ptr %m\n{WAIT}  %v = load i32, ptr %m\n"
               "  store i32 %v, ptr %a0\n  ret void")  # fmt: skip
    assert "alloca [1024 x [4 x i32]]" in text
    text = cut("  %m = alloca [4 x i32], align 4\n  store i32 %s0, ptr %m\n  %v = load i32, ptr %m\n"
               f"  store i32 %v, ptr %a0\n{WAIT}  ret void")  # fmt: skip
    assert "alloca [4 x i32]" in text and "1024" not in text


def test_large_private_memory_is_taken_from_the_heap() -> None:
    body = "  %m = alloca [{count} x i32], align 4\n  store i32 %s0, ptr %m\n" + WAIT + (
        "  %v = load i32, ptr %m\n  store i32 %v, ptr %a0\n  ret void"
    )  # fmt: skip
    text = cut(body.format(count=1 << 16))
    assert f"call ptr @aligned_alloc(i64 64, i64 {4 << 26})" in text and "call void @free(ptr %m.m)" in text
    assert "%lacks0 = icmp eq ptr %m.m, null" in text and "call void @abort()" in text
    with pytest.raises(CannotCut, match="a thread of it keeps 1048576 bytes"):
        cut(body.format(count=1 << 18))


SUM = """
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %more, %loop ]
  %at = add i32 %k, %s0
  %i = zext i32 %at to i64
  %p = getelementptr float, ptr %a0, i64 %i
  %v = load float, ptr %p
  %more = fadd float %sum, %v
  %next = add i32 %k, 1
  %again = icmp ult i32 %next, {bound}
  br i1 %again, label %loop, label %exit
exit:
  store float %more, ptr %p
  ret void
"""


def lanes(text: str) -> list[str]:
    """Return what is done in each loop over the lanes of a strip."""
    return re.findall(r"\.l:\n(.*?)\.l\.end:", text, re.DOTALL)


def test_a_loop_that_all_take_alike_has_the_lanes_inside() -> None:
    text = cut(SUM.format(bound="%s9"))
    _, inner, _ = lanes(text)
    assert "fadd" in inner and "icmp eq i8" not in inner  # no lane asks whether it is still there
    assert "alloca [16 x float]" in text and "alloca i32" in text  # the sums, and the counter, once
    assert "%r0..places" not in text


def test_a_loop_that_lanes_leave_one_by_one_has_places() -> None:
    text = cut(SUM.format(bound="%s0"))
    _, inner, _ = lanes(text)
    assert "fadd" in inner and "icmp eq i8" in inner and "%r0..places = alloca [16 x i8]" in text
    assert "poison" in inner or "poison" in text  # what nobody reads need not be kept for those that have left


def test_an_index_is_compared_with_its_bound_once_for_each_strip() -> None:
    text = cut("""
  %i = zext i32 %s0 to i64
  %far = ptrtoint ptr %a0 to i64
  %within = icmp slt i64 %i, %far
  br i1 %within, label %some, label %none
some:
  %p = getelementptr float, ptr %a0, i64 %i
  store float 1.0, ptr %p
  br label %none
none:
  ret void""")
    compared, stored = lanes(text)
    assert "icmp slt" in compared and "store float" in stored and "icmp slt" not in stored
    assert "label %r0..strip.end, label %r0..single" in text  # none of them; some of them, one by one


GRID = """
  %a = mul i32 %s3, %s6
  %i = add i32 %a, %s0
  %within = icmp {test}
  br i1 %within, label %some, label %none
some:
  %p = getelementptr float, ptr %a0, i32 %i
  store float 1.0, ptr %p
  br label %none
none:
  ret void"""


@pytest.mark.parametrize(
    ("test", "is_once"),
    [
        ("ult i32 %i, 288", True),
        ("ugt i32 %i, 287", True),
        ("slt i32 %i, 4096", True),
        ("ult i32 %i, 280", False),  # the last strip has threads within the bound and others
        ("eq i32 %i, 16", False),
        ("ult i32 %s0, 16", False),  # a step of a reduction
    ],
)
def test_a_constant_bound_is_compared_once_where_it_cuts_no_strip(test: str, is_once: bool) -> None:
    text = cut(GRID.format(test=test))
    assert ("%r0..asked = load" in text) == is_once, text


def test_a_counter_that_starts_at_the_index_is_the_same_for_all_but_the_index() -> None:
    text = cut("""
  %i = zext i32 %s0 to i64
  br label %loop
loop:
  %k = phi i64 [ %i, %entry ], [ %next, %loop ]
  %p = getelementptr float, ptr %a0, i64 %k
  store float 1.0, ptr %p
  %next = add i64 %k, 256
  %again = icmp slt i64 %next, 1000
  br i1 %again, label %loop, label %exit
exit:
  ret void""")
    assert re.search(r"%r0\.g\d\.k = add i64 %r0\.g\d\.k\.common, %r0\.g\d\.k\.index", text)


def test_strips_are_for_vectors() -> None:
    body = SUM.format(bound="%s9")
    text = f"{DECLARED}\ndefine void @k.body(ptr %a0, {IDS}, ptr %shared) {{\nentry:\n{body}\n}}\n"
    with llvm.parsed(text, "k") as module:
        assert "16 x" not in in_loops(module, "k", is_vectorised=False)


FIRST = """
  %i = zext i32 %s0 to i64
  %own = icmp {test}
  br i1 %own, label %some, label %none
some:
  %p = getelementptr float, ptr %shared, i64 %i
  store float 1.0, ptr %p
  br label %none
none:
  call void @ktc.cpu.wait.block(i32 7)
  ret void
"""


def test_threads_of_a_row_that_have_nothing_to_do_are_left_out() -> None:
    step = "  %far = ptrtoint ptr %a0 to i64\n"
    for test in ("ult i64 %i, %far", "sge i64 %far, %i"):
        text = cut(step + FIRST.format(test=test))
        assert "%r0.hi = call i32 @llvm.umin.i32" in text and "label %r0..strip" in text
        assert re.search(r"br i1 %r0..x0.more, .*\n", text) and "icmp ult i32 %r0..x0.next, %r0.hi" in text
    text = cut(FIRST.format(test="eq i32 %s0, 5"))
    assert "umin.i32(i32 5," in text and "icmp ult i32 %r0.x.next, %r0.hi" in text and "..strip" not in text


def test_threads_with_stored_values_are_not_left_out() -> None:
    for test in ("ugt i64 %i, 5", "ne i64 %i, 0"):
        assert ".hi" not in cut(FIRST.format(test=test))
    kept = FIRST.format(test="ult i64 %i, 5").replace("none:\n", "none:\n  %k = phi i64 [ 0, %entry ], [ 7, %some ]\n")
    used = "  %q = getelementptr i64, ptr %a0, i64 %i\n  store i64 %k, ptr %q\n  ret void"
    assert ".hi" not in cut(kept.replace("  ret void", used))


def test_rows_of_lanes_have_arrays_of_their_own() -> None:
    text = cut(EXCHANGE)
    assert "%words.row = alloca [32 x i32]" in text and '"llvm.loop.vectorize.width", i32 32' in text
    assert "urem" not in text[: text.index("b.entry.any")]  # where a row begins is counted


def test_lanes_of_a_strip_share_no_memory_of_a_thread() -> None:
    body = """
  %m = alloca [64 x i32], align 4
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %q = getelementptr i32, ptr {place}, i64 %k
  store i32 %s0, ptr %q
  %next = add i64 %k, 1
  %again = icmp slt i64 %next, 64
  br i1 %again, label %loop, label %exit
exit:
  %v = load i32, ptr %q
  store i32 %v, ptr %a0
  ret void"""
    assert lanes(cut(body.format(place="%a0")))
    assert not lanes(cut(body.format(place="%m")))


def test_a_condition_of_the_block_after_an_exchange_is_kept() -> None:
    decided = (
        "  %far = ptrtoint ptr %a0 to i64\n  %same = icmp eq i64 %far, 5\n  br i1 %same, label %wait, label %over\n"
    )
    text = cut(EXCHANGE.replace("  ret void\n", f"{decided}wait:\n{WAIT}  br label %over\nover:\n  ret void\n"))
    assert re.search(r"store i1 %\S+, ptr %c0", text) and "load i1, ptr %c0" in text
