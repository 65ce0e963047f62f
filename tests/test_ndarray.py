"""Arrays against numpy: random expressions of random shapes in one program, and what a program says of mistakes."""

import os
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from ndarray_expressions import Case, check, expressions, program
from programs import run_ktc


def drawn(count: int, number: int) -> list[Case]:
    """Return some random expressions, the same ones each time."""
    found: list[Case] = []
    kind = st.sampled_from(["cpu", "cpu", "gpu"]).flatmap(
        lambda on: st.integers(1, 3).flatmap(lambda n: expressions(on, n))
    )

    @seed(number)
    @settings(
        max_examples=12 * count, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(kind)
    def collect(case: Case) -> None:
        found.append(case)

    with np.errstate(all="ignore"):
        collect()
    cases = {re.sub(r"[-\d]", "", case.text): case for case in found if case.value.size and len(case.text) < 600}
    return random.Random(number).sample(list(cases.values()), count)


def compare(cases: list[Case], level: int, cache: Path, folder: Path) -> None:
    (folder / "cases.kpy").write_text(program(cases))
    done = run_ktc(["run", f"-O{level}", "--target-accelerator", "cpu", "cases.kpy"], cache, folder)
    assert done.returncode == 0, done.stderr
    wrong = [check(line, case) for line, case in zip(done.stdout.splitlines(), cases, strict=True)]
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(int(os.environ.get("NDARRAY_CASES", "5")) // 5))
def test_random_expressions(program_cache: Path, tmp_path: Path, part: int) -> None:
    level = 2 if part % 10 == 9 else 0  # optimised, the same programs take five times as long to build
    compare(drawn(5, int(os.environ.get("NDARRAY_SEED", "1")) * 1000 + part), level, program_cache, tmp_path)


FILES = """from ndarray import *


def main():
    var given = Archive("given.npz")
    var made = Archive()
    made.add("columns", given.get[f32]("columns") + 1)
    made.add("noise", given.get[f64]("noise"))
    made.add("none", given.get[i64]("none"))
    made.save("made.npz")
    save("one.npy", load[DType.uint8]("image.npy")[::2, :])
    for name in ["cut.npz", "wrong.npz", "image.npy"]:
        try:
            _ = Archive(name)
        except e:
            print(e)
"""


def test_files(program_cache: Path, tmp_path: Path) -> None:
    """What numpy writes, compressed, is read; what a program writes, numpy reads."""
    noise = np.random.default_rng(1).random(2000)
    columns = np.asfortranarray(np.arange(12000, dtype=np.float32).reshape(30, 400))
    np.savez_compressed(tmp_path / "given.npz", columns=columns, noise=noise, none=np.zeros((0, 3), np.int64))
    image = np.arange(48, dtype=np.uint8).reshape(6, 8)
    np.save(tmp_path / "image.npy", image)
    content = bytearray((tmp_path / "given.npz").read_bytes())
    (tmp_path / "cut.npz").write_bytes(content[:-50])
    content[700] ^= 255
    (tmp_path / "wrong.npz").write_bytes(content)
    (tmp_path / "files.kpy").write_text(FILES)
    done = run_ktc(["run", "-O0", "--target-accelerator", "cpu", "files.kpy"], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    cut, wrong, other = done.stdout.splitlines()
    assert cut == "cut.npz: this is not an '.npz' file" and other == "image.npy: this is not an '.npz' file"
    assert wrong.startswith("wrong.npz: 'columns.npy'")
    made = np.load(tmp_path / "made.npz")
    assert np.array_equal(made["columns"], columns + 1) and np.array_equal(made["noise"], noise)
    assert made["none"].shape == (0, 3) and np.array_equal(np.load(tmp_path / "one.npy"), image[::2])
