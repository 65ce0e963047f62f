"""A lane group: loops over sixteen lanes, one for each segment, and the branches from one to another.

Input: a `LaneGroup` of a work-item loop. Output: lines of the block's function, between the beginning and the end of
the loop over lane groups.
"""

from collections.abc import Callable

from ktc.emit.llvm_text import flow
from ktc.emit.llvm_text.functions import Phi
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.workgroups import thread_loops
from ktc.emit.workgroups.context_arrays import ContextArrays
from ktc.emit.workgroups.graphs.graph import Node
from ktc.emit.workgroups.guards import Guard
from ktc.emit.workgroups.lane_groups.lane_groups import is_omitted
from ktc.emit.workgroups.lane_groups.segments import GROUP_LANES, LaneGroup, Order, Segment
from ktc.emit.workgroups.output import Output
from ktc.emit.workgroups.work_item_loop_writer import WorkItemLoopWriter
from ktc.emit.workgroups.work_item_loops import SCALAR, Plan, WorkItemLoop
from ktc.targets.cpu import SUSPECT

_PLACES = f"<{GROUP_LANES} x i8>"
_OUT = ""


class LaneGroupWriter:
    """Writes the code of one lane group.

    Args:
        item_loop: of which it runs sixteen threads. whole: writes the loop around; its hoisted instructions are not
            repeated.
    """

    def __init__(
        self,
        plan: Plan,
        context: ContextArrays,
        output: Output,
        item_loop: WorkItemLoop,
        lane_group: LaneGroup,
        whole: WorkItemLoopWriter,
    ) -> None:
        self.whole = whole
        self.plan, self.context, self.output, self.item_loop, self.lane_group = (
            plan,
            context,
            output,
            item_loop,
            lane_group,
        )
        self.lines = output.lines
        self.at = item_loop.prefix
        self.places = f"%{self.at}..places"
        self.slots: dict[str, str] = {}
        for number, name in enumerate(sorted(lane_group.slots)):
            self._add_slot(name, f"%{self.at}..v{number}")
        if lane_group.is_masked:
            context.allocas.append(f"  {self.places} = alloca [{GROUP_LANES} x i8], align 64")

    def _add_slot(self, name: str, place: str) -> None:
        _, one = self.plan.graph.values[name]
        self.slots[name] = place
        if self.lane_group.slots[name] != SCALAR:
            kind = "i8" if one.type == "i1" else one.type
            self.context.allocas.append(f"  {place} = alloca [{GROUP_LANES} x {kind}], align 64")
            return
        self.context.allocas.append(f"  {place} = alloca {one.type}")
        if self.is_met(name):
            self.context.allocas.append(f"  {place}..next = alloca {one.type}")

    def is_met(self, name: str) -> bool:
        """Return whether a value is a phi where a segment begins, which other segments set."""
        block, one = self.plan.graph.values[name]
        return isinstance(one, Phi) and block in self.lane_group.segments

    def write(self) -> None:
        """Write all segments after the label of the loop over lane groups."""
        at = self.at
        if self.lane_group.is_masked:
            first = self.lane_group.segments[self.item_loop.part.head].number
            text = f"splat (i8 {first})"
            if self.plan.ends_threads:
                self.lines += [
                    f"  %{at}..ended.place = getelementptr inbounds i8, ptr %ended, i64 %{at}..from64",
                    f"  %{at}..ended = load {_PLACES}, ptr %{at}..ended.place, align 1",
                    f"  %{at}..lives = icmp eq {_PLACES} %{at}..ended, zeroinitializer",
                    f"  %{at}..begin = zext <{GROUP_LANES} x i1> %{at}..lives to {_PLACES}",
                ]
                text = f"%{at}..begin"
            self.lines.append(f"  store {_PLACES} {text}, ptr {self.places}, align 64")
        else:
            self.lines.append(f"  br label %{self.label(self.item_loop.part.head)}")
        self._order(self.lane_group.order)
        if self.lane_group.is_masked:
            self.lines.append(f"  br label %{self.label('')}")

    # ---- order ------------------------------------------------------------------------------------------------------

    def label(self, head: str) -> str:
        """Return the label of a segment; for "" that of the code after the lane group."""
        return self.lane_group.segments[head].item_loop.prefix if head else f"{self.at}..strip.end"

    def _order(self, order: Order) -> None:
        for item in order:
            if isinstance(item, str):
                self._segment(item, f"{self.label(item)}..passed")
                continue
            head, inside = item
            done = f"{self.label(head)}..done"
            for one in inside:
                if one == head:
                    self._segment(head, done)
                else:
                    self._order([one])
            if self.lane_group.is_masked:
                self.lines.append(f"  br label %{self.label(head)}")
                self.lines.append(f"{done}:")

    def _segment(self, head: str, otherwise: str) -> None:
        """Write a segment, run if a lane's place is there; `otherwise`: where to go if none is."""
        segment = self.lane_group.segments[head]
        at, lines = segment.item_loop.prefix, self.lines
        if self.lane_group.is_masked:
            lines.append(f"  br label %{at}")
        lines.append(f"{at}:")
        if not segment.is_full:
            lines += [
                f"  %{at}..places = load {_PLACES}, ptr {self.places}, align 64",
                f"  %{at}..here = icmp eq {_PLACES} %{at}..places, splat (i8 {segment.number})",
                f"  %{at}..bits = bitcast <{GROUP_LANES} x i1> %{at}..here to i{GROUP_LANES}",
                f"  %{at}..none = icmp eq i{GROUP_LANES} %{at}..bits, 0",
                f"  br i1 %{at}..none, label %{otherwise}, label %{at}..some",
                f"{at}..some:",
            ]
        SegmentWriter(self, segment).write()
        if self.lane_group.is_masked and otherwise.endswith(".passed") and not segment.is_full:
            lines += [f"  br label %{otherwise}", f"{otherwise}:"]


