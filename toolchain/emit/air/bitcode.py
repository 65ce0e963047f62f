"""AIR text to the bitcode that Apple's compilers read: LLVM 14's, with typed pointers.

Input: typed text, as `text` writes it. Output: bitcode without the wrapper. Hints for an optimiser are left out
(names of values, attachments, most attributes): the back end that reads this begins with code that is optimised.

Source: LLVM 14, `BitcodeWriter.cpp` and `LLVMBitCodes.h`.
"""

import re
from dataclasses import field

from ktc.base.records import entity
from ktc.emit.air.bitstream import Bitstream
from ktc.emit.air.instructions import Instructions, Record
from ktc.emit.air.values import Item, Tables, Use, absolute, signed
from ktc.emit.llvm_text.functions import Signature, signature
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import Global, Module, global_of
from ktc.emit.llvm_text.scanning import inside, split

_IDENTIFICATION, _MODULE, _PARAMATTR, _PARAMATTR_GROUP = 13, 8, 9, 10
_CONSTANTS, _FUNCTION, _METADATA, _TYPES, _STRTAB = 11, 12, 15, 17, 23
_LINKAGES = {"external": 0, "internal": 3, "private": 9, "linkonce_odr": 19, "weak_odr": 17, "linkonce": 18, "weak": 16}
_UNNAMED = {"unnamed_addr": 1, "local_unnamed_addr": 2}
_ATTRIBUTES = {
    "alwaysinline": 2, "noalias": 9, "nocapture": 11, "noinline": 14, "noreturn": 17, "nounwind": 18, "readnone": 20,
    "readonly": 21, "convergent": 43, "argmemonly": 45, "norecurse": 48, "writeonly": 52, "willreturn": 61,
    "nofree": 62, "nosync": 63, "noundef": 68, "mustprogress": 70,
}  # fmt: skip
_FUNCTION_INDEX = 0xFFFFFFFF


@entity
class _Function:
    """A function with a body."""

    parameters: list[str]
    blocks: dict[str, int]
    instructions: list[Instruction]
    records: list[tuple[str, Record]] = field(default_factory=list)


def bitcode(text: str) -> bytes:
    """Return the module as LLVM 14 bitcode."""
    return _Module(text).write()


