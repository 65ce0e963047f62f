"""One instruction of AIR text as one record of LLVM 14's bitcode.

Input: an instruction of typed text, and the numbers of the blocks. Output: the record's code and items; an operand is
a `Use`.

Source: LLVM 14, `BitcodeWriter.cpp`, `writeInstruction`.
"""

import re
from collections.abc import Mapping

from ktc.diag.diagnostic import Bug
from ktc.emit.air.values import CASTS, Item, Ref, Tables, Use
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.operands import Operand
from ktc.emit.llvm_text.scanning import counted, inside, members, split, take_type

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

_SPACE = re.compile(r"( addrspace\(\d+\))?\*$")

Record = tuple[int, list[Item], str]
"""Code, items, and the type of the result ("" for none)."""


class Instructions:
    """Encodes the instructions of one function."""

    def __init__(self, tables: Tables, blocks: Mapping[str, int]) -> None:
        self.tables, self.blocks = tables, blocks

    def encode(self, one: Instruction) -> Record:
        """Return the record of one instruction; attachments and attribute groups only help an optimiser."""
        if one.op in _BINARY:
            return self._binary(one)
        if one.op in CASTS:
            return _INST_CAST, [self._use(one.operands[0]), self.tables.type_of(one.type), CASTS[one.op]], one.type
        method = getattr(self, f"_{one.op}", None)
        if method is None:
            raise Bug(f"AIR has no instruction '{one.op}'", "emit")
        record: Record = method(one)
        return record

    def _use(self, operand: Operand, form: str = "typed") -> Use:
        return Use(self.tables.value(operand.type, operand.value), form)

    def _binary(self, one: Instruction) -> Record:
        flags = _flags(one, _FAST if one.op.startswith("f") else _WRAP)
        left, right = one.operands
        use = self._use(left)
        return _INST_BINARY, [use, self._use(right, "rel"), _BINARY[one.op], *flags], use.ref.type

    def _fneg(self, one: Instruction) -> Record:
        use = self._use(one.operands[0])
        return _INST_UNARY, [use, 0, *_flags(one, _FAST)], use.ref.type

    def _freeze(self, one: Instruction) -> Record:
        use = self._use(one.operands[0])
        return _INST_FREEZE, [use], use.ref.type

    def _icmp(self, one: Instruction) -> Record:
        return self._compare(one, _ICMP, [])

    def _fcmp(self, one: Instruction) -> Record:
        return self._compare(one, _FCMP, _flags(one, _FAST))

    def _compare(self, one: Instruction, predicates: Mapping[str, int], flags: list[int]) -> Record:
        left, right = one.operands
        items: list[Item] = [self._use(left), self._use(right, "rel"), predicates[one.predicate]]
        return _INST_COMPARE, items + flags, one.type

    def _select(self, one: Instruction) -> Record:
        condition, left, right = one.operands
        use, other = self._use(left), self._use(right, "rel")
        return _INST_VSELECT, [use, other, self._use(condition), *_flags(one, _FAST)], use.ref.type

    def _phi(self, one: Instruction) -> Record:
        items: list[Item] = [self.tables.type_of(one.type)]
        for value, block in one.incoming:
            items += [Use(self.tables.value(one.type, value), "signed"), self.blocks[block]]
        return _INST_PHI, items + _flags(one, _FAST), one.type

    def _extractelement(self, one: Instruction) -> Record:
        vector, index = one.operands
        return _INST_EXTRACT, [self._use(vector), self._use(index)], one.type

    def _insertelement(self, one: Instruction) -> Record:
        vector, element, index = one.operands
        return _INST_INSERT, [self._use(vector), self._use(element, "rel"), self._use(index)], one.type

    def _shufflevector(self, one: Instruction) -> Record:
        left, right, mask = one.operands
        use, lanes = self._use(left), self._use(mask)
        return _INST_SHUFFLE, [use, self._use(right, "rel"), lanes], one.type

    def _extractvalue(self, one: Instruction) -> Record:
        use = self._use(one.operands[0])
        return _INST_EXTRACT_VALUE, [use, *map(int, one.indices)], self._member(use.ref.type, one.indices)

    def _insertvalue(self, one: Instruction) -> Record:
        aggregate, element = one.operands
        return _INST_INSERT_VALUE, [self._use(aggregate), self._use(element), *map(int, one.indices)], one.type

    def _member(self, kind: str, indices: list[str]) -> str:
        for index in indices:
            kind = self.tables.structs.get(kind, kind)
            kind = counted(kind)[1] or members(kind)[int(index)]
        return kind

    def _alloca(self, one: Instruction) -> Record:
        count = self.tables.typed(str(one.operands[0]) if one.operands else "i32 1")
        kind, flags = one.allocated, _alignment(one) | _ALLOCA_EXPLICIT_TYPE
        items: list[Item] = [self.tables.type_of(kind), self.tables.type_of(count.type), Use(count, "abs"), flags]
        return _INST_ALLOCA, items, f"{kind}*"

    def _load(self, one: Instruction) -> Record:
        place, kind = self._use(one.operands[0]), one.type
        return _INST_LOAD, [place, self.tables.type_of(kind), _alignment(one), int(one.is_volatile)], kind

    def _store(self, one: Instruction) -> Record:
        value, place = one.operands
        return _INST_STORE, [self._use(place), self._use(value), _alignment(one), int(one.is_volatile)], ""

    def _getelementptr(self, one: Instruction) -> Record:
        base, *indices = one.operands
        use = self._use(base)
        kind = one.source_type
        for index in indices[1:]:
            whole = self.tables.structs.get(kind, kind)
            kind = self._member(whole, [index.value]) if whole[0] in "[<{" else kind
        space = _SPACE.search(use.ref.type)
        items: list[Item] = [int("inbounds" in one.flags), self.tables.type_of(one.source_type), use]
        items += [self._use(index) for index in indices]
        return _INST_GEP, items, kind + (space[0] if space else "*")

    def _br(self, one: Instruction) -> Record:
        blocks: list[Item] = [self.blocks[target] for target in one.targets]
        return _INST_BRANCH, [*blocks, *[self._use(condition, "rel") for condition in one.operands]], ""

    def _switch(self, one: Instruction) -> Record:
        use = self._use(one.operands[0], "rel")
        items: list[Item] = [self.tables.type_of(use.ref.type), use, self.blocks[one.targets[0]]]
        for case, block in one.cases:
            items += [Use(self.tables.value(use.ref.type, case), "abs"), self.blocks[block]]
        return _INST_SWITCH, items, ""

    def _ret(self, one: Instruction) -> Record:
        return _INST_RETURN, [self._use(value) for value in one.operands], ""

    def _unreachable(self, _: Instruction) -> Record:
        return _INST_UNREACHABLE, [], ""

    def _call(self, one: Instruction) -> Record:
        flags, callee = _flags(one, _FAST), one.call.callee
        if callee[0] != "@":
            raise Bug("AIR has no indirect calls", "emit")
        kind = self.tables.global_types[callee][:-1]
        result, parameters = take_type(kind)
        convention = _CALL_EXPLICIT_TYPE | (_CALL_FAST if flags else 0) | (_CALL_TAIL if one.tail else 0)
        items: list[Item] = [0, convention, *flags, self.tables.type_of(kind)]
        items.append(Use(Ref("global", callee, kind + "*"), "typed"))
        fixed = len(split(inside(parameters, 0))) - (1 if kind.endswith("...)") else 0)
        for index, argument in enumerate(one.arguments):
            items.append(self._use(argument, "rel" if index < fixed else "typed"))
        return _INST_CALL, items, "" if result == "void" else result


def _flags(one: Instruction, known: Mapping[str, int]) -> list[int]:
    """Return the flags of an instruction as one number, nothing if it has none."""
    flags = 0
    for word in one.flags.split():
        flags |= known.get(word, 0)
    return [flags] if flags else []


def _alignment(one: Instruction) -> int:
    """Return log2 of the alignment, and one: 0 is the type's own."""
    return one.align.bit_length()
