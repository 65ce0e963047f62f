"""A linker for one AMD code object: LLVM's relocatable file to the shared object that the HIP runtime loads.

Input: an ELF object whose functions and globals are internal or hidden, but for the kernels. Output: an ELF shared
object: notes, dynamic symbols, kernel descriptors and constants read-only at 0; code; the dynamic table; data. The
runtime takes segments and the dynamic symbols, so a relocatable file will not do; no linker of a system knows this
machine.

Source: LLVM's AMDGPUUsage, "Code Object" (sections, relocations); ROCR-Runtime, `amd_hsa_code.cpp` (what is read).
"""

import struct
from dataclasses import field

from ktc.base.records import entity
from ktc.diag.diagnostic import Bug
from ktc.emit.objects import elf
from ktc.emit.objects.elf import align_up

_MACHINE = 224
_PAGE = 0x1000
_TEXT_ALIGN = 256

_R_ABS64, _R_REL32, _R_REL64, _R_REL32_LO, _R_REL32_HI, _R_RELATIVE64 = 3, 4, 5, 10, 11, 13


@entity
class _Part:
    """One section of the result."""

    name: str
    kind: int
    flags: int
    align: int
    data: bytearray = field(default_factory=bytearray)
    size: int = 0
    address: int = 0
    offset: int = 0
    link: str = ""
    info: int = 0
    entry: int = 0

    def append(self, data: bytes, size: int, align: int) -> int:
        """Add an input section; return where it begins."""
        start = align_up(self.size, align)
        self.align = max(self.align, align)
        if self.kind != elf.SHT_NOBITS:
            self.data += bytes(start - len(self.data)) + data
        self.size = start + size
        return start


def link(data: bytes) -> bytes:
    """Return the shared object of one relocatable object."""
    try:
        return _Linker(elf.read(data)).run()
    except ValueError as error:
        raise Bug(f"cannot link the AMD code object: {error}", "emit") from error


