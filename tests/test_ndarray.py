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


def compare(cases: list[Case], cache: Path, folder: Path) -> None:
    (folder / "cases.kpy").write_text(program(cases))
    done = run_ktc(["run", "--target-accelerator", "cpu", "cases.kpy"], cache, folder)
    assert done.returncode == 0, done.stderr
    wrong = [check(line, case) for line, case in zip(done.stdout.splitlines(), cases, strict=True)]
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.parametrize("part", range(int(os.environ.get("NDARRAY_CASES", "5")) // 5))
def test_random_expressions(program_cache: Path, tmp_path: Path, part: int) -> None:
    compare(drawn(5, int(os.environ.get("NDARRAY_SEED", "1")) * 1000 + part), program_cache, tmp_path)
