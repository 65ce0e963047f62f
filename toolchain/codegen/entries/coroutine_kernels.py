"""Kernels whose threads wait for one another, on the CPU device: each thread is a coroutine.

Input: a kernel's function with some of `Target.blocking_intrinsics`. Output: text of LLVM's coroutine intrinsics around
and in it, and the entry, which runs the threads of a block in turns. A thread goes on until it stops; at a warp's
barrier it is run again when the other lanes have stopped too, at the barrier of the block when all threads have. As on
NVIDIA's GPUs, threads that have ended are not waited for.

LLVM's manual, "Coroutines in LLVM" (switched-resume lowering), says what the intrinsics mean.
"""

from collections.abc import Sequence

from ktc.codegen.context import Context
from ktc.codegen.entries import warp_release
from ktc.codegen.entries.warp_release import AT_BARRIER, AT_WARP, ENDED, LANE_WORDS, RUNS, WARP_WORDS, YIELDS
from ktc.codegen.values.operations import Operations
from ktc.ir import walk
from ktc.ir.nodes import CallIntrinsic, Function, Let, Loop
from ktc.targets.cpu import (
    EXCHANGE,
    GIVE_UP,
    GROUPING_INTRINSICS,
    LACKS_NAME,
    LACKS_TEXT,
    LANE_SLOT,
    SPIN,
    STUCK_NAME,
    STUCK_TEXT,
    WAIT_FOR_BLOCK,
    WAIT_FOR_WARP,
    WARP_LANES,
    WARP_SLOT,
    YIELD,
)

PARAMETERS = ("ptr %warp", "i32 %warp.lane", "ptr %state", "ptr %room")
"""Further parameters of a thread: the memory of its warp, its lane in it, the byte with its state, and the pointer to
its frame, which serves block after block and is null at first."""

RECORD = "%record"
"""The record of a thread's block, where several blocks run at the same time."""

GROUP_PARAMETERS = (*PARAMETERS, f"ptr {RECORD}")
"""Further parameters of a thread in that case."""

LEFT = "coro.left"
"""Label of the end of a thread."""

_FRAME_ALIGN = 64


def is_coroutine(context: Context, function: Function) -> bool:
    """Return whether a function is a kernel that waits."""
    names = context.target.blocking_intrinsics
    if not names or context.marks or function.symbol not in context.kernels:
        return False
    waits = names - {SPIN}
    actions = walk.actions(function)
    return any(isinstance(one, CallIntrinsic) and one.name in waits for one in actions) or spins(function)


def is_stop(action: object) -> bool:
    """Return whether a thread stops here."""
    return isinstance(action, CallIntrinsic) and action.name in (WAIT_FOR_BLOCK, WAIT_FOR_WARP, EXCHANGE, YIELD, SPIN)


def is_grouped(context: Context, function: Function) -> bool:
    """Return whether a kernel that waits runs several blocks at the same time (`block_groups`)."""
    return is_coroutine(context, function) and waits_in_groups(function)


def waits_in_groups(function: Function) -> bool:
    """Return whether a function has intrinsics that only `block_groups` has."""
    actions = walk.actions(function)
    has = any(isinstance(one, CallIntrinsic) and one.name in GROUPING_INTRINSICS for one in actions)
    return has or spins(function)


def spins(function: Function) -> bool:
    """Return whether a loop may wait for a write of another thread."""
    loops = [one for one in walk.statements(function.body) if isinstance(one, Loop)]
    inner = [one.value for loop in loops for one in walk.statements(loop.body) if isinstance(one, Let)]
    return any(isinstance(action, CallIntrinsic) and action.name == SPIN for action in inner)


def is_idle(action: object, in_group: bool) -> bool:
    """Return whether an action does nothing: no thread waits here for another one."""
    return isinstance(action, CallIntrinsic) and action.name == SPIN and not in_group


