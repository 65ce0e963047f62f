"""The programs of pages in docs/ do what the pages say.

A fence whose first line is `LANGUAGE FILE` writes that file; `sh` runs its lines, and a `text` fence right behind it
says what they print.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from programs import ROOT, environment

FENCE = re.compile(r"^```([a-z]+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {"c.md": ("cc", "c++"), "python.md": (), "ndarray.md": (), "tutorials/python.md": ()}
"""Pages, and the commands that they need."""


def write_commands(folder: Path) -> None:
    """Write commands `ktc` and `python` that are the ones of this test; `ktc run` leaves LLVM's optimisations out."""
    run = '[ "$1" = run ] && shift && set -- run -O0 "$@"\n'
    for name, before, words in (("ktc", run, "-m ktc "), ("python", "", "")):
        path = folder / name
        path.write_text(f'#!/bin/sh\n{before}exec "{sys.executable}" {words}"$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.thorough
@pytest.mark.parametrize("page", [name for name in PAGES if (ROOT / "docs" / name).is_file()])
def test_page(page: str, program_cache: Path, tmp_path: Path) -> None:
    if not all(map(shutil.which, PAGES[page])):
        pytest.skip("a command of the page is missing")
    commands, work = tmp_path / "bin", tmp_path / "work"
    commands.mkdir()
    work.mkdir()
    write_commands(commands)
    variables = {
        **environment(program_cache),
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "KTC_DEVICE": "cpu",
    }
    fences = FENCE.findall((ROOT / "docs" / page).read_text("utf-8"))
    for (language, name, text), after in zip(fences, [*fences[1:], ("", "", "")], strict=True):
        if language == "sh" and not name.strip():
            done = subprocess.run(
                ["sh", "-e", "-c", text],
                cwd=work,
                env=variables,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
            if after[0] == "text":
                assert done.stdout == after[2], done.stderr
        elif name.strip():
            (work / name.strip()).write_text(text, "utf-8")
