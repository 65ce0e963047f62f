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


def _operators(program_cache: Path, *parts: str) -> None:
    pytest.importorskip("torch")
    folder = TESTS / "interop" / "torch"
    done = subprocess.run(
        [sys.executable, "operators.py", *parts],
        check=False, cwd=folder, env=environment(program_cache), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.stdout == "".join(f"{part}: right\n" for part in parts), done.stderr


def test_operators_of_rows_and_their_errors(program_cache: Path) -> None:
    _operators(program_cache, "rows", "errors")


@pytest.mark.thorough
def test_operators_are_those_of_torch(program_cache: Path) -> None:
    _operators(program_cache, "products", "heads", "images", "registered")


@pytest.mark.thorough
def test_network_of_operators(program_cache: Path) -> None:
    pytest.importorskip("torch")
    folder = TESTS / "interop" / "torch"
    done = subprocess.run(
        [sys.executable, "network.py"],
        check=False, cwd=folder, env=environment(program_cache), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.stdout == "trained: True\ncompiled: True\nas torch's: True\n", done.stderr
