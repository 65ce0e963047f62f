"""Run kernels on the CPU device both ways, threads as loops and as coroutines: they must print the same.

    python tests/cpu_threads.py [NAME…] [--random COUNT] [--seed SEED]

Takes the programs of tests/gpu and tests/run that start kernels and that the CPU device runs, or those named, and
`COUNT` programs of random kernels. One line for each that differs; exit code 1 if one does.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from kernels import on_the_processor, sources
from programs import ROOT, TESTS, Program, run_ktc
from random_kernels import random_kernels

FORMS = ("loops", "coroutines")


def difference(source: Path, cache: Path, folder: Path, words: list[str] | None = None) -> str:
    """Return how what a program prints differs between the two ways, "" if it does not.

    Args:
        words: its arguments.
    """
    found = []
    for form in FORMS:
        options = ["--target-accelerator", "cpu", "--cpu-threads", form, "-W", "none"]
        done = run_ktc(["run", *options, str(source), *(words or [])], cache, folder)
        found.append((done.returncode, done.stdout, done.stderr[-400:] if done.returncode else ""))
    if ": error[" in found[0][2]:
        return found[0][2]
    return "" if found[0][:2] == found[1][:2] else f"{found[0]}\n  {found[1]}"


def main() -> int:
    """Compare, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--random", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    found = [*sorted((TESTS / "gpu").glob("*.kpy")), *sources([str(TESTS / "run")])]
    chosen = [one for one in found if on_the_processor(one) and (not words.names or one.stem in words.names)]
    wrong = 0
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        for number in range(words.random if not words.names else 0):
            source = folder / f"random{words.seed + number}.kpy"
            source.write_text(random_kernels(words.seed + number, 8), "utf-8")
            chosen.append(source)
        for source in chosen:
            words = Program(source, source.with_suffix("")).words("args")
            differs = difference(source, folder / "cache", folder, words)
            wrong += bool(differs)
            if differs:
                print(
                    f"{source.relative_to(ROOT) if source.is_relative_to(ROOT) else source.name}: {differs}", flush=True
                )
    print(f"{len(chosen)} programs, {wrong} differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
