"""What a program asks of NVIDIA's driver, on a stand-in (fixtures/cuda_driver.c): memory, streams, peers, graphs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from programs import TESTS, run_ktc

PROGRAM = """
from gpu import thread_idx
from gpu.host import DeviceBuffer, DeviceContext, DeviceGraph
from sys import argv

alias Floats = UnsafePointer[Float32, MutAnyOrigin]


fn kernel(p: Floats):
    p[thread_idx.x] = 1


fn pinned(ctx: DeviceContext) raises:
    _ = ctx.enqueue_create_host_buffer[DType.float32](1000)


fn device(ctx: DeviceContext, size: Int) raises -> Int:
    var made = ctx.enqueue_create_buffer[DType.float32](size)
    return Int(made.unsafe_ptr())


def memory(ctx: DeviceContext):
    for _ in range(3):
        pinned(ctx)
    for _ in range(40):
        _ = device(ctx, 4)
    ctx.trim_memory(64)


def full(ctx: DeviceContext):
    for _ in range(3):
        _ = device(ctx, 100)


def peers(ctx: DeviceContext):
    var other = DeviceContext(1)
    DeviceContext.enable_all_peer_access()
    var a = ctx.enqueue_create_buffer[DType.float32](4)
    var b = other.enqueue_create_buffer[DType.float32](4)
    _ = a.enqueue_fill(3)
    other.enqueue_copy(b, a)
    with b.map_to_host() as host:
        print(host)


def streams(ctx: DeviceContext):
    var stream = ctx.create_stream(priority=-5)
    var a = ctx.enqueue_create_buffer[DType.float32](4)
    var b = ctx.enqueue_create_buffer[DType.float32](4)
    stream.enqueue_memset(a, Float32(2))
    stream.enqueue_copy(b, a)
    _ = ctx.create_event[blocking_sync=True]()
    _ = ctx.create_event[disable_timing=False]()
    print(b)


def graphs(ctx: DeviceContext):
    var a = ctx.enqueue_create_buffer[DType.float32](4)

    @parameter
    fn work(ctx: DeviceContext) raises:
        for _ in range(3):
            ctx.enqueue_function_checked[kernel, kernel](a, grid_dim=1, block_dim=4)

    var graph = DeviceGraph.capture[work](ctx)
    graph.replay()
    graph.replay()
    print(len(graph), graph.update[work]())
    _ = a


def lost(ctx: DeviceContext):
    var a = ctx.enqueue_create_buffer[DType.float32](4)
    var host = ctx.enqueue_create_host_buffer[DType.float32](4)
    ctx.enqueue_copy(a, host)
    for _ in range(2):
        ctx.enqueue_function_checked[kernel, kernel](a, grid_dim=1, block_dim=4)
    ctx.synchronize()
    print(a, host)


