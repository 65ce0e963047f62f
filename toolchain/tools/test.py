"""`ktc test`: finds tests, builds one program a file, runs them side by side, and reports.

Input: files and folders. Output: lines on standard output, JSON and JUnit files; exit code 0 if every test passed, 1 if
one did not or there is none.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from xml.etree import ElementTree

import click
from ktc import config as configs
from ktc.base.editions import Edition
from ktc.base.records import entity
from ktc.base.version import VERSION
from ktc.cli import projects
from ktc.cli.task import Command, chosen_checks
from ktc.config import Options
from ktc.diag.diagnostic import Sink
from ktc.diag.render import render_text
from ktc.driver import guard
from ktc.tools.checks.files import sources
from ktc.tools.options import edition_option, search_option
from ktc.tools.testing.discovery import PREFIX, Case
from ktc.tools.testing.results import PASSED, FileResults, Plan, Result
from ktc.tools.testing.selection import BadSelection, matches

_GREEN, _RED, _BOLD, _RESET = "\x1b[32m", "\x1b[31m", "\x1b[1m", "\x1b[0m"


@entity
class _Run:
    """One run of the command."""

    plan: Plan
    jobs: int
    is_quiet: bool
    is_verbose: bool
    to_stderr: bool = False
    results: list[Result] = field(default_factory=list)


@click.command("test", cls=Command)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("-k", "selection", metavar="EXPRESSION", help="Run tests whose names match: 'add and not slow'.")
@click.option("-x", "--fail-fast", "is_fast", is_flag=True, help="Stop at the first test that fails.")
@click.option("--list", "lists", is_flag=True, help="List the tests, run none.")
@click.option("--watch", "watches", is_flag=True, help="Run tests again when a file that they are built of changes.")
@click.option("--json", "as_json", type=click.Path(path_type=Path), help="Write the results to a file (-: stdout).")
@click.option("--junit", type=click.Path(path_type=Path), help="Write the results as JUnit XML.")
@click.option("-O", "--optimization-level", "level", type=click.IntRange(0, 3), help="Optimise: 0 to 3 (default 3).")
@click.option("-D", "defines", multiple=True, metavar="KEY=VALUE", help="Define a name for sys.param_env.")
@click.option("--check", "checks_all", is_flag=True,
              help="Also detect mistakes in kernels, which end the test; --check=KINDS for some kinds.")  # fmt: skip
@click.option("--checks", metavar="KINDS", hidden=True, help="The same, for some kinds: --check=bounds,races.")
@search_option
@edition_option
@click.option("--target-accelerator", "accelerators", metavar="NAMES",
              help="Also compile and assemble every kernel for these targets.")  # fmt: skip
@click.option("--timeout", "seconds", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True,
              help="Time limit for a test, in seconds.")  # fmt: skip
@click.option(
    "-j", "--num-threads", "jobs", type=click.IntRange(min=1), help="Number of files in parallel (default: all CPUs)."
)
@click.option("-v", "--verbose", "is_verbose", is_flag=True, help="Also show the output of tests that pass.")
@click.option("-q", "--quiet", "is_quiet", is_flag=True, help="Show only failures and the last line.")
def test_command(
    paths: tuple[Path, ...], selection: str | None, lists: bool, as_json: Path | None, junit: Path | None,
    accelerators: str | None, jobs: int | None, is_verbose: bool, is_quiet: bool, is_fast: bool, seconds: float,
    level: int | None, defines: tuple[str, ...], search: tuple[Path, ...], checks_all: bool, checks: str | None,
    edition: Edition | None, watches: bool,
) -> int:  # fmt: skip
    """Find and run tests: functions test_* in files test_*.kpy, and programs in docstrings.

    PATHS are files and folders, by default those of the project, or this folder. Kernels run on the CPU device. The
    tests of a file are one program, which is rebuilt only when something it uses has changed. `FILE::NAME` names a
    single test.
    """
    targets = f"{accelerators},cpu" if accelerators and "cpu" not in accelerators.split(",") else accelerators or "cpu"
    files = jobs or configs.processors()
    options = Options(
        Path(), level=level, defines=defines, search=search, accelerators=targets, jobs=1 if files > 1 else None,
        checks=chosen_checks(checks_all, checks), edition=edition,
    )  # fmt: skip
    paths = projects.tests_or_project(paths)
    plan = Plan(options, is_fast, seconds, configs.color_enabled(sys.stdout.isatty()))
    run = _Run(plan, files, is_quiet, is_verbose, str(as_json) == "-")
    crash = guard.Crash(configs.open_cache().folder, {"ktc": VERSION, "command": "test", "stage": "test"})
    find = partial(_found, paths, selection or "", edition)
    if watches:
        from ktc.tools.testing.watching import Watch  # late: only with some options

        return Watch(paths, find, partial(_work, run), lambda: crash).run()
    found, code = find()
    if lists:
        for path, cases in found:
            for case in cases:
                click.echo(f"{path}::{case.name}")
        return code
    code = guard.run(partial(_work, run, found), lambda: crash) or code
    if as_json is not None:
        text = _as_json(run.results)
        click.echo(text, nl=False) if str(as_json) == "-" else as_json.write_text(text)
    if junit is not None:
        junit.write_bytes(_as_junit(run.results))
    return code


def _found(paths: Sequence[Path], selection: str, edition: Edition | None) -> tuple[list[tuple[Path, list[Case]]], int]:
    """Return the files with tests, and their tests; a file that is named has tests whatever its name is.

    Returns also the exit code: 1 if files have errors, which are shown.
    """
    from ktc.tools.testing.running import discover  # late: only for some commands

    sink = Sink()
    found = []
    for named in paths:
        file, _, name = str(named).partition("::")
        is_folder = Path(file).is_dir()
        for path in sources([Path(file)]):
            is_test = not is_folder or path.name.startswith(PREFIX)
            # Errors in other files are no matter of their tests.
            cases = discover(path, sink if is_test else Sink(), is_test, edition)
            try:
                cases = [one for one in cases if _is_chosen(f"{path}::{one.name}", one.name, name, selection)]
            except BadSelection as error:
                raise click.BadParameter(str(error), param_hint="-k") from error
            if cases:
                found.append((path, cases))
    for problem in sink.diagnostics:
        sys.stderr.write(render_text([problem], configs.color_enabled(sys.stderr.isatty())))
    return found, int(sink.error_count > 0)


def _is_chosen(id: str, name: str, required: str, selection: str) -> bool:
    return (not required or name == required) and (not selection or matches(selection, id))


def _work(
    run: _Run, found: Sequence[tuple[Path, list[Case]]], told: Callable[[FileResults], None] | None = None
) -> int:  # fmt: skip
    """Run all files, each in a process; report in the order in which they end, and tell `told`."""
    start = time.perf_counter()
    run.results.clear()
    if not found:
        click.echo("no tests found", err=True)
        return 1
    for one in _all(run, found):
        if told is not None:
            told(one)
        run.results.extend(one.results)
        for result in one.results:
            _report(run, result)
        if run.plan.is_fast and any(result.status != PASSED for result in one.results):
            break
    bad = [result for result in run.results if result.status != PASSED]
    counts = f"{len(run.results) - len(bad)} passed, {len(bad)} failed"
    tint = _RED if bad else _GREEN
    last = f"{counts} in {time.perf_counter() - start:.2f} s"
    click.echo(f"{_BOLD}{tint}{last}{_RESET}" if run.plan.color else last, err=run.to_stderr)
    return int(bool(bad))


def _all(run: _Run, found: Sequence[tuple[Path, list[Case]]]) -> Iterator[FileResults]:
    from ktc.tools.testing.running import run_file  # late: only for some commands

    if len(found) == 1 or run.jobs == 1:
        for path, cases in found:
            yield run_file(run.plan, path, cases)
        return
    with ProcessPoolExecutor(min(run.jobs, len(found)), get_context("fork")) as pool:
        waiting = [pool.submit(_run_guarded, run.plan, path, cases) for path, cases in found]
        try:
            for future in as_completed(waiting):
                yield future.result()
        finally:
            for future in waiting:
                future.cancel()


def _run_guarded(plan: Plan, path: Path, cases: list[Case]) -> FileResults:
    """Do the same on a large stack; an error of ktc itself is that of the file's tests."""
    from ktc.tools.testing.running import run_file  # late: only for some commands

    results: list[FileResults] = []

    def work() -> int:
        results.append(run_file(plan, path, cases))
        return 0

    facts = {"ktc": VERSION, "command": f"test {path}", "stage": "test"}
    code = guard.run(work, lambda: guard.Crash(configs.open_cache().folder, facts))
    if code:
        return FileResults(path, [Result(str(path), case, "error", message="ktc itself failed") for case in cases])
    return results[0]


