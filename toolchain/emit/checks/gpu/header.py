"""The header before the image of a checked kernel for a GPU; `stdlib/_check/gpu.kpy` reads it.

Words of 64 bits: the mark, where the image begins, how many pointers are passed, how many sites there are, where the
sites begin, where the kernel's name is; then a word for each pointer: which of the kernel's arguments has it, from 1
on, and from bit 8 on at which byte. A site has six: where the texts of its file and of its function are, line,
column, bytes (or where a text is), flags with the alignment from bit 16 on. Texts end with a zero byte; places count
from the header's begin.
"""

from collections.abc import Sequence

from ktc.base.records import record
from ktc.emit.checks.source_locations import Place

MARK = b"\x7fKTCCHK\0"
_ALIGN = 64
_HEAD, _SITE = 6, 6


@record
class Site:
    """A place that a thread may name.

    Args:
        size: bytes of the access. align: what its address has to be a multiple of. flags: see `sites`.
        text: the type of a tensor's elements, or what collection is indexed.
    """

    place: Place
    size: int
    align: int
    flags: int
    text: str = ""


def with_header(image: bytes, title: str, pointers: Sequence[int], sites: Sequence[Site]) -> bytes:
    """Return an image after its header.

    Args:
        title: the kernel's name. pointers: by its number what each of the passed pointers is. sites: from number 1 on.
    """
    first = 8 * (_HEAD + len(pointers))
    texts, places = bytearray(), dict[str, int]()
    begin = first + 8 * _SITE * len(sites)

    def place_of(text: str) -> int:
        if text not in places:
            places[text] = begin + len(texts)
            texts.extend(text.encode().replace(b"\\22", b'"') + b"\0")
        return places[text]

    words = list(pointers)
    name = place_of(title)
    for site in sites:
        place, size = site.place, place_of(site.text) if site.text else site.size
        words += [
            place_of(place.path),
            place_of(place.title),
            place.line,
            place.column,
            size,
            site.flags | site.align << 16,
        ]
    start = -(-(begin + len(texts)) // _ALIGN) * _ALIGN
    head = [start, len(pointers), len(sites), first, name, *words]
    data = MARK + b"".join([word.to_bytes(8, "little") for word in head]) + bytes(texts)
    return data.ljust(start, b"\0") + image
