"""Run programs through ktc and, where it is installed, the reference compiler; compare output and exit code.

    python tests/differential.py FOLDER… [--mojo COMMAND] [--mojo-2026 COMMAND] [--sample N] [--random N] [--seed S]
        [--keep FOLDER]

A folder's programs are its *.kpy and *.mojo files, each compared with the reference of its edition. A program that the
reference does not compile is no difference: it is named as refused, with the reference's first error. Of the random
programs every other one is of expressions over numbers, the rest of containers, destructors, closures and errors
(`random_containers`); they are run by `ktc run` and built with -O0, -O1, -O2 and -O3 in turns. Without the reference a
program is compared with the .out and .rc files beside it, and a random program with what Python and numpy compute. Exit
code 1 if anything differs.
"""

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ktc.base.editions import Edition
from ktc.diag.source import Source
from ktc.syntax.editions import assign

from random_containers import program as random_containers
from random_programs import program as random_expressions

ROOT = Path(__file__).parents[1]
SECONDS = 120
REFUSED = "error: failed to"
"""What the reference says last where it makes no program."""
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


@dataclass(frozen=True)
class Task:
    """A program to compare.

    Args:
        known: what its files, or Python and numpy, say that it does.
        level: the option by which ktc optimises it; "": `ktc run`.
    """

    title: str
    text: str
    known: Ran | None
    level: str = ""
    edition: Edition = Edition.Y2025
    args: tuple[str, ...] = ()
    input: str = ""


def run(command: list[str], folder: Path, given: str = "") -> Ran:
    """Run a command with some standard input."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, cwd=folder, check=False, input=given,
            errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Ran(124, "", f"takes more than {SECONDS} seconds")
    return Ran(done.returncode, done.stdout, done.stderr)


def ours(task: Task, folder: Path) -> Ran:
    """Run a program with ktc, or build it with an option for its level and run that."""
    source, options = folder / "program.kpy", ["-W", "none", "--target-accelerator", "cpu"]
    source.write_text(task.text, "utf-8")
    options += ["--edition", task.edition.value]
    if not task.level:
        return run([sys.executable, "-m", "ktc", "run", *options, str(source), *task.args], folder, task.input)
    built = run([sys.executable, "-m", "ktc", "build", *options, task.level, str(source), "-o", "program"], folder)
    return built if built.code else run(["./program"], folder)


def random_program(seed: int) -> tuple[str, list[str]]:
    """Return the random program of a number and what it prints."""
    return random_containers(seed) if seed % 2 else random_expressions(seed)


def theirs(task: Task, folder: Path, mojo: str) -> Ran:
    """Run a program with the reference. An uncaught error is two lines on its standard output, which are left out."""
    source = folder / "program.mojo"
    source.write_text(task.text, "utf-8")
    ran = run([mojo, "run", str(source), *task.args], folder, task.input)
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


def task_of(path: Path) -> Task:
    """Return the task of a program in a folder, with the arguments and the input of the files beside it."""
    text = path.read_text("utf-8")
    source = Source(str(path), text)
    assign(source)
    assert source.edition is not None
    args, given = path.with_suffix(".args"), path.with_suffix(".in")
    words = shlex.split(args.read_text("utf-8").replace("{root}", str(ROOT))) if args.exists() else []
    return Task(
        str(path), text, expected(path), "", source.edition.edition, tuple(words),
        given.read_text("utf-8") if given.exists() else "",
    )  # fmt: skip


def tasks_of(folders: list[Path], sample: int) -> list[Task]:
    """Return the programs of folders; of more than `sample` that many, spread over all, if it is not 0."""
    paths = [path for one in folders for path in ([one] if one.is_file() else _programs(one))]
    step = max(1, -(-len(paths) // sample)) if sample else 1
    return [task_of(path) for path in paths[::step]]


def _programs(folder: Path) -> list[Path]:
    return sorted((*folder.rglob("*.kpy"), *folder.rglob("*.mojo")))


def compared(task: Task, folder: Path, references: dict[Edition, str]) -> tuple[str, str]:
    """Return "agree", "differ", "refused" (by the reference) or "" (nothing to compare with), and what to say of it."""
    mojo = references[task.edition]
    want = theirs(task, folder, mojo) if mojo else task.known
    if want is None:
        return "", ""
    if mojo and want.code and REFUSED in want.errors:
        return "refused", next((line for line in want.errors.splitlines() if " error: " in line), "").strip()
    have = ours(task, folder)
    return ("agree", "") if have.fits(want) else ("differ", difference(have, want))


def main() -> int:
    """Compare, and say what differs."""
    words = argparse.ArgumentParser(description="Compare ktc with the reference.")
    words.add_argument("folders", nargs="*", type=Path, help="folders of programs, and programs")
    words.add_argument("--mojo", default=shutil.which("mojo") or "", help="the reference's command, for edition 2025")
    words.add_argument("--mojo-2026", default="", help="the reference's command for edition 2026")
    words.add_argument("--random", type=int, default=0, help="how many random programs")
    words.add_argument("--sample", type=int, default=0, help="about how many programs of the folders; 0: all")
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--keep", type=Path, help="where random programs that differ are written")
    given = words.parse_args()
    references = {Edition.Y2025: given.mojo, Edition.Y2026: given.mojo_2026}
    tasks = tasks_of(given.folders, given.sample)
    for seed in range(given.seed, given.seed + given.random):
        text, lines = random_program(seed)
        level = LEVELS[seed // 2 % len(LEVELS)]
        tasks.append(Task(f"random program {seed}", text, Ran(0, "\n".join(lines)), level))
    found: dict[str, list[str]] = {"agree": [], "differ": [], "refused": [], "": []}
    with tempfile.TemporaryDirectory() as name:
        for task in tasks:
            verdict, why = compared(task, Path(name), references)
            found[verdict].append(task.title)
            if verdict in ("differ", "refused"):
                print(f"{verdict}: {task.title} {task.level}".rstrip() + f": {why}", flush=True)
            if verdict == "differ" and given.keep is not None:
                given.keep.mkdir(parents=True, exist_ok=True)
                kept = given.keep / f"{task.title.replace(' ', '_').replace('/', '_')}.kpy"
                kept.write_text(task.text, "utf-8")
    missing = [one.value for one, command in references.items() if not command]
    print(
        f"{len(found['agree'])} agree, {len(found['differ'])} differ, {len(found['refused'])} refused by the reference"
        + (f" (no reference for edition {' and '.join(missing)})" if missing else "")
    )
    return 1 if found["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
