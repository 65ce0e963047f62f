"""Tables and code on standard output: with rich on a terminal, plain in a pipe.

Input: rows, or the bytes of a stage. Output: nothing; standard output has it.
"""

import json
import os
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from ktc.base.cache import Cache
from ktc.base.records import field_names
from ktc.emit import tools

_LEXERS = {
    "llvm": "llvm",
    "llvm-opt": "llvm",
    "asm": "gas",
}
_PTX = "ptx"
_STEP = 1024


def show_times(times: Any, session: Any) -> None:
    """Show the times of a build, in the ways that are requested.

    Args:
        times: `cli.Times`. session: the driver's, None where there was nothing to do.
    """
    from ktc.driver.timing import reports  # late: only for some commands
    from ktc.driver.timing.timeline import Phase, Timeline, process_start  # late: only for some commands

    timeline = session.timeline if session is not None else Timeline()
    begin, pid = process_start(), os.getpid()
    marks = [("start", begin, times.marks[0][1], time.process_time(), 0, 0)] if begin and times.marks else []
    for name, start, end, cpu, hits, misses in [*marks, *times.marks]:
        cpu = min(cpu, end - start)
        timeline.phases.append(Phase(name, "", start, end, cpu, 0, pid, 0, hits, misses))
    if times.shows:
        print_table(reports.HEAD, reports.rows(timeline), sys.stderr)
        for note in session.notes if session is not None else ():
            sys.stderr.write(f"note: {note}\n")
    units = [(unit.name, unit.hit) for unit in session.units] if session is not None else []
    if times.json is not None:
        times.json.write_bytes(reports.as_json(timeline, units))
    if times.trace is not None:
        times.trace.write_bytes(reports.as_trace(timeline))


def print_cache(cache: Cache) -> None:
    """Print where the cache is and how big."""
    info = cache.info()
    rows = [
        (
            "folder",
            str(
                info.folder or (f"not used, for {cache.refused}" if cache.refused else "none (KTC_CACHE_DIR is empty)")
            ),
        ),
        ("writable", "yes" if info.is_writable else "no: nothing is kept"),
        ("entries", str(info.entries)),
        ("size", f"{human_size(info.size_bytes)} of at most {human_size(info.max_bytes)} (KTC_CACHE_SIZE, in MiB)"),
        ("when full", "what was used longest ago goes first"),
    ]
    print_table((), rows)


def print_json(value: Any) -> None:
    """Print a value as JSON on standard output."""
    sys.stdout.write(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], file: TextIO | None = None, columns: int = 0
) -> None:
    """Print rows in columns to a file, by default standard output; `head` may be empty.

    Args:
        columns: so wide the table is at most; the last column is wrapped to fit.
    """
    file = file or sys.stdout
    if file.isatty():
        from rich.console import Console  # late: only for some commands
        from rich.table import Table  # late: only for some commands
        from rich.text import Text  # late: only for some commands

        table = Table(*head, show_header=bool(head), box=None, pad_edge=False)
        for row in rows:
            table.add_row(*(Text(cell, "bold" if index == 0 else "") for index, cell in enumerate(row)))
        Console(file=file).print(table)
        return
    widths = [max(len(row[column]) for row in (*rows, head) if row) for column in range(len(rows[0]))] if rows else []
    left = columns - sum(widths[:-1]) - 2 * (len(widths) - 1)
    for row in _filled(head, rows, left) if columns else (head, *rows) if head else rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        file.write("  ".join(cells).rstrip() + "\n")


def _filled(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[Sequence[str]]:
    """Give the rows with the last column on as many lines as it needs."""
    for row in (head, *rows) if head else rows:
        first, *others = textwrap.wrap(row[-1], max(width, 10), break_on_hyphens=False) or [""]
        yield (*row[:-1], first)
        for other in others:
            yield (*("" for _ in row[:-1]), other)


def print_code(data: bytes, kind: str, vendor: str, color: bool) -> None:
    """Print what a stage made; text in colours if `color`.

    Args:
        kind: the stage, as `ktc emit --kind` has it.
        vendor: of the target: PTX is another language than a processor's assembly.
    """
    if kind == "object":
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    text = data.decode("utf-8", "replace")
    if not color:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    from ktc.tools.documentation.highlighting import KpyLexer  # late: only for some commands
    from rich.console import Console  # late: only for some commands
    from rich.syntax import Syntax  # late: only for some commands

    lexer = _PTX if kind == "asm" and vendor == "nvidia" else _LEXERS.get(kind) or KpyLexer()
    Console(soft_wrap=True).print(Syntax(text.rstrip("\n"), lexer, theme="ansi_dark", background_color="default"))


def human_size(size_bytes: int) -> str:
    """Return a size as a person reads it."""
    size = float(size_bytes)
    for unit in ("bytes", "KiB", "MiB"):
        if size < _STEP:
            return f"{size_bytes} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.1f} GiB"


def print_assembler() -> None:
    """Say on stderr what makes the machine code of NVIDIA's kernels."""
    found = tools.find_ptxas()
    if found:
        sys.stderr.write(f"ktc: kernels for NVIDIA get machine code beside their PTX: {found}\n")
    else:
        sys.stderr.write("ktc: there is no ptxas: the driver compiles kernels at their first launch, and caches them\n")


def progress_bar() -> Any:
    """Return a bar with a description, a count and the time that is left, for standard error."""
    from rich.console import Console  # late: only for some commands
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )  # late: only for some commands

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def print_support(as_json: bool) -> None:
    """Print what is done for each kind of target and host."""
    from ktc.targets.support import HOSTS, KERNELS  # late: only for some commands

    tables = {"kernels": KERNELS, "hosts": HOSTS}
    if as_json:
        print_json({title: [{name: getattr(row, name) for name in field_names(row)} for row in rows]
                    for title, rows in tables.items()})  # fmt: skip
        return
    heads = {
        "kernels": ("kernels for", "made", "checked by", "launched by", "tested on"),
        "hosts": ("hosts", "made", "linked by", "runs on", "tested on"),
    }
    for title, rows in tables.items():
        print_table(heads[title], [[getattr(row, name) for name in field_names(row)] for row in rows], columns=80)
        if title == "kernels":
            print()
