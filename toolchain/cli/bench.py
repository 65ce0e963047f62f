"""`ktc bench`: the benchmark's command line.

Input: words. Output: tables on standard output, files, an exit code: 1 if a build failed or took longer than its
budget.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from ktc.cli.standard_input import path_of
from ktc.config import OFFLOAD_MODES
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.render import render_text

if TYPE_CHECKING:
    from ktc.bench.compile_runs import Plan, Result

_DEBUGS = ("none", "line-tables", "full")


@click.group("bench")
def bench_group() -> None:
    """Measure ktc on this machine."""


@bench_group.command("compile")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("-O", "levels", multiple=True, type=click.IntRange(0, 3), help="Levels (default 3 and 2).")
@click.option("--debug", "debugs", multiple=True, type=click.Choice(_DEBUGS), help="Default none and line-tables.")
@click.option("--offload-mode", "flows", multiple=True, type=click.Choice(OFFLOAD_MODES), help="Default both.")
@click.option("--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Number of runs of each.")
@click.option("--target-accelerator", "accelerator", default="sm_80", show_default=True, help="Target of the kernels.")
@click.option("-j", "jobs", type=click.IntRange(min=0), default=0, help="LLVM processes (default: cores).")
@click.option(
    "--vs",
    "versus",
    default="",
    metavar="COMMAND",
    help="Also time another compiler; {file} and {output} in it, or ktc's options follow.",
)
@click.option(
    "--vs-suffix", "suffix", default="", metavar=".EXT", help="Extension of the source file for that compiler."
)
@click.option("--scheduler", default="", metavar="tcp://…", help="Run builds on the workers of this Dask scheduler.")
@click.option("--budget", type=float, metavar="MS", help="Fail if the median elapsed time of ktc is longer.")
@click.option("--json", "stored", type=click.Path(path_type=Path), help="Store every run.")
@click.option("--chart", type=click.Path(path_type=Path), help="Draw the medians: FILE.svg and FILE.png.")
def compile_command(
    files: tuple[Path, ...], scheduler: str, budget: float | None, stored: Path | None, chart: Path | None, **words: Any
) -> int:
    """Time cold builds of FILES, for all combinations of -O levels, debug levels and offload modes."""
    from ktc.bench import compile_runs, report  # late: only for some commands
    from rich.console import Console  # late: only for some commands

    files = files or tuple([Path(path_of(None))])
    defaults = compile_runs.Plan(files)
    plan = compile_runs.Plan(
        files, words["levels"] or defaults.levels, words["debugs"] or defaults.debugs,
        words["flows"] or defaults.flows, words["repeat"], words["accelerator"], words["jobs"],
        words["versus"], words["suffix"],
    )  # fmt: skip
    try:
        results, machines = _measured(plan, scheduler)
    except compile_runs.BenchFailed as error:
        click.echo(str(error), err=True)
        return 1
    console = Console()
    console.width = max(console.width, 170)  # a pipe has no width of its own
    for machine in machines:
        console.print(machine, highlight=False)
    for table in report.tables(plan, results):
        console.print(table)
    if stored is not None:
        stored.write_bytes(report.as_json(plan, results, machines))
    if chart is not None:
        try:
            report.draw(plan, results, chart)
        except ImportError:
            sys.stderr.write(render_text([Diagnostic(Code.FILE_ERROR, None, "a chart needs matplotlib")], False))
            return 1
    return _judge(results, budget)


def _measured(plan: "Plan", scheduler: str) -> tuple[list["Result"], list[str]]:
    """Return the results, and the machines that they are from."""
    from ktc.bench import cluster, compile_runs, report  # late: only for some commands
    from rich.console import Console  # late: only for some commands

    with Console(stderr=True).status("") as status:
        if not scheduler:
            facts = report.machine()
            results = compile_runs.measure(plan, compile_runs.own_command(), status.update)
            return results, [", ".join(f"{name}: {fact}" for name, fact in facts.items())]
        try:
            return cluster.measure(plan, scheduler, status.update)
        except ImportError:
            raise click.UsageError("--scheduler needs Dask's distributed: pip install 'ktc[dask]'") from None
        except cluster.NoScheduler as error:
            raise click.ClickException(str(error)) from None


def _judge(results: list["Result"], budget: float | None) -> int:
    """Return 1 if a build of ktc took longer than its budget."""
    over = [
        one for one in results
        if budget is not None and one.variant.flow and 1000 * one.median("elapsed") > budget
    ]  # fmt: skip
    for one in over:
        variant = one.variant
        what = f"{variant.file.name} -O{variant.level} {variant.debug} {variant.flow}"
        click.echo(f"over the budget of {budget:g} ms: {what}: {1000 * one.median('elapsed'):.0f} ms", err=True)
    return 1 if over else 0
