"""What tests of whole programs share, and the last words of a test process that crashes."""

import faulthandler
import fcntl
import gc
import os
import tempfile
from pathlib import Path

import pytest
from ktc.base.cache import Cache
from ktc.syntax.parsing.tables import Tables, load_tables

from programs import run_ktc

_FAULTS = "KTC_TEST_FAULTS"
"""The folder where each test process writes its stack when a signal ends it; workers inherit the name."""
_LINES = 14
"""So many of them are shown: the innermost calls come first."""
_kept_open = []
_OBJECTS = 1_000_000
"""After so many new objects Python looks for cycles; after 700, its own number, that costs a quarter of the time."""


@pytest.hookimpl(trylast=True)  # after pytest's own, whose words come in the middle of the dots
def pytest_configure():
    if "PYTEST_XDIST_WORKER" not in os.environ:
        os.environ[_FAULTS] = tempfile.mkdtemp(prefix="ktc-faults-")
    path = Path(os.environ[_FAULTS], os.environ.get("PYTEST_XDIST_WORKER", "main"))
    _kept_open.append(path.open("a"))
    faulthandler.enable(_kept_open[-1])
    gc.set_threshold(_OBJECTS)


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


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for a test run and its workers, also where a test names none: nobody's own is touched."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "ktc-cache"
    os.environ["KTC_CACHE_DIR"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def tables(cache_folder: Path) -> Tables:
    """The grammar's tables, built once for all workers."""
    return load_tables(Cache(cache_folder))


@pytest.fixture
def shared_tables(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give those to every parser of a test, also where it has no cache."""
    monkeypatch.setattr("ktc.syntax.parsing.parser.load_tables", lambda _: tables)


@pytest.fixture(scope="session")
def library_cache(cache_folder: Path) -> Path:
    """A cache with what a small program has needed of the library, and no other program: to be copied."""
    folder = cache_folder.parent / "library-cache"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one worker makes it
        if not (folder / "made").exists():
            (folder / "empty.kpy").write_text("def main():\n    pass\n")
            words = ["build", "--target-accelerator", "sm_90,cpu", "empty.kpy"]
            done = run_ktc(words, folder / "cache", folder)
            assert done.returncode == 0, done.stderr
            (folder / "made").touch()
    return folder / "cache"


@pytest.fixture(scope="session")
def program_cache(cache_folder: Path) -> Path:
    """The cache of the test run, for whole programs: they fill the library's archive for one another."""
    return cache_folder
