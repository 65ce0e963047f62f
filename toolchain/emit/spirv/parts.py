"""The values of one function in parts, and the instructions that are written for them.

Lines may use what stands further down, so uses are marks that are resolved at the end.
"""

import re

from ktc.emit.llvm_text.scanning import members
from ktc.emit.spirv.leaves import constant, leaves, width

_MARK = re.compile("\x01([^\x02]+)\x02(\\d+)\x03")


class Parts:
    """One function's values in parts."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.alias: dict[tuple[str, int], str] = {}
        self.count = 0

    def new(self, text: str) -> str:
        """Write an instruction; returns its value."""
        self.count += 1
        self.lines.append(f"  %ktc.{self.count} = {text}")
        return f"%ktc.{self.count}"

    def parts(self, kind: str, value: str) -> list[str]:
        """Return the leaves of an operand."""
        if leaves(kind) is None:
            return [value]
        if value[0] == "%":
            return [f"\x01{value}\x02{index}\x03" for index in range(width(kind))]
        return constant(kind, value)

    def bind(self, name: str, values: list[str]) -> None:
        """Bind the leaves of a value to other values."""
        for index, value in enumerate(values):
            self.alias[name, index] = value

    def resolved(self) -> list[str]:
        """Return the lines, with each mark replaced by its text."""
        return [self._resolve(line) for line in self.lines]

    def _resolve(self, text: str) -> str:
        while "\x01" in text:
            text = _MARK.sub(lambda found: self.alias[found[1], int(found[2])], text)
        return text


def give(parts: Parts, name: str, kind: str, values: list[str]) -> None:
    """Bind leaves to a value, or make a value of a kind that has no leaves."""
    if leaves(kind) is not None:
        parts.bind(name, values)
    elif len(values) > 1:
        _build(parts, name, kind, values)
    else:
        parts.lines.append(f"  {name} = {same(kind, values[0])}")


def same(kind: str, value: str) -> str:
    return f"select i1 true, {kind} {value}, {kind} {value}"


def _build(parts: Parts, name: str, kind: str, values: list[str]) -> None:
    """Make a vector that SPIR-V has of its lanes."""
    made = "poison"
    for index, (element, value) in enumerate(zip(members(kind), values, strict=True)):
        text = f"insertelement {kind} {made}, {element} {value}, i32 {index}"
        if index + 1 < len(values):
            made = parts.new(text)
        else:
            parts.lines.append(f"  {name} = {text}")


def lanes_of(parts: Parts, kind: str, value: str) -> list[str]:
    """Return the leaves of a vector, also of one that SPIR-V has."""
    if leaves(kind) is not None or value[0] != "%":
        return parts.parts(kind, value) if leaves(kind) is not None else _constant_lanes(kind, value)
    return [parts.new(f"extractelement {kind} {value}, i32 {lane}") for lane in range(len(members(kind)))]


def _constant_lanes(kind: str, value: str) -> list[str]:
    """Return the lanes of a constant, as those of a vector of the same lanes that has leaves."""
    element = members(kind)[0]
    return constant(f"{{ {', '.join(members(kind))} }}", value.replace("<", "{", 1)) if value[0] == "<" else [
        part for _ in members(kind) for part in constant(f"{{ {element} }}", value)
    ]  # fmt: skip
