"""The parts of an ELF64 little-endian file that `hsaco` reads and writes.

Source: System V ABI, gABI 4.1, chapters 4 and 5.
"""

import struct

from ktc.base.records import record

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELA = struct.Struct("<QQq")
DYNAMIC = struct.Struct("<qQ")

ET_REL, ET_EXEC, ET_DYN = 1, 2, 3
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_HASH, SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS = 1, 2, 3, 4, 5, 6, 7, 8
SHT_DYNSYM = 11
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
SHN_UNDEF, SHN_LORESERVE, SHN_ABS = 0, 0xFF00, 0xFFF1
PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_PHDR, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 4, 6, 0x6474E551, 0x6474E552
PF_X, PF_W, PF_R = 1, 2, 4
DT_HASH, DT_STRTAB, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_RELAENT, DT_STRSZ, DT_SYMENT = 4, 5, 6, 7, 8, 9, 10, 11
STB_LOCAL, STV_INTERNAL, STV_HIDDEN = 0, 1, 2


@record
class Section:
    """One section of a relocatable file."""

    name: str
    kind: int
    flags: int
    data: bytes
    size: int
    link: int
    info: int
    align: int


@record
class Symbol:
    """One symbol; `section` is an index or one of the reserved numbers."""

    name: str
    info: int
    other: int
    section: int
    value: int
    size: int

    @property
    def is_exported(self) -> bool:
        """Defined here and visible to others."""
        visible = self.other & 3 not in (STV_INTERNAL, STV_HIDDEN)
        return self.info >> 4 != STB_LOCAL and visible and self.section != SHN_UNDEF


@record
class Relocation:
    """One relocation with its addend; `section` is what it changes."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


@record
class Relocatable:
    """A relocatable file."""

    identification: bytes
    machine: int
    flags: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]


def text_at(table: bytes, offset: int) -> str:
    """Return the name at `offset` of a string table."""
    return table[offset : table.index(b"\0", offset)].decode()


def read(data: bytes, kinds: tuple[int, ...] = (ET_REL,)) -> Relocatable:
    """Read an object file as LLVM writes it, or a file of one of `kinds`; raises ValueError if it is not one."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    header = HEADER.unpack_from(data)
    identification, kind, machine, flags, table, count, names = (
        header[0], header[1], header[2], header[7], header[6], header[12], header[13],
    )  # fmt: skip
    if kind not in kinds:
        raise ValueError("not a relocatable file" if kinds == (ET_REL,) else "not an executable")
    raw = [SECTION_HEADER.unpack_from(data, table + index * SECTION_HEADER.size) for index in range(count)]
    strings = data[raw[names][4] : raw[names][4] + raw[names][5]]
    sections = tuple(
        Section(
            text_at(strings, row[0]), row[1], row[2],
            b"" if row[1] == SHT_NOBITS else data[row[4] : row[4] + row[5]], row[5], row[6], row[7], row[8] or 1,
        )
        for row in raw
    )  # fmt: skip
    return Relocatable(identification, machine, flags, sections, _symbols(sections), _relocations(sections))


def _symbols(sections: tuple[Section, ...]) -> tuple[Symbol, ...]:
    for section in sections:
        if section.kind == SHT_SYMTAB:
            names = sections[section.link].data
            return tuple(
                Symbol(text_at(names, name), info, other, index, value, size)
                for name, info, other, index, value, size in SYMBOL.iter_unpack(section.data)
            )
    return ()


def _relocations(sections: tuple[Section, ...]) -> tuple[Relocation, ...]:
    return tuple(
        Relocation(section.info, offset, info & 0xFFFFFFFF, info >> 32, addend)
        for section in sections
        if section.kind == SHT_RELA
        for offset, info, addend in RELA.iter_unpack(section.data)
    )


def hash_table(names: list[str]) -> bytes:
    """Return the contents of a SysV hash section for the dynamic symbols `names` (the first is the null symbol)."""
    buckets, chains = [0] * max(1, len(names)), [0] * len(names)
    for index, name in enumerate(names):
        if index:
            place = _hash(name) % len(buckets)
            chains[index], buckets[place] = buckets[place], index
    numbers = [len(buckets), len(names), *buckets, *chains]
    return struct.pack(f"<{len(numbers)}I", *numbers)


def _hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


def align_up(value: int, align: int) -> int:
    """Return the next multiple of `align` (a power of two)."""
    return (value + align - 1) & -align