class _Module:
    """One module: reads every line, numbers types and constants, then writes."""

    def __init__(self, text: str) -> None:
        self.module = Module(text)
        self.tables = Tables(self.module.structs())
        self.variables: list[tuple[str, list[Item]]] = []
        self.functions: list[tuple[str, list[Item]]] = []
        self.bodies: list[_Function] = []
        self.names = bytearray()
        self.groups = self.module.groups()
        self.attribute_lists: list[tuple[tuple[int, tuple[int, ...]], ...]] = []
        self._declare()
        self._define()

    def _declare(self) -> None:
        """Give each global its type, so that operands can be read."""
        for one in self.module.entities:
            if (found := global_of(one)) is not None:
                space = f" addrspace({found.space})" if "addrspace" in found.words else ""
                self.tables.global_types[found.name] = f"{found.type}{space}*"
            elif one.startswith(("define ", "declare ")):
                head = signature(one.partition("\n")[0])
                kinds = ", ".join([parameter.type for parameter in head.parameters])
                self.tables.global_types[head.name] = f"{head.type} ({kinds})*"

    def _define(self) -> None:
        for at, one in enumerate(self.module.entities):
            if (found := global_of(one)) is not None:
                self._variable(found)
            elif one.startswith(("define ", "declare ")):
                self._function(signature(one.partition("\n")[0]), one.startswith("declare "))
            if one.startswith("define "):
                function = self.module.at(at)
                blocks = {block.name: number for number, block in enumerate(function.blocks)}
                parameters = [parameter.value for parameter in function.signature.parameters]
                self.bodies.append(_Function(parameters, blocks, list(function.instructions())))
        for body in self.bodies:
            encoder = Instructions(self.tables, body.blocks)
            body.records = [(step.name, encoder.encode(step)) for step in body.instructions]
        for kind in self.tables.global_types.values():
            self.tables.type_of(kind)
        self._metadata_records = self._metadata()

    def _place_of(self, name: str) -> list[Item]:
        plain = name[1:].strip('"').encode()
        self.names += plain
        return [len(self.names) - len(plain), len(plain)]

    def _variable(self, found: Global) -> None:
        words, kind = found.words.split(), found.type
        start: Item = 0
        if found.initial:
            start = Use(self.tables.value(kind, found.initial), "initial")
        flags = int(found.is_constant) | 2 | found.space << 2
        unnamed = next((_UNNAMED[word] for word in words if word in _UNNAMED), 0)
        aligned = found.align.bit_length()
        items = [self.tables.type_of(kind), flags, start, _linkage(words), aligned, 0, 0, 0, unnamed, 0, 0, 0]
        self.variables.append((found.name, [*self._place_of(found.name), *items]))

    def _function(self, head: Signature, is_declared: bool) -> None:
        attributes = self._attributes(head)
        unnamed = next((_UNNAMED[word] for word in head.after.split() if word in _UNNAMED), 0)
        items = [
            self.tables.type_of(self.tables.global_types[head.name][:-1]), 0, int(is_declared),
            _linkage(head.before.split()), attributes, 0, 0, 0, 0, unnamed, 0, 0, 0, 0, 0, 0, 0,
        ]  # fmt: skip
        self.functions.append((head.name, [*self._place_of(head.name), *items]))

    def _attributes(self, head: Signature) -> int:
        """Return the number of the function's list of attributes, 0 for none."""
        own = self.groups.get(head.group, "").split()
        sets = [(_FUNCTION_INDEX, tuple(_ATTRIBUTES[word] for word in own if word in _ATTRIBUTES))]
        for index, parameter in enumerate(head.parameters, start=1):
            words = parameter.attributes.split()
            sets.append((index, tuple(_ATTRIBUTES[word] for word in words if word in _ATTRIBUTES)))
        groups = tuple((index, kinds) for index, kinds in sets if kinds)
        if not groups:
            return 0
        if groups not in self.attribute_lists:
            self.attribute_lists.append(groups)
        return self.attribute_lists.index(groups) + 1

    def _metadata(self) -> list[tuple[int, list[Item]]]:
        """Return the records that named metadata reaches: strings, values, nodes, then the names."""
        nodes = {name: node.body for name, node in self.module.nodes().items() if not node.kind}
        named = self.module.named_nodes()
        writer = _Metadata(self.tables, nodes)
        for _, members in named:
            for member in members:
                writer.number(member)
        records = writer.records
        for name, members in named:
            records.append((4, list(name.encode())))
            records.append((10, [writer.number(member) for member in members]))
        return records

    def write(self) -> bytes:
        """Write the blocks in the order of LLVM's own writer."""
        out = Bitstream()
        out.enter(_IDENTIFICATION, 5)
        out.record(1, list(b"LLVM14.0.0"))
        out.record(2, [0])
        out.leave()
        out.enter(_MODULE, 3)
        out.record(1, [2])
        self._write_attributes(out)
        out.enter(_TYPES, 4)
        out.record(1, [self.tables.type_count])
        for code, values in self.tables.type_records:
            out.record(code, values)
        out.leave()
        for code, key in ((2, "triple"), (3, "datalayout")):
            out.record(code, list(self.module.target(key).encode()))
        self._write_values(out)
        out.leave()
        out.enter(_STRTAB, 3)
        out.blob(1, bytes(self.names))
        out.leave()
        return out.data()

    def _write_attributes(self, out: Bitstream) -> None:
        if not self.attribute_lists:
            return
        groups = [group for attributes in self.attribute_lists for group in attributes]
        groups = list(dict.fromkeys(groups))
        out.enter(_PARAMATTR_GROUP, 3)
        for number, (index, kinds) in enumerate(groups, start=1):
            out.record(3, [number, index, *(word for kind in sorted(kinds) for word in (0, kind))])
        out.leave()
        out.enter(_PARAMATTR, 3)
        for attributes in self.attribute_lists:
            out.record(2, [groups.index(group) + 1 for group in attributes])
        out.leave()

    def _write_values(self, out: Bitstream) -> None:
        names = [name for name, _ in (*self.variables, *self.functions)]
        number = {name: index for index, name in enumerate(names)}
        first = len(names)
        for code, things in ((7, self.variables), (8, self.functions)):
            for _, items in things:
                out.record(code, [_resolve(item, number, first, 0, self.tables)[0] for item in items])
        out.enter(_CONSTANTS, 4)
        for code, values in self.tables.records(number, first):
            out.record(code, values)
        out.leave()
        out.enter(_METADATA, 4)
        for code, items in self._metadata_records:
            out.record(code, [value for item in items for value in _resolve(item, number, first, 0, self.tables)])
        out.leave()
        for body in self.bodies:
            self._write_body(out, body, number, first)

    def _write_body(self, out: Bitstream, body: _Function, names: dict[str, int], first: int) -> None:
        number, here = dict(names), first + len(self.tables.constant_records)
        for name in [*body.parameters, *(name for name, (_, _, kind) in body.records if kind)]:
            number[name or f" {here}"] = here
            here += 1
        here = first + len(self.tables.constant_records) + len(body.parameters)
        out.enter(_FUNCTION, 4)
        out.record(1, [len(body.blocks)])
        for _, (code, items, kind) in body.records:
            values = [value for item in items for value in _resolve(item, number, first, here, self.tables)]
            out.record(code, values)
            here += bool(kind)
        out.leave()


class _Metadata:
    """Numbers metadata in the order in which it is met, members before their nodes."""

    def __init__(self, tables: Tables, nodes: dict[str, str]) -> None:
        self.tables, self.nodes = tables, nodes
        self.numbers: dict[str, int] = {}
        self.records: list[tuple[int, list[Item]]] = []

    def number(self, text: str) -> int:
        """Return the number of `!5`, `!"text"` or a value."""
        text = text.strip()
        if text in self.numbers:
            return self.numbers[text]
        record = self._record(text)
        self.numbers[text] = len(self.records)
        self.records.append(record)
        return self.numbers[text]

    def _record(self, text: str) -> tuple[int, list[Item]]:
        if text.startswith('!"'):
            plain = re.sub(r"\\([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), text[2:-1])
            return 1, list(plain.encode("latin-1"))
        if text in self.nodes or text.startswith("!{"):
            body = self.nodes[text] if text in self.nodes else inside(text, 1)
            return 3, [0 if part == "null" else self.number(part) + 1 for part in split(body)]
        ref = self.tables.typed(text)
        return 2, [self.tables.type_of(ref.type), Use(ref, "abs")]


def _linkage(words: list[str]) -> int:
    return next((_LINKAGES[word] for word in words if word in _LINKAGES), 0)


def _resolve(item: Item, number: dict[str, int], first: int, here: int, tables: Tables) -> list[int]:
    """Return the numbers that a record holds for `item`; `here` is the number of the next value."""
    if isinstance(item, int):
        return [item]
    value = absolute(item.ref, number, first)
    match item.form:
        case "abs":
            return [value]
        case "initial":
            return [value + 1]
        case "signed":
            return [signed(here - value)]
        case "rel":
            return [(here - value) & 0xFFFFFFFF]
        case _:
            later = [tables.type_of(item.ref.type)] if value >= here else []
            return [(here - value) & 0xFFFFFFFF, *later]
