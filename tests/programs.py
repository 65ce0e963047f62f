"""Whole programs and what is expected of them, read from the files beside them.

NAME.out       exact standard output             NAME.rc      exit code, where it is not 0
NAME.contains  lines that occur in this order    NAME.args    arguments, as in a shell; {root} is the project's folder
NAME.in        standard input                    NAME.flags   options for the compiler
NAME.cpu       options where the CPU device runs it: sizes that are quick to compile
"""

import ctypes
import faulthandler
import functools
import gc
import importlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

import pytest
from _pytest.mark import ParameterSet

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
SECONDS = 300

GPU_ONLY = {"examples/matmul_ladder": "LLVM needs 12 s for its tensor core kernel on the CPU device"}
"""Programs that a test run does not build for the CPU device, and why. tests/test_gpu_programs.py assembles their
kernels for GPUs, and a machine with a GPU runs them."""


LOADED = (
    "cli.commands", "cli.run", "driver.cache_history", "driver.pipeline", "driver.progress", "emit.air.images",
    "emit.checks.kernel_variants", "emit.checks.gpu", "emit.host", "emit.jit", "emit.kernel", "emit.loops.rewriting",
    "emit.own_process", "emit.spirv.images", "emit.workgroups", "syntax.parsing.lalr", "tools.check",
    "tools.checks.files", "tools.testing.discovery",
)  # fmt: skip
"""Modules of ktc that commands import where they need them."""


@dataclass(frozen=True)
class Program:
    """A source file, and the folder and name of its expectations."""

    source: Path
    beside: Path

    @property
    def name(self) -> str:
        return self.source.relative_to(ROOT).with_suffix("").as_posix()

    def read(self, kind: str) -> str | None:
        path = self.beside.with_name(f"{self.beside.name}.{kind}")
        return path.read_text("utf-8") if path.exists() else None

    def words(self, kind: str) -> list[str]:
        return shlex.split((self.read(kind) or "").replace("{root}", str(ROOT)))

    @property
    def is_expected(self) -> bool:
        return self.read("out") is not None or self.read("contains") is not None


def programs() -> list[Program]:
    """Return every program that has an expectation: tests/run, tests/stdlib, examples."""
    found = [
        Program(path, path.with_suffix(""))
        for end in ("kpy", "mojo")
        for path in sorted((TESTS / "run").rglob(f"*.{end}"))
    ]
    found += [Program(path, path.with_suffix("")) for path in sorted((TESTS / "stdlib").rglob("*.kpy"))]
    found += [
        Program(path, TESTS / "run" / "examples" / path.stem)
        for path in sorted((ROOT / "examples").glob("*.kpy"))
    ]  # fmt: skip
    return [program for program in found if program.is_expected]


WITHOUT_LAUNCHES = frozenset({"tests/stdlib/mixed_layouts"})
"""Programs that name a device and start nothing on it."""


OF_SEVERAL_DEVICES = frozenset({"examples/collectives"})
"""Programs whose kernels wait for one another: a stand-in for a runtime runs them one after the other."""


def launching() -> list[Program]:
    """Return the programs with kernels that are meant for every device; tests/test_devices.py runs them."""
    found = [Program(path, path.with_suffix("")) for path in sorted((TESTS / "gpu").glob("*.kpy"))]
    found += [one for one in programs() if "DeviceContext" in one.source.read_text("utf-8")]
    return [
        one
        for one in found
        if one.name not in WITHOUT_LAUNCHES | OF_SEVERAL_DEVICES
        and not one.source.read_text("utf-8").startswith("# targets:")
    ]


def shortened(values: Iterable[object], every: int = 2) -> list[ParameterSet]:
    """Return parameters for a test; `make test` takes one of `every`, `make test-all` and `.ci/run` take all."""
    return [pytest.param(one, marks=[pytest.mark.thorough] if n % every else []) for n, one in enumerate(values)]


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "KTC_CACHE_DIR": str(cache), "NO_COLOR": "1"}


def run_ktc(
    words: list[str],
    cache: Path,
    folder: Path,
    text_in: str = "",
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder, in a copy of this process: loading ktc costs more than most programs.

    Args:
        variables: of the environment, beside those of this process.
    """
    load_ktc()
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        given.write(text_in.encode())
        given.seek(0)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            _become_ktc(
                words,
                {**environment(cache), **(variables or {})},
                folder,
                (given.fileno(), out.fileno(), errors.fileno()),
            )
        status = _wait(pid, words)
        texts = [_text_of(file) for file in (out, errors)]
    return subprocess.CompletedProcess(words, os.waitstatus_to_exitcode(status), *texts)


@functools.cache
def load_ktc() -> None:
    """Load what a build needs, once in this process; its copies need not."""
    for name in LOADED:
        importlib.import_module(f"ktc.{name}")
    gc.collect()
    gc.freeze()


def _become_ktc(words: list[str], environment: dict[str, str], folder: Path, files: tuple[int, int, int]) -> NoReturn:
    """Go on as the command `ktc`; never returns into the tests."""
    code = 1
    try:
        os.setpgid(0, 0)
        faulthandler.disable()
        gc.disable()
        for number, file in enumerate(files):
            os.dup2(file, number)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.argv = ["ktc", *words]
        commands = importlib.import_module("ktc.cli.commands")
        commands.entry()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        ctypes.CDLL(None).fflush(None)  # what the program has written
        os._exit(code)


def _wait(pid: int, words: list[str]) -> int:
    end = time.monotonic() + SECONDS
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() > end:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise subprocess.TimeoutExpired(words, SECONDS)
        time.sleep(0.004)


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n").replace("\r", "\n")


def check(program: Program, done: subprocess.CompletedProcess[str]) -> None:
    """Compare a finished program with its expectations."""
    code = int(program.read("rc") or 0)
    assert "Traceback (most recent call last)" not in done.stderr and "internal error" not in done.stderr, done.stderr
    assert done.returncode == code, f"exit code {done.returncode}, wanted {code}\n{done.stderr}"
    wanted = program.read("out")
    if wanted is not None:
        assert done.stdout.splitlines() == wanted.splitlines()
    rest = done.stdout
    for line in (program.read("contains") or "").splitlines():
        before, found, rest = rest.partition(line)
        assert found, f"the output lacks {line!r} after what was found before it:\n{before}"


def fail(program: Path, what: str, **more: str) -> tuple[int, str, str]:
    """Run a program with one argument; returns its exit code, its output and its errors."""
    around = {**environment(program.parent), **more}
    done = subprocess.run([program, what], env=around, capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr
