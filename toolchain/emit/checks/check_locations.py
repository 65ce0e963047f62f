"""The records of places that checks name: constants in the module, but for what the library keeps in them.

`stdlib/_check/state.kpy` has the same layout: the file, the function's title, line, column, the access's size and
alignment, flags, a free word, two words in which a race detector remembers its last number for the place, and the
record of the place that a report adds: the call that was inlined, or what a subscript's method does (`INNER`).
"""

from ktc.emit.checks.source_locations import Place

WRITE, ATOMIC, MUST_BE_SET, BY_ADDRESS, ACQUIRE, RELEASE, SYNCWARP = 1, 2, 4, 8, 16, 32, 64
CONSTANT, INNER = 1 << 13, 1 << 14

_RECORD = "{ ptr, ptr, i32, i32, i32, i32, i32, i32, i32, i32, ptr }"
_MOST_CALLS = 4


class CheckLocations:
    """The records of one module."""

    def __init__(self) -> None:
        self._records: dict[tuple[Place, int, int, int], str] = {}
        self._more: dict[tuple[tuple[Place, int], ...], str] = {}
        self._texts: dict[str, str] = {}

    def at(self, place: Place, size: int = 0, align: int = 1, flags: int = 0) -> str:
        """Return the name of a record; equal ones are one."""
        return self._records.setdefault((place, size, align, flags), f"@ktc.site.{len(self._records)}")

    def number(self, name: str) -> int:
        """Return a record's number in the table, from 1 on."""
        return 1 + int(name.rpartition(".")[2])

    def table(self, name: str) -> str:
        """Return the definition of the table of records; its first word is null."""
        listed = ", ".join(["ptr null", *(f"ptr {record}" for record in self._records.values())])
        return f"{name} = internal constant [{len(self._records) + 1} x ptr] [{listed}]"

    def text(self) -> list[str]:
        """Return the definitions."""
        lines = []
        for (place, size, align, flags), name in self._records.items():
            more = (*[(one, INNER) for one in place.inner], *[(one, 0) for one in place.outer[:_MOST_CALLS]])
            lines.append(self._record(name, place, (size, align, flags), self._chain(more)))
        for chain, name in self._more.items():
            place, flags = chain[0]
            lines.append(self._record(name, place, (0, 1, flags), self._chain(chain[1:])))
        return [*self._definitions(), *lines]

    def _chain(self, places: tuple[tuple[Place, int], ...]) -> str:
        """Return the name of the first of these places' records, each of which names the next."""
        if not places:
            return "null"
        if places not in self._more:
            self._chain(places[1:])
            self._more[places] = f"@ktc.site.more.{len(self._more)}"
        return self._more[places]

    def _record(self, name: str, place: Place, access: tuple[int, int, int], more: str) -> str:
        listed = ", ".join([f"i32 {word}" for word in (place.line, place.column, *access, 0, 0, 0)])
        names = f"ptr {self._constant(place.path)}, ptr {self._constant(place.title)}"
        return f"{name} = internal global {_RECORD} {{ {names}, {listed}, ptr {more} }}, align 16"

    def _constant(self, text: str) -> str:
        return self._texts.setdefault(text, f"@ktc.text.{len(self._texts)}")

    def _definitions(self) -> list[str]:
        lines = []
        for text, name in self._texts.items():
            data = text.encode().replace(b"\\22", b'"')
            quoted = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in data)
            lines.append(f'{name} = internal constant [{len(data) + 1} x i8] c"{quoted}\\00"')
        return lines
