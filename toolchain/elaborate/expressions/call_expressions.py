"""Calls as they are written: the callee, the arguments, and the calls that the compiler reads itself."""

from collections.abc import Callable
from typing import Any, cast

from ktc.diag.codes import Code
from ktc.elaborate.calls.writeback import taken
from ktc.elaborate.expressions.subscripts import Subscripts
from ktc.elaborate.instances.instance_table import Symbolic
from ktc.elaborate.model.declarations import Var
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.values import (
    KV,
    LV,
    RV,
    Arg,
    FnVal,
    Opaque,
    PackPV,
    PackVal,
    StructTy,
    Sym,
    TraitTy,
    Ty,
)  # fmt: skip
from ktc.elaborate.primitives import table as builtins
from ktc.records import replace
from ktc.syntax import ast


class Arguments(Subscripts):
    """The part of a body that elaborates a call's nodes."""

    def arg(self, node: ast.Expr) -> Arg:
        """Elaborate one argument."""
        value = self.expr(node)
        if isinstance(value, (Sym, Opaque)):
            raise Symbolic
        if isinstance(value, PackPV) and value.items and all(isinstance(item, KV) for item in value.items):
            value = PackVal(cast(tuple[KV, ...], value.items))  # a variadic parameter's values
        if isinstance(node, ast.Star) and isinstance(value, LV | RV) and isinstance(value.ty, StructTy):
            value = self.spread(value, node)
        return Arg(value, self.at(node))

    def spread(self, value: Any, node: Any) -> Any:
        """Turn `*args` into the values of a pack."""
        pack = self.elab.pack_items(value.ty)
        if pack is None:
            if not self.module.is_library:
                text = f"'*' cannot unpack a value of type '{self.elab.type_name(value.ty)}' here"
                self.fail(Code.TYPE_MISMATCH, text, self.at(node), "it passes on the arguments of '*args: *Ts' only")
            return value
        items = []
        for i in range(len(pack)):
            number = KV(self.elab.library_type("Int"), i)
            getter = self.elab.method_set(value.ty, "__getitem__")
            assert getter is not None
            items.append(
                self.call_fn(
                    FnVal(getter, (number,), (), value.ty), [Arg(value, self.at(node))], [], self.at(node), True
                )
            )
        return PackVal(tuple(items))

    def operand(self, node: Any, elaborate: Callable[[Any], Any]) -> Any:
        """Elaborate one of several operands; an item that a getter gives may wait for the others."""
        item = node.value if isinstance(node, ast.Keyword) else node
        if not isinstance(item, (ast.Subscript, ast.Attribute)) or self.module.is_library:
            return elaborate(node)
        outer, self.waiting = self.waiting, item
        try:
            return elaborate(node)
        finally:
            self.waiting = outer

    def keyword(self, node: ast.Keyword) -> Arg:
        """Elaborate a keyword argument."""
        found = self.late_arg(node.value)
        found.name = node.name
        found.span = self.at(node)
        return found

    def call_node(self, node: ast.Call, expected: Ty | None) -> Any:
        """Elaborate a call."""
        special = self.special_call(node)
        if special is not None:
            return special
        span = self.at(node)
        outer, self.span = self.span, span
        before, self.brackets = self.brackets, node.func
        try:
            callee = self.expr(node.func)
            if isinstance(callee, (Sym, Opaque)):
                raise Symbolic
            pos = [self.operand(item, self.late_arg) for item in node.args]
            kw = [self.operand(item, self.keyword) for item in node.keywords]
            for arg in (*pos, *kw):
                arg.value = taken(self, arg.value)
            if isinstance(callee, FnVal) and not callee.set.functions:
                return self.synthesised(callee, pos, node)
            return self.call(callee, pos, kw, span)
        except Mismatch as why:
            self.fail(why.code, why.message, why.span or span, why.help())
        finally:
            self.span, self.brackets = outer, before

    def synthesised(self, callee: FnVal, pos: list[Arg], node: ast.Call) -> Any:
        """Call a `__copyinit__` or `__moveinit__` that the struct does not write: `Self.__copyinit__(x)`."""
        assert callee.self_ty is not None
        if len(pos) != 1 or node.keywords:
            given = len(pos) + len(node.keywords)
            code = Code.TOO_MANY_ARGUMENTS if given > 1 else Code.MISSING_ARGUMENT
            self.fail(code, f"'{callee.set.name}' takes one value by its position", self.at(node))
        ty = callee.self_ty
        made = self.temporary(ty)
        value = self.place(self.convert(pos[0].value, ty, self.at(node)))
        if callee.set.name == "__copyinit__":
            self.copy_to(ty, made.pointer, value, self.at(node), True)
        else:
            self.move_bits(ty, made.pointer, value)
        self.mark("init", made)
        return made if self.elab.abi(ty) == "memory" else RV(ty, self.rvalue(made))

    def special_call(self, node: ast.Call) -> Any:
        """Elaborate the calls that the language itself defines; None for all others."""
        func = node.func
        if isinstance(func, ast.Name):
            if func.id in ("__type_of", "type_of", "__origin_of", "origin_of"):
                return self.reflect(func.id, node)
            if func.id == "conforms_to" and self.find(func.id) is None:
                return self.conforms_to(node)
            return None
        attrs: ast.Subscript | None = None
        if isinstance(func, ast.Subscript):
            attrs, func = func, func.base
            if isinstance(func, ast.Name) and func.id == "trait_downcast" and self.find(func.id) is None:
                return self.downcast(node, attrs)
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "__mlir_op":
            values: dict[str, Any] = {}
            if attrs is not None:
                for key in attrs.keywords:
                    value = self.param_arg(key.value)
                    if isinstance(value, (Sym, Opaque)) or getattr(value, "symbolic", False):
                        raise Symbolic
                    values[key.name] = value
            args = [self.arg(item).value for item in node.args]
            span = self.at(node)
            outer, self.span = self.span, self.span or span
            try:
                return builtins.operation(self, func.name, values, args, span)  # type: ignore[arg-type]
            finally:
                self.span = outer
        return None

    def reflect(self, name: str, node: ast.Call) -> Any:
        """Elaborate `type_of(x)` and `origin_of(x)`: nothing is evaluated."""
        body = self.elab.new_body(self.module, self.scope, self.instance)
        body.reflects = True
        value = body.expr(node.args[0]) if node.args else None
        if isinstance(value, (Sym, Opaque)):
            raise Symbolic
        if name.endswith("type_of"):
            if isinstance(value, FnVal):
                return self.elab.fn_type_of(value)
            if not isinstance(value, (RV, LV, KV)):
                self.fail(Code.TYPE_MISMATCH, "a value is wanted here", self.at(node))
            return value.ty
        own = self.find(node.args[0].id) if node.args and isinstance(node.args[0], ast.Name) else None
        place = own.value if isinstance(own, Var) else value
        mutable = isinstance(place, LV) and place.mutable
        return self.elab.origin_constant(self.origin_of(place, mutable))

    def conforms_to(self, node: ast.Call) -> KV:
        """Elaborate `conforms_to(T, Trait)`."""
        if len(node.args) != 2 or node.keywords:
            self.fail(Code.MISSING_ARGUMENT, "'conforms_to' takes a type and a trait", self.at(node))
        ty = self._type_or_fail(node.args[0])
        return self.elab.bool_constant(self.elab.conforms(ty, self._trait(node.args[1])))

    def downcast(self, node: ast.Call, attrs: ast.Subscript) -> Any:
        """Elaborate `trait_downcast[Trait](x)`: the same value, of which more is known."""
        if len(node.args) != 1 or node.keywords or len(attrs.args) != 1 or attrs.keywords:
            text = "'trait_downcast' takes a trait in brackets, and a value"
            self.fail(Code.MISSING_ARGUMENT, text, self.at(node))
        trait = self._trait(attrs.args[0])
        value = self.arg(node.args[0]).value
        if not isinstance(value, (RV, LV, KV)):
            self.fail_no_value(value, self.at(node.args[0]))
        if isinstance(value.ty, StructTy) and value.ty.info.bound is not None:
            return replace(value, ty=self.elab.narrowed(value.ty, trait))
        if not self.elab.conforms(value.ty, trait):
            if self.elab.trial is not None:
                raise Abort  # in an arm that is not taken for this type
            text = f"'{self.elab.type_name(value.ty)}' does not conform to '{trait}'"
            self.fail(Code.TRAIT_NOT_MET, text, self.at(node), f"ask with 'conforms_to(…, {trait})' first")
        return value

    def _type_or_fail(self, node: ast.Expr) -> Ty:
        found = self.param_arg(node)
        if isinstance(found, (Sym, Opaque)) or getattr(found, "symbolic", False):
            raise Symbolic
        if not isinstance(found, Ty) or isinstance(found, TraitTy):
            self.fail(Code.TYPE_MISMATCH, "a type is wanted here", self.at(node))
        return found

    def _trait(self, node: ast.Expr) -> TraitTy:
        found = self.param_arg(node)
        if not isinstance(found, TraitTy):
            self.fail(Code.TYPE_MISMATCH, "a trait is wanted here", self.at(node))
        return found
