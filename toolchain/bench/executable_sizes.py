"""A size map of an executable: the bytes of each function, constant and image, and its module.

Input: an executable with its symbols, and the program's units. Output: `Part`s, whose sizes add up to the file's.
"""

from collections.abc import Iterator

from ktc.base.records import record
from ktc.emit.objects import elf
from ktc.ir.nodes import Function, ImageRef, Program

_FUNCTION, _OBJECT = 2, 1
"""Types of symbols."""

ARCHIVE = "library, compiled apart"
FILE = "file"


@record
class Part:
    """A part of an executable.

    Args:
        kind: "function", "device code", "constant", "section" (what of one has no symbol), or "file" (headers, tables
            of the linker, padding).
        module: the file of its source; what is compiled apart from programs has none.
        size: in bytes.
    """

    kind: str
    name: str
    module: str
    size: int


def parts_of(symbols: bytes, size: int, program: Program) -> list[Part]:
    """Return the parts of an executable, the largest first.

    Args:
        symbols: the executable with its table of symbols. size: of the file that users get, without that.
    """
    file = elf.read(symbols, (elf.ET_EXEC, elf.ET_DYN))
    functions = {symbol: one for unit in (*program.devices, program.host) for symbol, one in unit.functions.items()}
    on_device = {symbol for unit in program.devices for symbol in unit.functions}
    images = {name for name, held in program.host.globals.items() if isinstance(held.content, ImageRef)}
    found, seen = list[Part](), set[int]()
    left = {
        index: one.size for index, one in enumerate(file.sections)
        if one.flags & elf.SHF_ALLOC and one.kind != elf.SHT_NOBITS
    }  # fmt: skip
    for one in file.symbols:
        if one.section not in left or one.info & 15 not in (_FUNCTION, _OBJECT) or not one.size or one.value in seen:
            continue
        seen.add(one.value)
        left[one.section] -= one.size
        base = next((name for name in (one.name, one.name.partition(".")[0]) if name in functions), "")
        is_image = base in on_device or one.name in images
        kind = "device code" if is_image else "function" if one.info & 15 == _FUNCTION else "constant"
        found.append(Part(kind, *_name_of(one.name, functions.get(base)), one.size))
    found += [Part("section", file.sections[index].name, "", rest) for index, rest in left.items() if rest > 0]
    found.append(Part(FILE, "headers, tables, padding", "", size - sum(part.size for part in found)))
    return sorted(found, key=lambda part: (-part.size, part.name))


def by_module(parts: list[Part]) -> Iterator[tuple[str, int]]:
    """Return the bytes of each module, the largest first."""
    sums: dict[str, int] = {}
    for part in parts:
        sums[part.module or f"({part.kind}s)"] = sums.get(part.module or f"({part.kind}s)", 0) + part.size
    yield from sorted(sums.items(), key=lambda one: (-one[1], one[0]))


def _name_of(symbol: str, function: Function | None) -> tuple[str, str]:
    """Return how a person calls a symbol, and its module."""
    if function is None:
        name, mark, _ = symbol.partition("$")
        return (name or symbol, ARCHIVE if mark and name != "str" else "")
    return function.title, function.span.source.path if function.span is not None else ARCHIVE
