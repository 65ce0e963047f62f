"""`ktc tune`: the search's command line.

Input: words. Output: a table on standard output, a tuning file beside the program; exit code 1 if no candidate is good.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from os.path import commonpath
from pathlib import Path
from typing import Any

import click
from ktc import config as configs
from ktc.base.records import as_dict, record
from ktc.bench.cluster import NoScheduler
from ktc.cli.output import print_json, print_table, progress_bar
from ktc.cli.standard_input import path_of
from ktc.cli.task import Command, Task, compile_options, task_of
from ktc.config import Config
from ktc.config.tuned import text_of
from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic
from ktc.driver import guard
from ktc.tuning import cluster, judging, running
from ktc.tuning.candidates import Job, Outcome
from ktc.tuning.journal import Journal
from ktc.tuning.judging import Verdict
from ktc.tuning.plot import draw
from ktc.tuning.running import Evaluate
from ktc.tuning.search import Exhaustive, Proposed, size_of

_SHOWN = 15


@record
class _SearchOptions:
    """The options of the search."""

    method: str
    trials: int
    scheduler: str
    restart: bool
    seconds: float
    prunes: bool


@click.command("tune", cls=Command)
@click.argument("file", required=False)
@click.option(
    "-o", "output", type=click.Path(path_type=Path), help="The tuning file (default: NAME.tuned.toml beside FILE)."
)
@click.option(
    "--search",
    "method",
    type=click.Choice(("exhaustive", "optuna")),
    default="exhaustive",
    show_default=True,
    help="Try every candidate, or those that Optuna proposes.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Maximum number of candidates for Optuna.",
)
@click.option("--set", "limits", multiple=True, metavar="NAME=V1,V2", help="Search only these values of a choice.")
@click.option(
    "--timeout", "seconds", type=float, default=60.0, show_default=True, help="Time limit for a candidate, in seconds."
)
@click.option("--no-prune", is_flag=True, help="Run candidates even if their kernels spill registers.")
@click.option("--restart", is_flag=True, help="Do not resume an interrupted search.")
@click.option(
    "--scheduler", default="", metavar="tcp://…", help="Run candidates on the workers of this Dask scheduler."
)
@click.option("--plot", type=click.Path(path_type=Path), help="Plot the search to this .svg and .png.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the table.")
@compile_options
def tune_command(
    file: str | None, output: Path | None, method: str, trials: int, limits: tuple[str, ...], seconds: float,
    no_prune: bool, restart: bool, scheduler: str, plot: Path | None, as_json: bool, **words: Any,
) -> int:  # fmt: skip
    """Find the best values of FILE's choices (tuning.tunable) for a device, and save them for later builds."""
    file = path_of(file)
    task = task_of(words, file)
    chosen = _SearchOptions(method, trials, scheduler, restart, seconds, not no_prune)
    made: list[tuple[Config, dict[str, tuple[int, ...]], dict[str, str]]] = []

    def work(config: Config) -> None:
        made.append((config, *_program(task, config, chosen)))

    code = task.run(work)
    if code or not made:
        return code
    config, declared, files = made[0]
    choices = _limited(declared, limits)
    to = output or config.root.with_suffix(".tuned.toml")
    try:
        verdicts = _search(config, choices, files, chosen, _options(words), to)
    except KeyboardInterrupt:
        click.echo("ktc: stopped; the same command goes on from here", err=True)
        return guard.INTERRUPTED
    return _finish(config, verdicts, to, plot, as_json)


def _program(task: Task, config: Config, chosen: _SearchOptions) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Return the program's choices and the texts of its files; what is wrong with them, or no device, is an error."""
    from ktc.driver.front_end.stages import check  # late: only for some commands

    target = config.accelerators[0]
    if not chosen.scheduler and target.name != "cpu" and target.name not in _gpus_here(task):
        text = f"there is no GPU for '{target.name}' here to measure on"
        _fail(
            task,
            Diagnostic(
                Code.FILE_ERROR, None, text, "'ktc doctor' shows what was found; --scheduler uses other machines"
            ),
        )
    session = task.open_session(config)
    check(session)
    if task.sink.error_count:
        raise CompileError(task.sink.diagnostics)
    choices = dict(session.tunables)
    if not choices:
        text = f"'{config.root}' declares no choices: there is nothing to tune"
        _fail(
            task,
            Diagnostic(Code.FILE_ERROR, None, text, 'from tuning import tunable; alias N = tunable["N", 64, 128]()'),
        )
    texts = {path: Path(path).read_text("utf-8") for path, found in session.reads.items() if found is not None}
    return choices, texts


