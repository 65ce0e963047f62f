"""Bounds of a whole block at once: from the ranges of indices, before the block runs.

Input: a marked kernel of the CPU device, as codegen made it. Output: a function `NAME.ranges` that says for one block
whether all that the kernel accesses lies inside, whatever its threads do. It computes with intervals: a thread's index
has one of all threads, a counter of a loop one from where it begins, and what a branch has compared narrows them. Where
it says no, or where a kernel is beyond it (`Unknown`), the block runs with `inline`'s tests.
"""

import re
from dataclasses import field

from ktc.base.records import entity
from ktc.emit.checks.blocks.control import Control
from ktc.emit.checks.blocks.intervals import BOUND, Arithmetic, Interval
from ktc.emit.checks.body import Body
from ktc.emit.checks.layout import constant_offset, size_of
from ktc.emit.checks.memory import access_of, copy_of
from ktc.emit.checks.pointers import Pointers, step_of
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.operations import BINARY
from ktc.emit.llvm_text.scanning import counted, members

_STEP, _FAR = 1 << 24, (1 << 31) - (1 << 25)
"""How far a counter of 32 bits may step, and how large it may be, so that it does not wrap."""
_MOST_LINES = 20_000
_INTEGER = re.compile(r"i(\d+)")
_CASTS = ("zext", "sext", "trunc")
_EXTREMES = tuple(f"llvm.{sign}{which}." for sign in "su" for which in ("min", "max"))
_OPPOSITE = {"eq": "ne", "ne": "eq", "slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt",
             "ult": "uge", "uge": "ult", "ugt": "ule", "ule": "ugt"}  # fmt: skip
_SWAPPED = {"slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle",
            "ult": "ugt", "ugt": "ult", "ule": "uge", "uge": "ule", "eq": "eq", "ne": "ne"}  # fmt: skip
_THREADS, _LANES = ("%s0", "%s1", "%s2"), ("%s12", "%s13")
"""Arguments of threads: their indices, and the facts of their warp."""


class Unknown(Exception):
    """A kernel whose accesses have no ranges."""


@entity
class _Known:
    """Facts at an access: conditions with their truth, intervals found so far, and values whose search is open."""

    guards: tuple[tuple[str, bool], ...]
    found: dict[str, Interval] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    empty: str = "false"
    """Whether it is never reached."""


