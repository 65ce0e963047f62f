"""Operators of torch: those that a program makes of kernels, and those of `ktc.torch`."""

import subprocess
import sys
from pathlib import Path

import pytest

from programs import TESTS, environment


def _run(program_cache: Path, script: str, *words: str) -> list[str]:
    """Run a program of tests/interop/torch; return its lines."""
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, script, *words],
        check=False, cwd=TESTS / "interop" / "torch", env=environment(program_cache), capture_output=True, text=True,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.thorough
def test_operator_with_gradient_trains_a_network(program_cache: Path) -> None:
    assert _run(program_cache, "operator_training.py") == ["gradient: True", "trained: True"]


def test_operators_of_rows_and_their_errors(program_cache: Path) -> None:
    assert _run(program_cache, "operators.py", "rows", "errors") == ["rows: right", "errors: right"]


@pytest.mark.thorough
def test_operators_are_those_of_torch(program_cache: Path) -> None:
    parts = ["products", "heads", "images", "registered"]
    assert _run(program_cache, "operators.py", *parts) == [f"{part}: right" for part in parts]


@pytest.mark.thorough
def test_network_of_operators(program_cache: Path) -> None:
    assert _run(program_cache, "network.py") == ["trained: True", "compiled: True", "as torch's: True"]


@pytest.mark.thorough
def test_packages_of_custom_operators(program_cache: Path) -> None:
    parts = ["elementwise", "kernels", "registered", "errors"]
    assert _run(program_cache, "custom_ops.py", *parts) == [f"{part}: right" for part in parts]
    assert _run(program_cache, "use_ops.py") == ["tensor([ 7.,  8.,  9., 10., 11., 12.])"]


@pytest.mark.thorough
def test_operator_of_an_exported_function(program_cache: Path) -> None:
    assert _run(program_cache, "use_scaling.py") == ["[0.0, 3.0, 6.0, 9.0, 12.0] [3.0, 3.0, 3.0, 3.0, 3.0]"]
