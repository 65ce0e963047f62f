"""A function's instructions, definitions and uses of its values, and the instructions to be inserted."""

from collections.abc import Iterable

from ktc.emit.llvm_text.functions import Function
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.lazy import Lazy


class Body:
    """One function and the instructions to be inserted into it.

    Fields: `header`, its first line; `instructions` in order; `defined`, by name; `uses`, by name those that name it;
    `before` and `after`, lines by the place of an instruction; `at_entry`, lines at the beginning; `at_end`, lines of
    further blocks; `replaced`, by place the text that stands for an instruction, "" for none.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.header = function.head
        self.instructions = list(function.instructions())
        self.defined = {one.name: one for one in self.instructions if one.name}
        self.before: dict[int, list[str]] = {}
        self.after: dict[int, list[str]] = {}
        self.at_entry: list[str] = []
        self.at_end: list[str] = []
        self.replaced: dict[int, str] = {}
        self._fresh = 0

    @Lazy
    def uses(self) -> dict[str, list[Instruction]]:
        """By name, the instructions that name a value."""
        found: dict[str, list[Instruction]] = {}
        for one in self.instructions:
            for value in one.uses:
                found.setdefault(value, []).append(one)
        return found

    @property
    def labels(self) -> list[str]:
        """The blocks' names without "%", by number; blocks count from 1 on."""
        return ["", *(block.name[1:] for block in self.function.blocks)]

    def fresh(self) -> str:
        """Return a name that nothing has."""
        self._fresh += 1
        return f"%ktc.{self._fresh}"

    def put_before(self, one: Instruction, *lines: str) -> None:
        """Put lines before an instruction, after those that are there."""
        self.before.setdefault(one.line, []).extend(f"  {line}{_suffix(one, line)}" for line in lines)

    def put_after(self, one: Instruction, *lines: str) -> None:
        """Put lines after an instruction."""
        self.after.setdefault(one.line, []).extend(f"  {line}{_suffix(one, line)}" for line in lines)

    def spill(self, kind: str) -> str:
        """Return a place on the stack for a value."""
        name = self.fresh()
        self.at_entry.append(f"  {name} = alloca {kind}, align 16")
        return name

    def text(self) -> str:
        """Return the function as it is now."""
        made, start = [self.header], self.at_entry
        for block in self.function.blocks:
            if block.label:
                made.append(block.label)
            made += start
            start = []
            for one in block.instructions:
                made += self.before.get(one.line, ())
                made.append(self.replaced.get(one.line, one.source))
                made += self.after.get(one.line, ())
        return "\n".join([*made, *self.at_end, "}"])


def with_last_parts(text: str, last: dict[str, str], is_kept: Iterable[str] = ()) -> str:
    """Return a function whose phis name the last part of a block that was divided.

    Args:
        last: by the name of a block, without "%", that of its last part. is_kept: phis that name one stay as they are.
    """
    if not last:
        return text
    lines, kept = text.split("\n"), tuple(is_kept)
    for at, line in enumerate(lines):
        one = Instruction(line) if " = phi " in line else None
        if one is not None and one.op == "phi" and not any(origin.startswith(kept) for _, origin in one.incoming):
            pairs = [(value, f"%{last.get(origin[1:], origin[1:])}") for value, origin in one.incoming]
            lines[at] = one.with_incoming(pairs).source
    return "\n".join(lines)


def _suffix(one: Instruction, line: str) -> str:
    return f", !dbg {one.dbg}" if one.dbg and "call " in line else ""
