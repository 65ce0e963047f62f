"""How long calls from Python take: exported functions, and launches of a kernel on three arrays and a number.

    python benchmarks/launches.py [cpu|gpu]

Prints the least time of nine rounds, in microseconds; the candidates take turns. `gpu` wants torch, and compares with
Triton if it is here, with `torch.add`, and with the driver's own `cuLaunchKernelEx`, called through ctypes with nothing
else. The kernels are so small that the time is the host's. `cpu` compares with Numba if it is here.
"""

import argparse
import gc
import time
from collections.abc import Callable
from importlib import import_module, util
from typing import Any

import ktc

SIZE, BLOCK, ROUNDS = 1024, 256, 9

SOURCE = """
from gpu import global_idx


fn add(
    a: UnsafePointer[Float32, ImmutAnyOrigin],
    b: UnsafePointer[Float32, ImmutAnyOrigin],
    c: UnsafePointer[Float32, MutAnyOrigin],
    count: Int,
):
    var i = Int(global_idx.x)
    if i < count:
        c[i] = a[i] + b[i]


@export
fn sum_of(a: Int, b: Int) -> Int:
    return a + b


@export
fn first_of(a: UnsafePointer[Float32, ImmutAnyOrigin], count: Int) -> Float32:
    return a[0] if count > 0 else 0
"""


def shown(candidates: dict[str, Callable[[], object]], calls: int, wait: Callable[[], None]) -> None:
    """Time the candidates in turns, and print the least time of each."""
    least = dict.fromkeys(candidates, 1e9)
    gc.disable()
    for work in candidates.values():
        work()
        wait()
    for _ in range(ROUNDS):
        for name, work in candidates.items():
            wait()
            start = time.perf_counter()
            for _ in range(calls):
                work()
            least[name] = min(least[name], (time.perf_counter() - start) / calls * 1e6)
    for name, spent in least.items():
        print(f"{name:44}{spent:9.2f}")


def on_cpu(lib: ktc.Library) -> dict[str, Callable[[], object]]:
    """Return calls and launches with arrays of numpy."""
    import numpy

    a, b, c = (numpy.ones(32, numpy.float32) for _ in range(3))
    launch = lib.kernel("add")[1, 32]
    found: dict[str, Callable[[], object]] = {
        "an exported function, two numbers": lambda: lib.sum_of(1, 2),
        "the same by Function.raw": lambda raw=lib.sum_of.raw: raw(1, 2),
        "an exported function, an array, a number": lambda: lib.first_of(a, 32),
        "a launch on the CPU device, 32 threads": lambda: launch(a, b, c, 32),
    }
    if util.find_spec("numba"):
        numba: Any = import_module("numba")

        @numba.njit
        def add(a: Any, b: Any, c: Any, count: int) -> None:
            for i in range(count):
                c[i] = a[i] + b[i]

        found["Numba, the same as a loop"] = lambda: add(a, b, c, 32)
    return found


def triton_launch(a: object, b: object, c: object) -> Callable[[], object]:
    """Return a launch of Triton's; its kernels are read from files, so it is one of the file beside this one."""
    own: Any = import_module("gpu_triton")
    return lambda: own.add[(SIZE // BLOCK,)](a, b, c, SIZE, BLOCK)


def driver_launch(launch: Any, a: Any, b: Any, c: Any, device: int) -> Callable[[], object]:
    """Return the driver's launch alone: what it reads was packed before, and nothing is checked."""
    inner = launch._gpu[device]
    call = inner._new_call()
    inner._packer.pack_into(call.data, 0, a.data_ptr(), b.data_ptr(), c.data_ptr(), SIZE)
    inner.kept_by_the_benchmark = (a, b, c)
    start, config, function, extra = inner._start, call.config, inner._function, call.extra
    return lambda: start(config, function, None, extra)


def on_gpu(lib: ktc.Library) -> dict[str, Callable[[], object]]:
    """Return launches with tensors of torch."""
    import torch

    a, b, c = (torch.ones(SIZE, device="cuda") for _ in range(3))
    kernel = lib.kernel("add")
    launch = kernel[SIZE // BLOCK, BLOCK]
    launch(a, b, c, SIZE)
    torch.cuda.synchronize()
    assert bool((c == 2).all())
    found: dict[str, Callable[[], object]] = {
        "ktc, the launch object kept": lambda: launch(a, b, c, SIZE),
        "ktc, kernel[grid, block] each time": lambda: kernel[SIZE // BLOCK, BLOCK](a, b, c, SIZE),
    }
    if util.find_spec("triton"):
        found["Triton"] = triton_launch(a, b, c)
    found["torch.add(a, b, out=c)"] = lambda: torch.add(a, b, out=c)
    found["cuLaunchKernelEx by ctypes alone"] = driver_launch(launch, a, b, c, 0)
    return found


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("device", nargs="?", default="cpu", choices=["cpu", "gpu"])
    device = parser.parse_args().device
    lib = ktc.compile(SOURCE, "launches")
    if device == "gpu":
        import torch

        print(torch.cuda.get_device_name(), "torch", torch.__version__)
        shown(on_gpu(lib), 400, torch.cuda.synchronize)
    else:
        shown(on_cpu(lib), 20_000, lambda: None)


if __name__ == "__main__":
    main()
