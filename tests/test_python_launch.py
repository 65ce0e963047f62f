"""Launches from Python on a GPU, with a stand-in for NVIDIA's driver: what reaches the driver, and what is refused."""

import ctypes
import os
import shutil
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import ktc
import numpy as np
import pytest
from ktc.api import cuda

from programs import TESTS

SOURCE = """
from gpu import global_idx

fn axpy(a: UnsafePointer[Float32, MutAnyOrigin], b: UnsafePointer[Float32, MutAnyOrigin], scale: Float32, n: Int):
    var i = Int(global_idx.x)
    if i < n:
        b[i] += scale * a[i]
"""
FLOAT32, FLOAT64 = (
    type("dtype", (), {"__str__": lambda self, name=name: f"torch.{name}"})() for name in ("float32", "float64")
)


class Tensor:
    """What ktc uses of torch's tensors."""

    def __init__(self, address: int, device: int = 0, dtype: object = FLOAT32, contiguous: bool = True) -> None:
        self.address, self.device, self.dtype, self.contiguous = address, device, dtype, contiguous
        self.is_cuda = device >= 0

    def data_ptr(self) -> int:
        return self.address

    def get_device(self) -> int:
        return self.device

    def is_contiguous(self) -> bool:
        return self.contiguous


Tensor.__module__ = "torch"


class Array:
    """An array with the CUDA Array Interface."""

    def __init__(self, address: int, device: int = 0) -> None:
        self.device = SimpleNamespace(id=device)
        self.__cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (address, False), "version": 3}


class Exporter:
    """An array that only speaks DLPack."""

    def __init__(self, address: int, device: tuple[int, int] = (2, 0), bits: int = 32, stride: int = 1) -> None:
        self.device, self.streams = device, []
        self.sizes = (ctypes.c_int64 * 2)(4, stride)
        shape = ctypes.addressof(self.sizes)
        self.tensor = struct.pack("@QiiiBBHPPQ", address, *device, 1, 2, bits, 1, shape, shape + 8, 64)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: int | None = None) -> object:
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(self.tensor, b"dltensor", None)


@pytest.fixture
def log(tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Use the stand-in as the driver; return the file with its calls."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    library = tmp_path / "libcuda.so.1"
    source = str(TESTS / "fixtures" / "cuda_driver.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", str(library), source], check=True)
    path = tmp_path / "log"
    path.write_text("")
    monkeypatch.setenv("DRIVER_LOG", str(path))
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    ctypes.CDLL(None).setenv(b"DRIVER_LOG", os.fsencode(path), 1)
    known = cuda._Known()
    known.library = ctypes.CDLL(str(library))
    monkeypatch.setattr(cuda, "known", known)
    yield path


def launches(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if line.startswith("launch")]


def sent(a: int, b: int, scale: float, n: int) -> str:
    return struct.pack("@PPfq", a, b, scale, n).hex()


def refused(kind: type[Exception], do: Callable[[], object]) -> str:
    with pytest.raises(kind) as found:
        do()
    return str(found.value)


def test_launches(log: Path) -> None:
    """The first launch, the same again with others of the kind, and what differs in one check each."""
    kernel = ktc.compile(SOURCE, "axpy").kernel("axpy")
    run = kernel[(2, 3), (32, 4), 128]
    run(Tensor(4096), Tensor(8192), 0.5, 7)
    run(Tensor(16), Tensor(32), 2.0, 9)
    run(Array(48), Array(64), 1.0, 3)
    run(Tensor(16), None, 2, 9)
    shape = "launch 2 3 1, 32 4 1, 128 on 0: "
    wanted = [sent(4096, 8192, 0.5, 7), sent(16, 32, 2, 9), sent(48, 64, 1, 3), sent(16, 0, 2, 9)]
    assert launches(log) == [shape + one for one in wanted]
    strided, doubles = Tensor(1, contiguous=False), Tensor(1, dtype=FLOAT64)
    assert "'b' must be contiguous" in refused(ValueError, lambda: run(Tensor(1), strided, 1, 1))
    assert "'b' must be an array of float32, not of float64" in refused(
        TypeError, lambda: run(Tensor(1), doubles, 1, 1)
    )
    assert "different devices" in refused(ValueError, lambda: run(Tensor(1), Tensor(1, 1), 1, 1))
    assert "different devices" in refused(ValueError, lambda: run(Tensor(1), np.zeros(1, np.float32), 1, 1))
    assert "takes 4 arguments (a, b, scale, n), not 3" in refused(TypeError, lambda: run(Tensor(1), Tensor(1), 1))
    assert "'n' must be int64, not 1.5" in refused(TypeError, lambda: run(Tensor(1), Tensor(1), 1, 1.5))
    assert len(launches(log)) == 4


