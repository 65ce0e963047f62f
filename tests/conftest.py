"""What tests of whole programs share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def program_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the programs of a test run and its workers: the library is read once, nobody's own is touched."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "ktc-cache"
