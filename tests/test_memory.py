"""Programs under valgrind: nothing is read or written that is not there, nothing is freed twice, nothing is lost.

What they print is checked too. The processor is a fixed one, since valgrind does not know the newest instructions.
"""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from programs import SECONDS, TESTS, Program, run_ktc

NAMES = (
    "run/ownership_counted", "run/ownership_counted_ends", "run/ownership_raising", "run/captured_values",
    "run/containers", "stdlib/string_forms", "stdlib/containers", "stdlib/strings",
)  # fmt: skip
VALGRIND = shutil.which("valgrind")
WORDS = ["-q", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=9"]


@pytest.mark.skipif(VALGRIND is None, reason="valgrind is not installed")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the processor that is compiled for is an x86-64")
@pytest.mark.parametrize("name", NAMES)
def test_program(name: str, program_cache: Path, tmp_path: Path) -> None:
    program = Program(TESTS / f"{name}.kpy", TESTS / name)
    made = tmp_path / "program"
    words = ["build", "--target-cpu", "x86-64-v3", *program.words("flags"), str(program.source), "-o", str(made)]
    built = run_ktc(words, program_cache, tmp_path)
    assert built.returncode == 0, built.stderr
    assert VALGRIND is not None
    done = subprocess.run(
        [VALGRIND, *WORDS, made], capture_output=True, text=True, timeout=SECONDS, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == program.read("out")
