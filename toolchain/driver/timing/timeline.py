"""The phases of a build: when each ran, in which process, and its times.

Input: phases as they end, of this process and of those that it starts. Output: `Phase`s, for the table, the JSON and
the trace of `reports`. All times are seconds of the monotonic clock, which the processes of one machine share.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from ktc.base import usage
from ktc.base.records import entity
from ktc.emit.job_steps import Usage


@entity
class Phase:
    """One phase that has ended.

    Args:
        name: "elaborate", "optimise".
        unit: its subject: "" for the whole program, "host", or a kernel's title.
        start, end: seconds of the monotonic clock.
        cpu: seconds of user and system time.
        peak_bytes: the most memory that its process had used by its end.
        instructions: of LLVM, handed over or taken; 0 where none are.
        hits, misses: units that were in the cache, and units that were not.
        inner: seconds of wall and CPU time that phases inside of it took.
    """

    name: str
    unit: str
    start: float
    end: float
    cpu: float
    peak_bytes: int
    pid: int
    instructions: int = 0
    hits: int = 0
    misses: int = 0
    inner: tuple[float, float] = (0.0, 0.0)

    @property
    def own_wall(self) -> float:
        """Seconds without the phases inside of it."""
        return max(0.0, self.end - self.start - self.inner[0])

    @property
    def own_cpu(self) -> float:
        """CPU seconds without the phases inside of it."""
        return max(0.0, self.cpu - self.inner[1])


@entity
class Timeline:
    """The phases of one build.

    Args:
        current: the phase that runs in this process; it stays after a failure.
    """

    start: float = field(default_factory=time.perf_counter)
    phases: list[Phase] = field(default_factory=list)
    current: str = ""
    _open: list[list[float]] = field(default_factory=list)

    @contextmanager
    def phase(self, name: str, unit: str = "") -> Iterator[Phase]:
        """Time a phase of this process; the caller may add instructions and hits to the phase."""
        outer, self.current = self.current, name
        made = Phase(name, unit, time.perf_counter(), 0.0, time.process_time(), 0, os.getpid())
        self._open.append([0.0, 0.0])
        yield made
        made.end, made.cpu = time.perf_counter(), time.process_time() - made.cpu
        made.peak_bytes = peak_bytes()
        inner = self._open.pop()
        made.inner = (inner[0], inner[1])
        if self._open:
            self._open[-1][0] += made.end - made.start
            self._open[-1][1] += made.cpu
        self.phases.append(made)
        self.current = outer

    def inside(self, name: str, spans: list[tuple[str, float, float]]) -> None:
        """Add small phases that ran inside the open one, each with its subject and its two times."""
        for unit, start, end in spans:
            self.phases.append(Phase(name, unit, start, end, end - start, 0, os.getpid()))
            if self._open:
                self._open[-1][0] += end - start
                self._open[-1][1] += end - start

    def job(self, usage: Usage) -> None:
        """Add the steps of a job that another process did."""
        for name, unit, start, end, cpu, instructions in usage.steps:
            self.phases.append(Phase(name, unit, start, end, cpu, usage.peak_bytes, usage.pid, instructions))


def peak_bytes() -> int:
    """Return the most memory that this process has used so far."""
    return usage.own().peak_bytes


def process_start() -> float | None:
    """Return when this process began, on the monotonic clock, to 10 ms; None if the system does not say."""
    try:
        words = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        since_boot = int(words[19]) / os.sysconf("SC_CLK_TCK")
        return time.perf_counter() - (time.clock_gettime(time.CLOCK_BOOTTIME) - since_boot)
    except (OSError, ValueError, IndexError, AttributeError):
        return None
