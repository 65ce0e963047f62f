"""Tables and code on standard output: with rich on a terminal, plain in a pipe.

In: rows, or the bytes of a stage. Out: nothing; standard output has it.
"""

import sys
from collections.abc import Sequence

_LEXERS = {
    "llvm": "llvm",
    "llvm-opt": "llvm",
    "asm": "gas",
}
_PTX = "ptx"
_STEP = 1024


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns; `head` may be empty."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(*head, show_header=bool(head), box=None, pad_edge=False)
        for row in rows:
            table.add_row(*(Text(cell, "bold" if index == 0 else "") for index, cell in enumerate(row)))
        Console().print(table)
        return
    widths = [max(len(row[column]) for row in (*rows, head) if row) for column in range(len(rows[0]))] if rows else []
    for row in (head, *rows) if head else rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


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
    from rich.console import Console
    from rich.syntax import Syntax

    lexer = _PTX if kind == "asm" and vendor == "nvidia" else _LEXERS.get(kind, "python")
    Console(soft_wrap=True).print(Syntax(text.rstrip("\n"), lexer, theme="ansi_dark", background_color="default"))


def human_size(size_bytes: int) -> str:
    """Return a size as a person reads it."""
    size = float(size_bytes)
    for unit in ("bytes", "KiB", "MiB"):
        if size < _STEP:
            return f"{size_bytes} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.1f} GiB"
