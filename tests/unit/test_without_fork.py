"""ktc where the system has neither `fork` nor `resource` nor /proc: everything is done in one process."""

import subprocess
import sys
from pathlib import Path

import pytest

from programs import ROOT

WITHOUT = """
import builtins, os, pathlib, sys
for name in ("fork", "sched_getaffinity", "wait4", "killpg", "setpgid"):
    delattr(os, name)
sys.modules["resource"] = sys.modules["fcntl"] = None
def refusing(real):
    def opened(file, *rest, **more):
        if str(file).startswith("/proc"):
            raise FileNotFoundError(file)
        return real(file, *rest, **more)
    return opened
builtins.open = refusing(builtins.open)
pathlib.Path.read_text = refusing(pathlib.Path.read_text)
import ktc.__main__
sys.argv[0] = "ktc"
sys.exit(ktc.__main__.entry())
"""


def without(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *words], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_programs_are_built(tmp_path: Path, program_cache: Path) -> None:
    source = str(ROOT / "examples" / "vector_addition.kpy")
    words = ["build", "--target-accelerator", "cpu", "--time", "-o", "program", source]
    done = without(words, tmp_path)
    assert done.returncode == 0, done.stderr
    made = subprocess.run([str(tmp_path / "program")], capture_output=True, text=True, check=True)
    assert made.stdout.startswith("Resulting vector: 3.75")
    assert without(["run", "--target-accelerator", "cpu", source], tmp_path).stdout == made.stdout


@pytest.mark.slow
def test_errors_of_kernels_are_reported(tmp_path: Path, program_cache: Path) -> None:
    (tmp_path / "p.kpy").write_text(
        "from gpu.host import DeviceContext\n\n\n"
        "fn kernel(p: UnsafePointer[Int, MutAnyOrigin]):\n    p[0] = nothing\n\n\n"
        "def main():\n    _ = DeviceContext().compile_function_checked[kernel, kernel]()\n"
    )
    done = without(["build", "--target-accelerator", "gfx942,cpu", "p.kpy"], tmp_path)
    assert done.returncode == 1 and "p.kpy:5:12: error[" in done.stderr
    assert "Traceback" not in done.stderr
