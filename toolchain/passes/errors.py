"""The diagnostics of the passes, one constructor each."""

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Label
from ktc.diag.source import Span
from ktc.ir.nodes import Local


def used_uninitialized(name: str, local: Local, span: Span | None) -> Diagnostic:
    """Return the error for a use before the value was given; `name`: of the local, or of the field that is missing."""
    notes = (Label(local.span, f"{_name(local)} is declared here"),) if local.span else ()
    return Diagnostic(Code.UNINITIALIZED, span, f"{name} is used before it has a value", notes=notes)


def filled_by_field(local: Local, span: Span | None) -> Diagnostic:
    """Return the error for the use of a value whose fields were all set, but which no initializer made."""
    notes = (Label(local.span, f"{_name(local)} is declared here"),) if local.span else ()
    text = f"each field of {_name(local)} was set by itself, which makes no value of its type"
    return Diagnostic(Code.UNINITIALIZED, span, text, "call an initializer of the type", notes)


def left_incomplete(name: str, local: Local, span: Span | None) -> Diagnostic:
    """Return the error for a function that ends before its named result, or a field of it, has a value."""
    notes = (Label(local.span, f"{_name(local)} is declared here"),) if local.span else ()
    help = "give each of its fields a value: 'self.name = …'" if local.name == "self" else ""
    return Diagnostic(Code.UNINITIALIZED, span, f"{name} has no value at the end of this function", help, notes)


def used_after_move(name: str, span: Span | None, moved: Span | None) -> Diagnostic:
    """Return the error for a use after the value was moved away at `moved`."""
    notes = (Label(moved, "moved away here"),) if moved else ()
    return Diagnostic(Code.UNINITIALIZED, span, f"{name} is used after it was moved", notes=notes)


def used_after_change(local: Local, span: Span | None, changed: Span | None) -> Diagnostic:
    """Return the error for a use of a reference into a collection after the collection was changed at `changed`."""
    notes = (Label(changed, "changed here"),) if changed else ()
    into = local.refers_into if " " in local.refers_into else f"'{local.refers_into}'"
    name = f"'{local.name}'" if local.name else "this loop"
    text = f"{name} refers into {into}, which has changed since: its values may have moved or ended"
    return Diagnostic(
        Code.CONFLICTING_ACCESS, span, text, "copy the value, or refer to it again after the change", notes
    )


def left_empty(name: str, local: Local, span: Span | None) -> Diagnostic:
    """Return the error for a `mut` argument, or a field of it, without a value when the function returns."""
    notes = (Label(local.span, f"{_name(local)} is declared here"),) if local.span else ()
    text = f"{name} is moved away and gets no new value before the function returns"
    return Diagnostic(Code.UNINITIALIZED, span, text, notes=notes)


def part_missing(name: str, local: Local) -> Diagnostic:
    """Return the error for a field that never gets a value, of a value which must be destroyed."""
    text = f"{name} never gets a value, so {_name(local)} cannot be destroyed"
    return Diagnostic(Code.UNINITIALIZED, local.span, text, help=f"give {name} a value")


def part_moved(name: str, local: Local, moved: Span | None, span: Span | None) -> Diagnostic:
    """Return the error for a field that is moved out of a value which must still be destroyed."""
    text = f"{name} is moved away and gets no new value, so the rest of {_name(local)} cannot be destroyed"
    notes = (Label(moved, "moved away here"),) if moved and moved is not span else ()
    help_text = f"give {name} a new value, or move the whole of {_name(local)}"
    return Diagnostic(Code.UNINITIALIZED, span, text, help=help_text, notes=notes)


def moved_from_inside(local: Local, span: Span | None) -> Diagnostic:
    """Return the error for a move out of a field of a field."""
    return Diagnostic(
        Code.UNSUPPORTED,
        span,
        f"a field of a field of {_name(local)} cannot be moved separately",
        help="move the whole field into a variable first",
    )


def not_consumed(local: Local, kind: tuple[str, str], span: Span | None) -> Diagnostic:
    """Return the error for a value that would be destroyed here, and must be consumed by a call (`kind`: its type, and
    what the type's author says to do)."""
    text = f"{_name(local)} is not consumed on this path, and values of type '{kind[0]}' are not destroyed implicitly"
    notes = (Label(local.span, f"{_name(local)} is declared here"),) if local.name and local.span else ()
    return Diagnostic(Code.UNCONSUMED_VALUE, span, text, kind[1], notes)


def _name(local: Local) -> str:
    return f"'{local.name}'" if local.name else "the value"
