"""`t op= v`. In: its syntax. Out: a call of the method that changes the value in place, or the result of the operator
stored in its place."""

from typing import Any, NoReturn

from ktc.diag.codes import Code
from ktc.elaborate.calls.writeback import Waiting, lend, put_back, taken, waits
from ktc.elaborate.model.declarations import Var
from ktc.elaborate.model.operator_names import BINARY
from ktc.elaborate.model.values import KV, LV, RV, Arg, StructTy, Ty
from ktc.elaborate.resolve.suggestions import loop_help
from ktc.elaborate.statements.assignments import Assignments
from ktc.records import replace
from ktc.syntax import ast


class InPlace(Assignments):
    """The part of a body that changes values in place."""

    def aug_assign(self, node: ast.AugAssign) -> None:
        """Elaborate `t op= v`."""
        target = node.target
        if isinstance(target, ast.Subscript):
            base = self.expr(target.base)
            args = [self._index_arg(item) for item in target.args]
            setter = self.elab.method_set(base.ty, "__setitem__") if isinstance(base, (RV, LV, KV)) else None
            self.waiting, outer = target, self.waiting
            late = setter is not None and waits(self, base, target)
            self.waiting = outer
            value = self.expr(node.value) if late else None
            old = self.apply_index(base, args, target)
            if setter is not None:
                value = value if late else self.expr(node.value)
                self.put_item(base, setter, args, Arg(self._changed(old, value, node), self.at(target)), target)
                return
            place = old
        else:
            place = self.operand(target, self.expr)
        after: list[Any] = []
        late = isinstance(place, Waiting)
        value = self.expr(node.value) if late else None
        place = taken(self, place)
        if isinstance(place, (RV, LV)) and place.back is not None:
            place = lend(self, place, after)
        value = value if late else self.expr(node.value)
        if isinstance(place, (RV, KV)) or (isinstance(place, LV) and not place.mutable):
            self._read_only(place, target)
        if not isinstance(place, LV):
            self.fail(Code.IMMUTABLE, "this cannot be changed", self.at(target))
        name = f"__i{BINARY[node.op]}__"
        made = self.dunder(place, name, [value], node)
        if made is None:
            self._check_in_place(place.ty, name, node)
            current = self._held(LV(place.ty, place.pointer, True, place.local, place.path))
            self.store_place(place, self.operate(node.op, current, value, node), self.at(target), "")
        put_back(self, after)

    def _changed(self, old: Any, value: Any, node: ast.AugAssign) -> Any:
        """Return the new value of an item that `__setitem__` stores: the old one is changed, if it can be."""
        held = self._held(old)
        name = f"__i{BINARY[node.op]}__"
        if isinstance(getattr(held, "ty", None), StructTy) and not held.ty.info.module.is_library:
            held = self.place(held)
            if self.dunder(replace(held, mutable=True, owned=False), name, [value], node) is not None:
                return held
            self._check_in_place(held.ty, name, node)
        return self.operate(node.op, held, value, node)

    def _check_in_place(self, ty: Ty, name: str, node: ast.AugAssign) -> None:
        """Report `t op= v` where a struct of the program has no method for it; the library's types may do without."""
        if isinstance(ty, StructTy) and not ty.info.module.is_library and self.elab.method_set(ty, name) is None:
            text = f"'{node.op}=' changes a value of type '{self.elab.type_name(ty)}', which has no '{name}'"
            self.fail(Code.TYPE_MISMATCH, text, self.at(node), f"give '{ty.info.name}' the method '{name}'")

    def _read_only(self, place: Any, target: ast.Expr) -> NoReturn:
        """Report `t op= v` where t cannot be changed."""
        item = isinstance(target, ast.Subscript)
        name = f"'{target.id if isinstance(target, ast.Name) else getattr(target, 'name', '')}'"
        name = "this item" if item else name
        why = "" if item else getattr(place, "why", "")
        text = f"{name} is read only" if isinstance(target, ast.Name) or not why else f"{name} is part of {why}"
        owner = target
        while isinstance(owner, (ast.Attribute, ast.Subscript)):
            owner = owner.value if isinstance(owner, ast.Attribute) else owner.base
        var = self.find(owner.id) if isinstance(owner, ast.Name) else None
        help = loop_help(var.name, getattr(var.value, "why", "")) if isinstance(var, Var) else ""
        help = f"declare it 'mut {var.name}'" if isinstance(var, Var) and var.kind == "arg" else help
        self.fail(Code.IMMUTABLE, text, self.at(target), help)
