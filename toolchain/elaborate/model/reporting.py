"""Where errors are reported: at the innermost place in a user's file, with the chain of instantiations."""

from collections.abc import Callable

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Label, Sink
from ktc.diag.source import Span
from ktc.elaborate.model.instance import Instance

_REPORTED_BY_LIBRARY = frozenset((Code.UNSATISFIED_CONSTRAINT, Code.INVALID_KERNEL, Code.KERNEL_ARGUMENT_MISMATCH))
"""The message of these says all; the place in the library where they are checked adds nothing."""

FOUND_HERE = "found here"
"""The note at the library's own place of an error that is reported at the user's line."""


class Reporter:
    """Receives the errors of one elaboration.

    Attributes:
        sink: collects them.
        constants: the user's constants that are being computed, the outermost first, each with the instance that needs
            it.
        ignored: codes that are not reported now.
        describe: returns an instance as messages show it; set by the room that prints types.
        homes: the modules of the library that have names which are not defined, as far as they were looked for.
        listener: is given each error that was reported: its code, its place, and what the sink has of it.
    """

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.constants: list[tuple[Span, Instance | None]] = []
        self.ignored: frozenset[Code] = frozenset()
        self.describe: Callable[[Instance], str] = str
        self.homes: dict[str, str] = {}
        self.listener: Callable[[Code, Span | None, list[Diagnostic]], None] | None = None
        self._reported_by_library: set[tuple[Code, str]] = set()

    def redirect(self, sink: Sink) -> Sink:
        """Collect errors elsewhere; return where they went before."""
        outer, self.sink = self.sink, sink
        return outer

    def ignore(self, codes: frozenset[Code]) -> None:
        """Report none of these from now on."""
        self.ignored = codes

    def listen(self, listener: Callable[[Code, Span | None, list[Diagnostic]], None] | None) -> None:
        """Give a listener each error from now on."""
        self.listener = listener

    def describe_with(self, describe: Callable[[Instance], str]) -> None:
        """Set how messages show an instance."""
        self.describe = describe

    def enter_constant(self, span: Span, instance: Instance | None) -> None:
        """Begin to compute a constant of the program."""
        self.constants.append((span, instance))

    def end_constant(self) -> None:
        """End the innermost constant."""
        self.constants.pop()

    def report(
        self, code: Code, message: str, span: Span | None, help: str, instance: Instance | None,
        extra: tuple[Label, ...] = (),
    ) -> None:  # fmt: skip
        """Report an error at the user's expression that asked for it, and go on."""
        if code in self.ignored:
            return
        before = len(self.sink.diagnostics)
        self._report(code, message, span, help, instance, extra)
        if self.listener is not None:
            self.listener(code, span, self.sink.diagnostics[before:])

    def _report(
        self, code: Code, message: str, span: Span | None, help: str, instance: Instance | None,
        extra: tuple[Label, ...],
    ) -> None:  # fmt: skip
        primary, notes = span, list(extra)
        if primary is not None and primary.source.is_library:
            if code not in _REPORTED_BY_LIBRARY:
                notes.insert(0, Label(primary, FOUND_HERE))
            primary = self._asking_span(instance)
        shown = []
        at = instance
        # The way to `main` says nothing where no parameter is on it, and `main` itself never does.
        says = primary is None or (at is not None and at.is_parametric)
        while at is not None:
            if at.call_span is not None and not at.call_span.source.is_library:
                if primary is None:
                    primary = at.call_span
                elif says and not _inside(primary, at.call_span) and at.parent is not None:
                    shown.append(Label(at.call_span, f"instantiated from here: {self.describe(at)}"))
            at = at.parent
        if primary is not None and span is not primary and code in _REPORTED_BY_LIBRARY:
            # what a target lacks, it often lacks in several ways; the first one is enough
            key = (code, primary.location())
            if key in self._reported_by_library:
                return
            self._reported_by_library.add(key)
        self.sink.report(Diagnostic(code, primary or span, message, help, (*notes, *reversed(shown))))

    def _asking_span(self, instance: Instance | None) -> Span | None:
        """Return the user's expression that the library is at work for, where no call of an instance gives it."""
        for place, owner in reversed(self.constants):
            if owner is instance:
                return place
        body = instance.body if instance is not None else None
        span = body.frame.span if body is not None else None
        return None if span is None or span.source.is_library else span


def _inside(inner: Span, outer: Span) -> bool:
    return inner.source is outer.source and outer.start <= inner.start and inner.end <= outer.end
