"""The kernel library against PyTorch's: cuBLAS, cuDNN, FlashAttention and cub, on one NVIDIA GPU.

    python benchmarks/kernel_library.py                      # builds benchmarks/library/*.kpy, runs them, prints tables
    python benchmarks/kernel_library.py --programs FOLDER    # runs executables that were built before
    python benchmarks/kernel_library.py --json FILE

A ratio above 1 says that ktc's kernel is faster. Both sides are graphs of ten launches, replayed; what allocates, a
sort for example, is called ten times. The least of five rounds counts.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "library"
PROGRAMS = ("products", "attention", "algorithms")
TOGETHER, ROUNDS, LEAST_MS = 10, 5, 2.0
COUNT = 1 << 26

Work = Callable[[], object]


def microseconds(torch: Any, work: Work, *, as_graph: bool = True) -> float:
    """Return the time of a call."""
    work()
    work()
    torch.cuda.synchronize()

    def calls() -> None:
        for _ in range(TOGETHER):
            work()

    run: Work = calls
    if as_graph:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            calls()
        run = graph.replay
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


def of_algorithm(torch: Any, name: str) -> Work | None:
    """Return what PyTorch (cub) has for a line of `algorithms`, if anything."""
    x = torch.rand(COUNT, device="cuda")
    keys = torch.randint(0, 2**31 - 1, (COUNT,), device="cuda", dtype=torch.int32)
    works: dict[str, Work] = {
        "sum": x.sum,
        "cumsum": lambda: x.cumsum(0),
        "select": lambda: torch.masked_select(keys, keys < 2**30),
        "unique": lambda: torch.unique_consecutive(keys),
        "histogram": lambda: torch.histc(x, 256, 0, 1),
        "sort pairs": lambda: torch.sort(keys),
    }
    return works.get(name)


def times_of(program: Path) -> dict[str, float]:
    """Run a program; return microseconds by line."""
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        sys.exit(f"{program.name}: {done.stderr or done.stdout}")
    lines = (line.split("\t") for line in done.stdout.splitlines() if "\t" in line)
    return {name: float(time) for name, time in lines}


def built(folder: Path) -> Path:
    """Build all programs into a folder."""
    for name in PROGRAMS:
        command = [sys.executable, "-m", "ktc", "build", str(HERE / f"{name}.kpy"), "-o", str(folder / name)]
        subprocess.run(command, check=True)
    return folder


def table(title: str, rows: dict[str, tuple[float, float | None]]) -> None:
    """Print a table with the geometric mean of its ratios."""
    print(f"\n| {title} | ktc, µs | library, µs | library / ktc |\n| --- | --- | --- | --- |")
    for name, (own, other) in rows.items():
        if other is None:
            print(f"| {name} | {own:.2f} | | |")
        else:
            print(f"| {name} | {own:.2f} | {other:.2f} | {other / own:.2f} |")
    ratios = [math.log(other / own) for own, other in rows.values() if other is not None]
    if ratios:
        print(f"| **geometric mean** | | | **{math.exp(sum(ratios) / len(ratios)):.3f}** |", flush=True)


def compared(torch: Any, program: str, times: dict[str, float]) -> dict[str, tuple[float, float | None]]:
    """Return the times of a program beside the library's."""
    made = {"products": of_product, "attention": of_attention, "algorithms": of_algorithm}[program]
    rows: dict[str, tuple[float, float | None]] = {}
    for name, own in times.items():
        other = None
        try:
            work = made(torch, name)
            if work is not None:
                other = microseconds(torch, work, as_graph=program != "algorithms")
        except RuntimeError as error:
            print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
        rows[name] = (own, other)
    return rows


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch = import_module("torch")
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        programs = given.programs or built(Path(folder))
        for name in PROGRAMS:
            found[name] = compared(torch, name, times_of(programs / name))
            table(name, found[name])
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main()
