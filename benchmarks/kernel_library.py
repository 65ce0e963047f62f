"""The kernel library against NVIDIA's: cuBLAS and cuDNN through PyTorch, cub through nvcc, on one NVIDIA GPU.

    python benchmarks/kernel_library.py                      # builds benchmarks/library/*.kpy, runs them, prints tables
    python benchmarks/kernel_library.py --chart docs/kernel_library.svg
    python benchmarks/kernel_library.py --programs FOLDER    # runs executables that were built before
    python benchmarks/kernel_library.py --tables attention --json FILE

Beside them are kernels in Triton, of `gpu_triton.py`, where they take the shape. A ratio above 1 says that ktc's kernel
is faster. Both sides are graphs of ten launches, replayed; what allocates, a sort for example, is called ten times. The
least of five rounds counts.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "library"
PROGRAMS = ("products", "attention", "gradients", "convolutions", "rows", "algorithms")
TOGETHER, ROUNDS, LEAST_MS = 10, 5, 2.0

MOST_DRAWN = 2.0

Work = Callable[[], object]
Table = dict[str, tuple[float, float | None, float | None]]
"""Microseconds of ktc, of the library and of Triton for each line."""

TRITON_SHAPES = ((128, 256, 64, 8, 3), (128, 128, 64, 4, 4), (64, 256, 64, 4, 4))
"""Rows, columns and depth of tiles, warps and stages; the best counts."""


def microseconds(torch: Any, work: Work) -> float:
    """Return the time of a call."""
    work()
    work()
    torch.cuda.synchronize()

    def calls() -> None:
        for _ in range(TOGETHER):
            work()

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        calls()
    run: Work = graph.replay
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def elapsed(times: int) -> float:
        first.record()
        for _ in range(times):
            run()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / times

    least = elapsed(1)
    times = max(1, min(20, int(LEAST_MS / least)))
    return min(least, *(elapsed(times) for _ in range(ROUNDS))) * 1e3 / TOGETHER


def of_product(torch: Any, name: str) -> Work:
    """Return cuBLAS's product for a line of `products`."""
    kind, *extents = name.split()
    m, n, k = map(int, extents)
    dtype = {"bf16": torch.bfloat16, "fp32": torch.float32, "fp8": torch.float8_e4m3fn}[kind]
    a = (torch.rand(m, k, device="cuda") * 2 - 1).to(dtype)
    b = (torch.rand(n, k, device="cuda") * 2 - 1).to(dtype).t()
    if kind == "fp8":
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)
    if kind == "fp32":
        b = b.contiguous()
    out = torch.empty(m, n, device="cuda", dtype=dtype)
    return lambda: torch.mm(a, b, out=out)


