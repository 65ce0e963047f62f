"""Run programs through ktc and, where it is installed, the reference compiler; compare output and exit code.

    python tests/differential.py FOLDER… [--mojo COMMAND] [--random N] [--seed S] [--keep FOLDER]

A folder's programs are its *.kpy and *.mojo files. Of the random programs every other one is of expressions over
numbers, the rest of containers, destructors, closures and errors (`random_containers`); they are run by `ktc run` and
built with -O0, -O1, -O2 and -O3 in turns. Without the reference a program is compared with the .out and .rc
files beside it, and a random program with what Python and numpy compute. Exit code 1 if anything differs.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from random_containers import program as random_containers
from random_programs import program as random_expressions

SECONDS = 120
LEVELS = ("", "-O0", "-O1", "-O2", "-O3")
"""How random programs are compiled, in turns; "": by `ktc run`."""


@dataclass(frozen=True)
class Ran:
    """What a program did."""

    code: int
    output: str
    errors: str = ""

    def fits(self, other: "Ran") -> bool:
        """Is it the same for a user: the code (which error does not matter), and the lines of the output?"""
        return (self.code != 0) == (other.code != 0) and self.output.splitlines() == other.output.splitlines()


def run(command: list[str], folder: Path) -> Ran:
    """Run a command."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=folder, check=False)
    except subprocess.TimeoutExpired:
        return Ran(124, "", f"takes more than {SECONDS} seconds")
    return Ran(done.returncode, done.stdout, done.stderr)


def ours(text: str, folder: Path, level: str = "") -> Ran:
    """Run a text with ktc, or build it with an option for its level and run that."""
    source, options = folder / "program.kpy", ["-W", "none", "--target-accelerator", "cpu"]
    source.write_text(text, "utf-8")
    if not level:
        return run([sys.executable, "-m", "ktc", "run", *options, str(source)], folder)
    built = run([sys.executable, "-m", "ktc", "build", *options, level, str(source), "-o", "program"], folder)
    return built if built.code else run(["./program"], folder)


def random_program(seed: int) -> tuple[str, list[str]]:
    """Return the random program of a number and what it prints."""
    return random_containers(seed) if seed % 2 else random_expressions(seed)


def theirs(text: str, folder: Path, mojo: str) -> Ran:
    """Run a text with the reference. An uncaught error is two lines on its standard output, which are left out."""
    source = folder / "program.mojo"
    source.write_text(text, "utf-8")
    ran = run([mojo, "run", str(source)], folder)
    uncaught = ("stack trace was not collected.", "Unhandled exception caught during execution:")
    lines = [line for line in ran.output.splitlines() if ran.code == 0 or not line.startswith(uncaught)]
    return Ran(ran.code, "\n".join(lines), ran.errors)


def expected(path: Path) -> Ran | None:
    """Return what the files beside a program say."""
    output, code = path.with_suffix(".out"), path.with_suffix(".rc")
    if not output.exists():
        return None
    return Ran(int(code.read_text()) if code.exists() else 0, output.read_text("utf-8"))


def difference(one: Ran, other: Ran) -> str:
    """Return the first difference as one line."""
    if (one.code != 0) != (other.code != 0):
        return f"exit code {one.code}, wanted {other.code}: {(one.errors or other.errors).strip()[:300]!r}"
    pairs = zip(one.output.splitlines(), other.output.splitlines(), strict=False)
    for number, (have, want) in enumerate(pairs, 1):
        if have != want:
            return f"output line {number}: {have!r}, wanted {want!r}"
    return f"{len(one.output.splitlines())} lines of output, wanted {len(other.output.splitlines())}"


def main() -> int:
    """Compare, and say what differs."""
    words = argparse.ArgumentParser(description="Compare ktc with the reference.")
    words.add_argument("folders", nargs="*", type=Path)
    words.add_argument("--mojo", default=shutil.which("mojo") or "", help="the reference's command")
    words.add_argument("--random", type=int, default=0, help="how many random programs")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--keep", type=Path, help="where random programs that differ are written")
    given = words.parse_args()
    tasks: list[tuple[str, str, Ran | None, str]] = []
    for folder in given.folders:
        paths = sorted((*folder.rglob("*.kpy"), *folder.rglob("*.mojo")))
        tasks += [(str(path), path.read_text("utf-8"), expected(path), "") for path in paths]
    for seed in range(given.seed, given.seed + given.random):
        text, lines = random_program(seed)
        level = LEVELS[seed // 2 % len(LEVELS)]
        tasks.append((f"random program {seed}", text, Ran(0, "\n".join(lines)), level))
    same = different = 0
    with tempfile.TemporaryDirectory() as name:
        for title, text, known, level in tasks:
            want = theirs(text, Path(name), given.mojo) if given.mojo else known
            if want is None:
                continue
            have = ours(text, Path(name), level)
            if have.fits(want):
                same += 1
                continue
            different += 1
            print(f"{title} {level}".rstrip() + f": {difference(have, want)}", flush=True)
            if given.keep is not None:
                given.keep.mkdir(parents=True, exist_ok=True)
                (given.keep / f"{title.replace(' ', '_').replace('/', '_')}.kpy").write_text(text, "utf-8")
    print(f"{same} the same, {different} different" + ("" if given.mojo else " (the reference is not installed)"))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
