"""Kernels whose blocks wait for one another, on the CPU device: the threads of a cluster's blocks take turns.

Input: a kernel whose threads are coroutines (`coroutine_kernels`), with some of `targets.cpu.GROUPING_INTRINSICS`.
Output: text of its entry. A cluster here is a group of blocks that the launch or the kernel names: those of a
cluster, all of a cooperative launch, or a single block. The groups are counted with x fastest; those run whose first
block has a number from `first` to `last` - 1. A thread goes on until it stops. Lanes that wait for their warp go on
when none of it runs or yields any more, threads at the block's barrier when none of the block does. Who yields goes on
when all others have had their turn.
"""

from ktc.codegen.context import Context
from ktc.codegen.entries import kernel_arguments
from ktc.codegen.entries.coroutine_kernels import FIRST_RECORD, GROUP_PARAMETERS, LIVE_THREADS, spins
from ktc.codegen.entries.warp_release import AT_BARRIER, ENDED, RUNS, WARP_WORDS, YIELDS
from ktc.codegen.functions import FunctionText
from ktc.codegen.values.constants import symbol
from ktc.codegen.values.operations import Operations
from ktc.targets.cpu import GIVE_UP, GIVE_UP_WAITING, LANE_SLOT, RECORD_BYTES, WARP_LANES, WARP_SLOT

_ALIGN = 1024
"""Of a block's shared memory: swizzles look at the last bits of addresses."""

_MOST_THREADS = 1 << 17
"""Threads of a grid that run at the same time without a launch that says so."""

_PATIENCE = 60_000_000
"""Microseconds of processor time, which stands still with the program."""

_SIZES = (9, 10, 11, 6, 7, 8)
"""Slots of the system values that stand first in `launch`."""


def entry(context: Context, kernel: FunctionText) -> str:
    """Return the kernel's entry."""
    function = kernel.function
    body = Operations(context, function.symbol)
    for place, slot in enumerate(_SIZES):
        body.lines.append(f"  %launch{place} = getelementptr inbounds i32, ptr %launch, i64 {place}")
        body.lines.append(f"  %s{slot} = load i32, ptr %launch{place}, align 4, !range !2")
    for index, name in enumerate(("added", "l.x", "l.y", "l.z")):
        body.lines.append(f"  %at.{name} = getelementptr inbounds i32, ptr %launch, i64 {len(_SIZES) + index}")
        body.lines.append(f"  %{name} = load i32, ptr %at.{name}, align 4")
    is_whole = spins(function) and "cluster" not in function.bounds
    group = "one" if is_whole else "g"
    for name, own in zip("xyz", function.bounds.get("cluster", (1, 1, 1)), strict=True):
        body.lines.append(f"  %chosen.{name} = icmp ne i32 %l.{name}, 0")
        body.lines.append(f"  %{group}.{name} = select i1 %chosen.{name}, i32 %l.{name}, i32 {own}")
    if is_whole:
        body.lines.append(_WHOLE)
    passed = kernel_arguments.loaded(body, function)
    passed += [*context.trailing.parameters(function.symbol), *GROUP_PARAMETERS]
    parts = [_MEMORY, *GIVE_UP, _BLOCKS, _RECORDS, _START, _WARPS, _PASS, *GIVE_UP_WAITING, _END]
    text = "\n".join(parts)
    values = {
        "call": symbol(context.body_name(function.symbol)), "arguments": ", ".join(passed), "align": _ALIGN,
        "own": context.trailing.shared_bytes, "lanes": WARP_LANES, "shift": WARP_LANES.bit_length() - 1,
        "last": WARP_LANES - 1, "words": WARP_WORDS, "warp": 4 * WARP_WORDS, "bytes": RECORD_BYTES, "lane": LANE_SLOT,
        "number": WARP_SLOT, "runs": RUNS, "barrier": AT_BARRIER, "ended": ENDED, "yields": YIELDS,
        "first_record": FIRST_RECORD, "live": LIVE_THREADS, "patience": _PATIENCE,
    }  # fmt: skip
    for name, value in values.items():
        text = text.replace(f"<{name}>", str(value))
    head = f"define void {symbol(function.symbol)}(ptr %args, ptr %launch, i64 %first, i64 %last) #6 {{\nentry:"
    return "\n".join([head, *body.lines, text])


_WHOLE = f"""\
  %grid.plane = mul i32 %s9, %s10
  %grid.blocks = mul i32 %grid.plane, %s11
  %grid.wide = zext i32 %grid.blocks to i64
  %one.plane = mul i32 %s6, %s7
  %one.threads = mul i32 %one.plane, %s8
  %one.wide = zext i32 %one.threads to i64
  %grid.threads = mul i64 %grid.wide, %one.wide
  %grid.fits = icmp ule i64 %grid.threads, {_MOST_THREADS}
  %is.plain = xor i1 %chosen.x, true
  %is.whole = and i1 %grid.fits, %is.plain
  %g.x = select i1 %is.whole, i32 %s9, i32 %one.x
  %g.y = select i1 %is.whole, i32 %s10, i32 %one.y
  %g.z = select i1 %is.whole, i32 %s11, i32 %one.z"""
