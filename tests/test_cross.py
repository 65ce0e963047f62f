"""Executables for other machines: what links them, what is said where nothing does, and programs run where qemu is."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from ktc.emit.linking import commands, tools
from ktc.targets import triples

KTC = (sys.executable, "-m", "ktc")

SYSTEM_CALLS = """
from os import getenv, listdir, remove, setenv, stat
from os.path import getsize
from pathlib import Path
from sys import num_logical_cores
from tempfile import TemporaryDirectory
from time import perf_counter_ns, sleep

from algorithm import parallelize
from gpu import barrier, thread_idx
from gpu.host import DeviceContext
from gpu.memory import AddressSpace
from memory import stack_allocation


fn turn(result: UnsafePointer[Float32, MutAnyOrigin]):
    var shared = stack_allocation[64, Float32, address_space = AddressSpace.SHARED]()
    var i = Int(thread_idx.x)
    shared[i] = Float32(i)
    barrier()
    result[i] = shared[63 - i]


fn launch() raises:
    var ctx = DeviceContext()
    var buffer = ctx.enqueue_create_buffer[DType.float32](64)
    ctx.enqueue_function_checked[turn, turn](buffer, grid_dim=1, block_dim=64)
    with buffer.map_to_host() as host:
        print(host[0], host[63])


fn main() raises:
    with TemporaryDirectory() as folder:
        var path = Path(folder) / "a.txt"
        path.write_text("12345678901")
        var status = stat(path)
        print(status.st_size, status.st_mode & 0o170000 == 0o100000, status.st_nlink, status.st_blksize > 0)
        print(listdir(folder).__str__(), path.read_text())
        with open(path, "a") as file:
            file.write("more")
        print(getsize(String(path)))
        remove(path)
    var start = perf_counter_ns()
    sleep(0.01)
    print(perf_counter_ns() - start > 9_000_000, num_logical_cores() > 0)
    _ = setenv("KTC_A", "b")
    print(getenv("KTC_A"))
    var squares = List[Int](length=8, fill=0)

    @parameter
    fn work(i: Int):
        squares[i] = i * i

    parallelize[work](8)
    print(squares.__str__(), Float16(1.5) * 2, Int128(7) // 2)
    launch()
    raise Error("the end")
"""
PRINTED = """11 True 1 True
['a.txt'] 12345678901
15
True True
b
[0, 1, 4, 9, 16, 25, 36, 49] 3.0 3
63.0 0.0
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x86_64-unknown-linux-gnu", ("x86_64", "linux", "gnu")),
        ("aarch64-linux", ("aarch64", "linux", "gnu")),
        ("x86_64-unknown-linux-musl", ("x86_64", "linux", "musl")),
        ("arm64-apple-macosx14.0", ("aarch64", "macos", "")),
        ("x86_64-apple-darwin23.1.0", ("x86_64", "macos", "")),
        ("x86_64-pc-windows-gnu", ("x86_64", "windows", "gnu")),
        ("x86_64-w64-mingw32", ("x86_64", "windows", "gnu")),
        ("riscv64-unknown-elf", ("riscv64", "", "")),
    ],
)
def test_parts_of_triples(text: str, wanted: tuple[str, str, str]) -> None:
    parts = triples.parsed(text)
    assert (parts.architecture, parts.system, parts.environment) == wanted


def _program(folder: Path, name: str, text: str = "#!/bin/sh\n") -> str:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_a_cross_compiler_is_preferred_to_zig(tmp_path: Path) -> None:
    zig = _program(tmp_path, "zig")
    found = tools.find_link_tools("riscv64-unknown-linux-musl", search=str(tmp_path))
    assert found.compiler == (zig, "cc", "-target", "riscv64-linux-musl")
    assert found.is_static
    gcc = _program(tmp_path, "riscv64-linux-musl-gcc")
    assert tools.find_link_tools("riscv64-unknown-linux-musl", search=str(tmp_path)).compiler == (gcc,)


