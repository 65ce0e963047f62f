"""The function that runs one block: loops over threads, and between them what all threads do alike.

Input: a `Plan`. Output: text of `void K.block(arguments, indices of the block, shared memory)`.
"""

from collections.abc import Callable

from ktc.emit.workgroups.barrier_regions import END, BarrierRegions, Part
from ktc.emit.workgroups.context_arrays import ContextArrays
from ktc.emit.workgroups.guards import bounds_of, guard_of
from ktc.emit.workgroups.lane_groups.lane_group_writer import GuardWriter, LaneGroupWriter
from ktc.emit.workgroups.lane_groups.lane_groups import lane_group_of
from ktc.emit.workgroups.output import Output
from ktc.emit.workgroups.work_item_loop_writer import WorkItemLoopWriter
from ktc.emit.workgroups.work_item_loops import Plan, WorkItemLoop
from ktc.targets.cpu import WARP_LANES, WARP_SLOT

_SHIFT = WARP_LANES.bit_length() - 1
_DONE = "block.done"
_MANY_PARTS, _EACH = 8, 1
"""From which part on ways are two, and at which of them."""


class BlockWriter:
    """Writes one kernel."""

    def __init__(self, plan: Plan, output: Output, name: str, attributes: str) -> None:
        self.plan, self.graph, self.output = plan, plan.graph, output
        self.lines = output.lines
        self.context = ContextArrays(plan, name, attributes)
        self.item_loops: dict[str, list[WorkItemLoop]] = {}
        for item_loop in plan.item_loops:
            self.item_loops.setdefault(item_loop.outer, []).append(item_loop)

    def write(self) -> str:
        """Return the function."""
        for number, head in enumerate(self.plan.block_cut.parts):
            self._part(head, number >= _MANY_PARTS and number % _EACH == 0)
        return "\n".join([*self.context.head(), *self.lines, *self.context.end(_DONE), "}"])

    # ---- parts of the block's cut ---------------------------------------------------------------------------

    def _part(self, head: str, is_apart: bool) -> None:
        """Write a part. `is_apart`: LLVM is to believe that it may be passed over.

        For each loop LLVM looks at all conditions on the only way to it, so many loops in a row take it time that grows
        with their square: 20 s for 120 barriers, and 6 s where the ways to every fourth part are two.
        """
        part = self.plan.block_cut.parts[head]
        item_loops = self.item_loops[head]
        at = label(head)
        self.lines.append(f"{at}:")
        if is_apart:
            self.lines += [
                f'  %{at}.zero = call i32 asm "", "=r,0"(i32 0)',
                f"  %{at}.never = icmp ne i32 %{at}.zero, 0",
                f"  br i1 %{at}.never, label %{at}.met, label %{at}.run",
                f"{at}.run:",
            ]
        if not item_loops[0].is_lanes:
            self._threads(item_loops[0])
        else:
            self._warps(head, item_loops)
        if is_apart:
            self.lines += [f"  br label %{at}.met", f"{at}.met:"]
        done = _DONE
        if part.ends_threads:
            self._exit_unless_any(head, "%threads", "", done)
        self._follow(part, item_loops, label, done)

    def _threads(self, item_loop: WorkItemLoop) -> None:
        bounds = bounds_of(self.plan, item_loop)
        writer = WorkItemLoopWriter(self.plan, self.context, self.output, item_loop, bounds=bounds)
        if bounds is not None and bounds.is_one:
            writer.write()
            return
        guard = guard_of(self.plan, item_loop) if self.output.is_vectorised else None
        plan, inner = (self.plan, item_loop) if guard is None else (guard.plan, guard.item_loop)
        lane_group = lane_group_of(plan, inner) if self.output.is_vectorised else None
        if lane_group is None:
            writer.write()
            return
        whole = LaneGroupWriter(plan, self.context, self.output, inner, lane_group, writer)

        def write() -> None:
            if guard is not None:
                GuardWriter(self.plan, self.context, self.output, item_loop, guard).write()
            whole.write()

        writer.write(write)

    def _follow(self, part: Part, item_loops: list[WorkItemLoop], labels: Callable[[str], str], end: str) -> None:
        """Go where all threads go."""
        if not part.follows:
            self.lines.append(f"  br label %{end}")
        elif part.end and self.graph.blocks[part.end].end.condition:
            terminator = self.graph.blocks[part.end].end
            names, made = {target: labels(target) for target in terminator.targets}, ""
            if terminator.condition.startswith("%"):
                kind = terminator.text.split(" ")[1]
                made = f"%{labels(part.head)}.taken"
                self.lines.append(f"  {made} = load {kind}, ptr {self.context.condition(part.end, kind)}, align 1")
            self.lines.append(f"  {terminator.written(names, made)}")
        else:
            target = part.follows[0]
            self.lines.append(f"  br label %{end if target == END else labels(target)}")

    def _exit_unless_any(self, prefix: str, count: str, first: str, end: str) -> None:
        """Leave if no thread of those from `first` on is left."""
        at = label(prefix) if first == "" else prefix
        self.lines += [
            f"  br label %{at}.ask",
            f"{at}.ask:",
            f"  %{at}.a = phi i64 [ 0, %{self.output.open_label()} ], [ %{at}.a.next, %{at}.ask ]",
            f"  %{at}.all = phi i8 [ 1, %{self.output.open_label()} ], [ %{at}.all.next, %{at}.ask ]",
            f"  %{at}.a.place = getelementptr inbounds i8, ptr %ended, i64 %{at}.a" if not first else
            f"  %{at}.a.at = add i64 %{at}.a, {first}\n"
            f"  %{at}.a.place = getelementptr inbounds i8, ptr %ended, i64 %{at}.a.at",
            f"  %{at}.a.ended = load i8, ptr %{at}.a.place, align 1",
            f"  %{at}.all.next = and i8 %{at}.all, %{at}.a.ended",
            f"  %{at}.a.next = add nuw nsw i64 %{at}.a, 1",
            f"  %{at}.a.more = icmp ult i64 %{at}.a.next, {count}",
            f"  br i1 %{at}.a.more, label %{at}.ask, label %{at}.asked",
            f"{at}.asked:",
            f"  %{at}.none = icmp ne i8 %{at}.all.next, 0",
            f"  br i1 %{at}.none, label %{end}, label %{at}.go",
            f"{at}.go:",
        ]  # fmt: skip

    # ---- warps -----------------------------------------------------------------------------------------------

    def _warps(self, head: str, item_loops: list[WorkItemLoop]) -> None:
        at = label(head)
        rows = next((item_loop.cut for item_loop in item_loops if item_loop.is_row), None)
        others = next(item_loop.cut for item_loop in item_loops if not item_loop.is_row)
        self.lines += [
            f"  br label %{at}.w",
            f"{at}.w:",
            *(
                f"  %{at}.{name} = phi i32 [ 0, %{self.output.open_label()} ], [ %{at}.{name}.next, %{at}.w.end ]"
                for name in (f"s{WARP_SLOT}", *(("x0", "s1", "s2") if rows is not None else ()))
            ),
            f"  %{at}.from = shl nuw nsw i32 %{at}.s{WARP_SLOT}, {_SHIFT}",
            f"  %{at}.from64 = zext nneg i32 %{at}.from to i64",
            f"  %{at}.left = sub nuw nsw i32 %count, %{at}.from",
            f"  %{at}.some = call i32 @llvm.umin.i32(i32 %{at}.left, i32 {WARP_LANES})",
            f"  %{at}.lanes = zext nneg i32 %{at}.some to i64",
        ]
        if self.plan.ends_threads:
            self._exit_unless_any(f"{at}.live", f"%{at}.lanes", f"%{at}.from64", f"{at}.w.end")
        if rows is not None:
            self.lines += [
                f"  %{at}.whole = icmp eq i32 %{at}.some, {WARP_LANES}",
                f"  %{at}.fast = and i1 %rows, %{at}.whole",
                f"  br i1 %{at}.fast, label %{at}.row.{_tail(rows)}, label %{at}.any.{_tail(others)}",
            ]
        else:
            self.lines.append(f"  br label %{at}.any.{_tail(others)}")
        for item_loop in item_loops:
            self._inner(item_loop, at, f"{at}.w.end")
        self.lines.append(f"{at}.w.end:")
        if rows is not None:
            self.lines += _next_row(at)
        self.lines += [
            f"  %{at}.s{WARP_SLOT}.next = add nuw nsw i32 %{at}.s{WARP_SLOT}, 1",
            f"  %{at}.w.more = icmp ult i32 %{at}.s{WARP_SLOT}.next, %warps",
            f"  br i1 %{at}.w.more, label %{at}.w, label %{at}.end, {self.output.plain_loop()}",
            f"{at}.end:",
        ]

    def _inner(self, item_loop: WorkItemLoop, at: str, end: str) -> None:
        self.lines.append(f"{item_loop.prefix}:")
        WorkItemLoopWriter(self.plan, self.context, self.output, item_loop, at).write()
        if item_loop.part.ends_threads and item_loop.part.follows:
            self._exit_unless_any(f"{item_loop.prefix}.live", f"%{at}.lanes", f"%{at}.from64", end)
        way = "row" if item_loop.is_row else "any"
        self._follow(item_loop.part, [item_loop], lambda one: f"{at}.{way}.{one}", end)


def _next_row(at: str) -> list[str]:
    """Return where in x, y and z the next warp begins, if warps are rows of threads: a division would cost more."""
    return [
        f"  %{at}.x0.sum = add nuw nsw i32 %{at}.x0, {WARP_LANES}",
        f"  %{at}.x0.over = icmp eq i32 %{at}.x0.sum, %s6",
        f"  %{at}.x0.next = select i1 %{at}.x0.over, i32 0, i32 %{at}.x0.sum",
        f"  %{at}.y.one = zext i1 %{at}.x0.over to i32",
        f"  %{at}.y.sum = add nuw nsw i32 %{at}.s1, %{at}.y.one",
        f"  %{at}.y.over = icmp eq i32 %{at}.y.sum, %s7",
        f"  %{at}.s1.next = select i1 %{at}.y.over, i32 0, i32 %{at}.y.sum",
        f"  %{at}.z.one = zext i1 %{at}.y.over to i32",
        f"  %{at}.s2.next = add nuw nsw i32 %{at}.s2, %{at}.z.one",
    ]


def label(head: str) -> str:
    """Return the label of a part of the block's cut."""
    return f"b.{head}"


def _tail(cut: BarrierRegions) -> str:
    return next(iter(cut.parts))
