"""What libraries take for the work of kernels of benchmarks/gpu: PyTorch's (cuBLAS, cuDNN and its own) and Triton's.

    python benchmarks/gpu_libraries.py

Prints a kernel's name, a library's, and microseconds. Timed as `gpu/timing.cuh` does it: the least of five rounds.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

torch: Any = import_module("torch")

COUNT = 1 << 26
ROWS, COLUMNS = 16384, 4096
SIDE = 8192
N = 2048
ROUNDS, REPEATS = 5, 20


def microseconds(work: Callable[[], object]) -> float:
    """Return the time of a call: the least of some rounds."""
    work()
    work()
    torch.cuda.synchronize()
    least = float("inf")
    for _ in range(ROUNDS):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(REPEATS):
            work()
        last.record()
        last.synchronize()
        least = min(least, first.elapsed_time(last) * 1e3 / REPEATS)
    return least


def works() -> dict[tuple[str, str], Callable[[], object]]:
    """Return by kernel and library what is timed."""
    functions = torch.nn.functional
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    x, y, z = (torch.rand(COUNT, device="cuda") for _ in range(3))
    rows, image = x.view(ROWS, COLUMNS), x.view(1, 1, SIDE, SIDE)
    vector, narrow = y[:COLUMNS], torch.rand(1, 1, 17, device="cuda")
    square, other = x[: N * N].view(N, N), y[: N * N].view(N, N)
    made, square_made = torch.empty_like(x), torch.empty_like(square)
    heads = [one[: 64 * 1024 * 64].view(1, 64, 1024, 64) for one in (x, y, z)]
    small = torch.rand(1, 1, 5, 5, device="cuda")
    index = torch.randint(COUNT, (COUNT,), device="cuda")
    return {
        ("copy4", "PyTorch"): lambda: made.copy_(x),
        ("saxpy", "PyTorch"): lambda: z.add_(x, alpha=2),
        ("gelu", "PyTorch"): lambda: functions.gelu(x, approximate="tanh"),
        ("gather", "PyTorch"): lambda: torch.index_select(x, 0, index, out=made),
        ("sum", "PyTorch"): x.sum,
        ("dot", "cuBLAS"): lambda: torch.dot(x, y),
        ("gemv", "cuBLAS"): lambda: torch.mv(rows, vector),
        ("column_sums", "PyTorch"): lambda: rows.sum(0),
        ("softmax", "PyTorch"): lambda: functions.softmax(rows, 1),
        ("rms_norm", "PyTorch"): lambda: functions.rms_norm(rows, (COLUMNS,), vector, 1e-6),
        ("transpose", "PyTorch"): lambda: made.view(SIDE, SIDE).copy_(x.view(SIDE, SIDE).t()),
        ("matmul_blocked", "cuBLAS"): lambda: torch.mm(square, other, out=square_made),
        ("attention", "PyTorch"): lambda: functions.scaled_dot_product_attention(*heads),
        ("conv1d", "cuDNN"): lambda: functions.conv1d(x.view(1, 1, -1), narrow, padding=8),
        ("conv2d", "cuDNN"): lambda: functions.conv2d(image, small),
        **of_triton(rows, vector, made.view(ROWS, COLUMNS)),
    }


def of_triton(rows: Any, weight: Any, made: Any) -> dict[tuple[str, str], Callable[[], object]]:
    """Return Triton's kernels, a row for each program as in its tutorials; none without Triton."""
    try:
        kernels = import_module("gpu_triton")
    except ImportError:
        return {}
    return {
        ("softmax", "Triton"): lambda: kernels.softmax[(ROWS,)](rows, made, COLUMNS, num_warps=8),
        ("rms_norm", "Triton"): lambda: kernels.rms_norm[(ROWS,)](rows, weight, made, COLUMNS, num_warps=8),
    }


def main() -> None:
    """Print the times."""
    for (kernel, library), work in works().items():
        try:
            print(kernel, library, f"{microseconds(work):.3f}", sep="\t", flush=True)
        except Exception as error:
            print(kernel, library, str(error).splitlines()[0], sep="\t", flush=True)


if __name__ == "__main__":
    main()
