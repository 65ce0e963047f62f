"""The text layer with the next llvmlite: what breaks when LLVM prints its text in a new way.

Only `make wide` runs this. It installs the first llvmlite beyond the range in pyproject.toml into a folder, lets that
LLVM read and print the texts of the fixtures and of programs, compares what `emit/llvm_text` reads with what LLVM has,
and runs the unit tests of `emit/` with it. KTC_LLVMLITE names another version, as `==0.44.0`.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
UNIT = ROOT / "tests" / "unit" / "emit"
PROGRAMS = ("examples/ray_tracer.kpy", "examples/softmax.kpy", "examples/transpose.kpy", "examples/histogram.kpy")
"""Each has one kernel."""
TARGETS = ("host", "cpu", "sm_80", "gfx942")
MINUTES = 15

pytestmark = pytest.mark.wide


def beyond() -> str:
    """Return the requirement for what comes after the pinned range."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (pinned,) = [one for one in project["dependencies"] if one.startswith("llvmlite")]
    found = re.search(r"<([\d.]+)$", pinned)
    assert found is not None, pinned
    return os.environ.get("KTC_LLVMLITE", f">={found[1]}")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of a process that finds another llvmlite first."""
    wanted, folder = f"llvmlite{beyond()}", tmp_path_factory.mktemp("llvmlite")
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*words, "--target", str(folder), wanted], capture_output=True, text=True, check=False)
    if "No matching distribution" in done.stderr:
        pytest.skip(f"the index has no {wanted}: the pinned one is the newest")
    assert done.returncode == 0, done.stderr
    return {**os.environ, "PYTHONPATH": str(folder), "KTC_CACHE_DIR": str(folder / "cache")}


def version(environment: dict[str, str]) -> str:
    code = "import llvmlite, llvmlite.binding as b; print(llvmlite.__version__, 'LLVM', *b.llvm_version_info)"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory, program_cache: Path) -> list[Path]:
    """Return files with LLVM's text of the fixtures and of programs: of their hosts and their kernels."""
    folder = tmp_path_factory.mktemp("texts")
    made = sorted((UNIT / "llvm_text" / "fixtures").glob("*.ll"))
    for program in PROGRAMS:
        for target in TARGETS:
            words = [sys.executable, "-m", "ktc", "emit", "--kind", "llvm", str(ROOT / program)]
            words += [] if target == "host" else ["--target-accelerator", target]
            path = folder / f"{Path(program).stem}.{target}.ll"
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode == 0 and "define " in done.stdout:
                path.write_text(done.stdout, "utf-8")
                made.append(path)
    assert len(made) > len(PROGRAMS) * len(TARGETS)
    return made


def test_the_reader_reads_what_the_next_llvm_prints(environment: dict[str, str], texts: list[Path]) -> None:
    words = [sys.executable, str(UNIT / "llvm_text" / "against_llvm.py"), *map(str, texts)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=60 * MINUTES)
    found = (done.stdout + done.stderr).strip()
    assert not found and done.returncode == 0, f"with llvmlite {version(environment)}:\n{found}"


def test_the_unit_tests_of_emit_pass_with_the_next_llvm(environment: dict[str, str]) -> None:
    words = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", str(UNIT)]
    done = subprocess.run(
        words, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60 * MINUTES
    )
    broken = "\n".join([line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))])
    said = broken or f"{done.stdout[-3000:]}{done.stderr[-1000:]}"
    assert done.returncode == 0, f"with llvmlite {version(environment)}:\n{said}"
