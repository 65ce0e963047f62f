"""The library's own tests (tests/library), run by `ktc test`: ktc's tool is used on ktc itself."""

from pathlib import Path

import pytest

from programs import ROOT, run_ktc


@pytest.mark.slow
def test_the_library_passes_its_tests(program_cache: Path, tmp_path: Path) -> None:
    done = run_ktc(["test", str(ROOT / "tests" / "library")], program_cache, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failed" in done.stdout and done.stdout.count("ok     ") > 15