@pytest.mark.parametrize(
    ("triple", "words"),
    [
        ("aarch64-apple-macosx", ["-Wl,-dead_strip", "-Wl,-exported_symbols_list,exported"]),
        ("riscv64-unknown-linux-gnu", ["-Wl,--gc-sections", "-Wl,--version-script,exported"]),
    ],
)
def test_options_are_those_of_the_system(tmp_path: Path, triple: str, words: list[str]) -> None:
    _program(tmp_path, "zig")
    found = tools.find_link_tools(triple, search=str(tmp_path))
    wanted = commands.LinkOptions(shared=True, exported=("f",))
    command = commands.command(found, ["0.o"], "linked", wanted)
    assert set(words) <= set(command)
    is_macos = found.system == triples.MACOS
    assert commands.symbol_list(found, wanted) == ("_f\n" if is_macos else " { global: f; local: *; };\n")


def test_a_machine_without_a_linker(tmp_path: Path) -> None:
    program = tmp_path / "p.kpy"
    program.write_text("fn main():\n    print(1)\n")
    environment = {**os.environ, "PATH": str(tmp_path), "PYTHONPATH": ""}
    words = ("build", "--target-triple", "riscv64-unknown-linux-gnu", str(program))
    code = "import sys, importlib.util as u; find = u.find_spec; "
    code += "u.find_spec = lambda name, *rest: None if name == 'ziglang' else find(name, *rest); "
    code += f"from ktc.cli.commands import entry; sys.argv[1:] = {list(words)!r}; sys.exit(entry())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "error[link-failed]: linking failed: no linker was found" in done.stderr
    assert "help: install 'riscv64-linux-gnu-gcc' or zig: pip install 'ktc[cross]'" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["p.kpy"]


def test_another_machines_program_does_not_run_here(tmp_path: Path) -> None:
    program = tmp_path / "p.kpy"
    program.write_text("fn main():\n    print(1)\n")
    words = (*KTC, "run", "--target-triple", "riscv64-unknown-linux-gnu", str(program))
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[unknown-target]: this machine cannot run a program for 'riscv64-unknown-linux-gnu'" in done.stderr


def _emulator(triple: str) -> list[str]:
    """Return the command that runs executables for a machine here, or nothing; glibc has to be there too."""
    parts = triples.parsed(triple)
    if parts.architecture == os.uname().machine:
        return ["env"]
    name = f"qemu-{parts.architecture}"
    found = shutil.which(name) or shutil.which(f"{name}-static")
    if found and parts.environment == "gnu":
        libraries = Path(f"/usr/{parts.architecture}-linux-gnu")
        return [found, "-L", str(libraries)] if libraries.exists() else []
    return [found] if found else []


LOADERS = {"aarch64": b"/lib/ld-linux-aarch64.so.1", "riscv64": b"/lib/ld-linux-riscv64-lp64d.so.1"}
PT_INTERP = 3


def _segment_kinds(data: bytes) -> list[int]:
    """Return the kinds of an ELF file's program headers (`elf.h`)."""
    start, size, count = (int.from_bytes(data[at : at + n], "little") for at, n in ((32, 8), (54, 2), (56, 2)))
    return [int.from_bytes(data[at : at + 4], "little") for at in range(start, start + size * count, size)]


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("zig") or find_spec("ziglang")), reason="zig links for other machines")
@pytest.mark.parametrize(
    "triple",
    [
        "x86_64-unknown-linux-musl",  # the longest first: zig compiles all of musl
        "aarch64-unknown-linux-gnu",
        "riscv64-unknown-linux-gnu",
        pytest.param("aarch64-unknown-linux-musl", marks=pytest.mark.wide),
        pytest.param("riscv64-unknown-linux-musl", marks=pytest.mark.wide),
    ],
)
def test_programs_for_other_machines(tmp_path: Path, triple: str) -> None:
    """One program with system calls and a kernel, linked; it runs where qemu is, a static one in an empty root."""
    program, executable = tmp_path / "calls.kpy", tmp_path / "root" / "calls"
    program.write_text(SYSTEM_CALLS)
    executable.parent.mkdir()
    words = (*KTC, "build", "--target-accelerator", "cpu", "--target-triple", triple, program, "-o", executable)
    subprocess.run(words, check=True)
    made = executable.read_bytes()
    parts = triples.parsed(triple)
    machine = {"aarch64": 183, "riscv64": 243, "x86_64": 62}[parts.architecture]
    assert made[:5] == b"\x7fELF\2" and int.from_bytes(made[18:20], "little") == machine
    is_static = parts.environment == "musl"
    assert (PT_INTERP in _segment_kinds(made)) == (not is_static)
    assert is_static or LOADERS[parts.architecture] in made
    if emulator := _emulator(triple):  # else it was linked only
        _check_calls([*emulator, str(executable)])
    if is_static and emulator == ["env"] and os.geteuid() == 0:
        (executable.parent / "tmp").mkdir()  # all that an image FROM scratch has beside the program
        _check_calls(["chroot", str(executable.parent), "/calls"])


