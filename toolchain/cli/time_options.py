"""What a command notes of its own times, and what the user wants to see of them; it imports nothing heavy."""

import time
from dataclasses import field
from pathlib import Path

from ktc.base.records import entity


@entity
class Times:
    """What is requested of the times of a build.

    Args:
        shows: print the table.
        json, trace: files to write.
        marks: what is done before there is a session: name, start, end, CPU seconds, hits and misses.
    """

    shows: bool
    json: Path | None = None
    trace: Path | None = None
    marks: list[tuple[str, float, float, float, int, int]] = field(default_factory=list)

    @property
    def enabled(self) -> bool:
        """Return whether any report was requested."""
        return self.shows or self.json is not None or self.trace is not None

    def mark(self, name: str, start: float, cpu: float, hits: int = 0, misses: int = 0) -> None:
        """Note a phase that ends now.

        Args:
            start: on the monotonic clock. cpu: the process's CPU seconds when it began.
        """
        self.marks.append((name, start, time.perf_counter(), time.process_time() - cpu, hits, misses))
