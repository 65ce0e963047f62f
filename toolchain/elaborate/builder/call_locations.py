"""Locations of calls in the program's text, for the library's functions that ask where they are called.

Input: the body that asks, with the chain of instances around it. Output: file, line and column; those of a call are
where its arguments begin.
"""

import re

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.model.elaboration import Body

_PIECES = re.compile(
    r"""(?s)(?P<text>[rR]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))|(?P<note>\#[^\n]*)|(?P<mark>[][(){}])"""
)


def arguments_start(span: Span) -> int:
    """Return where the bracket before the arguments of a call or subscript is; of anything else the start."""
    if span.source.text[span.end - 1 : span.end] not in (")", "]"):
        return span.start
    open_brackets: list[int] = []
    found = span.start
    for piece in _PIECES.finditer(span.source.text, span.start, span.end):
        mark = piece["mark"]
        if not mark:
            continue
        if mark in "([{":
            open_brackets.append(piece.start())
        elif open_brackets:
            found = open_brackets.pop()
    return found


def call_location(body: Body) -> tuple[str, int, int]:
    """Return file, line and column of the innermost place in a user's file."""
    body.site.set_location_read(True)
    span, at = body.frame.span, body.frame.instance
    current = body.elab.instances.current
    if current is None or current.fn.module.is_library:  # the seed's own functions are not kept
        body.elab.depends_on_program()
        if current is not None:
            body.elab.instances.note_placed(current.symbol)
    while at is not None and (span is None or span.source.is_library):
        span, at = at.call_span, at.parent
    return _position(span)


def _position(span: Span | None) -> tuple[str, int, int]:
    if span is None:
        return "", 0, 0
    line, column = span.source.position(arguments_start(span))
    return span.source.path, line, column


def caller_location(body: Body, calls: int) -> tuple[str, int, int]:
    """Return file, line and column of the call so many calls up; 0 is the place that asks."""
    body.site.set_location_read(True)
    span, at = body.frame.span, body.frame.instance
    for _ in range(calls):
        if at is not None and not at.fn.reads_call_location and at.fn.module.edition is Edition.Y2026:
            break  # its calls are not told apart there: the place is in the function itself
        if at is None or not at.fn.reads_call_location:
            name = at.fn.name if at is not None else "this"
            text = f"where '{name}' is called is not known: only of a function with '@always_inline' that asks for it"
            body.fail(Code.NON_CONSTANT_VALUE, text, body.frame.span)
        span, at = at.call_span, at.parent
    return _position(span)


def call_place(body: Body, own: bool) -> str:
    """Return file, line and column of the innermost place in a user's file as one text.

    Args:
        own: of this very call; nothing where it is one of the library's.
    """
    body.site.set_location_read(True)
    if own and (body.frame.span is None or body.frame.span.source.is_library):
        return ""
    return "{}:{}:{}".format(*call_location(body))


def calling_span(body: Body, argument: int) -> Span | None:
    """Return the place of a variadic argument of the program's call that the library works for.

    The call itself where it has no such argument; None where the library was not called from a user's file.
    """
    body.site.set_location_read(True)
    at = body.frame.instance
    while at is not None:
        if at.call_span is not None and not at.call_span.source.is_library:
            return at.variadic_spans[argument] if 0 <= argument < len(at.variadic_spans) else at.call_span
        at = at.parent
    return None
