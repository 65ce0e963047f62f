"""The comparison of the code of two versions (tests/same_code.py)."""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import same_code


def test_the_first_differing_lines_are_shown_with_their_text() -> None:
    before = "==== host\none\n==== sm_80 kernel\ntwo\nthree\n"
    lines = same_code.difference(before, before.replace("three", "four"))
    assert lines[0] == "    in sm_80 kernel:" and lines[-2:] == ["    -three", "    +four"]


def test_results_are_written_by_copies_of_the_process(tmp_path: Path) -> None:
    def fails() -> str:
        raise ValueError("bad")

    def dies() -> str:
        os._exit(3)

    same_code.in_forks({"a": lambda: "in /x/y", "b": fails, "c": dies}, tmp_path, 2, ("/x",))
    found = [same_code.read(tmp_path / name) for name in "abc"]
    assert found == ["in FOLDER/y", "ValueError: bad\n", "the compiler died\n"]


def test_targets_and_options_of_a_program(tmp_path: Path) -> None:
    source = tmp_path / "one.kpy"
    source.write_text("# targets: sm_90a, cpu\n")
    (tmp_path / "one.flags").write_text("-D A=1 -I {here}")
    assert same_code.targets_of(source) == ["cpu"]
    assert same_code.flags_of(source) == ["-D", "A=1", "-I", str(tmp_path)]
    source.write_text("# targets: sm_90a\n")
    assert same_code.targets_of(source) == ["sm_90a"]
    source.write_text("def main():\n    pass\n")
    assert same_code.targets_of(source) == ["sm_80", "gfx942", "cpu"]


def test_a_version_emits_host_and_kernels(tmp_path: Path, program_cache: Path) -> None:
    words = [sys.executable, "-P", same_code.__file__, "--make", str(same_code.ROOT), "--out", str(tmp_path)]
    words += ["--cache", str(program_cache)]
    source = same_code.ROOT / "examples" / "vector_addition.kpy"
    done = subprocess.run(words, input=str(source), text=True, check=False, env={**os.environ, "PYTHONPATH": ""})
    assert done.returncode == 0
    made = same_code.read(tmp_path / "examples_vector_addition.kpy.txt")
    assert [line.split()[1] for line in made.splitlines() if line.startswith("==== ")] == [
        "diagnostics", "host", "sm_80", "gfx942", "cpu",
    ]  # fmt: skip
