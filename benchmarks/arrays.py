"""Compare arrays of `ndarray` with numpy on the CPU, and with torch and cupy on a GPU, in one run.

    python benchmarks/arrays.py [cpu|gpu] [--exe FILE] [--processor-time]

`--exe`: an executable of benchmarks/arrays.kpy; without it, it is built here. The times are medians, in microseconds;
the ratio is the other library's time over that of `ndarray`. `--processor-time` counts the time of all threads, which
says something on a busy machine, too.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LOG_SIZE, SIDE = 24, 2048


def times_of_ndarray(exe: str, device: str, last: list[str]) -> dict[str, float]:
    """Return the times that the executable shows."""
    done = subprocess.run([exe, device, str(LOG_SIZE), str(SIDE), *last], check=True, capture_output=True, text=True)
    rows = [line.rsplit(" ", 2) for line in done.stdout.splitlines()]
    return {name: float(time) for name, _, time in rows}


def works(xp: Any, like: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return the same work for a library whose functions are named as numpy's."""
    size = 1 << LOG_SIZE
    a, b, row = (xp.rand(n, **like) if like else xp.random.rand(n).astype(xp.float32) for n in (size, size, 4096))
    x, y = (xp.rand(SIDE, SIDE, **like) if like else xp.random.rand(SIDE, SIDE).astype(xp.float32) for _ in range(2))
    table = a.reshape(-1, 4096)
    return {
        "add": lambda: a + b,
        "chain": lambda: xp.sqrt((a * 2 + b) * a - b / 3),
        "smooth": lambda: xp.exp(xp.sin(a) ** 2 + xp.cos(b) ** 2) / 2,
        "broadcast": lambda: table * row + 1,
        "sum": lambda: float(a.sum()),
        "distance": lambda: float(((a - b) ** 2).sum()),
        "sum of rows": lambda: table.sum(1),
        "sum of columns": lambda: table.sum(0),
        "matmul": lambda: x @ y,
    }


def times_of(
    xp: Any, like: dict[str, Any], wait: Callable[[], None], turns: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return the median time of each work, in microseconds, measured as the executable does."""
    found = {}
    for name, work in works(xp, like).items():
        work()
        wait()
        times = []
        for _ in range(turns if name != "matmul" else max(turns // 10, 1)):
            start = clock()
            for _ in range(10):
                work()
            wait()
            times.append((clock() - start) * 1e5)
        found[name] = statistics.median(times)
    return found


def others(device: str, clock: Callable[[], float]) -> dict[str, dict[str, float]]:
    """Return the times of the other libraries that are here."""
    if device == "cpu":
        import numpy

        return {"numpy": times_of(numpy, {}, lambda: None, 5, clock)}
    found = {}
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    found["torch"] = times_of(torch, {"device": "cuda"}, torch.cuda.synchronize, 51)
    try:
        import cupy

        found["cupy"] = times_of(cupy, {}, cupy.cuda.Device().synchronize, 51)
    except ImportError:
        pass
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("device", nargs="?", default="cpu", choices=["cpu", "gpu"])
    parser.add_argument("--exe")
    parser.add_argument("--processor-time", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        exe = given.exe or str(Path(folder) / "ndarray")
        if not given.exe:
            source = Path(__file__).with_suffix(".kpy")
            target = "sm_90,cpu" if given.device == "gpu" else "cpu"
            subprocess.run(["ktc", "build", source, "--target-accelerator", target, "-o", exe], check=True)
        last = ["processor"] if given.processor_time else []
        own = times_of_ndarray(exe, given.device, last)
        rest = others(given.device, time.process_time if given.processor_time else time.perf_counter)
        own2 = times_of_ndarray(exe, given.device, last)
    print(f"{'':16}{'ndarray':>12}" + "".join(f"{name:>12}{'ratio':>8}" for name in rest))
    for name in own:
        best = min(own[name], own2[name])
        row = "".join(f"{times[name]:12.1f}{times[name] / best:8.2f}" for times in rest.values())
        print(f"{name:16}{best:12.1f}{row}")


if __name__ == "__main__":
    main()
