"""CPU seconds and memory of processes, on systems that tell them and on those that do not."""

import sys
import time

from ktc.base.records import record

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024
"""Unit of the system's `ru_maxrss`."""


@record
class Taken:
    """Seconds of user and system time, and the most memory that one process used; 0 where the system does not say."""

    cpu: float
    peak_bytes: int


def own() -> Taken:
    """Return the usage of this process so far."""
    if resource is None:
        return Taken(time.process_time(), 0)
    return _of(resource.RUSAGE_SELF)


def below() -> Taken:
    """Return the usage of the child processes that this one has waited for."""
    return Taken(0.0, 0) if resource is None else _of(resource.RUSAGE_CHILDREN)


def _of(who: int) -> Taken:
    used = resource.getrusage(who)
    return Taken(used.ru_utime + used.ru_stime, used.ru_maxrss * MAXRSS_BYTES)
