"""The base of every command that compiles: its options, and a `Task` that resolves them, works, and reports.

Input: the words of the command line. Output: an exit code; errors, times and progress on standard error.
"""

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from ktc import config as configs
from ktc.base.cache import Cache
from ktc.base.records import entity
from ktc.base.version import VERSION
from ktc.config import DEBUG_LEVELS, Config, Options
from ktc.diag.diagnostic import CompileError, Sink, gate, in_order
from ktc.diag.policy import UnknownWarning, read_policy
from ktc.diag.render import render_json, render_text
from ktc.driver import build_cache, guard
from ktc.targets import checked, float_modes
from ktc.targets.cpu import THREAD_FORMS
from ktc.tools.options import edition_option

if TYPE_CHECKING:
    from ktc.driver.session import Session
    from ktc.driver.watching.prepared_build import PreparedBuild
    from ktc.emit.workers import Workers

_SUFFIXES = (".kpy", ".mojo", ".🔥")
_LEVEL = re.compile("-O[0-3]")
_DEBUG_LEVELS = {name: number for number, name in enumerate(DEBUG_LEVELS)}


@entity
class Times:
    """The requested outputs about the times of a build.

    Args:
        shows: print the table.
        json, trace: files to write.
        marks: spans before there is a session: name, start, end, CPU seconds, hits and misses.
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


@entity
class Task:
    """One command that compiles.

    Args:
        command: for a report.
        session: the driver's, once it runs; it knows the stage.
        finish: a function to call on the main thread after the compiler.
        scratch: where the session's cache is if nothing is to be kept; it goes with the command.
        reads: files of the user that a build found in the cache has read, as `Package.reads`.
        observe: for the session. workers: likewise, processes that stay for a later build.
        before_words: called before diagnostics are written.
    """

    command: str
    options: Options
    diagnostic_format: str
    times: Times
    cache: Cache
    sink: Sink = field(default_factory=Sink)
    session: "Session | None" = None
    finish: Callable[[], int] | None = None
    scratch: Path | None = None
    reads: Mapping[str, str | None] = field(default_factory=dict)
    observe: Callable[[object, object, object], None] | None = None
    before_words: Callable[[], None] | None = None
    workers: "Workers | None" = None

    def again(self) -> "Task":
        """Return the same task, with nothing done yet."""
        times = Times(self.times.shows, self.times.json, self.times.trace)
        return Task(
            self.command, self.options, self.diagnostic_format, times, self.cache, Sink(policy=self.sink.policy)
        )

    def files(self) -> dict[str, str | None]:
        """Return the files that were read, as `Package.reads`; the main file always."""
        main = os.path.abspath(self.options.root)
        return {main: None, **self.reads, **(self.session.reads if self.session is not None else {})}

    def run(self, work: Callable[[Config], None]) -> int:
        """Resolve the options, do the work, show the diagnostics; return the exit code."""
        try:
            code = guard.run(partial(self._work, work), self._crash)
        finally:
            if self.scratch is not None:
                shutil.rmtree(self.scratch, ignore_errors=True)
        if code == 0 and self.finish is not None:
            code = self.finish()
        return code

    def _work(self, work: Callable[[Config], None]) -> int:
        code = 0
        try:
            start, cpu = time.perf_counter(), time.process_time()
            config = configs.resolve(self.options, self.sink, self.cache)
            self.times.mark("resolve", start, cpu)
            if config is None:
                code = 1
            else:
                work(config)
        except CompileError as error:
            code = 1
            for one in error.diagnostics:
                if one not in self.sink.diagnostics:
                    self.sink.report(one)
        # A stage that reported an error and returned all the same has failed too.
        code = code or int(self.sink.error_count > 0)
        self._show()
        return code

    def _show(self) -> None:
        if self.before_words is not None:
            self.before_words()
        diagnostics = in_order(self.sink.diagnostics)
        if self.diagnostic_format == "json":
            text = render_json(diagnostics)
        else:
            text = render_text(diagnostics, configs.color_enabled(sys.stderr.isatty()))
        sys.stderr.write(text)
        if self.times.enabled:
            from ktc.cli.output import show_times  # late: only with some options

            show_times(self.times, self.session)

    def _crash(self) -> guard.Crash:
        stage = self.session.current if self.session is not None else "start"
        facts = {"ktc": VERSION, "command": self.command, "stage": stage}
        return guard.Crash(self.cache.folder, facts)

    def open_session(self, config: Config) -> "Session":
        """Load the compiler and start a session."""
        from ktc.driver.pipeline import Session  # late: only after a cache miss

        cache = self.cache
        if cache.folder is None:  # what a build makes of the library serves the rest of this build all the same
            self.scratch = Path(tempfile.mkdtemp(prefix="ktc-once-"))
            cache = Cache(self.scratch, is_kept=False, spare=cache.spare, shared=cache.shared)
        self.session = Session(config, cache, self.sink, observe=self.observe, workers=self.workers)
        return self.session

    def open_prepared(self, prepared: "PreparedBuild") -> "Session":
        """Start a session with the state of an earlier build; its sink is its own, for it may have to be forgotten."""
        from ktc.driver.pipeline import Session  # late: only after a cache miss

        sink = Sink(policy=self.sink.policy)
        self.session = Session(
            prepared.config, self.cache, sink, observe=self.observe, prepared=prepared, workers=self.workers
        )
        return self.session

    def progress(self) -> Any:
        """Return a context that shows the session's progress on a terminal."""
        from ktc.driver.progress import shown  # late: only after a cache miss

        assert self.session is not None
        return shown(self.session, sys.stderr.isatty(), self.diagnostic_format == "text")

    def keep(self, config: Config, form: str, data: bytes) -> None:
        """Store the output for a later build with nothing to do."""
        from ktc.driver import cache_history  # late: only after a cache miss

        assert self.session is not None
        warnings = tuple(self.sink.warnings)
        build_cache.keep(config, form, self.cache, reads=self.session.reads, data=data, warnings=warnings)
        cache_history.keep(self.session, form)

    def kept(self, config: Config, form: str) -> bytes | None:
        """Return the stored output of an earlier build, and report its warnings again."""
        start, cpu = time.perf_counter(), time.process_time()
        kept = build_cache.find(config, form, self.cache)
        self.times.mark("find", start, cpu, int(kept is not None), int(kept is None))
        self.reads = kept.reads if kept else {}
        for warning in kept.warnings if kept else ():
            self.sink.report(warning)
        gate(None, self.sink)
        return kept.data if kept else None


