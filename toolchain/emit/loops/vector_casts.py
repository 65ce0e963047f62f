"""Saturating casts that LLVM's vectoriser made vectors of: x86's back end would take them apart, lane by lane.

Input: the text of an optimised module. Output: the same with each such call as comparisons and one cast of the vector.
"""

import re
import struct

from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.scanning import counted

_CALLED = ("llvm.fptosi.sat.v", "llvm.fptoui.sat.v")
_GROUP = re.compile(r"#\d+ ?")
_INTEGERS = ("i8", "i16", "i32", "i64")
_EXACT = {"float": 24, "double": 53}
"""Integers of up to so many bits are numbers of the type."""


def are_there(names: list[str]) -> bool:
    """Return whether a module with functions of these names has such calls."""
    return any(name.startswith(_CALLED) for name in names)


def split(text: str) -> str:
    """Return the text of a module with its saturating casts of vectors written out."""
    lines, count = text.split("\n"), 0
    for at, line in enumerate(lines):
        one = Instruction(line) if line[:2] == "  " and ".sat.v" in line else None
        if one is not None and one.callee.startswith(_CALLED) and _is_known(one):
            count += 1
            lines[at] = "\n".join(_Cast(one, f"%ktc.sat{count}").lines())
    return "\n".join(lines)


def _is_known(one: Instruction) -> bool:
    return counted(one.type)[1] in _INTEGERS and counted(one.operands[0].type)[1] in _EXACT


class _Cast:
    def __init__(self, one: Instruction, prefix: str) -> None:
        lanes, integer = counted(one.type)
        self.head, self.float, self.value = f"  {one.name} = ", counted(one.operands[0].type)[1], one.values[0]
        after = _GROUP.sub("", one.call.after)
        self.tail = f"{after and f' {after}'}{one.attachments}"
        self.prefix, self.lanes, self.bits, self.is_signed = prefix, lanes, int(integer[1:]), "tosi" in one.callee
        self.kind = f"<{lanes} x {self.float}>"
        self.result = f"<{lanes} x i{self.bits}>"
        self.flags = f"<{lanes} x i1>"
        self.most = (1 << (self.bits - self.is_signed)) - 1
        self.least = -self.most - 1 if self.is_signed else 0
        self.made: list[str] = []

    def lines(self) -> list[str]:
        return self._clamped() if self.bits - self.is_signed <= _EXACT[self.float] else self._compared()

    def _new(self, text: str) -> str:
        name = f"{self.prefix}.{len(self.made)}"
        self.made.append(f"  {name} = {text}")
        return name

    def _splat(self, value: float) -> str:
        return f"splat ({self.float} 0x{struct.pack('>d', value).hex().upper()})"

    def _clamped(self) -> list[str]:
        """Both bounds are numbers of the type: the value is brought between them. NaN becomes the least,
        which is right for unsigned integers."""
        kind, value = self.kind, self.value
        low, high = self._splat(float(self.least)), self._splat(float(self.most))
        more = self._new(f"fcmp ogt {kind} {value}, {low}")
        above = self._new(f"select {self.flags} {more}, {kind} {value}, {kind} {low}")
        less = self._new(f"fcmp olt {kind} {above}, {high}")
        inside = self._new(f"select {self.flags} {less}, {kind} {above}, {kind} {high}")
        # Processors make 32 bits of a number, signed ones more cheaply.
        wide = max(self.bits, 32)
        cast = "fptosi" if self.is_signed or self.bits < wide else "fptoui"
        text = f"{cast} {kind} {inside} to <{self.lanes} x i{wide}>"
        if wide > self.bits:
            text = f"trunc <{self.lanes} x i{wide}> {self._new(text)} to {self.result}"
        if self.is_signed:
            text = self._unless_strange(self._new(text))
        return [*self.made, f"{self.head}{text}{self.tail}"]

    def _unless_strange(self, whole: str) -> str:
        known = self._new(f"fcmp ord {self.kind} {self.value}, {self._splat(0.0)}")
        return f"select {self.flags} {known}, {self.result} {whole}, {self.result} zeroinitializer"

    def _compared(self) -> list[str]:
        """The greatest integer is no number of the type: lanes out of bounds are chosen after the cast."""
        kind, value, result = self.kind, self.value, self.result
        whole = self._new(f"fpto{'s' if self.is_signed else 'u'}i {kind} {value} to {result}")
        above = self._new(f"fcmp oge {kind} {value}, {self._splat(float(self.most + 1))}")
        most = f"splat (i{self.bits} {self.most if self.is_signed else -1})"
        upper = self._new(f"select {self.flags} {above}, {result} {most}, {result} {whole}")
        # Unordered: what is no number counts as below 0, where it becomes 0.
        below = self._new(f"fcmp {'olt' if self.is_signed else 'ult'} {kind} {value}, {self._splat(float(self.least))}")
        text = f"select {self.flags} {below}, {result} splat (i{self.bits} {self.least}), {result} {upper}"
        if self.is_signed:
            text = self._unless_strange(self._new(text))
        return [*self.made, f"{self.head}{text}{self.tail}"]