class GuardWriter(WorkItemLoopWriter):
    """Asks all threads of a lane group what a work-item loop asks first."""

    def __init__(
        self, plan: Plan, context: ContextArrays, output: Output, item_loop: WorkItemLoop, guard: Guard
    ) -> None:
        asked = WorkItemLoop(
            f"{item_loop.prefix}..ask",
            item_loop.part,
            item_loop.cut,
            item_loop.outer,
            plan.lane_group_variance.varying(plan.of_threads),
        )
        super().__init__(plan, context, output, asked)
        self.row, self.guard = item_loop.prefix, guard
        self.place = f"%{item_loop.prefix}..conditions"
        context.allocas.append(f"  {self.place} = alloca [{GROUP_LANES} x i8], align 64")

    def write(self, lane_group: Callable[[], None] | None = None) -> None:
        """Write the question; what threads that all go on do follows."""
        at, row, lines = self.prefix, self.row, self.output.lines
        self.names |= {"%s1": f"%{row}.s1", "%s2": f"%{row}.s2"}
        self.prepare()
        self._load_outer(self.guard.condition)
        lines += self.before
        lines += thread_loops.lanes(at, row, self.output.open_label())
        lines += self.start
        lines += [
            f"  %{at}..place = getelementptr inbounds i8, ptr {self.place}, i64 %{at}.l64",
            f"  %{at}..byte = zext i1 {self._name(self.guard.condition)} to i8",
            f"  store i8 %{at}..byte, ptr %{at}..place, align 1{self.output.access}",
            f"  br label %{at}.l.end",
            f"{at}.l.end:",
            *thread_loops.lanes_end(at, self.output.lane_group_loop()),
            *thread_loops.branch_on_conditions(row, self.place, self.guard.continues_if, self.guard.is_idle),
        ]


