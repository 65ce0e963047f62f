"""Types, constants and operands of AIR text as records of LLVM 14's bitcode.

Input: pieces of typed text ("float addrspace(1)*", "[2 x i8] zeroinitializer"). Output: numbers in two tables. An
operand is a `Ref`, for the numbers of values are known only when every constant is.

Source: LLVM 14, `LLVMBitCodes.h` and `BitcodeWriter.cpp`.
"""

import re
import struct

from ktc.base.records import record
from ktc.diag.diagnostic import Bug
from ktc.emit.llvm_text.operands import operand
from ktc.emit.llvm_text.scanning import counted, inside, members, split, take_type

CASTS = {
    word: number
    for number, word in enumerate(
        ["trunc", "zext", "sext", "fptoui", "fptosi", "uitofp", "sitofp", "fptrunc", "fpext", "ptrtoint", "inttoptr",
         "bitcast", "addrspacecast"]
    )
}  # fmt: skip

_SIMPLE_TYPES: dict[str, tuple[int, list[int]]] = {
    "void": (2, []), "float": (3, []), "double": (4, []), "label": (5, []), "half": (10, []), "metadata": (16, []),
    "bfloat": (23, []),
}  # fmt: skip
_POINTER, _INTEGER, _ARRAY, _VECTOR, _STRUCT_ANON, _STRUCT_NAME, _STRUCT_NAMED, _FUNCTION = 8, 7, 11, 12, 18, 19, 20, 21
_SET_TYPE, _NULL, _UNDEF, _INT, _WIDE_INT, _FLOAT, _AGGREGATE, _STRING = 1, 2, 3, 4, 5, 6, 7, 8
_CE_CAST, _CE_GEP, _CE_INBOUNDS_GEP, _POISON = 11, 12, 20, 26


@record
class Ref:
    """A value: `kind` is "global", "constant" (index of the table) or "local"; `type` is its type's text."""

    kind: str
    key: str | int
    type: str


@record
class Use:
    """How a record holds a value: "abs"olute, "rel"ative, "typed" (relative, and the type if it comes later),
    "signed" (relative, sign in the lowest bit)."""

    ref: Ref
    form: str


Item = int | Use


