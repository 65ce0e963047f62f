"""Kernels in Triton that `gpu_libraries.py` times. Triton reads the annotations of arguments, so they have none."""

from importlib import import_module
from typing import Any

triton: Any = import_module("triton")
tl: Any = import_module("triton.language")


@triton.jit
def softmax(x, y, columns: tl.constexpr):
    """Make the softmax of a row."""
    at = tl.program_id(0) * columns + tl.arange(0, columns)
    row = tl.load(x + at)
    powers = tl.exp(row - tl.max(row, 0))
    tl.store(y + at, powers / tl.sum(powers, 0))


@triton.jit
def rms_norm(x, weight, y, columns: tl.constexpr):
    """Divide a row by its root mean square, and multiply it by weights."""
    column = tl.arange(0, columns)
    at = tl.program_id(0) * columns + column
    row = tl.load(x + at)
    scale = tl.rsqrt(tl.sum(row * row, 0) / columns + 1e-6)
    tl.store(y + at, row * scale * tl.load(weight + column))
