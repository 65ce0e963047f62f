"""A function: its head, its blocks, and its text again."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ktc.base.records import entity
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.lazy import Lazy
from ktc.emit.llvm_text.operands import Operand, operand
from ktc.emit.llvm_text.scanning import (
    GLOBAL,
    LOCAL,
    WORD,
    closing,
    last_type,
    locals_in,
    respelled,
    spelled,
    split,
    unreadable,
)

_LABEL = re.compile(rf"({WORD}):")
_TARGET = re.compile(rf"label %({WORD})")
_SYMBOL = re.compile(rf"({GLOBAL})\(")
_STRANGE = re.compile(r"[^-a-zA-Z$._0-9]")
_PARAMETER = re.compile(rf"{LOCAL}$")
_UNNAMED = re.compile(r"%\d+")
_ATTACHED = re.compile(r" !([\w.]+) (!\d+)")
_GROUP = re.compile(r" #(\d+)")
_CONTINUES = ("to label ", "unwind ", "cleanup", "catch ", "filter ", "]")
"""The beginnings of lines that continue the instruction before them."""


class Signature(NamedTuple):
    """The line that defines or declares a function.

    Fields: `name`, with its "@"; `before`, the words before it, the result's type last; `parameters`, each with its
    name, "" for none; `after`: what follows the parameters.
    """

    name: str
    before: str
    parameters: tuple[Operand, ...]
    after: str

    @property
    def symbol(self) -> str:
        """The name as linkers know it."""
        return spelled(self.name)

    @property
    def type(self) -> str:
        """The type of the result."""
        return last_type(self.before.partition(" ")[2])

    @property
    def group(self) -> str:
        """The number of its attribute group, or ""."""
        found = _GROUP.search(self.after)
        return found[1] if found else ""

    def attached(self, kind: str) -> str:
        """Return the node that is attached as a kind, or ""."""
        return next((node for found, node in _ATTACHED.findall(self.after) if found == kind), "")

    def with_parameters(self, *more: str) -> str:
        """Return the line with further parameters."""
        listed = ", ".join([*map(str, self.parameters), *more])
        return f"{self.before} {self.name}({listed}){self.after}"


def signature(line: str) -> Signature:
    """Read the first line of a function, or a declaration."""
    found = _SYMBOL.search(line)
    if found is None:
        raise unreadable(line)
    end = closing(line, found.end() - 1)
    parameters = tuple([_parameter(part) for part in split(line[found.end() : end])])
    return Signature(found[1], line[: found.start()].rstrip(), parameters, line[end + 1 :])


def symbol_of(line: str) -> str:
    """Return the name of the function that a line defines or declares, or ""."""
    found = _SYMBOL.search(line)
    return spelled(found[1]) if found else ""


def is_label(line: str) -> bool:
    """Return whether a line of a function begins a block."""
    return line[:1] != " " and _LABEL.match(line) is not None


def _parameter(text: str) -> Operand:
    if text == "...":
        return Operand(text, "")
    found = _PARAMETER.search(text)
    if found is None or not text[: found.start()].strip():  # a type's name alone is no parameter's
        one = operand(f"{text} %")
        return Operand(one.type, "", one.attributes)
    return operand(text)


@entity
class Phi:
    """A phi that can be changed: by the label of the block that control comes from, the value's text."""

    name: str
    type: str
    incoming: dict[str, str]


@entity
class Terminator:
    """The end of a block, which can be changed.

    Args:
        text: as it is written. targets: labels, in its order. condition: the value that decides, or "".
    """

    text: str
    targets: list[str]
    condition: str = ""

    def written(self, labels: Mapping[str, str], condition: str = "") -> str:
        """Return its text with other labels for some of its targets, and perhaps another condition."""
        text = _TARGET.sub(lambda found: f"label %{labels.get(found[1], found[1])}", self.text)
        return text.replace(f" {self.condition},", f" {condition},", 1) if condition else text


