"""The diagnostics of the passes, one constructor each."""

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Label
from ktc.diag.source import Span
from ktc.ir.nodes import Local


def used_uninitialized(local: Local, span: Span | None, part: bool) -> Diagnostic:
    """Return the error for a use before the value was given; `part`: only a field of it is missing."""
    notes = (Label(local.span, f"{_name(local)} is declared here"),) if local.span else ()
    lacks = f"a field of {_name(local)} is" if part else f"{_name(local)} is"
    return Diagnostic(Code.UNINITIALIZED, span, f"{lacks} used before it has a value", notes=notes)


def left_incomplete(local: Local, span: Span | None, part: bool) -> Diagnostic:
    """Return the error for a function that ends before its named result has a value; `part`: a field is missing."""
    notes = (Label(local.span, f"{_name(local)} is declared here"),) if local.span else ()
    lacks = f"a field of {_name(local)}" if part else _name(local)
    return Diagnostic(Code.UNINITIALIZED, span, f"{lacks} has no value where this function ends", notes=notes)


def used_after_move(local: Local, span: Span | None, moved: Span | None, part: bool) -> Diagnostic:
    """Return the error for a use after the value was moved away at `moved`; `part`: only a field of it was."""
    notes = (Label(moved, "moved away here"),) if moved else ()
    lacks = f"a field of {_name(local)} is" if part else f"{_name(local)} is"
    return Diagnostic(Code.UNINITIALIZED, span, f"{lacks} used after it was moved away", notes=notes)


def moved_from_inside(local: Local, span: Span | None) -> Diagnostic:
    """Return the error for a move out of a field of a field."""
    return Diagnostic(
        Code.UNSUPPORTED,
        span,
        f"a field of a field of {_name(local)} cannot be moved away alone",
        help="move the whole field into a variable first",
    )


def _name(local: Local) -> str:
    return f"'{local.name}'" if local.name else "the value"
