"""Every name that the packages of the reference's library export can be imported, or stands in stdlib/missing.txt.

Where the reference is installed too, the list of names is compared with it: a name that it does not know is a mistake
of the list.
"""

import contextlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ktc.cli.commands import main
from ktc.elaborate.resolve.suggestions import missing_in_library

ROOT = Path(__file__).parents[2]
NAMES = ROOT / "tests/fixtures/library_names.txt"


def exported() -> list[tuple[str, str]]:
    return listed_names(NAMES)


def importing(names: list[tuple[str, str]]) -> str:
    lines = [f"from {module} import {name} as n{index}" for index, (module, name) in enumerate(names)]
    return "\n".join([*lines, "def main():", "    pass", ""])


def test_names_are_there_or_listed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    library = ROOT / "stdlib"
    names = [one for one in exported() if not missing_in_library(library, *one)]
    assert len(names) > 400
    program = tmp_path / "names.kpy"
    program.write_text(importing(names), "utf-8")
    with contextlib.suppress(SystemExit):
        main(["build", "--emit", "llvm", "-o", str(tmp_path / "names.ll"), str(program)])
    failed = [line for line in capfd.readouterr().err.splitlines() if "error[" in line]
    assert not failed, failed


def test_names_of_edition_2026_are_there_or_listed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What can be imported is not listed as missing, and what cannot is."""
    missing = listed_names(ROOT / "stdlib/missing_2026.txt")
    names = listed_names(ROOT / "tests/fixtures/library_names_2026.txt")
    assert len(names) > 400
    assert set(missing) <= set(names)
    program = tmp_path / "names.mojo"
    program.write_text(importing(names), "utf-8")
    with contextlib.suppress(SystemExit):
        main(["check", "--edition", "2026", str(program)])
    reported = re.findall(r"names\.mojo:(\d+):\d+: error\[", capfd.readouterr().err)
    assert {names[int(line) - 1] for line in reported} == set(missing)


def listed_names(file: Path) -> list[tuple[str, str]]:
    lines = [line for line in file.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    pairs = [(module, names.split()) for module, _, names in (line.partition(":") for line in lines)]
    return [(module, name) for module, names in pairs for name in names]


def test_reexported_names(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Names that the reference's modules have by their own imports are found."""
    lines = [line.partition(": ") for line in (ROOT / "stdlib/reexports.txt").read_text("utf-8").splitlines()]
    places = [(places.split(), names.split()) for places, colon, names in lines if colon and places[0] != "#"]
    names = [(module, name) for (module, _), listed in places for name in listed]
    assert len(names) > 400
    program = tmp_path / "names.kpy"
    program.write_text(importing(names), "utf-8")
    with contextlib.suppress(SystemExit):
        main(["build", "--emit", "llvm", "-o", str(tmp_path / "names.ll"), str(program)])
    failed = [line for line in capfd.readouterr().err.splitlines() if "error[" in line]
    assert not failed, failed


def test_listed_names_are_missing() -> None:
    listed = [line.partition(":") for line in (ROOT / "stdlib/missing.txt").read_text("utf-8").splitlines()]
    for module, colon, names in listed:
        file = ROOT / "stdlib" / (module.replace(".", "/") + ".kpy")
        if not colon or module.startswith("#") or not file.exists():
            continue
        text = file.read_text("utf-8")
        for name in names.split():
            assert not re.search(rf"^(fn|struct|alias|trait) {name}\b", text, re.MULTILINE), f"{module}.{name}"


def test_the_documentation_has_the_list() -> None:
    """The documentation has all names that are missing, but for the private helpers of modules."""
    text, heading, _ = (ROOT / "stdlib/missing.txt").read_text("utf-8").partition("# private helpers")
    assert heading
    lines = [line.partition(": ") for line in text.splitlines()]
    listed = [(module, names.split()) for module, colon, names in lines if colon and not module.startswith("#")]
    rows = "".join(f"| `{module}` | {' '.join(f'`{name}`' for name in names)} |\n" for module, names in listed)
    assert rows in (ROOT / "docs/library.md").read_text("utf-8")


@pytest.mark.skipif(shutil.which("mojo") is None, reason="the reference is not installed")
def test_the_reference_has_these_names(tmp_path: Path) -> None:
    program = tmp_path / "names.mojo"
    program.write_text(importing(exported()), "utf-8")
    done = subprocess.run(
        ["mojo", "build", "-o", str(tmp_path / "names"), str(program)], check=False, capture_output=True, text=True
    )
    assert "error: " not in done.stderr, done.stderr[-2000:]