@entity
class Block:
    """A basic block, whose instructions may be changed.

    Args:
        name: as branches write it, with its "%". label: the lines before its instructions; "" for an entry without one.
        instructions: notes and the terminator included.
    """

    name: str
    label: str
    instructions: list[Instruction]

    @property
    def phis(self) -> list[Phi]:
        """Its phis, to be looked at."""
        found = [one for one in self.instructions if one.op == "phi"]
        return [Phi(one.name, one.type, {block[1:]: value for value, block in one.incoming}) for one in found]

    @property
    def terminator(self) -> Terminator:
        """Its end, to be looked at."""
        last = self.last
        if last is None or not last.is_terminator:
            return Terminator("unreachable", [])
        return Terminator(last.whole, [name[1:] for name in last.targets], last.condition)

    @property
    def last(self) -> Instruction | None:
        """The instruction at its end."""
        return next((one for one in reversed(self.instructions) if not one.is_note), None)

    @property
    def successors(self) -> list[str]:
        """The names of the blocks that may follow, each once."""
        last = self.last
        return list(dict.fromkeys(last.targets)) if last else []

    @property
    def branch(self) -> tuple[str, str, str] | None:
        """Condition and targets of a branch at the end that a value decides."""
        last = self.last
        if last is None or last.op != "br" or last.condition[:1] != "%":
            return None
        return last.condition, last.targets[0], last.targets[1]

    def definition(self, name: str) -> Instruction | None:
        """Return the instruction of this block that defines a name."""
        return next((one for one in self.instructions if one.name == name), None)

    def lines(self) -> list[str]:
        """Return its text."""
        return [*([self.label] if self.label else []), *[one.source for one in self.instructions]]


class Function:
    """A function with a body.

    Args:
        lines: from `define` to the closing brace.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self.head = lines[0]
        self.blocks = list(_blocks(lines, self))

    @Lazy
    def signature(self) -> Signature:
        """The signature in its first line."""
        return signature(self.head)

    @property
    def entry_name(self) -> str:
        """The name of a first block without a label: the number after those of parameters without names."""
        return f"%{sum(_UNNAMED.fullmatch(one.value) is not None for one in self.signature.parameters)}"

    def instructions(self) -> Iterator[Instruction]:
        """Give all instructions, without notes."""
        for block in self.blocks:
            for one in block.instructions:
                if not one.is_note:
                    yield one

    @property
    def edges(self) -> dict[str, list[str]]:
        """The successors of each block, as `flow` takes them."""
        return {block.name: block.successors for block in self.blocks}

    def text(self) -> str:
        """Return the function's text."""
        return "\n".join([self.head, *[line for block in self.blocks for line in block.lines()], "}"])


def with_plain_names(function: Function) -> Function:
    """Return a function in which no local name is in quotation marks: such names get others."""
    text = function.text()
    quoted = {name for name in locals_in(text) if name[1] == '"'}
    quoted |= {block.name for block in function.blocks if block.name[1] == '"'}
    if not quoted:
        return function
    taken = set(locals_in(text))
    names: dict[str, str] = {}
    for name in sorted(quoted):
        word = _STRANGE.sub(lambda found: f".{ord(found[0]):X}.", spelled(name))
        while f"%{word}" in taken:
            word += "."
        taken.add(f"%{word}")
        names[name] = f"%{word}"
    return with_names(function, lambda name: names.get(name, name))


def with_names(function: Function, call: Callable[[str], str]) -> Function:
    """Return a function with other local names, labels among them: `call` gets each, with its "%"."""
    lines = [respelled(function.head, call)]
    for block in function.blocks:
        new = call(block.name)
        if block.label:
            before, line, after = block.label.rpartition(f"{block.name[1:]}:")
            lines.append(f"{before}{new[1:]}{line[-1:]}{after}")
        elif new != block.name:
            lines.append(f"{new[1:]}:")  # the entry's number would have to stay
        lines += [respelled(one.source, call) for one in block.instructions]
    return Function("\n".join([*lines, "}"]).split("\n"))


def _blocks(lines: Sequence[str], function: Function) -> Iterator[Block]:
    label: list[str] = []
    block: Block | None = None
    count, at, end = 0, 1, len(lines) - (lines[-1] == "}")
    while at < end:
        line, start = lines[at], at
        at += 1
        if line[:1] not in (" ", "\t", "", ";"):
            found = _LABEL.match(line)
            if found is None:
                raise unreadable(line)
            if block is not None:
                yield block
            count += 1
            block = Block(f"%{found[1]}", "\n".join([*label, line]), [])
            label = []
            continue
        if not line or line[0] == ";":  # stands before a label
            label.append(line)
            continue
        if block is None:
            count += 1
            block = Block(function.entry_name, "", [])
        block.instructions += [Instruction(one) for one in label]
        label = []
        if line[-1] == "[":
            while lines[at - 1].strip() != "]" and not lines[at - 1].lstrip().startswith("],"):
                at += 1
            line = "\n".join(lines[start:at])
        while at < end and lines[at][:3] == "   " and lines[at].lstrip().startswith(_CONTINUES):
            line += "\n" + lines[at]
            at += 1
        block.instructions.append(Instruction(line, start, count))
    if block is not None:
        block.instructions += [Instruction(one) for one in label]
        yield block