def _report(run: _Run, result: Result) -> None:
    is_good = result.status == PASSED
    if not (is_good and run.is_quiet):
        mark = "ok    " if is_good else "FAILED"
        mark = f"{_GREEN if is_good else _RED}{mark}{_RESET}" if run.plan.color else mark
        click.echo(f"{mark} {result.id} ({_shown(result.seconds)})", err=run.to_stderr)
    if result.message:
        message = result.message if run.plan.color else _plain(result.message)
        click.echo("".join(f"    {line}\n" for line in message.splitlines()), nl=False, err=run.to_stderr)
    if result.output and (run.is_verbose or not is_good):
        lines = "".join(f"      {line}\n" for line in result.output.splitlines())
        click.echo("    its output:\n" + lines, nl=False, err=run.to_stderr)


def _plain(text: str) -> str:
    return click.unstyle(text)


def _shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def _as_json(results: Sequence[Result]) -> str:
    rows = [
        {
            "id": one.id, "file": one.file, "name": one.case.name, "line": one.case.line, "status": one.status,
            "seconds": one.seconds, "message": _plain(one.message), "output": one.output,
        }
        for one in results
    ]  # fmt: skip
    return json.dumps({"version": 1, "tests": rows}, indent=1) + "\n"


def _as_junit(results: Sequence[Result]) -> bytes:
    root = ElementTree.Element("testsuites")
    for file in dict.fromkeys(one.file for one in results):
        own = [one for one in results if one.file == file]
        suite = ElementTree.SubElement(
            root, "testsuite", name=file, tests=str(len(own)), time=f"{sum(one.seconds for one in own):.6f}",
            failures=str(sum(one.status == "failed" for one in own)),
            errors=str(sum(one.status == "error" for one in own)),
        )  # fmt: skip
        for one in own:
            case = ElementTree.SubElement(
                suite, "testcase", name=one.case.name, classname=Path(file).stem, file=file, line=str(one.case.line),
                time=f"{one.seconds:.6f}",
            )  # fmt: skip
            if one.status != PASSED:
                message = _printable(_plain(one.message))
                kind = "failure" if one.status == "failed" else "error"
                ElementTree.SubElement(case, kind, message=message.partition("\n")[0]).text = message
            if one.output:
                ElementTree.SubElement(case, "system-out").text = _printable(one.output)
    return bytes(ElementTree.tostring(root, "utf-8", xml_declaration=True)) + b"\n"


def _printable(text: str) -> str:
    """Return a text without the characters that XML has no place for."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
