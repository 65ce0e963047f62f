"""The steps of a job that are timed: LLVM's passes, the emission of code.

In: the steps as they run. Out: plain tuples that go back to the parent with the job's result.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

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
