"""One text that is being migrated: its tree and facts for the rules, and their changes."""

from dataclasses import dataclass, field
from pathlib import Path

from ktc.migration.changes import Changes
from ktc.migration.facts import Facts, Function
from ktc.migration.reading import Reading
from ktc.syntax.edition_names import EditionNames


@dataclass(slots=True)
class Plan:
    """One text.

    Args:
        path: of its file.
        raising: the functions of the program that may raise in edition 2026.
        library: the folder of the library.
        names: the public names of edition 2026.
        known: names that types of edition 2026 can have in this text.
        prelude: names that need no import in edition 2026.
        is_mixed: it is of edition 2026 with forms of edition 2025, so which functions its calls mean is not known.
        legacy: names under which the text imports the pointer type whose origin is left out.
        users: the modules of the library's names that are the user's own.
    """

    path: str
    read: Reading
    facts: Facts
    changes: Changes
    raising: frozenset[Function]
    library: Path
    names: EditionNames
    users: frozenset[str] = field(default_factory=frozenset)
    known: frozenset[str] = frozenset()
    prelude: frozenset[str] = frozenset()
    is_mixed: bool = False
    legacy: set[str] = field(default_factory=set)
