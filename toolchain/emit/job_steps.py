"""The costs of jobs: their timed steps (LLVM's passes, the emission of code), processor time and memory.

Input: the steps as they run. Output: plain tuples that go back to the parent with the job's result.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ktc.base import usage
from ktc.base.records import record

Step = tuple[str, str, float, float, float, int]
"""Name, unit, start and end on the monotonic clock, CPU seconds, and LLVM instructions of one step of a job."""


@contextmanager
def step(steps: list[Step] | None, name: str, unit: str, instructions: int = 0) -> Iterator[None]:
    """Time one step; nothing is measured if `steps` is None."""
    start, cpu = time.perf_counter(), time.process_time()
    yield
    if steps is not None:
        steps.append((name, unit, start, time.perf_counter(), time.process_time() - cpu, instructions))


def instructions(text: str) -> int:
    """Return the number of instructions in LLVM assembly as `codegen` writes it: each has a line of its own."""
    return text.count("\n  ") - text.count("\n    ")


@record
class Usage:
    """The costs of one job.

    Args:
        cpu: seconds of user and system time.
        peak_bytes: the most memory that its process has used so far.
    """

    pid: int
    cpu: float
    peak_bytes: int
    steps: tuple[Step, ...] = ()


def used_by(steps: list[Step], before: float) -> tuple[Usage, float]:
    """Return the costs of a job of this process, and the process's CPU seconds, which were `before` when it began."""
    used = (usage.own(), usage.below())
    cpu = sum(one.cpu for one in used)
    return Usage(os.getpid(), cpu - before, max(one.peak_bytes for one in used), tuple(steps)), cpu