class Tables:
    """The tables of types and constants of one module."""

    def __init__(self, structs: dict[str, str]) -> None:
        self.structs = structs
        self.types: dict[str, int] = {}
        self.type_records: list[tuple[int, list[int]]] = []
        self._type_count = 0
        self.global_types: dict[str, str] = {}
        self.constants: dict[tuple[str, str], int] = {}
        self.constant_records: list[tuple[str, int, list[Item]]] = []

    @property
    def type_count(self) -> int:
        """How many types there are; a struct's name is a record and no type."""
        return self._type_count

    def type_of(self, text: str) -> int:
        """Return the number of a type."""
        text = text.strip()
        if text not in self.types:
            records = self._type(text)
            self.type_records += records
            self.types[text] = self._type_count
            self._type_count += 1
        return self.types[text]

    def _type(self, text: str) -> list[tuple[int, list[int]]]:
        if text in _SIMPLE_TYPES:
            return [_SIMPLE_TYPES[text]]
        if found := re.fullmatch(r"(.*?)(?: addrspace\((\d+)\))?\*", text, re.S):
            return [(_POINTER, [self.type_of(found[1]), int(found[2] or 0)])]
        if found := re.fullmatch(r"i(\d+)", text):
            return [(_INTEGER, [int(found[1])])]
        if text.endswith(")"):
            result, rest = take_type(text)
            parameters = split(inside(rest, 0))
            fixed = [self.type_of(part) for part in parameters if part != "..."]
            return [(_FUNCTION, [int("..." in parameters), self.type_of(result), *fixed])]
        if text in self.structs:
            packed, members = self._members(self.structs[text])
            name = text[1:].strip('"').encode()
            return [(_STRUCT_NAME, list(name)), (_STRUCT_NAMED, [packed, *members])]
        if text.startswith(("{", "<{")):
            packed, members = self._members(text)
            return [(_STRUCT_ANON, [packed, *members])]
        if text[0] in "[<":
            count, element = counted(text)
            return [(_ARRAY if text[0] == "[" else _VECTOR, [count, self.type_of(element)])]
        raise Bug(f"AIR has no type {text}", "emit")

    def _members(self, text: str) -> tuple[int, list[int]]:
        return int(text.startswith("<")), [self.type_of(part) for part in members(text)]

    def value(self, kind: str, text: str) -> Ref:
        """Return the operand `text` of type `kind`."""
        text = text.strip()
        if text.startswith("%"):
            return Ref("local", text, kind)
        if text.startswith("@"):
            return Ref("global", text, self.global_types[text])
        return self.constant(kind, text)

    def typed(self, text: str) -> Ref:
        """Return the operand "T v"; attributes between them are passed over."""
        one = operand(text)
        return self.value(one.type, one.value)

    def constant(self, kind: str, text: str) -> Ref:
        """Return the constant `text` of type `kind`."""
        self.type_of(kind)
        if (kind, text) not in self.constants:
            code, items = self._constant(kind, text)
            self.constants[kind, text] = len(self.constant_records)
            self.constant_records.append((kind, code, items))
        return Ref("constant", self.constants[kind, text], kind)

    def _constant(self, kind: str, text: str) -> tuple[int, list[Item]]:
        words: dict[str, tuple[int, list[Item]]] = {
            "zeroinitializer": (_NULL, []), "null": (_NULL, []), "undef": (_UNDEF, []), "poison": (_POISON, []),
            "true": (_INT, [signed(-1)]), "false": (_INT, [0]),
        }  # fmt: skip
        if text in words:
            return words[text]
        if re.fullmatch(r"-?\d+", text) and kind.startswith("i"):
            return _integer(int(text), int(kind[1:]))
        if kind in ("float", "half", "bfloat", "double"):
            return _FLOAT, [float_bits(kind, text)]
        if text.startswith('c"'):
            return _STRING, list(_characters(text[2:-1]))
        if text[0] in "[{<":
            parts = split(inside(text, 1 if text.startswith("<{") else 0))
            return _AGGREGATE, [Use(self.typed(part), "abs") for part in parts]
        return self._expression(text)

    def _expression(self, text: str) -> tuple[int, list[Item]]:
        found = re.match(r"(\w+)( inbounds)? \(", text)
        if found is None:
            raise Bug(f"AIR has no constant {text}", "emit")
        body = inside(text, found.end() - 1)
        if found[1] in CASTS:
            source, _, _ = body.rpartition(" to ")
            ref = self.typed(source)
            return _CE_CAST, [CASTS[found[1]], self.type_of(ref.type), Use(ref, "abs")]
        if found[1] == "getelementptr":
            element, *operands = split(body)
            items: list[Item] = [self.type_of(element)]
            for operand in operands:
                ref = self.typed(operand)
                items += [self.type_of(ref.type), Use(ref, "abs")]
            return (_CE_INBOUNDS_GEP if found[2] else _CE_GEP), items
        raise Bug(f"AIR has no constant {text}", "emit")

    def records(self, number: dict[str, int], first: int) -> list[tuple[int, list[int]]]:
        """Return the records of the block of constants; the constants' numbers begin at `first`."""
        out: list[tuple[int, list[int]]] = []
        current = ""
        for kind, code, items in self.constant_records:
            if kind != current:
                out.append((_SET_TYPE, [self.type_of(kind)]))
                current = kind
            out.append((code, [item if isinstance(item, int) else absolute(item.ref, number, first) for item in items]))
        return out


def absolute(ref: Ref, number: dict[str, int], first: int) -> int:
    """Return the number of a value; `first` is that of the first constant."""
    return first + int(ref.key) if ref.kind == "constant" else number[str(ref.key)]


def signed(value: int) -> int:
    """Return a number with its sign in the lowest bit."""
    return value << 1 if value >= 0 else (-value << 1) | 1


def _integer(value: int, bits: int) -> tuple[int, list[Item]]:
    half = 1 << (bits - 1)
    value = (value + half) % (2 * half) - half
    if bits <= 64:
        # The least number of 64 bits has no negation in 64 bits: a lone sign stands for it.
        return _INT, [1 if value == -(1 << 63) else signed(value)]
    words = [(value >> shift) & 0xFFFFFFFFFFFFFFFF for shift in range(0, bits, 64)]
    return _WIDE_INT, [signed(word - (1 << 64) if word >> 63 else word) for word in words]


def float_bits(kind: str, text: str) -> int:
    """Return the bits of a number as LLVM prints it: decimal, or the bits of a double, half (0xH) or bfloat (0xR)."""
    if text.startswith(("0xH", "0xR")):
        return int(text[3:], 16)
    number: float = struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0] if text.startswith("0x") else float(text)
    if kind == "bfloat":
        return int.from_bytes(struct.pack("<f", number), "little") >> 16
    form = {"float": "<f", "half": "<e", "double": "<d"}[kind]
    return int.from_bytes(struct.pack(form, number), "little")


def _characters(text: str) -> bytes:
    return re.sub(rb"\\([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), text.encode("latin-1"))
