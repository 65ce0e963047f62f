"""Why a candidate of a call, or parameters that were given, do not fit."""

from collections.abc import Callable

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.suggestions import conversion_help, suggest


class Mismatch(Exception):
    """A candidate does not fit: why, and where if not at the call as a whole.

    Args:
        weight: 0 another type is meant, 1 number or names of arguments, 2 types, 3 number or names of parameters,
            4 a parameter that nothing tells.
        wrong: a name that does not exist, and those that do.
        types: the type that is given, and the one that is wanted.
        hint: what to do about it.
    """

    def __init__(
        self, code: Code, message: str, span: Span | None = None, weight: int = 0,
        wrong: tuple[str, tuple[str, ...]] | None = None, types: tuple[str, str] | None = None,
        hint: str | Callable[[], str] = "",
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.code, self.message, self.span, self.weight, self.wrong = code, message, span, weight, wrong
        self.types, self.hint = types, hint

    def help(self) -> str:
        """Return what was perhaps meant."""
        if self.hint:
            return self.hint if isinstance(self.hint, str) else self.hint()
        if self.types:
            return conversion_help(*self.types)
        return suggest(*self.wrong) if self.wrong else ""


class Abort(Exception):
    """A reported error ends the elaboration of a statement or a declaration."""
