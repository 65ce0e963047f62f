"""Fixes of diagnostics: edits made from the code, the place and the help.

Input: a diagnostic. Output: `Fix`es, the best first. A fix is safe if the program cannot mean anything else then.
"""

import re

from ktc.base.records import record
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.source import Source, Span

_DID_YOU_MEAN = re.compile(r"did you mean ((?:'[\w.]+'(?:, | or )?)+)\?")
_WRITE = re.compile(r"write '([^'…]*)'(?: or '([^'…]*)')?(?:;.*)?")
_RENAMED = re.compile(r"write '([^\W\d]\w*)'")
_WRITTEN_AROUND = re.compile(r"write '(\w+)\(\.\.\.\)' to convert it")
_QUOTED = re.compile(r"'([^']+)'")
_WORD = re.compile(r"[^\W\d]\w*\Z")
_IN_PLACE = "write '_' in its place"
_OF_TEXT = (Code.SYNTAX_ERROR, Code.INVALID_LITERAL)
_PREFIXED = re.compile(r"write '([rR]?t['\"]+)'")
_UNCALLED = re.compile(r"write '(\w+)\(\.\.\.\)'")
_POPS = re.compile(r"write '(_ = .*\.pop\(.*\))'")
_NAMED = re.compile(r"the name is '(\w+)'")
_CALLED = re.compile(r"the type is called '(\w+)'(?:;.*)?|write '(True|False|None)'")
_FROM_MODULE = re.compile(r"write '(\w+)(?:\(\))?', from the module '([\w.]+)'")
_QUOTIENT = re.compile(r"(?<=[^/])/(?=[^/])")


@record
class Edit:
    """The characters of a span become `text`."""

    span: Span
    text: str


@record
class Fix:
    """One way to repair a program.

    Args:
        title: the change in the imperative.
        is_safe: it can be applied without a look.
    """

    title: str
    edits: tuple[Edit, ...]
    is_safe: bool


def fixes(diagnostic: Diagnostic) -> list[Fix]:
    """Return the ways to repair what a diagnostic says."""
    span, help = diagnostic.span, diagnostic.help
    if span is None or span.source.is_library or not help:
        return []
    if diagnostic.code is Code.UNUSED_IMPORT:
        edit = _without_import(span)
        return [Fix("remove the import", (edit,), True)] if edit is not None else []
    if help.endswith(_IN_PLACE) and _WORD.match(_text(span)):
        return [Fix("write '_'", (Edit(span, "_"),), diagnostic.code is Code.UNUSED_VARIABLE)]
    if diagnostic.code is Code.UNUSED_VALUE and help.startswith("write '_ ="):
        return [Fix("ignore the value", (Edit(Span(span.source, span.start, span.start), "_ = "),), True)]
    if (fix := _of_habit(diagnostic, span)) is not None:
        return [fix]
    if (found := _DID_YOU_MEAN.search(help)) is not None:
        place = _last_word(span)
        return [Fix(f"write '{one}'", (Edit(place, one),), False) for one in _QUOTED.findall(found[1])] if place else []
    if (found := _WRITTEN_AROUND.match(help)) is not None:
        return [Fix(f"convert to '{found[1]}'", (Edit(span, f"{found[1]}({_text(span)})"),), False)]
    if diagnostic.code is Code.WRONG_EDITION and (found := _PREFIXED.fullmatch(help)) is not None:
        return [Fix("write a template string", (Edit(span, found[1]),), True)]
    found = _RENAMED.fullmatch(help) if diagnostic.code is Code.WRONG_EDITION else None
    if found is not None and (place := _last_word(span)) is not None and "." not in found[1]:
        return [Fix(f"write '{found[1]}'", (Edit(place, found[1]),), True)]
    return _written(diagnostic, span)