def _gpus_here(task: Task) -> set[str]:
    found = set(configs.local_gpus(task.cache))
    return found | {name + suffix for name in found for suffix in "af"}  # sm_90a is sm_90 with more


def _limited(choices: dict[str, tuple[int, ...]], limits: Sequence[str]) -> dict[str, tuple[int, ...]]:
    for limit in limits:
        name, _, text = limit.partition("=")
        if name not in choices:
            known = ", ".join(choices)
            raise click.UsageError(f"the program has no choice '{name}'; it has {known}")
        try:
            requested = tuple(int(word, 0) for word in text.split(","))
        except ValueError:
            raise click.UsageError(f"--set {limit}: values are integers separated by commas") from None
        strange = [value for value in requested if value not in choices[name]]
        if strange:
            values = ", ".join(map(str, choices[name]))
            raise click.UsageError(f"'{name}' has no value {strange[0]}: its values are {values}")
        choices[name] = requested
    return choices


def _fail(task: Task, problem: Diagnostic) -> None:
    task.sink.report(problem)
    raise CompileError(task.sink.diagnostics)


def _options(words: Mapping[str, Any]) -> list[str]:
    """Return the words of the command line that builds of candidates take, too."""
    found = [word for define in words["defines"] for word in ("-D", define)]
    found += [word for folder in words["search"] for word in ("-I", folder)]
    found += [word for name in words["libraries"] for word in ("-l", name)]
    found += [word for folder in words["library_folders"] for word in ("-L", folder)]
    if words["level"] is not None:
        found.append(f"-O{words['level']}")
    if words["fast_math"]:
        found.append("--ffast-math")
    return found


def _search(
    config: Config, choices: Mapping[str, Sequence[int]], files: Mapping[str, str], chosen: _SearchOptions,
    options: Sequence[str], to: Path,
) -> list[Verdict]:  # fmt: skip
    target = config.accelerators[0].name
    try:
        plan = Exhaustive.of(choices) if chosen.method == "exhaustive" else Proposed.of(choices, chosen.trials)
    except ImportError:
        raise click.UsageError("--search optuna needs Optuna: pip install 'ktc[tune]'") from None
    digest = sha256(json.dumps([files, choices, options, target, config.toolchain, chosen.scheduler]).encode())
    journal = Journal(to.with_name(f".{to.name}.journal"), digest.hexdigest())
    if chosen.restart:
        journal.end()
    root, evaluate, batch = str(config.root), running.here(config.jobs), max(2 * config.jobs, 4)
    if chosen.scheduler:
        root, evaluate, options = _elsewhere(chosen.scheduler, config.root, files, options)
        batch = 1 << 20 if chosen.method == "exhaustive" else 8
    elif chosen.method == "exhaustive":
        batch = 1 << 20

    def job_of(values: Mapping[str, int]) -> Job:
        return Job(root, dict(values), [*options], target, chosen.seconds, {}, chosen.prunes)

    total = size_of(choices) if chosen.method == "exhaustive" else min(chosen.trials, size_of(choices))
    with _progress(total) as show:
        verdicts = running.search(plan, job_of, evaluate, journal, batch, show)
    journal.end()
    return verdicts


