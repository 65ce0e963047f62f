"""What `--check=bounds` costs on a GPU: the kernels of benchmarks/gpu with and without it.

    python benchmarks/checks_gpu.py [--rounds 2] [--target sm_90a] [--only streams,matrices]
    python benchmarks/checks_gpu.py --build FOLDER --target sm_90a     # on a machine without a GPU
    python benchmarks/checks_gpu.py --run FOLDER                       # on one without compilers

Prints for each kernel its time without checks and the ratio, of each the least of all rounds; last the median. A kernel
whose checksum differs with checks is an error.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent / "gpu"
PROGRAMS = ("streams", "stencils", "reductions", "matrices", "atomics", "computing")
FORMS = {"plain": [], "bounds": ["--check=bounds"]}
TOLERANCE = 1e-6


def build(folder: Path, target: str, names: list[str]) -> None:
    """Build the programs in both forms."""
    folder.mkdir(parents=True, exist_ok=True)
    ktc = os.environ.get("KTC") or shutil.which("ktc") or "ktc"
    for name in names:
        for form, flags in FORMS.items():
            source, made = SOURCES / f"{name}.kpy", folder / f"{name}_{form}"
            words = [ktc, "build", "-W", "none", *flags, "--target-accelerator", target, str(source), "-o", str(made)]
            subprocess.run(words, check=True)


def times(program: Path) -> dict[str, tuple[float, float]]:
    """Return by kernel the microseconds and the checksum that a program prints."""
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        print(f"{program.name} ended with {done.returncode}: {done.stderr.strip()}", file=sys.stderr)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return {name: (float(took), float(total)) for name, took, total in (line for line in lines if len(line) == 3)}


def run(folder: Path, names: list[str], rounds: int) -> int:
    """Run the programs in turns and print a table; returns how many kernels differ."""
    ratios, wrong = [], 0
    print("| kernel | without checks | bounds |\n| --- | --- | --- |")
    for name in names:
        found: dict[str, dict[str, tuple[float, float]]] = {form: {} for form in FORMS}
        for _ in range(rounds):
            for form in FORMS:
                for kernel, (took, total) in times(folder / f"{name}_{form}").items():
                    known = found[form].get(kernel, (took, total))
                    found[form][kernel] = (min(known[0], took), total)
        for kernel, (took, total) in found["plain"].items():
            if kernel not in found["bounds"]:
                print(f"| {kernel} | {took:.1f} us | no result |")
                wrong += 1
                continue
            checked, other = found["bounds"][kernel]
            if abs(total - other) > TOLERANCE * max(1.0, abs(total)):
                print(f"{kernel}: the checksum is {other}, without checks {total}", file=sys.stderr)
                wrong += 1
            ratios.append(checked / took)
            print(f"| {kernel} | {took:.1f} us | {ratios[-1]:.2f}x |", flush=True)
    if ratios:
        print(f"| median | | {statistics.median(ratios):.2f}x |")
    return wrong


def main() -> None:
    """Build, run, or both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--build", type=Path)
    parser.add_argument("--run", type=Path)
    words = parser.parse_args()
    names = words.only.split(",")
    if words.build:
        build(words.build, words.target, names)
    if words.run:
        sys.exit(run(words.run, names, words.rounds))
    if not words.build:
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder), words.target, names)
            sys.exit(run(Path(folder), names, words.rounds))


if __name__ == "__main__":
    main()
