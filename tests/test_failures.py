"""What a program says when it fails: where, in which kernel, how to find out more; its exit status stays."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from programs import fail, run_ktc

PROGRAM = """
from gpu import global_idx
from gpu.host import DeviceContext
from os import abort
from sys import argv
from testing import assert_raises

fn scatter(out: UnsafePointer[Float32, MutAnyOrigin], step: Int):
    out[Int(global_idx.x) * step] = 1


fn launch(threads: Int, step: Int) raises:
    var ctx = DeviceContext()
    var buffer = ctx.enqueue_create_buffer[DType.float32](64)
    ctx.enqueue_function_checked[scatter, scatter](buffer, step, grid_dim=4, block_dim=threads)
    ctx.synchronize()


fn inner(value: Int) raises -> Int:
    if value > 3:
        raise Error("too large: ", value)
    return value


fn outer(value: Int) raises -> Int:
    return inner(value) + 1


fn again() raises:
    try:
        _ = outer(9)
    except e:
        raise e^


fn another() raises:
    try:
        _ = outer(9)
    except:
        _ = atol("four")


@no_inline
fn deep(value: Int) -> Int:
    if value < 0:
        return 0
    return deep(value + 1) + deep(value + 2)


fn at(values: InlineArray[Int, 4], index: Int) -> Int:
    return values[index]


fn main() raises:
    var what = String(argv()[1])
    if what == "raise":
        _ = outer(4)
    if what == "again":
        again()
    if what == "another":
        another()
    if what == "library":
        _ = atol("four")
    if what == "launch":
        launch(4096, 1)
    if what == "kernel":
        launch(64, 1 << 28)
    if what == "pointer":
        print(UnsafePointer[Int, MutOrigin.external](unsafe_from_address=len(argv()) * 8)[])
    if what == "stack":
        print(deep(1))
    if what == "index":
        print(at(InlineArray[Int, 4](fill=1), len(argv()) + 7))
    if what == "assert":
        debug_assert[assert_mode="safe"](len(argv()) == 7, "seven are wanted")
    if what == "abort":
        abort()
    if what == "why":
        abort("no reason")
    if what == "optional":
        print(Optional[Int]().value())
    if what == "trace":
        try:
            _ = outer(9)
        except e:
            print(e.get_stack_trace().__str__())
    if what == "swallowed":
        with assert_raises():
            _ = outer(9)
        _ = atol("five")
    if what == "symbol":
        from sys.ffi import OwnedDLHandle

        print(OwnedDLHandle("libc.so.6").get_function[fn () -> Int]("no_such_function")())
"""

CHAIN = """\
  at program.kpy:21:9 in inner
  called from program.kpy:26:12 in outer
  called from program.kpy:57:13 in main
"""
UNCAUGHT = "Unhandled exception caught during execution: "
BUILD = "; build with --check to find it\n"


@pytest.fixture(scope="module")
def program(program_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("failures")
    (folder / "program.kpy").write_text(PROGRAM)
    words = ["build", "--target-accelerator", "cpu", "program.kpy", "-o", "program"]
    done = run_ktc(words, program_cache, folder)
    assert done.returncode == 0, done.stderr
    return folder / "program"


def test_errors_name_their_places(program: Path) -> None:
    large = f"{UNCAUGHT}too large: 4\n"
    assert fail(program, "raise") == (1, "", large + CHAIN.splitlines(True)[0])
    assert fail(program, "raise", KTC_STACK_TRACE="1") == (1, "", large + CHAIN)
    assert fail(program, "again")[2].endswith(": too large: 9\n  at program.kpy:21:9 in inner\n")
    assert fail(program, "another")[2].endswith("'four'\n  at program.kpy:40:13 in another\n")
    assert fail(program, "library")[2].endswith("'four'\n  at program.kpy:63:13 in main\n")
    assert fail(program, "swallowed")[2].endswith("'five'\n  at program.kpy:90:13 in main\n")
    code, _, said = fail(program, "launch")
    assert code == 1
    assert said.startswith(f"{UNCAUGHT}block_dim (x=4096, )")
    assert said.endswith("\n  at program.kpy:15:5 in launch\n")
    collected = fail(program, "trace", MOJO_ENABLE_STACK_TRACE_ON_ERROR="1")[1]
    assert collected.splitlines()[:2] == ["#0 program.kpy:21:9 in inner", "#1 program.kpy:26:12 in outer"]
    assert "MOJO_ENABLE_STACK_TRACE_ON_ERROR" in fail(program, "trace")[1]


OPEN_CALLS = """\
from os import abort


