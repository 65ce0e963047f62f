"""Where in its text a call begins its arguments: the position that `call_location` reports for a call.

Input: the span of a call. Output: an offset in the source.
"""

import re

from ktc.diag.source import Span

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