def of_attention(torch: Any, name: str) -> Work:
    """Return cuDNN's attention for a line of `attention`."""
    heads, length, depth = map(int, name.split()[:3])
    is_causal = name.endswith("causal")
    q, k, v = (torch.randn(1, heads, length, depth, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    attend = torch.nn.functional.scaled_dot_product_attention
    backend = torch.nn.attention.SDPBackend.CUDNN_ATTENTION

    def work() -> object:
        with torch.nn.attention.sdpa_kernel(backend):
            return attend(q, k, v, is_causal=is_causal)

    return work


def time_of_gradient(torch: Any, name: str) -> float:
    """Return the time of cuDNN's gradient for a line of `gradients`: that of both directions without the first."""
    heads, length, depth = map(int, name.split()[:3])
    is_causal = name.endswith("causal")
    q, k, v = (
        torch.randn(1, heads, length, depth, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)
    )
    gradient = torch.randn(1, heads, length, depth, device="cuda", dtype=torch.bfloat16)
    attend = torch.nn.functional.scaled_dot_product_attention
    backend = torch.nn.attention.SDPBackend.CUDNN_ATTENTION

    def forth() -> Any:
        with torch.nn.attention.sdpa_kernel(backend):
            return attend(q, k, v, is_causal=is_causal)

    def both() -> object:
        return torch.autograd.grad(forth(), (q, k, v), gradient)

    return microseconds(torch, both) - microseconds(torch, forth)


def of_convolution(torch: Any, name: str) -> Work:
    """Return cuDNN's convolution for a line of `convolutions`."""
    batches, size, channels, filters, window, stride = map(int, name.split())
    order = torch.channels_last
    x = torch.randn(batches, channels, size, size, device="cuda", dtype=torch.bfloat16).to(memory_format=order)
    f = torch.randn(filters, channels, window, window, device="cuda", dtype=torch.bfloat16).to(memory_format=order)
    torch.backends.cudnn.benchmark = True
    return lambda: torch.nn.functional.conv2d(x, f, stride=stride, padding=window // 2)


def of_row(torch: Any, name: str) -> Work:
    """Return PyTorch's softmax or norm for a line of `rows`."""
    kind, word, *extents = name.split()
    rows, columns = map(int, extents)
    x = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16 if word == "bf16" else torch.float32)
    weight, y = torch.ones(columns, device="cuda", dtype=x.dtype), torch.empty_like(x)
    functional = torch.nn.functional
    works: dict[str, Work] = {
        "softmax": lambda: torch.softmax(x, -1),
        "log_softmax": lambda: torch.log_softmax(x, -1),
        "rms_norm": lambda: functional.rms_norm(x, (columns,), weight, 1e-6),
        "layer_norm": lambda: functional.layer_norm(x, (columns,), weight, weight, 1e-6),
        "copy": lambda: y.copy_(x),
    }
    return works[kind]


def time_in_triton(torch: Any, program: str, name: str) -> float | None:
    """Return the time of a kernel in Triton for a line, if there is one for it."""
    words = name.split()
    if program == "products" and words[0] == "bf16" and words[1] == words[2] and int(words[3]) % 8 == 0:
        return _product_in_triton(torch, *map(int, words[1:]))
    if program == "attention":
        return _attention_in_triton(torch, *map(int, words[:3]), is_causal=words[3] == "causal")
    return None


def _product_in_triton(torch: Any, m: int, n: int, k: int) -> float:
    kernel = import_module("gpu_triton").product
    a, b = (torch.randn(rows, k, device="cuda", dtype=torch.bfloat16) for rows in (m, n))
    c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)

    def work(shape: tuple[int, int, int, int, int]) -> Work:
        rows, columns, depth, warps, stages = shape
        grid = (-(-m // rows) * -(-n // columns),)
        return lambda: kernel[grid](a, b, c, m, n, k, rows, columns, depth, 8, num_warps=warps, num_stages=stages)

    return min(microseconds(torch, work(shape)) for shape in TRITON_SHAPES)


def _attention_in_triton(torch: Any, heads: int, length: int, depth: int, is_causal: bool) -> float:
    kernel = import_module("gpu_triton").attention
    q, k, v, output = (torch.randn(heads, length, depth, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    rows, columns, factor = 128, 128 if depth == 64 else 64, math.log2(math.e) / math.sqrt(depth)
    grid = (length // rows, heads)
    return microseconds(
        torch,
        lambda: kernel[grid](
            q, k, v, output, factor, length, depth, rows, columns, is_causal, num_warps=8, num_stages=3
        ),
    )


def times_of_cub(folder: Path) -> dict[str, float]:
    """Run cub.cu, built before if it is not in the folder yet; return microseconds by line."""
    program = folder / "cub"
    if not program.exists():
        command = ["nvcc", "-O3", "-std=c++17", "-arch=native", str(HERE / "cub.cu"), "-o", str(program)]
        subprocess.run(command, check=True)
    return times_of(program)


def times_of(program: Path) -> dict[str, float]:
    """Run a program; return microseconds by line."""
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise OSError(f"{program.name} ended with {done.returncode}: {done.stderr or done.stdout}")
    lines = (line.split("\t") for line in done.stdout.splitlines() if "\t" in line)
    return {name: float(time) for name, time in lines}


def built(folder: Path, names: Sequence[str]) -> Path:
    """Build programs into a folder."""
    for name in names:
        command = [sys.executable, "-m", "ktc", "build", str(HERE / f"{name}.kpy"), "-o", str(folder / name)]
        subprocess.run(command, check=True)
    return folder


def table(title: str, rows: Table) -> None:
    """Print a table with the geometric mean of its ratios."""
    has_triton = any(triton for _, _, triton in rows.values())
    print(f"\n| {title} | ktc, µs | library, µs | library / ktc |" + " Triton, µs |" * has_triton)
    print("| --- | --- | --- | --- |" + " --- |" * has_triton)
    for name, (own, other, triton) in rows.items():
        times = f"{other:.2f} | {other / own:.2f}" if other else " | "
        print(f"| {name} | {own:.2f} | {times} |" + (f" {triton:.2f} |" if triton else " |") * has_triton)
    ratios = [math.log(other / own) for own, other, _ in rows.values() if other is not None]
    if ratios:
        mean = math.exp(sum(ratios) / len(ratios))
        print(f"| **geometric mean** | | | **{mean:.3f}** |" + " |" * has_triton, flush=True)


def compared(torch: Any, program: str, times: dict[str, float], folder: Path) -> Table:
    """Return the times of a program beside the library's."""
    if program == "algorithms":
        others = times_of_cub(folder)
        return {name: (own, others.get(name), None) for name, own in times.items()}
    timed: dict[str, Callable[[str], float]] = {
        "products": lambda name: microseconds(torch, of_product(torch, name)),
        "attention": lambda name: microseconds(torch, of_attention(torch, name)),
        "convolutions": lambda name: microseconds(torch, of_convolution(torch, name)),
        "rows": lambda name: microseconds(torch, of_row(torch, name)),
        "gradients": lambda name: time_of_gradient(torch, name),
    }
    rows: Table = {}
    for name, own in times.items():
        other = triton = None
        try:
            other = timed[program](name)
            triton = time_in_triton(torch, program, name)
        except (ImportError, RuntimeError) as error:
            print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
        rows[name] = (own, other, triton)
    return rows


def draw(found: dict[str, Table], path: Path) -> None:
    """Draw the ratios of all tables to an .svg: a panel for each."""
    plotting: Any = import_module("matplotlib")
    plotting.use("Agg")
    plotting.rcParams["svg.hashsalt"] = "ktc"
    pyplot: Any = import_module("matplotlib.pyplot")
    ratios_of = {
        name: [(line, other / own) for line, (own, other, _) in table.items() if other] for name, table in found.items()
    }
    rows = {name: lines for name, lines in ratios_of.items() if lines}
    heights = [len(lines) + 2 for lines in rows.values()]
    figure, panels = pyplot.subplots(
        len(rows), 1, figsize=(8, 0.2 * sum(heights)), height_ratios=heights, sharex=True, squeeze=False
    )
    for axes, (name, lines) in zip(panels[:, 0], rows.items(), strict=True):
        ratios = [min(ratio, MOST_DRAWN) for _, ratio in lines]
        axes.barh(range(len(lines)), ratios, color=["#2b6cb0" if ratio >= 1 else "#b7791f" for ratio in ratios])
        axes.set_yticks(range(len(lines)), [line for line, _ in lines], fontsize=7)
        axes.axvline(1, color="black", lw=0.8)
        axes.invert_yaxis()
        axes.set_title(name, fontsize=9, loc="left")
        axes.margins(y=0.01)
    panels[-1, 0].set_xlabel(f"NVIDIA's time / ktc's: above 1, ktc is faster (cut at {MOST_DRAWN})")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--tables", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--chart", type=Path)
    parser.add_argument("--measured", type=Path, help="a file of --json: draw it, measure nothing")
    given = parser.parse_args()
    if given.measured:
        draw(json.loads(given.measured.read_text("utf-8")), given.chart)
        return
    torch = import_module("torch")
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)
    found: dict[str, Table] = {}
    with tempfile.TemporaryDirectory() as folder:
        programs = given.programs or built(Path(folder), given.tables)
        for name in given.tables:
            try:
                found[name] = compared(torch, name, times_of(programs / name), programs)
            except (OSError, subprocess.SubprocessError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                continue
            table(name, found[name])
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), "utf-8")
    if given.chart:
        draw(found, given.chart)


if __name__ == "__main__":
    main()