"""Where threads wait in loops for what they read, all blocks of a grid that is not too large are one group: a GPU runs
so many at the same time, and blocks may wait for later ones."""

_MEMORY = """\
  %live.seen = alloca i64, align 8
  %idle = alloca i64, align 8
  %since = alloca i64, align 8
  store i64 0, ptr %live.seen, align 8
  store i64 0, ptr %idle, align 8
  store i64 0, ptr %since, align 8
  %g.row = mul i32 %g.x, %g.y
  %g.blocks = mul i32 %g.row, %g.z
  %step = zext i32 %g.blocks to i64
  %first.more = add i64 %first, %step
  %first.full = sub i64 %first.more, 1
  %first.group = udiv i64 %first.full, %step
  %begin = mul i64 %first.group, %step
  %any = icmp slt i64 %begin, %last
  br i1 %any, label %make, label %leave
make:
  %plane = mul i32 %s6, %s7
  %count = mul i32 %plane, %s8
  %count.full = add i32 %count, <last>
  %warps.own = lshr i32 %count.full, <shift>
  %padded = shl i32 %warps.own, <shift>
  %slots = mul i32 %padded, %g.blocks
  %slots.wide = zext i32 %slots to i64
  %shared.bytes = add i32 %added, <own>
  %shared.more = add i32 %shared.bytes, <align>
  %shared.whole = and i32 %shared.more, -<align>
  %stride = zext i32 %shared.whole to i64
  %shared.size = mul i64 %stride, %step
  %records.size = mul i64 %step, <bytes>
  %cells.size = shl i64 %slots.wide, 3
  %warps.count = lshr i64 %slots.wide, <shift>
  %warps.size = mul i64 %warps.count, <warp>
  %at.frames = add i64 %shared.size, %records.size
  %at.cells = add i64 %at.frames, %cells.size
  %at.warps = add i64 %at.cells, %cells.size
  %at.states = add i64 %at.warps, %warps.size
  %end = add i64 %at.states, %slots.wide
  %end.more = add i64 %end, <align>
  %whole = and i64 %end.more, -<align>
  %memory = call ptr @aligned_alloc(i64 <align>, i64 %whole)
  %lacks = icmp eq ptr %memory, null
  br i1 %lacks, label %lack, label %blocks
lack:"""

_BLOCKS = """\
blocks:
  %records = getelementptr inbounds i8, ptr %memory, i64 %shared.size
  %frames = getelementptr inbounds i8, ptr %memory, i64 %at.frames
  %cells = getelementptr inbounds i8, ptr %memory, i64 %at.cells
  %warps = getelementptr inbounds i8, ptr %memory, i64 %at.warps
  %states = getelementptr inbounds i8, ptr %memory, i64 %at.states
  call void @llvm.memset.p0.i64(ptr %cells, i8 0, i64 %cells.size, i1 false)
  %n.x = udiv i32 %s9, %g.x
  %n.y = udiv i32 %s10, %g.y
  %columns = zext i32 %n.x to i64
  %rows = zext i32 %n.y to i64
  br label %block
block:
  %b = phi i64 [ %begin, %blocks ], [ %b.next, %block.end ]
  %group = udiv i64 %b, %step
  %group.x = urem i64 %group, %columns
  %group.row = udiv i64 %group, %columns
  %group.y = urem i64 %group.row, %rows
  %group.z = udiv i64 %group.row, %rows
  %x = trunc i64 %group.x to i32
  %y = trunc i64 %group.y to i32
  %z = trunc i64 %group.z to i32
  %from.x = mul i32 %x, %g.x
  %from.y = mul i32 %y, %g.y
  %from.z = mul i32 %z, %g.z
  call void @llvm.memset.p0.i64(ptr %warps, i8 0, i64 %warps.size, i1 false)
  call void @llvm.memset.p0.i64(ptr %records, i8 0, i64 %records.size, i1 false)
  br label %fill"""

