"""Generic declarations checked by themselves: what a body asks of its type parameters must be promised by their bounds.

In: the main file's generic functions, structs and traits. Out: errors at the lines of their bodies, called or not.

Each declaration is elaborated once with archetypes for its type parameters (`archetypes.py`), by the same code that
elaborates instances, when all else is done, and thrown away; a message counts if it speaks of an archetype, or if
nothing in the declaration depends on a constant that was taken for a parameter. The roads not taken: a second, smaller
type checker over the tree would know less of the library and differ from the elaborator where it matters; carrying the
bound along with the types of an instance would cost every instance and say nothing of what nobody instantiates.
"""

import contextlib
import re
from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from typing import Any, NoReturn

from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic, Label, Sink
from ktc.diag.source import Span
from ktc.elaborate.archetypes import MARK, Archetypes, NoStandIn
from ktc.elaborate.conformance import check_cycle
from ktc.elaborate.instances import Instance, Symbolic
from ktc.elaborate.mentions import gives
from ktc.elaborate.mismatch import Abort, Mismatch
from ktc.elaborate.scope import AliasInfo, FnInfo, FnSet, Scope, StructInfo, TraitInfo
from ktc.elaborate.signatures import phantom, with_arguments
from ktc.elaborate.values import KV, OriginValue, StructTy, Ty
from ktc.ir import nodes
from ktc.records import entity
from ktc.syntax import ast

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