class Ranges(Arithmetic):
    """One kernel's function."""

    def __init__(self, body: Body, pointers: Pointers, variables: list[tuple[int, int]]) -> None:
        self._body, self._pointers, self._variables = body, pointers, variables
        self._control = Control(body)
        super().__init__()
        self._kinds = {
            one.value: one.type
            for one in body.function.signature.parameters
            if one.type == "ptr" or _INTEGER.fullmatch(one.type)
        }

    def function(self, name: str) -> str:
        """Return the function's text."""
        for one in self._body.instructions:
            if one.callee.startswith("ktc.check.index"):
                self._index(one)
            elif one.callee == "ktc.check.range" or copy_of(one):
                raise Unknown(one.text)
            elif (access := access_of(one)) is not None:
                self._access(one, access.pointer, access.size, access.align)
            if len(self.lines) > _MOST_LINES:
                raise Unknown("too much")
        own = (*_THREADS, *_LANES)
        given = [one for one in self._body.function.signature.parameters if one.value not in own]
        parameters = ", ".join([f"{one.type} {one.value}" for one in given])
        lines = "\n".join(f"  {line}" for line in self.lines)
        head = f'define internal i1 @"{name}"({parameters}) alwaysinline nounwind {{'
        return f"{head}\n{lines}\n  ret i1 {self.is_right}\n}}\n"

    # ---- accesses ------------------------------------------------------------------------------------------

    def _access(self, one: Instruction, pointer: str, size: int, align: int) -> None:
        root = self._pointers.root(pointer)
        if self._pointers.is_unwatched(root) or self._pointers.is_constant(root):
            return
        if self._pointers.alloca(root) and root not in self._pointers.arrays:
            return
        known = _Known(self._control.guards(one.block))
        low, high = self._distance(pointer, root, known, align if root not in self._pointers.arrays else 1)
        variable, shared = self._pointers.arrays.get(root), self._pointers.shared_offset(root)
        before, reach = "0", str(variable)
        if shared is not None:
            before, reach = self._shared(shared)
        elif variable is None:
            if self._kinds.get(root) != "ptr":
                raise Unknown(root)
            number = self.new(f"ptrtoint ptr {root} to i64")
            start = self.new(f"call i64 @__ktc_check_start(i64 {number})")
            before = self.new(f"sub i64 {number}, {start}")
            reach = self.new(f"call i64 @__ktc_check_size(i64 {number})")
            if align > 1:
                odd = self.new(f"and i64 {number}, {align - 1}")
                self._need(self.new(f"icmp eq i64 {odd}, 0"), known)
        first = self.new(f"add i64 {low}, {before}")
        last = self.new(f"add i64 {high}, {before}")
        end = self.new(f"add i64 {last}, {size}")
        self._need(self.new(f"icmp sge i64 {first}, 0"), known)
        self._need(self.new(f"icmp sle i64 {end}, {reach}"), known)

    def _shared(self, offset: int) -> tuple[str, str]:
        for at, size in self._variables:
            if at <= offset < at + size:
                return str(offset - at), str(size)
        at = max([at for at, size in self._variables if not size], default=offset)
        return str(offset - at), self.new("call i64 @__ktc_check_added()")

    def _distance(self, pointer: str, root: str, known: _Known, align: int) -> Interval:
        total = ("0", "0")
        while pointer != root:
            one = self._body.defined.get(pointer)
            step = step_of(one) if one is not None and one.op == "getelementptr" else None
            if step is None:
                raise Unknown(pointer)
            if step.distance is not None:
                if step.distance % align:
                    raise Unknown("alignment")
                total = self.add(total, (str(step.distance), str(step.distance)))
            else:
                kind = step.kind
                for place, (index_kind, word, _) in enumerate(step.indices):
                    if place:
                        if kind[0] == "{" and word.isdigit():
                            number = word
                            distance = constant_offset(kind, ["0", number])
                            if distance is None or distance % align:
                                raise Unknown("alignment")
                            total = self.add(total, (str(distance), str(distance)))
                            kind = members(kind)[int(number)]
                            continue
                        if kind[0] != "[":
                            raise Unknown(kind)
                        kind = counted(kind)[1]
                    bytes_ = size_of(kind)
                    if not bytes_ or bytes_ * self._factor(word) % align:
                        raise Unknown("alignment")
                    total = self.add(total, self.times(self._interval(word, index_kind, known), bytes_))
            pointer = step.base
        return total

    def _factor(self, value: str, depth: int = 8) -> int:
        """Return a power of two, at most 64, that a value is a multiple of."""
        if value.lstrip("-").isdigit():
            return min(int(value) & -int(value), 64) if int(value) else 64
        one = self._body.defined.get(value)
        if one is None or not depth:
            return 1
        if one.op in ("zext", "sext") and _is_number(one):
            return self._factor(one.values[0], depth - 1)
        if one.op not in BINARY or not _is_number(one):
            return 1
        code, parts = one.op, one.values
        if code == "shl" and parts[1].isdigit():
            return min(self._factor(parts[0], depth - 1) << int(parts[1]), 64)
        left, right = (self._factor(part, depth - 1) for part in parts)
        if code == "mul":
            return min(left * right, 64)
        if code == "and":
            return max(left, right)
        return min(left, right) if code in ("add", "sub", "or", "xor") else 1

    def _index(self, one: Instruction) -> None:
        parts = one.values[1:]
        known = _Known(self._control.guards(one.block))
        rank = len(parts) // 2
        for axis in range(rank):
            low, high = self._interval(parts[axis], "i64", known)
            extent, _ = self._interval(parts[rank + axis], "i64", known)
            self._need(self.new(f"icmp sge i64 {low}, 0"), known)
            self._need(self.new(f"icmp slt i64 {high}, {extent}"), known)

    def _need(self, condition: str, known: _Known) -> None:
        either = self.new(f"or i1 {condition}, {known.empty}")
        self.is_right = self.new(f"and i1 {self.is_right}, {either}")

    # ---- values --------------------------------------------------------------------------------------------

    def _interval(self, value: str, kind: str, known: _Known) -> Interval:
        if value.lstrip("-").isdigit():
            return value, value
        if value in known.found:
            return known.found[value]
        if value in known.open or not _INTEGER.fullmatch(kind) or int(kind[1:]) > 64:
            raise Unknown(value)
        known.open.add(value)
        one = self._body.defined.get(value)
        try:
            plain = self._of_parameter(value, kind) if one is None else self._of(one, kind, known)
        finally:
            known.open.discard(value)
        if one is not None and not self._is_counter(one) and self._is_narrowed(value, known):
            self.finite(plain)
        known.found[value] = plain
        if plain[0] != plain[1]:
            known.found[value] = self._narrowed(value, plain, known)
        if one is not None and kind != "i64" and self._is_counter(one):
            self.finite(known.found[value], -_FAR, _FAR)  # a step further it still fits
        return known.found[value]

    def _is_counter(self, one: Instruction) -> bool:
        """Return whether a value goes up or down in steps, each of which was compared before the next."""
        if one.op == "phi":
            return True
        phi = self._body.defined.get(one.values[0]) if one.op == "add" and _is_number(one) else None
        return phi is not None and phi.op == "phi" and one.name in phi.values

    def _of_parameter(self, value: str, kind: str) -> Interval:
        if value[:2] == "%s" and value[2:].isdigit() and value not in _LANES:
            number = int(value[2:])
            if number < 3:
                size = self._wide(f"%s{number + 6}", "i32", "zext")
                return "0", self.new(f"add i64 {size}, -1")
            wide = self._wide(value, "i32", "zext")
            return wide, wide
        if self._kinds.get(value) != kind or value in _LANES:
            raise Unknown(value)
        wide = self._wide(value, kind, "sext")
        return wide, wide

    def _wide(self, value: str, kind: str, how: str) -> str:
        return value if kind == "i64" else self.new(f"{how} {kind} {value} to i64")

    def _of(self, one: Instruction, kind: str, known: _Known) -> Interval:
        if one.op in BINARY and _is_number(one):
            return self.fitting(self._binary(one, known), int(one.type[1:]))
        if one.op in _CASTS and _is_number(one):
            return self._cast(one, known)
        if one.op == "select" and one.operands[0].type == "i1" and _is_number(one):
            return self.union([self._interval(value, one.type, known) for value in one.values[1:]])
        if one.callee.startswith(_EXTREMES) and _is_number(one):
            sign, which = one.callee[len("llvm.")], one.callee.split(".")[1][1:]
            pair = [self._interval(value, one.type, known) for value in one.values]
            for each in pair:
                self.finite(each, 0 if sign == "u" else -BOUND + 1)
            return self.extreme(which, pair[0][0], pair[1][0]), self.extreme(which, pair[0][1], pair[1][1])
        if one.op == "phi":
            return self._phi(one, kind, known)
        if one.op == "freeze":
            return self._interval(one.values[0], kind, known)
        raise Unknown(one.text)

    def _cast(self, one: Instruction, known: _Known) -> Interval:
        how, bits, value, to = one.op, int(one.operands[0].type[1:]), one.values[0], int(one.type[1:])
        if how != "trunc" and bits <= 8 and (bits == 1 or self._body.defined[value].op == "load"):
            return ("0", str((1 << bits) - 1)) if how == "zext" else (str(-(1 << bits - 1)), str((1 << bits - 1) - 1))
        inside = self._interval(value, f"i{bits}", known)
        if how == "zext":
            self.finite(inside, 0)
        return self.fitting(inside, to) if how == "trunc" else inside

    def _binary(self, one: Instruction, known: _Known) -> Interval:
        code, kind, values = one.op, one.type, one.values
        if code == "and":
            for value in values:
                if value.isdigit():
                    return "0", value
        left, right = self._interval(values[0], kind, known), self._interval(values[1], kind, known)
        if code == "add" or (code == "or" and "disjoint" in one.flags):
            return self.add(left, right)
        if code == "sub":
            return self.add(left, (self.new(f"sub i64 0, {right[1]}"), self.new(f"sub i64 0, {right[0]}")))
        if code == "mul":
            return self.mul(left, right)
        if code == "shl" and values[1].isdigit() and int(values[1]) < 32:
            return self.times(left, 1 << int(values[1]))
        if code in ("ashr", "lshr") and values[1].isdigit():
            self.finite(left, 0 if code == "lshr" else -BOUND + 1)
            return self.new(f"ashr i64 {left[0]}, {values[1]}"), self.new(f"ashr i64 {left[1]}, {values[1]}")
        if code in ("udiv", "sdiv", "urem", "srem"):
            self.finite(left, 0)
            self.finite(right, 1)
            least = self.extreme("max", right[0], "1")
            most = self.extreme("max", right[1], "1")
            if code.endswith("rem"):
                return "0", self.extreme("min", left[1], self.new(f"add i64 {most}, -1"))
            return self.new(f"sdiv i64 {left[0]}, {most}"), self.new(f"sdiv i64 {left[1]}, {least}")
        if code in ("or", "xor"):
            self.finite(left, 0)
            self.finite(right, 0)
            return "0", self.add(left, right)[1]
        raise Unknown(one.text)

    def _phi(self, one: Instruction, kind: str, known: _Known) -> Interval:
        arms = one.incoming
        back = [value for value, label in arms if self._control.is_back(one.block, label)]
        begin = self.union(
            [self._interval(value, kind, known) for value, label in arms if not self._control.is_back(one.block, label)]
        )
        low, high = begin
        for value in back:
            step = self._body.defined.get(value)
            if step is None or step.op not in BINARY or not _is_number(step) or step.values[0] != one.name:
                raise Unknown(one.text)
            code, by = step.op, step.values[1]
            if kind not in ("i64", "i32") or (kind == "i32" and code in ("shl", "mul")):
                raise Unknown(one.text)
            if code == "add":
                least, most = self._interval(by, kind, _Known((), open=set(known.open)))
                if kind == "i32":
                    self.finite((least, most), -_STEP, _STEP)
                up, down = self.new(f"icmp sge i64 {least}, 0"), self.new(f"icmp sle i64 {most}, 0")
                low = self.new(f"select i1 {up}, i64 {low}, i64 {-BOUND}")
                high = self.new(f"select i1 {down}, i64 {high}, i64 {BOUND}")
            elif code in ("sdiv", "udiv", "ashr", "lshr") and by.isdigit() and int(by) > 0:
                self.finite(begin, 0)
                low = "0"
            elif code in ("shl", "mul") and by.isdigit() and int(by) > 0:
                self.finite(begin, 0)
                high = str(BOUND)
            else:
                raise Unknown(one.text)
        return low, high

    # ---- what branches have compared -----------------------------------------------------------------------

    def _compared(self, known: _Known) -> list[tuple[str, str, str, str]]:
        """Return the comparisons that hold: the value, the predicate, the other value, and their type."""
        work, held = list(known.guards), []
        while work:
            condition, is_true = work.pop()
            one = self._body.defined.get(condition)
            if one is None:
                continue
            if one.op == "icmp" and _INTEGER.fullmatch(kind := one.operands[0].type):
                (left, right), how = one.values, one.predicate
                how = how if is_true else _OPPOSITE[how]
                held += [(left, how, right, kind), (right, _SWAPPED[how], left, kind)]
            elif one.type == "i1" and one.op == "xor" and one.values[1] == "true":
                work.append((one.values[0], not is_true))
            elif one.type == "i1":
                work += [(value, is_true) for value in _joined(one, is_true)]
        return held

    def _is_narrowed(self, value: str, known: _Known) -> bool:
        return any(one[0] == value for one in self._compared(known))

    def _narrowed(self, value: str, plain: Interval, known: _Known) -> Interval:
        low, high = plain
        for left, how, right, kind in self._compared(known):
            if left != value or how == "ne":
                continue
            try:
                least, most = self._interval(right, kind, known)
            except Unknown:
                continue
            if how[0] == "u":
                # Below what is not negative: then it is not negative itself.
                if how in ("ugt", "uge"):
                    continue
                self.finite((least, most), 0)
                low = self.extreme("max", low, "0")
            if how in ("slt", "ult"):
                high = self.extreme("min", high, self.new(f"add i64 {most}, -1"))
            elif how in ("sle", "ule", "eq"):
                high = self.extreme("min", high, most)
            if how == "sgt":
                low = self.extreme("max", low, self.new(f"add i64 {least}, 1"))
            elif how in ("sge", "eq"):
                low = self.extreme("max", low, least)
        if (low, high) != plain:
            none = self.new(f"icmp sgt i64 {low}, {high}")
            known.empty = self.new(f"or i1 {known.empty}, {none}")
        return low, high


def _is_number(one: Instruction) -> bool:
    """Return whether an instruction makes a whole number of its first operand, and both are no vectors."""
    return _INTEGER.fullmatch(one.type) is not None and _INTEGER.fullmatch(one.operands[0].type) is not None


def _joined(one: Instruction, is_true: bool) -> tuple[str, ...]:
    """Return the two conditions of which both are as an instruction is; nothing if it says no such thing."""
    if one.op in ("and", "or"):
        return one.values if (one.op == "and") == is_true else ()
    if one.op != "select":
        return ()
    condition, yes, no = one.values
    if is_true:
        return (condition, yes) if no == "false" else ()
    return (condition, no) if yes == "true" else ()
