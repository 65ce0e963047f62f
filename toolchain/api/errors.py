"""A program's errors as an exception.

Input: diagnostics. Output: `CompileError`, whose text is what the command line shows.
"""

from collections.abc import Sequence

from ktc.base.records import record
from ktc.diag.diagnostic import Diagnostic, Severity, in_order
from ktc.diag.render import render_text


@record
class Problem:
    """One message.

    Args:
        code: the code for `ktc explain` ("type-mismatch").
        path: the file, "" where there is no place.
        line, column: from 1; 0 where there is no place.
        is_warning: the program compiles all the same.
        text: the message as the command line shows it.
    """

    code: str
    message: str
    path: str = ""
    line: int = 0
    column: int = 0
    help: str = ""
    is_warning: bool = False
    text: str = ""


class CompileError(Exception):
    """A program does not compile.

    Attributes:
        problems: all messages, in the order of their places.
        code, line, column, message: of the first error.
        text: all messages as the command line shows them.
    """

    def __init__(self, problems: Sequence[Problem], text: str) -> None:
        super().__init__(text.strip())
        self._made_of = (tuple(problems), text)
        self.problems, self.text = tuple(problems), text
        first = next((one for one in problems if not one.is_warning), Problem("", text))
        self.code, self.message, self.path = first.code, first.message, first.path
        self.line, self.column = first.line, first.column

    def __reduce__(self) -> tuple[type["CompileError"], tuple[tuple[Problem, ...], str]]:
        """Pickle it, so that it comes back from another process."""
        return CompileError, self._made_of


def problems_of(diagnostics: Sequence[Diagnostic]) -> list[Problem]:
    """Return diagnostics for a user of Python."""
    found = []
    for one in in_order(list(diagnostics)):
        path, line, column = "", 0, 0
        if one.span is not None:
            path = one.span.source.path
            line, column = one.span.source.position(one.span.start)
        found.append(
            Problem(
                one.code.id, one.message, path, line, column, one.help, one.severity is Severity.WARNING,
                render_text([one]),
            )
        )  # fmt: skip
    return found


def error_of(diagnostics: Sequence[Diagnostic]) -> CompileError:
    """Return the exception for a program with errors."""
    return CompileError(problems_of(diagnostics), render_text(in_order(list(diagnostics))))