def begin(context: Context) -> list[str]:
    """Return the first lines of a coroutine."""
    context.uses.externals["aligned_alloc"] = "declare ptr @aligned_alloc(i64, i64)"
    context.uses.externals["free"] = "declare void @free(ptr)"
    context.uses.externals["write"] = "declare i64 @write(i32, ptr, i64)"
    context.uses.externals["abort"] = "declare void @abort() noreturn"
    context.uses.externals["clock"] = "declare i64 @clock()"
    context.uses.intrinsics[LACKS_NAME] = LACKS_TEXT
    context.uses.intrinsics[STUCK_NAME] = STUCK_TEXT
    context.uses.intrinsics[warp_release.NAME] = warp_release.definition()
    return [
        f"  %coro.id = call token @llvm.coro.id(i32 {_FRAME_ALIGN}, ptr null, ptr null, ptr null)",
        "  %coro.size = call i64 @llvm.coro.size.i64()",
        f"  %coro.more = add i64 %coro.size, {_FRAME_ALIGN - 1}",
        f"  %coro.whole = and i64 %coro.more, -{_FRAME_ALIGN}",
        "  %coro.kept = load ptr, ptr %room, align 8",
        "  %coro.fresh = icmp eq ptr %coro.kept, null",
        "  br i1 %coro.fresh, label %coro.make, label %coro.start",
        "coro.make:",
        f"  %coro.new = call ptr @aligned_alloc(i64 {_FRAME_ALIGN}, i64 %coro.whole)",
        "  store ptr %coro.new, ptr %room, align 8",
        "  %coro.lacks = icmp eq ptr %coro.new, null",
        "  br i1 %coro.lacks, label %coro.lack, label %coro.start",
        "coro.lack:",
        *GIVE_UP,
        "coro.start:",
        "  %coro.memory = phi ptr [ %coro.kept, %entry ], [ %coro.new, %coro.make ]",
        "  %coro.frame = call ptr @llvm.coro.begin(token %coro.id, ptr %coro.memory)",
    ]


def stop(body: Operations, action: object, number: int) -> str:
    """Write the place where a thread stops; return the text of its result.

    Args:
        number: of the stop, in the order of the program.
    """
    assert isinstance(action, CallIntrinsic)
    states = {WAIT_FOR_BLOCK: AT_BARRIER, YIELD: YIELDS, SPIN: YIELDS}
    body.lines.append(f"  store i8 {states.get(action.name, AT_WARP)}, ptr %state, align 1")
    if action.name not in states:
        _wait_in_warp(body, action, number)
    body.lines += [
        f"  %coro.{number} = call i8 @llvm.coro.suspend(token none, i1 false)",
        f"  switch i8 %coro.{number}, label %coro.stop [i8 0, label %coro.go{number} i8 1, label %coro.end]",
        f"coro.go{number}:",
    ]
    return body.new("load i32, ptr %warp, align 4") if action.name == EXCHANGE else ""


def _wait_in_warp(body: Operations, action: CallIntrinsic, number: int) -> None:
    """Write the mask of lanes that a lane waits for, and the word that it gives the others."""
    own = _place(body, "%warp.lane")
    words = {warp_release.SITE: str(2 * number + (action.name == WAIT_FOR_WARP))}
    *given, mask = map(body.value, action.args)
    words[warp_release.MASK] = body.new(f"trunc i64 {mask} to i32")
    if given:
        words[warp_release.GIVEN] = given[0]
    for at, word in words.items():
        place = body.new(f"getelementptr inbounds i32, ptr {own}, i32 {at}")
        body.lines.append(f"  store i32 {word}, ptr {place}, align 4")


def exchanged(body: Operations, action: CallIntrinsic) -> str:
    """Write how the word of another lane is read; returns its text."""
    release, lane, otherwise = map(body.value, action.args)
    place = _place(body, lane)
    word = body.new(f"load i32, ptr {place}, align 4")
    number = body.new(f"getelementptr inbounds i32, ptr {place}, i32 {warp_release.NUMBER}")
    took_part = body.new(f"icmp eq i32 {body.new(f'load i32, ptr {number}, align 4')}, {release}")
    return body.new(f"select i1 {took_part}, i32 {word}, i32 {otherwise}")


