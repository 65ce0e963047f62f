"""The collectives of `comm` beside those of NCCL: `python benchmarks/collectives.py PROGRAM [RANKS]`.

PROGRAM is `benchmarks/collectives.kpy`, built for these GPUs. On both sides one process starts operations back to back
for all ranks and waits for the last one; both go without NVLink multicast. NCCL is called directly, which costs less
than through torch. The printed ratio is NCCL's time over ktc's. Needs torch, which brings NCCL.
"""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

BFLOAT16, SUM = 9, 0
"""ncclBfloat16 and ncclSum. Source: nccl.h."""


class Nccl:
    """NCCL with a communicator and a stream for each rank of this process."""

    def __init__(self, ranks: int) -> None:
        folder = Path(torch.__file__).parents[1] / "nvidia/nccl/lib"
        self.library = ctypes.CDLL(str(folder / "libnccl.so.2"))
        self.ranks = range(ranks)
        self.communicators = (ctypes.c_void_p * ranks)()
        self.check(self.library.ncclCommInitAll(self.communicators, ranks, (ctypes.c_int * ranks)(*self.ranks)))
        self.streams = [torch.cuda.Stream(device=rank) for rank in self.ranks]
        self.ends = [
            (ctypes.c_void_p(self.communicators[rank]), ctypes.c_void_p(self.streams[rank].cuda_stream))
            for rank in self.ranks
        ]

    def check(self, code: int) -> None:
        if code:
            raise RuntimeError(f"NCCL's error {code}")

    def each(self, start: Callable[[int], int]) -> None:
        """Start an operation for all ranks."""
        self.library.ncclGroupStart()
        for rank in self.ranks:
            self.check(start(rank))
        self.check(self.library.ncclGroupEnd())

    def operations(self, size: int) -> dict[str, Callable[[], None]]:
        """Return the operations on messages of so many bytes."""
        count, library = size // 2, self.library
        part = count // len(self.ranks)
        tensors = [
            [torch.zeros(count, dtype=torch.bfloat16, device=f"cuda:{rank}") for rank in self.ranks] for _ in range(2)
        ]
        ins, outs = ([ctypes.c_void_p(one.data_ptr()) for one in side] for side in tensors)
        numbers = ctypes.c_size_t(count), ctypes.c_size_t(part)

        def exchange(rank: int) -> int:
            for other in self.ranks:
                place = ctypes.c_void_p(tensors[0][rank].data_ptr() + 2 * part * other)
                library.ncclSend(place, numbers[1], BFLOAT16, other, *self.ends[rank])
                place = ctypes.c_void_p(tensors[1][rank].data_ptr() + 2 * part * other)
                library.ncclRecv(place, numbers[1], BFLOAT16, other, *self.ends[rank])
            return 0

        return {
            "all_reduce": lambda: self.each(
                lambda r: library.ncclAllReduce(ins[r], outs[r], numbers[0], BFLOAT16, SUM, *self.ends[r])
            ),
            "reduce_scatter": lambda: self.each(
                lambda r: library.ncclReduceScatter(ins[r], outs[r], numbers[1], BFLOAT16, SUM, *self.ends[r])
            ),
            "all_gather": lambda: self.each(
                lambda r: library.ncclAllGather(ins[r], outs[r], numbers[1], BFLOAT16, *self.ends[r])
            ),
            "all_to_all": lambda: self.each(exchange),
            "broadcast": lambda: self.each(
                lambda r: library.ncclBroadcast(ins[r], outs[r], numbers[0], BFLOAT16, 0, *self.ends[r])
            ),
        }

    def synchronize(self) -> None:
        for stream in self.streams:
            stream.synchronize()


def of_nccl(ranks: int, sizes: list[int]) -> dict[tuple[str, str], float]:
    """Return the seconds of each operation and size; the least of five measurements."""
    os.environ["NCCL_NVLS_ENABLE"] = "0"
    nccl, found = Nccl(ranks), {}
    for size in sizes:
        count = 200 if size <= 1 << 22 else 20
        for name, operation in nccl.operations(size).items():
            best = float("inf")
            for _ in range(5):
                for _ in range(count // 10):
                    operation()
                nccl.synchronize()
                begin = time.perf_counter()
                for _ in range(count):
                    operation()
                nccl.synchronize()
                best = min(best, (time.perf_counter() - begin) / count)
            found[name, str(size)] = best
    return found


def main() -> None:
    """Print both sides' times in microseconds and their ratio."""
    program, ranks = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else torch.cuda.device_count()
    done = subprocess.run([program, str(ranks)], check=True, capture_output=True, text=True)
    own = {(name, size): float(seconds) for name, size, seconds in map(str.split, done.stdout.splitlines())}
    theirs = of_nccl(ranks, sorted({int(size) for _, size in own}))
    print(f"{'operation':16}{'bytes':>12}{'ktc':>12}{'NCCL':>12}  ratio")
    for (name, size), seconds in own.items():
        nccl = theirs[name, size]
        print(f"{name:16}{size:>12}{seconds * 1e6:>10.1f}us{nccl * 1e6:>10.1f}us  {nccl / seconds:.2f}")


if __name__ == "__main__":
    main()
