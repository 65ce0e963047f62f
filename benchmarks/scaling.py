"""How the cost of a build grows: with the number of kernels, the size of one kernel, and the depth of instantiation.

    python benchmarks/scaling.py [--repeat N] [--accelerator NAME] [--json FILE] [--quick] [--only TEXT]

Each series is a family of generated programs. Printed is the median of user and system time, of elapsed time and of the
peak memory of all processes, and the exponent p of cost = a + b * n**p that fits best: with 1 the cost of one more is
always the same; "flat" stands where the largest costs less than half more than the smallest, and a fit would be one of
noise. The cache holds what another program leaves there (grammar, parsed library, its archive). The last
table is the backend alone, LLVM for 50 kernels, in one process and in several.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ktc.bench import compile_runs
from rich.console import Console
from rich.table import Table

HEAD = """\
from gpu import global_idx
from gpu.host import DeviceContext
from memory import UnsafePointer
"""
MAIN = """

fn launch[number: Int](ctx: DeviceContext) raises:
    var buffer = ctx.enqueue_create_buffer[DType.float32](64)
    ctx.enqueue_function_checked[kernel[number], kernel[number]](buffer, 64, grid_dim=1, block_dim=64)


def main():
    var ctx = DeviceContext()
"""


def many_kernels(count: int) -> str:
    """Return a program of `count` instances of one kernel."""
    kernel = """

fn kernel[number: Int](p: UnsafePointer[Float32, MutAnyOrigin], n: Int):
    var i = Int(global_idx.x)
    if i < n:
        var sum = Float32(number)
        for k in range(i):
            sum += p[k] * Float32(k % (number + 1))
        p[i] = sum
"""
    return HEAD + kernel + MAIN + "".join(f"    launch[{number}](ctx)\n" for number in range(count))


def large_kernel(size: int) -> str:
    """Return a program whose one kernel has `size` statements."""
    lines = [
        f"        sum = sum * p[(i + {number}) % n] + Float32({number % 7}) / (sum + Float32({number % 5 + 1}))\n"
        for number in range(size)
    ]
    kernel = """

fn kernel[number: Int](p: UnsafePointer[Float32, MutAnyOrigin], n: Int):
    var i = Int(global_idx.x)
    if i < n:
        var sum = Float32(number)
"""
    return HEAD + kernel + "".join(lines) + "        p[i] = sum\n" + MAIN + "    launch[1](ctx)\n"


def deep_instances(depth: int) -> str:
    """Return a program whose kernel calls a function that instantiates itself `depth` times."""
    kernel = """

fn step[depth: Int](x: Float32) -> Float32:
    @parameter
    if depth == 0:
        return x
    else:
        return step[depth - 1](x * Float32(depth) + 1)


fn kernel[number: Int](p: UnsafePointer[Float32, MutAnyOrigin], n: Int):
    var i = Int(global_idx.x)
    if i < n:
        p[i] = step[number](p[i])
