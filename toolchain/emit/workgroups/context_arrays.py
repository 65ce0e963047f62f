"""Where the block's function keeps values from one loop over threads to another.

Input: a `Plan`. Output: the beginning and end of the function, and text of loads and stores.
"""

from ktc.base.records import record
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.scanning import counted, members
from ktc.emit.workgroups.barrier_regions import CannotCut
from ktc.emit.workgroups.graphs import pure
from ktc.emit.workgroups.graphs.graph import Graph
from ktc.emit.workgroups.work_item_loops import LANES, SCALAR, THREADS, Plan
from ktc.targets.cpu import EXCHANGED, GIVE_UP, LANE_SLOT, WARP_LANES, WARP_SLOT

MAX_THREADS = 1024
_ALIGN = 64
_MAX_STACK_BYTES = 1 << 9
"""Bytes of one variable of a thread, kept for each of them."""
_MAX_THREAD_BYTES = 1 << 19
"""As on NVIDIA's GPUs."""
_LEFT_OUT = ("%s0", "%s1", "%s2", f"%s{LANE_SLOT}", f"%s{WARP_SLOT}")


_ROW = ".row"
"""Warps that are rows of threads have arrays of their own: no index into these varies, so they become registers."""

_SIZES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}


def size_of(kind: str) -> int:
    """Return how many bytes a type takes at most, its fields at the widest alignment that they may have."""
    if kind[0] == "[" or kind[0] == "<":
        count, element = counted(kind)
        return count * size_of(element)
    if kind[0] == "{":
        return sum([(size_of(one) + 7) // 8 * 8 for one in members(kind)])
    return _SIZES[kind] if kind in _SIZES else max(1, int(kind[1:]) // 8)


@record
class Iteration:
    """Whose values are read or written.

    Args:
        thread: the thread's number in the block. lane: the lane's in the warp. is_row: see `uniformity`.
    """

    thread: str
    lane: str
    is_row: bool


class ContextArrays:
    """The memory of one block's threads."""

    def __init__(self, plan: Plan, name: str, attributes: str) -> None:
        self.plan, self.graph, self._name, self._attributes = plan, plan.graph, name, attributes
        self._freed: list[str] = []
        self.allocas: list[str] = []
        self._words: dict[tuple[str, bool], str] = {}
        self._conditions: dict[str, str] = {}
        self._places: dict[str, str] = {}
        self.permutations: dict[tuple[str, tuple[int, ...]], str] = {}
        """By exchange, and by the lane that each lane reads: where the words lie after a shuffle."""
        if plan.ends_threads:
            self.allocas.append(f"  %ended = alloca [{MAX_THREADS} x i8], align {_ALIGN}")
        if any(item_loop.is_lanes for item_loop in plan.item_loops):
            self.add_words("%words")
        if any(item_loop.is_row for item_loop in plan.item_loops):
            self.add_words(f"%words{_ROW}")
        for number, (value, how) in enumerate(sorted(plan.slots.items())):
            _, one = self.graph.values[value]
            self._places[value] = place = f"%k{number}"
            # bytes, as `load` and `store` take them: an i1 in memory has seven bits that nobody defines
            kind = "i8" if one.type == "i1" and how != SCALAR else one.type
            count = {SCALAR: 0, LANES: WARP_LANES, THREADS: MAX_THREADS}[how]
            held = f"[{count} x {kind}], align {_ALIGN}" if count else kind
            self.allocas.append(f"  {place} = alloca {held}")
            if how == LANES and any(item_loop.is_row for item_loop in plan.item_loops):
                self.allocas.append(f"  {place}{_ROW} = alloca {held}")

        self._find_permutations()

    def _find_permutations(self) -> None:
        """Find exchanges whose lanes are known: those become shuffles of a vector."""
        for item_loop in self.plan.item_loops:
            for name in item_loop.part.blocks if item_loop.is_row and not self.plan.ends_in_rows else ():
                for one in self.graph.blocks[name].body:
                    if one.callee == EXCHANGED and id(one) in item_loop.live:
                        number, lane, _ = one.values
                        lanes = pure.lanes_of(self.graph, lane)
                        if lanes is not None and len(set(lanes)) > 1 and (number, lanes) not in self.permutations:
                            self.permutations[number, lanes] = self.add_words(f"%p{len(self.permutations)}")

    def add_words(self, name: str) -> str:
        """Add a place for a word of each lane of a warp; returns its name."""
        self.allocas.append(f"  {name} = alloca [{WARP_LANES} x i32], align {_ALIGN}")
        return name

    def words_of(self, exchange: str, is_row: bool) -> str:
        """Return where the words of an exchange are read."""
        if (exchange, is_row) not in self._words:
            self._words[exchange, is_row] = self.add_words(f"%x{len(self._words)}")
        return self._words[exchange, is_row]

    def condition(self, block: str, kind: str) -> str:
        """Return where a block's condition is kept."""
        if block not in self._conditions:
            self._conditions[block] = name = f"%c{len(self._conditions)}"
            self.allocas.append(f"  {name} = alloca {kind}, align 8")
        return self._conditions[block]

    def place(self, one: Instruction, made: str, thread: str, lines: list[str]) -> None:
        """Write the address of a thread's own memory."""
        kind, align = one.allocated, one.align or 16
        name = f"%m.{one.name[1:]}"
        is_one = one.name in self.plan.confined
        if one.name not in self._places:
            self._places[one.name] = name
            self._add_private(name, kind, align, is_one)
        if is_one:  # no value of it outlives a loop over threads, so one place serves thread after thread
            lines.append(f"  {made} = getelementptr inbounds i8, ptr {name}, i64 0")
        else:
            lines.append(f"  {made} = getelementptr inbounds {kind}, ptr {name}, i64 {thread}")

    def _add_private(self, name: str, kind: str, align: int, is_one: bool) -> None:
        size = size_of(kind)
        if is_one:
            self.allocas.append(f"  {name} = alloca {kind}, align {align}")
        elif size > _MAX_THREAD_BYTES:
            raise CannotCut(f"a thread of it keeps {size} bytes of its own across a barrier")
        elif size > _MAX_STACK_BYTES:  # the stack of a worker would not hold it a thousand times
            whole = (size * MAX_THREADS + _ALIGN - 1) // _ALIGN * _ALIGN
            self.allocas.append(f"  {name} = call ptr @aligned_alloc(i64 {_ALIGN}, i64 {whole})")
            self._freed.append(name)
        else:
            self.allocas.append(f"  {name} = alloca [{MAX_THREADS} x {kind}], align {max(align, 16)}")

    def load(self, name: str, kind: str, made: str, at: "Iteration", lines: list[str], access: str) -> None:
        """Write how a kept value is read."""
        how = self.plan.slots[name]
        if how == SCALAR:
            lines.append(f"  {made} = load {kind}, ptr {self._places[name]}")
            return
        held = "i8" if kind == "i1" else kind
        lines.append(f"  {made}.place = getelementptr inbounds {held}, {self._indexed(name, how, at)}")
        if held == kind:
            lines.append(f"  {made} = load {kind}, ptr {made}.place{access}")
        else:
            lines.append(f"  {made}.byte = load i8, ptr {made}.place{access}")
            lines.append(f"  {made} = trunc nuw i8 {made}.byte to i1")

    def store(
        self, name: str, kind: str, text: str, at: "Iteration", lines: list[str], access: str, fresh: str
    ) -> None:
        """Write how a value is kept. `fresh`: what new names begin with."""
        how = self.plan.slots[name]
        if how == SCALAR:
            lines.append(f"  store {kind} {text}, ptr {self._places[name]}")
            return
        held = "i8" if kind == "i1" else kind
        lines.append(f"  %{fresh} = getelementptr inbounds {held}, {self._indexed(name, how, at)}")
        if held != kind:
            lines.append(f"  %{fresh}.byte = zext i1 {text} to i8")
            text = f"%{fresh}.byte"
        lines.append(f"  store {held} {text}, ptr %{fresh}{access}")

    def _indexed(self, name: str, how: str, at: "Iteration") -> str:
        place = self._places[name]
        if how != LANES:
            return f"ptr {place}, i64 {at.thread}"
        return f"ptr {place}{_ROW if at.is_row else ''}, i64 {at.lane}"

    def head(self) -> list[str]:
        """Return the function's beginning."""
        lines = [
            f"define internal void @{self._name}({listed_parameters(self.graph)}){self._attributes} {{",
            "entry:",
            *self.allocas,
            "  %plane = mul nuw nsw i32 %s6, %s7",
            "  %count = mul nuw nsw i32 %plane, %s8",
            "  %threads = zext nneg i32 %count to i64",
        ]
        if self._words or "%words" in "".join(self.allocas):
            lines += [
                f"  %filled = add nuw nsw i32 %count, {WARP_LANES - 1}",
                f"  %warps = lshr i32 %filled, {WARP_LANES.bit_length() - 1}",
                f"  %odd = and i32 %s6, {WARP_LANES - 1}",
                "  %even = icmp eq i32 %odd, 0",
                "  %flat = icmp eq i32 %count, %s6",
                "  %rows = and i1 %even, true" if self.plan.is_even else "  %rows = or i1 %even, %flat",
            ]
        if self.plan.ends_threads:
            lines.append("  call void @llvm.memset.p0.i64(ptr align 64 %ended, i8 0, i64 %threads, i1 false)")
        first = next(iter(self.plan.block_cut.parts))
        if not self._freed:
            return [*lines, f"  br label %b.{first}"]
        for number, name in enumerate(self._freed):
            lines.append(f"  %lacks{number} = icmp eq ptr {name}, null")
            lines.append(f"  %lacking{number} = or i1 %lacks{number}, {f'%lacking{number - 1}' if number else 'false'}")
        go_on = f"  br i1 %lacking{len(self._freed) - 1}, label %lack, label %b.{first}"
        return [*lines, go_on, "lack:", *GIVE_UP]

    def end(self, done: str) -> list[str]:
        """Return the function's end."""
        return [f"{done}:", *(f"  call void @free(ptr {name})" for name in self._freed), "  ret void"]


def listed_parameters(graph: Graph) -> str:
    """Return the parameters of the function that runs a block."""
    return ", ".join([f"{kind} {name}" for name, kind in graph.parameters.items() if name not in _LEFT_OUT])
