"""Speculative elaboration: a declaration is elaborated by itself, and only the errors that are certain are kept.

A message counts if it is about an archetype, or if nothing in the declaration depends on such a constant, or if other
constants show the same. Errors in an arm of `@parameter if` that no instance takes must be the same word for word.
"""

import re
from collections.abc import Callable
from functools import partial

from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic, Label, Sink
from ktc.diag.source import Span
from ktc.elaborate.generics.archetypes import MARK, NoArchetype
from ktc.elaborate.generics.conformance import add_bound_help
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Speculation, Symbolic
from ktc.elaborate.tree.argument_uses import assigned_names
from ktc.syntax import ast

_CERTAIN_CODES = frozenset((
    Code.MISSING_TRAIT_BOUND, Code.NO_MEMBER, Code.TYPE_MISMATCH, Code.UNSATISFIED_TRAIT, Code.NOT_COPYABLE,
    Code.NO_MATCHING_OVERLOAD, Code.NOT_CALLABLE, Code.MISSING_ARGUMENT, Code.TOO_MANY_ARGUMENTS,
    Code.UNKNOWN_ARGUMENT, Code.CANNOT_MUTATE, Code.WRONG_PARAMETER_COUNT, Code.UNHANDLED_RAISE,
    Code.UNDEFINED_NAME, Code.DANGLING_REFERENCE, Code.CONFLICTING_ACCESS, Code.DUPLICATE_DEFINITION,
    Code.CANNOT_MOVE, Code.UNDECLARED_RESULT, Code.MISSING_RETURN,
))  # fmt: skip
"""Mistakes that are there for every value of the parameters if they are there for a stand-in that is no constant."""


CHOICES, ENOUGH = 5, 3
"""How many choices of constants are tried where nothing else shows a mistake, and how many of them must fit."""


_ARCHETYPE = re.compile(f"'({MARK}[^']*)'")


_DISAGREE = re.compile(
    r"'[^']*' does not convert to '[^']*'|'(?:[-+*/%]|//|[<>=!]=|[<>])' does not accept '[^']*' and '[^']*'"
)


_BARE_RETURN = "must be returned"
"""A `return` without a value, not an end that control may reach for some parameters only."""


_NOT_MET = re.compile(f"'({MARK}[^']*)' does not conform to '([^']*)'")


def speculate(
    elab: Elaboration, node: ast.Node, span: Span, action: Callable[[], None], uncertainty: int, alone: bool
) -> None:
    """Elaborate something speculatively; keep only its certain errors.

    Args:
        uncertainty: how much depends on constants taken for parameters from the start (`Coverage.uncertainty`).
        alone: no instance will show mistakes that have nothing to do with archetypes. They count if other constants
            show the same, and nothing else is wrong.
    """
    speculation = _speculate_once(elab, node, span, action, uncertainty)
    certain = [one for one, uncertainty in speculation.diagnostics if _is_certain(elab, one, uncertainty, node)]
    if speculation.is_clean:
        # types that agree for all parameters agree for these
        notes = _constants_note(speculation, span)
        certain += [
            replace(one, notes=(*one.notes, *notes), help="")
            for one, unsure in speculation.diagnostics
            if unsure == 1 and _is_of_types(elab, one, node)
        ]
    if (
        elab.coverage.uncertainty
        and (speculation.diagnostics or not speculation.is_clean)
        and (alone or _is_hidden(elab, speculation))
    ):
        certain += _common(elab, speculation, node, span, action, uncertainty, certain, alone)
    if certain:
        places = {one.span.start for one in certain if one.span is not None}
        elab.reporter.sink.withdraw(lambda one: _is_at(elab, one.span, places))
    for one in certain:
        elab.reporter.sink.report(_without_archetype_marks(elab, one))
    if speculation.is_clean and not speculation.diagnostics:
        elab.coverage.unchecked_bodies += [
            one.function for one in speculation.instances if one.function is not None and not one.failed
        ]


def _constants_note(speculation: Speculation, span: Span) -> tuple[Label, ...]:
    return (Label(span, f"looked at with {speculation.constants}"),) if speculation.constants else ()


def _is_hidden(elab: Elaboration, speculation: Speculation) -> bool:
    return any(
        uncertainty and one.code in _CERTAIN_CODES and _is_uninstantiated(elab, one)
        for one, uncertainty in speculation.diagnostics
    )


def _is_uninstantiated(elab: Elaboration, one: Diagnostic) -> bool:
    return one.span is not None and any(
        start <= one.span.start <= end for start, end in elab.coverage.uninstantiated_spans
    )


