"""Programs that call Python: they need its shared library, and say so in one error where there is none."""

import subprocess
import sysconfig
from pathlib import Path

import pytest

from programs import TESTS, run_ktc

ON_CPU = ["--target-accelerator", "cpu"]
LIBRARY = Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "none")


@pytest.mark.skipif(not LIBRARY.is_file(), reason="this Python has no shared library")
@pytest.mark.parametrize("source", sorted((TESTS / "interop").glob("python_*.kpy")), ids=lambda path: path.stem)
def test_objects_of_python(source: Path, program_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KTC_PYTHON_LIBRARY", str(LIBRARY))
    done = run_ktc(["run", *ON_CPU, str(source)], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == source.with_suffix(".out").read_text("utf-8")


def test_python_that_is_not_there(program_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KTC_PYTHON_LIBRARY", str(tmp_path / "libpython.so"))
    source = tmp_path / "program.kpy"
    source.write_text(
        "from python import Python\ndef main():\n    print(1)\n    print(Python.import_module('math'))\n", "utf-8"
    )
    done = run_ktc(["run", *ON_CPU, str(source)], program_cache, tmp_path)
    assert done.returncode == 1
    assert done.stdout == "1\n"
    message, place = done.stderr.splitlines()
    assert "cannot load the Python that KTC_PYTHON_LIBRARY names" in message
    assert place == f"  at {source}:4:11 in main"


def test_the_executable_needs_no_python(program_cache: Path, tmp_path: Path) -> None:
    source = TESTS / "interop" / "python_objects.kpy"
    program = tmp_path / "program"
    run_ktc(["build", *ON_CPU, str(source), "-o", str(program)], program_cache, tmp_path)
    needed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    assert "python" not in needed