def test_dlpack(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that only speak DLPack are used in the current stream; wrong ones are refused."""
    run = ktc.compile(SOURCE, "axpy").kernel("axpy")[1, 32]
    first, second = Exporter(4096), Exporter(8192, (13, 0))
    run(first, second, 0.5, 7)
    monkeypatch.setattr(cuda.known, "stream", lambda device: 11)
    run(first, Tensor(32), 0.5, 7)
    assert launches(log) == [
        "launch 1 1 1, 32 1 1, 0 on 0: " + sent(4160, 8256, 0.5, 7),
        "launch 1 1 1, 32 1 1, 0 on 11: " + sent(4160, 32, 0.5, 7),
    ]
    assert (first.streams, second.streams) == ([1, 11], [1])
    assert "must be contiguous" in refused(ValueError, lambda: run(Exporter(1, stride=2), first, 1, 1))
    assert "not of float64" in refused(TypeError, lambda: run(Exporter(1, bits=64), first, 1, 1))
    assert "different devices" in refused(ValueError, lambda: run(first, Exporter(1, (2, 1)), 1, 1))
    assert "different devices" in refused(ValueError, lambda: run(first, Exporter(1, (1, 0)), 1, 1))
    assert "nor on an NVIDIA GPU" in refused(ValueError, lambda: run(first, Exporter(1, (10, 0)), 1, 1))


def test_streams_and_devices(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch goes to the device and the current stream of its arrays, whatever context is current."""
    run = ktc.compile(SOURCE, "axpy").kernel("axpy")[1, 32]
    streams = {0: 11, 1: 22}
    monkeypatch.setattr(cuda.known, "stream", streams.__getitem__)
    for device in (0, 1, 1, 0):
        run(Tensor(16, device), Tensor(32, device), 1, 1)
    streams[0] = 33
    run(Tensor(16), Tensor(32), 1, 1)
    assert [line.split(" on ")[1].split(":")[0] for line in launches(log)] == ["11", "22", "22", "11", "33"]
    assert [line for line in log.read_text().splitlines() if line.startswith("load")] == [
        "load text in 0",
        "load text in 1",
    ]


def test_threads(log: Path) -> None:
    """Threads that launch at once do not mix their arguments."""
    run = ktc.compile(SOURCE, "axpy").kernel("axpy")[1, 32]

    def many(start: int) -> None:
        for one in range(start, start + 200):
            run(Tensor(one), Tensor(one + 1), 1, one)

    threads = [threading.Thread(target=many, args=(1000 * at,)) for at in (1, 2, 3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    wanted = {sent(one, one + 1, 1, one) for start in (1000, 2000, 3000) for one in range(start, start + 200)}
    assert {line.split(": ")[1] for line in launches(log)} == wanted


def test_a_refused_launch(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ktc.compile(SOURCE, "axpy").kernel("axpy")[1, 32]
    run(Tensor(16), Tensor(32), 1, 1)
    launch = run._gpu[0]
    monkeypatch.setattr(launch, "_start", lambda *_: 46)
    monkeypatch.setattr(launch, "_repeated", None)
    run._repeat = launch.repeated()
    message = refused(RuntimeError, lambda: run(Tensor(16), Tensor(32), 1, 1))
    assert message == "launching kernel 'axpy' failed: the device is busy or unavailable"
