"""Values whose bytes may never have been written, on their way from memory to where they are computed with.

To copy such a value is no use of it. A value that is computed with in the block that reads it is looked at by the read
itself; of others, a number goes with them whose bits say which of their bytes were not set.
"""

from ktc.emit.checks.body import Body, Instruction, incoming
from ktc.emit.checks.layout import lanes, size_of, split, type_end

_COPIES = ("phi", "select", "freeze", "bitcast", "trunc", "zext", "extractelement", "insertelement", "shufflevector")
_NO_USE = ("ret", "insertvalue", "extractvalue")
_MAX_LANES = 16


class Unset:
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
        reads = [name for name in self._masks if self._body.defined[name].code == "load"]
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
        if one.code == "phi":
            arms = ", ".join([f"[ {self.of(value)}, {label} ]" for value, label in incoming(one)])
            self._body.put_after(one, f"{mask} = phi i64 {arms}")
            return
        parts = split(one.text[len(one.code) + 1 :])
        values = [part.split()[-1] for part in parts]
        if one.code == "select":
            if parts[0].startswith("<"):
                text = f"or i64 {self.of(values[1])}, {self.of(values[2])}"
            else:
                text = f"select {parts[0]}, i64 {self.of(values[1])}, i64 {self.of(values[2])}"
        elif one.code == "extractelement":
            text = self._extract(one, parts, values)
        elif one.code == "insertelement":
            text = self._insert(one, parts, values)
        elif one.code == "shufflevector":
            text = self._shuffle(one, parts, values)
        else:
            text = f"or i64 {self.of(one.cast_operand)}, 0"
        self._body.put_after(one, f"{mask} = {text}")

    def _extract(self, one: Instruction, parts: list[str], values: list[str]) -> str:
        _, size = lanes(_kind(parts[0]))
        if not values[1].isdigit():
            return f"or i64 {self.of(values[0])}, 0"
        moved = self._body.fresh()
        self._body.put_after(one, f"{moved} = lshr i64 {self.of(values[0])}, {min(int(values[1]) * size, 63)}")
        return f"and i64 {moved}, {(1 << size) - 1}"

    def _insert(self, one: Instruction, parts: list[str], values: list[str]) -> str:
        count, size = lanes(_kind(parts[0]))
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

    def _shuffle(self, one: Instruction, parts: list[str], values: list[str]) -> str:
        kind = _kind(parts[0])
        count, size = lanes(kind)
        picked = [word.split()[-1] for word in split(parts[2][type_end(parts[2], 0) :].strip()[1:-1])]
        if parts[2].endswith("zeroinitializer"):
            picked = ["0"] * lanes(_kind(parts[2]).replace("i32", kind.split()[-1][:-1]))[0]
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


def _kind(part: str) -> str:
    return part[: type_end(part, 0)]


def _signed(number: int) -> int:
    number &= (1 << 64) - 1
    return number - (1 << 64) if number >> 63 else number


def is_copy(use: Instruction, value: str) -> bool:
    """Return whether an instruction passes a value on as it is."""
    if use.code not in _COPIES or not use.name:
        return False
    if use.code == "select":
        return split(use.text[len("select ") :])[0].split()[-1] != value
    if use.code == "extractelement":
        return split(use.text)[-1].split()[-1] != value
    if use.code in ("trunc", "zext"):  # of truth values, which lie in memory as bytes
        return " i1 " in use.text or use.text.endswith(" i1")
    return True


def is_use(use: Instruction) -> bool:
    """Return whether an instruction that does not copy a value computes with it."""
    if use.code in _NO_USE or use.code == "store":
        return False
    return use.code != "call" or ("@llvm." in use.text and "@llvm.lifetime" not in use.text)


def is_used_at_once(body: Body, read: Instruction) -> bool:
    """Return whether what is read is computed with in the block that reads it."""
    work, seen = [read.name], {read.name}
    while work:
        value = work.pop()
        for use in body.uses.get(value, ()):
            if use.block != read.block or use.line < read.line:
                continue
            if is_copy(use, value):
                if use.code in ("trunc", "zext", "bitcast", "freeze") and use.name not in seen:
                    seen.add(use.name)
                    work.append(use.name)
            elif is_use(use) or _is_address(use, value):
                return True
    return False


def is_used(body: Body, read: Instruction) -> bool:
    """Return whether anything at all is done with what is read, but to pass it to another function."""
    return bool(body.uses.get(read.name))


def _is_address(use: Instruction, value: str) -> bool:
    return use.code == "store" and use.text.split(", ptr ")[-1].split(",")[0] == value


def byte_count(kind: str) -> int:
    """Return the bytes of a type, 0 where there are more than a number has bits for."""
    size = size_of(kind)
    return size if size <= 64 else 0
