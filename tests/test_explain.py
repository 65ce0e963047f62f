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
from ktc.diag.explain import explain, page_path

from programs import environment, run_ktc, shortened

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


def test_no_page_without_a_code() -> None:
    folder = page_path(Code.MISSING_MAIN).parent
    assert {path.stem for path in folder.glob("*.md")} == {code.id for code in Code}