def _fp_mode(_: click.Context, __: click.Parameter, words: str | None) -> int:
    try:
        return float_modes.mask_of(words or "")
    except float_modes.UnknownMode as error:
        raise click.BadParameter(str(error)) from error


def _named(_: click.Context, option: click.Parameter, words: tuple[str, ...]) -> tuple[str, ...]:
    if "" in words:
        raise click.BadParameter("a name is missing")
    return words


_LINKED = (
    click.option("-I", "search", multiple=True, metavar="DIR", help="Search this folder for modules."),
    click.option("--hardened", is_flag=True, help="Add stack protectors to functions with arrays."),
    click.option("-l", "libraries", multiple=True, metavar="NAME", callback=_named, help="Link this C library."),
    click.option(
        "-L", "library_folders", multiple=True, metavar="DIR", callback=_named, help="Search this folder for libraries."
    ),
    edition_option,
)


_TUNED = click.option(
    "--tuned",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Use the values that 'ktc tune' found; FILE@DEVICE selects one of several devices.",
)


_LINE_TABLES = click.option("-g1", "debug", flag_value=1, type=int, help="Only line tables.")
_NO_DEBUG = click.option("-g0", "debug", flag_value=0, type=int, help="No debug information; errors have no locations.")
_FAST_MATH = click.option("--ffast-math", "fast_math", is_flag=True, help="The same as --fp-mode fast.")
_NO_OPTIMIZATION = click.option("--no-optimization", "no_optimization", is_flag=True, help="The same as -O0.")


def compile_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that compiles; names follow the reference's."""
    decorators = [
        click.option(
            "-O", "--optimization-level", "level", type=click.IntRange(0, 3), help="Optimise: 0 to 3 (default 3)."
        ),
        _NO_OPTIMIZATION,
        click.option("-g", "-g2", "debug", flag_value=2, type=int, help="Full debug information."),
        _LINE_TABLES,
        _NO_DEBUG,
        click.option("--debug-level", type=click.Choice(list(_DEBUG_LEVELS)), help="The same, by name."),
        click.option("-D", "defines", multiple=True, metavar="KEY=VALUE", help="Define a name for sys.param_env."),
        _TUNED,
        click.option(
            "--check", "checks_all", is_flag=True,
            help="Detect mistakes in kernels at run time, on the CPU device; --check=KINDS for some kinds.",
        ),
        click.option(
            "--checks", metavar="KINDS", hidden=True, help="The same, for some kinds: --check=bounds,races."
        ),
        *_LINKED,
        click.option(
            "--target-accelerator", "accelerators", metavar="NAMES",
            help="Targets of kernels, separated by commas (sm_90,gfx942,cpu); see 'ktc targets'.",
        ),
        click.option("--target-triple", "triple", metavar="TRIPLE", help="System that the program is built for."),
        click.option("--target-cpu", "cpu", metavar="CPU", help="CPU of that system."),
        click.option("--target-features", "features", metavar="FEATURES", help="CPU features (+avx2,-fma)."),
        click.option("--offload-mode", type=click.Choice(configs.OFFLOAD_MODES), help="Compile all or single kernels."),
        click.option(
            "--fp-mode", metavar="MODES", callback=_fp_mode,
            help="Relaxations of GPU floating-point arithmetic: fast, or some of ftz,approx,reassoc,no-contract.",
        ),
        _FAST_MATH,
        click.option(
            "--cpu-threads", "cpu_threads", type=click.Choice(THREAD_FORMS),
            help="How the CPU device runs a block's threads (default auto).",
        ),
        click.option("-j", "--num-threads", "jobs", type=click.IntRange(min=0), help="Number of parallel processes."),
        click.option(
            "--diagnostic-format", type=click.Choice(configs.DIAGNOSTIC_FORMATS), default="text",
            help="Format of diagnostics on stderr.",
        ),
        click.option(
            "-W", "warnings", multiple=True, metavar="[no-]CODE",
            help="Turn a warning on or off (-W no-unused-import); 'error', 'error=CODE': an error; 'none', 'all'.",
        ),
        click.option("--Werror", "warnings_fatal", is_flag=True, help="The same as -W error: warnings are errors."),
        click.option("--disable-warnings", "no_warnings", is_flag=True, help="The same as -W none."),
        click.option(
            "--time", "--timings", "shows_times", is_flag=True, help="Show time and memory of each phase."
        ),
        click.option("--time-json", type=click.Path(path_type=Path), help="Write the same to a file, as JSON."),
        click.option(
            "--trace", type=click.Path(path_type=Path), help="Write a trace for chrome://tracing or Perfetto."
        ),
    ]  # fmt: skip
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def chosen_checks(check_all: bool, chosen: str | None) -> tuple[str, ...] | None:
    """Return the kinds of faults that `--check` and `--check=KINDS` look for; None: no checks.

    Raises:
        click.BadParameter: a word means nothing.
    """
    if chosen is None:
        return checked.parse("") if check_all else None  # type: ignore[return-value]
    found = checked.parse(chosen)
    if isinstance(found, str):
        known = ", ".join((*checked.KINDS, *checked.MODES))
        raise click.BadParameter(f"'{found}' is none of {known}", param_hint="--check")
    return found


