"""A function in LLVM's text: its instructions, who defines and who uses what, and what is to be put between them."""

import re
from collections.abc import Iterator

from ktc.base.records import entity

_LINE = re.compile(r'  (?:(%(?:"[^"]+"|[\w.$-]+)) = )?(?:(?:tail|musttail|notail) )?(\w+)')
_PLACE = re.compile(r", !dbg (!\d+)")
_VALUE = re.compile(r'(label )?(%(?:"[^"]+"|[\w.$-]+))')
_LABEL = re.compile(r'("[^"]+"|[\w.$-]+):')
_METADATA = re.compile(r", !\w+(?:\.\w+)* !\d+")


@entity
class Instruction:
    """One instruction.

    Args:
        line: its place in the function. name: what it defines, or "". code: the operation. text: without metadata.
        block: number of its block.
    """

    line: int
    name: str
    code: str
    text: str
    dbg: str
    block: int

    @property
    def cast_operand(self) -> str:
        """What a cast or a `freeze` takes: a vector's type has spaces, and flags may stand before the type."""
        text = self.text if self.code == "freeze" else self.text.rpartition(" to ")[0]
        return text.split()[-1]


class Body:
    """One function; `header` is its first line."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.header = lines[0]
        self.instructions: list[Instruction] = []
        self.defined: dict[str, Instruction] = {}
        self.uses: dict[str, list[Instruction]] = {}
        self.before: dict[int, list[str]] = {}
        self.after: dict[int, list[str]] = {}
        self.at_entry: list[str] = []
        self.replaced: dict[int, str] = {}
        self._fresh = 0
        block = 0
        for number, line in enumerate(lines[1:], 1):
            if line and line[0] not in " }":
                block += _LABEL.match(line) is not None
                continue
            match = _LINE.match(line)
            if match is not None:
                self._add(number, line, match, block)

    def _add(self, number: int, line: str, match: re.Match[str], block: int) -> None:
        place = _PLACE.search(line)
        text = _METADATA.sub("", line[match.start(2) :])
        one = Instruction(number, match.group(1) or "", match.group(2), text, place.group(1) if place else "", block)
        self.instructions.append(one)
        if one.name:
            self.defined[one.name] = one
        for value in self.operands(one):
            self.uses.setdefault(value, []).append(one)

    def operands(self, one: Instruction) -> Iterator[str]:
        """Give the values that an instruction names."""
        if one.code == "phi":
            yield from (value for value, _ in incoming(one) if value[0] == "%")
            return
        for label, value in _VALUE.findall(one.text):
            if not label:
                yield value

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
        made: list[str] = [self.header]
        for number, line in enumerate(self.lines[1:], 1):
            made += self.before.get(number, ())
            made.append(self.replaced.get(number, line))
            made += self.after.get(number, ())
            if number == 1:
                made += self.at_entry
        return "\n".join(made)


def _suffix(one: Instruction, line: str) -> str:
    return f", !dbg {one.dbg}" if one.dbg and "call " in line else ""


_ARM = re.compile(r'\[ ([^\]]+?), (%(?:"[^"]+"|[\w.$-]+)) \]')


def incoming(one: Instruction) -> list[tuple[str, str]]:
    """Return the values and blocks of a phi."""
    return [(value.strip(), label) for value, label in _ARM.findall(one.text)]
