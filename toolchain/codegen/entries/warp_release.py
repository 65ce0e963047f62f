"""Which lanes of a warp go on together, for kernels of the CPU device whose threads are coroutines.

Output: text of a function of LLVM that the entries call when no lane of a warp runs any more.

A GPU brings the lanes of a warp together again after a branch; coroutines have to choose. Lanes that wait for a mask go
on when all of that mask that are still on their way wait for the same one: at one exchange, or at barriers anywhere. If
no mask is complete, the program relies on lanes that come together by themselves: then those go on that stand first in
the program, which the others wait for behind the branch or the loop.
"""

from ktc.targets.cpu import WARP_LANES

RUNS, AT_BARRIER, ENDED, YIELDS, AT_WARP = range(5)
"""States of a thread."""

WORD, NUMBER, GIVEN, MASK, SITE = range(5)
"""32-bit words of a lane: the word that the others read and the release that it belongs to; then what the lane writes
before it waits: its word, the mask of the lanes that it waits for, and the place, whose last bit says that it is a
barrier."""

LANE_WORDS = 5
WARP_WORDS = 1 + LANE_WORDS * WARP_LANES
"""32-bit words of a warp's memory: the number of the last release, and the lanes' words, which are 0 at first."""

NAME = "ktc.cpu.release"

_WAITS = """\
  %{lane}.lane = mul nuw nsw i32 %{lane}, <lane words>
  %{lane}.site.place = add nuw nsw i32 %{lane}.lane, <site at>
  %{lane}.site.at = getelementptr inbounds i32, ptr %warp, i32 %{lane}.site.place
  %{lane}.site = load i32, ptr %{lane}.site.at, align 4
  %{lane}.mask.place = add nuw nsw i32 %{lane}.lane, <mask at>
  %{lane}.mask.at = getelementptr inbounds i32, ptr %warp, i32 %{lane}.mask.place
  %{lane}.mask = load i32, ptr %{lane}.mask.at, align 4"""
"""Where a lane waits, and for which lanes."""

_LOOK = """\
define internal i1 @ktc.cpu.release(ptr %warp, ptr %states, i32 %count) nounwind {
entry:
  br label %look
look:
  %i = phi i32 [ 0, %entry ], [ %i.next, %look ]
  %waits = phi i32 [ 0, %entry ], [ %waits.next, %look ]
  %yields = phi i32 [ 0, %entry ], [ %yields.next, %look ]
  %most = phi i32 [ 0, %entry ], [ %most.next, %look ]
  %least = phi i32 [ -1, %entry ], [ %least.next, %look ]
  %i.state.at = getelementptr inbounds i8, ptr %states, i32 %i
  %i.state = load i8, ptr %i.state.at, align 1
  %i.bit = shl nuw i32 1, %i
  %i.waits = icmp eq i8 %i.state, <waits>
  %i.wait = select i1 %i.waits, i32 %i.bit, i32 0
  %waits.next = or i32 %waits, %i.wait
  %i.yields = icmp eq i8 %i.state, <yields>
  %i.yield = select i1 %i.yields, i32 %i.bit, i32 0
  %yields.next = or i32 %yields, %i.yield
  %i.lane = mul nuw nsw i32 %i, <lane words>
  %i.place = add nuw nsw i32 %i.lane, <site at>
  %i.site.at = getelementptr inbounds i32, ptr %warp, i32 %i.place
  %i.site = load i32, ptr %i.site.at, align 4
  %i.more = icmp ugt i32 %i.site, %most
  %i.most = select i1 %i.more, i32 %i.site, i32 %most
  %most.next = select i1 %i.waits, i32 %i.most, i32 %most
  %i.less = icmp ult i32 %i.site, %least
  %i.least = select i1 %i.less, i32 %i.site, i32 %least
  %least.next = select i1 %i.waits, i32 %i.least, i32 %least
  %i.next = add nuw nsw i32 %i, 1
  %i.goes = icmp ult i32 %i.next, %count
  br i1 %i.goes, label %look, label %looked
looked:
  %none = icmp eq i32 %waits.next, 0
  br i1 %none, label %leave, label %some
some:
  %one.place = icmp eq i32 %most.next, %least.next
  %all = icmp eq i32 %yields.next, 0
  %simple = and i1 %one.place, %all
  br i1 %simple, label %deliver, label %choose"""
"""All of them, where no lane waits elsewhere."""

