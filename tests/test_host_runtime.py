"""What programs do at run time that their output alone does not show: threads of the CPU device, system calls."""

import os
import subprocess
from pathlib import Path

import pytest

from programs import environment, run_ktc

FLAG = """
from gpu.host import DeviceContext
from os.atomic import Atomic
from time import sleep

alias Words = UnsafePointer[Int64, MutAnyOrigin]


fn waits(p: Words):
    for _ in range(1 << 34):
        if Atomic.fetch_add(p, 0) == 1:
            p[1] = 7
            return


def main():
    var ctx = DeviceContext()
    var buffer = ctx.enqueue_create_buffer[DType.int64](2)
    _ = buffer.enqueue_fill(0)
    ctx.enqueue_function_checked[waits, waits](buffer, grid_dim=1, block_dim=1)
    _ = Atomic.fetch_add(buffer.unsafe_ptr(), 1)
    ctx.synchronize()
    with buffer.map_to_host() as host:
        print(host[1])
"""

THREADS = """
from gpu import block_idx
from gpu.host import DeviceContext
from os.atomic import Atomic
from sys import argv

alias Words = UnsafePointer[Int64, MutAnyOrigin]


fn meet(p: Words, wanted: Int64):
    _ = Atomic.fetch_add(p, 1)
    for _ in range(1 << 20):
        var together = Atomic.fetch_add(p, 0)
        if together > p[1]:
            p[1] = together
        if together >= wanted:
            break
    _ = Atomic.fetch_add(p, -1)


def main():
    var ctx = DeviceContext()
    var buffer = ctx.enqueue_create_buffer[DType.int64](2)
    _ = buffer.enqueue_fill(0)
    ctx.enqueue_function_checked[meet, meet](buffer, Int64(atol(argv()[1])), grid_dim=16, block_dim=1)
    with buffer.map_to_host() as host:
        print(host[1])
"""

PIECES = """
def main():
    print("one", 2, 3.5, True, sep="-")
    var output = FileDescriptor(1)
    output.write("a", 1, "b", List[Int](1, 2), "\\n")
    output.write(String("whole"))
    output.write(List[Int](1, 2))
"""


def build(text: str, cache: Path, folder: Path) -> Path:
    (folder / "program.kpy").write_text(text)
    done = run_ktc(["build", "--target-accelerator", "cpu", "program.kpy"], cache, folder)
    assert done.returncode == 0, done.stderr
    return folder / "program"


def test_the_program_goes_on_while_a_kernel_runs(program_cache: Path, tmp_path: Path) -> None:
    """The kernel ends when the program, which goes on after the launch, has set a flag."""
    program = build(FLAG, program_cache, tmp_path)
    done = subprocess.run([program], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout == "7\n"


def test_number_of_threads(program_cache: Path, tmp_path: Path) -> None:
    program = build(THREADS, program_cache, tmp_path)
    one = min(os.sched_getaffinity(0))

    def seen(threads: str | None, wanted: int) -> str:
        given = {} if threads is None else {"KTC_CPU_THREADS": threads}
        done = subprocess.run(
            [program, str(wanted)], env={**environment(program_cache), **given}, capture_output=True, text=True,
            timeout=100, check=False, preexec_fn=(lambda: os.sched_setaffinity(0, {one})) if threads is None else None,
        )  # fmt: skip
        return done.stdout if done.returncode == 0 else done.stderr

    assert seen("3", 3) == "3\n"
    assert seen("1", 2) == "1\n"
    assert seen(None, 2) == "1\n"  # the affinity mask has one processor
    for bad in ("0", "-1", "two", "2.5", "5000", "99999999999999999999"):
        said = f"KTC_CPU_THREADS must be a whole number from 1 to 4096, is '{bad}'"
        assert seen(bad, 1).startswith(f"Unhandled exception caught during execution: {said}\n  at program.kpy:22:")


@pytest.mark.skipif(not hasattr(os, "pipe2"), reason="the system has no pipes of packets")
def test_one_system_call_writes_all(program_cache: Path, tmp_path: Path) -> None:
    """A pipe that keeps packets apart shows what each system call has written."""
    program = build(PIECES, program_cache, tmp_path)
    read, write = os.pipe2(os.O_DIRECT)
    subprocess.run([program], stdout=write, timeout=100, check=True)
    os.close(write)
    packets = list(iter(lambda: os.read(read, 4096), b""))
    os.close(read)
    assert packets == [b"one-2-3.5-True\n", b"a1b[1, 2]\n", b"whole", b"[1, 2]"]


def test_reading_files(program_cache: Path, tmp_path: Path) -> None:
    """Files whose size the system knows, one that it does not know, and the rest of a file."""
    text = """
def main():
    with open("large", "r") as file:
        var text = file.read()
        print(len(text), text[len(text) - 3 :])
        text += "more"
        print(len(text), file.read() == "")
    with open("large", "r") as file:
        print(len(file.read_bytes(10)), len(file.read()), len(file.read_bytes()))
    with open("small", "r") as file:
        print(file.read(2), file.read(100), sep="|")
    with open("/proc/self/status", "r") as file:
        print(file.read().startswith("Name:"))
    var lines = 0
    try:
        while True:
            lines += len(input())
    except error:
        print(lines, error)
"""
    program = build(text, program_cache, tmp_path)
    (tmp_path / "large").write_bytes(b"0123456789" * 100_000 + b"end")
    (tmp_path / "small").write_text("abc")
    done = subprocess.run(
        [program], cwd=tmp_path, input="one\n\nthree", capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout.splitlines() == [
        "1000003 end", "1000007 True", "10 999993 0", "ab|c", "True", "8 EOF",
    ]  # fmt: skip