def _check_calls(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, PRINTED), done.stderr
    assert "the end" in done.stderr


WINE = shutil.which("wine64") or shutil.which("wine64", path="/usr/lib/wine")

KERNEL_AND_INPUT = """
from gpu import barrier, thread_idx
from gpu.host import DeviceContext
from gpu.memory import AddressSpace
from layout import Layout, LayoutTensor

alias ROW = Layout.row_major(64)


fn reverse(result: LayoutTensor[DType.float32, ROW, MutAnyOrigin]):
    var shared = LayoutTensor[
        DType.float32, ROW, MutAnyOrigin, address_space = AddressSpace.SHARED
    ].stack_allocation()
    var i = thread_idx.x
    shared[i] = Float32(i)
    barrier()
    result[i] = shared[63 - i]


fn last():
    if thread_idx.x == 0:
        print("printed as the program ends")


fn main() raises:
    with DeviceContext() as ctx:
        var buffer = ctx.enqueue_create_buffer[DType.float32](64)
        ctx.enqueue_function[reverse](LayoutTensor[DType.float32, ROW](buffer), grid_dim=1, block_dim=64)
        with buffer.map_to_host() as host:
            print(host[0], host[63])
    print("hello", input("name? "))
    DeviceContext().enqueue_function[last](grid_dim=1, block_dim=4)
"""


@pytest.mark.wide  # zig compiles all of MinGW's library once in each environment: a minute
@pytest.mark.skipif(not (shutil.which("zig") or find_spec("ziglang")), reason="zig links for other machines")
@pytest.mark.skipif(not WINE, reason="Wine runs programs for Windows")
@pytest.mark.parametrize(
    ("text", "typed", "wanted"),
    [
        (SYSTEM_CALLS, "", PRINTED),
        (KERNEL_AND_INPUT, "Ann\n", "63.0 0.0\nname? hello Ann\nprinted as the program ends\n"),
    ],
    ids=["calls", "kernel"],
)
def test_programs_for_windows(tmp_path: Path, text: str, typed: str, wanted: str) -> None:
    program = tmp_path / "p.kpy"
    program.write_text(text)
    words = ("build", "--target-accelerator", "cpu", "--target-triple", "x86_64-pc-windows-gnu", program)
    subprocess.run((*KTC, *words), cwd=tmp_path, check=True)
    environment = {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": str(tmp_path / "wine")}
    done = subprocess.run(
        (str(WINE), "p.exe"), cwd=tmp_path, env=environment, input=typed, capture_output=True, text=True, check=False
    )
    assert done.stdout.replace("\r\n", "\n") == wanted, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("zig") or find_spec("ziglang")), reason="zig links for other machines")
@pytest.mark.parametrize("architecture", ["aarch64", pytest.param("x86_64", marks=pytest.mark.wide)])
def test_executables_for_macos(tmp_path: Path, architecture: str) -> None:
    """Reads an executable back: its magic number, processor, load commands and signature (`mach-o/loader.h`)."""
    program = tmp_path / "calls.kpy"
    program.write_text(SYSTEM_CALLS)
    output = tmp_path / "calls"
    triple = f"{architecture}-apple-macosx"
    subprocess.run(
        (*KTC, "build", "--target-accelerator", "cpu", "--target-triple", triple, program, "-o", output), check=True
    )
    data = output.read_bytes()

    def word(offset: int) -> int:
        return int.from_bytes(data[offset : offset + 4], "little")

    assert word(0) == 0xFEEDFACF
    assert word(4) == {"aarch64": 0x0100000C, "x86_64": 0x01000007}[architecture]
    assert word(12) == 2  # MH_EXECUTE
    at, seen = 32, dict[int, bytes]()
    for _ in range(word(16)):
        seen[word(at)] = data[at : at + word(at + 4)]
        at += word(at + 4)
    main, signature, dylib = 0x80000028, 0x1D, 0xC
    assert main in seen
    assert b"libSystem" in seen[dylib]
    if architecture == "aarch64":  # which runs signed code only; an ad-hoc signature will do
        assert signature in seen
