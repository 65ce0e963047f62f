"""One instruction of AIR text as one record of LLVM 14's bitcode.

Input: a line of typed text and what its labels are numbered. Output: the record's code and items; an operand is a
`Use`.

Source: LLVM 14, `BitcodeWriter.cpp`, `writeInstruction`.
"""

import re
from collections.abc import Mapping

from ktc.diag.diagnostic import Bug
from ktc.emit.air.syntax import NAME, inside, split, take_type
from ktc.emit.air.values import CASTS, Item, Ref, Tables, Use

_BINARY = {
    "add": 0, "sub": 1, "mul": 2, "udiv": 3, "sdiv": 4, "urem": 5, "srem": 6, "shl": 7, "lshr": 8, "ashr": 9, "and": 10,
    "or": 11, "xor": 12, "fadd": 0, "fsub": 1, "fmul": 2, "fdiv": 4, "frem": 6,
}  # fmt: skip
_FLOAT_PREDICATES = "false oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une true"
_INTEGER_PREDICATES = "eq ne ugt uge ult ule sgt sge slt sle"
_FCMP = {word: number for number, word in enumerate(_FLOAT_PREDICATES.split())}
_ICMP = {word: number for number, word in enumerate(_INTEGER_PREDICATES.split(), start=32)}
_FAST = {"nnan": 2, "ninf": 4, "nsz": 8, "arcp": 16, "contract": 32, "afn": 64, "reassoc": 128, "fast": 254}
_WRAP = {"nuw": 1, "nsw": 2, "exact": 1}

_INST_BINARY, _INST_CAST, _INST_VSELECT, _INST_EXTRACT, _INST_INSERT, _INST_SHUFFLE = 2, 3, 29, 6, 7, 8
_INST_COMPARE, _INST_RETURN, _INST_BRANCH, _INST_SWITCH, _INST_UNREACHABLE, _INST_PHI = 28, 10, 11, 12, 15, 16
_INST_ALLOCA, _INST_LOAD, _INST_EXTRACT_VALUE, _INST_INSERT_VALUE, _INST_CALL = 19, 20, 26, 27, 34
_INST_GEP, _INST_STORE, _INST_UNARY, _INST_FREEZE = 43, 44, 56, 58
_CALL_TAIL, _CALL_EXPLICIT_TYPE, _CALL_FAST = 1, 1 << 15, 1 << 17
_ALLOCA_EXPLICIT_TYPE = 1 << 6

Record = tuple[int, list[Item], str]
"""Code, items, and the type of the result ("" for none)."""


