"""Why a candidate of a call, or parameters that were given, do not fit."""

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.suggestions import suggest


class Mismatch(Exception):
    """A candidate does not fit: why, and where if not at the call as a whole.

    Args:
        weight: 0 another type is meant, 1 number or names of arguments, 2 types, 3 number or names of parameters.
        wrong: a name that does not exist, and those that do.
    """

    def __init__(
        self, code: Code, message: str, span: Span | None = None, weight: int = 0,
        wrong: tuple[str, tuple[str, ...]] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.code, self.message, self.span, self.weight, self.wrong = code, message, span, weight, wrong

    def help(self) -> str:
        """Return what was perhaps meant."""
        return suggest(*self.wrong) if self.wrong else ""


class Abort(Exception):
    """A reported error ends the elaboration of a statement or a declaration."""
