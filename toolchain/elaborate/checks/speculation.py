"""Trials: a declaration elaborated by itself, of which nothing stays but the mistakes that are sure.

In: what is to be elaborated, and how much of it depends on constants that were taken for parameters. Out: errors.

A message counts if it speaks of an archetype, or if nothing in the declaration depends on such a constant, or if other
constants show the same. What an arm of `@parameter if` that no instance takes shows must be the same word for word.
"""

import re
from collections.abc import Callable
from functools import partial

from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic, Label, Sink
from ktc.diag.source import Span
from ktc.elaborate.generics.archetypes import MARK, NoStandIn
from ktc.elaborate.generics.conformance import let
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Symbolic, Trial
from ktc.elaborate.tree.argument_uses import gives
from ktc.syntax import ast

_SURE = frozenset((
    Code.MISSING_TRAIT_BOUND, Code.NO_MEMBER, Code.TYPE_MISMATCH, Code.UNSATISFIED_TRAIT, Code.NOT_COPYABLE,
    Code.NO_MATCHING_OVERLOAD, Code.NOT_CALLABLE, Code.MISSING_ARGUMENT, Code.TOO_MANY_ARGUMENTS,
    Code.UNKNOWN_ARGUMENT, Code.CANNOT_MUTATE, Code.WRONG_PARAMETER_COUNT, Code.UNHANDLED_RAISE,
    Code.UNDEFINED_NAME, Code.DANGLING_REFERENCE, Code.CONFLICTING_ACCESS, Code.DUPLICATE_DEFINITION,
    Code.CANNOT_MOVE,
))  # fmt: skip
"""Mistakes that are there for every value of the parameters if they are there for a stand-in that is no constant."""


CHOICES, ENOUGH = 5, 3
"""How many choices of constants are tried where nothing else shows a mistake, and how many of them must fit."""


_ARCHETYPE = re.compile(f"'({MARK}[^']*)'")


_NOT_MET = re.compile(f"'({MARK}[^']*)' does not conform to '([^']*)'")


def try_alone(
    elab: Elaboration, node: ast.Node, span: Span, action: Callable[[], None], doubt: int, alone: bool
) -> None:
    """Do something of which nothing stays but the sure mistakes.

    Args:
        doubt: what is not sure from the start.
        alone: no instance will show mistakes that have nothing to do with archetypes. They count if other constants
            show the same, and nothing else is wrong.
    """
    trial = _tried(elab, node, span, action, doubt)
    sure = [one for one, unsure in trial.found if _is_certain(elab, one, unsure, node)]
    if elab.coverage.uncertainty and (trial.found or not trial.clean) and (alone or _is_hidden(elab, trial)):
        sure += _common(elab, trial, node, span, action, doubt, sure, alone)
    if sure:
        places = {one.span.start for one in sure if one.span is not None}
        elab.reporter.sink.withdraw(lambda one: _is_at(elab, one.span, places))
    for one in sure:
        elab.reporter.sink.report(_without_marks(elab, one))
    if trial.clean and not trial.found:
        elab.coverage.sound += [one.function for one in trial.made if one.function is not None and not one.failed]


def _is_hidden(elab: Elaboration, trial: Trial) -> bool:
    return any(unsure and one.code in _SURE and _is_unseen(elab, one) for one, unsure in trial.found)


def _is_unseen(elab: Elaboration, one: Diagnostic) -> bool:
    return one.span is not None and any(start <= one.span.start <= end for start, end in elab.coverage.unseen)


def _common(
    elab: Elaboration, first: Trial, node: ast.Node, span: Span, action: Callable[[], None], doubt: int,
    known: list[Diagnostic], alone: bool,
) -> list[Diagnostic]:  # fmt: skip
    """Return what all choices of constants show for which nothing else is wrong; there must be some of them."""
    trials = [first]
    for elab.coverage.choice in range(1, CHOICES):
        trials.append(_tried(elab, node, span, action, doubt))
    elab.coverage.choice = 0
    clean = [trial for trial in trials if trial.clean]
    if len(clean) < ENOUGH:
        return []
    every = [{(one.code, one.span.start) for one, _ in trial.found if one.span is not None} for trial in clean]
    words = [{(_words(one), one.span.start) for one, _ in trial.found if one.span is not None} for trial in clean]
    seen, same = set.intersection(*every), set.intersection(*words)
    reported = {one.span.start for one in known if one.span is not None}
    note = Label(span, f"looked at with {clean[0].constants}")
    sure = []
    for one, unsure in clean[0].found:
        if one.span is None or one.span.start in reported or not _is_certain(elab, one, 0, node):
            continue
        if alone and unsure == 1 and (one.code, one.span.start) in seen:
            sure.append(replace(one, notes=(*one.notes, note)))
        elif unsure and _is_unseen(elab, one) and (_words(one), one.span.start) in same:
            sure.append(one)
    return sure


