"""Operators of torch that are made of kernels."""

import subprocess
import sys
from pathlib import Path

import pytest

from programs import TESTS, environment


@pytest.mark.thorough
def test_operator_with_gradient_trains_a_network(program_cache: Path) -> None:
    pytest.importorskip("torch")
    folder = TESTS / "interop" / "torch"
    done = subprocess.run(
        [sys.executable, "operator_training.py"],
        check=False, cwd=folder, env=environment(program_cache), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.stdout == "gradient: True\ntrained: True\n", done.stderr
