"""What tests of whole programs share, and the last words of a test process that crashes."""

import faulthandler
import os
import tempfile
from pathlib import Path

import pytest
from ktc.base.cache import Cache
from ktc.syntax.tables import Tables, load_tables

from programs import run_ktc

_FAULTS = "KTC_TEST_FAULTS"
"""The folder where each test process writes its stack when a signal ends it; workers inherit the name."""
_LINES = 14
"""So many of them are shown: the innermost calls come first."""
_kept_open = []


@pytest.hookimpl(trylast=True)  # after pytest's own, whose words come in the middle of the dots
def pytest_configure():
    if "PYTEST_XDIST_WORKER" not in os.environ:
        os.environ[_FAULTS] = tempfile.mkdtemp(prefix="ktc-faults-")
    path = Path(os.environ[_FAULTS], os.environ.get("PYTEST_XDIST_WORKER", "main"))
    _kept_open.append(path.open("a"))
    faulthandler.enable(_kept_open[-1])


def pytest_terminal_summary(terminalreporter, exitstatus):
    for path in sorted(Path(os.environ[_FAULTS]).iterdir()):
        if exitstatus and path.stat().st_size:
            terminalreporter.section(f"stack of {path.name} when it crashed")
            error, mark, stack = path.read_text().partition("Current thread")
            terminalreporter.write_line("\n".join([error.partition("\n")[0], *(mark + stack).splitlines()[:_LINES]]))


def pytest_unconfigure():
    if "PYTEST_XDIST_WORKER" not in os.environ:
        for path in Path(os.environ[_FAULTS]).iterdir():
            path.unlink()
        Path(os.environ.pop(_FAULTS)).rmdir()


@pytest.fixture(scope="session")
def program_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the programs of a test run and its workers: the library is read once, nobody's own is touched."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "ktc-cache"


@pytest.fixture(scope="session")
def tables(program_cache: Path) -> Tables:
    """The grammar's tables, built once for all workers."""
    return load_tables(Cache(program_cache))


@pytest.fixture
def shared_tables(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give those to every parser of a test, also where it has no cache."""
    monkeypatch.setattr("ktc.syntax.parser.load_tables", lambda _: tables)


@pytest.fixture(scope="session")
def library_cache(program_cache: Path) -> Path:
    """A cache that holds the compiled library for the CPU and for sm_90, and no program: to be copied."""
    folder = program_cache.parent / "library-cache"
    folder.mkdir(exist_ok=True)
    (folder / "empty.kpy").write_text("def main():\n    pass\n")
    words = ["build", "--target-accelerator", "sm_90,cpu", "empty.kpy"]
    done = run_ktc(words, folder / "cache", folder)
    assert done.returncode == 0, done.stderr
    return folder / "cache"