def _elsewhere(
    address: str, root: Path, files: Mapping[str, str], options: Sequence[str]
) -> tuple[str, Evaluate, list[str]]:
    """Return the program's path among its files, what evaluates there, and the options with paths of that place."""
    whole = {str(Path(path).resolve()): text for path, text in files.items()}
    folders = [str(Path(options[at + 1]).resolve()) for at, word in enumerate(options) if word == "-I"]
    top = commonpath([str(root.resolve().parent), *map(str, (Path(path).parent for path in whole)), *folders])
    names = {str(Path(path).relative_to(top)): text for path, text in whole.items()}
    try:
        evaluate = cluster.there(address, names)
    except ImportError:
        raise click.UsageError("--scheduler needs Dask's distributed: pip install 'ktc[dask]'") from None
    except NoScheduler as error:
        raise click.ClickException(str(error)) from None
    moved = [
        f"@{Path(word).resolve().relative_to(top)}" if at and options[at - 1] == "-I" else word
        for at, word in enumerate(options)
    ]
    return str(root.resolve().relative_to(top)), evaluate, moved


class _progress:
    """A bar on a terminal; nothing elsewhere. Gives a function that takes all outcomes so far."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.bar = progress_bar() if sys.stderr.isatty() else None

    def __enter__(self) -> Callable[[Sequence[Outcome]], None]:
        if self.bar is not None:
            self.bar.start()
            self.task = self.bar.add_task("tuning", total=self.total)
        return self._show

    def _show(self, outcomes: Sequence[Outcome]) -> None:
        if self.bar is None:
            return
        times = [min(one.times) for outcome in outcomes for one in outcome.measured]
        best = f"best {min(times) / 1e3:.1f} us" if times else "nothing measured yet"
        self.bar.update(self.task, completed=len(outcomes), description=best)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()


def _finish(config: Config, verdicts: Sequence[Verdict], to: Path, plot: Path | None, as_json: bool) -> int:
    """Show the verdicts and write the file."""
    base = next((one for one in verdicts if one.times), None)
    ranked = sorted(verdicts, key=lambda one: judging.cost(one, base))
    rows = judging.rows(verdicts, config.accelerators[0].name)
    if as_json:
        print_json({
            "tuned": [as_dict(row) for row in rows],
            "candidates": [
                {"values": dict(one.outcome.values), "state": one.outcome.state, "why": one.reason,
                 "nanoseconds": {" ".join(key).strip(): time for key, time in one.times.items()}}
                for one in verdicts
            ],
        })  # fmt: skip
    else:
        names = list(verdicts[0].outcome.values)
        print_table((*names, "us", "of default", "registers", "shared", ""), [
            _row(one, names, base) for one in ranked[:_SHOWN]
        ])  # fmt: skip
        if len(ranked) > _SHOWN:
            sys.stdout.write(f"… and {len(ranked) - _SHOWN} more\n")
    if not rows:
        reason = next((one.reason for one in verdicts if one.reason), "")
        click.echo(f"ktc: no candidate is good: {reason}", err=True)
        return 1
    to.write_text(text_of(config.root.name, rows), "utf-8")
    if not as_json:
        best = rows[0]
        factor = best.default_nanoseconds / best.nanoseconds
        said = ", ".join(f"{name} = {value}" for name, value in best.values.items())
        sys.stdout.write(f"{best.device}: {said}: {factor:.2f} times as fast as the defaults; wrote {to}\n")
    return _draw(verdicts, config, plot)


def _row(one: Verdict, names: Sequence[str], base: Verdict | None) -> tuple[str, ...]:
    times = " ".join(f"{time / 1e3:.2f}" for time in one.times.values()) or "-"
    relative = f"{judging.cost(one, base):.3f}" if one.times else "-"
    needs = ["-" if number is None else str(number) for number in (one.outcome.registers, one.outcome.shared)]
    return (*(str(one.outcome.values[name]) for name in names), times, relative, *needs, one.reason)


def _draw(verdicts: Sequence[Verdict], config: Config, plot: Path | None) -> int:
    if plot is None:
        return 0
    try:
        for path in draw(verdicts, f"{config.root.name}, {config.accelerators[0].name}", plot):
            click.echo(f"ktc: drew {path}", err=True)
    except ImportError:
        raise click.UsageError("--plot needs matplotlib: pip install 'ktc[bench]'") from None
    return 0
