"""The stand-ins for vendors' runtimes (fixtures/runtimes), with which programs for GPUs that are not here run.

They check every call, load kernels as the vendors' loaders do, and run them as what was built for the processor.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from programs import TESTS, run_ktc

SOURCES = TESTS / "fixtures" / "runtimes"
HIP_SOURCES = ("hip.c", "common.c", "code_object.c")
METAL_SOURCES = ("metal.c", "objc.c", "metallib.c", "common.c")
TARGETS = "gfx1100,cpu"
"""What programs are built for: a stand-in finds the processor's code behind that of its vendor."""


def library(folder: Path, name: str, sources: Sequence[str]) -> Path:
    """Compile a stand-in; the test is skipped where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    made = folder / name
    words = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", str(made)]
    subprocess.run([*words, *(str(SOURCES / source) for source in sources), "-lpthread"], check=True)
    return made


def built(source: Path, cache: Path, folder: Path, words: Sequence[str] = (), targets: str = TARGETS) -> Path:
    """Build a program for a vendor's GPU and for the processor."""
    made = folder / "program"
    done = run_ktc(["build", "--target-accelerator", targets, *words, "-o", str(made), str(source)], cache, folder)
    assert done.returncode == 0, done.stderr
    return made


def ran(
    program: Path, runtime: Path, words: Sequence[str] = (), given: str = "", **variables: str
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run a program with a stand-in; return what it gave and what the stand-in noted."""
    log = program.with_suffix(".log")
    log.write_text("")
    paths = {"LD_LIBRARY_PATH": str(runtime.parent), "DRIVER_LOG": str(log), "NO_COLOR": "1"}
    done = subprocess.run(
        [str(program), *words],
        env={**os.environ, **paths, **variables},
        cwd=program.parent,
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done, log.read_text().splitlines()


def faults(notes: Sequence[str]) -> list[str]:
    """Return what the program did that the vendor's runtime forbids or leaves undefined."""
    return [line for line in notes if line.startswith("FAULT")]