"""
    return HEAD + kernel + MAIN + f"    launch[{depth}](ctx)\n"


def many_functions(count: int) -> str:
    """Return a program of `count` functions; a hundred others call a hundred of them each, `main` calls these."""
    own = [f"fn f{number}(x: Int) -> Int:\n    return x * {number} + x // 3\n\n\n" for number in range(count)]
    groups = range(0, count, 100)
    for first in groups:
        calls = [f"    sum += f{number}(sum)\n" for number in range(first, min(first + 100, count))]
        own += [f"fn group{first}(x: Int) -> Int:\n    var sum = x\n", *calls, "    return sum\n\n\n"]
    return "".join([*own, "def main():\n", *[f"    print(group{first}(1))\n" for first in groups]])


def many_lines(count: int) -> str:
    """Return a program whose `main` has `count` lines."""
    lines = [f"    sum += {number}\n" for number in range(count)]
    return "".join(["def main():\n    var sum = 0\n", *lines, "    print(sum)\n"])


def long_display(count: int) -> str:
    """Return a program with a list of `count` numbers."""
    return f"def main():\n    var items = [{', '.join(map(str, range(count)))}]\n    print(len(items))\n"


def long_call(count: int) -> str:
    """Return a program that prints `count` arguments in one call; 4,096 are the most."""
    return f"def main():\n    print({', '.join(map(str, range(count)))})\n"


def chained_traits(count: int) -> str:
    """Return a program with `count` traits, each of which extends the one before."""
    method = "    fn f{0}(self) -> Int:\n        {1}\n\n"
    head = "trait T0:\n" + method.format(0, "...") + "\n"
    rest = [f"trait T{one}(T{one - 1}):\n{method.format(one, '...')}\n" for one in range(1, count)]
    own = [method.format(one, f"return {one}") for one in range(count)]
    struct = f"struct S(T{count - 1}):\n    fn __init__(out self):\n        pass\n\n{''.join(own)}\n"
    call = f"fn call[X: T{count - 1}](x: X) -> Int:\n    return x.f0() + x.f{count - 1}()\n\n\n"
    return f"{head}{''.join(rest)}{struct}{call}def main():\n    print(call(S()))\n"


def many_barriers(count: int) -> str:
    """Return a program whose kernel has `count` barriers, for the CPU device."""
    head = HEAD.replace("import global_idx", "import barrier, thread_idx")
    steps = [f"    p[(i + {number}) % 64] += {number}\n    barrier()\n" for number in range(count)]
    kernel = (
        "\n\nfn kernel[number: Int](p: UnsafePointer[Float32, MutAnyOrigin], n: Int):\n    var i = Int(thread_idx.x)\n"
    )
    return head + kernel + "".join(steps) + MAIN + "    launch[1](ctx)\n"


GROWTH = 1.5
"""A series that grows by less than this has no exponent."""

SERIES: tuple[tuple[str, Callable[[int], str], tuple[int, ...], str], ...] = (
    ("kernels", many_kernels, (1, 10, 50, 200), ""),
    ("statements of one kernel", large_kernel, (10, 100, 400, 1600), ""),
    ("depth of instantiation", deep_instances, (5, 25, 100, 300), ""),
    ("functions", many_functions, (250, 1000, 4000, 16_000), "cpu"),
    ("lines of one function", many_lines, (1000, 4000, 16_000, 64_000), "cpu"),
    ("items of a list", long_display, (500, 2000, 8000, 32_000), "cpu"),
    ("arguments of a call", long_call, (100, 400, 1600, 4096), "cpu"),
    ("traits in a chain", chained_traits, (25, 100, 400, 800), "cpu"),
    ("barriers of one kernel", many_barriers, (15, 60, 240, 480), "cpu"),
)
"""Name, program, sizes, and the accelerator where it is not that of the command."""


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Return p of the best fit of cost = a + b * n**p, by trying p; for each p, a and b are the least squares."""
    best = (math.inf, 0.0)
    for hundredths in range(20, 301):
        power = hundredths / 100
        grown = [size**power for size in sizes]
        mean_x, mean_y = statistics.fmean(grown), statistics.fmean(costs)
        spread = sum((x - mean_x) ** 2 for x in grown)
        slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(grown, costs, strict=True)) / spread
        rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in zip(grown, costs, strict=True))
        best = min(best, (rest, power))
    return best[1]


class Bencher:
    """Builds generated programs, each with a fresh cache."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder, self.options = folder, options
        self.warm = folder / "warm"
        self.build('def main():\n    print("warm", 1, 2.5, String("up"))\n', self.warm, ())

    def build(
        self, text: str, cache: Path, more: Sequence[str], accelerator: str = ""
    ) -> tuple[compile_runs.Run, dict[str, object]]:
        """Build one program and return what it took, and what ktc says of its phases."""
        source, times = self.folder / "program.kpy", self.folder / "times.json"
        source.write_text(text)
        words = [
            *compile_runs.own_command(), "build", "--target-accelerator", accelerator or self.options.accelerator,
            *more, str(source), "-o", str(self.folder / "program"), "--time-json", str(times),
        ]  # fmt: skip
        made = compile_runs.run(words, {"KTC_CACHE_DIR": str(cache)})
        return made, json.loads(times.read_text())

    def cold(self, text: str, *more: str, accelerator: str = "") -> list[tuple[compile_runs.Run, dict[str, object]]]:
        """Build with a copy of the warm cache, as often as requested."""
        found = []
        for _ in range(self.options.repeat):
            with tempfile.TemporaryDirectory(dir=self.folder) as name:
                cache = Path(name) / "cache"
                shutil.copytree(self.warm, cache)
                found.append(self.build(text, cache, more, accelerator))
        return found


def series(bencher: Bencher, console: Console, quick: bool, only: str) -> dict[str, object]:
    """Measure and print every series, or those whose name has `only` in it."""
    kept: dict[str, object] = {}
    for name, program, sizes, accelerator in [one for one in SERIES if only in one[0]]:
        chosen = sizes[:-1] if quick else sizes
        table = Table(title=f"cost by {name}")
        for head in (name, "user+sys (s)", "elapsed (s)", "peak memory (MB)", "elaborate (CPU s)"):
            table.add_column(head, justify="right")
        costs: list[list[float]] = []
        for size in chosen:
            runs = bencher.cold(program(size), accelerator=accelerator)
            spent = [
                statistics.median(run.cpu for run, _ in runs), statistics.median(run.elapsed for run, _ in runs),
                statistics.median(run.tree_bytes for run, _ in runs) / 1e6,
                statistics.median(phase_cpu(times, "elaborate") for _, times in runs),
            ]  # fmt: skip
            costs.append(spent)
            table.add_row(str(size), *(f"{value:.2f}" for value in spent))
        powers = [exponent(chosen, [row[column] for row in costs]) for column in range(4)]
        grown = [max(column) / min(column) for column in zip(*costs, strict=True)]
        shown = [f"{power:.2f}" if by >= GROWTH else "flat" for power, by in zip(powers, grown, strict=True)]
        table.add_row("exponent", *shown, style="bold")
        console.print(table)
        kept[name] = {"sizes": chosen, "costs": costs, "exponents": powers}
    return kept


def phase_cpu(times: dict[str, object], name: str) -> float:
    """Return the CPU seconds of a phase."""
    phases = times["phases"]
    assert isinstance(phases, list)
    return sum(float(phase["own_cpu"]) for phase in phases if phase["name"] == name)


def backend(times: dict[str, object]) -> float:
    """Return the seconds from the beginning of LLVM's first job to the end of its last, the host's included."""
    phases = times["phases"]
    assert isinstance(phases, list)
    llvm = [one for one in phases if one["name"] in ("optimise", "emit")]
    return max(one["start"] + one["wall"] for one in llvm) - min(one["start"] for one in llvm)


def parallel(bencher: Bencher, console: Console) -> dict[str, float]:
    """Compare one process of LLVM with one for each core, on 50 kernels of some size."""
    text = many_kernels(50).replace("sum += p[k]", "sum += p[(k * 7 + number) % n] / (sum + 1) + p[k]")
    found = {}
    table = Table(title="LLVM for 50 kernels and their host")
    for head in ("processes", "elapsed (s)", "times faster"):
        table.add_column(head, justify="right")
    for jobs in (1, os.cpu_count() or 1):
        found[str(jobs)] = statistics.median(backend(times) for _, times in bencher.cold(text, "-j", str(jobs)))
        table.add_row(str(jobs), f"{found[str(jobs)]:.3f}", f"{found['1'] / found[str(jobs)]:.2f}")
    console.print(table)
    return found


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--accelerator", default="sm_80")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", metavar="TEXT", help="only the series with this in their names")
    parser.add_argument("--quick", action="store_true", help="leave out the largest of each series")
    options = parser.parse_args()
    console = Console()
    console.width = max(console.width, 100)
    console.print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, median of {options.repeat}", highlight=False)
    with tempfile.TemporaryDirectory(prefix="ktc-scaling-") as name:
        bencher = Bencher(Path(name), options)
        kept = series(bencher, console, options.quick, options.only)
        if not options.only:
            kept["parallel"] = parallel(bencher, console)
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
