"""Kernels in Triton that `gpu_libraries.py` and `launches.py` time: without annotations, which Triton would read."""

from importlib import import_module
from typing import Any

triton: Any = import_module("triton")
tl: Any = import_module("triton.language")


@triton.jit
def add(a, b, c, count, block: tl.constexpr):
    """Add two vectors."""
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < count
    tl.store(c + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


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


@triton.jit
def product(a, b, c, m, n, k, rows: tl.constexpr, columns: tl.constexpr, depth: tl.constexpr, together: tl.constexpr):
    """Multiply (m, k) by the transpose of (n, k), in tiles; `together` rows of tiles are made one after the other."""
    number = tl.program_id(0)
    across = tl.cdiv(n, columns)
    group = number // (together * across)
    high = min(tl.cdiv(m, rows) - group * together, together)
    row = (group * together + number % (together * across) % high) * rows + tl.arange(0, rows)
    column = number % (together * across) // high * columns + tl.arange(0, columns)
    at = tl.arange(0, depth)
    left = a + (row % m)[:, None] * k + at[None, :]
    right = b + (column % n)[None, :] * k + at[:, None]
    sums = tl.zeros((rows, columns), dtype=tl.float32)
    for turn in range(tl.cdiv(k, depth)):
        inside = at < k - turn * depth
        x = tl.load(left, mask=inside[None, :], other=0.0)
        y = tl.load(right, mask=inside[:, None], other=0.0)
        sums = tl.dot(x, y, sums)
        left += depth
        right += depth
    place = c + row[:, None] * n + column[None, :]
    tl.store(place, sums.to(c.dtype.element_ty), mask=(row[:, None] < m) & (column[None, :] < n))


@triton.jit
def attention(
    q, k, v, output, factor, length, depth: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr, mask: tl.constexpr
):
    """Attend `rows` queries of a head to its keys; tensors are (heads, length, depth), `factor` is for powers of 2."""
    head = tl.program_id(1) * length * depth
    first = tl.program_id(0) * rows
    row, at = first + tl.arange(0, rows), tl.arange(0, depth)
    query = tl.load(q + head + row[:, None] * depth + at[None, :])
    most = tl.full((rows,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((rows,), dtype=tl.float32)
    sums = tl.zeros((rows, depth), dtype=tl.float32)
    end = first + rows if mask else length
    for start in range(0, end, columns):
        column = start + tl.arange(0, columns)
        place = head + column[:, None] * depth + at[None, :]
        scores = tl.dot(query, tl.trans(tl.load(k + place))) * factor
        if mask:
            scores = tl.where(row[:, None] >= column[None, :], scores, float("-inf"))
        higher = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        scale = tl.exp2(most - higher)
        total = total * scale + tl.sum(weights, 1)
        sums = tl.dot(weights.to(tl.bfloat16), tl.load(v + place), sums * scale[:, None])
        most = higher
    tl.store(output + head + row[:, None] * depth + at[None, :], (sums / total[:, None]).to(tl.bfloat16))
