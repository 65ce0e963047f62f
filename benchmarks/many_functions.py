"""How builds grow with functions that `main` calls: processor time of cold builds, with a warm archive.

python benchmarks/many_functions.py [--counts 50,200,400,1000]
"""

import argparse
import math
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from compile import WARM_UP  # the script beside this one


def program(count: int) -> str:
    """Return a program of so many functions, each with a loop and a condition."""
    functions = [
        f"fn work{number}(a: Int, b: Int) -> Int:\n    var total = {number}\n    for j in range(a):\n"
        f"        if (j + b) % {number % 7 + 2} == 0:\n            total += j * {number % 13 + 1}\n"
        f"        else:\n            total -= b\n    return total\n\n"
        for number in range(count)
    ]
    calls = [f"    total += work{number}(total % 100, {number})\n" for number in range(count)]
    return "".join([*functions, "def main():\n    var total = 0\n", *calls, "    print(total)\n"])


def build(ktc: list[str], source: Path, cache: Path) -> float:
    """Build; returns user and system seconds of all processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [*ktc, "build", "--target-accelerator", "cpu", str(source), "-o", str(source.with_suffix(".out"))],
        env={**os.environ, "KTC_CACHE_DIR": str(cache)}, check=True, capture_output=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--counts", default="50,200,400,1000")
    counts = [int(word) for word in parser.parse_args().counts.split(",")]
    ktc = shlex.split(os.environ.get("KTC", "")) or [sys.executable, "-m", "ktc"]
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        (folder / "warm.kpy").write_text(WARM_UP)
        build(ktc, folder / "warm.kpy", folder / "warm")
        times = []
        for count in counts:
            shutil.rmtree(folder / "cache", ignore_errors=True)
            shutil.copytree(folder / "warm", folder / "cache")
            (folder / "many.kpy").write_text(program(count))
            times.append(build(ktc, folder / "many.kpy", folder / "cache"))
            print(f"{count:6} functions: {times[-1]:6.2f} s", flush=True)
    exponent = math.log(times[-1] / times[0]) / math.log(counts[-1] / counts[0])
    print(f"exponent from {counts[0]} to {counts[-1]}: {exponent:.2f}")


if __name__ == "__main__":
    main()
