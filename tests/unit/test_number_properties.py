"""The operators of every whole-number type against numpy, on numbers that hypothesis chooses."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from programs import run_ktc  # noqa: E402

KINDS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
EDGES = st.sampled_from([0, 1, -1, 2, 127, 128, -128, 255, 256, 2**31 - 1, -(2**31), 2**32, 2**63 - 1, -(2**63)])
NUMBERS = st.one_of(EDGES, st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1))
CASES = st.lists(st.tuples(st.sampled_from(KINDS), NUMBERS, NUMBERS), min_size=1, max_size=60)


@pytest.fixture(scope="module")
def operators(program_cache, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("numbers")
    source = TESTS / "fixtures" / "whole_numbers.kpy"
    done = run_ktc(["build", str(source), "-o", "numbers"], program_cache, folder)
    assert done.returncode == 0, done.stderr
    return folder / "numbers"


def wanted(kind: str, x: int, y: int) -> list[int]:
    """Return what the program prints; division by zero gives 0."""
    make = np.dtype(kind).type
    a, b = np.array(x, np.int64).astype(kind)[()], np.array(y, np.int64).astype(kind)[()]
    quotient, rest = (np.floor_divide(a, b), np.remainder(a, b)) if b else (make(0), make(0))
    values = [a + b, a - b, a * b, quotient, rest, a & b, a | b, a ^ b, ~a, max(a, b), min(a, b)]
    values += [a.astype("int8"), a.astype("uint16"), a.astype("int64")]
    return [int(v) for v in (*values, a == b, a != b, a < b, a <= b, a > b, a >= b)]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases=CASES)
def test_whole_numbers_are_those_of_numpy(operators, cases):
    text = "".join(f"{kind} {a} {b}\n" for kind, a, b in cases)
    done = subprocess.run([operators], input=text, capture_output=True, text=True, check=True, timeout=20)
    lines = done.stdout.splitlines()
    assert len(lines) == len(cases)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case, line in zip(cases, lines, strict=True):
            assert list(map(int, line.split())) == wanted(*case), case
