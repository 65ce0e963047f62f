"""What ordinary programs cost: cold builds of a folder's programs, and elaboration for each LLVM instruction.

    python benchmarks/ordinary.py [FOLDER ...] [--repeat N] [--limit N]

Each program (of tests/run, if no folder is named; without those with an error or a command line of their own) is built
for the processor N times, with a cache that holds what a build of another program leaves there. Told are the median and
the longest of the programs' times, and how much processor time the elaborator took for each LLVM instruction that it
handed on (`--time-json`, without the phases inside it), summed over all programs: of each program's builds the one in
the middle, and the fastest, which says more on a machine that does other things besides.
"""

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from compile import WARM_UP  # the script beside this one

USUAL = Path(__file__).parent.parent / "tests" / "run"


def programs(folders: list[Path]) -> Iterator[Path]:
    """Give the programs that are built as they stand."""
    for folder in folders:
        for path in sorted(folder.rglob("*.kpy")):
            text = path.read_text(encoding="utf-8")
            has_main = "def main" in text or "fn main" in text
            if has_main and not any(path.with_suffix(one).exists() for one in (".args", ".flags", ".rc")):
                yield path


def build(ktc: list[str], source: Path, folder: Path) -> tuple[float, float, int] | None:
    """Return seconds of wall time, seconds of elaboration, and LLVM instructions; None if it is not built."""
    words = [*ktc, "build", "--target-accelerator", "cpu", str(source), "-o", str(folder / "program")]
    began = time.perf_counter()
    done = subprocess.run(
        [*words, "--time-json", str(folder / "times.json")],
        env={**os.environ, "KTC_CACHE_DIR": str(folder / "cache")}, capture_output=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    if done.returncode:
        return None
    phases = json.loads((folder / "times.json").read_text())["phases"]
    elaboration = sum(phase["own_cpu"] for phase in phases if phase["name"] == "elaborate")
    return seconds, elaboration, sum(phase["instructions"] for phase in phases if phase["name"] == "lower")


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=int, help="measure only so many programs, spread over all")
    options = parser.parse_args()
    ktc = shlex.split(os.environ.get("KTC", "")) or [sys.executable, "-m", "ktc"]
    chosen = list(programs(options.folders or [USUAL]))
    chosen = chosen[:: max(1, len(chosen) // options.limit)] if options.limit else chosen
    times: list[float] = []
    middle = least = instructions = 0.0
    left_out = 0
    with tempfile.TemporaryDirectory() as work:
        folder, warm = Path(work), Path(work, "warm")
        (folder / "warm.kpy").write_text(WARM_UP)
        build(ktc, folder / "warm.kpy", folder)
        (folder / "cache").rename(warm)
        for source in chosen:
            found = []
            for _ in range(options.repeat):
                shutil.rmtree(folder / "cache", ignore_errors=True)
                shutil.copytree(warm, folder / "cache")
                found.append(build(ktc, source, folder))
            measured = [one for one in found if one is not None]
            if not measured:
                left_out += 1
                continue
            times.append(statistics.median(one[0] for one in measured))
            middle += statistics.median(one[1] for one in measured)
            least += min(one[1] for one in measured)
            instructions += measured[0][2]
    if not times:
        sys.exit("ordinary.py: no program was built")
    print(f"{len(times)} programs ({left_out} were not built), cold, median of {options.repeat} builds each:")
    print(f"  build:       median {statistics.median(times):.2f} s, longest {max(times):.2f} s")
    print(
        f"  elaboration: {middle / instructions * 1e6:.1f} µs for an LLVM instruction"
        f" ({least / instructions * 1e6:.1f} in the fastest builds; {instructions:.0f} instructions)"
    )


if __name__ == "__main__":
    main()
