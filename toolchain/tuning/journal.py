"""The outcomes so far, kept beside the program until the search ends, so that a stopped search can go on.

A file of JSON lines: the subject of the search, then an outcome each. A line that was cut off does not count.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ktc.base.records import as_dict, record
from ktc.tuning.candidates import Outcome, outcome_of


@record
class Journal:
    """A journal in `path`; `subject`: a digest of all that its outcomes depend on."""

    path: Path
    subject: str

    def read(self) -> list[Outcome]:
        """Return the earlier outcomes of the same subject; the rest is dropped."""
        try:
            lines = self.path.read_text("utf-8").splitlines()
            if json.loads(lines[0])["subject"] == self.subject:
                return [one for one in map(_outcome, lines[1:]) if one is not None]
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            pass
        return []

    def begin(self, known: Sequence[Outcome]) -> None:
        """Write the head, and the results known so far."""
        self.path.write_text(json.dumps({"subject": self.subject}) + "\n", "utf-8")
        for one in known:
            self.add(one)

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(as_dict(outcome)) + "\n")

    def end(self) -> None:
        """The search is over."""
        with suppress(OSError):
            self.path.unlink()


def _outcome(line: str) -> Outcome | None:
    try:
        return outcome_of(json.loads(line))
    except (ValueError, KeyError, TypeError):
        return None
