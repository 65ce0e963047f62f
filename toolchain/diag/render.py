"""Diagnostics as text for people, or as JSON for tools. Pure: text out, nothing is written here."""

import unicodedata
from collections.abc import Sequence

from ktc.diag.diagnostic import Diagnostic, Label, Severity
from ktc.diag.source import Span

_BOLD, _RED, _YELLOW, _CYAN, _GREEN, _RESET = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[32m", "\x1b[0m"
_MAX_COLUMNS = 160
"""A longer source line is shown in part, around the place."""
_MAX_NOTES = 10
_ELLIPSIS = "…"


def render_text(diagnostics: Sequence[Diagnostic], color: bool = False) -> str:
    """Return all diagnostics as lines of text, with the number of errors in the last line.

    Args:
        color: put ANSI colours in.
    """
    if not diagnostics:
        return ""
    blocks = [_one(diagnostic, color) for diagnostic in diagnostics]
    return "".join(blocks) + _summary(diagnostics) + "\n"


def render_json(diagnostics: Sequence[Diagnostic]) -> str:
    """Return one JSON object a line and diagnostic.

    Fields: severity, code, message, help, place, notes (each message and place); a place has path, line, column,
    end_line, end_column, from 1, columns in characters; it is null where there is none.
    """
    import json  # late: only with some options

    lines = []
    for diagnostic in diagnostics:
        notes = [{"message": note.text, "place": _place(note.span)} for note in diagnostic.notes]
        lines.append(
            json.dumps({
                "severity": diagnostic.severity.value, "code": diagnostic.code.id, "message": diagnostic.message,
                "help": diagnostic.help, "place": _place(diagnostic.span), "notes": notes,
            })
        )  # fmt: skip
    return "".join(line + "\n" for line in lines)


def _place(span: Span | None) -> dict[str, object] | None:
    if span is None:
        return None
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(max(span.start, span.end))
    return {
        "path": span.source.path, "line": line, "column": column, "end_line": end_line, "end_column": end_column,
    }  # fmt: skip


def _summary(diagnostics: Sequence[Diagnostic]) -> str:
    parts = []
    for severity in Severity:
        count = sum(diagnostic.severity is severity for diagnostic in diagnostics)
        if count:
            parts.append(f"{count} {severity.value}{'s' if count > 1 else ''}")
    return ", ".join(parts)


def _one(diagnostic: Diagnostic, color: bool) -> str:
    tint = _RED if diagnostic.severity is Severity.ERROR else _YELLOW
    label = _paint(f"{diagnostic.severity.value}[{diagnostic.code.id}]:", _BOLD + tint, color)
    head = f"{_where(diagnostic.span, color)}{label} {_paint(_plain(diagnostic.message), _BOLD, color)}"
    lines = [head, *_excerpt(diagnostic.span, tint, color)]
    if diagnostic.help:
        lines.append(f"{_paint('help:', _BOLD + _GREEN, color)} {_plain(diagnostic.help)}")
    for note in _shown(diagnostic.notes):
        if isinstance(note, str):
            lines.append(note)
            continue
        lines.append(f"{_where(note.span, color)}{_paint('note:', _BOLD + _CYAN, color)} {_plain(note.text)}")
        lines.extend(_excerpt(note.span, _CYAN, color))
    return "\n".join(lines) + "\n"


def _shown(notes: Sequence[Label]) -> list[Label | str]:
    """Leave out the middle of a long chain: its ends say most."""
    if len(notes) <= _MAX_NOTES:
        return list(notes)
    half = _MAX_NOTES // 2
    return [*notes[:half], f"({len(notes) - 2 * half} more notes)", *notes[-half:]]


def _where(span: Span | None, color: bool) -> str:
    return "ktc: " if span is None else _paint(_plain(span.location()) + ":", _BOLD, color) + " "


def _excerpt(span: Span | None, tint: str, color: bool) -> list[str]:
    """Return the source line and the underline; none where there is no text."""
    if span is None:
        return []
    number, column = span.source.position(span.start)
    text = span.source.line(number)
    if not text.strip():
        return []
    first = min(column - 1, len(text))
    last = min(max(first + span.end - span.start, first + 1), max(len(text), first + 1))
    start, stop = _window(len(text), first)
    before = (_ELLIPSIS if start else "") + text[start:first]
    marked = text[first : min(last, stop)]
    shown = (_ELLIPSIS if start else "") + text[start:stop] + (_ELLIPSIS if stop < len(text) else "")
    # A tab stays one under itself, so that both lines agree whatever a tab's width is.
    pad = "".join("\t" if char == "\t" else " " * _columns(char) for char in before)
    underline = "^" + "~" * (max(1, sum(_columns(char) for char in marked)) - 1)
    return ["    " + _plain(shown), "    " + pad + _paint(underline, _BOLD + tint, color)]


def _window(length: int, place: int) -> tuple[int, int]:
    if length <= _MAX_COLUMNS:
        return 0, length
    start = max(0, min(place - _MAX_COLUMNS // 2, length - _MAX_COLUMNS))
    return start, min(length, start + _MAX_COLUMNS)


def _columns(char: str) -> int:
    """Return how many columns a terminal gives a character."""
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _plain(text: str) -> str:
    """Return the text without characters that would move the cursor or end the line."""
    if text.isprintable():
        return text
    return "".join(
        "\ufffd" if char != "\t" and unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") else char for char in text
    )


def _paint(text: str, code: str, color: bool) -> str:
    return f"{code}{text}{_RESET}" if color else text