@no_inline
fn third(n: Int):
    if n == 1:
        debug_assert[assert_mode="safe"](n > 5, "n is ", n)
    elif n == 2:
        abort("given up")
    elif n == 3:
        print(String("abc")[n + 6])
    elif n == 4:
        print(UnsafePointer[Int, MutAnyOrigin](unsafe_from_address=n)[])
    elif n == 5:
        print(deep(n))


fn second(n: Int):
    third(n)
    print("not reached")


fn deep(n: Int) -> Int:
    var x = deep(n + 1) + 1
    return x * deep(x)


def main():
    from sys import argv

    second(Int(argv()[1]))
"""
OPEN = """\
  called from program.kpy:19 in second
  called from program.kpy:31 in main
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems find no calls")
@pytest.mark.skipif(shutil.which("addr2line") is None, reason="binutils are not installed")
def test_open_calls_of_a_failure(program_cache: Path, tmp_path: Path) -> None:
    """In a build with `-g` all failures say which calls were open, as `ktc run` does where the environment asks."""
    (tmp_path / "program.kpy").write_text(OPEN_CALLS)
    words = ["build", "-g1", "--target-accelerator", "cpu", "program.kpy", "-o", "p"]
    done = run_ktc(words, program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    for what, line in (("1", "7:41"), ("2", "9:14"), ("3", "11:28"), ("4", "13")):
        code, _, said = fail(tmp_path / "p", what)
        assert said.endswith(OPEN) and f"  at program.kpy:{line}" in said, said
        assert code == (-signal.SIGSEGV if what == "4" else -signal.SIGILL)
    said = fail(tmp_path / "p", "5")[2]
    assert "stack overflow" in said and said.endswith("in deep\n  called from more\n") and len(said.splitlines()) == 22
    done = run_ktc(
        ["run", "--target-accelerator", "cpu", "program.kpy", "1"],
        program_cache,
        tmp_path,
        variables={"KTC_STACK_TRACE": "1"},
    )
    assert done.stderr.endswith(OPEN) and done.returncode == 128 + signal.SIGILL, done.stderr


def test_signals_are_reported(program: Path) -> None:
    code, _, said = fail(program, "kernel")
    assert code == -signal.SIGSEGV
    assert said.startswith("error: the program was ended by signal 11 (SIGSEGV), there is no memory at 0x")
    assert said.endswith(f", in kernel 'scatter'{BUILD}")
    said = "error: the program was ended by signal 11 (SIGSEGV), "
    assert fail(program, "pointer") == (-signal.SIGSEGV, "", f"{said}a null pointer was used{BUILD}")
    assert fail(program, "stack") == (-signal.SIGSEGV, "", f"{said}stack overflow: calls are nested too deeply{BUILD}")


def test_a_reason_waits_for_a_full_pipe(program: Path) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    filled = 0
    with suppress(BlockingIOError):
        while True:
            filled += os.write(writing, bytes(4096))
    with subprocess.Popen([program, "pointer"], stderr=writing) as running, open(reading, "rb") as pipe:
        os.close(writing)
        with suppress(subprocess.TimeoutExpired):
            running.wait(0.3)  # until it has found the pipe full
        assert b"a null pointer was used" in pipe.read()[filled:]


def test_what_the_program_ends_itself_has_a_place(program: Path) -> None:
    code, said, more = fail(program, "index")
    assert (code, more) == (-signal.SIGILL, "")
    assert said.startswith("At: program.kpy:51:18: Assert Error: InlineArray index out of bounds: index (9)")
    assert fail(program, "assert")[1] == "At: program.kpy:75:41: Assert Error: seven are wanted\n"
    assert fail(program, "abort")[2] == "error: the program was ended by 'abort' at program.kpy:77:14\n"
    assert fail(program, "why")[1:] == ("ABORT: no reason\n", "  at program.kpy:79:14\n")
    assert fail(program, "optional")[2] == "  at program.kpy:81:36\n"
    missing = fail(program, "symbol")
    assert missing[1:] == ("ABORT: the library has no function 'no_such_function'\n", "  at program.kpy:94:68\n")


def test_the_jit_tells_the_same(program: Path, program_cache: Path) -> None:
    words = ["run", "-g0", "--target-accelerator", "cpu", "program.kpy"]
    done = run_ktc([*words, "raise"], program_cache, program.parent)
    assert (done.returncode, done.stderr) == (1, f"{UNCAUGHT}too large: 4\n")
    done = run_ktc([*words, "stack"], program_cache, program.parent)
    assert done.returncode == 128 + signal.SIGSEGV
    assert "stack overflow" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_output_that_is_lost_is_an_error(program_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "hello.kpy").write_text("def main():\n    print(1)\n    print(2)\n")
    assert run_ktc(["build", "hello.kpy"], program_cache, tmp_path).returncode == 0
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([tmp_path / "hello"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    wanted = "error: the standard output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, wanted)