def _place(body: Operations, lane: str) -> str:
    """Write the address of a lane's words."""
    first = body.new(f"add i32 {body.new(f'mul i32 {lane}, {LANE_WORDS}')}, 1")
    return body.new(f"getelementptr inbounds i32, ptr %warp, i32 {first}")


LEAVE = (f"{LEFT}:", f"  store i8 {ENDED}, ptr %state, align 1")
"""The end of a thread."""

FIRST_RECORD, LIVE_THREADS = 5, 10
"""Words of 64 bits of a block's record: the address of the record of the cluster's first block; in that one, how many
of the cluster's threads have not ended. `stdlib/gpu/_cpu/barriers.kpy` has them all."""

LEAVE_GROUP = (
    *LEAVE,
    f"  %left.at = getelementptr inbounds i64, ptr {RECORD}, i64 {FIRST_RECORD}",
    "  %left.record = load ptr, ptr %left.at, align 8",
    f"  %left.live = getelementptr inbounds i64, ptr %left.record, i64 {LIVE_THREADS}",
    "  %left.before = load i64, ptr %left.live, align 8",
    "  %left.after = sub i64 %left.before, 1",
    "  store i64 %left.after, ptr %left.live, align 8",
)
"""The same where several blocks run at the same time."""

END = (
    "  br label %coro.end",
    "coro.end:",
    "  %coro.gone = call ptr @llvm.coro.free(token %coro.id, ptr %coro.frame)",
    "  br label %coro.stop",
    "coro.stop:",
    "  call void @llvm.coro.end(ptr %coro.frame, i1 false, token none)",
    "  ret ptr %coro.frame",
)
"""The last lines of a coroutine, after `LEAVE`."""


def room(threads: int) -> list[str]:
    """Return the memory that a block's threads need to run in turns, at most so many."""
    return [
        f"  %frames = alloca [{threads} x ptr], align 8",
        f"  %rooms = alloca [{threads} x ptr], align 8",
        f"  %states = alloca [{threads} x i8], align 1",
        f"  %warps = alloca [{(threads + WARP_LANES - 1) // WARP_LANES} x [{WARP_WORDS} x i32]], align 4",
        "  %plane = mul i32 %s6, %s7",
        "  %count = mul i32 %plane, %s8",
        f"  %warps.full = add i32 %count, {WARP_LANES - 1}",
        f"  %warps.count = udiv i32 %warps.full, {WARP_LANES}",
        f"  %warps.bytes = mul i32 %warps.count, {4 * WARP_WORDS}",
        "  %warps.size = zext i32 %warps.bytes to i64",
        "  %threads = zext i32 %count to i64",
        "  %rooms.size = shl nuw nsw i64 %threads, 3",
        "  call void @llvm.memset.p0.i64(ptr align 8 %rooms, i8 0, i64 %rooms.size, i1 false)",
    ]


FREE = """\
done:
  br label %free
free:
  %f = phi i32 [ 0, %done ], [ %f.next, %free ]
  %f.room = getelementptr inbounds ptr, ptr %rooms, i32 %f
  %f.memory = load ptr, ptr %f.room, align 8
  call void @free(ptr %f.memory)
  %f.next = add nuw nsw i32 %f, 1
  %f.more = icmp ult i32 %f.next, %count
  br i1 %f.more, label %free, label %end
end:
  ret void
}"""
"""The end of the entry."""


def turns(call: str, arguments: Sequence[str]) -> str:
    """Return the code of one block, which ends with a jump to `block.end`.

    Args:
        call: the kernel's function. arguments: of the call, but `PARAMETERS`.
    """
    return _TURNS.format(
        call=call, arguments=", ".join([*arguments, *PARAMETERS]), lanes=WARP_LANES, words=WARP_WORDS, runs=RUNS,
        barrier=AT_BARRIER, shift=WARP_LANES.bit_length() - 1, last=WARP_LANES - 1,
        lane=LANE_SLOT, number=WARP_SLOT,
    )  # fmt: skip


