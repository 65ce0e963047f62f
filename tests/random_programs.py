"""Random well-typed programs of expressions over numbers, with what they must print.

The values are computed here with Python's own numbers and numpy, so that the programs test the compiler where the
reference is not installed; tests/differential.py gives the same programs to the reference.
"""

import random
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

INTS = ("Int", "UInt", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
FLOATS = ("Float32", "Float64")
NUMPY = {
    "Int": np.int64, "UInt": np.uint64, "Float32": np.float32, "Float64": np.float64,
    **{name: getattr(np, name.lower()) for name in INTS[2:]},
}  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A typed expression, its value, and whether it is a name or in brackets."""

    text: str
    kind: str
    value: Any


def literal(chance: random.Random, kind: str) -> Made:
    """Return a value written with its type."""
    if kind == "Bool":
        value: Any = chance.random() < 0.5
        return Made(str(value), kind, value)
    if kind in FLOATS:
        number = chance.choice((0.0, 1.0, -1.0, 0.5, chance.uniform(-100, 100), chance.uniform(-1e6, 1e6)))
        return Made(f"{kind}({number!r})", kind, NUMPY[kind](number))
    info = np.iinfo(NUMPY[kind])
    low, high = int(info.min), int(info.max)
    number = chance.choice((0, 1, 2, 3, low, high, chance.randint(low, high), chance.randint(max(low, -20), 20)))
    return Made(f"{kind}({number})", kind, NUMPY[kind](number))


def expression(chance: random.Random, kind: str, names: list[Made], depth: int) -> Made:
    """Return an expression of a type."""
    if depth == 0 or chance.random() < 0.15:
        fitting = [name for name in names if name.kind == kind]
        return chance.choice(fitting) if fitting and chance.random() < 0.8 else literal(chance, kind)

    def part(of: str) -> Made:
        return expression(chance, of, names, depth - 1)

    if chance.random() < 0.12:
        condition, one, other = part("Bool"), part(kind), part(kind)
        text = f"({one.text} if {condition.text} else {other.text})"
        return Made(text, kind, one.value if condition.value else other.value)
    if kind == "Bool":
        return _truth(chance, part)
    if kind in FLOATS:
        return _float(chance, kind, part)
    return _whole(chance, kind, part)


def _truth(chance: random.Random, part: Any) -> Made:
    how = chance.choice(("and", "or", "not", "<", "<=", "==", "!=", ">", ">=", "chain"))
    if how == "not":
        one = part("Bool")
        return Made(f"(not {one.text})", "Bool", not one.value)
    if how in ("and", "or"):
        a, b = part("Bool"), part("Bool")
        return Made(
            f"({a.text} {how} {b.text})", "Bool", (a.value and b.value) if how == "and" else (a.value or b.value)
        )
    kind = chance.choice(INTS + FLOATS)
    a, b = part(kind), part(kind)
    if how == "chain":
        c = part(kind)
        return Made(f"({a.text} < {b.text} <= {c.text})", "Bool", bool(a.value < b.value <= c.value))
    compared = {"<": a.value < b.value, "<=": a.value <= b.value, "==": a.value == b.value, "!=": a.value != b.value,
                ">": a.value > b.value, ">=": a.value >= b.value}  # fmt: skip
    return Made(f"({a.text} {how} {b.text})", "Bool", bool(compared[how]))


def _float(chance: random.Random, kind: str, part: Any) -> Made:
    how = chance.choice(("+", "-", "*", "/", "neg", "abs", "min", "max", "int"))
    if how == "int":
        one = part(chance.choice(("Int8", "Int16", "UInt8")))
        return Made(f"{kind}({one.text})", kind, NUMPY[kind](one.value))
    a = part(kind)
    if how in ("neg", "abs"):
        return Made(f"(-{a.text})", kind, -a.value) if how == "neg" else Made(f"abs({a.text})", kind, abs(a.value))
    b = part(kind)
    if how in ("min", "max"):
        picked = (min if how == "min" else max)(a.value, b.value)
        if np.isnan(a.value) or np.isnan(b.value) or a.value == b.value:
            return a
        return Made(f"{how}({a.text}, {b.text})", kind, picked)
    done = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[how](a.value, b.value)
    return Made(f"({a.text} {how} {b.text})", kind, NUMPY[kind](done))


def _whole(chance: random.Random, kind: str, part: Any) -> Made:
    how = chance.choice(("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "~", "neg", "min", "max", "cast"))
    if how == "cast":
        one = part(chance.choice(INTS))
        return Made(f"{kind}({one.text})", kind, _wrap(int(one.value), kind))
    a = part(kind)
    if how == "~":
        return Made(f"(~{a.text})", kind, _wrap(~int(a.value), kind))
    if how == "neg":
        return Made(f"(-{a.text})", kind, _wrap(-int(a.value), kind)) if kind != "UInt" else a
    if how in ("<<", ">>"):
        by = chance.randrange(np.iinfo(NUMPY[kind]).bits)
        done = int(a.value) << by if how == "<<" else int(a.value) >> by
        return Made(f"({a.text} {how} {kind}({by}))", kind, _wrap(done, kind))
    b = part(kind)
    x, y = int(a.value), int(b.value)
    if how in ("min", "max"):
        return Made(f"{how}({a.text}, {b.text})", kind, _wrap((min if how == "min" else max)(x, y), kind))
    done = {"+": x + y, "-": x - y, "*": x * y, "//": x // y if y else 0, "%": x % y if y else 0, "&": x & y,
            "|": x | y, "^": x ^ y}[how]  # fmt: skip
    return Made(f"({a.text} {how} {b.text})", kind, _wrap(done, kind))


def _wrap(value: int, kind: str) -> Any:
    info = np.iinfo(NUMPY[kind])
    value &= (1 << info.bits) - 1
    return NUMPY[kind](value - (1 << info.bits) if info.min < 0 and value >> (info.bits - 1) else value)


def shown(made: Made) -> str:
    """Return the line that prints a value so that it can be compared: the bits of a float, but for the sign of NaN."""
    if made.kind in FLOATS:
        return f"show({made.text})"
    return f"print({made.text})"


def wanted(made: Made) -> str:
    """Return what that line prints."""
    if made.kind in FLOATS:
        if np.isnan(made.value):
            return "nan"
        return str(int(made.value.view(np.uint32 if made.kind == "Float32" else np.uint64)))
    return str(made.value) if made.kind == "Bool" else str(int(made.value))


def program(seed: int, lines: int = 25, depth: int = 4) -> tuple[str, list[str]]:
    """Return a program and the lines that it prints."""
    chance = random.Random(seed)
    text = [
        "fn show(x: Scalar):",
        "    if x != x:",
        '        print("nan")',
        "    else:",
        "        print(x.to_bits())",
        "",
        "",
        "fn main():",
    ]
    names: list[Made] = []
    for kind in (*INTS, *FLOATS, "Bool"):
        made = literal(chance, kind)
        text.append(f"    var {kind.lower()}_0: {kind} = {made.text}")
        names.append(Made(f"{kind.lower()}_0", kind, made.value))
    expected = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(lines):
            kind = chance.choice((*INTS, *FLOATS, "Bool"))
            made = expression(chance, kind, names, depth)
            name = f"v{number}"
            text.append(f"    var {name}: {kind} = {made.text}")
            names.append(Made(name, kind, made.value))
            text.append(f"    {shown(names[-1])}")
            expected.append(wanted(names[-1]))
    return "\n".join(text) + "\n", expected