class Instructions:
    """Encodes the instructions of one function."""

    def __init__(self, tables: Tables, blocks: Mapping[str, int]) -> None:
        self.tables, self.blocks = tables, blocks

    def encode(self, text: str) -> Record:
        """Return the record of one instruction without its name."""
        text = _without_attachments(text)
        tail = re.match(r"(tail|musttail|notail) ", text)
        word, _, rest = (text[tail.end() :] if tail else text).partition(" ")
        if word in _BINARY:
            return self._binary(word, rest)
        if word in CASTS:
            source, _, kind = rest.rpartition(" to ")
            return _INST_CAST, [self._typed(source), self.tables.type_of(kind), CASTS[word]], kind
        method = getattr(self, f"_{word}", None)
        if method is None:
            raise Bug(f"AIR has no instruction '{word}'", "emit")
        record: Record = method(rest, bool(tail)) if word == "call" else method(rest)
        return record

    def _typed(self, text: str, form: str = "typed") -> Use:
        return Use(self.tables.typed(text), form)

    def _value(self, kind: str, text: str) -> Use:
        return Use(self.tables.value(kind, text), "rel")

    def _binary(self, word: str, rest: str) -> Record:
        flags, rest = _take_flags(rest, _FAST if word.startswith("f") else _WRAP)
        left, right = split(rest)
        use = self._typed(left)
        items: list[Item] = [use, self._value(use.ref.type, right), _BINARY[word]]
        return _INST_BINARY, items + ([flags] if flags else []), use.ref.type

    def _fneg(self, rest: str) -> Record:
        flags, rest = _take_flags(rest, _FAST)
        use = self._typed(rest)
        return _INST_UNARY, [use, 0, *([flags] if flags else [])], use.ref.type

    def _freeze(self, rest: str) -> Record:
        use = self._typed(rest)
        return _INST_FREEZE, [use], use.ref.type

    def _icmp(self, rest: str) -> Record:
        return self._compare(rest, _ICMP, 0)

    def _fcmp(self, rest: str) -> Record:
        flags, rest = _take_flags(rest, _FAST)
        return self._compare(rest, _FCMP, flags)

    def _compare(self, rest: str, predicates: Mapping[str, int], flags: int) -> Record:
        predicate, _, operands = rest.partition(" ")
        left, right = split(operands)
        use = self._typed(left)
        kind = use.ref.type
        vector = re.match(r"<(\d+) x ", kind)
        result = f"<{vector[1]} x i1>" if vector else "i1"
        items: list[Item] = [use, self._value(kind, right), predicates[predicate]]
        return _INST_COMPARE, items + ([flags] if flags else []), result

    def _select(self, rest: str) -> Record:
        flags, rest = _take_flags(rest, _FAST)
        condition, left, right = split(rest)
        use = self._typed(left)
        other = Use(self.tables.typed(right), "rel")
        return _INST_VSELECT, [use, other, self._typed(condition), *([flags] if flags else [])], use.ref.type

    def _phi(self, rest: str) -> Record:
        flags, rest = _take_flags(rest, _FAST)
        kind, rest = take_type(rest)
        items: list[Item] = [self.tables.type_of(kind)]
        for pair in split(rest):
            value, block = split(inside(pair, 0))
            items += [Use(self.tables.value(kind, value), "signed"), self.blocks[block]]
        return _INST_PHI, items + ([flags] if flags else []), kind

    def _extractelement(self, rest: str) -> Record:
        vector, index = split(rest)
        use = self._typed(vector)
        return _INST_EXTRACT, [use, self._typed(index)], use.ref.type[1:-1].split(" x ", 1)[1]

    def _insertelement(self, rest: str) -> Record:
        vector, element, index = split(rest)
        use = self._typed(vector)
        return _INST_INSERT, [use, self._typed(element, "rel"), self._typed(index)], use.ref.type

    def _shufflevector(self, rest: str) -> Record:
        left, right, mask = split(rest)
        use, lanes = self._typed(left), self._typed(mask)
        count = lanes.ref.type[1:].split(" x ", 1)[0]
        element = use.ref.type[1:-1].split(" x ", 1)[1]
        return _INST_SHUFFLE, [use, self._typed(right, "rel"), lanes], f"<{count} x {element}>"

    def _extractvalue(self, rest: str) -> Record:
        aggregate, *indices = split(rest)
        use = self._typed(aggregate)
        return _INST_EXTRACT_VALUE, [use, *map(int, indices)], self._member(use.ref.type, indices)

    def _insertvalue(self, rest: str) -> Record:
        aggregate, element, *indices = split(rest)
        use = self._typed(aggregate)
        return _INST_INSERT_VALUE, [use, self._typed(element), *map(int, indices)], use.ref.type

    def _member(self, kind: str, indices: list[str]) -> str:
        for index in indices:
            kind = self.tables.structs.get(kind, kind)
            if kind.startswith("["):
                kind = kind[1:-1].split(" x ", 1)[1]
            else:
                kind = split(inside(kind, 1 if kind.startswith("<") else 0).strip())[int(index)]
        return kind

    def _alloca(self, rest: str) -> Record:
        parts = split(rest)
        count = Ref("constant", "", "")
        count = self.tables.typed(next((part for part in parts[1:] if not part.startswith("align")), "i32 1"))
        flags = _alignment(parts) | _ALLOCA_EXPLICIT_TYPE
        items: list[Item] = [self.tables.type_of(parts[0]), self.tables.type_of(count.type), Use(count, "abs"), flags]
        return _INST_ALLOCA, items, f"{parts[0]}*"

    def _load(self, rest: str) -> Record:
        volatile = rest.startswith("volatile ")
        parts = split(rest.removeprefix("volatile "))
        items: list[Item] = [self._typed(parts[1]), self.tables.type_of(parts[0]), _alignment(parts), int(volatile)]
        return _INST_LOAD, items, parts[0]

    def _store(self, rest: str) -> Record:
        volatile = rest.startswith("volatile ")
        parts = split(rest.removeprefix("volatile "))
        return _INST_STORE, [self._typed(parts[1]), self._typed(parts[0]), _alignment(parts), int(volatile)], ""

    def _getelementptr(self, rest: str) -> Record:
        element, base, *indices = split(rest.removeprefix("inbounds "))
        use = self._typed(base)
        kind = element
        for index in indices[1:]:
            members = self.tables.structs.get(kind, kind)
            number = take_type(index)[1] if members.startswith(("{", "<{")) else "0"
            kind = self._member(members, [number]) if members[0] in "[{" or members.startswith("<{") else kind
            kind = members[1:-1].split(" x ", 1)[1] if re.match(r"<\d", members) else kind
        space = re.search(r"( addrspace\(\d+\))?\*$", use.ref.type)
        items: list[Item] = [int(rest.startswith("inbounds ")), self.tables.type_of(element), use]
        items += [self._typed(index) for index in indices]
        return _INST_GEP, items, kind + (space[0] if space else "*")

    def _br(self, rest: str) -> Record:
        parts = split(rest)
        if len(parts) == 1:
            return _INST_BRANCH, [self._block(parts[0])], ""
        condition, yes, no = parts
        return _INST_BRANCH, [self._block(yes), self._block(no), self._typed(condition, "rel")], ""

    def _switch(self, rest: str) -> Record:
        value, default = split(rest[: rest.rindex("[")])
        use = self._typed(value, "rel")
        items: list[Item] = [self.tables.type_of(use.ref.type), use, self._block(default)]
        for case, block in re.findall(
            rf"{re.escape(use.ref.type)} (-?\w+), label (%[^\s\]]+)", rest[rest.rindex("[") :]
        ):
            items += [Use(self.tables.value(use.ref.type, case), "abs"), self.blocks[block]]
        return _INST_SWITCH, items, ""

    def _block(self, text: str) -> int:
        return self.blocks[text.removeprefix("label ").strip()]

    def _ret(self, rest: str) -> Record:
        return _INST_RETURN, ([] if rest == "void" else [self._typed(rest)]), ""

    def _unreachable(self, _: str) -> Record:
        return _INST_UNREACHABLE, [], ""

    def _call(self, rest: str, is_tail: bool) -> Record:
        flags, rest = _take_flags(rest, _FAST)
        callee = re.search(rf"({NAME})\(", rest)
        if callee is None:
            raise Bug("AIR has no indirect calls", "emit")
        kind = self.tables.global_types[callee[1]][:-1]
        result = take_type(kind)[0]
        convention = _CALL_EXPLICIT_TYPE | (_CALL_FAST if flags else 0) | (_CALL_TAIL if is_tail else 0)
        items: list[Item] = [0, convention, *([flags] if flags else []), self.tables.type_of(kind)]
        items.append(Use(Ref("global", callee[1], kind + "*"), "typed"))
        arguments = split(inside(rest, callee.end() - 1))
        fixed = len(split(inside(kind, kind.rindex("(")))) - (1 if kind.endswith("...)") else 0)
        for index, argument in enumerate(argument for argument in arguments if argument):
            items.append(self._typed(argument, "rel" if index < fixed else "typed"))
        return _INST_CALL, items, "" if result == "void" else result


def _take_flags(text: str, known: Mapping[str, int]) -> tuple[int, str]:
    flags = 0
    while (word := text.partition(" ")[0]) in known:
        flags |= known[word]
        text = text[len(word) + 1 :]
    return flags, text


def _alignment(parts: list[str]) -> int:
    """Return log2 of the alignment, and one: 0 is the type's own."""
    found = next((part for part in parts if part.startswith("align ")), "")
    return int(found.split()[1]).bit_length() if found else 0


def _without_attachments(text: str) -> str:
    """Leave out metadata (`, !range !3`) and attribute groups (` #2`): they only help an optimiser."""
    text = re.sub(r",? ![\w.]+ !\d+", "", text)
    return re.sub(r" #\d+$", "", text)