_RECORDS = """\
fill:
  %f = phi i64 [ 0, %block ], [ %f.next, %fill ]
  %f.at = mul i64 %f, <bytes>
  %f.record = getelementptr inbounds i8, ptr %records, i64 %f.at
  %f.shift = mul i64 %f, %stride
  %f.shared = getelementptr inbounds i8, ptr %memory, i64 %f.shift
  store ptr %f.shared, ptr %f.record, align 8
  %f.1 = getelementptr inbounds i64, ptr %f.record, i64 1
  store i64 %f, ptr %f.1, align 8
  %f.2 = getelementptr inbounds i64, ptr %f.record, i64 2
  %g.x.wide = zext i32 %g.x to i64
  store i64 %g.x.wide, ptr %f.2, align 8
  %f.3 = getelementptr inbounds i64, ptr %f.record, i64 3
  %g.y.wide = zext i32 %g.y to i64
  store i64 %g.y.wide, ptr %f.3, align 8
  %f.4 = getelementptr inbounds i64, ptr %f.record, i64 4
  %g.z.wide = zext i32 %g.z to i64
  store i64 %g.z.wide, ptr %f.4, align 8
  %f.5 = getelementptr inbounds i64, ptr %f.record, i64 <first_record>
  store ptr %records, ptr %f.5, align 8
  %f.6 = getelementptr inbounds i64, ptr %f.record, i64 6
  store i64 %stride, ptr %f.6, align 8
  %f.live = getelementptr inbounds i64, ptr %f.record, i64 <live>
  %all = mul i32 %count, %g.blocks
  %all.wide = zext i32 %all to i64
  store i64 %all.wide, ptr %f.live, align 8
  %f.next = add nuw nsw i64 %f, 1
  %f.more = icmp ult i64 %f.next, %step
  br i1 %f.more, label %fill, label %start"""
"""The first seven words of each block's record, and the number of threads."""

_START = """\
start:
  %t = phi i32 [ 0, %fill ], [ %t.next, %start.end ]
  %t.state = getelementptr inbounds i8, ptr %states, i32 %t
  %r = udiv i32 %t, %padded
  %u = urem i32 %t, %padded
  %is.thread = icmp ult i32 %u, %count
  br i1 %is.thread, label %start.one, label %start.none
start.none:
  store i8 <ended>, ptr %t.state, align 1
  br label %start.end
start.one:
  %s0 = urem i32 %u, %s6
  %uyz = udiv i32 %u, %s6
  %s1 = urem i32 %uyz, %s7
  %s2 = udiv i32 %uyz, %s7
  %r.x = urem i32 %r, %g.x
  %r.yz = udiv i32 %r, %g.x
  %r.y = urem i32 %r.yz, %g.y
  %r.z = udiv i32 %r.yz, %g.y
  %s3 = add i32 %from.x, %r.x
  %s4 = add i32 %from.y, %r.y
  %s5 = add i32 %from.z, %r.z
  %warp.lane = and i32 %u, <last>
  %s<lane> = and i32 %u, <last>
  %s<number> = lshr i32 %u, <shift>
  %r.wide = zext i32 %r to i64
  %r.shift = mul i64 %r.wide, %stride
  %shared = getelementptr inbounds i8, ptr %memory, i64 %r.shift
  %r.at = mul i64 %r.wide, <bytes>
  %record = getelementptr inbounds i8, ptr %records, i64 %r.at
  %w = lshr i32 %t, <shift>
  %warp = getelementptr inbounds [<words> x i32], ptr %warps, i32 %w
  %state = getelementptr inbounds i8, ptr %states, i32 %t
  store i8 <runs>, ptr %state, align 1
  %room = getelementptr inbounds ptr, ptr %cells, i32 %t
  %frame = call ptr <call>(<arguments>)
  %held = getelementptr inbounds ptr, ptr %frames, i32 %t
  store ptr %frame, ptr %held, align 8
  br label %start.end
start.end:
  %t.next = add nuw nsw i32 %t, 1
  %t.more = icmp ult i32 %t.next, %slots
  br i1 %t.more, label %start, label %phase"""

_WARPS = """\
phase:
  br label %team
team:
  %from = phi i32 [ 0, %phase ], [ %to, %team.end ]
  %to = add nuw nsw i32 %from, <lanes>
  br label %lane
lane:
  %l = phi i32 [ %from, %team ], [ %from, %look ], [ %l.next, %lane.end ]
  %l.state = getelementptr inbounds i8, ptr %states, i32 %l
  %l.before = load i8, ptr %l.state, align 1
  %l.runs = icmp eq i8 %l.before, <runs>
  br i1 %l.runs, label %resume, label %lane.end
resume:
  %l.held = getelementptr inbounds ptr, ptr %frames, i32 %l
  %l.frame = load ptr, ptr %l.held, align 8
  call void @llvm.coro.resume(ptr %l.frame)
  br label %lane.end
lane.end:
  %l.next = add nuw nsw i32 %l, 1
  %l.more = icmp ult i32 %l.next, %to
  br i1 %l.more, label %lane, label %look
look:
  %number = lshr i32 %from, <shift>
  %list = getelementptr inbounds [<words> x i32], ptr %warps, i32 %number
  %list.states = getelementptr inbounds i8, ptr %states, i32 %from
  %goes = call i1 @ktc.cpu.release(ptr %list, ptr %list.states, i32 <lanes>)
  br i1 %goes, label %lane, label %team.end
team.end:
  %teams.more = icmp ult i32 %to, %slots
  br i1 %teams.more, label %team, label %pass"""
