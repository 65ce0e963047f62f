"""Whole programs and what is expected of them, read from the files beside them.

NAME.out       exact standard output             NAME.rc      exit code, where it is not 0
NAME.contains  lines that occur in this order    NAME.args    arguments, as in a shell; {root} is the project's folder
NAME.in        standard input                    NAME.flags   options for the compiler
"""

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
SECONDS = 120


@dataclass(frozen=True)
class Program:
    """A source file, and the folder and name of its expectations."""

    source: Path
    beside: Path

    @property
    def name(self) -> str:
        return self.source.relative_to(ROOT).with_suffix("").as_posix()

    def read(self, kind: str) -> str | None:
        path = self.beside.with_name(f"{self.beside.name}.{kind}")
        return path.read_text("utf-8") if path.exists() else None

    def words(self, kind: str) -> list[str]:
        return shlex.split((self.read(kind) or "").replace("{root}", str(ROOT)))

    @property
    def is_expected(self) -> bool:
        return self.read("out") is not None or self.read("contains") is not None


def programs() -> list[Program]:
    """Return every program that has an expectation: tests/run, tests/stdlib, examples."""
    found = [Program(path, path.with_suffix("")) for path in sorted((TESTS / "run").rglob("*.kpy"))]
    found += [Program(path, path.with_suffix("")) for path in sorted((TESTS / "stdlib").rglob("*.kpy"))]
    found += [
        Program(path, TESTS / "run" / "examples" / path.stem)
        for path in sorted((ROOT / "examples").glob("*.kpy"))
    ]  # fmt: skip
    return [program for program in found if program.is_expected]


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "KTC_CACHE_DIR": str(cache), "NO_COLOR": "1"}


def run_ktc(words: list[str], cache: Path, folder: Path, text_in: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "ktc", *words], input=text_in, capture_output=True, text=True, timeout=SECONDS,
        cwd=folder, env=environment(cache), check=False,
    )  # fmt: skip


def check(program: Program, done: subprocess.CompletedProcess[str]) -> None:
    """Compare a finished program with its expectations."""
    code = int(program.read("rc") or 0)
    assert "Traceback (most recent call last)" not in done.stderr and "internal error" not in done.stderr, done.stderr
    assert done.returncode == code, f"exit code {done.returncode}, wanted {code}\n{done.stderr}"
    wanted = program.read("out")
    if wanted is not None:
        assert done.stdout.splitlines() == wanted.splitlines()
    rest = done.stdout
    for line in (program.read("contains") or "").splitlines():
        before, found, rest = rest.partition(line)
        assert found, f"the output lacks {line!r} after what was found before it:\n{before}"
