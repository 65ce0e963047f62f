"""The errors of the mathematical functions, in units in the last place (ulp), as a table for docs/math.md.

    python benchmarks/ulp.py [--functions sin,cos] [--types float64] [--count 4000] [--seed 0] [--mojo COMMAND]

One program for each type computes every function, a number at a time and a vector at a time; mpmath, with as many
digits as are needed, says what is right. Float16 and bfloat16 are tried with all their numbers. Where a command of the
reference is given, its errors stand beside ours.
"""

import argparse
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mpmath  # type: ignore[import-untyped]
from mpmath import mp

KTC = os.environ.get("KTC", shutil.which("ktc") or "ktc")
WIDTH = 8
MANY = 1e9
"""What counts for a result that is no number, or a number where there is none."""


class Format(NamedTuple):
    """A binary type: bits, digits of its fraction with the leading one, the largest exponent, and struct's letter."""

    bits: int
    digits: int
    top: int
    letter: str

    @property
    def bottom(self) -> int:
        return 2 - self.top

    def value(self, bits: int) -> float:
        """Return the number with these bits."""
        if self.letter == "b":  # bfloat16: the upper half of a float32
            return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
        return float(struct.unpack(f"<{self.letter}", bits.to_bytes(self.bits // 8, "little"))[0])

    def bits_of(self, value: float) -> int:
        """Return the bits of a nearby number of this type."""
        if self.letter == "b":
            return int(struct.unpack("<I", struct.pack("<f", value))[0]) >> 16
        return int.from_bytes(struct.pack(f"<{self.letter}", value), "little")


FORMATS = {
    "float64": Format(64, 53, 1024, "d"),
    "float32": Format(32, 24, 128, "f"),
    "float16": Format(16, 11, 16, "e"),
    "bfloat16": Format(16, 8, 128, "b"),
}


class Row(NamedTuple):
    """A range of arguments for a function; of its logarithm where `scale` is "log", with both signs for "both"."""

    name: str
    low: float
    high: float
    scale: str = "even"


HUGE = 1e300
ROWS = (
    Row("sin", -10, 10), Row("sin", 10, 1e6), Row("sin", 1e6, HUGE, "log"),
    Row("cos", -10, 10), Row("cos", 10, 1e6), Row("cos", 1e6, HUGE, "log"),
    Row("tan", -10, 10), Row("tan", 10, 1e6), Row("tan", 1e6, HUGE, "log"),
    Row("asin", -1, 1), Row("asin", 1e-10, 1, "both"), Row("acos", -1, 1), Row("acos", 1e-10, 1, "both"),
    Row("atan", -10, 10), Row("atan", 1e-10, 1e10, "both"),
    Row("atan2", -10, 10), Row("atan2", 1e-10, 1e10, "both"),
    Row("exp", -10, 10), Row("exp", -745, 709.7), Row("exp", 1e-20, 1, "both"),
    Row("exp2", -10, 10), Row("exp2", -1074, 1024), Row("exp10", -10, 10), Row("exp10", -300, 300),
    Row("expm1", -1, 1), Row("expm1", 1e-20, 700, "both"),
    Row("log", 0.5, 2), Row("log", 1e-320, HUGE, "log"), Row("log2", 0.5, 2), Row("log2", 1e-320, HUGE, "log"),
    Row("log10", 0.5, 2), Row("log10", 1e-320, HUGE, "log"), Row("log1p", -0.5, 1), Row("log1p", 1e-20, 1e10, "log"),
    Row("pow", 0.01, 20), Row("pow", 1e-5, 1e5, "log"),
    Row("sinh", -1, 1), Row("sinh", 1e-10, 700, "both"), Row("cosh", -1, 1), Row("cosh", 1e-10, 700, "both"),
    Row("tanh", -1, 1), Row("tanh", 1e-10, 30, "both"),
    Row("asinh", -1, 1), Row("asinh", 1e-10, HUGE, "both"), Row("acosh", 1, 10), Row("acosh", 1, HUGE, "log"),
    Row("atanh", -1, 1), Row("atanh", 1e-10, 1, "both"),
    Row("erf", -1, 1), Row("erf", 1e-10, 6, "both"), Row("erfc", -6, 1), Row("erfc", 1, 26.5),
    Row("gamma", 0.1, 5), Row("gamma", 5, 170), Row("gamma", -20, 0),
    Row("lgamma", 0.1, 3), Row("lgamma", 3, 1e5, "log"), Row("lgamma", -20, 0),
    Row("j0", 0, 10), Row("j0", 10, 1e6, "log"), Row("j1", 0, 10), Row("j1", 10, 1e6, "log"),
    Row("y0", 0, 10), Row("y0", 10, 1e6, "log"), Row("y1", 0, 10), Row("y1", 10, 1e6, "log"),
    Row("cbrt", 1e-300, HUGE, "both"), Row("sqrt", 1e-320, HUGE, "log"), Row("rsqrt", 1e-300, HUGE, "log"),
    Row("hypot", -10, 10), Row("hypot", 1e-160, 1e160, "log"),
)  # fmt: skip
TWO = ("atan2", "pow", "hypot")

TURNS: dict[str, tuple[float, ...]] = {
    "sin": (math.pi / 4, math.pi / 2, math.pi, 2 * math.pi, 355.0), "exp": (math.log(2) / 2, math.log(2)),
    "log": (0.70710678, 1.0, 1.41421356), "erf": (0.5, 0.84375, 1.0, 1.25), "gamma": (1.0, 2.0, 3.0, 12.0, 40.0),
    "lgamma": (1.0, 2.0, 12.0), "expm1": (0.34, math.log(2) / 2), "atan": (0.198912367, 0.414213562, 0.668178637, 1.0),
    "j0": (2.40482556, 4.0, 8.0), "j1": (3.83170597, 4.0, 8.0), "y0": (0.89357697, 3.0, 8.0),
    "y1": (2.19714133, 3.0, 8.0), "asin": (0.5, 0.70710678, 1.0), "tanh": (0.25, 0.625, 1.0),
    "acosh": (1.0,), "log1p": (-0.29289321, 0.41421356),
}  # fmt: skip
"""Places near which algorithms change, or results vanish; tried with their neighbours."""
LIKE = {
    "cos": "sin", "tan": "sin", "log2": "log", "log10": "log", "exp2": "exp", "sinh": "expm1", "erfc": "erf",
    "acos": "asin", "atan2": "atan", "atanh": "log1p", "asinh": "log1p", "cosh": "exp",
}  # fmt: skip


def exact(name: str, x: Any, y: Any) -> Any:
    """Return a function's value with many digits, or None where it has no real one."""
    special: dict[str, Callable[[], Any]] = {
        "exp2": lambda: mp.power(2, x), "exp10": lambda: mp.power(10, x), "log2": lambda: mp.log(x) / mp.log(2),
        "pow": lambda: mp.power(x, y), "atan2": lambda: mp.atan2(x, y), "hypot": lambda: mp.hypot(x, y),
        "cbrt": lambda: mp.sign(x) * mp.cbrt(abs(x)), "rsqrt": lambda: 1 / mp.sqrt(x), "log1p": lambda: mp.log1p(x),
        "j0": lambda: mp.besselj(0, x), "j1": lambda: mp.besselj(1, x),
        "y0": lambda: mp.bessely(0, x) if x >= 0 else None, "y1": lambda: mp.bessely(1, x) if x >= 0 else None,
        "lgamma": lambda: mp.log(abs(mp.gamma(x))) if x < 1e4 else mp.loggamma(x),
    }  # fmt: skip
    if name == "pow" and x == 0 and y < 0:
        return mp.inf * (math.copysign(1, x) if y % 2 == 1 else 1)
    if name in ("gamma", "lgamma") and x <= 0 and x == mp.floor(x):
        return mp.inf if name == "lgamma" or x == 0 else None
    try:
        value = special[name]() if name in special else getattr(mp, name)(x)
    except (ValueError, ZeroDivisionError):
        return None
    return None if value is None or (isinstance(value, mpmath.mpc) and value.imag != 0) else mp.re(value)


def error(format: Format, got: float, wanted: Any) -> float:
    """Return how far a result is from the right one, in units in the last place of the right one."""
    if wanted is None or mpmath.isnan(wanted):
        return 0.0 if math.isnan(got) else MANY
    limit = mp.ldexp(mp.mpf(2) - mp.ldexp(1, -format.digits), format.top - 1)
    if abs(wanted) >= limit:
        return 0.0 if math.isinf(got) and (got > 0) == (wanted > 0) else MANY
    if math.isnan(got):
        return MANY
    exponent = format.bottom if wanted == 0 else max(int(mp.frexp(wanted)[1]) - 1, format.bottom)
    value = mp.mpf(got) if math.isfinite(got) else mp.ldexp(math.copysign(1, got), format.top)
    return float(abs(value - wanted) / mp.ldexp(1, exponent - format.digits + 1))


def arguments(row: Row, format: Format, count: int, chance: random.Random) -> Iterator[int]:
    """Give the bits of arguments from a row's range, as far as the type has them."""
    largest = format.value((1 << (format.bits - 1)) - 1 - (1 << (format.digits - 1)))
    smallest = 2.0 ** (format.bottom - 1 - (format.digits - 1))
    low, high = max(row.low, -largest), min(row.high, largest)
    if row.scale != "even":
        low = max(low, smallest)
    for _ in range(count):
        if row.scale == "even":
            value = chance.uniform(low, high)
        else:
            value = math.exp(chance.uniform(math.log(low), math.log(high)))
        sign = -1 if row.scale == "both" and chance.random() < 0.5 else 1
        yield format.bits_of(sign * min(max(value, low), high))
    for turn in TURNS.get(LIKE.get(row.name, row.name), ()):
        for value in (turn, -turn):
            if row.low <= value <= row.high:
                middle = format.bits_of(value)
                yield from range(middle - 20, middle + 20)


PROGRAM = """from math import *
from sys import argv

alias T = DType.{type}
alias W = {width}

{functions}

def main():
    var name = String(argv()[1])
    var text: List[UInt8]
    with open(String(argv()[2]), "r") as file:
        text = file.read_bytes()
    var count = Int(String(argv()[3]))
    var x = List[Scalar[T]](length=count, fill=0)
    var y = List[Scalar[T]](length=count, fill=0)
    var r = List[Scalar[T]](length=2 * count, fill=0)
    var given = text.unsafe_ptr().bitcast[Scalar[DType.{bits}]]()
    var first = x.unsafe_ptr().bitcast[Scalar[DType.{bits}]]()
    var second = y.unsafe_ptr().bitcast[Scalar[DType.{bits}]]()
    for i in range(count):
        first[i] = given[i]
        second[i] = given[count + i]
{calls}
    var results = r.unsafe_ptr().bitcast[Scalar[DType.{bits}]]()
    for i in range(2 * count):
        print(results[i])
"""
FUNCTION = """fn {name}_(x: List[Scalar[T]], y: List[Scalar[T]], mut r: List[Scalar[T]], count: Int):
    for i in range(count):
        var a = x[i]
        var b = y[i]
        r[i] = {call}
    for i in range(0, count, W):
        var a = x.unsafe_ptr().load[width=W](i)
        var b = y.unsafe_ptr().load[width=W](i)
        r.unsafe_ptr().store(count + i, {call})

"""


def program(type_name: str, names: Sequence[str]) -> str:
    """Return the source that computes functions of a type."""

    def call(name: str) -> str:
        return "a ** b" if name == "pow" else f"{name}(a, b)" if name in TWO else f"{name}(a)"

    functions = "\n".join(FUNCTION.format(name=name, call=call(name)) for name in names)
    calls = "\n".join(f'    if name == "{name}":\n        {name}_(x, y, r, count)' for name in names)
    bits = f"uint{FORMATS[type_name].bits}"
    return PROGRAM.format(type=type_name, width=WIDTH, functions=functions, calls=calls, bits=bits)


class Compiled:
    """The executables of one compiler: one for all functions of a type, or one each where that is refused."""

    def __init__(self, command: Sequence[str], suffix: str, folder: Path) -> None:
        self._command, self._suffix, self._folder = command, suffix, folder
        self._known: dict[tuple[str, str], Path | None] = {}

    def prepare(self, type_name: str, names: Sequence[str]) -> None:
        """Build what is needed for these functions."""
        together = self._build(type_name, names)
        for name in names:
            self._known[type_name, name] = together or self._build(type_name, [name])

    def _build(self, type_name: str, names: Sequence[str]) -> Path | None:
        stem = f"{type_name}_{names[0]}_{len(names)}"
        source = self._folder / f"{stem}{self._suffix}"
        source.write_text(program(type_name, names), "utf-8")
        output = self._folder / f"{stem}{self._suffix}.exe"
        words = [*self._command, "build", str(source), "-o", str(output)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return output if done.returncode == 0 else None

    def run(self, type_name: str, name: str, first: list[int], second: list[int]) -> list[int] | None:
        """Return the bits of the results, one at a time and then as vectors; None if the function is not there."""
        executable = self._known.get((type_name, name))
        if executable is None:
            return None
        size = FORMATS[type_name].bits // 8
        data = self._folder / "arguments.bin"
        data.write_bytes(b"".join(bits.to_bytes(size, "little") for bits in [*first, *second]))
        words = [str(executable), name, str(data), str(len(first))]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return [int(line) for line in done.stdout.split()]


class Worst(NamedTuple):
    """The largest error, and for which arguments."""

    error: float = 0.0
    first: float = 0.0
    second: float = 0.0
    got: float = 0.0

    def text(self) -> str:
        return "wrong" if self.error >= MANY else f"{self.error:.2f}" if self.error < 1000 else f"{self.error:.1e}"


def measure(
    row: Row, type_name: str, compilers: Sequence[Compiled], first: list[int], second: list[int]
) -> list[Worst | None]:
    """Return each compiler's largest error for the arguments of a row."""
    format = FORMATS[type_name]
    results = [compiler.run(type_name, row.name, first, second) for compiler in compilers]
    worst = [None if result is None else Worst() for result in results]
    for place, (x, y) in enumerate(zip(first, second, strict=True)):
        one, two = format.value(x), format.value(y)
        if not (math.isfinite(one) and math.isfinite(two)) or (row.name in ("rsqrt", "gamma") and one == 0):
            continue
        right = exact(row.name, mp.mpf(one), mp.mpf(two))
        for which, result in enumerate(results):
            if result is None:
                continue
            for bits in {result[place], result[place + len(first)]}:
                found = Worst(error(format, format.value(bits), right), one, two, format.value(bits))
                worst[which] = max(worst[which] or Worst(), found)
    return worst


def rows_for(type_name: str, names: Sequence[str]) -> list[Row]:
    """Return the rows of a type: where all numbers are tried, one a function."""
    found = [row for row in ROWS if row.name in names]
    if FORMATS[type_name].bits > 16:
        return found
    return [Row(name, -math.inf, math.inf, "all") for name in dict.fromkeys(row.name for row in found)]


def arguments_of(row: Row, type_name: str, count: int, chance: random.Random) -> tuple[list[int], list[int]]:
    """Return the first and the second arguments for a row, whole vectors of them."""
    format = FORMATS[type_name]
    if row.scale == "all":
        first = list(range(1 << format.bits))
        second = [chance.randrange(1 << format.bits) for _ in first]
    else:
        first = list(arguments(row, format, count, chance))
        other = row._replace(low=-20, high=20, scale="even") if row.name == "pow" else row
        second = list(arguments(other, format, len(first), chance))[: len(first)]
    first += first[: -len(first) % WIDTH]
    return first, (second + first)[: len(first)]


def table(found: dict[str, dict[tuple[str, str], list[str]]], with_reference: bool) -> str:
    """Return results as a table: a row for each function and range, a column for each type and compiler."""
    heads = [head for name in found for head in ((name, "reference") if with_reference else (name,))]
    lines = [f"| function | range | {' | '.join(heads)} |", f"| --- | --- |{' --- |' * len(heads)}"]
    for key in next(iter(found.values())):
        texts = [text for of_type in found.values() for text in of_type[key]]
        lines.append(f"| `{key[0]}` | {key[1]} | {' | '.join(texts)} |")
    return "\n".join([*lines, ""])


def main() -> int:
    """Measure, and print the tables."""
    words = argparse.ArgumentParser(description="Measure the errors of the mathematical functions.")
    words.add_argument("--functions", default="")
    words.add_argument("--types", default=",".join(FORMATS))
    words.add_argument("--count", type=int, default=4000)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--mojo", default=shutil.which("mojo") or "")
    words.add_argument("--worst", action="store_true", help="say for which arguments")
    given = words.parse_args()
    names = given.functions.split(",") if given.functions else list(dict.fromkeys(row.name for row in ROWS))
    mp.prec = 160
    found: dict[str, dict[tuple[str, str], list[str]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        compilers = [Compiled([KTC], ".kpy", Path(folder))]
        compilers += [Compiled(given.mojo.split(), ".mojo", Path(folder))] if given.mojo else []
        for type_name in given.types.split(","):
            of_type = found[type_name] = {}
            for compiler in compilers:
                compiler.prepare(type_name, names)
            for row in rows_for(type_name, names):
                chance = random.Random(f"{given.seed} {row}")
                worst = measure(row, type_name, compilers, *arguments_of(row, type_name, given.count, chance))
                place = "all" if row.scale == "all" else f"{row.low:g} … {row.high:g}".replace("-", "−")
                of_type[row.name, place] = ["–" if one is None else one.text() for one in worst]
                if given.worst:
                    print(
                        type_name, row.name, place, *(tuple(one) for one in worst if one), file=sys.stderr, flush=True
                    )
    wide = [name for name in found if FORMATS[name].bits > 16]
    for types in (wide, [name for name in found if name not in wide]):
        if types:
            print(table({name: found[name] for name in types}, bool(given.mojo)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
