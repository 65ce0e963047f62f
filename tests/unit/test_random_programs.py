"""Random programs print what Python and numpy compute; mutated programs get an answer."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from differential import Ran, difference, expected  # noqa: E402
from fuzz import fuzz  # noqa: E402
from programs import run_ktc  # noqa: E402
from random_containers import program as containers  # noqa: E402
from random_programs import program  # noqa: E402


@pytest.mark.parametrize(("made", "seed"), [(program, 11), (program, 12), (containers, 13)])
def test_values_are_those_of_python(made, seed, program_cache, tmp_path):
    text, lines = made(seed)
    (tmp_path / "program.kpy").write_text(text)
    done = run_ktc(["run", "program.kpy"], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == lines


def test_a_seed_determines_the_program():
    assert program(5) == program(5)
    assert program(5) != program(6)
    assert containers(5) == containers(5)


@pytest.mark.thorough
def test_mutants_get_an_answer(tmp_path):
    assert fuzz(25, 7, tmp_path) == []


def test_differences_are_reported(tmp_path):
    (tmp_path / "a.out").write_text("1\n2\n")
    (tmp_path / "a.rc").write_text("3")
    want = expected(tmp_path / "a.kpy")
    assert want == Ran(3, "1\n2\n") and expected(tmp_path / "b.kpy") is None
    assert difference(Ran(3, "1\n5\n"), want) == "output line 2: '5', wanted '2'"
    assert difference(Ran(3, "1\n"), want) == "1 lines of output, wanted 2"
    assert difference(Ran(0, "1\n2\n"), want).startswith("exit code 0, wanted 3")
    assert Ran(1, "1\n2").fits(want)


def test_the_harness_runs(program_cache, tmp_path):
    (tmp_path / "one.kpy").write_text("def main():\n    print(1)\n")
    (tmp_path / "one.out").write_text("2\n")
    words = [sys.executable, str(TESTS / "differential.py"), str(tmp_path), "--mojo", ""]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 1
    assert "output line 1: '1', wanted '2'" in done.stdout and "1 differ," in done.stdout
