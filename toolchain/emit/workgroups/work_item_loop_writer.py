"""One loop over threads, or over the lanes of a warp.

Input: a `WorkItemLoop` of a `Plan`. Output: lines of the block's function: what is done once before the loop, the loop,
what follows.
"""

from collections.abc import Callable

from ktc.emit.llvm_text import flow
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.scanning import respelled
from ktc.emit.workgroups import thread_loops
from ktc.emit.workgroups.barrier_regions import CannotCut
from ktc.emit.workgroups.context_arrays import ContextArrays, Iteration
from ktc.emit.workgroups.graphs import pure
from ktc.emit.workgroups.graphs.first_lane import FirstLane
from ktc.emit.workgroups.graphs.graph import Node
from ktc.emit.workgroups.guards import Bounds
from ktc.emit.workgroups.hoisting import hoisted, is_known
from ktc.emit.workgroups.output import Output
from ktc.emit.workgroups.work_item_loops import IDS, SCALAR, Plan, WorkItemLoop, edge_values
from ktc.targets.cpu import EXCHANGED, LANE_SLOT, WARP_LANES, WARP_SLOT

_WORDS = f"<{WARP_LANES} x i32>"


class WorkItemLoopWriter:
    """Writes one loop.

    Args:
        around: the prefix of names of the loop over warps, for a loop over lanes.
        bounds: which threads of a row have something to do, if not all.
    """

    def __init__(
        self,
        plan: Plan,
        context: ContextArrays,
        output: Output,
        item_loop: WorkItemLoop,
        around: str = "",
        bounds: Bounds | None = None,
    ) -> None:
        self.bounds = bounds
        self.plan, self.graph, self.context, self.output, self.item_loop = plan, plan.graph, context, output, item_loop
        self.prefix, self.around = item_loop.prefix, around
        self.before: list[str] = []
        self.start: list[str] = []
        self.body: list[str] = []
        self.after: list[str] = []
        self.names: dict[str, str] = {}
        self.hoisted: set[str] = set()
        self.has_ends = plan.ends_in_rows if item_loop.is_row else plan.ends_threads
        self.first_lane = FirstLane(plan, context, output, item_loop, self.around, self.before)
        self.count = 0
        self.has_lane_groups = False
        self.end = item_loop.part.end
        """The block whose branch all threads take alike after the loop; its condition is kept for that."""

    # ---- the whole -----------------------------------------------------------------------------------------

    def write(self, lane_group: Callable[[], None] | None = None) -> None:
        """Write the loop after the label that was just written. `lane_group`: writes the code of one lane group."""
        self.has_lane_groups = lane_group is not None
        self.prepare()
        for name in self.item_loop.part.blocks:
            self._block(name)
        lines = self.output.lines
        lines += self.before
        if self._does_something():
            if self.item_loop.is_lanes:
                self._lanes()
            else:
                self._threads(lane_group)
        lines += self.after
        self._finish_exchange()

    def prepare(self) -> None:
        """Have what is set elsewhere at hand, and do once what is the same for all."""
        around = self.around
        for slot in IDS:
            self.names.setdefault(slot, f"%{self.prefix}.{slot[1:]}")
        if self.item_loop.is_lanes:
            self.names[f"%s{WARP_SLOT}"] = f"%{around}.s{WARP_SLOT}"
            if self.item_loop.is_row:
                self.names["%s1"], self.names["%s2"] = f"%{around}.s1", f"%{around}.s2"
        for name in sorted(self.item_loop.crossing):
            self._load_outer(name)
        for one in hoisted(self.graph, self.item_loop):
            self.hoisted.add(one.name)
            if one.name not in self.names:
                self._instruction(one, self.before)

    def done_once(self) -> dict[str, str]:
        """Return the names of the values that are computed before the loop."""
        return {name: self._name(name) for name in self.hoisted}

    def _does_something(self) -> bool:
        return any(not line.endswith(":") and not line.startswith("  br label") for line in self.body)

    def _threads(self, lane_group: Callable[[], None] | None) -> None:
        at, lines, output = self.prefix, self.output.lines, self.output
        first, bound = self._bounds()
        lines += thread_loops.rows(at, output.open_label())
        if lane_group is not None:
            lines += thread_loops.lane_groups(at, first, bound)
            lane_group()
            lines += thread_loops.singles(at, bound)
        else:
            lines += thread_loops.threads(at, first, f"{at}.y")
        self._iteration(f"{at}.x.end")
        if lane_group is not None:
            lines += thread_loops.strips_end(at, (output.single_loop(), output.plain_loop()), bound)
        else:
            lines += thread_loops.threads_end(at, f", {output.loop()}", bound)
        lines += thread_loops.rows_end(at, (output.plain_loop(), output.plain_loop()))

    def _bounds(self) -> tuple[str, str]:
        """Write which threads of a row have something to do; returns the first of them and the one after the last."""
        at, bounds = self.prefix, self.bounds
        if bounds is None:
            return "0", "%s6"
        self.output.lines += [*bounds.lines(at, self._text(bounds.value)), *thread_loops.some(at)]
        return f"%{at}.lo", f"%{at}.hi"

    def _lanes(self) -> None:
        at, around, lines = self.prefix, self.around, self.output.lines
        origin = self.output.open_label()
        bound = str(WARP_LANES) if self.item_loop.is_row else f"%{around}.lanes"
        lines += [
            f"  br label %{at}.l",
            f"{at}.l:",
            f"  %{at}.l64 = phi i64 [ 0, %{origin} ], [ %{at}.l.next, %{at}.l.end ]",
            f"  %{at}.s{LANE_SLOT} = trunc nuw nsw i64 %{at}.l64 to i32",
            f"  %{at}.t = add nuw nsw i64 %{around}.from64, %{at}.l64",
        ]
        if self.item_loop.is_row:
            lines.append(f"  %{at}.s0 = add nuw nsw i32 %{around}.x0, %{at}.s{LANE_SLOT}")
        else:
            lines += [
                f"  %{at}.t32 = trunc nuw nsw i64 %{at}.t to i32",
                f"  %{at}.s0 = urem i32 %{at}.t32, %s6",
                f"  %{at}.tq = udiv i32 %{at}.t32, %s6",
                f"  %{at}.s1 = urem i32 %{at}.tq, %s7",
                f"  %{at}.s2 = udiv i32 %{at}.tq, %s7",
            ]
        self._iteration(f"{at}.l.end")
        node = f", {self.output.lane_loop() if self.item_loop.is_row else self.output.single_loop()}"
        lines += [
            f"{at}.l.end:",
            f"  %{at}.l.next = add nuw nsw i64 %{at}.l64, 1",
            f"  %{at}.l.more = icmp ult i64 %{at}.l.next, {bound}",
            f"  br i1 %{at}.l.more, label %{at}.l, label %{at}.over{node}",
            f"{at}.over:",
        ]

    def _iteration(self, end: str) -> None:
        """Write the code of one thread."""
        at, lines = self.prefix, self.output.lines
        if self.has_ends:
            lines += [
                f"  %{at}.gone.place = getelementptr inbounds i8, ptr %ended, i64 %{at}.t",
                f"  %{at}.gone = load i8, ptr %{at}.gone.place, align 1{self.output.access}",
                f"  %{at}.is.gone = icmp ne i8 %{at}.gone, 0",
                f"  br i1 %{at}.is.gone, label %{end}, label %{at}.live",
                f"{at}.live:",
            ]
        lines += self.start
        lines.append(f"  br label %{at}.{self.item_loop.part.head}")
        lines += self.body

    # ---- values from elsewhere ------------------------------------------------------------------------------

    def _load_outer(self, name: str) -> None:
        """Load a value from outside the work-item loop, before the loop or at the start of an iteration."""
        if name in self.names or name in self.graph.parameters:
            return
        _, one = self.graph.values[name]
        made = f"%{self.prefix}.{name[1:]}"
        lines = self.start if name in self.item_loop.varying else self.before
        if isinstance(one, Instruction) and one.op == "alloca":
            self.context.place(
                one, made, f"%{self.prefix}.t", self.start if name not in self.plan.confined else self.before
            )
        elif name in self.plan.slots:
            if lines is self.before and self.plan.slots[name] != SCALAR:
                raise CannotCut("what a warp's lanes have alike in one place differs between them in another")
            self.context.load(name, one.type, made, self._indices(), lines, self.output.access)
        else:
            assert isinstance(one, Instruction)
            for use in one.uses:
                self._load_outer(use)
            if lines is self.before:
                lines.append(f"  {made} = {self.first_lane.text(one, self._name)}")
            else:
                lines.append(f"  {self._renamed(one, made)}")
        self.names[name] = made

    def _indices(self) -> Iteration:
        return Iteration(f"%{self.prefix}.t", f"%{self.prefix}.l64", self.item_loop.is_row)

    def _renamed(self, one: Instruction, made: str) -> str:
        return f"{made} = {self._text(one.whole)}"

    def _text(self, text: str) -> str:
        return respelled(text, self._name)

    def _name(self, name: str) -> str:
        known = self.names.get(name)
        if known is not None:
            return known
        return f"%{self.prefix}.{name[1:]}" if name in self.graph.values else name

    # ---- blocks -----------------------------------------------------------------------------------------------

    def _block(self, name: str) -> None:
        part, block = self.item_loop.part, self.graph.blocks[name]
        lines = self.body
        lines.append(f"{self.prefix}.{name}:")
        kept: list[tuple[str, str]] = []
        for phi in block.phis if name != part.head else ():
            if id(phi) in self.item_loop.live:
                incoming = [
                    f"[ {self._text(value)}, %{self.prefix}.{pred} ]"
                    for pred, value in phi.incoming.items()
                    if name in part.edges.get(pred, ())
                ]
                lines.append(f"  {self._name(phi.name)} = phi {phi.type} {', '.join(incoming)}")
                kept.append((phi.name, phi.type))
        for value, kind in kept:
            self._keep(value, kind, lines)
        for one in block.body:
            if id(one) in self.item_loop.live:
                if one.name not in self.hoisted:
                    self._instruction(one, lines)
                if one.name in self.plan.slots:
                    self._keep(one.name, one.type, lines)
        self._leave(block, lines)

    def _keep(self, name: str, kind: str, lines: list[str]) -> None:
        if name in self.plan.slots:
            self._store(name, kind, self._name(name), self.after if name in self.hoisted else lines)

    def _store(self, name: str, kind: str, text: str, lines: list[str]) -> None:
        self.count += 1
        if self.plan.slots[name] != SCALAR and lines is self.after:
            lines = self.body
        self.context.store(name, kind, text, self._indices(), lines, self.output.access, f"{self.prefix}.k{self.count}")

    def _instruction(self, one: Instruction, lines: list[str]) -> None:
        if one.callee.startswith("llvm.lifetime."):
            return
        if one.callee == EXCHANGED:
            self._exchanged(one, lines)
        elif one.name:
            lines.append(f"  {self._renamed(one, self._name(one.name))}{self._access(one)}")
        else:
            lines.append(f"  {self._text(one.whole)}{self._access(one)}")

    def _access(self, one: Instruction) -> str:
        """Return the metadata of an access on which no other thread's depends: such a program would have a race."""
        if one.op not in ("load", "store") or one.is_atomic or one.is_volatile:
            return ""
        if one.attached("llvm.access.group") or any(use in self.plan.private for use in one.uses):
            return ""
        return self.output.access

    def _leave(self, block: Node, lines: list[str]) -> None:
        """Write the end of a block."""
        part, end = self.item_loop.part, block.end
        iteration = f"{self.prefix}.{'l' if self.item_loop.is_lanes else 'x'}.end"
        if not end.targets:
            if end.text.startswith("unreachable"):
                lines.append("  unreachable")
                return
            if part.ends_threads:
                place = f"%{self.prefix}.{block.name}.ended"
                lines.append(f"  {place} = getelementptr inbounds i8, ptr %ended, i64 %{self.prefix}.t")
                lines.append(f"  store i8 1, ptr {place}, align 1{self.output.access}")
            lines.append(f"  br label %{iteration}")
            return
        if block.name == part.end:
            self._pass_on(block, lines)
            lines.append(f"  br label %{iteration}")
            return
        inside = part.edges[block.name]
        outside = [one for one in dict.fromkeys(end.targets) if one not in inside]
        if len(outside) == len(set(end.targets)):
            self._pass_on(block, lines)
            lines.append(f"  br label %{iteration}")
            return
        out = f"{self.prefix}.{block.name}.out"
        names = {one: f"{self.prefix}.{one}" if one in inside else out for one in end.targets}
        text = end.written(names, self._text(end.condition))
        if outside and len(outside) > 1:
            raise CannotCut("its barriers are reached on paths that are not nested")
        lines.append(f"  {text}{self._back(block)}")
        if outside:
            lines.append(f"{self.prefix}.{block.name}.out:")
            self._pass_on(block, lines)
            lines.append(f"  br label %{iteration}")

    def _back(self, block: Node) -> str:
        """Return the metadata of a block's way back to where a loop begins, if others run that loop in lane groups."""
        part = self.item_loop.part
        if not self.has_lane_groups or not any(
            flow.dominates(part.parents, target, block.name) for target in part.edges[block.name]
        ):
            return ""
        return f", {self.output.plain_loop()}"

    def _pass_on(self, block: Node, lines: list[str]) -> None:
        """Keep the values that the next parts get from this way."""
        part = self.item_loop.part
        for name, _, phi, value in edge_values(self.graph, part):
            if name == block.name and phi.name in self.plan.slots:
                is_same = self.plan.slots[phi.name] == SCALAR and self._is_known(value)
                self._store(phi.name, phi.type, self._text(value), self.after if is_same else lines)
        if block.name != self.end:
            return
        condition = block.end.condition
        if condition.startswith("%"):
            kind = block.end.text.split(" ")[1]
            to = self.after if self._is_known(condition) else lines
            to.append(
                f"  store {kind} {self._text(condition)}, ptr {self.context.condition(block.name, kind)}, align 1"
            )
        barrier = block.barrier
        if barrier is not None and barrier.exchange is not None and self.item_loop.is_lanes:
            word = barrier.exchange.values[0]
            place = f"%{self.prefix}.word.place"
            lines += [
                f"  {place} = getelementptr inbounds i32, ptr {self._words()}, i64 %{self.prefix}.l64",
                f"  store i32 {self._text(word)}, ptr {place}, align 4{self.output.access}",
            ]

    def _words(self) -> str:
        return "%words.row" if self.item_loop.is_row else "%words"

    def _is_known(self, value: str) -> bool:
        return is_known(self.graph, self.item_loop, self.hoisted, value)

    # ---- exchanges -------------------------------------------------------------------------------------------

    def _finish_exchange(self) -> None:
        """Give the lanes' words the place in which they are read."""
        part = self.item_loop.part
        barrier = self.graph.blocks[part.end].barrier if part.end else None
        if barrier is None or barrier.exchange is None or not self.item_loop.is_lanes:
            return
        name, lines = barrier.exchange.name, self.output.lines
        words = f"%{self.prefix}.words"
        lines.append(f"  {words} = load {_WORDS}, ptr {self._words()}, align 64")
        lines.append(f"  store {_WORDS} {words}, ptr {self.context.words_of(name, self.item_loop.is_row)}, align 64")
        if not self.item_loop.is_row:
            return
        for number, (key, place) in enumerate(self.context.permutations.items()):
            if key[0] == name:
                mask = ", ".join([f"i32 {lane}" for lane in key[1]])
                made = f"%{self.prefix}.moved{number}"
                lines.append(f"  {made} = shufflevector {_WORDS} {words}, {_WORDS} poison, {_WORDS} <{mask}>")
                lines.append(f"  store {_WORDS} {made}, ptr {place}, align 64")

    def _exchanged(self, one: Instruction, lines: list[str]) -> None:
        number, lane, otherwise = one.values
        origin = self.graph.values.get(number)
        if origin is None or not self.item_loop.is_lanes:
            raise CannotCut("what a warp's lanes exchange in it is read elsewhere")
        made, at = self._name(one.name), f"%{self.prefix}.{one.name[1:]}"
        if self.item_loop.is_row and not self.has_ends:
            lanes = pure.lanes_of(self.graph, lane)
            place = self.context.permutations.get((number, lanes)) if lanes else None
            index = f"%{self.prefix}.l64"
            if place is None:
                place = self.context.words_of(number, self.item_loop.is_row)
                lines.append(f"  {at}.lane = and i32 {self._text(lane)}, {WARP_LANES - 1}")
                lines.append(f"  {at}.lane64 = zext nneg i32 {at}.lane to i64")
                index = f"{at}.lane64"
            lines.append(f"  {at}.place = getelementptr inbounds i32, ptr {place}, i64 {index}")
            lines.append(f"  {made} = load i32, ptr {at}.place, align 4{self.output.access}")
            return
        words = self.context.words_of(number, self.item_loop.is_row)
        lines += [
            f"  {at}.lane = and i32 {self._text(lane)}, {WARP_LANES - 1}",
            f"  {at}.lane64 = zext nneg i32 {at}.lane to i64",
            f"  {at}.place = getelementptr inbounds i32, ptr {words}, i64 {at}.lane64",
            f"  {at}.found = load i32, ptr {at}.place, align 4",
            f"  {at}.there = icmp ult i64 {at}.lane64, %{self.around}.lanes",
        ]
        there = f"{at}.there"
        if self.has_ends:
            lines += [
                f"  {at}.number = add nuw nsw i64 %{self.around}.from64, {at}.lane64",
                f"  {at}.ended.place = getelementptr inbounds i8, ptr %ended, i64 {at}.number",
                f"  {at}.ended = load i8, ptr {at}.ended.place, align 1",
                f"  {at}.lives = icmp eq i8 {at}.ended, 0",
                f"  {at}.both = and i1 {at}.there, {at}.lives",
            ]
            there = f"{at}.both"
        lines.append(f"  {made} = select i1 {there}, i32 {at}.found, i32 {self._text(otherwise)}")
