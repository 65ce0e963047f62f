"""Diagnostics: a mistake, its place, and help to repair it.

Every stage reports user errors to the one `Sink` and goes on with an error node where it can; `gate`
ends a stage. A `Bug` is a mistake of ktc itself and is never shown as the user's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from types import MappingProxyType
from typing import TypeVar

from ktc.base.editions import Edition
from ktc.base.records import entity, record, replace
from ktc.diag.codes import OFF_BY_DEFAULT, Code
from ktc.diag.source import Span

T = TypeVar("T")


class Severity(Enum):
    """How bad it is; only errors stop a build."""

    ERROR = "error"
    WARNING = "warning"


@record
class Label:
    """A secondary place with a short text ("declared here", "instantiated from here")."""

    span: Span
    text: str


@record
class Diagnostic:
    """One message.

    Args:
        code: which kind of mistake; its id is what `ktc explain` takes.
        span: the primary place, in the user's file whenever there is one; None for a mistake with no place.
        message: the thing found and the thing expected; lower case, no full stop, one line.
        help: a likely fix as an action, or empty.
        notes: further places; for an instantiation chain outermost first.
    """

    code: Code
    span: Span | None
    message: str
    help: str = ""
    notes: tuple[Label, ...] = ()
    severity: Severity = Severity.ERROR


class CompileError(Exception):
    """The program has errors; they are in `diagnostics`."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics[0].message if diagnostics else "compile error")
        self.diagnostics = tuple(diagnostics)

    def __reduce__(self) -> tuple[object, ...]:
        return CompileError, (self.diagnostics,)


class Bug(Exception):
    """ktc itself is wrong. `where` names the stage, `span` the user's line that led there, if known."""

    def __init__(self, message: str, where: str = "", span: Span | None = None) -> None:
        super().__init__(message)
        self.where = where
        self.span = span

    def __reduce__(self) -> tuple[object, ...]:
        return Bug, (str(self), self.where, self.span)


@record
class WarningPolicy:
    """The treatment of warnings.

    Args:
        off: these are not shown.
        fatal: these are errors.
    """

    off: frozenset[Code] = OFF_BY_DEFAULT
    fatal: frozenset[Code] = frozenset()


@entity
class Sink:
    """Collects diagnostics; the same message at the same place is kept once, and one warning of a kind at a place.

    Args:
        error_count: of errors, warnings that the policy makes errors among them.
        mistake_count: of errors without those.
        warnings: all of them as they were reported, whatever the policy says.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    error_count: int = 0
    mistake_count: int = 0
    policy: WarningPolicy = WarningPolicy()
    warnings: list[Diagnostic] = field(default_factory=list)
    _seen: set[tuple[object, ...]] = field(default_factory=set)

    def report(self, diagnostic: Diagnostic) -> None:
        """Keep a diagnostic, in the words of the edition of the text that it is about."""
        diagnostic = _in_its_words(diagnostic)
        is_warning = diagnostic.severity is Severity.WARNING
        key = _key(diagnostic)
        if key in self._seen:
            return
        self._seen.add(key)
        if is_warning:
            self.warnings.append(diagnostic)
            if diagnostic.code in self.policy.off:
                return
            if diagnostic.code in self.policy.fatal:
                diagnostic = replace(diagnostic, severity=Severity.ERROR)
        self.diagnostics.append(diagnostic)
        self.error_count += diagnostic.severity is Severity.ERROR
        self.mistake_count += not is_warning

    def withdraw(self, which: Callable[[Diagnostic], bool]) -> None:
        """Take errors back: a better message for the same mistakes follows."""
        gone = [one for one in self.diagnostics if one.severity is Severity.ERROR and which(one)]
        self.diagnostics = [one for one in self.diagnostics if not any(one is other for other in gone)]
        self._seen -= set(map(_key, gone))
        self.error_count -= len(gone)
        self.mistake_count -= sum(not one.code.is_warning for one in gone)


def _in_its_words(diagnostic: Diagnostic) -> Diagnostic:
    source = diagnostic.span.source if diagnostic.span is not None else None
    if source is None or source.edition is None or source.edition.edition is not Edition.Y2026:
        return diagnostic
    message, help = in_2026(diagnostic.message, source.text), in_2026(diagnostic.help, source.text)
    notes = tuple([replace(note, text=in_2026(note.text, source.text)) for note in diagnostic.notes])
    return replace(diagnostic, message=message, help=help, notes=notes)


def _key(diagnostic: Diagnostic) -> tuple[object, ...]:
    """Return the key that is equal for two diagnostics of which one is enough."""
    place = diagnostic.span.location() if diagnostic.span else ""
    return diagnostic.code, place, "" if diagnostic.severity is Severity.WARNING else diagnostic.message


def in_order(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics in the order of their places; files in the order in which they first occur."""
    files: dict[int, int] = {}
    for one in diagnostics:
        if one.span is not None:
            files.setdefault(id(one.span.source), len(files))
    return sorted(
        diagnostics, key=lambda one: (files[id(one.span.source)], one.span.start) if one.span is not None else (-1, 0)
    )


def gate(value: T, sink: Sink) -> T:
    """Return `value`, or raise `CompileError` if the sink holds an error."""
    if sink.error_count:
        raise CompileError(sink.diagnostics)
    return value


_WORDS: Mapping[str, str] = MappingProxyType({
    "EqualityComparable": "Equatable", "ImmutAnyOrigin": "ImmUnsafeAnyOrigin", "ImmutOrigin": "ImmOrigin",
    "ImmutOrigin.external": "ImmUntrackedOrigin", "InlineArray": "Array", "MutOrigin.external": "MutUntrackedOrigin",
    "StaticConstantOrigin": "ImmStaticOrigin", "StringSlice": "StringSpan", "UnsafePointer": "Pointer",
    "__copyinit__": "__init__(*, copy)", "__del__": "__deinit__", "__moveinit__": "__init__(*, move)", "fn": "def",
})  # fmt: skip
"""Words of edition 2025, and those of 2026."""

_LONGEST_FIRST = sorted(_WORDS.keys() - {"fn"}, key=lambda word: (-len(word), word))
_OLD = re.compile(rf"\b(?:{'|'.join(map(re.escape, _LONGEST_FIRST))})\b|\bfn(?= ?[(\[])")


def in_2026(text: str, source: str) -> str:
    """Return a text in the words of edition 2026."""

    def new(found: re.Match[str]) -> str:
        is_written = re.search(rf"\b{re.escape(found[0])}\b", source) is not None
        return found[0] if is_written else _WORDS[found[0]]

    return _OLD.sub(new, text)
