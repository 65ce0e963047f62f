"""The values of `-D`."""

from collections.abc import Mapping


class Defines:
    """The values of `-D`, and which of them were read."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        self.read.add(name)
        return name in self._values

    def get(self, name: str) -> str | None:
        """Return a value, or None."""
        self.read.add(name)
        return self._values.get(name)
