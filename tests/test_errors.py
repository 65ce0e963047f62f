"""Programs with mistakes: each `# error: code "text"` stands on the line at which that error must be reported.

`# error@COL: code "text"` asks for the column too (from 1, in characters), `# error+N: …` and `# error-N: …` for the
line N further down or up. The text is a part of the message. Nothing else may be reported as an error.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from programs import TESTS, run_ktc

WANTED = re.compile(r'#\s*error(?P<offset>[+-]\d+)?(?:@(?P<column>\d+))?: (?P<code>[a-z0-9-]+)(?: "(?P<text>[^"]*)")?')
FILES = sorted((TESTS / "errors").rglob("*.kpy"))


@dataclass(frozen=True)
class Wanted:
    """An error that must be reported."""

    line: int
    column: int | None
    code: str
    text: str

    def fits(self, found: dict[str, Any]) -> bool:
        place = found["place"] or {}
        return (
            place.get("line") == self.line
            and found["code"] == self.code
            and self.text in found["message"]
            and self.column in (None, place["column"])
        )


def wanted_errors(path: Path) -> list[Wanted]:
    return [
        Wanted(
            number + int(match["offset"] or 0), int(match["column"]) if match["column"] else None,
            match["code"], match["text"] or "",
        )
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for match in WANTED.finditer(line)
    ]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_errors(path: Path, program_cache: Path, tmp_path: Path) -> None:
    words = ["build", "--target-accelerator", "cpu", "--diagnostic-format", "json", "-o", "made", str(path)]
    done = run_ktc(words, program_cache, tmp_path)
    assert "Traceback (most recent call last)" not in done.stderr, done.stderr
    assert done.returncode == 1, f"exit code {done.returncode}\n{done.stderr}"
    assert not (tmp_path / "made").exists()
    found = [one for one in map(json.loads, done.stderr.splitlines()) if one["severity"] == "error"]
    wanted = wanted_errors(path)
    for one in wanted:
        assert any(one.fits(error) for error in found), f"not reported: {one}\nreported: {found}"
    for error in found:
        assert any(one.fits(error) for one in wanted), f"reported and not wanted: {error}"
        assert Path(error["place"]["path"]).name == path.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_wants_an_error(path: Path) -> None:
    assert wanted_errors(path), "no '# error:' comment"