def _of_habit(diagnostic: Diagnostic, span: Span) -> Fix | None:
    """Repair what another language spells differently."""
    source, help, text = span.source, diagnostic.help, _text(span)
    if text == "del" and (found := _POPS.fullmatch(help)) is not None:
        end = source.text.find("]", span.end) + 1
        return Fix(f"write '{found[1]}'", (Edit(Span(source, span.start, end), found[1]),), True)
    if diagnostic.code is Code.UNKNOWN_ARGUMENT and (found := _NAMED.fullmatch(help)) is not None:
        place = Span(source, span.start, span.start + len(text.partition("=")[0].rstrip()))
        return Fix(f"write '{found[1]}'", (Edit(place, found[1]),), True)
    if diagnostic.code is Code.UNDEFINED_NAME and (found := _CALLED.fullmatch(help)) is not None:
        name = found[1] or found[2]
        return Fix(f"write '{name}'", (Edit(span, name),), True)
    if diagnostic.code is Code.UNDEFINED_NAME and (found := _FROM_MODULE.fullmatch(help)) is not None:
        return Fix(f"write '{found[1]}'", (Edit(span, found[1]), *_import(source, found[2], found[1])), False)
    if (found := _UNCALLED.fullmatch(help)) is not None and text.endswith(f".{found[1]}"):
        return Fix("call it", (Edit(Span(source, span.end, span.end), "()"),), False)
    if help.startswith("write '//'") and len(_QUOTIENT.findall(text)) == 1:
        return Fix("write '//'", (Edit(span, _QUOTIENT.sub("//", text)),), False)
    return None


def _import(source: Source, module: str, name: str) -> list[Edit]:
    """Import a name at the top of a file, after its comment or docstring, if it is not imported yet."""
    if re.search(rf"^from {re.escape(module)} import .*\b{name}\b", source.text, re.MULTILINE):
        return []
    first = re.search(r"^(?:from|import|fn|def|struct|trait|alias|comptime|@)\b", source.text, re.MULTILINE)
    at = first.start() if first is not None else 0
    return [Edit(Span(source, at, at), f"from {module} import {name}\n")]


def _written(diagnostic: Diagnostic, span: Span) -> list[Fix]:
    """Take `write 'x'` at its word where the place is one token."""
    found = _WRITE.fullmatch(diagnostic.help)
    text = _text(span)
    if found is None or "..." in found[0] or diagnostic.code not in _OF_TEXT or not text or " " in text:
        return []
    if _WORD.match(text) and not re.fullmatch(r"[a-z ]+", found[1]):
        return []
    after = span.source.text[span.end : span.end + 1]
    words = [one for one in found.groups() if one]
    spaced = [f"{one} " if one[-1].isalpha() and after not in " \n(:" else one for one in words]
    is_safe = len(words) == 1 and not found[0].count(";")
    return [Fix(f"write '{one}'", (Edit(span, new),), is_safe) for one, new in zip(words, spaced, strict=True)]


def _text(span: Span) -> str:
    return span.source.text[span.start : span.end]


def _last_word(span: Span) -> Span | None:
    """Return the last name of a place: of `a.b`, `b`."""
    found = _WORD.search(_text(span))
    return Span(span.source, span.start + found.start(), span.end) if found is not None else None


def _without_import(span: Span) -> Edit | None:
    """Remove one name from an import, or the import where it is the only one."""
    source, text = span.source, span.source.text
    start = text.rfind("\n", 0, span.start) + 1
    while start and (text[:start].count("(") - text[:start].count(")")) > 0:  # names in brackets on several lines
        start = text.rfind("\n", 0, start - 1) + 1
    head = re.compile(r"[ \t]*(?:from[ \t]+[\w.]+[ \t]+import|import)[ \t]*(\()?").match(text, start)
    if head is None:
        return None
    stop = text.find(")", head.end()) if head[1] else _line_end(text, head.end())
    if stop < 0 or ";" in text[start:stop] or "#" in text[head.end() : stop]:
        return None
    pieces = _pieces(text, head.end(), stop)
    own = [index for index, (first, last) in enumerate(pieces) if first <= span.start < last]
    if not own:
        return None
    if len(pieces) == 1:
        end = _line_end(text, stop)
        if text[stop + bool(head[1]) : end].strip():
            return None
        return Edit(Span(source, start, min(end + 1, len(text))), "")
    index = own[0]
    if index + 1 < len(pieces):
        return Edit(Span(source, pieces[index][0], pieces[index + 1][0]), "")
    return Edit(Span(source, pieces[index - 1][1], pieces[index][1]), "")


def _pieces(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Return where each name of an import stands, without spaces around it."""
    found = []
    for match in re.compile(r"[^,]+").finditer(text, start, stop):
        piece = match[0]
        if piece.strip():
            first = match.start() + len(piece) - len(piece.lstrip())
            found.append((first, first + len(piece.strip())))
    return found


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def applied(source: Source, edits: list[Edit]) -> str:
    """Return a text with edits; of those that overlap, the first."""
    parts: list[str] = []
    last = 0
    for edit in sorted(dict.fromkeys(edits), key=lambda one: (one.span.start, one.span.end)):
        if edit.span.start >= last:
            parts.extend((source.text[last : edit.span.start], edit.text))
            last = edit.span.end
    return "".join(parts) + source.text[last:]
