"""Mismatches of candidates and parameters, and the exception that ends an elaboration."""

from collections.abc import Callable, Collection, Sequence

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.model.spelling import conversion_help, suggest
from ktc.syntax import ast


class Mismatch(Exception):
    """A candidate does not fit: why, and where if not at the call as a whole.

    Args:
        weight: 0 another type is meant, 1 number or names of arguments, 2 types, 3 number or names of parameters,
            4 a parameter that cannot be inferred, 5 one that must be given explicitly.
        wrong: a name that does not exist, and those that do.
        types: the type that is given, and the one that is expected.
        hint: the help of the diagnostic.

    `param` is the name and the position of the parameter that does not fit, where it is one that may be written.
    `culprit` is the type that keeps a trait from being met.
    """

    def __init__(
        self, code: Code, message: str, span: Span | None = None, weight: int = 0,
        wrong: tuple[str, tuple[str, ...]] | None = None, types: tuple[str, str] | None = None,
        hint: str | Callable[[], str] = "",
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.code, self.message, self.span, self.weight, self.wrong = code, message, span, weight, wrong
        self.types, self.hint = types, hint
        self.param: tuple[str, int] | None = None
        self.culprit: object = None

    def help(self) -> str:
        """Return a help text with what was probably meant."""
        if self.hint:
            return self.hint if isinstance(self.hint, str) else self.hint()
        if self.types:
            return conversion_help(*self.types)
        return suggest(*self.wrong) if self.wrong else ""


def at_parameter(reason: Mismatch, name: str, index: int = -1) -> Mismatch:
    """Note which parameter does not fit: its name, and its place among those that are written without names."""
    if reason.param is None:
        reason.param = name, index
    return reason


def place_of(param: ast.Param, params: Sequence[ast.Param]) -> int:
    """Return the place of a parameter among those that are written without names; -1 if it cannot be."""
    slots = [one.name for one in params if one.kind in ("pos", "any")]
    return slots.index(param.name) if param.name in slots else -1


class ErrorReported(Exception):
    """A reported error ends the elaboration of a statement or a declaration."""


def not_inferred(name: str, what: str, is_inferred: bool) -> Mismatch:
    """Return the mismatch for a parameter that cannot be inferred; `is_inferred`: it is infer-only."""
    hint = "" if is_inferred else f"no argument determines it: give it in brackets, {what[:-1]}[…]'"
    return Mismatch(
        Code.CANNOT_INFER_PARAMETER, f"parameter '{name}' of {what} cannot be inferred", weight=4, hint=hint
    )


def not_given(param: ast.Param, params: Sequence[ast.Param], given: Collection[str], what: str) -> Mismatch | None:
    """Return the mismatch for an infer-only parameter that cannot be inferred and is the type of others that have to be
    given in brackets, and are not; None if there are no such others."""
    written = [one for one in params if one.kind in ("pos", "any") and one.default is None]
    for one in written:
        if isinstance(one.type, ast.Name) and one.type.id == param.name and one.name not in given:
            names = [other.name for other in written]
            hint = f"write {what[:-1]}[{', '.join(names)}](…)'"
            if names == ["func", "signature_func"]:
                hint = f"a launch names its kernel twice: {what[:-1]}[kernel, kernel](…)'"
            return Mismatch(
                Code.CANNOT_INFER_PARAMETER, f"parameter '{one.name}' of {what} is not given", weight=5, hint=hint
            )
    return None


def not_a_value(name: str, what: str, expected: object, given: object, shown: Callable[[object], str]) -> Mismatch:
    """Return the mismatch for a type where a value is expected; perhaps one that the type is made with is meant."""
    own = [value for value in getattr(given, "params", ()) if getattr(value, "ty", None) is expected]
    text = f"parameter '{name}' of {what} expects a value of '{expected}', not a type"
    return Mismatch(Code.TYPE_MISMATCH, text, weight=2, hint=f"write '{shown(own[0])}'" if own else "")


def unfit(name: str, what: str, expected: object, given: object, shown: Callable[[object], str]) -> Mismatch:
    """Return the mismatch for a constant or a function that does not convert to the type of a parameter."""
    overloads, kind = getattr(given, "overloads", None), getattr(given, "ty", None)
    have = f"'{shown(kind)}'" if overloads is None else f"the function '{overloads.name}'"
    text = f"parameter '{name}' of {what} expects '{shown(expected)}', not {have}"
    return Mismatch(Code.TYPE_MISMATCH, text, weight=2)
