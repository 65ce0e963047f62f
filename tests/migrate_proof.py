"""All programs of tests/run, examples and benchmarks, rewritten in edition 2026: they build there and print the same.

    python tests/migrate_proof.py [-j JOBS] [WORD ...]     all, or those whose name contains one of the words

tests/migrate_proof.txt names those that cannot be rewritten, each with its reason; any other that fails, and one that
is named there and does not, makes the exit code 1. tests/migration/printed has the outputs of programs whose rewritten
text must print something else, since the editions differ there: what the reference's 1.2 prints. It takes 15 minutes;
tests/test_migration.py does a part of it.
"""

import argparse
import difflib
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from programs import ROOT, TESTS, Program, check, environment, programs

REASONS = TESTS / "migrate_proof.txt"
PRINTED = TESTS / "migration" / "printed"
FOLDERS = ("tests/run", "examples", "benchmarks")
LEFT_OUT = ("tests/run/edition2026/", "benchmarks/cpu_kernels/kernels")
"""Programs of edition 2026, and a template of programs."""
PROJECT = '[tool.ktc]\nedition = "2026"\n'


def reasons() -> dict[str, str]:
    """Return the programs that fail, with the reasons."""
    lines = [line for line in REASONS.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def tested() -> list[Program]:
    """Return the programs whose output is known, and benchmarks, of which it is not."""
    known = [one for one in programs() if one.name.startswith(FOLDERS[:2]) and one.source.suffix == ".kpy"]
    others = [Program(path, path.with_suffix("")) for path in sorted((ROOT / "benchmarks").rglob("*.kpy"))]
    return [one for one in (*known, *others) if not one.name.startswith(LEFT_OUT)]


def migrate(folder: Path, cache: Path, chosen: list[Program], jobs: int) -> None:
    """Copy the folders, rewrite the chosen programs and all modules, and say that their edition is 2026."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("edition2026"))
    sources = {one.source for one in chosen}
    files = [
        str(folder / path.relative_to(ROOT))
        for name in FOLDERS
        for path in sorted((ROOT / name).rglob("*.kpy"))
        if "edition2026" not in path.parts and (path in sources or "main()" not in path.read_text("utf-8"))
    ]
    parts = [["format", "--migrate", "2026", *files[number::jobs]] for number in range(jobs)]
    with ThreadPoolExecutor(jobs) as pool:
        for done in pool.map(lambda words: ktc(words, cache, folder), parts):
            print(done.stderr.splitlines()[-1])
    (folder / "pyproject.toml").write_text(PROJECT)


def ktc(words: list[str], cache: Path, folder: Path, text_in: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    command = [sys.executable, "-m", "ktc", *words]
    return subprocess.run(
        command, cwd=folder, env=environment(cache), input=text_in, capture_output=True, text=True, check=False
    )


def printed(program: Program) -> Path:
    """Return the path, without suffix, of what a program prints in edition 2026 alone."""
    return PRINTED / program.source.stem


def is_other(program: Program) -> bool:
    """Return whether edition 2026 gives the program another output."""
    return program.name.startswith("tests/run/") and printed(program).with_suffix(".out").exists()


def problem(folder: Path, cache: Path, program: Program) -> str:
    """Return what is wrong with a rewritten program; "" if it builds and prints what it should."""
    moved = folder / program.source.relative_to(ROOT)
    if not program.is_expected:
        made = ktc(["check", "--target-accelerator", "sm_90", str(moved)], cache, folder)
        return made.stderr if made.returncode else ""
    flags, words = program.words("flags"), program.words("args")
    expected = Program(program.source, printed(program)) if is_other(program) else program
    command = ["run", "--target-accelerator", "cpu", "-O0", *flags, str(moved), *words]
    done = ktc(command, cache, folder, program.read("in") or "")
    try:
        check(expected, done)
    except AssertionError as error:
        wanted = (expected.read("out") or "").splitlines(True)
        shown = "".join(difflib.unified_diff(wanted, done.stdout.splitlines(True), "wanted", "printed", n=0))
        return f"{error}\n{done.stderr}{shown if not done.returncode else ''}"
    return ""


def main() -> int:
    """Do all of it, and print what fails."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("words", nargs="*")
    reader.add_argument("--cache", type=Path, help="a cache that later runs find again")
    reader.add_argument("-j", "--jobs", type=int, default=1)
    given = reader.parse_args()
    chosen = [one for one in tested() if not given.words or any(word in one.name for word in given.words)]
    known, wrong = reasons(), 0
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(given.jobs) as pool:
        folder = Path(name) / "programs"
        cache = given.cache or Path(name) / "cache"
        migrate(folder, cache, chosen, given.jobs)
        found = pool.map(partial(problem, folder, cache), chosen)
        failed = {one.name: text for one, text in zip(chosen, found, strict=True) if text}
    for name, text in failed.items():
        if name not in known:
            wrong += 1
            print(f"## {name}\n{text[:2000]}")
    for name in known:
        if name not in failed and any(one.name == name for one in chosen):
            wrong += 1
            print(f"## {name} is in {REASONS.name} and is right")
    right = [one for one in chosen if one.name not in failed]
    others = sum(is_other(one) for one in right)
    share = 100 * len(right) / max(1, len(chosen))
    print(
        f"{len(right)} of {len(chosen)} programs build in edition 2026 and print what they should: {share:.1f} % "
        f"({len(right) - others} print the same, {others} what the reference's 1.2 prints)"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
