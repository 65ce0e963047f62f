"""What `--check` costs: the kernels of benchmarks/cpu_device.py on the CPU device, without checks and with some or all.

    python benchmarks/checks.py [--rounds N] [--only NAME,NAME] [--forms bounds,all]

Prints for each kernel the processor time of one launch, the least of all rounds, and the ratios; last the medians.
"""

import argparse
import statistics
import subprocess
import tempfile
from pathlib import Path

from cpu_device import KERNELS, build_ktc
from ktc.base.version import VERSION

FORMS = {"none": [], "bounds": ["--check=bounds"], "all": ["--check"]}
CHOSEN = ("add", "expo", "blur", "product", "tiles16", "tree", "warpsum", "histogram",
          "turned", "softmax", "gather", "mandelbrot")  # fmt: skip


def least(program: Path, name: str, rounds: int) -> float:
    """Return the least time of a launch in nanoseconds."""
    done = subprocess.run([program, name, str(rounds)], capture_output=True, text=True, check=True, timeout=600)
    return min(float(word) for word in done.stdout.split()[:-1])


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(CHOSEN))
    parser.add_argument("--forms", default="bounds,all")
    words = parser.parse_args()
    ratios: dict[str, list[float]] = {form: [] for form in words.forms.split(",")}
    print(f"ktc {VERSION}\n| kernel | no checks | {' | '.join(ratios)} |\n| --- | ---{' | ---' * len(ratios)} |")
    with tempfile.TemporaryDirectory() as folder:
        programs = {}
        for form in ("none", *ratios):
            (Path(folder) / form).mkdir()
            programs[form] = build_ktc(Path(folder) / form, FORMS[form])
        for name in words.only.split(","):
            times = {form: least(programs[form], name, words.rounds) for form in programs}
            shown = []
            for form, found in ratios.items():
                found.append(times[form] / times["none"])
                shown.append(f"{found[-1]:.1f}x")
            print(f"| {KERNELS[name][0]} | {times['none'] / 1e6:.2f} ms | {' | '.join(shown)} |", flush=True)
    print(f"| median | | {' | '.join(f'{statistics.median(one):.1f}x' for one in ratios.values())} |")


if __name__ == "__main__":
    main()
