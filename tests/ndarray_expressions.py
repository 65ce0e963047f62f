"""Random expressions of arrays, as text of a program and as numpy computes them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

HEAD = """from ndarray import *


fn show[E: Expression](array: E) raises:
    print(array.Tree.dtype, end=" ")
    for axis in range(array.ndim()):
        print(array.shape()[axis], end=" ")
    print(":", end="")
    for value in array.to_list():
        print("", value.cast[DType.float64](), end="")
    print()


fn made[dtype: DType, device: Device](start: Int, shape: Shape) raises -> NDArray[dtype, device]:
    var numbers = arange[DType.int64, device](start, start + shape.elements()).reshape(shape)

    @parameter
    if dtype == DType.bool:
        return (numbers % 3 == 0).cast[dtype]().eval()
    else:
        return numbers.cast[dtype]().eval()


fn added[A: Expression, B: Expression](a: A, b: B) raises -> NDArray[A.Tree.dtype, A.device]:
    var made = a.eval().copy()
    made += b
    made *= 3
    return made^


fn written[A: Expression, B: Expression](a: A, b: B) raises -> NDArray[A.Tree.dtype, A.device]:
    var made = a.eval().copy()
    made.view([Index(Slice(None, None, 2))]).set(b)
    return made^


def main():
"""

SHAPES = ((4,), (1, 4), (3, 1), (3, 4), (2, 3, 4), (2, 1, 4), (2, 3, 1), (5, 2, 1, 4), (40,), (33, 20), (1,))
NAMES = {
    "float32": "f32",
    "float64": "f64",
    "int32": "i32",
    "int64": "i64",
    "uint8": "DType.uint8",
    "bool": "DType.bool",
}
SIGNS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "//": np.floor_divide,
    "%": np.remainder,
}
BITS = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
COMPARED = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    **{
        name: getattr(np, name)
        for name in ("sin", "cos", "tanh", "sinh", "cosh", "exp", "exp2", "expm1", "cbrt", "square", "floor", "ceil")
    },
    **{"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "trunc": np.trunc},
    **{"abs": np.abs, "sqrt": np.sqrt, "sign": np.sign, "round": np.round, "radians": np.radians, "log1p": np.log1p},
    **{
        "log": np.log,
        "log2": np.log2,
        "log10": np.log10,
        "degrees": np.degrees,
        "isnan": np.isnan,
        "isfinite": np.isfinite,
    },
}
REDUCTIONS = {
    **{name: getattr(np, name) for name in ("sum", "mean", "min", "max", "any", "all", "argmin", "argmax", "std")},
    "variance": np.var,
}


@dataclass(frozen=True)
class Case:
    """An expression: its text, what numpy makes of it, and whether its elements are known exactly."""

    text: str
    value: np.ndarray
    is_exact: bool = True


@st.composite
def leaves(draw: st.DrawFn, device: str) -> Case:
    """Return an array or a view of one."""
    shape, start = draw(st.sampled_from(SHAPES)), draw(st.integers(-3, 9))
    name = draw(st.sampled_from(sorted(NAMES)))
    start = abs(start) if name == "uint8" else start
    numbers = np.arange(start, start + np.prod(shape)).reshape(shape)
    value = (numbers % 3 == 0) if name == "bool" else numbers.astype(name)
    text = f"made[{NAMES[name]}, {device}]({start}, Shape({', '.join(map(str, shape))}))"
    match draw(st.integers(0, 4)):
        case 0:
            return Case(f"{text}.T()", value.T)
        case 1:
            keys = [draw(st.sampled_from(["1:", ":", "::-1", "::2", ":-1", "-3:", "2::-1"])) for _ in shape]
            view = eval(f"value[{', '.join(keys)}]", {"value": value})
            return Case(f"{text}[{', '.join(keys)}]", view) if view.size else Case(text, value)
        case 2 if len(shape) > 1:
            return Case(f"{text}[0, {', '.join(':' for _ in shape[1:])}]", value[0])
    return Case(text, value)


@st.composite
def expressions(draw: st.DrawFn, device: str, depth: int) -> Case:
    """Return an expression of some depth."""
    if depth == 0:
        return draw(leaves(device))
    a = draw(expressions(device, depth - 1))
    x, is_float = a.value, a.value.dtype.kind == "f"
    fallback = Case(f"({a.text} * {a.text})", x * x, a.is_exact)
    match draw(st.integers(0, 11)):
        case 0 | 1 | 2:
            b = draw(expressions(device, draw(st.integers(0, depth - 1))))
            return _combined(draw, a, b) or fallback
        case 3:
            number = draw(st.sampled_from([2, 3, 7]))
            sign = draw(st.sampled_from(sorted(SIGNS)))
            if x.dtype.kind == "b":
                return fallback
            kind = x.dtype.type(number)
            known = a.is_exact or sign not in ("//", "%")
            return (
                Case(f"({a.text} {sign} {number})", SIGNS[sign](x, kind), a.is_exact and sign != "/")
                if known
                else fallback
            )
        case 4 | 5:
            name = draw(st.sampled_from(sorted(FUNCTIONS)))
            is_step = name in ("floor", "ceil", "trunc", "round", "sign", "isnan", "isfinite")
            fits = x.dtype.kind in "fi" and (a.is_exact or not is_step) and np.abs(x).max(initial=0) < 1e4
            if not fits or (x.dtype == np.float32 and not a.is_exact):
                return fallback
            return Case(f"{a.text}.{name}()", FUNCTIONS[name](x), is_step or name in ("abs", "square"))
        case 6 | 7:
            return _reduced(draw, a)
        case 8:
            if x.ndim < 2 or not is_float:
                return Case(f"({a.text}).cast[f64]()", x.astype(np.float64), a.is_exact)
            return Case(
                f"({a.text} @ {a.text}.eval().transpose({_swapped(x.ndim)}))", x @ np.swapaxes(x, -1, -2), False
            )
        case 9 | 10:
            b = draw(expressions(device, draw(st.integers(0, depth - 1))))
            return _changed(a, b, draw(st.booleans())) or fallback
        case _:
            other = "gpu" if device == "cpu" else "cpu"
            return Case(f"({a.text}).to[{other}]().to[{device}]()", x, a.is_exact)


def _swapped(rank: int) -> str:
    order = [*range(rank - 2), rank - 1, rank - 2]
    return ", ".join(map(str, order))


def _combined(draw: st.DrawFn, a: Case, b: Case) -> Case | None:
    x, y = a.value, b.value
    both = {x.dtype.kind, y.dtype.kind}
    signs = dict(SIGNS)
    if a.is_exact and b.is_exact:
        signs |= COMPARED | {".minimum": np.minimum, ".maximum": np.maximum, "where": np.where}
    else:
        del signs["//"], signs["%"]
    if "f" not in both:
        signs |= BITS
    if both == {"b"}:
        signs = {"+": np.add, "*": np.multiply, **BITS}
    sign = draw(st.sampled_from(sorted(signs)))
    try:
        if sign == "where":
            return Case(f"where({a.text} > {b.text}, {a.text}, {b.text})", np.where(x > y, x, y))
        value = signs[sign](x, y)
    except ValueError:
        return None
    text = f"{a.text}{sign}({b.text})" if sign[0] == "." else f"({a.text} {sign} {b.text})"
    return Case(text, value, (a.is_exact and b.is_exact and sign != "/") or sign in COMPARED)


def _changed(a: Case, b: Case, is_sum: bool) -> Case | None:
    """Return a copy of an array that is changed in place: all of it, or every second one along the first axis."""
    value, is_exact = a.value.copy(), a.is_exact and b.is_exact
    if value.dtype.kind == "b" or value.ndim == 0 or np.promote_types(value.dtype, b.value.dtype) != value.dtype:
        return None
    try:
        if is_sum:
            value += b.value
            value *= value.dtype.type(3)
        else:
            value[::2] = b.value
    except ValueError:
        return None
    return Case(f"{'added' if is_sum else 'written'}({a.text}, {b.text})", value, is_exact)


def _reduced(draw: st.DrawFn, a: Case) -> Case:
    x = a.value
    name = draw(st.sampled_from(sorted(REDUCTIONS)))
    if (
        x.ndim == 0
        or (name.startswith("arg") and not a.is_exact)
        or (x.dtype.kind == "b" and name in ("variance", "std"))
    ):
        return a
    axis, keep = draw(st.integers(-x.ndim, x.ndim - 1)), draw(st.booleans())
    value = REDUCTIONS[name](x, axis=axis, keepdims=keep)
    text = f"{a.text}.{name}(axis={axis}, keepdims={keep})"
    return Case(text, np.asarray(value), a.is_exact and name not in ("mean", "std", "variance"))


def program(cases: list[Case]) -> str:
    """Return a program that shows the cases, in functions of ten."""
    parts = [cases[at : at + 10] for at in range(0, len(cases), 10)]
    text = HEAD + "".join(f"    part_{number}()\n" for number in range(len(parts)))
    for number, part in enumerate(parts):
        text += f"\n\ndef part_{number}():\n" + "".join(f"    show({case.text})\n" for case in part)
    return text


def check(line: str, case: Case) -> str:
    """Return what is wrong with a line that the program printed, or nothing."""
    head, _, values = line.partition(":")
    dtype, *extents = head.split()
    found = np.array([float(word) for word in values.split()]).reshape([int(word) for word in extents])
    if dtype != str(case.value.dtype) or found.shape != case.value.shape:
        return f"{case.text}: {dtype} {found.shape}, not {case.value.dtype} {case.value.shape}"
    wanted = case.value.astype(np.float64)
    rtol = 1e-4 if case.value.dtype == np.float32 else 1e-9
    finite = np.abs(wanted[np.isfinite(wanted)])
    atol = rtol * finite.max(initial=0)
    if np.allclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True):
        return ""
    return f"{case.text}: {found}, not {wanted}"
