"""Values whose bytes may never have been written, on their way from memory to where they are computed with.

To copy such a value is no use of it. A value that is computed with in the block that reads it is looked at by the read
itself; of others, a number goes with them whose bits say which of their bytes were not set.
"""

from ktc.emit.checks.body import Body
from ktc.emit.checks.layout import lanes, size_of
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.operands import Operand, operand
from ktc.emit.llvm_text.scanning import counted, inside, split

_COPIES = ("phi", "select", "freeze", "bitcast", "trunc", "zext", "extractelement", "insertelement", "shufflevector")
_NO_USE = ("ret", "insertvalue", "extractvalue")
_MAX_LANES = 16


class Uninitialised:
    """The numbers of one function's values.

    Args:
        reads: the loads that are looked at, by name the name of the number that their check gives.
    """

    def __init__(self, body: Body, reads: dict[str, str]) -> None:
        self._body = body
        self._masks: dict[str, str] = dict(reads)
        self._sinks: list[tuple[str, Instruction]] = []

    def spread(self) -> None:
        """Give the copies of the values their numbers."""
        work = list(self._masks)
        while work:
            value = work.pop()
            for use in self._body.uses.get(value, ()):
                if not is_copy(use, value):
                    if is_use(use):
                        self._sinks.append((value, use))
                elif use.name not in self._masks:
                    self._masks[use.name] = self._body.fresh()
                    work.append(use.name)
        reads = [name for name in self._masks if self._body.defined[name].op == "load"]
        for name, mask in self._masks.items():
            if name not in reads:
                self._define(self._body.defined[name], mask)

    def of(self, value: str) -> str:
        """Return a value's number."""
        return self._masks.get(value, "0")

    def sinks(self) -> list[tuple[str, Instruction]]:
        """Return the first place in each block where a value is computed with."""
        found: dict[tuple[str, int], tuple[str, Instruction]] = {}
        for value, use in sorted(self._sinks, key=lambda sink: sink[1].line):
            found.setdefault((value, use.block), (value, use))
        return list(found.values())

    def _define(self, one: Instruction, mask: str) -> None:
        if one.op == "phi":
            arms = ", ".join([f"[ {self.of(value)}, {label} ]" for value, label in one.incoming])
            self._body.put_after(one, f"{mask} = phi i64 {arms}")
            return
        if one.op == "select":
            condition, yes, no = one.operands
            if condition.type[0] == "<":
                text = f"or i64 {self.of(yes.value)}, {self.of(no.value)}"
            else:
                text = f"select {condition}, i64 {self.of(yes.value)}, i64 {self.of(no.value)}"
        elif one.op == "extractelement":
            text = self._extract(one, one.values)
        elif one.op == "insertelement":
            text = self._insert(one, one.values)
        elif one.op == "shufflevector":
            text = self._shuffle(one, one.values)
        else:
            text = f"or i64 {self.of(one.values[0])}, 0"
        self._body.put_after(one, f"{mask} = {text}")

    def _extract(self, one: Instruction, values: tuple[str, ...]) -> str:
        _, size = lanes(one.operands[0].type)
        if not values[1].isdigit():
            return f"or i64 {self.of(values[0])}, 0"
        moved = self._body.fresh()
        self._body.put_after(one, f"{moved} = lshr i64 {self.of(values[0])}, {min(int(values[1]) * size, 63)}")
        return f"and i64 {moved}, {(1 << size) - 1}"

    def _insert(self, one: Instruction, values: tuple[str, ...]) -> str:
        count, size = lanes(one.type)
        if not values[2].isdigit() or count * size > 64:
            return f"or i64 {self.of(values[0])}, {self.of(values[1])}"
        shift, ones = int(values[2]) * size, (1 << size) - 1
        kept, low, moved = (self._body.fresh() for _ in range(3))
        self._body.put_after(
            one,
            f"{kept} = and i64 {self.of(values[0])}, {_signed(~(ones << shift))}",
            f"{low} = and i64 {self.of(values[1])}, {ones}",
            f"{moved} = shl i64 {low}, {shift}",
        )
        return f"or i64 {kept}, {moved}"

    def _shuffle(self, one: Instruction, values: tuple[str, ...]) -> str:
        count, size = lanes(one.operands[0].type)
        picked = _picked(one.operands[2])
        if not count or not 0 < len(picked) <= _MAX_LANES or len(picked) * size > 64 or count * size > 64:
            return f"or i64 {self.of(values[0])}, {self.of(values[1])}"
        total = "0"
        for place, word in enumerate(picked):
            if not word.isdigit():
                continue
            source, lane = (values[0], int(word)) if int(word) < count else (values[1], int(word) - count)
            if self.of(source) == "0":
                continue
            down, low, up, sum = (self._body.fresh() for _ in range(4))
            self._body.put_after(
                one,
                f"{down} = lshr i64 {self.of(source)}, {lane * size}",
                f"{low} = and i64 {down}, {(1 << size) - 1}",
                f"{up} = shl i64 {low}, {place * size}",
                f"{sum} = or i64 {total}, {up}",
            )
            total = sum
        return f"or i64 {total}, 0"


def _picked(mask: Operand) -> list[str]:
    """Return which lanes a shuffle takes; nothing where it takes any."""
    if mask.value == "zeroinitializer":
        return ["0"] * counted(mask.type)[0]
    if mask.value.startswith("splat "):
        return [operand(inside(mask.value, len("splat "))).value] * counted(mask.type)[0]
    return [operand(part).value for part in split(mask.value[1:-1])] if mask.value[0] == "<" else []


def _signed(number: int) -> int:
    number &= (1 << 64) - 1
    return number - (1 << 64) if number >> 63 else number


def is_copy(use: Instruction, value: str) -> bool:
    """Return whether an instruction passes a value on as it is."""
    if use.op not in _COPIES or not use.name:
        return False
    if use.op == "select":
        return use.values[0] != value
    if use.op == "extractelement":
        return use.values[1] != value
    if use.op in ("trunc", "zext"):  # of truth values, which lie in memory as bytes
        return "i1" in (use.operands[0].type, use.type)
    return True


def is_use(use: Instruction) -> bool:
    """Return whether an instruction that does not copy a value computes with it."""
    if use.op in _NO_USE or use.op == "store":
        return False
    return use.op != "call" or (use.callee.startswith("llvm.") and not use.callee.startswith("llvm.lifetime."))


def is_used_at_once(body: Body, read: Instruction) -> bool:
    """Return whether what is read is computed with in the block that reads it."""
    work, seen = [read.name], {read.name}
    while work:
        value = work.pop()
        for use in body.uses.get(value, ()):
            if use.block != read.block or use.line < read.line:
                continue
            if is_copy(use, value):
                if use.op in ("trunc", "zext", "bitcast", "freeze") and use.name not in seen:
                    seen.add(use.name)
                    work.append(use.name)
            elif is_use(use) or _is_address(use, value):
                return True
    return False


def is_used(body: Body, read: Instruction) -> bool:
    """Return whether the value read is used, other than as an argument of another function."""
    return bool(body.uses.get(read.name))


def _is_address(use: Instruction, value: str) -> bool:
    return use.op == "store" and use.values[1] == value


def byte_count(kind: str) -> int:
    """Return the bytes of a type, 0 where there are more than a number has bits for."""
    size = size_of(kind)
    return size if size <= 64 else 0
