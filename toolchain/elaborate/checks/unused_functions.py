"""The main file's functions that nothing reaches: they are elaborated for their mistakes.

In: the main file. Out: diagnostics. Generic declarations are checked by themselves (`bounds.py`), all others as
instances.
"""

import contextlib
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Label
from ktc.diag.source import Span
from ktc.elaborate.checks import trait_conformance as conformance
from ktc.elaborate.checks.default_arguments import check_defaults
from ktc.elaborate.checks.generic_bodies import Bounds, could_be_kernel
from ktc.elaborate.instances.instance_table import Instance, Symbolic
from ktc.elaborate.model.declarations import AliasInfo, FnInfo, FnSet, StructInfo
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.values import StructTy

_NEEDS_A_USE = frozenset((Code.CONSTRAINT_FAILED, Code.COMPILE_TIME_FAILED, Code.COMPILE_TIME_LIMIT))


class Checks(Bounds):
    """The part of the elaborator that looks at what nothing calls."""

    checks_rest: bool

    def report(
        self, code: Code, message: str, span: Span | None, help: str = "", instance: Instance | None = None,
        extra: tuple[Label, ...] = (),
    ) -> None:  # fmt: skip
        """Report an error, unless it is of code that nothing calls."""
        # what nothing calls is for a target that nobody asked about, so what it needs there says nothing
        if not (self.checks_rest and code in _NEEDS_A_USE):
            super().report(code, message, span, help, instance, extra)

    def check_rest(self) -> None:
        """Elaborate the main file's functions that have no parameters and that nothing called, for their mistakes."""
        self.checks_rest = not self.is_archive
        self._check_all()
        self.drain()
        self._check_nested()
        self.drain()
        self.checks_rest = False

    def check_sizes(self) -> None:
        """Lay out the main file's structs: one that has no end is told, used or not."""
        for value in list(self.main.scope.names.values()):
            if isinstance(value, StructInfo) and value.module is self.main and not value.node.params:
                with contextlib.suppress(Abort):
                    self.ir(self.struct(value, ()))

    def _check_all(self) -> None:
        for value in list(self.main.scope.names.values()):
            check_defaults(self, value)
            if isinstance(value, FnSet):
                for fn in value.functions:
                    self._check_function(fn)
                continue
            if isinstance(value, AliasInfo):
                self._check_alias(value)
                continue
            if not isinstance(value, StructInfo) or value.module is not self.main:
                continue
            conformance.check_traits(self, value)
            if not value.node.params:
                ty = self.struct(value, ())
                try:
                    self.fields(ty)
                except Abort:
                    continue
                for member in value.members.values():
                    if isinstance(member, FnSet):
                        for fn in member.functions:
                            self._check_function(fn, ty)
                    elif isinstance(member, AliasInfo):
                        self._check_alias(member, ty)

    def _check_nested(self) -> None:
        """Elaborate nested functions that nothing calls, in functions that have no parameters."""
        called = {fn.node for fn in self.nested if fn.uid in self.elaborated}
        for fn in self.nested:
            around = fn.parent.instance
            open_ = fn.node.params or any(arg.type is None for arg in fn.node.args)
            if fn.module is not self.main or around is None or around.is_parametric or open_ or fn.node in called:
                continue
            called.add(fn.node)
            outer, self.state = self.state, around.state
            try:
                self._check_instance(fn, None, fn.parent)
            finally:
                self.state = outer
        self.nested.clear()

    def _check_alias(self, alias: AliasInfo, ty: StructTy | None = None) -> None:
        if alias.module is not self.main or alias.node.params or alias.node.value is None:
            return
        used = alias.values or (ty is not None and any(key.startswith(f"{alias.uid}@") for key in ty.aliases))
        if not used:  # one that only kernels use may mean nothing on the host
            with contextlib.suppress(Abort, Symbolic, Mismatch):
                self.alias_value(alias, ty)

    def _check_function(self, fn: FnInfo, ty: StructTy | None = None) -> None:
        if fn.module is not self.main or fn.node.params or fn.node.body is None:
            return
        if any(a.type is None and a.name != "self" for a in fn.node.args):
            return
        if fn.uid in self.elaborated or self.is_open(fn):
            return
        on_device = could_be_kernel(self.config, fn)
        outer, self.state = self.state, self.states[self.config.accelerators[0].name] if on_device else self.state
        try:
            self._check_instance(fn, ty)
        finally:
            self.state = outer

    def _check_instance(self, fn: FnInfo, ty: StructTy | None, env: Any = None) -> None:
        try:
            actual = [None] * len(fn.node.args)
            instance = self.instance(fn, ty, {}, actual, env, None, span=fn.span())
        except (Abort, Symbolic, Mismatch):
            return
        if not self.open_arguments(instance):
            self.elaborate_instance(instance)
