"""Destructors: the functions that destroy values of a type.

In: a type. Out: the symbol of a function of the unit: the type's `__del__`, then its fields.
"""

import hashlib
from typing import Any

from ktc.diag.source import Span
from ktc.elaborate.functions.prologues import Binding
from ktc.elaborate.instances.instance_table import (
    Instance,
)  # fmt: skip
from ktc.elaborate.model.declarations import FnInfo, FnSet
from ktc.elaborate.model.values import (
    LV,
    StructTy,
)  # fmt: skip
from ktc.ir import nodes, types


class Destructors(Binding):
    """The part of the elaborator that makes destructors."""

    def instance(
        self, fn: FnInfo, self_ty: StructTy | None, given: dict[str, Any], actual: list[Any], env: Any,
        asking: Any, span: Span | None = None, kernel: bool = False,
    ) -> Instance:  # fmt: skip
        """Return the instance of a function with these parameters (in `Functions`)."""
        raise NotImplementedError

    def request(self, instance: Instance) -> None:
        """Put an instance on the work list (in `Functions`)."""
        raise NotImplementedError

    def destructor(self, ty: StructTy) -> str:
        """Return the symbol of the function that destroys a value: its `__del__`, then its fields."""
        if ty.drop_name is not None and ty.drop_name in self.state.extra:
            return ty.drop_name
        own, parts = self._dropped(ty)
        is_seen = ty.info.bound is not None or ty.info.explicit_destroy is not None
        if own is None and not parts and not is_seen:  # what stands for a type parameter may have one
            ty.drop_name = ""
            return ""
        digest = hashlib.sha256(self.key_text(self.canonical(ty)).encode()).hexdigest()[:12]
        symbol = ty.drop_name = f"{ty.info.name}_drop${digest}"
        if symbol in self.state.extra:
            return symbol
        archived = self.state.archived.get(symbol)
        if archived is not None:
            self.state.extra[symbol] = (archived, set())
            self.state.undrawn[symbol] = ty
            return symbol
        kept = self.recall(self.state, symbol)
        if kept is not None:
            self.state.extra[symbol] = (kept[0], set(kept[1]))
            return symbol
        self.draw_destructor(ty, symbol)
        return symbol

    def _dropped(self, ty: StructTy) -> tuple[FnSet | None, list[str]]:
        """Return a type's own `__del__`, and the fields that are to be destroyed."""
        parts = [name for name, kind in self.fields(ty) if not self.is_trivial(kind)]
        return self.method_set(ty, "__del__"), parts

    def draw_destructor(self, ty: StructTy, symbol: str) -> None:
        """Make the body of a destructor."""
        own, parts = self._dropped(ty)
        empty = nodes.Function(symbol, f"destructor of {ty}", (("self", types.PTR),), types.VOID, (nodes.Return(),))
        self.state.extra[symbol] = (empty, set())
        body = self.new_body(ty.info.module, ty.info.scope, self.current)
        body.comptime = False
        place = LV(ty, nodes.Argument(0, types.PTR), True)
        if own is not None:
            self._call_del(body, ty, own, place)  # which destroys the fields
            parts = []
        for name in parts:
            field = body.field(place, name)
            body.destroy_place(field.ty, field.pointer, None)
        body.emit(nodes.Return())
        made = nodes.Function(symbol, f"destructor of {ty}", (("self", types.PTR),), types.VOID, body.finish())
        self.state.extra[symbol] = (made, body.refs)

    def _call_del(self, body: Any, ty: StructTy, own: FnSet, place: LV) -> None:
        fn = own.functions[0]
        instance = self.instance(fn, ty, {}, [ty] * len(fn.node.args), None, body)
        self.request(instance)
        body.refs.add(instance.symbol)
        args = (place.pointer,) if instance.signature.args[0].passing == "memory" else ()
        body.let(nodes.Call(instance.symbol, args, types.VOID), types.VOID)
