"""Which values differ between threads that part at a branch: at joins, after loops, and at a loop's several exits."""

from ktc.emit.llvm_text.functions import Function
from ktc.emit.workgroups.graphs.graph import read
from ktc.emit.workgroups.graphs.uniformity import varying_in_lane_group


def varying(body: str) -> set[str]:
    """Return which values of a kernel differ between neighbours in x."""
    head = "define void @k.body(ptr %a0, i32 %n, i32 %s0) {"
    lines = [head, "entry:", *body.strip("\n").split("\n"), "}"]
    return varying_in_lane_group(read(Function(lines)), set())


def test_phis_where_a_branch_and_what_it_skips_meet() -> None:
    found = varying("""
  %c = icmp slt i32 %s0, 7
  %u = icmp slt i32 %n, 7
  br i1 %c, label %then, label %join
then:
  br label %join
join:
  %p = phi i32 [ 1, %entry ], [ 2, %then ]
  br i1 %u, label %last, label %other
other:
  br label %last
last:
  %q = phi i32 [ 1, %join ], [ 2, %other ]
  ret void
""")
    assert "%p" in found
    assert "%q" not in found


LEFT_BY_SOME = """
  %c = icmp slt i32 %s0, 7
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %latch ]
  %j = add i32 %i, 1
  br i1 %c, label %some, label %latch
some:
  %u = icmp sgt i32 %i, 3
  br i1 %u, label %found, label %latch
latch:
  %e = icmp slt i32 %j, %n
  br i1 %e, label %loop, label %ended
found:
  br label %out
ended:
  br label %out
out:
  %flag = phi i32 [ 1, %found ], [ 0, %ended ]
  %sum = add i32 %i, 0
  ret void
"""


def test_a_uniform_condition_that_only_some_threads_reach_leaves_a_loop_in_different_turns() -> None:
    found = varying(LEFT_BY_SOME)
    assert {"%flag", "%i", "%sum"} <= found
    assert "%u" in found  # it is computed of %i, which is used outside


def test_an_exit_that_all_threads_reach_leaves_it_in_the_same_turn() -> None:
    found = varying(LEFT_BY_SOME.replace("br i1 %u, label %found, label %latch", "br label %latch"))
    assert not {"%i", "%sum", "%flag"} & found


def test_what_is_set_in_a_loop_and_used_after_it_through_a_phi_further_on() -> None:
    body = """
  %c = icmp slt i32 %s0, 7
  br i1 %c, label %loop, label %join
loop:
  %v = phi i32 [ %n, %entry ], [ %w, %loop ]
  %x = phi i32 [ %s0, %entry ], [ %y, %loop ]
  %w = xor i32 %v, 3
  %y = add i32 %x, 5
  %e = icmp slt i32 %y, 90
  br i1 %e, label %loop, label %after
after:
  br label %join
join:
  %p = phi i32 [ %n, %entry ], [ %w, %after ]
  ret void
"""
    assert {"%w", "%p"} <= varying(body)
    closed = body.replace("after:\n", "after:\n  %z = phi i32 [ %w, %loop ]\n").replace(
        "[ %w, %after ]", "[ %z, %after ]"
    )
    found = varying(closed)
    assert {"%z", "%p"} <= found
    assert "%w" not in found  # all that are in the loop are in the same turn
