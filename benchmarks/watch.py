"""Rebuild on save: from the moment when a file is saved to the first line of what the new program writes.

    python benchmarks/watch.py [--saves N] [--json FILE] [FILE ...]

Each save changes one constant to a value never seen before; the save comes when the program has ended and the next
build is prepared. Without files: hello, the vector addition on the CPU device, and a program of 400 lines with 12
kernels, of which one changes.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
PAUSE_SECONDS = 1.5
"""From the end of a program to the next save: longer than the next build is prepared for."""
KERNELS, LINES = 12, 400


def many_kernels() -> str:
    """Return a program of 400 lines and 12 kernels; the first kernel has the constant."""
    body = [f"        sum += p[(i * {number} + 1) % n] * Float32({number})\n" for number in range(23)]
    kernels = [
        f"""
fn kernel_{number}(p: UnsafePointer[Float32, MutAnyOrigin], n: Int):
    var i = Int(global_idx.x)
    if i < n:
        var sum = Float32({"CONSTANT" if number == 0 else number})
{"".join(body)}        p[i] = sum

"""
        for number in range(KERNELS)
    ]
    launches = [
        f"    ctx.enqueue_function_checked[kernel_{number}, kernel_{number}](p, 64, grid_dim=1, block_dim=64)\n"
        for number in range(KERNELS)
    ]
    head = "from gpu import global_idx\nfrom gpu.host import DeviceContext\nfrom memory import UnsafePointer\n"
    main = "\ndef main():\n    var ctx = DeviceContext()\n    var p = ctx.enqueue_create_buffer[DType.float32](64)\n"
    text = head + "".join(kernels) + main + "".join(launches) + '    ctx.synchronize()\n    print("done")\n'
    assert text.count("\n") >= LINES * 0.9
    return text


def changed(text: str, number: int) -> str:
    """Return a program with a constant that no build has seen."""
    for old, new in (
        ("CONSTANT", str(number)),
        ("+ rhs_tensor[global_tid]", f"+ rhs_tensor[global_tid] * {number}"),
        ("Hello, world!", f"Hello, world {number}!"),
    ):
        if old in text:
            return text.replace(old, new, 1)
    return re.sub(r"\b\d+\b", str(number), text, count=1)


def measured(text: str, saves: int, folder: Path) -> tuple[float, list[float]]:
    """Return the seconds of the first build, and of each save."""
    file = folder / "prog.kpy"
    file.write_text(changed(text, 1))
    command = [sys.executable, "-m", "ktc", "run", "--watch", str(file)]
    start, found = time.perf_counter(), list[float]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        assert running.stdout is not None
        readline: Callable[[], str] = running.stdout.readline
        try:
            for number in range(saves + 1):
                first = readline()
                found.append(time.perf_counter() - start)
                while (line := first if first.startswith("ktc:") else readline()) and "exit code 0" not in line:
                    if not line or "not built" in line:
                        raise SystemExit(f"the program was not built: {line}")
                time.sleep(PAUSE_SECONDS)
                if number < saves:
                    start = time.perf_counter()
                    file.write_text(changed(text, time.time_ns() % 1_000_000 + 2))
        finally:
            running.terminate()
    return found[0], found[1:]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--saves", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    programs = {path.name: path.read_text("utf-8") for path in options.files} or {
        "hello": (HERE / "hello.kpy").read_text("utf-8"),
        "vector addition": (HERE / "vector_addition.kpy").read_text("utf-8"),
        f"{LINES} lines, {KERNELS} kernels": many_kernels(),
    }
    console = Console()
    console.print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", highlight=False)
    table = Table(title=f"from a save to the output, {options.saves} saves")
    for head in ("program", "first build", "median", "least", "most"):
        table.add_column(head, justify="left" if head == "program" else "right")
    kept = {}
    for name, text in programs.items():
        with tempfile.TemporaryDirectory(prefix="ktc-watch-") as folder:
            first, times = measured(text, options.saves, Path(folder))
        kept[name] = {"first": first, "saves": times}
        shown = (first, statistics.median(times), min(times), max(times))
        table.add_row(name, *(f"{seconds:.3f} s" for seconds in shown))
    console.print(table)
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
