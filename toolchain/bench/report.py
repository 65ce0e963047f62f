"""The benchmark's results as the tables of the talk, as JSON, and as a chart.

Input: `Result`s. Output: rich tables, bytes of JSON, an SVG and a PNG. A ratio is the per-kernel flow's value over the
all-kernel flow's for time ("old/new"), and the all-kernel flow's over the other's for memory ("new/old").
"""

import json
import os
import platform
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ktc.base.version import VERSION
from ktc.bench.compile_runs import Plan, Result, Variant

_PANELS = (("user + system (s)", "cpu", 1.0), ("elapsed (s)", "elapsed", 1.0), ("peak memory (MB)", "tree_bytes", 1e6))
_COLUMNS = ("user (s)", "system (s)", "elapsed", "CPU", "maxres (KB)", "all (KB)")


def of(results: Sequence[Result], file: Path, level: int, debug: str, flow: str) -> Result | None:
    """Return the result of one variant; flow "" is the other compiler."""
    return next((one for one in results if _key(one.variant) == (file, level, debug, flow)), None)


def _key(variant: Variant) -> tuple[Path, int, str, str]:
    return (variant.file, variant.level, variant.debug, variant.flow)


def cells(result: Result | None) -> list[str]:
    """Return the cells of a table for one variant."""
    if result is None or not result.runs:
        return [""] * len(_COLUMNS)
    elapsed = result.median("elapsed")
    minutes, seconds = divmod(elapsed, 60)
    return [
        f"{result.median('user'):.2f}", f"{result.median('system'):.2f}", f"{minutes:.0f}:{seconds:05.2f}",
        f"{100 * result.median('cpu') / elapsed:.0f}%", f"{result.median('maxres_bytes') / 1024:.0f}",
        f"{result.median('tree_bytes') / 1024:.0f}",
    ]  # fmt: skip


def ratio(above: Result | None, below: Result | None, what: str) -> float | None:
    """Return the ratio of two medians."""
    if above is None or below is None or not below.median(what):
        return None
    return above.median(what) / below.median(what)


def tables(plan: Plan, results: Sequence[Result]) -> list[Any]:
    """Return rich's tables: for each file the flows side by side, then ktc beside the other compiler."""
    found = []
    for file in plan.files:
        found.append(_flows(plan, results, file))
        if plan.versus:
            found.append(_versus(plan, results, file))
    return found


def _table(plan: Plan, file: Path, heads: Sequence[str], texts: int) -> Any:
    from rich.table import Table  # late: only for some commands

    table = Table(title=f"build {file.name}, kernels for {plan.accelerator}, median of {plan.repeat}")
    for number, name in enumerate(heads):
        table.add_column(name, justify="left" if number < texts else "right", no_wrap=True)
    return table


def _flows(plan: Plan, results: Sequence[Result], file: Path) -> Any:
    """A row for each level, a group of columns for each flow, and the ratios."""
    heads = ["opt, debug"]
    for flow in plan.flows:
        heads += [f"{flow}\n{_COLUMNS[0]}", *(f"\n{name}" for name in _COLUMNS[1:])]
    has_both = set(plan.flows) == {"all-kernel", "per-kernel"}
    table = _table(plan, file, [*heads, *(("user+sys\nold/new", "maxres\nnew/old") if has_both else ())], 1)
    for level, debug in _levels(plan):
        at = {flow: of(results, file, level, debug, flow) for flow in plan.flows}
        row = [f"O{level}, {debug}", *(cell for flow in plan.flows for cell in cells(at[flow]))]
        if has_both:
            row.append(_shown(ratio(at["per-kernel"], at["all-kernel"], "cpu")))
            row.append(_shown(ratio(at["all-kernel"], at["per-kernel"], "maxres_bytes")))
        table.add_row(*row)
    return table


