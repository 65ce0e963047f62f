"""The editions of the language, and where a text's edition comes from."""

from enum import Enum

from ktc.base.records import record


class Edition(Enum):
    """A dialect: that of 0.25.7 (2025), or that of 1.x (2026)."""

    Y2025 = "2025"
    Y2026 = "2026"

    @property
    def other(self) -> "Edition":
        """The other edition."""
        return Edition.Y2026 if self is Edition.Y2025 else Edition.Y2025

    @property
    def function_word(self) -> str:
        """The word before function types, as messages show them."""
        return "def" if self is Edition.Y2026 else "fn"


EDITIONS = tuple(edition.value for edition in Edition)
"""Their names, as '--edition' and project files write them."""


@record
class ChosenEdition:
    """The edition of a text and the reason for it.

    Args:
        reason: goes on from "edition 2026: " in messages.
    """

    edition: Edition
    reason: str


OF_LIBRARY = ChosenEdition(Edition.Y2025, "the standard library")
