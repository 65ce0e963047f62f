"""The main file's functions that nothing reaches: they are elaborated for their mistakes.

In: the main file. Out: diagnostics. Generic declarations are checked by themselves (`bounds.py`), all others as
instances.
"""

from typing import Any

from ktc.diag.codes import Code
from ktc.elaborate import conformance
from ktc.elaborate.bounds import Bounds
from ktc.elaborate.instances import Symbolic
from ktc.elaborate.mismatch import Abort, Mismatch
from ktc.elaborate.scope import FnInfo, FnSet, StructInfo
from ktc.elaborate.values import StructTy


class Checks(Bounds):
    """The part of the elaborator that looks at what nothing calls."""

    checks_rest: bool

    def report(self, code: Code, *args: Any, **named: Any) -> None:
        # what nothing calls is for a target that nobody asked about, so what it needs there says nothing
        if not (self.checks_rest and code is Code.CONSTRAINT_FAILED):
            super().report(code, *args, **named)

    def check_rest(self) -> None:
        """Elaborate the main file's functions that have no parameters and that nothing called, for their mistakes."""
        self.checks_rest = not self.is_archive
        self._check_all()
        self.drain()
        self.checks_rest = False

    def _check_all(self) -> None:
        for value in list(self.main.scope.names.values()):
            if isinstance(value, FnSet):
                for fn in value.functions:
                    self._check_function(fn)
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

    def _check_function(self, fn: FnInfo, ty: StructTy | None = None) -> None:
        if fn.module is not self.main or fn.node.params or fn.node.body is None:
            return
        if any(a.type is None and a.name != "self" for a in fn.node.args):
            return
        if fn.uid in self.elaborated:
            return
        # what could be a kernel may use what only devices have
        could_be_kernel = ty is None and not fn.raises and fn.node.result is None and bool(self.config.accelerators)
        outer, self.state = self.state, self.states[self.config.accelerators[0].name] if could_be_kernel else self.state
        try:
            self._check_instance(fn, ty)
        finally:
            self.state = outer

    def _check_instance(self, fn: FnInfo, ty: StructTy | None) -> None:
        try:
            actual = [None] * len(fn.node.args)
            instance = self.instance(fn, ty, {}, actual, None, None, span=fn.span())
        except (Abort, Symbolic, Mismatch):
            return
        if not self.open_arguments(instance):
            self.elaborate_instance(instance)