class Bounds(Archetypes):
    """The part of the elaborator that checks generic declarations."""

    trial: Trial | None
    sound: list[nodes.Function]
    """Bodies in which nothing was wrong: what owns their values is still to be checked."""
    only_used: bool = False
    """Only what has instances is checked."""

    def check_generics(self) -> None:
        """Check the main file's generic declarations, and those of the program's other modules that are used."""
        self._check_module()
        main, self.only_used = self.main, True
        for module in list(self.module_infos.values()):
            if module is not main and not module.is_library:
                self.main = module
                self._check_module()
        self.main, self.only_used = main, False

    def _check_module(self) -> None:
        for value in list(self.main.scope.names.values()):
            match value:
                case FnSet():
                    self.lent_around = False
                    for fn in value.functions:
                        self._check_generic(fn, lambda: None, False)
                case StructInfo() if value.module is self.main:
                    self._check_struct(value)
                case TraitInfo() if value.module is self.main:
                    check_cycle(self, value)
                    self._check_trait(value)
                case AliasInfo() if value.module is self.main and value.node.params and not self.only_used:
                    self._check_open_alias(value)

    def _check_trait(self, info: TraitInfo) -> None:
        self.archetypes = {}
        at = ast.Name(info.node.name_start, info.node.name_start + len(info.name), info.name)
        ty = self.archetype("Self", self.trait((info,)), self.main, at)
        if not self.only_used:
            self._try_alone(info.node, info.span(), lambda: self._try_aliases(info, ty), 0, True)
            for member in info.members.values():
                for fn in member.functions if isinstance(member, FnSet) else ():
                    if fn.node.body is None:
                        self._try_alone(fn.node, fn.span(), partial(self._try_head, fn, ty), 0, True)
        self._check_methods(info, lambda: ty, True)

    def _check_open_alias(self, info: AliasInfo) -> None:
        """Check an alias with parameters."""
        self.archetypes = {}

        def value() -> None:
            scope = Scope(info.scope, "function")
            given = self.stand_ins(info.node.params, scope, info.module, {})
            self._note_constants((*zip(info.node.params, given.values(), strict=False),), None)
            assert info.node.value is not None
            self.typed_constant(info.node.type, info.node.value, scope, info.module)

        self._try_alone(info.node, info.span(), value, 0, True)

    def _try_head(self, fn: FnInfo, ty: StructTy) -> None:
        """Look at the types that a method without a body is declared with."""
        scope = Scope(self.fn_scope_parent(fn, ty), "function")
        self.stand_ins(fn.node.params, scope, fn.module, {})
        self._actual(fn, scope, ty)
        if fn.node.result is not None:
            self.evaluate(fn.node.result, scope, fn.module)

    def _try_aliases(self, info: StructInfo | TraitInfo, ty: StructTy) -> None:
        for member in info.members.values():
            if isinstance(member, AliasInfo):
                with contextlib.suppress(Abort):
                    self.alias_value(member, ty)

    def _check_struct(self, info: StructInfo) -> None:
        self.lent_around = False
        if not info.node.params:
            self._check_methods(info, lambda: self.struct(info, ()), False)
            return
        made: dict[int, StructTy] = {}

        def own() -> StructTy:
            if self.choice not in made:
                scope = Scope(info.scope, "function")
                values = self.stand_ins(info.node.params, scope, info.module, {})
                self.lent_around = self.lent_around or self.lent
                made[self.choice] = self.struct(info, tuple(values[p.name] for p in info.node.params))
            return made[self.choice]

        def head() -> None:
            self.fields(own())

        def aliases() -> None:
            ty = own()
            self._note_constants((), ty)
            self._try_aliases(info, ty)

        self.archetypes = {}
        if self.only_used and not info.instances:
            return
        self._try_alone(info.node, info.span(), head, 0, False)
        if made and not self.only_used:
            self._try_alone(info.node, info.span(), aliases, self.doubt, True)
        if made:
            self._check_methods(info, own, True)

    def _check_methods(self, info: StructInfo | TraitInfo, own: Callable[[], StructTy], is_generic: bool) -> None:
        around, doubt = self.archetypes, self.doubt if isinstance(info, StructInfo) and is_generic else 0
        for member in info.members.values():
            for fn in member.functions if isinstance(member, FnSet) else ():
                self._check_generic(fn, own, is_generic, doubt, around)

    def _check_generic(
        self, fn: FnInfo, own: Callable[[], StructTy | None], is_generic: bool, doubt: int = 0,
        around: dict[str, StructInfo] | None = None,
    ) -> None:  # fmt: skip
        if fn.module is not self.main or fn.node.body is None or (self.only_used and fn.uid not in self.elaborated):
            return
        if is_generic or fn.node.params or self.is_open(fn):
            self.archetypes = dict(around or {}) if is_generic else {}
            called = fn.uid in self.elaborated
            self._try_alone(fn.node, fn.span(), lambda: self._alone(fn, own(), called), doubt, not called)

    def _alone(self, fn: FnInfo, ty: StructTy | None, called: bool) -> None:
        scope = Scope(self.fn_scope_parent(fn, ty), "function")
        given = self.stand_ins(fn.node.params, scope, fn.module, {})
        first = fn.node.args[0] if fn.node.args else None
        if ty is not None and not fn.static and first is not None and first.type is not None:
            written = self.evaluate(first.type, scope, fn.module)
            if isinstance(written, StructTy) and written.info is ty.info:
                ty = written
        actual = self._actual(fn, scope, ty)
        if not self.archetypes and called and not self.lent:
            return  # there is nothing in it that an instance does not show
        instance = self.instance(fn, ty, given, actual, None, None, span=fn.span())
        self._conditions(fn, instance)
        self._note_constants((*zip(fn.node.params, given.values(), strict=False),), ty)
        if self.open_arguments(instance):
            return
        self.elaborate_instance(instance)
        queue = self.state.queue  # empty before: this comes last
        while queue:
            inner = queue.pop()
            if inner.fn.parent is not None:
                self.elaborate_instance(inner)

    def elaborate_instance(self, instance: Instance) -> None:
        """Make the body of an instance, and remember what a trial made."""
        super().elaborate_instance(instance)
        if self.trial is not None and not instance.fn.module.is_library:
            self.trial.made.append(instance)

    def _conditions(self, fn: FnInfo, instance: Instance) -> None:
        """Look at the names in `where` conditions; whether these hold says nothing here."""
        if not fn.node.where:
            return
        scope = with_arguments(fn, instance.signature.args, instance.scope)
        doubt, self.doubt = self.doubt, 2
        for node in fn.node.where:
            with contextlib.suppress(Abort, Symbolic, Mismatch):
                self.evaluate(node, scope, fn.module)
        self.doubt = doubt

    def _note_constants(self, own: tuple[tuple[ast.Param, Any], ...], ty: StructTy | None) -> None:
        around = zip(ty.info.node.params, ty.params, strict=True) if ty is not None else ()
        taken = [(p, v) for p, v in (*around, *own) if isinstance(v, KV) and not isinstance(v.data, OriginValue)]
        assert self.trial is not None
        self.trial.constants = ", ".join(f"{p.name} = {self.type_name(v)}" for p, v in taken)

    def _actual(self, fn: FnInfo, scope: Scope, ty: StructTy | None) -> list[Any]:
        """Return types for the arguments whose declarations leave something open."""
        inner = Scope(scope, "function")
        found: list[Any] = []
        for arg in fn.node.args:
            kind = self._declared_type(arg, inner, fn, ty)
            have = self.open_type(kind, arg.name, inner, fn.module, arg)
            found.append([have] if arg.kind == "star" and have is not None else have)
            known = have or kind
            if isinstance(known, Ty):
                inner.names[arg.name] = phantom(arg.name, known, fn, arg)
        return found

    def _try_alone(self, node: Any, span: Span, action: Callable[[], None], doubt: int, alone: bool) -> None:
        """Do something of which nothing stays but the sure mistakes.

        Args:
            doubt: what is not sure from the start.
            alone: no instance will show mistakes that have nothing to do with archetypes. They count if other constants
                show the same, and nothing else is wrong.
        """
        trial = self._tried(node, span, action, doubt)
        sure = [one for one, unsure in trial.found if self._is_sure(one, unsure, node)]
        if alone and self.doubt and (trial.found or not trial.clean):
            sure += self._common(trial, node, span, action, doubt, sure)
        if sure:
            places = {one.span.start for one in sure if one.span is not None}
            self.sink.withdraw(lambda one: self._is_at(one.span, places))
        for one in sure:
            self.sink.report(self._told(one))
        if trial.clean and not trial.found:
            self.sound += [one.function for one in trial.made if one.function is not None and not one.failed]

    def _common(
        self, first: Trial, node: Any, span: Span, action: Callable[[], None], doubt: int, known: list[Diagnostic]
    ) -> list[Diagnostic]:
        """Return what all choices of constants show for which nothing else is wrong; there must be some of them."""
        clean = [first] if first.clean else []
        for self.choice in range(1, CHOICES):
            other = self._tried(node, span, action, doubt)
            clean += [other] if other.clean else []
        self.choice = 0
        if len(clean) < ENOUGH:
            return []
        every = [{(one.code, one.span.start) for one, _ in trial.found if one.span is not None} for trial in clean]
        seen = set.intersection(*every)
        told = {one.span.start for one in known if one.span is not None}
        note = Label(span, f"looked at with {clean[0].constants}")
        return [
            replace(one, notes=(*one.notes, note)) for one, unsure in clean[0].found
            if unsure == 1 and self._is_sure(one, 0, node) and one.span is not None
            and one.span.start not in told and (one.code, one.span.start) in seen
        ]  # fmt: skip

    def _tried(self, node: Any, span: Span, action: Callable[[], None], doubt: int) -> Trial:
        outer = self.state, self.sink, self.current
        self.state, self.sink, self.current = self.states["host"], Sink(), None
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


def _let(info: StructInfo, more: str) -> str:
    """Return what is to be written so that the bound of an archetype has one more trait."""
    assert info.bound is not None
    if info.name == f"{MARK}Self":
        return f"let trait '{info.bound}' extend '{more}'"
    traits = dict.fromkeys((*(t.name for t in info.bound.traits if t.name != "AnyType"), more))
    return f"let the bound say '{' & '.join(traits)}'"
