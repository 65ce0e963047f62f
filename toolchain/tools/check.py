"""`ktc check`: what is wrong with source files; nothing is compiled.

Input: files and folders. Output: diagnostics as text, JSON or SARIF; with --fix the files repaired. Exit code 1 if
there is an error.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import click
from ktc import config as configs
from ktc.base.editions import Edition
from ktc.base.records import record, replace
from ktc.base.version import VERSION
from ktc.cli import projects
from ktc.cli.standard_input import STANDARD_INPUT, kept_program
from ktc.config import Options
from ktc.diag.diagnostic import Diagnostic, Severity, Sink, WarningPolicy
from ktc.diag.fixes import Edit, Fix, applied
from ktc.diag.policy import UnknownWarning, read_policy
from ktc.diag.render import render_json, render_text
from ktc.diag.source import Source
from ktc.driver import guard
from ktc.tools.checks.files import sources
from ktc.tools.options import edition_option, search_option

if TYPE_CHECKING:
    from ktc.tools.checks.edition_fixes import EditionFixes

_ROUNDS = 10
"""So often files are repaired and checked again."""


@record
class _Plan:
    options: Options
    policy: WarningPolicy
    jobs: int


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(("text", "json", "sarif")), default="text", show_default=True,
              help="Output format; text goes to standard error, the others to standard output.")  # fmt: skip
@click.option("--fix", "repairs", is_flag=True, help="Apply safe fixes, and show the other diagnostics.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix: also apply fixes that may change the meaning.")
@click.option("-D", "defines", multiple=True, metavar="KEY=VALUE", help="Define a name for sys.param_env.")
@search_option
@edition_option
@click.option("--target-accelerator", "accelerators", metavar="NAMES", help="Targets of kernels.")
@click.option("-W", "warnings", multiple=True, metavar="[no-]CODE", help="Turn a warning on or off; 'error', 'none'.")
@click.option(
    "-j", "--num-threads", "jobs", type=click.IntRange(min=1), help="Number of files in parallel (default: all CPUs)."
)
def check_command(
    paths: tuple[Path, ...], form: str, repairs: bool, unsafe_fixes: bool, defines: tuple[str, ...],
    search: tuple[Path, ...], accelerators: str | None, warnings: tuple[str, ...], jobs: int | None,
    edition: Edition | None,
) -> int:  # fmt: skip
    """Report errors and warnings in source files (`-`: standard input).

    No code is generated.

    This checks everything that `main` reaches, generic bodies for all types, and functions that nothing calls. A file
    without `main` is checked as a module. A folder means all source files in it; without PATHS it is the project's.
    """
    try:
        policy = read_policy([*warnings])
    except UnknownWarning as error:
        raise click.BadParameter(str(error), param_hint="-W") from error
    if any(str(path) == STANDARD_INPUT for path in paths):
        if repairs:
            raise click.UsageError("'--fix' changes files: name one")
        given = kept_program(sys.stdin.buffer.read())
        paths, search = tuple(Path(given) if str(path) == STANDARD_INPUT else path for path in paths), (*search, Path())
    paths, accelerators = projects.paths_or_project(paths), projects.targets_or_project(accelerators)
    options = Options(Path(), defines=defines, search=search, accelerators=accelerators, edition=edition)
    plan = _Plan(options, policy, jobs or configs.processors())
    files = sources(paths)
    if not files:
        click.echo("no source files", err=True)
        return 0
    found: list[Diagnostic] = []
    crash = guard.Crash(configs.open_cache().folder, {"ktc": VERSION, "command": "check", "stage": "check"})
    code = guard.run(partial(_work, plan, files, repairs, unsafe_fixes, found), lambda: crash)
    _show(found, form, plan)
    return code or int(any(one.severity is Severity.ERROR for one in found))


def _work(plan: _Plan, paths: Sequence[Path], repairs: bool, unsafe: bool, found: list[Diagnostic]) -> int:
    for _ in range(_ROUNDS):
        found[:] = _unique(diagnostic for one in _all(plan, paths) for diagnostic in one)
        if not (repairs and _repair(found, unsafe, _fixes_of(plan))):
            break
    return 0


def _all(plan: _Plan, paths: Sequence[Path]) -> Iterator[tuple[Diagnostic, ...]]:
    if len(paths) == 1 or plan.jobs == 1:
        for path in paths:
            yield _checked(plan, path)
        return
    with ProcessPoolExecutor(min(plan.jobs, len(paths)), get_context("fork")) as pool:
        yield from pool.map(partial(_checked_apart, plan), paths)


def _checked(plan: _Plan, path: Path) -> tuple[Diagnostic, ...]:
    from ktc.tools.checks.checking import check_file  # late: only for some commands

    return check_file(plan.options, path, Sink(policy=plan.policy)).diagnostics


def _checked_apart(plan: _Plan, path: Path) -> tuple[Diagnostic, ...]:
    """Check a file in a process of its own, on a large stack."""
    found: list[Diagnostic] = []

    def work() -> int:
        found.extend(_checked(plan, path))
        return 0

    facts = {"ktc": VERSION, "command": f"check {path}", "stage": "check"}
    guard.run(work, lambda: guard.Crash(configs.open_cache().folder, facts))
    return tuple(found)


def _unique(diagnostics: Iterator[Diagnostic]) -> list[Diagnostic]:
    """Leave out what several files say of the same place."""
    seen: dict[tuple[object, ...], Diagnostic] = {}
    for one in diagnostics:
        seen.setdefault((one.code, one.span.location() if one.span else "", one.message), one)
    return [*seen.values()]


def _fixes_of(plan: _Plan) -> "EditionFixes":
    from ktc.tools.checks.edition_fixes import EditionFixes  # late: only with some options

    return EditionFixes(plan.options)


def _repair(found: Sequence[Diagnostic], unsafe: bool, fixes: "EditionFixes") -> bool:
    """Apply the first fix of each diagnostic, or rewrite its file; say whether anything was changed."""
    texts = {one.span.source.path: text for one in found if one.span is not None and (text := fixes.migrated(one))}
    for path, text in texts.items():
        Path(path).write_text(text, "utf-8")
    if texts:
        return True
    edits: dict[str, tuple[Source, list[Edit]]] = {}
    for diagnostic in found:
        for fix in fixes.of(diagnostic)[:1]:
            if fix.is_safe or unsafe:
                for edit in fix.edits:
                    edits.setdefault(edit.span.source.path, (edit.span.source, []))[1].append(edit)
    for path, (source, own) in edits.items():
        # Sources that other processes sent are equal and not the same.
        spans = [replace(edit, span=replace(edit.span, source=source)) for edit in own]
        Path(path).write_text(applied(source, spans), "utf-8")
    return bool(edits)


def _show(found: Sequence[Diagnostic], form: str, plan: _Plan) -> None:
    if form == "text":
        sys.stderr.write(render_text(found, configs.color_enabled(sys.stderr.isatty())))
        return
    fixes = _fixes_of(plan)
    if form == "json":
        sys.stdout.write(
            "".join(
                _with_fixes(line, fixes.of(one))
                for line, one in zip(render_json(found).splitlines(), found, strict=True)
            )
        )
    else:
        from ktc.tools.checks.sarif import as_sarif  # late: only for some commands

        sys.stdout.write(as_sarif(found, fixes.of))


def _with_fixes(line: str, fixes: Sequence[Fix]) -> str:
    """Add the fixes to a diagnostic as JSON."""
    row = json.loads(line)
    row["fixes"] = [
        {
            "title": fix.title, "safe": fix.is_safe,
            "edits": [
                {"path": edit.span.source.path, "text": edit.text, "start": edit.span.source.position(edit.span.start),
                 "end": edit.span.source.position(edit.span.end)}
                for edit in fix.edits
            ],
        }
        for fix in fixes
    ]  # fmt: skip
    return json.dumps(row) + "\n"
