"""Arrays against numpy: random expressions of random shapes in one program."""

import random
from pathlib import Path

import numpy as np

from programs import run_ktc

SHAPES = ((4,), (1, 4), (3, 1), (3, 4), (2, 3, 4), (2, 1, 4), (2, 3, 1))
HEAD = """from ndarray import NDArray, Shape, arange, cpu, f64, gpu


fn show[device: Device](array: NDArray[f64, device]) raises:
    for axis in range(array.ndim()):
        print(array.shape()[axis], end=" ")
    print(":", end="")
    for value in array.to_list():
        print("", value, end="")
    print()


fn made[device: Device](start: Float64, shape: Shape) raises -> NDArray[f64, device]:
    return arange[f64, device](start, start + Float64(shape.elements()), 1).reshape(shape)


def main():
"""


def operand(some: random.Random, device: str, depth: int) -> tuple[str, np.ndarray]:
    """Return an expression in the program's language, and its value."""
    if depth == 0:
        shape, start = some.choice(SHAPES), some.randint(1, 9)
        value = np.arange(start, start + np.prod(shape), dtype=np.float64).reshape(shape)
        return f"made[{device}]({start}, Shape({', '.join(map(str, shape))}))", value
    a, x = operand(some, device, depth - 1)
    match some.randrange(7):
        case 0 | 1:
            b, y = operand(some, device, depth - 1)
            sign = some.choice(["+", "-", "*", "/"])
            try:
                return f"({a} {sign} {b})", {"+": x + y, "-": x - y, "*": x * y, "/": x / y}[sign]
            except ValueError:
                return a, x
        case 2:
            return f"({a} * 0.5 + 2)", x * 0.5 + 2
        case 3:
            return f"(1 / ({a}.abs() + 1))", 1 / (abs(x) + 1)
        case 4:
            name = some.choice(["sin", "cos", "tanh"])
            return f"{a}.{name}()", getattr(np, name)(x)
        case 5:
            axis, name = some.randrange(-1, x.ndim), some.choice(["sum", "mean", "min", "max"])
            return (f"{a}.{name}(axis={axis})", getattr(x, name)(axis=axis)) if x.ndim > 1 else (a, x)
        case _:
            return (f"({a} @ {a}.T())", x @ x.T) if x.ndim == 2 else (f"({a}).to[cpu]().to[{device}]()", x)


def test_random_expressions(program_cache: Path, tmp_path: Path) -> None:
    some = random.Random(20251102)
    with np.errstate(all="ignore"):
        cases = [operand(some, some.choice(["cpu", "gpu"]), some.randint(1, 3)) for _ in range(150)]
    text = HEAD.replace("cpu, f64", "Device, cpu, f64") + "".join(
        f"    show({expression})\n" for expression, _ in cases
    )
    (tmp_path / "cases.kpy").write_text(text)
    done = run_ktc(["run", "--target-accelerator", "cpu", "cases.kpy"], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    for line, (expression, wanted) in zip(done.stdout.splitlines(), cases, strict=True):
        shape, _, values = line.partition(":")
        assert tuple(map(int, shape.split())) == wanted.shape, expression
        found = np.array(values.split(), dtype=np.float64).reshape(wanted.shape)
        assert np.allclose(found, wanted, rtol=1e-12, atol=1e-12, equal_nan=True), expression
