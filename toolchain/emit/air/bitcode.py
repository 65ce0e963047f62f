"""AIR text to the bitcode that Apple's compilers read: LLVM 14's, with typed pointers.

Input: typed text, as `text` writes it. Output: bitcode without the wrapper. What only helps an optimiser is left out
(names of values, attachments, most attributes): the back end that reads this begins with code that is optimised.

Source: LLVM 14, `BitcodeWriter.cpp` and `LLVMBitCodes.h`.
"""

import re
from dataclasses import field

from ktc.base.records import entity
from ktc.emit.air.bitstream import Bitstream
from ktc.emit.air.instructions import Instructions, Record
from ktc.emit.air.syntax import LOCAL, NAME, inside, last_type, split, take_type, unsupported
from ktc.emit.air.values import Item, Tables, Use, absolute, signed

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
    blocks: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    records: list[tuple[str, Record]] = field(default_factory=list)


def bitcode(text: str) -> bytes:
    """Return the module as LLVM 14 bitcode."""
    return _Module(text).write()


class _Module:
    """One module: reads every line, numbers types and constants, then writes."""

    def __init__(self, text: str) -> None:
        self.lines = [re.sub(r"\s+; preds = .*$", "", line) for line in text.splitlines() if line.strip()]
        structs = {m[1]: m[2] for line in self.lines if (m := re.match(rf"({LOCAL}) = type (.*)", line))}
        self.tables = Tables(structs)
        self.variables: list[tuple[str, list[Item]]] = []
        self.functions: list[tuple[str, list[Item]]] = []
        self.bodies: list[_Function] = []
        self.names = bytearray()
        self.groups = {m[1]: m[2] for line in self.lines if (m := re.match(r"attributes #(\d+) = \{(.*)\}", line))}
        self.attribute_lists: list[tuple[tuple[int, tuple[int, ...]], ...]] = []
        self._declare()
        self._define()

    def _declare(self) -> None:
        """Give each global its type, so that operands can be read."""
        for line in self.lines:
            if found := re.match(rf"({NAME}) = (.*?)\b(global|constant) (.*)", line):
                kind, _ = take_type(found[4])
                space = re.search(r" addrspace\(\d+\)", " " + found[2])
                self.tables.global_types[found[1]] = f"{kind}{space[0] if space else ''}*"
            elif line.startswith(("define ", "declare ")):
                name, kinds, _ = _signature(line)
                before = line[: line.index(name + "(")]
                self.tables.global_types[name] = f"{last_type(before)} ({', '.join(kinds)})*"

    def _define(self) -> None:
        body: _Function | None = None
        for line in self.lines:
            if line == "}":
                body = None
            elif body is not None:
                _add_line(body, line)
            elif re.match(rf"{NAME} = ", line):
                self._variable(line)
            elif line.startswith(("define ", "declare ")):
                body = self._function(line)
        for function in self.bodies:
            encoder = Instructions(self.tables, function.blocks)
            for line in function.lines:
                found = re.match(rf"(?:({LOCAL}) = )?(.*)", line)
                if found is None:
                    raise unsupported(line)
                function.records.append((found[1] or "", encoder.encode(found[2])))
        for kind in self.tables.global_types.values():
            self.tables.type_of(kind)
        self._metadata_records = self._metadata()

    def _place_of(self, name: str) -> list[Item]:
        plain = name[1:].strip('"').encode()
        self.names += plain
        return [len(self.names) - len(plain), len(plain)]

    def _variable(self, line: str) -> None:
        found = re.match(rf"({NAME}) = (.*?)\b(global|constant) (.*)", line)
        if found is None:
            raise unsupported(line)
        words, (first, *rest) = found[2].split(), split(found[4])
        kind, initial = take_type(first)
        space = re.search(r"addrspace\((\d+)\)", found[2])
        start: Item = 0
        if initial:
            start = Use(self.tables.value(kind, initial), "initial")
        aligned = next((int(part.split()[1]).bit_length() for part in rest if part.startswith("align ")), 0)
        flags = int(found[3] == "constant") | 2 | (int(space[1]) if space else 0) << 2
        unnamed = next((_UNNAMED[word] for word in words if word in _UNNAMED), 0)
        items = [self.tables.type_of(kind), flags, start, _linkage(words), aligned, 0, 0, 0, unnamed, 0, 0, 0]
        self.variables.append((found[1], [*self._place_of(found[1]), *items]))

    def _function(self, line: str) -> _Function | None:
        name, kinds, parameters = _signature(line)
        before, after = line[: line.index(name + "(")], line[line.index(name + "(") :]
        after = after[after.index("(") + len(inside(after, after.index("("))) + 2 :]
        words = before.split()
        is_declared = line.startswith("declare ")
        attributes = self._attributes(after, split(inside(line, line.index(name + "(") + len(name))), kinds)
        unnamed = next((_UNNAMED[word] for word in after.split() if word in _UNNAMED), 0)
        items = [
            self.tables.type_of(self.tables.global_types[name][:-1]), 0, int(is_declared), _linkage(words), attributes,
            0, 0, 0, 0, unnamed, 0, 0, 0, 0, 0, 0, 0,
        ]  # fmt: skip
        self.functions.append((name, [*self._place_of(name), *items]))
        if is_declared:
            return None
        body = _Function(parameters)
        self.bodies.append(body)
        return body

    def _attributes(self, after: str, parameters: list[str], kinds: list[str]) -> int:
        """Return the number of the function's list of attributes, 0 for none."""
        found = re.search(r"#(\d+)", after)
        own = self.groups.get(found[1], "").split() if found else []
        sets = [(_FUNCTION_INDEX, tuple(_ATTRIBUTES[word] for word in own if word in _ATTRIBUTES))]
        for index, (text, kind) in enumerate(zip(parameters, kinds, strict=False), start=1):
            words = text[len(kind) :].split()
            sets.append((index, tuple(_ATTRIBUTES[word] for word in words if word in _ATTRIBUTES)))
        groups = tuple((index, kinds) for index, kinds in sets if kinds)
        if not groups:
            return 0
        if groups not in self.attribute_lists:
            self.attribute_lists.append(groups)
        return self.attribute_lists.index(groups) + 1

    def _metadata(self) -> list[tuple[int, list[Item]]]:
        """Return the records of what named metadata reaches: strings, values, nodes, then the names."""
        nodes = {m[1]: m[2] for line in self.lines if (m := re.match(r"(!\d+) = (?:distinct )?!\{(.*)\}$", line))}
        named = [(m[1], split(m[2])) for line in self.lines if (m := re.match(r"!([a-zA-Z_.]\S*) = !\{(.*)\}$", line))]
        writer = _Metadata(self.tables, nodes)
        for _, members in named:
            for member in filter(None, members):
                writer.number(member)
        records = writer.records
        for name, members in named:
            records.append((4, list(name.encode())))
            records.append((10, [writer.number(member) for member in members if member]))
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
            found = next((m[1] for line in self.lines if (m := re.match(rf'target {key} = "(.*)"', line))), "")
            out.record(code, list(found.encode()))
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
            members = [part for part in split(body) if part]
            return 3, [0 if part == "null" else self.number(part) + 1 for part in members]
        ref = self.tables.typed(text)
        return 2, [self.tables.type_of(ref.type), Use(ref, "abs")]


def _signature(line: str) -> tuple[str, list[str], list[str]]:
    """Return a function's name, the types of its parameters, and their names."""
    found = re.search(rf"({NAME})\(", line)
    if found is None:
        raise unsupported(line)
    parts = [part for part in split(inside(line, found.end() - 1)) if part]
    kinds = ["..." if part == "..." else take_type(part)[0] for part in parts]
    names = [match[0] if (match := re.search(rf"{LOCAL}$", part)) else "" for part in parts]
    return found[1], kinds, names


def _add_line(body: _Function, line: str) -> None:
    """Take a label or an instruction; a switch is printed on several lines."""
    if label := re.match(r'([-\w$.]+|"[^"]*"):$', line):
        body.blocks[f"%{label[1]}"] = len(body.blocks)
        return
    if not body.blocks:
        unnamed = sum(bool(re.fullmatch(r"%\d+", name)) for name in body.parameters)
        body.blocks[f"%{unnamed}"] = 0
    if body.lines and body.lines[-1].startswith("switch ") and not body.lines[-1].endswith("]"):
        body.lines[-1] += " " + line.strip()
    else:
        body.lines.append(line.strip())


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
