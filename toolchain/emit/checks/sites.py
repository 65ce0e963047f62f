"""The records of places that checks name: constants in the module, but for what the library keeps in them.

`stdlib/_check/state.kpy` has the same layout: the file, the function's title, line, column, the access's size and
alignment, flags, a free word, and two words in which a race detector remembers its last number for the place.
"""

from ktc.emit.checks.places import Place

WRITE, ATOMIC, MUST_BE_SET, BY_ADDRESS, ACQUIRE, RELEASE, SYNCWARP = 1, 2, 4, 8, 16, 32, 64

_RECORD = "{ ptr, ptr, i32, i32, i32, i32, i32, i32, i32, i32 }"


class Sites:
    """The records of one module."""

    def __init__(self) -> None:
        self._records: dict[tuple[Place, int, int, int], str] = {}
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
            words = (place.line, place.column, size, align, flags, 0, 0, 0)
            listed = ", ".join([f"i32 {word}" for word in words])
            names = f"ptr {self._constant(place.path)}, ptr {self._constant(place.title)}"
            lines.append(f"{name} = internal global {_RECORD} {{ {names}, {listed} }}, align 16")
        return [*self._definitions(), *lines]

    def _constant(self, text: str) -> str:
        return self._texts.setdefault(text, f"@ktc.text.{len(self._texts)}")

    def _definitions(self) -> list[str]:
        lines = []
        for text, name in self._texts.items():
            data = text.encode().replace(b"\\22", b'"')
            quoted = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in data)
            lines.append(f'{name} = internal constant [{len(data) + 1} x i8] c"{quoted}\\00"')
        return lines