def _common(
    elab: Elaboration, first: Speculation, node: ast.Node, span: Span, action: Callable[[], None], uncertainty: int,
    known: list[Diagnostic], alone: bool,
) -> list[Diagnostic]:  # fmt: skip
    """Return the diagnostics that all choices of constants share, among those choices that show no other error."""
    speculations = [first]
    for elab.coverage.constant_choice in range(1, CHOICES):
        speculations.append(_speculate_once(elab, node, span, action, uncertainty))
    elab.coverage.constant_choice = 0
    clean = [speculation for speculation in speculations if speculation.is_clean]
    if len(clean) < ENOUGH:
        return []
    every = [
        {(one.code, one.span.start) for one, _ in speculation.diagnostics if one.span is not None}
        for speculation in clean
    ]
    words = [
        {(_message_key(one), one.span.start) for one, _ in speculation.diagnostics if one.span is not None}
        for speculation in clean
    ]
    seen, same = set.intersection(*every), set.intersection(*words)
    reported = {one.span.start for one in known if one.span is not None}
    notes = _constants_note(clean[0], span)
    certain = []
    for one, unsure in clean[0].diagnostics:
        if one.span is None or one.span.start in reported or not _is_certain(elab, one, 0, node):
            continue
        if alone and unsure == 1 and (one.code, one.span.start) in seen:
            certain.append(replace(one, notes=(*one.notes, *notes)))
        elif unsure and _is_uninstantiated(elab, one) and (_message_key(one), one.span.start) in same:
            certain.append(one)
    return certain


def _speculate_once(
    elab: Elaboration, node: ast.Node, span: Span, action: Callable[[], None], uncertainty: int
) -> Speculation:
    sink = elab.reporter.redirect(Sink())
    outer = elab.instances.enter(elab.coverage.speculation_state or elab.instances.states["host"], None)
    speculation = elab.coverage.speculation = Speculation(node)
    elab.reporter.listen(partial(_keep_diagnostics, elab))
    elab.coverage.uncertainty, elab.coverage.assumed_immutable = uncertainty, elab.coverage.outer_assumed_immutable
    elab.coverage.constants_taken = 0
    try:
        action()
    except Mismatch as reason:
        elab.report(reason.code, reason.message, reason.span or span)
    except ErrorReported:
        pass  # reported
    except (Symbolic, NoArchetype, CompileError):
        # what a stand-in makes impossible: the program need not be wrong, and where it is, the instances that are
        # used tell
        speculation.is_clean = False
    finally:
        elab.coverage.speculation = None
        elab.reporter.listen(None)
        elab.reporter.redirect(sink)
        elab.instances.enter(*outer)
    return speculation


def _keep_diagnostics(elab: Elaboration, code: Code, span: Span | None, reported: list[Diagnostic]) -> None:
    """Keep diagnostics until it is clear whether they are certain."""
    speculation = elab.coverage.speculation
    assert speculation is not None
    own = span is not None and span.source is elab.modules.main.source
    if own:
        speculation.diagnostics += [(one, elab.coverage.uncertainty) for one in reported]
    if elab.coverage.uncertainty < 2:
        speculation.is_clean = speculation.is_clean and own and code in _CERTAIN_CODES


def _is_at(elab: Elaboration, span: Span | None, places: set[int]) -> bool:
    return span is not None and span.source is elab.modules.main.source and span.start in places


def _is_inside(elab: Elaboration, span: Span, node: ast.Node) -> bool:
    return span.source is elab.modules.main.source and node.start <= span.start <= node.end


def _is_certain(elab: Elaboration, one: Diagnostic, uncertainty: int, node: ast.Node) -> bool:
    span = one.span
    if span is None or not _is_inside(elab, span, node):
        return False
    if one.code is Code.UNDEFINED_NAME:
        # a statement that was not elaborated, for its mistake or its condition, may declare it
        return span.source.text[span.start : span.end] not in assigned_names(node)
    if one.code not in _CERTAIN_CODES or (one.code is Code.MISSING_RETURN and not one.message.endswith(_BARE_RETURN)):
        return False
    if not uncertainty:
        return True
    about = _ARCHETYPE.search(one.message) is not None
    if one.code is Code.NO_MATCHING_OVERLOAD:
        return about and any(MARK in note.text for note in one.notes)
    return about


def _is_of_types(elab: Elaboration, one: Diagnostic, node: ast.Node) -> bool:
    """Return whether a value has another type than is expected, which no archetype is part of."""
    return (
        one.code is Code.TYPE_MISMATCH
        and one.span is not None
        and _is_inside(elab, one.span, node)
        and _DISAGREE.fullmatch(one.message) is not None
        and MARK not in one.message
    )


def _without_archetype_marks(elab: Elaboration, one: Diagnostic) -> Diagnostic:
    """Return a message without marks, with the bounds that it is about."""
    notes = list(one.notes)
    help = one.help
    met = _NOT_MET.search(one.message)
    for name in dict.fromkeys(_ARCHETYPE.findall(one.message)):
        info = elab.generics.archetypes.get(name)
        if info is None or info.bound is None:
            continue
        if met is not None and met[1] == name:
            help = add_bound_help(info, met[2])
        if not info.module.is_library:
            place = Span(info.module.source, info.node.start, info.node.end)
            notes.append(Label(place, f"'{name}' is declared as '{info.bound}' here"))
    clean = tuple(Label(note.span, note.text.replace(MARK, "")) for note in notes)
    return replace(one, message=one.message.replace(MARK, ""), help=help.replace(MARK, ""), notes=clean)


def _message_key(one: Diagnostic) -> str:
    """Return a message without the type that lacks a member, whose name may contain a constant."""
    return one.message.partition("' has ")[2] if one.code is Code.NO_MEMBER else one.message