class _Linker:
    """One run; the sections in `parts` stand in the order of the file."""

    def __init__(self, source: elf.Relocatable) -> None:
        if source.machine != _MACHINE:
            raise ValueError(f"machine {source.machine} is not AMDGPU")
        self.source = source
        self.exported = [symbol for symbol in source.symbols if symbol.is_exported]
        alloc, write, execute = elf.SHF_ALLOC, elf.SHF_WRITE, elf.SHF_EXECINSTR
        self.parts = {
            part.name: part
            for part in (
                _Part(".note", elf.SHT_NOTE, alloc, 4),
                _Part(".dynsym", elf.SHT_DYNSYM, alloc, 8, link=".dynstr", info=1, entry=elf.SYMBOL.size),
                _Part(".hash", elf.SHT_HASH, alloc, 4, link=".dynsym", entry=4),
                _Part(".dynstr", elf.SHT_STRTAB, alloc, 1),
                _Part(".rela.dyn", elf.SHT_RELA, alloc, 8, link=".dynsym", entry=elf.RELA.size),
                _Part(".rodata", elf.SHT_PROGBITS, alloc, 64),
                _Part(".text", elf.SHT_PROGBITS, alloc | execute, _TEXT_ALIGN),
                _Part(".dynamic", elf.SHT_DYNAMIC, alloc | write, 8, link=".dynstr", entry=elf.DYNAMIC.size),
                _Part(".data", elf.SHT_PROGBITS, alloc | write, 8),
                _Part(".bss", elf.SHT_NOBITS, alloc | write, 8),
            )
        }
        self.placed: dict[int, tuple[_Part, int]] = {}
        self.dynamic_relocations: list[tuple[int, int]] = []

    def run(self) -> bytes:
        """Place, relocate, write."""
        for index, section in enumerate(self.source.sections):
            if section.flags & elf.SHF_ALLOC and (section.size or section.kind == elf.SHT_NOTE):
                part = self.parts[_destination(section)]
                self.placed[index] = (part, part.append(section.data, section.size, section.align))
        self._reserve()
        self._lay_out()
        for relocation in self.source.relocations:
            if relocation.section in self.placed:
                self._relocate(relocation)
        self._fill()
        return self._write()

    def _reserve(self) -> None:
        """Give generated sections their sizes, so that addresses can be assigned."""
        names = ["", *(symbol.name for symbol in self.exported)]
        absolute = sum(
            relocation.kind == _R_ABS64 and relocation.section in self.placed for relocation in self.source.relocations
        )
        tags = 6 + 3 * bool(absolute)
        self.parts[".dynstr"].data = bytearray(b"\0".join(name.encode() for name in names) + b"\0")
        self.parts[".hash"].data = bytearray(elf.hash_table(names))
        self.parts[".dynsym"].data = bytearray(elf.SYMBOL.size * len(names))
        self.parts[".rela.dyn"].data = bytearray(elf.RELA.size * absolute)
        self.parts[".dynamic"].data = bytearray(elf.DYNAMIC.size * tags)
        for part in self.parts.values():
            if part.kind != elf.SHT_NOBITS:
                part.size = len(part.data)
        keep = (".note", ".dynsym", ".hash", ".dynstr", ".rodata", ".text", ".dynamic")
        self.parts = {name: part for name, part in self.parts.items() if part.size or name in keep}

    def _lay_out(self) -> None:
        offset = elf.HEADER.size + elf.PROGRAM_HEADER.size * self._segment_count()
        first_data = next((name for name in (".data", ".bss") if name in self.parts), "")
        shift = 0
        for part in self.parts.values():
            if part.name in (".text", ".dynamic", first_data):
                shift += _PAGE  # a new segment: no page is mapped with two permissions
            offset = align_up(offset, part.align)
            part.offset, part.address = offset, offset + shift
            if part.kind != elf.SHT_NOBITS:
                offset += part.size

    def _segment_count(self) -> int:
        return 7 + any(name in self.parts for name in (".data", ".bss"))

    def _address(self, symbol: elf.Symbol) -> int:
        if symbol.section == elf.SHN_ABS:
            return symbol.value
        if symbol.section not in self.placed:
            raise ValueError(f"'{symbol.name}' is not defined in the object")
        part, start = self.placed[symbol.section]
        return part.address + start + symbol.value

    def _relocate(self, relocation: elf.Relocation) -> None:
        part, start = self.placed[relocation.section]
        place = start + relocation.offset
        target = self._address(self.source.symbols[relocation.symbol]) + relocation.addend
        distance = target - (part.address + place)
        if relocation.kind == _R_ABS64:
            self.dynamic_relocations.append((part.address + place, target))
            struct.pack_into("<Q", part.data, place, 0)
        elif relocation.kind == _R_REL64:
            struct.pack_into("<q", part.data, place, distance)
        elif relocation.kind in (_R_REL32, _R_REL32_LO):
            struct.pack_into("<I", part.data, place, distance & 0xFFFFFFFF)
        elif relocation.kind == _R_REL32_HI:
            struct.pack_into("<I", part.data, place, (distance >> 32) & 0xFFFFFFFF)
        else:
            name = self.source.symbols[relocation.symbol].name
            raise ValueError(f"relocation {relocation.kind} of '{name}' is not one of an internal symbol")

    def _fill(self) -> None:
        """Write the generated sections, now that addresses are known."""
        numbers = {name: index for index, name in enumerate(self.parts, start=1)}
        dynsym, name_offset = self.parts[".dynsym"].data, 1
        for index, symbol in enumerate(self.exported, start=1):
            section = elf.SHN_ABS
            if symbol.section != elf.SHN_ABS:
                section = numbers[self.placed[symbol.section][0].name]
            elf.SYMBOL.pack_into(
                dynsym, index * elf.SYMBOL.size, name_offset, symbol.info, symbol.other, section,
                self._address(symbol), symbol.size,
            )  # fmt: skip
            name_offset += len(symbol.name.encode()) + 1
        for index, (place, target) in enumerate(sorted(self.dynamic_relocations)):
            elf.RELA.pack_into(self.parts[".rela.dyn"].data, index * elf.RELA.size, place, _R_RELATIVE64, target)
        tags = [
            (elf.DT_SYMTAB, self.parts[".dynsym"].address), (elf.DT_SYMENT, elf.SYMBOL.size),
            (elf.DT_STRTAB, self.parts[".dynstr"].address), (elf.DT_STRSZ, self.parts[".dynstr"].size),
            (elf.DT_HASH, self.parts[".hash"].address),
        ]  # fmt: skip
        if relocations := self.parts.get(".rela.dyn"):
            tags += [(elf.DT_RELA, relocations.address), (elf.DT_RELASZ, relocations.size)]
            tags += [(elf.DT_RELAENT, elf.RELA.size)]
        for index, tag in enumerate([*tags, (0, 0)]):
            elf.DYNAMIC.pack_into(self.parts[".dynamic"].data, index * elf.DYNAMIC.size, *tag)

    def _segments(self) -> list[bytes]:
        count = self._segment_count()
        table = elf.PROGRAM_HEADER.size * count
        readable, writable = elf.PF_R, elf.PF_R | elf.PF_W
        rodata, text, dynamic = self.parts[".rodata"], self.parts[".text"], self.parts[".dynamic"]
        rows = [
            (elf.PT_PHDR, readable, elf.HEADER.size, elf.HEADER.size, table, table, 8),
            (elf.PT_LOAD, readable, 0, 0, rodata.offset + rodata.size, rodata.offset + rodata.size, _PAGE),
            _segment(elf.PT_LOAD, elf.PF_R | elf.PF_X, [text], _PAGE),
            _segment(elf.PT_LOAD, writable, [dynamic], _PAGE),
        ]
        data = [self.parts[name] for name in (".data", ".bss") if name in self.parts]
        rows += [_segment(elf.PT_LOAD, writable, data, _PAGE)] if data else []
        rows += [
            _segment(elf.PT_DYNAMIC, writable, [dynamic], 8),
            (elf.PT_GNU_STACK, writable, 0, 0, 0, 0, 0),
            _segment(elf.PT_NOTE, readable, [self.parts[".note"]], 4),
        ]
        return [
            elf.PROGRAM_HEADER.pack(kind, flags, offset, address, address, in_file, in_memory, align)
            for kind, flags, offset, address, in_file, in_memory, align in rows
        ]

    def _write(self) -> bytes:
        numbers = {name: index for index, name in enumerate(self.parts, start=1)}
        names = b"\0" + b"".join(name.encode() + b"\0" for name in [*self.parts, ".shstrtab"])
        segments = self._segments()
        out = bytearray(elf.HEADER.size) + b"".join(segments)
        headers, name_offset = [bytes(elf.SECTION_HEADER.size)], 1
        for part in self.parts.values():
            out += bytes(part.offset - len(out)) + part.data
            link, entry = numbers.get(part.link, 0), part.entry
            headers.append(
                elf.SECTION_HEADER.pack(
                    name_offset, part.kind, part.flags, part.address, part.offset, part.size, link, part.info,
                    part.align, entry,
                )
            )  # fmt: skip
            name_offset += len(part.name) + 1
        headers.append(elf.SECTION_HEADER.pack(name_offset, elf.SHT_STRTAB, 0, 0, len(out), len(names), 0, 0, 1, 0))
        out += names
        out += bytes(align_up(len(out), 8) - len(out))
        elf.HEADER.pack_into(
            out, 0, self.source.identification, elf.ET_DYN, _MACHINE, 1, 0, elf.HEADER.size, len(out),
            self.source.flags, elf.HEADER.size, elf.PROGRAM_HEADER.size, len(segments), elf.SECTION_HEADER.size,
            len(headers), len(headers) - 1,
        )  # fmt: skip
        return bytes(out) + b"".join(headers)


def _destination(section: elf.Section) -> str:
    if section.kind == elf.SHT_NOTE:
        return ".note"
    if section.kind == elf.SHT_NOBITS:
        return ".bss"
    if section.flags & elf.SHF_EXECINSTR:
        return ".text"
    return ".data" if section.flags & elf.SHF_WRITE else ".rodata"


def _segment(kind: int, flags: int, parts: list[_Part], align: int) -> tuple[int, int, int, int, int, int, int]:
    first, last = parts[0], parts[-1]
    end = last.offset + len(last.data)
    return (
        kind, flags, first.offset, first.address, end - first.offset, last.address + last.size - first.address, align,
    )  # fmt: skip