def _tried(elab: Elaboration, node: ast.Node, span: Span, action: Callable[[], None], doubt: int) -> Trial:
    sink = elab.reporter.redirect(Sink())
    outer = elab.instances.enter(elab.coverage.trial_state or elab.instances.states["host"], None)
    trial = elab.coverage.trial = Trial(node)
    elab.reporter.listen(partial(_note, elab))
    elab.coverage.uncertainty, elab.coverage.lent = doubt, elab.coverage.lent_around
    try:
        action()
    except Mismatch as why:
        elab.report(why.code, why.message, why.span or span)
    except ErrorReported:
        pass  # reported
    except (Symbolic, NoStandIn, CompileError):
        # what a stand-in makes impossible: the program need not be wrong, and where it is, the instances that are
        # used tell
        trial.clean = False
    finally:
        elab.coverage.trial = None
        elab.reporter.listen(None)
        elab.reporter.redirect(sink)
        elab.instances.enter(*outer)
    return trial


def _note(elab: Elaboration, code: Code, span: Span | None, reported: list[Diagnostic]) -> None:
    """Keep what was reported until it is clear whether it is sure."""
    trial = elab.coverage.trial
    assert trial is not None
    own = span is not None and span.source is elab.modules.main.source
    if own:
        trial.found += [(one, elab.coverage.uncertainty) for one in reported]
    if elab.coverage.uncertainty < 2:
        trial.clean = trial.clean and own and code in _SURE


def _is_at(elab: Elaboration, span: Span | None, places: set[int]) -> bool:
    return span is not None and span.source is elab.modules.main.source and span.start in places


def _is_inside(elab: Elaboration, span: Span, node: ast.Node) -> bool:
    return span.source is elab.modules.main.source and node.start <= span.start <= node.end


def _is_certain(elab: Elaboration, one: Diagnostic, unsure: int, node: ast.Node) -> bool:
    span = one.span
    if span is None or not _is_inside(elab, span, node):
        return False
    if one.code is Code.UNDEFINED_NAME:
        # a statement that was not elaborated, for its mistake or its condition, may declare it
        return span.source.text[span.start : span.end] not in gives(node)
    if one.code not in _SURE:
        return False
    if not unsure:
        return True
    about = _ARCHETYPE.search(one.message) is not None
    if one.code is Code.NO_MATCHING_OVERLOAD:
        return about and any(MARK in note.text for note in one.notes)
    return about


def _without_marks(elab: Elaboration, one: Diagnostic) -> Diagnostic:
    """Return a message without marks, with the bounds that it is about."""
    notes = list(one.notes)
    help = one.help
    met = _NOT_MET.search(one.message)
    for name in dict.fromkeys(_ARCHETYPE.findall(one.message)):
        info = elab.generics.archetypes.get(name)
        if info is None or info.bound is None:
            continue
        if met is not None and met[1] == name:
            help = let(info, met[2])
        if not info.module.is_library:
            place = Span(info.module.source, info.node.start, info.node.end)
            notes.append(Label(place, f"'{name}' is declared as '{info.bound}' here"))
    clean = tuple(Label(note.span, note.text.replace(MARK, "")) for note in notes)
    return replace(one, message=one.message.replace(MARK, ""), help=help.replace(MARK, ""), notes=clean)


def _words(one: Diagnostic) -> str:
    """Return a message; of a missing member not whose it is, for that may be named after a constant."""
    return one.message.partition("' has ")[2] if one.code is Code.NO_MEMBER else one.message
