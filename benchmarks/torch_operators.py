"""Operators of `ktc.torch` beside PyTorch's own, on a GPU: the cost of a call, and times of whole operators.

    python benchmarks/torch_operators.py [--json FILE]

The cost of a call is what the host needs to enqueue work that takes the GPU no longer than that: microseconds a call of
many calls in a row, on small tensors. Times of operators are from CUDA graphs of 20 calls, so that no host is in them.
Ratios are PyTorch's time over ktc's: above 1 ktc is faster.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import ktc.torch as kt
import torch
import torch.nn.functional as F

Call = Callable[[], object]


def host_microseconds(call: Call, calls: int = 2000) -> float:
    """Return the host's microseconds a call, the least of five rounds."""
    rounds = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        rounds.append((time.perf_counter() - begin) / calls * 1e6)
        torch.cuda.synchronize()
    return min(rounds)


def device_microseconds(call: Call, calls: int = 20) -> float:
    """Return the GPU's microseconds a call, the median of replays of a graph."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    times = []
    for _ in range(12):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / calls)
    return statistics.median(times)


def numbers(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """Return random numbers on the GPU."""
    return torch.randn(*shape, device="cuda").to(dtype)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """PyTorch's attention of tensors (batches, length, heads, depth)."""
    made = F.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=causal, enable_gqa=q.size(2) != k.size(2)
    )
    return made.transpose(1, 2)


def small() -> dict[str, tuple[Call, Call]]:
    """Return operators of small tensors."""
    a, w = numbers(64, 64), numbers(64)
    q = numbers(1, 64, 2, 64)
    return {
        "matmul 64": (partial(kt.matmul, a, a), partial(torch.mm, a, a)),
        "softmax 64x64": (partial(kt.softmax, a), partial(F.softmax, a, -1)),
        "rms_norm 64x64": (partial(kt.rms_norm, a, w, 1e-6), partial(F.rms_norm, a, (64,), w, 1e-6)),
        "attention 64": (partial(kt.flash_attention, q, q, q), partial(attention, q, q, q, False)),
    }


def large() -> dict[str, tuple[Call, Call]]:
    """Return operators of ordinary sizes."""
    cases: dict[str, tuple[Call, Call]] = {}
    for m, n, k in ((4096, 4096, 4096), (8192, 8192, 8192), (16, 4096, 4096), (4096, 11008, 4096), (1000, 2000, 3000)):
        a, b = numbers(m, k), numbers(n, k)
        cases[f"matmul {m}x{n}x{k}"] = (partial(kt.matmul, a, b.mT), partial(torch.matmul, a, b.mT))
    a, b, bias = numbers(4096, 4096), numbers(11008, 4096), numbers(11008)
    cases["linear + gelu 4096x11008x4096"] = (
        partial(kt.matmul, a, b.mT, bias=bias, activation="gelu_tanh"),
        lambda: F.gelu(F.linear(a, b, bias), approximate="tanh"),
    )
    for rows, columns in ((8192, 4096), (4096, 8192), (2048, 32768)):
        x, w = numbers(rows, columns), numbers(columns)
        cases[f"softmax {rows}x{columns}"] = (partial(kt.softmax, x), partial(F.softmax, x, -1))
        cases[f"rms_norm {rows}x{columns}"] = (
            partial(kt.rms_norm, x, w, 1e-6),
            partial(F.rms_norm, x, (columns,), w, 1e-6),
        )
        cases[f"layer_norm {rows}x{columns}"] = (
            partial(kt.layer_norm, x, w, w),
            partial(F.layer_norm, x, (columns,), w, w),
        )
    for length, causal in ((2048, True), (8192, True), (8192, False)):
        q, k, v = numbers(1, length, 32, 128), numbers(1, length, 8, 128), numbers(1, length, 8, 128)
        name = f"attention {length} {'causal' if causal else 'full'}"
        cases[name] = (partial(kt.flash_attention, q, k, v, causal=causal), partial(attention, q, k, v, causal))
    return cases


def main() -> None:
    """Measure and print."""
    words = argparse.ArgumentParser()
    words.add_argument("--json", type=Path)
    given = words.parse_args()
    found: dict[str, dict[str, float]] = {}
    for title, cases, measure in (
        ("host, microseconds a call", small(), host_microseconds),
        ("GPU, microseconds", large(), device_microseconds),
    ):
        print(f"{title:32} {'ktc':>9} {'PyTorch':>9} {'ratio':>6}")
        ratios = []
        for name, (ours, theirs) in cases.items():
            for call in (ours, theirs):
                call()
            mine, other = measure(ours), measure(theirs)
            ratios.append(other / mine)
            found[name] = {"ktc": mine, "torch": other}
            print(f"{name:32} {mine:9.2f} {other:9.2f} {other / mine:6.2f}", flush=True)
        print(f"{'geometric mean':52} {statistics.geometric_mean(ratios):6.2f}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
