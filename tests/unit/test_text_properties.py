"""Floats to text and back, and the methods of strings, against Python and numpy, on what hypothesis chooses."""

import math
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from programs import run_ktc  # noqa: E402

WIDTHS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16}
FLOATS = st.sampled_from(sorted(WIDTHS)).flatmap(
    lambda kind: st.tuples(st.just(kind), st.integers(0, 2 ** WIDTHS[kind] - 1))
)
DIGITS = st.text("0123456789", min_size=1, max_size=25)
EXPONENTS = st.one_of(st.just(""), st.integers(-345, 320).map(lambda e: f"e{e}"))
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.tuples(st.sampled_from(["", "-"]), DIGITS, DIGITS, EXPONENTS).map(lambda p: f"{p[0]}{p[1]}.{p[2]}{p[3]}"),
    st.sampled_from(["2.2250738585072011e-308", "4.9e-324", "2.5e-324", "1.7976931348623158e308", "9007199254740993"]),
)
LETTERS = st.text("aAbB1. éÉßλ", max_size=9)
PAIRS = st.tuples(LETTERS, st.text("aAb1.é", min_size=1, max_size=2))


@pytest.fixture(scope="module")
def program(program_cache, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    source = TESTS / "fixtures" / "texts_and_floats.kpy"
    done = run_ktc(["build", str(source), "-o", "texts"], program_cache, folder)
    assert done.returncode == 0, done.stderr
    return folder / "texts"


def answers(program: Path, lines: list[str]) -> list[str]:
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True, timeout=20)
    return done.stdout.split("\n")[:-1]


def value_of(kind: str, bits: int) -> float:
    if kind == "bfloat16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    return float(np.array(bits, f"u{WIDTHS[kind] // 8}").view(kind)[()])


def digits_of(text: str) -> int:
    return len(text.lower().split("e")[0].replace(".", "").replace("-", "").strip("0"))


relaxed = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@relaxed
@given(cases=st.lists(FLOATS, min_size=1, max_size=80))
def test_floats_are_printed_shortest_and_read_back(program, cases):
    # an Int holds the bits of a float64 as a number with a sign
    shown = answers(program, [f"{kind}\t{bits - 2**64 if bits >= 2**63 else bits}" for kind, bits in cases])
    for (kind, bits), line in zip(cases, shown, strict=True):
        text, again = line.split()
        value = value_of(kind, bits)
        if math.isnan(value):
            assert text == "nan"
        else:
            assert int(again) == bits, (kind, value, text)
            if math.isfinite(value) and kind in ("float64", "float32"):
                best = repr(value) if kind == "float64" else str(np.float32(value))
                # Of a Float32 the reference sometimes prints a digit more; so does `builtin/_text/shortest.kpy`.
                assert digits_of(text) <= digits_of(best) + (kind == "float32"), (kind, text, best)


@relaxed
@given(texts=st.lists(NUMBERS, min_size=1, max_size=80))
def test_floats_are_read_as_python_reads_them(program, texts):
    shown = answers(program, [f"parse\t{text}" for text in texts])
    for text, line in zip(texts, shown, strict=True):
        wanted = struct.unpack("<Q", struct.pack("<d", float(text)))[0]
        assert line.split() == [str(wanted)] * 2, text


@relaxed
@given(pairs=st.lists(PAIRS, min_size=1, max_size=40))
def test_strings_are_those_of_python(program, pairs):
    lines = answers(program, [f"texts\t{s}\t{t}" for s, t in pairs])
    for (s, t), found in zip(pairs, [lines[i : i + 4] for i in range(0, len(lines), 4)], strict=True):
        place, last = (-1 if i < 0 else len(s[:i].encode()) for i in (s.find(t), s.rfind(t)))
        first = [place, last, s.count(t), s.startswith(t), s.endswith(t), t in s, s == t]
        first += [s.encode() < t.encode(), len(s.encode())]
        assert found[0].split("\t") == [str(value) for value in first], (s, t)
        second = [s.upper(), s.lower(), s.replace(t, "<>"), "|".join(s.split(t)), s * 2 + t]
        assert found[1].split("\t") == second, (s, t)
        assert found[2] == f"[{s.strip()}|{s.lstrip()}|{s.rstrip()}]", (s, t)
        assert found[3].split("\t")[3:] == [s.removeprefix(t), s.removesuffix(t)], (s, t)
