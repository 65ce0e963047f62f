"""Trials: a declaration elaborated by itself, of which nothing stays but the mistakes that are sure.

In: what is to be elaborated, and how much of it depends on constants that were taken for parameters. Out: errors.

A message counts if it speaks of an archetype, or if nothing in the declaration depends on such a constant, or if other
constants show the same. What an arm of `@parameter if` that no instance takes shows must be the same word for word.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, NoReturn

from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic, Label, Sink
from ktc.diag.source import Span
from ktc.elaborate.instances.instance_table import Instance, Symbolic, UnitState
from ktc.elaborate.model.declarations import StructInfo, TraitInfo
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.values import StructTy
from ktc.elaborate.tree.argument_uses import gives
from ktc.elaborate.types.archetypes import MARK, Archetypes, NoStandIn
from ktc.ir import nodes
from ktc.records import entity, replace

_SURE = frozenset((
    Code.BEYOND_BOUND, Code.NO_MEMBER, Code.TYPE_MISMATCH, Code.TRAIT_NOT_MET, Code.NOT_COPYABLE, Code.NO_MATCHING_CALL,
    Code.NOT_CALLABLE, Code.MISSING_ARGUMENT, Code.TOO_MANY_ARGUMENTS, Code.UNKNOWN_ARGUMENT, Code.IMMUTABLE,
    Code.PARAMETER_COUNT, Code.RAISES, Code.UNDEFINED_NAME, Code.ESCAPING_REFERENCE, Code.ALIASING,
    Code.DUPLICATE_DEFINITION,
))  # fmt: skip
"""Mistakes that are there for every value of the parameters if they are there for a stand-in that is no constant."""

CHOICES, ENOUGH = 5, 3
"""How many choices of constants are tried where nothing else shows a mistake, and how many of them must fit."""

_ARCHETYPE = re.compile(f"'({MARK}[^']*)'")
_NOT_MET = re.compile(f"'({MARK}[^']*)' does not conform to '([^']*)'")


@entity
class Trial:
    """One declaration that is elaborated by itself.

    Args:
        node: the declaration; what is found elsewhere does not count.
        found: what was reported, and how sure it was then (`Archetypes.doubt`).
        clean: nothing was reported that a constant taken for a parameter may have caused.
        constants: those that were taken, as a message shows them.
        made: the instances that were elaborated.
    """

    node: Any
    found: list[tuple[Diagnostic, int]] = field(default_factory=list)
    clean: bool = True
    constants: str = ""
    made: list[Instance] = field(default_factory=list)


class Trials(Archetypes):
    """The part of the elaborator that tries declarations."""

    trial: Trial | None
    sound: list[nodes.Function]
    """Bodies in which nothing was wrong: what owns their values is still to be checked."""
    trial_state: UnitState | None = None
    """The target for which something is tried, if not the host."""
    unseen: Sequence[tuple[int, int]] = ()
    """Where no instance has looked: what all choices of constants show there in the same words counts."""

    def try_alone(self, node: Any, span: Span, action: Callable[[], None], doubt: int, alone: bool) -> None:
        """Do something of which nothing stays but the sure mistakes.

        Args:
            doubt: what is not sure from the start.
            alone: no instance will show mistakes that have nothing to do with archetypes. They count if other constants
                show the same, and nothing else is wrong.
        """
        trial = self._tried(node, span, action, doubt)
        sure = [one for one, unsure in trial.found if self._is_sure(one, unsure, node)]
        if self.doubt and (trial.found or not trial.clean) and (alone or self._is_hidden(trial)):
            sure += self._common(trial, node, span, action, doubt, sure, alone)
        if sure:
            places = {one.span.start for one in sure if one.span is not None}
            self.sink.withdraw(lambda one: self._is_at(one.span, places))
        for one in sure:
            self.sink.report(self._told(one))
        if trial.clean and not trial.found:
            self.sound += [one.function for one in trial.made if one.function is not None and not one.failed]

    def _is_hidden(self, trial: Trial) -> bool:
        return any(unsure and one.code in _SURE and self._is_unseen(one) for one, unsure in trial.found)

    def _is_unseen(self, one: Diagnostic) -> bool:
        return one.span is not None and any(start <= one.span.start <= end for start, end in self.unseen)

    def _common(
        self, first: Trial, node: Any, span: Span, action: Callable[[], None], doubt: int, known: list[Diagnostic],
        alone: bool,
    ) -> list[Diagnostic]:  # fmt: skip
        """Return what all choices of constants show for which nothing else is wrong; there must be some of them."""
        trials = [first]
        for self.choice in range(1, CHOICES):
            trials.append(self._tried(node, span, action, doubt))
        self.choice = 0
        clean = [trial for trial in trials if trial.clean]
        if len(clean) < ENOUGH:
            return []
        every = [{(one.code, one.span.start) for one, _ in trial.found if one.span is not None} for trial in clean]
        words = [{(_words(one), one.span.start) for one, _ in trial.found if one.span is not None} for trial in clean]
        seen, same = set.intersection(*every), set.intersection(*words)
        told = {one.span.start for one in known if one.span is not None}
        note = Label(span, f"looked at with {clean[0].constants}")
        sure = []
        for one, unsure in clean[0].found:
            if one.span is None or one.span.start in told or not self._is_sure(one, 0, node):
                continue
            if alone and unsure == 1 and (one.code, one.span.start) in seen:
                sure.append(replace(one, notes=(*one.notes, note)))
            elif unsure and self._is_unseen(one) and (_words(one), one.span.start) in same:
                sure.append(one)
        return sure

    def _tried(self, node: Any, span: Span, action: Callable[[], None], doubt: int) -> Trial:
        outer = self.state, self.sink, self.current
        self.state, self.sink, self.current = self.trial_state or self.states["host"], Sink(), None
        trial = self.trial = Trial(node)
        self.doubt, self.lent = doubt, self.lent_around
        try:
            action()
        except Mismatch as why:
            self.report(why.code, why.message, why.span or span)
        except Abort:
            pass  # reported
        except (Symbolic, NoStandIn, CompileError):
            # what a stand-in makes impossible: the program need not be wrong, and where it is, the instances that are
            # used tell
            trial.clean = False
        finally:
            self.trial = None
            self.state, self.sink, self.current = outer
        return trial

    def _is_at(self, span: Span | None, places: set[int]) -> bool:
        return span is not None and span.source is self.main.source and span.start in places

    def _is_inside(self, span: Span, node: Any) -> bool:
        return span.source is self.main.source and node.start <= span.start <= node.end

    def report(
        self, code: Code, message: str, span: Span | None, help: str = "", instance: Instance | None = None,
        extra: tuple[Label, ...] = (),
    ) -> None:  # fmt: skip
        """Report an error; one of a trial is kept until it is clear whether it is sure."""
        if self.trial is None:
            super().report(code, message, span, help, instance, extra)
            return
        before = len(self.sink.diagnostics)
        super().report(code, message, span, help, instance, extra)
        if span is not None and span.source is self.main.source:
            self.trial.found += [(one, self.doubt) for one in self.sink.diagnostics[before:]]
        if self.doubt < 2:
            own = span is not None and span.source is self.main.source
            self.trial.clean = self.trial.clean and own and code in _SURE

    def _is_sure(self, one: Diagnostic, unsure: int, node: Any) -> bool:
        span = one.span
        if span is None or not self._is_inside(span, node):
            return False
        if one.code is Code.UNDEFINED_NAME:
            # a statement that was not elaborated, for its mistake or its condition, may declare it
            return span.source.text[span.start : span.end] not in gives(node)
        if one.code not in _SURE:
            return False
        if not unsure:
            return True
        about = _ARCHETYPE.search(one.message) is not None
        if one.code is Code.NO_MATCHING_CALL:
            return about and any(MARK in note.text for note in one.notes)
        return about

    # ---- what is told ----

    def _told(self, one: Diagnostic) -> Diagnostic:
        """Return a message without marks, with the bounds that it is about."""
        notes = list(one.notes)
        help = one.help
        met = _NOT_MET.search(one.message)
        for name in dict.fromkeys(_ARCHETYPE.findall(one.message)):
            info = self.archetypes.get(name)
            if info is None or info.bound is None:
                continue
            if met is not None and met[1] == name:
                help = _let(info, met[2])
            if not info.module.is_library:
                place = Span(info.module.source, info.node.start, info.node.end)
                notes.append(Label(place, f"'{name}' is declared as '{info.bound}' here"))
        clean = tuple(Label(note.span, note.text.replace(MARK, "")) for note in notes)
        return replace(one, message=one.message.replace(MARK, ""), help=help.replace(MARK, ""), notes=clean)

    def beyond_bound(self, ty: StructTy, name: str, span: Span | None, instance: Instance | None) -> NoReturn:
        """Report that the bound of a type parameter does not promise a member."""
        bound = ty.info.bound
        assert bound is not None
        known = self._traits_with(name)
        help = f"declare a trait that has '{name}', and add it to the bound"
        if known:
            help = f"'{known[0].name}' has it: {_let(ty.info, known[0].name)}"
        text = f"'{ty.info.name}' has no '{name}': all that is known of it is '{bound}'"
        self.fail(Code.BEYOND_BOUND, text, span, help, instance)

    def _traits_with(self, name: str) -> list[TraitInfo]:
        """Return the traits of the program and the prelude that have a member, those that ask for least first."""
        found: dict[int, TraitInfo] = {}
        for scope in (self.main.scope, self.prelude_scope):
            for spelled in list(scope.names) if scope is not None else ():
                own = scope is self.main.scope
                value = self.module_name(self.main, spelled) if own else self.prelude_name(spelled)
                if isinstance(value, TraitInfo) and name in value.members:
                    found.setdefault(value.uid, value)
        return sorted(found.values(), key=lambda trait: (len(trait.members) + len(trait.node.traits), trait.name))


def _words(one: Diagnostic) -> str:
    """Return a message; of a missing member not whose it is, for that may be named after a constant."""
    return one.message.partition("' has ")[2] if one.code is Code.NO_MEMBER else one.message


def _let(info: StructInfo, more: str) -> str:
    """Return what is to be written so that the bound of an archetype has one more trait."""
    assert info.bound is not None
    if info.name == f"{MARK}Self":
        return f"let trait '{info.bound}' extend '{more}'"
    traits = dict.fromkeys((*(t.name for t in info.bound.traits if t.name != "AnyType"), more))
    return f"let the bound say '{' & '.join(traits)}'"