def main():
    var ctx = DeviceContext()
    var what = String(argv()[1])
    if what == "memory":
        memory(ctx)
    elif what == "full":
        full(ctx)
    elif what == "peers":
        peers(ctx)
    elif what == "streams":
        streams(ctx)
    elif what == "lost":
        lost(ctx)
    else:
        graphs(ctx)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, program_cache: Path) -> Path:
    """Return a folder with the stand-in and the program."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("driver")
    source = str(TESTS / "fixtures" / "cuda_driver.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", str(made / "libcuda.so.1"), source], check=True)
    (made / "program.kpy").write_text(PROGRAM, "utf-8")
    words = ["build", "--target-accelerator", "sm_90", "program.kpy", "-o", "program"]
    built = run_ktc(words, program_cache, made)
    assert built.returncode == 0, built.stderr
    return made


def ran(folder: Path, what: str, **environment: str) -> tuple[str, list[str]]:
    """Run a part of the program; return its output and the calls of the driver."""
    log = folder / "log"
    log.write_text("")
    paths = {"LD_LIBRARY_PATH": str(folder), "DRIVER_LOG": str(log)}
    done = subprocess.run(
        [str(folder / "program"), what], env={**os.environ, **paths, **environment}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return done.stdout + done.stderr, log.read_text().splitlines()


def test_freed_memory_is_reused(folder: Path) -> None:
    """Pinned memory is taken once; memory of buffers that are gone is given back late, and all of it on request."""
    _, log = ran(folder, "memory")
    assert [line for line in log if "pin" in line] == ["pin 65536"]
    frees = [at for at, line in enumerate(log) if line.startswith("free")]
    assert len(frees) == 40 and log.index("trim to 64") > frees[-1]
    assert sum(line.startswith("allocate") for line in log[: frees[0]]) == 33


@pytest.mark.parametrize(("value", "count"), [("0", 3), ("1", 1)])
def test_the_pool_has_a_bound(folder: Path, value: str, count: int) -> None:
    _, log = ran(folder, "memory", KTC_HOST_POOL=value)
    assert sum(line == "pin 65536" for line in log) == count
    assert sum(line == "unpin" for line in log) == (3 if value == "0" else 0)


@pytest.mark.parametrize("value", ["many", "-1", "1.5"])
def test_a_bound_that_is_no_number(folder: Path, value: str) -> None:
    text, _ = ran(folder, "memory", KTC_HOST_POOL=value)
    assert f"KTC_HOST_POOL is to be a number of MiB, is '{value}'" in text


def test_cached_memory_is_freed_when_memory_runs_out(folder: Path) -> None:
    text, log = ran(folder, "full", DRIVER_MEMORY="1000")
    assert log.index("no memory") < next(at for at, line in enumerate(log) if line.startswith("free"))
    assert "out of memory" in text  # the stand-in never has more again


def test_peers(folder: Path) -> None:
    """Pools are opened to the other device, copies wait for both, and both wait for them."""
    text, log = ran(folder, "peers", DRIVER_DEVICES="2")
    assert "HostBuffer([3.0, 3.0, 3.0, 3.0])" in text
    assert {"pool of 1 open to 0 flags 3", "pool of 0 open to 1 flags 3", "access to 0", "access to 1"} <= set(log)
    at = log.index("peer copy from 0 to 1")
    assert any("after event" in line for line in log[:at]) and any("after event" in line for line in log[at:])


def test_streams(folder: Path) -> None:
    text, log = ran(folder, "streams")
    assert "DeviceBuffer([2.0, 2.0, 2.0, 2.0])" in text
    own = next(line.split()[1] for line in log if line.endswith("priority -5"))
    assert {f"fill on {own}", f"copy on {own}"} <= set(log)
    assert [line for line in log if line.startswith("event flags")][:2] == ["event flags 3", "event flags 0"]


@pytest.mark.parametrize("other", [False, True])
def test_graphs(folder: Path, other: bool) -> None:
    """Launches are captured once and replayed by one call; an update is tried before a graph is made again."""
    text, log = ran(folder, "graphs", **({"DRIVER_OTHER_FORM": "1"} if other else {}))
    assert text == f"3 {not other}\n"
    assert sum(line.startswith("graph on") for line in log) == 2
    assert log.count("capture") == 2 and log.count("update") == 1 and log.count("instantiate") == 1 + other


@pytest.mark.parametrize(
    ("what", "after", "doing"),
    [
        ("graphs", "1", "launching kernel"),
        ("graphs", "3", "replaying a graph"),
        ("lost", "2", "running on the device"),
    ],
)
def test_a_lost_device(folder: Path, what: str, after: str, doing: str) -> None:
    """One error says what was being done; ends of buffers and graphs, which fail then, add nothing."""
    text, _ = ran(folder, what, DRIVER_LOST=after)
    assert text.count("the device is busy or unavailable") == 1 and doing in text, text


@pytest.mark.device
def test_several_gpus(program_cache: Path, tmp_path: Path) -> None:
    """With one GPU the example does all on it; with two their links are used."""
    source = str(TESTS.parent / "examples" / "several_gpus.kpy")
    done = run_ktc(["run", source, "--rates"], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("product: right\nall-reduce: right\n")


def test_run_on_a_gpu_that_it_found(folder: Path, library_cache: Path, tmp_path: Path) -> None:
    """The first `ktc run` of a machine asks the driver for GPUs, and its program still uses one."""
    log = tmp_path / "log"
    log.write_text("")
    cache = shutil.copytree(library_cache, tmp_path / "cache")
    found = {"LD_LIBRARY_PATH": str(folder), "DRIVER_LOG": str(log), "KTC_CACHE_DIR": str(cache)}
    source = str(TESTS.parent / "examples" / "vector_addition.kpy")
    done = subprocess.run(
        [sys.executable, "-m", "ktc", "run", source], env={**os.environ, **found}, capture_output=True, text=True,
        check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert any(line.startswith("launch on") for line in log.read_text().splitlines())
