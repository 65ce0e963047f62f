"""Values behind references that are replaced: when the old one is destroyed.

In: a place that is no variable, and the syntax of its new value. Out: the old value destroyed before the new one is
made, where what makes it surely cannot see the place.
"""

from collections.abc import Sequence
from typing import Any

from ktc.elaborate.escapes import check_stored
from ktc.elaborate.linear import check_dropped
from ktc.elaborate.mentions import is_call, names_in, sees
from ktc.elaborate.scope import Var
from ktc.elaborate.values import LV
from ktc.elaborate.variables import Variables
from ktc.ir import nodes
from ktc.ir.types import has_pointer
from ktc.syntax import ast

_BRANCHES = (nodes.If, nodes.Loop, nodes.Block, nodes.Return)


class Replacing(Variables):
    """The part of a body that replaces what lies behind references."""

    aside: tuple[nodes.Local, bool] | None = None
    """The result of a call that was made aside, and whether only because the call may raise."""

    def note_aside(self, target: ast.Expr, made: Any, node: ast.Expr) -> None:
        """Note the result of a call that cannot be made in its target: the call sees the target, or may raise and must
        leave the old value then. Such a result is moved by `__moveinit__`."""
        self.aside = None
        if not is_call(node) or not isinstance(made, LV) or not made.owned or made.local is None:
            return
        if self.module.is_library or made.local.name or made.path or self.elab.moves_plainly(made.ty):
            return
        if sees(node, target):
            self.aside = made.local, False
        elif _raises(self.statements, made.local):
            self.aside = made.local, True

    def is_aside(self, place: LV, is_first: bool = False) -> nodes.Local | None:
        """Return the result that was made aside, if a place asks for that: what has no value yet, and a variable of the
        function itself, need not keep one when the call raises."""
        aside, self.aside = self.aside, None
        if aside is None:
            return None
        own = is_first or (place.local is not None and not place.path and not place.local.kept)
        return None if aside[1] and own else aside[0]

    def replace_first(self, place: LV, target: ast.Expr, value: ast.Expr) -> bool:
        """Replace what lies behind a reference by the result of a call, or by a copy. An old value that the call does
        surely not see is destroyed before it, if it does not raise. False for other values; nothing is made then."""
        if self.module.is_library or self.elab.is_trivial(place.ty):
            return False
        if isinstance(value, ast.Name):
            return self._replace_by_copy(place, value)
        if not is_call(value) or isinstance(value, ast.Subscript):
            return False
        if place.local is not None and len(place.path) <= 1:
            return False
        span = self.at(value)
        self.open()
        result = self.expr(value, place.ty)
        check_stored(self, place, result, span)
        fresh = self.own(self.convert(result, place.ty, span), span)
        self.note_aside(target, fresh, value)
        made = self.close()
        at = self._end_of_old(place, value, fresh, made)
        for statement in made[:at]:
            self.emit(statement)
        check_dropped(self, place.ty, span)
        self.destroy_place(place.ty, place.pointer, span)
        for statement in made[at:]:
            self.emit(statement)
        if fresh.local is not None and fresh.local is self.is_aside(place):
            self.init_moved(place.ty, place.pointer, fresh, span)
        else:
            self.move_bits(place.ty, place.pointer, fresh)
        return True

    def _end_of_old(self, place: LV, value: ast.Expr, fresh: LV, made: tuple[nodes.Statement, ...]) -> int:
        """Return before which of the statements that make a new value the old one ends."""
        if self.aside is not None:
            return len(made)
        at = _call_of(made, fresh.local)
        if at is not None:
            call, behind = made[at], made[at + 1 :]
            assert isinstance(call, nodes.Let) and isinstance(call.value, nodes.Call)
            others = all(_is_other(one, place, fresh.local) for one in call.value.args)
            return at if others and not any(isinstance(one, _BRANCHES) for one in behind) else len(made)
        if all(map(self._is_apart, names_in(value))) and not any(isinstance(one, _BRANCHES) for one in made):
            return 0
        return len(made)

    def _replace_by_copy(self, place: LV, node: ast.Name) -> bool:
        """Replace what lies behind a reference by a copy of a variable that is surely another place."""
        found = self.find(node.id)
        if not isinstance(found, Var) or found.body is not self or found.kind in ("ref", "loop", "with"):
            return False
        held = found.value
        if not isinstance(held, LV) or held.local is None or held.ty is not place.ty or place.loans is None:
            return False
        if (place.local is not None and len(place.path) <= 1) or held.local in (place.local, *place.loans):
            return False
        value, span = self.expr(node), self.at(node)
        self.check_copy(value, span)
        check_dropped(self, place.ty, span)
        self.destroy_place(place.ty, place.pointer, span)
        self.init_place(place.ty, place.pointer, value, span)
        return True

    def _is_apart(self, name: str) -> bool:
        """Say whether a name stands for a value that can point to nothing another name owns."""
        found = self.find(name)
        if not isinstance(found, Var):
            return True
        return found.body is self and self.elab.is_trivial(found.ty) and not has_pointer(self.elab.ir(found.ty))


def _call_of(made: Sequence[nodes.Statement], result: nodes.Local | None) -> int | None:
    """Return which statement is the call that makes a result."""
    if result is not None:
        for at in range(len(made) - 1, -1, -1):
            one = made[at]
            call = one.value if isinstance(one, nodes.Let) else None
            if isinstance(call, nodes.Call) and call.args and call.args[0] == nodes.LocalAddress(result):
                return at
    return None


def _raises(made: Sequence[nodes.Statement], result: nodes.Local) -> bool:
    """Say whether the call that made a result may raise: it gives a flag then."""
    at = _call_of(made, result)
    call = made[at] if at is not None else None
    return isinstance(call, nodes.Let) and call.temp is not None


def _is_other(value: nodes.Value, place: LV, result: nodes.Local | None) -> bool:
    """Say whether an argument of a call surely does not lead to a place."""
    if isinstance(value, nodes.LocalAddress):
        local = value.local
        if local is result:
            return True
        if local.pins or local.pins_all or local.environment_of:
            return False
        return not local.name or (place.loans is not None and local not in (place.local, *place.loans))
    return isinstance(value, nodes.Const) or (isinstance(value, nodes.Temp) and not has_pointer(value.type))