_TURNS = """\
  call void @llvm.memset.p0.i64(ptr align 4 %warps, i8 0, i64 %warps.size, i1 false)
  br label %start
start:
  %t = phi i32 [ 0, %block ], [ %t.next, %start ]
  %s0 = urem i32 %t, %s6
  %tyz = udiv i32 %t, %s6
  %s1 = urem i32 %tyz, %s7
  %s2 = udiv i32 %tyz, %s7
  %w = lshr i32 %t, {shift}
  %warp.lane = and i32 %t, {last}
  %s{lane} = and i32 %t, {last}
  %s{number} = lshr i32 %t, {shift}
  %warp = getelementptr inbounds [{words} x i32], ptr %warps, i32 %w
  %state = getelementptr inbounds i8, ptr %states, i32 %t
  store i8 {runs}, ptr %state, align 1
  %room = getelementptr inbounds ptr, ptr %rooms, i32 %t
  %frame = call ptr {call}({arguments})
  %held = getelementptr inbounds ptr, ptr %frames, i32 %t
  store ptr %frame, ptr %held, align 8
  %t.next = add nuw nsw i32 %t, 1
  %t.more = icmp ult i32 %t.next, %count
  br i1 %t.more, label %start, label %phase
phase:
  br label %team
team:
  %from = phi i32 [ 0, %phase ], [ %to, %team.end ]
  %to.full = add nuw nsw i32 %from, {lanes}
  %to = call i32 @llvm.umin.i32(i32 %to.full, i32 %count)
  %number = lshr i32 %from, {shift}
  %record = getelementptr inbounds [{words} x i32], ptr %warps, i32 %number
  %team.states = getelementptr inbounds i8, ptr %states, i32 %from
  %team.count = sub nuw nsw i32 %to, %from
  br label %lane
lane:
  %l = phi i32 [ %from, %team ], [ %from, %lanes.end ], [ %l.next, %lane.end ]
  %l.state = getelementptr inbounds i8, ptr %states, i32 %l
  %l.waits = load i8, ptr %l.state, align 1
  %l.runs = icmp eq i8 %l.waits, {runs}
  br i1 %l.runs, label %resume, label %lane.end
resume:
  %l.held = getelementptr inbounds ptr, ptr %frames, i32 %l
  %l.frame = load ptr, ptr %l.held, align 8
  call void @llvm.coro.resume(ptr %l.frame)
  br label %lane.end
lane.end:
  %l.next = add nuw nsw i32 %l, 1
  %l.more = icmp ult i32 %l.next, %to
  br i1 %l.more, label %lane, label %lanes.end
lanes.end:
  %goes = call i1 @ktc.cpu.release(ptr %record, ptr %team.states, i32 %team.count)
  br i1 %goes, label %lane, label %team.end
team.end:
  %teams.more = icmp ult i32 %to, %count
  br i1 %teams.more, label %team, label %pass
pass:
  %p = phi i32 [ 0, %team.end ], [ %p.next, %pass ]
  %passed = phi i1 [ false, %team.end ], [ %passed.next, %pass ]
  %p.state = getelementptr inbounds i8, ptr %states, i32 %p
  %p.waits = load i8, ptr %p.state, align 1
  %p.there = icmp eq i8 %p.waits, {barrier}
  %p.new = select i1 %p.there, i8 {runs}, i8 %p.waits
  store i8 %p.new, ptr %p.state, align 1
  %passed.next = or i1 %passed, %p.there
  %p.next = add nuw nsw i32 %p, 1
  %p.more = icmp ult i32 %p.next, %count
  br i1 %p.more, label %pass, label %passed.all
passed.all:
  br i1 %passed.next, label %phase, label %block.end
"""
