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
    values += [a == b, a != b, a < b, a <= b, a > b, a >= b]
    by = b & make(a.itemsize * 8 - 1)
    limits = np.iinfo(kind)
    values += [a << by, a >> by, -a, limits.min, limits.max]
    values += [a.astype(other) for other in ("uint8", "int16", "int32", "uint32", "uint64")]
    values += [a.astype("float64").view("uint64"), a.astype("float32").view("uint32")]
    return [int(v) for v in values]


FLOAT_KINDS = ("float16", "float32", "float64")
FLOATS = st.one_of(
    st.sampled_from(
        [0.0, -0.0, 1.0, -1.5, 0.1, 65504.0, 6e-8, 1e-45, 5e-324, float("inf"), float("-inf"), float("nan")]
    ),
    st.floats(-100, 100),
    st.floats(),
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases=st.lists(st.tuples(st.sampled_from(FLOAT_KINDS), FLOATS, FLOATS), min_size=1, max_size=60))
def test_floats_are_those_of_numpy(operators, cases):
    text = "".join(f"{kind} {a!r} {b!r}\n" for kind, a, b in cases)
    done = subprocess.run([operators], input=text, capture_output=True, text=True, check=True, timeout=20)
    lines = done.stdout.splitlines()
    assert len(lines) == len(cases)
    with np.errstate(all="ignore"):
        for (kind, x, y), line in zip(cases, lines, strict=True):
            make = np.dtype(kind).type
            a, b = make(x), make(y)
            values = [a, b, a + b, a - b, a * b, a / b, -a, abs(a)]
            if not (np.isnan(a) or np.isnan(b) or a == b):
                values += [max(a, b), min(a, b)]
                # the quotient may lie beyond what has a fraction, and then floors differ
                if np.isfinite(a) and np.isfinite(b) and b != 0 and abs(a / b) < 1000:
                    values += [np.floor(a / b)]
            found = [make(float(word)) for word in line.split()[: len(values)]]
            for have, want in zip(found, values, strict=True):
                assert have == want or (np.isnan(have) and np.isnan(want)), (kind, x, y, line)
            assert line.split()[-6:] == [str(int(v)) for v in (a == b, a != b, a < b, a <= b, a > b, a >= b)]


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
