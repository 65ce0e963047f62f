"""`ktc format`: source files in the fixed style, or in the next edition.

Input: files, folders, or standard input. Output: the files rewritten, or what would change; exit code 1 for a file that
does not parse, and with --check for one that is not in the style. With --migrate the files are rewritten in another
edition, and their layout stays.
"""

import difflib
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click
from ktc import config as configs
from ktc.base.editions import Edition
from ktc.base.records import entity
from ktc.base.version import VERSION
from ktc.cli import projects
from ktc.config import Options
from ktc.config.format_style import DEFAULT_LENGTH, BadFormatTable, FormatStyles
from ktc.diag.diagnostic import Sink
from ktc.diag.render import render_text
from ktc.diag.source import Source
from ktc.driver import guard
from ktc.syntax.editions import assign
from ktc.syntax.loader import read_source
from ktc.syntax.parsing.tables import Tables, load_tables
from ktc.tools.checks.files import sources
from ktc.tools.options import edition_option, search_option

_STDIN = "-"


@entity
class _Run:
    """One run of the command, and its counts of files."""

    lines: tuple[int, int] | None
    checks: bool
    shows: bool
    sink: Sink
    tables: Tables
    edition: Edition | None = None
    changed: int = 0
    same: int = 0
    failed: int = 0


def _range(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    first, mark, last = value.partition(":")
    if not (first.isdigit() and (last.isdigit() if mark else True)) or int(first) < 1:
        raise click.BadParameter("write FIRST:LAST, two line numbers from 1")
    numbers = int(first), int(last) if mark else int(first)
    if numbers[1] < numbers[0]:
        raise click.BadParameter("the last line comes before the first")
    return numbers


@click.command("format")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("-l", "--line-length", "columns", type=click.IntRange(20, 1000),
              help=f"Maximum line length. Default: what pyproject.toml says, else {DEFAULT_LENGTH}.")  # fmt: skip
@click.option("--check", "checks", is_flag=True, help="Write nothing; exit code 1 if a file would change.")
@click.option("--diff", "shows", is_flag=True, help="Write nothing; show what would change.")
@click.option("--lines", callback=_range, metavar="FIRST:LAST", help="Format only these lines of one file.")
@edition_option
@search_option
@click.option("--migrate", "target", type=click.Choice([Edition.Y2026.value]), metavar="EDITION",
              help="Rewrite files of edition 2025 in edition 2026 instead, and list what needs a look.")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
def format_command(
    paths: tuple[Path, ...], columns: int | None, checks: bool, shows: bool, lines: tuple[int, int] | None, quiet: bool,
    edition: Edition | None, search: tuple[Path, ...], target: str | None,
) -> int:  # fmt: skip
    """Rewrite source files in the fixed style; `-` reads standard input and writes to standard output.

    A folder means all source files in it, except those that [tool.ktc.format] of pyproject.toml excludes. Comments are
    kept, and a file is written only if its syntax tree is the same as before. `# fmt: off` to `# fmt: on`, and lines
    with `# fmt: skip`, are left alone.

    With --migrate only forms that edition 2026 writes otherwise change: comments and layout stay. Places that cannot be
    rewritten safely are listed, a line each.
    """
    paths = projects.paths_or_project(paths)
    if target is not None:
        return _migrate(paths, Options(Path(), search=search, edition=edition), checks, shows, quiet)
    if lines is not None and (len(paths) > 1 or paths[0].is_dir()):
        raise click.UsageError("--lines is for one file")
    files = _chosen(paths, columns)
    run = _Run(lines, checks, shows, Sink(), load_tables(configs.open_cache()), edition)
    crash = guard.Crash(configs.open_cache().folder, {"ktc": VERSION, "command": "format", "stage": "format"})
    code = guard.run(partial(_work, run, files), lambda: crash)
    sys.stderr.write(render_text(run.sink.diagnostics, configs.color_enabled(sys.stderr.isatty())))
    if not quiet and str(paths[0]) != _STDIN:
        sys.stderr.write(_summary(run))
    return code


def _migrate(paths: tuple[Path, ...], options: Options, checks: bool, shows: bool, quiet: bool) -> int:
    """Rewrite files in edition 2026; return 1 if one is wrong, or with --check would change."""
    from ktc.tools.migrating import Migration  # late: only for some commands

    if any(str(path) == _STDIN for path in paths):
        raise click.UsageError("'--migrate' rewrites files: name one")
    run = Migration(options, checks, shows, _show, _write)
    crash = guard.Crash(configs.open_cache().folder, {"ktc": VERSION, "command": "format", "stage": "migrate"})
    code = guard.run(partial(run.work, [path for path, _ in _chosen(paths, DEFAULT_LENGTH)]), lambda: crash)
    sys.stderr.write(render_text(run.errors, configs.color_enabled(sys.stderr.isatty())))
    if not quiet:
        sys.stderr.write(run.summary())
    return code


def _chosen(paths: Sequence[Path], columns: int | None) -> list[tuple[Path, int]]:
    """Return the files to format, and how many columns their lines may have."""
    styles = FormatStyles()
    try:
        return [
            (path, columns or styles.line_length(path))
            for path in sources(paths) if path in paths or not styles.excludes(path)
        ]  # fmt: skip
    except BadFormatTable as error:
        raise click.ClickException(str(error)) from error


def _work(run: _Run, files: Sequence[tuple[Path, int]]) -> int:
    from ktc.formatting.formatter import format_source  # late: only for some commands

    for path, columns in files:
        is_stdin = str(path) == _STDIN
        source = Source("<stdin>", sys.stdin.read()) if is_stdin else read_source(path, run.sink, False, {})
        text = None
        if source is not None:
            assign(source, run.edition, run.sink)
            text = format_source(source, run.sink, run.tables, columns, run.lines)
        if source is None or text is None:
            run.failed += 1
            continue
        is_same = text == source.text
        run.same += is_same
        run.changed += not is_same
        if run.shows:
            _show(source, text)
        elif run.checks:
            if not is_same:
                click.echo(f"would reformat {source.path}")
        elif is_stdin:
            sys.stdout.write(text)
        elif not is_same:
            _write(path, text)
    return 1 if run.failed or (run.checks and run.changed) else 0


def _show(source: Source, text: str, done: str = "formatted") -> None:
    before, after = source.text.splitlines(True), text.splitlines(True)
    color = configs.color_enabled(sys.stdout.isatty())
    tints = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
    for line in difflib.unified_diff(before, after, source.path, f"{source.path} ({done})"):
        tint = tints.get(line[0], "") if color else ""
        ended = line.rstrip("\n")
        sys.stdout.write(f"{tint}{ended}\x1b[0m\n" if tint else ended + "\n")


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all, with the line ends that it has."""
    from ktc.emit.linking.link import install  # late: only for some commands

    with path.open("rb") as file:
        ends = "\r\n" if file.readline().endswith(b"\r\n") else "\n"
    mode = path.stat().st_mode
    path = path.resolve()  # a link stays a link
    install(text.replace("\n", ends).encode(), path)
    path.chmod(mode)


def _summary(run: _Run) -> str:
    verb = "would be reformatted" if run.checks or run.shows else "reformatted"
    parts = []
    for count, what in ((run.changed, verb), (run.same, "left unchanged"), (run.failed, "not formatted")):
        if count:
            parts.append(f"{count} file{'s' if count > 1 else ''} {what}")
    return ", ".join(parts or ["no source files"]) + "\n"