"""Each warp's lanes until all of them yield, wait for the block or have ended."""

_PASS = """\
pass:
  %p = phi i32 [ 0, %team.end ], [ %p.to, %pass.end ]
  %passed = phi i1 [ false, %team.end ], [ %go.on, %pass.end ]
  %moved = phi i1 [ false, %team.end ], [ %moves, %pass.end ]
  %p.to = add nuw nsw i32 %p, %padded
  br label %ask
ask:
  %i = phi i32 [ %p, %pass ], [ %i.next, %ask ]
  %busy = phi i1 [ false, %pass ], [ %busy.next, %ask ]
  %i.at = getelementptr inbounds i8, ptr %states, i32 %i
  %i.state = load i8, ptr %i.at, align 1
  %i.yields = icmp eq i8 %i.state, <yields>
  %busy.next = or i1 %busy, %i.yields
  %i.next = add nuw nsw i32 %i, 1
  %i.more = icmp ult i32 %i.next, %p.to
  br i1 %i.more, label %ask, label %asked
asked:
  %free = select i1 %busy.next, i8 <yields>, i8 <barrier>
  br label %let
let:
  %j = phi i32 [ %p, %asked ], [ %j.next, %let ]
  %going = phi i1 [ %passed, %asked ], [ %go.on, %let ]
  %own = phi i1 [ false, %asked ], [ %own.on, %let ]
  %j.at = getelementptr inbounds i8, ptr %states, i32 %j
  %j.state = load i8, ptr %j.at, align 1
  %j.free = icmp eq i8 %j.state, %free
  %j.new = select i1 %j.free, i8 <runs>, i8 %j.state
  store i8 %j.new, ptr %j.at, align 1
  %go.on = or i1 %going, %j.free
  %own.on = or i1 %own, %j.free
  %j.next = add nuw nsw i32 %j, 1
  %j.more = icmp ult i32 %j.next, %p.to
  br i1 %j.more, label %let, label %pass.end
pass.end:
  %lets.go = xor i1 %busy.next, true
  %some.go = and i1 %lets.go, %own.on
  %moves = or i1 %moved, %some.go
  %p.more = icmp ult i32 %p.to, %slots
  br i1 %p.more, label %pass, label %passed.all
passed.all:
  br i1 %go.on, label %watch, label %block.end
watch:
  %live.at = getelementptr inbounds i64, ptr %records, i64 <live>
  %live.now = load i64, ptr %live.at, align 8
  %live.before = load i64, ptr %live.seen, align 8
  store i64 %live.now, ptr %live.seen, align 8
  %live.fewer = icmp ne i64 %live.now, %live.before
  %is.changed = or i1 %live.fewer, %moves
  %is.idle = xor i1 %is.changed, true
  %idle.before = load i64, ptr %idle, align 8
  %idle.more = add i64 %idle.before, 1
  %idle.now = select i1 %is.idle, i64 %idle.more, i64 0
  store i64 %idle.now, ptr %idle, align 8
  %idle.part = and i64 %idle.now, 1023
  %is.long = icmp eq i64 %idle.part, 1023
  br i1 %is.long, label %clock, label %phase
clock:
  %time = call i64 @clock()
  %is.first = icmp eq i64 %idle.now, 1023
  %since.before = load i64, ptr %since, align 8
  %since.now = select i1 %is.first, i64 %time, i64 %since.before
  store i64 %since.now, ptr %since, align 8
  %waited = sub i64 %time, %since.now
  %is.stuck = icmp sgt i64 %waited, <patience>
  br i1 %is.stuck, label %stuck, label %phase
stuck:"""
"""For each block: who yields goes on; if none does, who is at the barrier. Where for long no thread ends or passes a
barrier, and the others wait in loops, they wait for each other for ever."""

_END = """\
block.end:
  %b.next = add nsw i64 %b, %step
  %b.more = icmp slt i64 %b.next, %last
  br i1 %b.more, label %block, label %free.all
free.all:
  %c = phi i32 [ 0, %block.end ], [ %c.next, %free.all ]
  %c.at = getelementptr inbounds ptr, ptr %cells, i32 %c
  %c.memory = load ptr, ptr %c.at, align 8
  call void @free(ptr %c.memory)
  %c.next = add nuw nsw i32 %c, 1
  %c.more = icmp ult i32 %c.next, %slots
  br i1 %c.more, label %free.all, label %done
done:
  call void @free(ptr %memory)
  br label %leave
leave:
  ret void
}"""
