"""The times of a build, as a table, as JSON, and as a trace for the usual viewers.

Input: a `Timeline`. Output: rows of text, or bytes. The trace is Chrome's format, which chrome://tracing, Perfetto and
Speedscope open; each process is a row of it. Source: "Trace Event Format", section "Complete Events".
"""

import json
import os
from collections.abc import Iterable, Sequence

from ktc.base import usage
from ktc.base.records import record
from ktc.base.version import VERSION
from ktc.driver.timing.timeline import Phase, Timeline

HEAD = ("phase", "of", "wall ms", "CPU ms", "peak MB", "instructions", "cache")

_ORDER = (
    "start", "resolve", "find", "load", "parse", "elaborate", "passes", "verify", "archive", "lower", "slices",
    "look up", "compile", "optimise", "emit", "embed", "await LLVM", "link", "write",
)  # fmt: skip


@record
class Total:
    """The whole build.

    Args:
        wall: seconds since the process began.
        cpu: seconds of user and system time of this process and of all that it has waited for.
        peak_bytes: of the process that used the most.
    """

    wall: float
    cpu: float
    peak_bytes: int
    hits: int
    misses: int


def total(timeline: Timeline) -> Total:
    """Sum up; call it at the end."""
    own, below = usage.own(), usage.below()
    phases = timeline.phases
    begin = min((phase.start for phase in phases), default=timeline.start)
    end = max((phase.end for phase in phases), default=begin)
    return Total(
        end - begin,
        own.cpu + below.cpu,
        max(own.peak_bytes, below.peak_bytes),
        sum(phase.hits for phase in phases),
        sum(phase.misses for phase in phases),
    )


def rows(timeline: Timeline) -> list[Sequence[str]]:
    """Return the table's rows: the same phase of the same unit once, in the order of the pipeline."""
    order = {name: number for number, name in enumerate(_ORDER)}
    groups: dict[tuple[str, str], list[Phase]] = {}
    for phase in timeline.phases:
        unit = "" if phase.name == "parse" else phase.unit
        groups.setdefault((phase.name, unit), []).append(phase)
    shown: list[Sequence[str]] = []
    for (name, unit), phases in sorted(groups.items(), key=lambda one: order.get(one[0][0], len(order))):
        of = f"{len(phases)} modules" if name == "parse" else unit
        wall, cpu = sum(phase.own_wall for phase in phases), sum(phase.own_cpu for phase in phases)
        peak, count = max(phase.peak_bytes for phase in phases), sum(phase.instructions for phase in phases)
        hits, misses = sum(phase.hits for phase in phases), sum(phase.misses for phase in phases)
        shown.append(_row(name, of, wall, cpu, peak, count, hits, misses))
    whole = total(timeline)
    shown.append(_row("total", "", whole.wall, whole.cpu, whole.peak_bytes, 0, whole.hits, whole.misses))
    return shown


def _row(
    name: str, unit: str, wall: float, cpu: float, peak_bytes: int, instructions: int, hits: int, misses: int
) -> tuple[str, ...]:
    looked = f"{hits} of {hits + misses}" if hits + misses else ""
    peak = f"{peak_bytes / 1e6:.0f}" if peak_bytes else ""
    return (name, unit, f"{1000 * wall:.1f}", f"{1000 * cpu:.1f}", peak, str(instructions or ""), looked)


def as_json(timeline: Timeline, units: Iterable[tuple[str, bool]]) -> bytes:
    """Return everything for tools; seconds, bytes.

    Args:
        units: name of what was looked up in the cache, and whether it was there.
    """
    begin = min((phase.start for phase in timeline.phases), default=timeline.start)
    whole = total(timeline)
    data = {
        "ktc": VERSION,
        "total": {
            "wall": whole.wall, "cpu": whole.cpu, "peak_bytes": whole.peak_bytes,
            "hits": whole.hits, "misses": whole.misses,
        },
        "phases": [
            {
                "name": phase.name, "unit": phase.unit, "pid": phase.pid, "start": phase.start - begin,
                "wall": phase.end - phase.start, "own_wall": phase.own_wall, "cpu": phase.cpu,
                "own_cpu": phase.own_cpu, "peak_bytes": phase.peak_bytes, "instructions": phase.instructions,
                "hits": phase.hits, "misses": phase.misses,
            }
            for phase in timeline.phases
        ],
        "units": [{"name": name, "hit": hit} for name, hit in units],
    }  # fmt: skip
    return (json.dumps(data, indent=1) + "\n").encode()


def as_trace(timeline: Timeline) -> bytes:
    """Return Chrome's trace of the build and the processes it started."""
    begin = min((phase.start for phase in timeline.phases), default=timeline.start)
    events: list[dict[str, object]] = []
    names: dict[int, str] = {os.getpid(): "ktc"}
    for phase in timeline.phases:
        names.setdefault(phase.pid, f"worker: {phase.unit}")
        events.append(
            {
                "name": f"{phase.name} {phase.unit}".strip(), "cat": phase.name, "ph": "X",
                "ts": round((phase.start - begin) * 1e6, 1), "dur": round((phase.end - phase.start) * 1e6, 1),
                "pid": phase.pid, "tid": phase.pid,
                "args": {
                    "cpu_ms": round(1000 * phase.cpu, 2), "peak_bytes": phase.peak_bytes,
                    "instructions": phase.instructions, "hits": phase.hits, "misses": phase.misses,
                },
            }
        )  # fmt: skip
    for order, (pid, name) in enumerate(names.items()):
        events.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}})
        events.append({"name": "process_sort_index", "ph": "M", "pid": pid, "args": {"sort_index": order}})
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}).encode()
