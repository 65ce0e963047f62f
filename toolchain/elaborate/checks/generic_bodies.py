"""Generic declarations checked by themselves: what a body asks of its type parameters must be promised by their bounds.

In: the main file's generic functions, structs and traits. Out: errors at the lines of their bodies, called or not.

Each declaration is elaborated once with archetypes for its type parameters (`archetypes.py`), by the same code that
elaborates instances, when all else is done, and thrown away; a message counts if it speaks of an archetype, or if
nothing in the declaration depends on a constant that was taken for a parameter. The roads not taken: a second, smaller
type checker over the tree would know less of the library and differ from the elaborator where it matters; carrying the
bound along with the types of an instance would cost every instance and say nothing of what nobody instantiates.
"""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

from ktc.elaborate.checks.default_arguments import check_with
from ktc.elaborate.checks.speculation import Trials
from ktc.elaborate.checks.trait_conformance import check_cycle
from ktc.elaborate.checks.uninstantiated_code import hidden
from ktc.elaborate.instances.instance_table import Instance, Symbolic, afresh
from ktc.elaborate.instances.signatures import phantom, with_arguments
from ktc.elaborate.model.declarations import AliasInfo, FnInfo, FnSet, Scope, StructInfo, TraitInfo
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.values import KV, OriginValue, StructTy, Ty
from ktc.syntax import ast


class Bounds(Trials):
    """The part of the elaborator that checks generic declarations."""

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
            self.try_alone(info.node, info.span(), lambda: self._try_aliases(info, ty), 0, True)
            for member in info.members.values():
                for fn in member.functions if isinstance(member, FnSet) else ():
                    if fn.node.body is None:
                        self.try_alone(fn.node, fn.span(), partial(self._try_head, fn, ty), 0, True)
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

        self.try_alone(info.node, info.span(), value, 0, True)

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
        self.try_alone(info.node, info.span(), head, 0, False)
        if made and not self.only_used:
            self.try_alone(info.node, info.span(), aliases, self.doubt, True)
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
        is_open = is_generic or bool(fn.node.params) or self.is_open(fn)
        unseen = hidden(self, fn)
        if not is_open and not unseen:
            return
        called = fn.uid in self.elaborated
        self.archetypes = dict(around or {}) if is_generic else {}
        if not is_open and could_be_kernel(self.config, fn):
            self.trial_state = self.states[self.config.accelerators[0].name]
        self.unseen = () if any(param.kind == "star" for param in fn.node.params) else unseen
        try:
            self.try_alone(fn.node, fn.span(), lambda: self._alone(fn, own(), called and not unseen), doubt, not called)
        finally:
            self.trial_state, self.unseen = None, ()

    def _alone(self, fn: FnInfo, ty: StructTy | None, is_shown: bool, env: Any = None) -> None:
        scope = Scope(self.fn_scope_parent(fn, ty), "function")
        given = self.stand_ins(fn.node.params, scope, fn.module, {})
        first = fn.node.args[0] if fn.node.args else None
        if ty is not None and not fn.static and first is not None and first.type is not None:
            written = self.evaluate(first.type, scope, fn.module)
            if isinstance(written, StructTy) and written.info is ty.info:
                ty = written
        actual = self._actual(fn, scope, ty)
        has_defaults = any(arg.default is not None for arg in fn.node.args)
        if not self.archetypes and is_shown and not self.lent and not has_defaults:
            return  # there is nothing in it that an instance does not show
        instance = self.instance(fn, ty, given, actual, env, None, span=fn.span())
        if instance.function is not None or instance.failed:  # one that is used has the same parameters
            instance = afresh(instance)
        if has_defaults:
            check_with(self, instance)
        self._conditions(fn, instance)
        self._note_constants((*zip(fn.node.params, given.values(), strict=False),), ty)
        if self.open_arguments(instance):
            return
        self.elaborate_instance(instance)
        self._elaborate_nested()
        for inner in self.nested:
            if inner.uid not in self.elaborated and inner.module is self.main:
                with contextlib.suppress(Abort):
                    self._alone(inner, None, False, inner.parent)
        self.nested.clear()

    def _elaborate_nested(self) -> None:
        queue = self.state.queue  # empty before: this comes last
        while queue:
            inner = queue.pop()
            if inner.fn.parent is not None:
                self.elaborate_instance(inner)

    def elaborate_instance(self, instance: Instance) -> None:
        """Make the body of an instance; remember that a nested function was reached, and what a trial made."""
        if instance.fn.parent is not None and self.trial is None:
            self.reached.add(instance.fn.node)
        super().elaborate_instance(instance)
        if self.trial is not None and not instance.fn.module.is_library and not instance.again:
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


def could_be_kernel(config: Any, fn: FnInfo) -> bool:
    """Could a function be a kernel: it may use what only devices have."""
    return fn.owner is None and not fn.raises and fn.node.result is None and bool(config.accelerators)
