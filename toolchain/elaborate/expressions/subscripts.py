"""Subscripts: `base[...]`, parameters of types and functions, and items of values."""

from typing import Any

from ktc.diag.codes import Code
from ktc.elaborate.calls.parameter_spans import written_parameter
from ktc.elaborate.calls.writeback import Waiting, item_of, waits
from ktc.elaborate.expressions.members import Members
from ktc.elaborate.instances.instance_table import Symbolic
from ktc.elaborate.model.declarations import AliasInfo
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.values import (
    KV,
    LV,
    OPAQUE,
    RV,
    Arg,
    BoundAlias,
    FnVal,
    Method,
    Opaque,
    PackPV,
    PartialTy,
    StructTy,
    Sym,
    Ty,
)  # fmt: skip
from ktc.syntax import ast


class Subscripts(Members):
    """The part of a body that applies parameters and takes items."""

    def keyword(self, node: ast.Keyword) -> Arg:
        """Elaborate a keyword argument (in `Expressions`)."""
        raise NotImplementedError

    def param_arg(self, node: ast.Expr) -> Any:
        """Elaborate one value in a parameter list."""
        if type(node) is ast.Name:
            if node.id == "_":
                return None
            found = self.find(node.id)
            if type(found) is KV or type(found) is StructTy or type(found) is Sym or type(found) is PackPV:
                return found
        if isinstance(node, ast.Star):
            return self.param_arg(node.value) if node.value is not None else None
        body = self.elab.new_body(self.module, self.scope, self.instance)
        try:
            value = body.expr(node)
            if isinstance(value, (Sym, Opaque)):
                return value
            return body.param(value, self.at(node))
        except Symbolic:
            return OPAQUE

    def param_list(self, node: ast.Subscript) -> tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]:
        """Elaborate a parameter list; packs written with `*` are spread."""
        positional: list[Any] = []
        for item in node.args:
            value = self.param_arg(item)
            if isinstance(item, ast.Star) and isinstance(value, PackPV):
                positional += value.items
            else:
                positional.append(value)
        named = tuple((k.name, self.param_arg(k.value)) for k in node.keywords)  # '**_' has no name
        return tuple(positional), named

    def subscript(self, node: ast.Subscript, expected: Ty | None = None) -> Any:
        """Elaborate `base[…]`: parameters or an index."""
        if (
            isinstance(node.base, ast.Attribute)
            and isinstance(node.base.value, ast.Name)
            and node.base.value.id == "__mlir_type"
        ):
            return self.prim_type(node, node.base.name)
        if isinstance(node.base, ast.Name) and node.base.id == "Some" and self.find("Some") is None:
            return self.expr(node.args[0])
        base = self.expr(node.base)
        try:
            return self.apply(base, node)
        except Mismatch as why:
            written = written_parameter(node, why)
            self.fail(why.code, why.message, why.span or self.at(written or node), why.help())

    def prim_type(self, node: ast.Subscript, name: str) -> Any:
        """Make a primitive type with parameters."""
        positional, _ = self.param_list(node)
        if any(isinstance(p, (Sym, Opaque)) or getattr(p, "symbolic", False) for p in positional):
            raise Symbolic
        if name in ("!kgen.pack", "!kgen.refs") and not (len(positional) == 1 and isinstance(positional[0], PackPV)):
            positional = (PackPV(positional),)
        try:
            return self.elab.prim(name, positional)
        except ValueError as error:
            self.fail(Code.TYPE_MISMATCH, str(error), self.at(node))

    def apply(self, base: Any, node: ast.Subscript) -> Any:
        """Give parameters to a type or function, or index a value."""
        match base:
            case PartialTy(info, params):
                positional, named = self.param_list(node)
                if node.args and isinstance(node.args[-1], ast.Star) and positional and positional[-1] is None:
                    slots = zip(info.node.params, params, strict=True)  # '*_' leaves all open that stand behind it
                    count = sum(p.kind in ("pos", "any") and value is None for p, value in slots)
                    positional = (*positional[:-1], *[None] * (count + 1 - len(positional)))
                if any(p is not None for p in params):
                    return self.elab.refine(base, positional, named)
                return self.elab.apply_struct(info, positional, named)
            case StructTy():
                positional, named = self.param_list(node)
                if not positional and not named:
                    return base
                raise Mismatch(Code.PARAMETER_COUNT, f"'{self.elab.type_name(base)}' takes no more parameters")
            case FnVal():
                return self.elab.partial_of(base, *self.param_list(node))
            case Method(value, fn):
                return Method(value, self.elab.partial_of(fn, *self.param_list(node)))
            case BoundAlias(alias, owner):
                return self.elab.apply_alias(alias, *self.param_list(node), owner)
            case AliasInfo():
                return self.elab.apply_alias(base, *self.param_list(node), self._alias_owner(base))
            case PackPV(items):
                given = self.elab.index_of(self.param_arg(node.args[0]))
                index = given + (len(items) if given < 0 else 0)
                if not 0 <= index < len(items):
                    has = {0: "there are none", 1: "there is one"}.get(len(items), f"there are {len(items)}")
                    text = f"there is no item {given}: {has}, counted from 0"
                    self.fail(Code.CONSTRAINT_FAILED, text, self.at(node))
                return items[index]
            case Sym() | Opaque():
                raise Symbolic
            case RV() | LV() | KV():
                return self.index(base, node)
            case _:
                self.fail(Code.NOT_CALLABLE, "this takes no parameters and no index", self.at(node))

    def _alias_owner(self, alias: AliasInfo) -> StructTy | None:
        for scope in self.scope.chain():
            if scope.struct is not None and scope.struct.info.members.get(alias.name) is alias:
                return scope.struct
        return None

    def index(self, base: Any, node: ast.Subscript) -> Any:
        """Elaborate an index of a value."""
        getter = self.elab.method_set(base.ty, "__getitem__")
        span = self.at(node)
        if getter is None and isinstance(base, KV):
            base = self.materialize(base)
            getter = self.elab.method_set(base.ty, "__getitem__")
        if getter is None:
            self.promised(base, "__getitem__", node)
            self.fail(
                Code.NO_MEMBER, f"'{self.elab.type_name(base.ty)}' has no '__getitem__', so it takes no index", span
            )
        static = all(
            fn.node.params and sum(arg.convention != "out" for arg in fn.node.args) == 1 for fn in getter.functions
        )
        fn = FnVal(getter, (), (), base.ty)
        if static:
            fn = self.elab.partial_of(fn, *self.param_list(node))
            outer, self.span = self.span, span  # what the signature finds wrong with the parameter is wrong here
            made = self.call_fn(fn, [Arg(base, span)], [], span, True)
            self.span = outer
            return made
        args = [Arg(base, span), *(self.late_arg(item) for item in node.args)]
        if self.waiting is not None and waits(self, base, node):
            return Waiting(fn, args, node)
        kw = [self.keyword(k) for k in node.keywords]
        outer = self.span
        if not self.module.is_library:
            self.span = span
        made = self.call_fn(fn, args, kw, span, True)
        self.span = outer
        return made if kw or self.module.is_library else item_of(self, made, base, args[1:], node)