class SegmentWriter(WorkItemLoopWriter):
    """Writes the loop over lanes of one segment."""

    def __init__(self, lane_group: LaneGroupWriter, segment: Segment) -> None:
        super().__init__(lane_group.plan, lane_group.context, lane_group.output, segment.item_loop)
        self.lane_group, self.segment = lane_group, segment
        self.end = lane_group.item_loop.part.end
        self.successors: list[tuple[str, str, str]] = []
        """The label from which a way leaves, the block, and the head that it leads to."""

    def write(self, lane_group: Callable[[], None] | None = None) -> None:
        """Write the loop, and the way on if all lanes take the same."""
        at, row, whole = self.prefix, self.lane_group.at, self.lane_group
        self.names |= {"%s1": f"%{row}.s1", "%s2": f"%{row}.s2"}
        done = whole.whole.done_once()
        self.names |= done
        self.hoisted |= (
            done.keys()
        )  # more than this segment would do once: what a lane group's lanes may have of their own
        for phi in self.graph.blocks[self.item_loop.part.head].phis:
            if whole.lane_group.slots.get(phi.name) == SCALAR:
                place = whole.slots[phi.name]
                self.before.append(f"  %{at}.{phi.name[1:]} = load {phi.type}, ptr {place}..next")
                self.before.append(f"  store {phi.type} %{at}.{phi.name[1:]}, ptr {place}")
                self.names[phi.name] = f"%{at}.{phi.name[1:]}"
        self.prepare()
        for name in self.item_loop.part.blocks:
            self._block(name)
        lines = self.output.lines
        lines += self.before
        kept = self._iteration_values()
        if kept or whole.lane_group.is_masked or self._does_something():
            lines += thread_loops.lanes(at, row, self.output.open_label())
            self._lane(kept)
            lines += thread_loops.lanes_end(at, self.output.lane_group_loop())
        lines += self.after
        if not whole.lane_group.is_masked:
            self._follow()

    def _lane(self, kept: list[str]) -> None:
        """Write the code of one lane."""
        at, lines, masked = self.prefix, self.output.lines, self.lane_group.lane_group.is_masked
        lines += self.start
        if masked:
            place = f"%{at}..place"
            lines.append(f"  {place} = getelementptr inbounds i8, ptr {self.lane_group.places}, i64 %{at}.l64")
        if not self.segment.is_full:
            lines += [
                f"  %{at}..number = load i8, ptr {place}, align 1{self.output.access}",
                f"  %{at}..is.here = icmp eq i8 %{at}..number, {self.segment.number}",
                f"  br label %{at}..ask",
                f"{at}..ask:",
                f"  br i1 %{at}..is.here, label %{at}.{self.item_loop.part.head}, label %{at}.l.end",
            ]
        else:
            lines.append(f"  br label %{at}.{self.item_loop.part.head}")
        lines += self.body
        lines.append(f"{at}.l.end:")
        if masked:
            incoming = [f"[ {self._number(head)}, %{label} ]" for label, _, head in self.successors]
            incoming += [] if self.segment.is_full else [f"[ %{at}..number, %{at}..ask ]"]
            lines.insert(len(lines), f"  %{at}..next = phi i8 {', '.join(incoming)}")
        lines += [line for line in kept if " = phi " in line]
        lines += [line for line in kept if " = phi " not in line]
        if masked:
            lines.append(f"  store i8 %{at}..next, ptr {place}, align 1{self.output.access}")

    def _number(self, head: str) -> int:
        return self.lane_group.lane_group.segments[head].number if head else 0

    # ---- values -----------------------------------------------------------------------------------------------------

    def _load_outer(self, name: str) -> None:
        lane_group = self.lane_group
        if name in self.names or name not in lane_group.slots:
            super()._load_outer(name)
            return
        _, one = self.graph.values[name]
        made = f"%{self.prefix}.{name[1:]}"
        if lane_group.lane_group.slots[name] == SCALAR:
            self.before.append(f"  {made} = load {one.type}, ptr {lane_group.slots[name]}")
        else:
            self._load_lane(name, one.type, made)
        self.names[name] = made

    def _load_lane(self, name: str, kind: str, made: str) -> None:
        held = "i8" if kind == "i1" else kind
        place, access = self.lane_group.slots[name], self.output.access
        self.start.append(f"  {made}..place = getelementptr inbounds {held}, ptr {place}, i64 %{self.prefix}.l64")
        self.start.append(f"  {made}{'..byte' * (held != kind)} = load {held}, ptr {made}..place{access}")
        if held != kind:
            self.start.append(f"  {made} = trunc nuw i8 {made}..byte to i1")

    def _iteration_values(self) -> list[str]:
        """Return lines at the end of an iteration that keep the segment's values; uniform ones are kept after it."""
        lines: list[str] = []
        for number, name in enumerate(self.segment.given):
            _, one = self.graph.values[name]
            place = self.lane_group.slots[name]
            if self.lane_group.lane_group.slots[name] == SCALAR:
                text = self._set_once(name)
                self.after.append(f"  store {one.type} {text}, ptr {place}{'..next' * self.lane_group.is_met(name)}")
                continue
            lines += self._lane_value(number, name, one, place)
        return lines

    def _set_once(self, name: str) -> str:
        _, one = self.graph.values[name]
        if isinstance(one, Phi) and self.lane_group.is_met(name):
            return self._text(next(text for pred, text in one.incoming.items() if pred in self.item_loop.part.edges))
        return self._name(name)

    def _lane_value(self, number: int, name: str, one: Instruction | Phi, place: str) -> list[str]:
        at, kind = self.prefix, one.type
        held = "i8" if kind == "i1" else kind
        old = "poison" if name in self.segment.loop_local else self.names.get(name, f"%{at}..old{number}")
        incoming = [
            f"[ {self._given(name, one, block, head, old)}, %{label} ]" for label, block, head in self.successors
        ]
        incoming += [] if self.segment.is_full else [f"[ {old}, %{at}..ask ]"]
        if name not in self.names and old != "poison" and any(old in way for way in incoming):
            self._load_lane(name, kind, old)
        made = f"%{at}..new{number}"
        lines = [f"  {made} = phi {kind} {', '.join(incoming)}"]
        if held != kind:
            lines.append(f"  {made}..byte = zext i1 {made} to i8")
        lines.append(f"  {made}..place = getelementptr inbounds {held}, ptr {place}, i64 %{at}.l64")
        lines.append(f"  store {held} {made}{'..byte' * (held != kind)}, ptr {made}..place{self.output.access}")
        return lines

    def _given(self, name: str, one: Instruction | Phi, block: str, head: str, old: str) -> str:
        """Return the text of a kept value when a lane leaves from a block for a head."""
        where, _ = self.graph.values[name]
        part = self.item_loop.part
        if isinstance(one, Phi) and where in self.lane_group.lane_group.segments:
            return self._text(one.incoming[block]) if where == head else old
        return self._name(name) if flow.dominates(part.parents, where, block) else "poison"

    def _block(self, name: str) -> None:
        at = len(self.body) + 1
        super()._block(name)
        if name != self.item_loop.part.head or name == self.lane_group.item_loop.part.head:
            return
        lines: list[str] = []
        for phi in self.graph.blocks[name].phis:
            alike = self.plan.slots.get(phi.name) == SCALAR and phi.name not in self.item_loop.varying
            self._keep(phi.name, phi.type, self.after if alike else lines)
        self.body[at:at] = lines

    # ---- ends of blocks ---------------------------------------------------------------------------------------------

    def _leave(self, block: Node, lines: list[str]) -> None:
        outer, end, at = self.lane_group.item_loop.part, block.end, self.prefix
        onward = outer.edges[block.name] if block.name != outer.end else []
        here = f"{at}.{block.name}"
        if not end.targets and outer.ends_threads:
            lines.append(f"  %{here}..ended = getelementptr inbounds i8, ptr %ended, i64 %{at}.t")
            lines.append(f"  store i8 1, ptr %{here}..ended, align 1{self.output.access}")
        if not onward:
            self._pass_on(block, lines)
            self._way(here, block.name, _OUT, lines)
            return
        inside = self.item_loop.part.edges[block.name]
        targets = list(dict.fromkeys(end.targets))
        if len(targets) == 1 and targets[0] not in inside:
            self._way(here, block.name, targets[0], lines)
            return
        tails: list[str] = []
        names: dict[str, str] = {}
        for target in targets:
            to = f"{at}.{target}"
            if target not in inside:
                to = f"{here}..to.{target}.way"
                tails.append(f"{to}:")
                if target not in onward:
                    self._pass_on(block, tails)
                self._way(to, block.name, target if target in onward else _OUT, tails)
            names[target] = to
        lines.append(f"  {end.written(names, self._text(end.condition))}")
        lines += tails

    def _way(self, label: str, block: str, head: str, lines: list[str]) -> None:
        self.successors.append((label, block, head))
        lines.append(f"  br label %{self.prefix}.l.end")

    def _instruction(self, one: Instruction, lines: list[str]) -> None:
        if one.callee == SUSPECT:
            condition = self._text(str(one.arguments[0]))
            lines.append(f"  call void @{SUSPECT}({condition}, i64 %{self.prefix}.l64){self.output.access}")
        elif not is_omitted(one):
            super()._instruction(one, lines)

    # ---- where all lanes go -----------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Go where all lanes go."""
        segment, lane_group = self.segment, self.lane_group
        if not segment.uniform_branch:
            self.output.lines.append(f"  br label %{lane_group.label(segment.successors[0])}")
            return
        end = self.graph.blocks[segment.uniform_branch].end
        names = {target: lane_group.label(self._end_of(segment.uniform_branch, target)) for target in end.targets}
        self.output.lines.append(f"  {end.written(names, self._text(end.condition))}")

    def _end_of(self, block: str, target: str) -> str:
        """Return the head to which all ways from a block through a target lead."""
        part, outer = self.item_loop.part, self.lane_group.item_loop.part
        while target in part.edges[block] or target not in self.lane_group.lane_group.segments:
            if block == outer.end or target not in outer.edges[block]:
                return _OUT
            block = target
            if block == outer.end or not outer.edges[block]:
                return _OUT
            target = outer.edges[block][0]
        return target
