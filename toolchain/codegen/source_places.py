"""Places in the program that a trace of an error names, as LLVM definitions.

Input: globals whose content is a `SourcePlace`. Output: lines. A place is its line and column in 32 bits and, in
another 32, how far away its names lie: the file and the function, each with a zero byte after it. So it needs no
relocation. The places are in an object beside the host's code, which is therefore the same wherever in its file it
stands.
"""

from ktc.codegen.values.constants import quoted, symbol
from ktc.ir.nodes import SourcePlace, Unit

_COLUMN_BITS = 10


def place_definition(name: str, place: SourcePlace, linkage: str) -> str:
    """Return the lines that define one place, its names among them."""
    text = f"{name}.text"
    return f"{_names(text, place)}\n{_place(name, place, text, linkage)}"


def place_definitions(unit: Unit) -> tuple[str, ...]:
    """Return the lines that define all places of a unit, names that several share once."""
    lines: list[str] = []
    texts: dict[tuple[str, str], str] = {}
    for _, held in sorted(unit.globals.items()):  # in one order, whichever flow has made them
        place = held.content
        if not isinstance(place, SourcePlace):
            continue
        key = place.path, place.title
        if key not in texts:
            texts[key] = f"{held.name}.text"
            lines.append(_names(texts[key], place))
        lines.append(_place(held.name, place, texts[key], "hidden"))
    return tuple(lines)


def _names(text: str, place: SourcePlace) -> str:
    data = f"{place.path}\0{place.title}\0".encode("utf-8", "surrogateescape")
    return f'{symbol(text)} = private constant [{len(data)} x i8] c"{quoted(data)}", align 1'


def _place(name: str, place: SourcePlace, text: str, linkage: str) -> str:
    here = symbol(name)
    far = f"i32 trunc (i64 sub (i64 ptrtoint (ptr {symbol(text)} to i64), i64 ptrtoint (ptr {here} to i64)) to i32)"
    at = place.line << _COLUMN_BITS | min(place.column, (1 << _COLUMN_BITS) - 1)
    return f"{here} = {linkage} constant {{ i32, i32 }} {{ i32 {at}, {far} }}, align 4"
