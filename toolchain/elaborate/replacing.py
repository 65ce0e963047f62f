"""Values behind references that are replaced: when the old one is destroyed.

In: a place that is no variable, and the syntax of its new value. Out: the old value destroyed before the new one is
made, where what makes it surely cannot see the place.
"""

from ktc.elaborate.mentions import names_in
from ktc.elaborate.scope import Var
from ktc.elaborate.values import LV
from ktc.elaborate.variables import Variables
from ktc.ir import nodes
from ktc.ir.types import has_pointer
from ktc.syntax import ast


class Replacing(Variables):
    """The part of a body that replaces what lies behind references."""

    def replace_first(self, place: LV, value: ast.Expr) -> bool:
        """Replace what lies behind a reference by the result of a call that cannot see it and does not raise: the old
        value is destroyed before the call. False if it is not so simple; nothing is elaborated then."""
        if self.module.is_library or self.elab.is_trivial(place.ty):
            return False
        if isinstance(value, ast.Name):
            return self._replace_by_copy(place, value)
        if not isinstance(value, ast.Call):
            return False
        if (place.local is not None and len(place.path) <= 1) or not all(map(self._is_apart, names_in(value))):
            return False
        span = self.at(value)
        self.open()
        fresh = self.own(self.convert(self.expr(value, place.ty), place.ty, span), span)
        made = self.close()
        is_straight = not any(isinstance(one, (nodes.If, nodes.Loop, nodes.Block, nodes.Return)) for one in made)
        if is_straight:
            self.destroy_place(place.ty, place.pointer, span)
        for statement in made:
            self.emit(statement)
        if not is_straight:
            self.destroy_place(place.ty, place.pointer, span)
        self.move_bits(place.ty, place.pointer, fresh)
        return True

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
        self.destroy_place(place.ty, place.pointer, span)
        self.init_place(place.ty, place.pointer, value, span)
        return True

    def _is_apart(self, name: str) -> bool:
        """Say whether a name stands for a value that can point to nothing another name owns."""
        found = self.find(name)
        if not isinstance(found, Var):
            return True
        return found.body is self and self.elab.is_trivial(found.ty) and not has_pointer(self.elab.ir(found.ty))
