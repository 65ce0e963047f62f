"""Values that the lanes of a row have alike, though computed from values that differ: the warp's number.

Input: an instruction. Output: its text before the loop over lanes, in terms of the first lane.
"""

from collections.abc import Callable

from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.scanning import respelled
from ktc.emit.workgroups.context_arrays import ContextArrays, Iteration
from ktc.emit.workgroups.output import Output
from ktc.emit.workgroups.work_item_loops import Plan, WorkItemLoop
from ktc.targets.cpu import LANE_SLOT


class FirstLane:
    """Computes values of the first lane of a work-item loop, each once.

    Args:
        around: the prefix of names of the loop over warps. before: the lines before the loop over lanes.
    """

    def __init__(
        self,
        plan: Plan,
        context: ContextArrays,
        output: Output,
        item_loop: WorkItemLoop,
        around: str,
        before: list[str],
    ) -> None:
        self.plan, self.context, self.output, self.item_loop = plan, context, output, item_loop
        self.around, self.before = around, before
        self.known: set[str] = set()

    def text(self, one: Instruction, name: Callable[[str], str]) -> str:
        """Return an instruction's text for the first lane; `name` gives the names of values uniform in the warp."""
        return respelled(one.whole, lambda value: self._value(value, name))

    def _value(self, value: str, name: Callable[[str], str]) -> str:
        if value not in self.item_loop.varying:
            return name(value)
        if value == f"%s{LANE_SLOT}":
            return "0"
        if value == "%s0" and self.item_loop.is_row:
            return f"%{self.around}.x0"
        made = f"%{self.item_loop.prefix}.{value[1:]}.first"
        if value not in self.known:
            self.known.add(value)
            if value == "%s0":
                self.before.append(f"  {made} = urem i32 %{self.around}.from, %s6")
                return made
            _, one = self.plan.graph.values[value]
            if value in self.plan.slots:
                at = Iteration(f"%{self.around}.from64", "0", self.item_loop.is_row)
                self.context.load(value, one.type, made, at, self.before, self.output.access)
            else:
                assert isinstance(one, Instruction)
                self.before.append(f"  {made} = {self.text(one, name)}")
        return made
