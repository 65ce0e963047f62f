"""The declarations that a change of a text touches, and the diagnostics that stay true beside it.

Input: the text of the last complete look at a file with its diagnostics, and the text of now. Output: the declarations
to look at again, and a list of diagnostics at once; the next complete look says the rest.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Severity
from ktc.diag.source import Source, Span
from ktc.syntax import ast

_LAUNCHES = frozenset((Code.INVALID_KERNEL, Code.KERNEL_ARGUMENT_MISMATCH, Code.UNSATISFIED_CONSTRAINT))
"""Errors found in the library's functions that start kernels."""
_LINTED = frozenset((
    Code.UNUSED_VARIABLE, Code.UNUSED_ASSIGNMENT, Code.UNUSED_IMPORT, Code.NEVER_ASSIGNED, Code.SHADOWING,
    Code.CONSTANT_CONDITION,
))  # fmt: skip
"""Warnings that need no types: of a whole file, and only of one without errors."""
_WORD = re.compile(r"[^\W\d]\w*")
_NO_CODE = re.compile(r"(?:\s|#.*)*")
_DECLARATIONS = (ast.FunctionDecl, ast.StructDecl, ast.TraitDecl, ast.Alias)


@dataclass(frozen=True, slots=True)
class Change:
    """One text became another one between `start` and the old and the new end."""

    start: int
    old_end: int
    new_end: int

    def moved(self, span: Span, source: Source) -> Span | None:
        """Return where a span of the old text lies now; None if it was changed."""
        shift = self.new_end - self.old_end
        if span.end <= self.start:
            return Span(source, span.start, span.end)
        return Span(source, span.start + shift, span.end + shift) if span.start >= self.old_end else None


def between(old: str, new: str) -> Change:
    """Return the difference of two texts: all but the common beginning and the common end."""
    start = _common(old, new)
    most = min(len(old), len(new)) - start
    end = _common(old[len(old) - most :][::-1], new[len(new) - most :][::-1])
    return Change(start, len(old) - end, len(new) - end)


def _common(one: str, other: str) -> int:
    """Return the length of the common beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def is_beside_code(module: ast.Module, text: str, start: int, end: int) -> bool:
    """Return whether characters lie between declarations, where there are only spaces and comments."""
    before = max((node.end for node in module.body if node.end <= start), default=0)
    after = min((node.start for node in module.body if node.start >= end), default=len(text))
    is_between = all(node.end <= start or node.start >= end for node in module.body)
    return is_between and _NO_CODE.fullmatch(text, before, after) is not None


def edited_range(module: ast.Module, change: Change) -> tuple[int, int] | None:
    """Return the characters of the declarations that a change touches; None if it touches other lines, too.

    Of a struct or trait, it is one method alone if only its body was changed.
    """
    found = [node for node in module.body if node.start <= change.new_end and node.end >= change.start]
    if not found or not all(isinstance(node, _DECLARATIONS) for node in found):
        return None
    only = found[0] if len(found) == 1 else None
    for method in only.body if isinstance(only, ast.StructDecl | ast.TraitDecl) else ():
        body = method.body if isinstance(method, ast.FunctionDecl) else None
        if body and body[0].start <= change.start and change.new_end <= method.end:
            return method.start, method.end
    start, end = min(node.start for node in found), max(node.end for node in found)
    return (start, end) if start <= change.start and change.new_end <= end else None


def merged(
    before: Sequence[Diagnostic], now: Sequence[Diagnostic], change: Change, around: tuple[int, int], source: Source
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a text of which only the declarations `around` a change were looked at.

    Args:
        before: of the old text. now: of these declarations.
    """
    kept = []
    for one in before:
        span = one.span
        if span is None or span.source.path != source.path:
            kept.append(one)
            continue
        place = change.moved(span, source)
        if place is None or (around[0] <= place.start <= around[1] and not _needs_an_instance(one)):
            continue
        notes = [replace(note, span=_moved(note.span, change, source)) for note in one.notes]
        kept.append(replace(one, span=place, notes=tuple(notes)))
    inside = [one for one in now if one.span is not None and around[0] <= one.span.start <= around[1]]
    if not any(one.severity is Severity.ERROR for one in (*kept, *inside)):
        kept = [one for one in kept if one.code not in _LINTED]
        inside += [one for one in now if one.code in _LINTED and one not in inside]
    places = {(one.code, one.span.start) for one in inside if one.span is not None}
    return (*[one for one in kept if one.span is None or (one.code, one.span.start) not in places], *inside)


def spreads(module: ast.Module, change: Change, around: tuple[int, int], old: Sequence[Span], text: str) -> bool:
    """Return whether a change alters what other declarations see, and one that has a mistake uses it.

    Args:
        module: the tree of the new text. old: where the mistakes of the old text lie in the new one.
    """
    touched = [node for node in module.body if around[0] <= node.start and node.end <= around[1]]
    functions = [
        one for node in touched for one in (node, *getattr(node, "body", ())) if isinstance(one, ast.FunctionDecl)
    ]
    bodies = [(one.body[0].start, one.end) for one in functions if one.body]
    if any(start <= change.start and change.new_end <= end for start, end in bodies):
        return False
    names = {
        name for node in touched for one in (node, *getattr(node, "body", ()))
        if isinstance(name := getattr(one, "name", None), str)
    }  # fmt: skip
    others = [node for node in module.body if any(node.start <= span.start <= node.end for span in old)]
    return any(names & set(_WORD.findall(text, node.start, node.end)) for node in others if node not in touched)


def _needs_an_instance(one: Diagnostic) -> bool:
    """Return whether only a complete look finds it: it was found on the way from `main`."""
    return one.code in _LAUNCHES or any(note.text.startswith("instantiated from here") for note in one.notes)


def _moved(span: Span, change: Change, source: Source) -> Span:
    if span.source.path != source.path:
        return span
    return change.moved(span, source) or Span(source, change.start, change.start)
