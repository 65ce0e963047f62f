"""Values behind references that are replaced: when the old one is destroyed.

In: a place that is no variable, and the syntax of its new value. Out: the old value destroyed before the new one is
made, where what makes it surely cannot see the place.
"""

from collections.abc import Sequence
from typing import Any

from ktc.diag.source import Span
from ktc.elaborate.builder.linear_types import check_dropped
from ktc.elaborate.model.declarations import Var
from ktc.elaborate.model.values import LV, RV, FnVal, PackVal
from ktc.elaborate.ownership.access_paths import are_apart, is_untracked, meet, of_inside, of_place
from ktc.elaborate.ownership.reference_escapes import check_stored
from ktc.elaborate.statements.declarations import Variables
from ktc.elaborate.tree.argument_uses import is_call, names_in, sees
from ktc.ir import nodes
from ktc.ir.types import has_pointer
from ktc.syntax import ast

_BRANCHES = (nodes.If, nodes.Loop, nodes.Block, nodes.Return)


class Replacing(Variables):
    """The part of a body that replaces what lies behind references."""

    aside: tuple[nodes.Local, bool] | None = None
    """The result of a call that was made aside, and whether only because the call may raise."""

    def note_aside(self, target: ast.Expr, made: Any, node: ast.Expr, place: LV | None = None) -> None:
        """Note the result of a call that cannot be made in its target: the call sees the target (not where `place` is
        nobody's), or may raise and must leave the old value then. Such a result is moved by `__moveinit__`."""
        self.aside = None
        if not is_call(node) or not isinstance(made, LV) or not made.owned or made.local is None:
            return
        if self.module.is_library or made.local.name or made.path or self.elab.moves_plainly(made.ty):
            return
        if sees(node, target) and not (place is not None and is_untracked(place)):
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

    def replace_first(self, place: LV, target: ast.Expr, value: ast.Expr, is_behind: bool = False) -> bool:
        """Replace what lies behind a reference by the result of a call, or by a copy. An old value that the call does
        surely not see is destroyed before it, if it does not raise. False for other values; nothing is made then.

        Args:
            is_behind: a variable that is replaced through a reference to it.
        """
        if self.module.is_library or self.elab.is_trivial(place.ty):
            return False
        if place.local is not None and len(place.path) <= 1 and not (is_behind or place.via):
            return False
        if isinstance(value, ast.Name):
            return self._replace_by_copy(place, value)
        if not is_call(value) and not isinstance(value, ast.Attribute):
            return False
        span = self.at(value)
        self.open()
        result = self.expr(value, place.ty)
        check_stored(self, place, result, span)
        if isinstance(result, LV) and not result.owned and result.ty is place.ty:
            self._copy_from(place, result, value)
            return True
        if not is_call(value) or isinstance(value, ast.Subscript):
            for statement in self.close():
                self.emit(statement)
            self.store_place(place, self.convert(result, place.ty, span), self.at(target), "")
            return True
        fresh = self.own(self.convert(result, place.ty, span), span)
        self.note_aside(target, fresh, value, place)
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
            result, given = self.given or (None, ())
            others = result is fresh.local and not any(self._sees(one, place) for one in given)
            return at if others and not any(isinstance(one, _BRANCHES) for one in made[at + 1 :]) else len(made)
        if all(map(self._is_apart, names_in(value))) and not any(isinstance(one, _BRANCHES) for one in made):
            return 0
        return len(made)

    def _copy_from(self, place: LV, value: LV, node: ast.Expr) -> None:
        """Replace what lies behind a reference by a copy of what lies in another place, which was found in the open
        block. The old value is destroyed first where these are surely two; else the copy is made aside."""
        span = self.at(node)
        self.check_copy(value, span)
        for statement in self.close():
            self.emit(statement)
        if are_apart(place, value):
            check_dropped(self, place.ty, span)
            self.destroy_place(place.ty, place.pointer, span)
            self.init_place(place.ty, place.pointer, value, span)
            return
        fresh = self.own(value, span)
        check_dropped(self, place.ty, span)
        self.destroy_place(place.ty, place.pointer, span)
        self.init_moved(place.ty, place.pointer, fresh, span)

    def _replace_by_copy(self, place: LV, node: ast.Name) -> bool:
        """Replace what lies behind a reference by a copy of a variable that is surely another place."""
        found = self.find(node.id)
        if not isinstance(found, Var) or found.body is not self:
            return False
        held = found.value
        if not isinstance(held, LV) or held.ty is not place.ty:
            return False
        if not are_apart(place, held):
            return False
        value, span = self.expr(node), self.at(node)
        self.check_copy(value, span)
        check_dropped(self, place.ty, span)
        self.destroy_place(place.ty, place.pointer, span)
        self.init_place(place.ty, place.pointer, value, span)
        return True

    def store_place(self, place: LV, value: Any, span: Span, out_key: str) -> None:
        """Replace the value in a place (in `Assignments`)."""
        raise NotImplementedError

    def _sees(self, value: Any, place: LV) -> bool:
        """Say whether a function may see a place through an argument."""
        if isinstance(value, PackVal):
            return any(self._sees(one, place) for one in value.items)
        if isinstance(value, FnVal):
            return value.env is not None
        if not isinstance(value, (LV, RV)):
            return False
        inside = of_inside(self, value)
        if self.elab.origins(value.ty) and (not inside or meet(inside, of_place(place))):
            return True
        if isinstance(value, RV):
            return has_pointer(self.elab.ir(value.ty)) and not inside
        is_temporary = value.owned and value.local is not None and not value.local.name
        return not is_temporary and not are_apart(place, value)

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