class Command(click.Command):
    """A command with `--check`, which takes its words after an equals sign or none at all."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give `--check=bounds` a name of its own, as far as the options go."""
        for index, word in enumerate(args):
            if word == "--" or word.endswith(_SUFFIXES):
                break
            if word.startswith("--check="):
                args[index] = word.replace("--check=", "--checks=", 1)
        rest = super().parse_args(ctx, args)
        self._look_at_words(ctx)
        return rest

    def _look_at_words(self, ctx: click.Context) -> None:
        """Warn about options of this command among the words that go to the program."""
        own = {name for one in self.params if isinstance(one, click.Option) for name in one.opts if name[:2] == "--"}
        for word in ctx.params.get("arguments") or ():
            if word == "--":
                return
            if word.partition("=")[0] in own or _LEVEL.fullmatch(word):
                text = f"ktc: '{word}' goes to the program; options of ktc come before the file"
                click.echo(f"{text}: {ctx.command_path} {word} {ctx.params['file']}", err=True)


def _tuned(given: Path | None) -> tuple[Path | None, str]:
    """Return the tuning file that was named, and the device after an `@`."""
    if given is None or given.exists():
        return given, ""
    name, _, device = str(given).partition("@")
    return Path(name), device


def task_of(words: dict[str, Any], file: str, **more: Any) -> Task:
    """Make the task of a command from its options."""
    tuned, device = _tuned(words["tuned"])
    debug = _DEBUG_LEVELS[words["debug_level"]] if words["debug_level"] else words["debug"]
    options = Options(
        root=Path(file), level=0 if words["no_optimization"] else words["level"], debug=debug,
        defines=words["defines"], search=tuple(Path(folder) for folder in words["search"]),
        accelerators=words["accelerators"], triple=words["triple"], cpu=words["cpu"], features=words["features"],
        jobs=words["jobs"] or None, offload_mode=words["offload_mode"],
        fp_mode=words["fp_mode"] | (float_modes.FAST if words["fast_math"] else 0), cpu_threads=words["cpu_threads"],
        libraries=words["libraries"], library_folders=tuple(Path(folder) for folder in words["library_folders"]),
        checks=chosen_checks(words["checks_all"], words["checks"]), json=words["diagnostic_format"] == "json",
        hardened=words["hardened"], tuned=tuned, tuned_device=device, edition=words["edition"], **more,
    )  # fmt: skip
    said = [*words["warnings"], *["error"] * words["warnings_fatal"], *["none"] * words["no_warnings"]]
    try:
        sink = Sink(policy=read_policy(said))
    except UnknownWarning as error:
        raise click.BadParameter(str(error), param_hint="-W") from error
    command = " ".join(sys.argv[1:])
    times = Times(words["shows_times"], words["time_json"], words["trace"])
    cache = configs.open_cache()
    if cache.refused and words["diagnostic_format"] == "text":
        click.echo(f"ktc: the cache is not used, for {cache.refused}; KTC_CACHE_DIR names another folder", err=True)
    if cache.shared_refused and words["diagnostic_format"] == "text":
        click.echo(f"ktc: the shared cache is not used: {cache.shared_refused}", err=True)
    return Task(command, options, words["diagnostic_format"], times, cache, sink)
