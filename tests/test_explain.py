"""The pages of `ktc explain`: every code has one, its first program gives exactly that code, its second one builds.

A program stands in a fence of `kpy`, with options of `ktc build` after the word, or in one of `sh` as commands.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from ktc.diag.codes import Code
from ktc.diag.explain import explain, fault_path, page_path
from ktc.diag.faults import FAULTS

from programs import ROOT, environment, run_ktc, shortened

FENCE = re.compile(r"^```(kpy|sh)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = ["--target-accelerator", "cpu", "--diagnostic-format", "json", "-o", "made"]
SHELL = 'ktc() { command="$1"; shift; "$KTC_PYTHON" -m ktc "$command" --diagnostic-format json "$@"; }\n'


def built(language: str, options: str, text: str, cache: Path, folder: Path) -> tuple[int, list[dict[str, object]]]:
    """Run one program of a page; return the exit code and the diagnostics."""
    if language == "sh":
        done = subprocess.run(
            ["sh", "-c", SHELL + text], capture_output=True, text=True, timeout=120, cwd=folder, check=False,
            env={**environment(cache), "KTC_PYTHON": sys.executable},
        )  # fmt: skip
    else:
        (folder / "program.kpy").write_text(text, "utf-8")
        done = run_ktc(["build", *OPTIONS, *shlex.split(options), "program.kpy"], cache, folder)
    assert "Traceback" not in done.stderr
    return done.returncode, [json.loads(line) for line in done.stderr.splitlines()]


@pytest.mark.parametrize("code", shortened(Code), ids=lambda code: code.id)
def test_page(code: Code, program_cache: Path, tmp_path: Path) -> None:
    page = page_path(code).read_text("utf-8")
    assert code.title in (explain(code.id) or "")
    assert all(len(line) <= 130 for line in page.splitlines())
    wrong, right = FENCE.findall(page)
    status, found = built(*wrong, program_cache, tmp_path)
    assert {one["code"] for one in found} == {code.id}, found
    assert len(found) == 1, found
    assert found[0]["severity"] == ("warning" if code.is_warning else "error")
    assert status == (0 if code.is_warning else 1)
    assert built(*right, program_cache, tmp_path) == (0, [])


def test_mistakes_that_checks_find_have_pages() -> None:
    """Their example is that of the documentation, which tests/test_checked.py runs."""
    docs = (ROOT / "docs" / "checking.md").read_text("utf-8")
    sections = dict(re.findall(r"^### ([\w-]+)\n\n(.*?)(?=^### |^## )", docs, re.MULTILINE | re.DOTALL))
    for fault, title in FAULTS.items():
        text = explain(fault) or ""
        assert text.startswith(f"error[{fault}]: {title}\n"), fault
        assert text.endswith(f"## Example\n\n{sections[fault].rstrip()}\n"), (
            f"{fault_path(fault)} differs from the docs"
        )
    assert {path.stem for path in fault_path("leak").parent.glob("*.md")} == {*FAULTS}


def test_every_code_that_is_printed_has_a_page() -> None:
    """The kinds in the library's checks, those of the table in docs/checking.md, and those that tests expect."""
    printed = {fault for fault in re.findall(r"`([a-z-]+)`", _kinds_in_docs())}
    for path in (ROOT / "stdlib" / "_check").rglob("*.kpy"):
        printed |= {*re.findall(r'"([a-z]+(?:-[a-z]+)+)"', path.read_text("utf-8"))}
    for path in (ROOT / "tests" / "checked").rglob("*.kpy"):
        printed |= {*re.findall(r"#! (?:\d+ )?([a-z]+(?:-[a-z]+)+)\b", path.read_text("utf-8"))}
    known = {*(code.id for code in Code), *FAULTS}
    assert {*FAULTS} <= printed <= known, printed ^ known


def _kinds_in_docs() -> str:
    docs = (ROOT / "docs" / "checking.md").read_text("utf-8")
    rows = docs[docs.index("| kind | meaning") :].partition("\n\n")[0].splitlines()[2:]
    return "\n".join(row.split("|")[1] for row in rows)


def test_no_page_without_a_code() -> None:
    folder = page_path(Code.MISSING_MAIN).parent
    assert {path.stem for path in folder.glob("*.md")} == {code.id for code in Code}
