"""Tests that `ktc test` runs, and their results."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from ktc.base.records import record
from ktc.config import Options
from ktc.tools.testing.discovery import Case

PASSED, FAILED, ERROR = "passed", "failed", "error"


@record
class Plan:
    """The tests to run, and the options for all of them.

    Args:
        options: of every build; `root` and `output` are those of the file.
        is_fast: stop at the first test that fails.
        seconds: of one test.
        color: messages have colours.
    """

    options: Options
    is_fast: bool
    seconds: float
    color: bool


@record
class Result:
    """The result of one test.

    Args:
        status: "passed", "failed", or "error": it could not be built or run.
        message: why.
        output: the test's output.
    """

    file: str
    case: Case
    status: str
    seconds: float = 0.0
    message: str = ""
    output: str = ""

    @property
    def id(self) -> str:
        return f"{self.file}::{self.case.name}"


@record
class FileResults:
    """The results of the tests of one file.

    Args:
        reads: the files that their program was built of, as `syntax.loader.Package.reads`.
    """

    path: Path
    results: list[Result]
    reads: Mapping[str, str | None] = field(default_factory=dict)
