"""The times of a program's launches against the peaks of its GPU: the roofline.

Input: the file that the library writes for KTC_PROFILE, and what ncu counted, where it is there. Output: `Measured` by
kernel, and a picture.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from ktc.base.records import record

_LANES = {70: 64, 75: 64, 80: 64}
"""Operations on float32 that a multiprocessor begins in a cycle, by compute capability; 128 where it is not here."""

METRICS = (
    "dram__bytes.sum",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
)
"""Metrics of ncu: bytes of device memory, and additions, products and fused ones of float32."""


@record
class Ceiling:
    """The peaks of a GPU, computed from its clocks.

    Args:
        bandwidth: bytes a second. arithmetic: operations on float32 a second; each 0 if it is not known.
    """

    name: str
    bandwidth: float = 0.0
    arithmetic: float = 0.0


@record
class Measured:
    """The launches of a kernel.

    Args:
        launches: how many. nanoseconds: of all. least: of the fastest.
        bytes, operations: of one launch, as ncu counted; None without it.
    """

    launches: int
    nanoseconds: int
    least: int
    bytes: float | None = None
    operations: float | None = None


def read(text: str, capability: int) -> tuple[Ceiling, dict[str, Measured]]:
    """Return the device and the kernels by symbol of a profile."""
    ceiling, times = Ceiling("no GPU"), dict[str, list[int]]()
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        words = rest.split("|")
        if kind == "device" and len(words) == 5:
            units, clock, memory_clock, bus = (int(word) for word in words[1:])
            lanes = _LANES.get(capability, 128)
            ceiling = Ceiling(words[0], memory_clock * 1e3 * 2 * bus / 8, units * clock * 1e3 * lanes * 2)
        elif kind == "launch" and len(words) == 4:
            times.setdefault(words[0], []).append(int(words[3]))
    return ceiling, {name: Measured(len(took), sum(took), min(took)) for name, took in times.items()}


def read_counters(text: str) -> dict[str, tuple[float, float]]:
    """Return bytes and operations of a launch, by symbol, from what `ncu --csv --page raw` wrote."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    sums: dict[str, list[tuple[float, float]]] = {}
    units = rows[0] if rows else {}
    for row in rows[1:]:
        numbers = [_number(row.get(name, ""), units.get(name, "")) for name in METRICS]
        sums.setdefault(row.get("Kernel Name", ""), []).append((numbers[0], numbers[1] + numbers[2] + 2 * numbers[3]))
    return {
        name: (sum(one[0] for one in found) / len(found), sum(one[1] for one in found) / len(found))
        for name, found in sums.items()
    }


def _number(text: str, unit: str) -> float:
    scale = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.get(unit[:1], 1.0) if unit.endswith("byte") else 1.0
    digits = re.sub(r"[^\d.eE+-]", "", text)
    return float(digits) * scale if digits else 0.0


def draw(ceiling: Ceiling, kernels: Mapping[str, Measured], path: Path) -> list[Path]:
    """Draw operations a second over operations a byte; returns the files, an SVG and a PNG.

    Raises:
        ImportError: there is no matplotlib.
    """
    plotting = import_module("matplotlib")
    plotting.use("Agg")
    plotting.rcParams["svg.hashsalt"] = "ktc"
    pyplot = import_module("matplotlib.pyplot")
    figure, axis = pyplot.subplots(figsize=(8, 5))
    points = _points(kernels)
    intensities = [x for x, _, _ in points.values()] or [1.0]
    ridge = ceiling.arithmetic / ceiling.bandwidth if ceiling.bandwidth else 1.0
    low, high = min(*intensities, ridge) / 4, max(*intensities, ridge) * 4
    xs = [low * (high / low) ** (step / 100) for step in range(101)]
    axis.loglog(xs, [min(ceiling.arithmetic, x * ceiling.bandwidth) / 1e12 for x in xs], color="black")
    for name, (x, y, _) in points.items():
        axis.plot(x, y / 1e12, "o")
        axis.annotate(name, (x, y / 1e12), fontsize=7, xytext=(4, 3), textcoords="offset points")
    axis.set_xlabel("operations on float32 for each byte of device memory")
    axis.set_ylabel("operations a second, in 10^12")
    axis.set_title(
        f"{ceiling.name}: {ceiling.bandwidth / 1e9:.0f} GB/s, {ceiling.arithmetic / 1e12:.1f} TFLOP/s by its clocks",
        fontsize=10,
    )
    axis.grid(True, which="both", alpha=0.25)
    figure.tight_layout()
    made = [path.with_suffix(".svg"), path.with_suffix(".png")]
    for one in made:
        figure.savefig(one, dpi=120, metadata={"Date": None} if one.suffix == ".svg" else None)
    pyplot.close(figure)
    return made


def _points(kernels: Mapping[str, Measured]) -> dict[str, tuple[float, float, float]]:
    """Return operations a byte, operations a second and bytes a second of the kernels that ncu counted."""
    found = {}
    for name, one in kernels.items():
        if one.bytes and one.operations and one.least:
            seconds = one.least / 1e9
            found[name] = (one.operations / one.bytes, one.operations / seconds, one.bytes / seconds)
    return found


def rows(ceiling: Ceiling, kernels: Mapping[str, Measured]) -> Sequence[Sequence[str]]:
    """Return a table: kernel, launches, microseconds, GB/s and TFLOP/s with their part of the GPU's peak."""
    made = []
    for name, one in kernels.items():
        line = [name, str(one.launches), f"{one.least / 1e3:.2f}", f"{one.nanoseconds / 1e3 / one.launches:.2f}"]
        if one.bytes is None or one.operations is None:
            line += ["-", "-"]
        else:
            rate, speed = one.bytes / one.least, one.operations / one.least / 1e3
            line.append(f"{rate:.0f} ({_part(rate * 1e9, ceiling.bandwidth)})")
            line.append(f"{speed:.2f} ({_part(speed * 1e12, ceiling.arithmetic)})")
        made.append(line)
    return made


def _part(value: float, whole: float) -> str:
    return f"{100 * value / whole:.0f} %" if whole else "-"
