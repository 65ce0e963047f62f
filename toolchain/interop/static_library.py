"""Static libraries: an archive with one object, in which only what is exported has a name for others.

Input: a relocatable ELF object of 64 bits. Output: the same with its other symbols local; an archive.

Source: System V ABI, chapter 4, "Object Files"; ar(5), the format of GNU and System V.
"""

import struct
from collections.abc import Collection, Sequence

_SYMTAB, _RELA, _REL, _GROUP = 2, 4, 9, 17
_SYMBOL, _SECTION = struct.Struct("<IBBHQQ"), struct.Struct("<IIQQQQIIQQ")
_LOCAL = 0


class _Section:
    """The fields of a section's header that matter here."""

    def __init__(self, data: bytearray, at: int) -> None:
        fields = _SECTION.unpack_from(data, at)
        self.at = at
        self.type, self.offset, self.size, self.link, self.info = fields[1], fields[4], fields[5], fields[6], fields[7]
        self.entry = fields[9]


def with_locals(data: bytes, exported: Collection[str]) -> bytes:
    """Return an object whose defined symbols are local, but for those that are exported; other formats as they are."""
    if data[:6] != b"\x7fELF\x02\x01":
        return data
    made = bytearray(data)
    (start,) = struct.unpack_from("<Q", made, 0x28)
    _, count = struct.unpack_from("<HH", made, 0x3A)
    sections = [_Section(made, start + 64 * index) for index in range(count)]
    table = next((number for number, one in enumerate(sections) if one.type == _SYMTAB), None)
    if table is None:
        return data
    places = _reorder(made, sections[table], sections[sections[table].link], exported)
    for one in sections:
        if one.link != table:
            continue
        if one.type in (_RELA, _REL):
            for at in range(one.offset, one.offset + one.size, one.entry):
                kind, number = struct.unpack_from("<II", made, at + 8)
                struct.pack_into("<II", made, at + 8, kind, places[number])
        elif one.type == _GROUP:
            struct.pack_into("<I", made, one.at + 44, places[one.info])
    return bytes(made)


def _reorder(data: bytearray, table: _Section, names: _Section, exported: Collection[str]) -> list[int]:
    """Rewrite the symbol table, local symbols first; return the new number of each."""
    symbols = [list(_SYMBOL.unpack_from(data, table.offset + at)) for at in range(0, table.size, _SYMBOL.size)]
    for one in symbols:
        is_defined = one[3] != 0
        if is_defined and one[1] >> 4 != _LOCAL and _name(data, names, one[0]) not in exported:
            one[1] &= 15
    order = sorted(range(len(symbols)), key=lambda number: symbols[number][1] >> 4 != _LOCAL)
    places = [0] * len(symbols)
    for new, old in enumerate(order):
        places[old] = new
        _SYMBOL.pack_into(data, table.offset + new * _SYMBOL.size, *symbols[old])
    locals_ = sum(one[1] >> 4 == _LOCAL for one in symbols)
    struct.pack_into("<I", data, table.at + 44, locals_)
    return places


def _name(data: bytearray, names: _Section, at: int) -> str:
    start = names.offset + at
    return data[start : data.index(0, start)].decode("utf-8", "replace")


def archive(data: bytes, symbols: Sequence[str]) -> bytes:
    """Return an archive with one object and an index of the symbols that it defines; the same bytes every time."""
    listed = "".join(f"{name}\0" for name in symbols).encode()
    size = 4 + 4 * len(symbols) + len(listed)
    place = 8 + 60 + size + size % 2
    index = struct.pack(">I", len(symbols)) + struct.pack(">I", place) * len(symbols) + listed
    return b"!<arch>\n" + _member("/", index) + _member("ktc.o/", data)


def _member(name: str, data: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(data):<10}`\n"
    return head.encode() + data + b"\n" * (len(data) % 2)
