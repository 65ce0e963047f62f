"""Whole programs, compiled and run: what they print and how they end. tests/test_devices.py runs those with kernels."""

from itertools import pairwise
from pathlib import Path

import pytest

from documents import blocks, pages
from programs import ROOT, TESTS, Program, check, launching, programs, run_ktc, shortened

ON_CPU = ["--target-accelerator", "cpu"]
ELSEWHERE = frozenset(one.name for one in launching())
HERE = [one for one in programs() if one.name not in ELSEWHERE]
LANGUAGE = [one for one in HERE if not one.source.is_relative_to(TESTS / "stdlib")]
LIBRARY = [one for one in HERE if one.source.is_relative_to(TESTS / "stdlib")]
ARRAYS = [one for one in LIBRARY if one.source.name.startswith("array")]
OFTEN = [one for one in LIBRARY if one not in ARRAYS[::2]]
"""Every other program of ndarray takes as long as twenty others: `make wide` runs all of them."""


@pytest.mark.parametrize("program", LANGUAGE[::2], ids=lambda program: program.name)
def test_program(program: Program, program_cache: Path, tmp_path: Path) -> None:
    compiled_and_run(program, program_cache, tmp_path, "-O0")


@pytest.mark.parametrize("program", LANGUAGE[1::2], ids=lambda program: program.name)
def test_optimised_program(program: Program, program_cache: Path, tmp_path: Path) -> None:
    compiled_and_run(program, program_cache, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("program", LANGUAGE, ids=lambda program: program.name)
def test_program_at_the_other_level(program: Program, program_cache: Path, tmp_path: Path) -> None:
    compiled_and_run(program, program_cache, tmp_path, *([] if program in LANGUAGE[::2] else ["-O0"]))


@pytest.mark.parametrize("program", shortened(OFTEN, 3), ids=lambda program: program.name)
def test_program_of_the_library(program: Program, program_cache: Path, tmp_path: Path) -> None:
    """Most of these instantiate much code, which LLVM optimises for longer than all else takes: `make wide` does."""
    compiled_and_run(program, program_cache, tmp_path, "-O0")


@pytest.mark.wide
@pytest.mark.parametrize("program", LIBRARY, ids=lambda program: program.name)
def test_program_of_the_library_optimised(program: Program, program_cache: Path, tmp_path: Path) -> None:
    compiled_and_run(program, program_cache, tmp_path)


def compiled_and_run(program: Program, cache: Path, folder: Path, *more: str) -> None:
    words = ["run", *ON_CPU, *more, *program.words("flags"), str(program.source), *program.words("args")]
    check(program, run_ktc(words, cache, folder, program.read("in") or ""))


@pytest.mark.device
@pytest.mark.parametrize(
    "program",
    [one for one in programs() if "gpu" in one.source.read_text("utf-8")],
    ids=lambda program: program.name,
)
def test_program_on_the_gpu(program: Program, program_cache: Path, tmp_path: Path) -> None:
    words = ["run", *program.words("flags"), str(program.source), *program.words("args")]
    check(program, run_ktc(words, program_cache, tmp_path, program.read("in") or ""))


def test_every_program_has_an_expectation() -> None:
    """A program without one would never be run; modules that others import have no `main`. tests/test_documents.py runs
    those whose output a page shows; a program of edition 2025 that a page shows migrated is run so."""
    known = {program.source for program in programs()}
    shown = [block.what.split() for page in pages() for block in blocks(page) if block.kind == "output"]
    known |= {
        ROOT / word
        for words in shown
        for word in words
        if any(pair in (("ktc", "run"), ("ktc", "check"), ("ktc", "test")) for pair in pairwise(words))
    }
    known |= {path.with_suffix(".kpy") for path in known if path.suffix == ".mojo"}
    for folder in (TESTS / "run", TESTS / "stdlib", ROOT / "examples"):
        for path in folder.rglob("*.kpy"):
            if path not in known:
                assert "main()" not in path.read_text("utf-8"), f"{path.relative_to(ROOT)} has no .out beside it"