def _versus(plan: Plan, results: Sequence[Result], file: Path) -> Any:
    """ktc in its first flow and the other compiler below each other; a ratio is the other's value over ktc's."""
    ratios = ("elapsed\n/ ktc", "user+sys\n/ ktc", "all (KB)\n/ ktc")
    table = _table(plan, file, ["opt, debug", "compiler", *_COLUMNS, *ratios], 2)
    for level, debug in _levels(plan):
        ours, theirs = (of(results, file, level, debug, flow) for flow in (plan.flows[0], ""))
        table.add_row(f"O{level}, {debug}", "ktc", *cells(ours), "", "", "")
        compared = [_shown(ratio(theirs, ours, what)) for what in ("elapsed", "cpu", "tree_bytes")]
        table.add_row("", _short(plan.versus), *cells(theirs), *compared)
    return table


def _levels(plan: Plan) -> list[tuple[int, str]]:
    return [(level, debug) for level in plan.levels for debug in plan.debugs]


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _short(command: str) -> str:
    return Path(command.split(maxsplit=1)[0]).name if command else ""


def machine() -> dict[str, object]:
    """Return the facts of the machine on which the figures depend."""
    names = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return {
        "ktc": VERSION, "system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count(),
        "processor": names[0] if names else platform.processor(), "load": round(load, 1),
    }  # fmt: skip


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def as_json(plan: Plan, results: Sequence[Result], machines: Sequence[str] = ()) -> bytes:
    """Return every run, for tools; `machines` are those that measured."""
    data = {
        "machine": machine(),
        "measured_by": [*machines],
        "accelerator": plan.accelerator,
        "results": [
            {
                "file": one.variant.file.name, "compiler": one.variant.compiler, "level": one.variant.level,
                "debug": one.variant.debug, "flow": one.variant.flow,
                "runs": [
                    {
                        "user": run.user, "system": run.system, "elapsed": run.elapsed,
                        "maxres_bytes": run.maxres_bytes, "tree_bytes": run.tree_bytes,
                    }
                    for run in one.runs
                ],
            }
            for one in results
        ],
    }  # fmt: skip
    return (json.dumps(data, indent=1) + "\n").encode()


def draw(plan: Plan, results: Sequence[Result], path: Path) -> list[Path]:
    """Draw user and system time, elapsed time and memory of each variant; returns the files, an SVG and a PNG.

    Raises:
        ImportError: there is no matplotlib.
    """
    plotting = import_module("matplotlib")
    plotting.use("Agg")
    plotting.rcParams["svg.hashsalt"] = "ktc"
    pyplot = import_module("matplotlib.pyplot")

    figure, axes = pyplot.subplots(len(plan.files), len(_PANELS), figsize=(12, 3.2 * len(plan.files)), squeeze=False)
    for line, file in zip(axes, plan.files, strict=True):
        for axis, panel in zip(line, _PANELS, strict=True):
            _panel(plan, results, file, axis, panel)
    handles, names = axes[0][0].get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    figure.legend(handles, names, fontsize=8, loc="upper center", ncols=len(names))  # over the bars of no panel
    made = [path.with_suffix(".svg"), path.with_suffix(".png")]
    for one in made:
        figure.savefig(one, dpi=120, metadata={"Date": None} if one.suffix == ".svg" else None)
    pyplot.close(figure)
    return made


def _panel(plan: Plan, results: Sequence[Result], file: Path, axis: Any, panel: tuple[str, str, float]) -> None:
    """Draw one quantity of one program: a group of bars for each level, a bar for each flow."""
    title, what, unit = panel
    groups = [*plan.flows, *([""] if plan.versus else [])]
    rows = _levels(plan)
    width = 0.8 / len(groups)
    for number, group in enumerate(groups):
        found = [of(results, file, level, debug, group) for level, debug in rows]
        heights = [one.median(what) / unit if one is not None and one.runs else 0.0 for one in found]
        places = [at + number * width for at in range(len(rows))]
        axis.bar(places, heights, width, label=group or _short(plan.versus))
    middles = [at + width * (len(groups) - 1) / 2 for at in range(len(rows))]
    axis.set_xticks(middles, [f"O{level}\n{debug}" for level, debug in rows])
    axis.set_title(f"{file.stem}: {title}", fontsize=10)
    axis.tick_params(labelsize=8)