_CHOOSE = """\
choose:
  %c = phi i32 [ 0, %some ], [ %c.next, %chosen ]
  %best = phi i32 [ -1, %some ], [ %best.next, %chosen ]
  %bits = phi i32 [ 0, %some ], [ %bits.next, %chosen ]
  %c.bit = shl nuw i32 1, %c
  %c.in = and i32 %waits.next, %c.bit
  %c.waits = icmp ne i32 %c.in, 0
<waits of c>
  br label %compare
compare:
  %d = phi i32 [ 0, %choose ], [ %d.next, %compare ]
  %group = phi i32 [ 0, %choose ], [ %group.next, %compare ]
  %same = phi i32 [ 0, %choose ], [ %same.next, %compare ]
  %d.bit = shl nuw i32 1, %d
<waits of d>
  %d.in = and i32 %waits.next, %d.bit
  %is.same = icmp eq i32 %d.site, %c.site
  %d.same = select i1 %is.same, i32 %d.in, i32 0
  %same.next = or i32 %same, %d.same
  %both = and i32 %d.site, %c.site
  %both.last = and i32 %both, 1
  %are.barriers = icmp ne i32 %both.last, 0
  %meets = or i1 %is.same, %are.barriers
  %is.mask = icmp eq i32 %d.mask, %c.mask
  %is.mate = and i1 %meets, %is.mask
  %d.mate = select i1 %is.mate, i32 %d.in, i32 0
  %group.next = or i32 %group, %d.mate
  %d.next = add nuw nsw i32 %d, 1
  %d.goes = icmp ult i32 %d.next, %count
  br i1 %d.goes, label %compare, label %chosen
chosen:
  %present = or i32 %waits.next, %yields.next
  %meant = and i32 %c.mask, %present
  %absent.lanes = xor i32 %group.next, -1
  %lacking = and i32 %meant, %absent.lanes
  %is.whole = icmp eq i32 %lacking, 0
  %later = or i32 %c.site, -2147483648
  %key = select i1 %is.whole, i32 %c.site, i32 %later
  %key.less = icmp ult i32 %key, %best
  %takes = and i1 %key.less, %c.waits
  %c.bits = select i1 %is.whole, i32 %group.next, i32 %same.next
  %best.next = select i1 %takes, i32 %key, i32 %best
  %bits.next = select i1 %takes, i32 %c.bits, i32 %bits
  %c.next = add nuw nsw i32 %c, 1
  %c.goes = icmp ult i32 %c.next, %count
  br i1 %c.goes, label %choose, label %found
found:
  %is.forced = icmp slt i32 %best.next, 0
  %others = xor i1 %all, true
  %stays = and i1 %is.forced, %others
  br i1 %stays, label %leave, label %deliver"""

_DELIVER = """\
deliver:
  %go = phi i32 [ %waits.next, %some ], [ %bits.next, %found ]
  %number.before = load i32, ptr %warp, align 4
  %number = add i32 %number.before, 1
  store i32 %number, ptr %warp, align 4
  br label %each
each:
  %e = phi i32 [ 0, %deliver ], [ %e.next, %each.end ]
  %e.bit = shl nuw i32 1, %e
  %e.in = and i32 %go, %e.bit
  %e.goes = icmp ne i32 %e.in, 0
  br i1 %e.goes, label %pass, label %each.end
pass:
  %e.lane = mul nuw nsw i32 %e, <lane words>
  %e.word = add nuw nsw i32 %e.lane, <word at>
  %e.at = getelementptr inbounds i32, ptr %warp, i32 %e.word
  %e.given.at = getelementptr inbounds i32, ptr %e.at, i32 <given>
  %e.given = load i32, ptr %e.given.at, align 4
  store i32 %e.given, ptr %e.at, align 4
  %e.number.at = getelementptr inbounds i32, ptr %e.at, i32 <number>
  store i32 %number, ptr %e.number.at, align 4
  %e.state.at = getelementptr inbounds i8, ptr %states, i32 %e
  store i8 <runs>, ptr %e.state.at, align 1
  br label %each.end
each.end:
  %e.next = add nuw nsw i32 %e, 1
  %e.more = icmp ult i32 %e.next, %count
  br i1 %e.more, label %each, label %leave
leave:
  %released = phi i1 [ false, %looked ], [ false, %found ], [ true, %each.end ]
  ret i1 %released
}"""
"""The chosen lanes get one another's words, and run."""

_VALUES = {
    "waits": AT_WARP, "yields": YIELDS, "runs": RUNS, "lane words": LANE_WORDS, "site at": 1 + SITE,
    "mask at": 1 + MASK, "word at": 1 + WORD, "given": GIVEN, "number": NUMBER,
}  # fmt: skip


def definition() -> str:
    """Return the text of `i1 @ktc.cpu.release(ptr warp, ptr states, i32 count)`: whether lanes of it go on."""
    text = "\n".join([_LOOK, _CHOOSE, _DELIVER])
    for lane in "cd":
        text = text.replace(f"<waits of {lane}>", _WAITS.format(lane=lane))
    for name, value in _VALUES.items():
        text = text.replace(f"<{name}>", str(value))
    return text
