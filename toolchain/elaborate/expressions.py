"""Expressions: names, attributes, subscripts, operators, literals and calls."""

import re
from fractions import Fraction
from typing import Any, cast

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate import builtins
from ktc.elaborate.body import UNIT_CONST
from ktc.elaborate.displays import Displays
from ktc.elaborate.function_types import convention_of
from ktc.elaborate.function_values import FunctionValues
from ktc.elaborate.instances import Abort, Symbolic
from ktc.elaborate.mismatch import Mismatch
from ktc.elaborate.scope import AliasInfo, FnSet, ImportRef, Scope, StructInfo, TraitInfo, Var
from ktc.elaborate.suggestions import suggest, suggest_name
from ktc.elaborate.values import (
    FOREIGN,
    KV,
    LV,
    OPAQUE,
    RV,
    Arg,
    BoundAlias,
    FnTy,
    FnVal,
    Method,
    ModuleVal,
    Opaque,
    PackPV,
    PackVal,
    PartialTy,
    StructTy,
    Sym,
    TraitTy,
    Ty,
    said,
)  # fmt: skip
from ktc.ir import nodes, ops, types
from ktc.syntax import ast

BINARY = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "<<": "lshift", ">>": "rshift", "&": "and", "|": "or", "^": "xor",
}  # fmt: skip
COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
MIRROR = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
MAX_EXPONENT = 5000
"""Decimal exponents beyond this are out of the range of every float type, whatever the digits."""


class Expressions(Displays, FunctionValues):
    """The part of a body that elaborates expressions."""

    def expr(self, node: ast.Expr, expected: Ty | None = None) -> Any:
        """Elaborate an expression; `expected` is a hint for displays."""
        match node:
            case ast.Name():
                return self.name(node)
            case ast.IntLit(value=value):
                return self.elab.literal("IntLiteral", "!kgen.int_literal", value)
            case ast.FloatLit(text=text):
                return self.elab.literal("FloatLiteral", "!kgen.float_literal", _exact(text))
            case ast.StrLit(value=text):
                return self.elab.literal("StringLiteral", "!kgen.string", text)
            case ast.BoolLit(value=value):
                return self.elab.bool_constant(value)
            case ast.NoneLit():
                return KV(self.elab.library_type("NoneType"), ())
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node, expected)
            case ast.Call():
                return self.call_node(node, expected)
            case ast.Binary():
                return self.binary(node)
            case ast.Unary():
                return self.unary(node)
            case ast.Compare():
                return self.compare(node)
            case ast.BoolOp():
                return self.bool_op(node)
            case ast.Ternary():
                return self.ternary(node, expected)
            case ast.TupleLit(items=items):
                return self.tuple_of(node, items)
            case ast.ListLit(items=items):
                return self.display(node, items, "List", expected)
            case ast.SetLit(items=items):
                return self.display(node, items, "Set", expected)
            case ast.DictLit(items=items):
                return self.dict_of(node, items, expected)
            case ast.Transfer(value=value):
                return self.transfer(node, value)
            case ast.Walrus():
                target = ast.Name(node.start, node.end, node.name)
                self.store(target, self.materialize(self.expr(node.value)), node)  # type: ignore[attr-defined]
                return self.expr(target)
            case ast.FString():
                return self.fstring(node)
            case ast.Comprehension():
                return self.comprehension(node)
            case ast.Star(value=value) if value is not None:
                return self.expr(value)
            case ast.FunctionType():
                return self.function_type(node)
            case ast.Slice():
                parts = [node.lower, node.upper, node.step]
                args = [
                    self.arg(p) if p else Arg(self.expr(ast.NoneLit(node.start, node.end)), self.at(node))
                    for p in parts
                ]
                return self.call(self.elab.library_type("Slice"), args, [], self.at(node))
            case _:
                words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
                self.fail(Code.UNSUPPORTED, f"this construct ({words}) is not supported yet", self.at(node))

    # ---- names ----

    def find(self, name: str) -> Any:
        """Return the binding of a name, or None."""
        scope: Scope | None = self.scope
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                if isinstance(found, ImportRef):
                    found = self.elab.follow(found)
                    if found is not None:  # `unknown` knows a failed import by what stays
                        scope.names[name] = found
                return found
            if scope.struct is not None:
                member = self.elab.member(scope.struct, name)
                if isinstance(member, AliasInfo):
                    return self.elab.alias_value(member, scope.struct)
            scope = scope.parent
        found = self.elab.module_name(self.module, name)
        if found is None and self.elab.prelude_scope is not None:
            found = self.elab.prelude_name(name)
        return found

    def name(self, node: ast.Name) -> Any:
        """Elaborate a name."""
        found = self.find(node.id)
        if found is None:
            return self.unknown(node)
        return self.resolve(found, node)

    def unknown(self, node: ast.Name) -> Any:
        """Handle the few names that the language itself defines, else report."""
        if node.id in ("__mlir_type", "__mlir_op", "__type_of", "type_of", "__origin_of", "origin_of", "Some"):
            self.fail(Code.SYNTAX_ERROR, f"'{node.id}' cannot stand alone", self.at(node))
        if node.id == "_":
            return None
        names: list[str] = []
        for scope in self.scope.chain():
            if node.id in scope.names:
                raise Abort  # a failed import, which was reported
            names += scope.names
        if self.elab.prelude_scope is not None:
            names += self.elab.prelude_scope.names
        fn = self.instance.fn if self.instance is not None else None
        if fn is not None and isinstance(fn.owner, StructInfo) and node.id in fn.owner.members:
            help = f"write '{fn.owner.name if fn.static else 'self'}.{node.id}'"
        elif fn is not None and fn.static and node.id == "self":
            help = "a static method has no 'self'"
        else:
            help = suggest_name(node.id, names, self.elab.config.stdlib)
        self.fail(Code.UNDEFINED_NAME, f"'{node.id}' is not defined", self.at(node), help)

    def resolve(self, found: Any, node: Any) -> Any:
        """Turn a binding into what an expression gives."""
        match found:
            case Var():
                return self.variable(found, node)
            case FnSet():
                return FnVal(found, env=found.functions[0].parent)
            case StructInfo():
                if found.deprecated and not self.module.is_library:
                    self.elab.warn_deprecated(found, self.at(node))
                return (
                    self.elab.struct(found, ())
                    if not found.node.params
                    else PartialTy(found, (None,) * len(found.node.params))
                )
            case TraitInfo():
                return self.elab.trait((found,))
            case AliasInfo():
                return self.elab.alias_value(found, None)
            case _:
                return found

    def require(self, place: LV, node: Any, leaves: bool = False) -> None:
        """A value must be in this place; `leaves`: for it is the function's result."""
        local = place.local
        if local is None or local in self.trusted or not self.tracked(local):
            return
        self.emit(nodes.Mark("result" if leaves else "require", local, place.path[:1], self.at(node)))

    def variable(self, var: Var, node: Any, part: bool = False) -> Any:
        """Return the value of a variable; `part`: only a part of it is asked for, and the rest may be missing."""
        if var.body is not None and var.body is not self:
            return self.foreign(var, node)
        if self.builtin_self is not None and var.kind == "out":
            if "whole" in self.builtin_self:
                return self.builtin_self["whole"]
            return var.value
        value = var.value
        if isinstance(value, LV):
            if value.local is not None and not part:
                self.require(value, node)
            return LV(value.ty, value.pointer, value.mutable, value.local, value.path, False, value.why, value.loans)
        if isinstance(value, RV):
            return RV(value.ty, value.ir, f"'{var.name}', which is read only", value.loans)
        return value

    def foreign(self, var: Var, node: Any) -> Any:
        """Return a variable of another body: captured, or known only by its type."""
        if isinstance(var.value, KV):
            return var.value
        captured = self.captured(var)  # type: ignore[attr-defined]
        if captured is not None:
            return captured
        return LV(var.ty, nodes.LocalAddress(FOREIGN), False, None, (), False, "foreign")

    # ---- attributes ----

    def attribute(self, node: ast.Attribute) -> Any:
        """Elaborate `value.name`."""
        if isinstance(node.value, ast.Name) and node.value.id == "__mlir_type":
            try:
                return self.elab.prim(node.name)
            except ValueError as why:
                self.fail(Code.UNDEFINED_NAME, str(why), self.at(node))
        return self.required(self.part(node), node)

    def required(self, value: Any, node: Any) -> Any:
        """Require what `part` gave."""
        if isinstance(value, LV) and value.local is not None and not value.owned:
            self.require(value, node)
        return value

    def part(self, node: ast.Expr) -> Any:
        """Elaborate a variable or a field of one, whether or not it has a value; anything else as `expr` does."""
        if isinstance(node, ast.Name):
            found = self.find(node.id)
            return self.variable(found, node, True) if isinstance(found, Var) else self.expr(node)
        if not isinstance(node, ast.Attribute) or (isinstance(node.value, ast.Name) and node.value.id[:5] == "__mli"):
            return self.expr(node)
        base = self.part(node.value)
        if isinstance(base, LV) and base.local is not None:
            if isinstance(base.ty, StructTy) and isinstance(self.elab.member(base.ty, node.name), ast.VarDecl):
                return self.field(base, node.name)
            self.required(base, node.value)
        return self.member_of(base, node.name, node)

    def member_of(self, base: Any, name: str, node: Any) -> Any:
        """Return a member of a value, a type or a module."""
        elab = self.elab
        match base:
            case ModuleVal(module):
                found = elab.module_name(module, name)
                if found is None:
                    found = elab.submodule(module, name)
                if found is None:
                    names = list(module.scope.names)
                    self.fail(
                        Code.NO_MEMBER,
                        f"module '{module.name.removeprefix('std.')}' has no '{name}'",
                        self.at(node),
                        suggest(name, names),
                    )
                return self.resolve(found, node)
            case StructTy():
                return self.type_member(base, name, node)
            case PartialTy(info, _):
                open_ty = elab.symbolic_struct(info)
                member = elab.member(open_ty, name)
                values = tuple(b if p is None else p for p, b in zip(base.params, open_ty.params, strict=True))
                if isinstance(member, FnSet):
                    return FnVal(member, (), (), elab.struct(info, values))
                try:
                    found = self.type_member(elab.struct(info, values), name, node)
                    if not isinstance(found, (Sym, Opaque)):
                        return found
                except Symbolic:
                    pass
                self.fail(
                    Code.CANNOT_INFER, f"'{info.name}' needs parameters before its member '{name}'", self.at(node)
                )
            case RV() | LV() | KV():
                return self.value_member(base, name, node)
            case Sym() | Opaque():
                raise Symbolic
            case PackVal(items) if name == "__len__":
                return KV(elab.library_type("Int"), len(items))
            case FnVal():
                self.fail(Code.NO_MEMBER, f"a function has no member '{name}'", self.at(node))
            case _:
                self.fail(Code.NO_MEMBER, f"'{base}' has no member '{name}'", self.at(node))

    def type_member(self, ty: StructTy, name: str, node: Any) -> Any:
        """Return a member of a type: a parameter, an alias or a method."""
        for param, value in zip(ty.info.node.params, ty.params, strict=True):
            if param.name == name:
                return value
        member = self.elab.member(ty, name)
        if isinstance(member, AliasInfo):
            return self.elab.alias_value(member, ty)
        if isinstance(member, FnSet):
            statics = [fn for fn in member.functions if fn.static]
            chosen = FnSet(name, statics) if statics and len(statics) != len(member.functions) else member
            return FnVal(self.elab.static_set(member, chosen), (), (), ty)
        if ty.info.fieldwise and name == "__init__":
            return ty
        if name in ("__copyinit__", "__moveinit__"):
            return FnVal(FnSet(name, []), (), (), ty)
        if ty.symbolic:
            raise Symbolic
        self.no_member(ty, name, node)
        return None

    def no_member(self, ty: Ty, name: str, node: Any) -> None:
        """Report a missing member."""
        names = list(ty.info.members) if isinstance(ty, StructTy) else []
        help_text = suggest(name, [n for n in names if not n.startswith("_")])
        start = getattr(node, "name_start", node.start)
        span = self.at(node)
        span = type(span)(span.source, start, max(node.end, start + 1))
        self.fail(Code.NO_MEMBER, f"'{self.elab.type_name(ty)}' has no member '{name}'", span, help_text)

    def value_member(self, base: Any, name: str, node: Any) -> Any:
        """Return a member of a value."""
        ty = base.ty
        if not isinstance(ty, StructTy):
            if name in ("value", "__mlir_value"):
                return base
            self.no_member(ty, name, node)
        member = self.elab.member(ty, name)
        if isinstance(member, ast.VarDecl):
            if (
                self.builtin_self is not None
                and isinstance(base, RV)
                and base.ir is UNIT_CONST
                and name in self.builtin_self
            ):
                return self.builtin_self[name]
            return self.field(base, name) if isinstance(base, LV) else self.field_value(base, name)
        if isinstance(member, FnSet):
            return Method(base, FnVal(member, (), (), ty))
        for param, value in zip(ty.info.node.params, ty.params, strict=True):
            if param.name == name:
                return value
        if isinstance(member, AliasInfo):
            return self.elab.alias_value(member, ty)
        getter = self.elab.method_set(ty, "__getattr__")
        if getter is not None:
            text = self.elab.literal("StringLiteral", "!kgen.string", name)
            if getter.functions[0].node.params:
                return self.call_fn(FnVal(getter, (text,), (), ty), [Arg(base, self.at(node))], [], self.at(node), True)
            return self.call_fn(
                FnVal(getter, (), (), ty), [Arg(base, self.at(node)), Arg(text, self.at(node))], [], self.at(node), True
            )
        self.no_member(ty, name, node)
        return None

    # ---- subscripts ----

    def param_arg(self, node: ast.Expr) -> Any:
        """Elaborate one value in a parameter list."""
        if isinstance(node, ast.Name) and node.id == "_":
            return None
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
            self.fail(why.code, why.message, why.span or self.at(node), why.help())

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
                index = self.elab.index_of(self.param_arg(node.args[0]))
                index += len(items) if index < 0 else 0
                if not 0 <= index < len(items):
                    text = f"there is no item {index} among {len(items)}"
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
            self.fail(
                Code.NO_MEMBER, f"'{self.elab.type_name(base.ty)}' has no '__getitem__', so it takes no index", span
            )
        static = all(
            fn.node.params and sum(arg.convention != "out" for arg in fn.node.args) == 1 for fn in getter.functions
        )
        fn = FnVal(getter, (), (), base.ty)
        if static:
            fn = self.elab.partial_of(fn, *self.param_list(node))
            return self.call_fn(fn, [Arg(base, span)], [], span, True)
        args = [Arg(base, span), *(self.late_arg(item) for item in node.args)]
        kw = [self.keyword(k) for k in node.keywords]
        return self.call_fn(fn, args, kw, span, True)

    # ---- calls ----

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
        outer, self.span = self.span, self.at(node)
        try:
            callee = self.expr(node.func)
            if isinstance(callee, (Sym, Opaque)):
                raise Symbolic
            pos = [self.late_arg(item) for item in node.args]
            kw = [self.keyword(item) for item in node.keywords]
            if isinstance(callee, FnVal) and not callee.set.functions:
                return self.synthesised(callee, pos, node)
            return self.call(callee, pos, kw, self.at(node))
        except Mismatch as why:
            self.fail(why.code, why.message, why.span or self.at(node), why.help())
        finally:
            self.span = outer

    def synthesised(self, callee: FnVal, pos: list[Arg], node: ast.Call) -> Any:
        """Call a `__copyinit__` or `__moveinit__` that the struct does not write: `Self.__copyinit__(x)`."""
        assert callee.self_ty is not None and pos
        ty = callee.self_ty
        made = self.temporary(ty)
        value = self.place(pos[0].value)
        if callee.set.name == "__copyinit__":
            self.copy_to(ty, made.pointer, value, self.at(node), True)
        else:
            self.move_bits(ty, made.pointer, value)
        self.mark("init", made)
        return made if self.elab.abi(ty) == "memory" else RV(ty, self.rvalue(made))

    def special_call(self, node: ast.Call) -> Any:
        """Elaborate the calls that the language itself defines; None for all others."""
        func = node.func
        if isinstance(func, ast.Name) and func.id in ("__type_of", "type_of", "__origin_of", "origin_of"):
            return self.reflect(func.id, node)
        attrs: ast.Subscript | None = None
        if isinstance(func, ast.Subscript):
            attrs, func = func, func.base
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "__mlir_op":
            values: dict[str, Any] = {}
            if attrs is not None:
                for key in attrs.keywords:
                    value = self.param_arg(key.value)
                    if isinstance(value, (Sym, Opaque)) or getattr(value, "symbolic", False):
                        raise Symbolic
                    values[key.name] = value
            args = [self.arg(item).value for item in node.args]
            outer, self.span = self.span, self.span or self.at(node)
            try:
                return builtins.operation(self, func.name, values, args, self.at(node))  # type: ignore[arg-type]
            finally:
                self.span = outer
        return None

    def reflect(self, name: str, node: ast.Call) -> Any:
        """Elaborate `type_of(x)` and `origin_of(x)`: nothing is evaluated."""
        body = self.elab.new_body(self.module, self.scope, self.instance)
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

    # ---- operators ----

    def binary(self, node: ast.Binary) -> Any:
        """Elaborate `left op right`."""
        left = self.expr(node.left)
        if isinstance(left, TraitTy) and node.op == "&":
            right = self.expr(node.right)
            assert isinstance(right, TraitTy)
            return self.elab.trait(tuple(dict.fromkeys(left.traits + right.traits)))
        right = self.expr(node.right)
        return self.operate(node.op, left, right, node)

    def operate(self, op: str, left: Any, right: Any, node: Any) -> Any:
        """Apply a binary operator to values."""
        if isinstance(left, (Sym, Opaque)) or isinstance(right, (Sym, Opaque)):
            raise Symbolic
        name = BINARY[op]
        made = self.dunder(left, f"__{name}__", [right], node)
        if made is None:
            made = self.dunder(right, f"__r{name}__", [left], node)
        if made is None and isinstance(left, (RV, LV, KV)) and isinstance(right, (RV, LV, KV)):
            plain = self.materialize(left)
            if plain is not left:
                made = self.dunder(plain, f"__{name}__", [right], node)
            if made is None and isinstance(left, KV):
                made = self._literals(name, left, right, node)
        if made is None:
            self.no_operator(op, left, right, node)
        return made

    def _literals(self, name: str, left: KV, right: Any, node: Any) -> Any:
        """Two literals of different kinds: the left becomes what the right is made of."""
        if isinstance(right, KV) and isinstance(right.ty, StructTy) and right.ty.info.materialized is not None:
            want = self.elab.materialized(right.ty, False)
            converted = self.try_convert(left, want, None)
            if converted is not None:
                return self.dunder(converted, f"__{name}__", [right], node)
        return None

    def dunder(self, base: Any, name: str, args: list[Any], node: Any) -> Any:
        """Call a method if the value has it and it takes the arguments, else return None."""
        if not isinstance(base, (RV, LV, KV)):
            return None
        fns = self.elab.method_set(base.ty, name)
        if fns is None:
            return None
        span = self.at(node)
        pos = [Arg(base, span), *(Arg(a, span) for a in args)]
        fn = FnVal(fns, (), (), base.ty)  # type: ignore[arg-type]
        key = self._site_key(fn, pos, [], True)
        found = self.state.memo.get(key) if key is not None else None
        if found is None:
            outer, self.span = self.span, self.span or span
            try:
                found = self.choose(fns, base.ty, (), (), pos, [], span, quiet=True, receiver=True)  # type: ignore[arg-type]
            finally:
                self.span = outer
            if found is None:
                return None
            if key is not None:
                self.state.memo[key] = found
        else:
            found = self._reslot(found, pos, [], True)
        outer, self.span = self.span, span
        try:
            return self.emit_call(found, span)
        finally:
            self.span = outer

    def no_operator(self, op: str, left: Any, right: Any, node: Any) -> None:
        """Report an operator that the operands do not have."""
        a, b = (self.elab.type_name(v.ty) if isinstance(v, (RV, LV, KV)) else said(v) for v in (left, right))
        help_text = "convert one of them" if isinstance(left, (RV, LV, KV)) and isinstance(right, (RV, LV, KV)) else ""
        if help_text and a == b and isinstance(left.ty, StructTy) and not left.ty.info.module.is_library:
            name = BINARY.get(op) or COMPARE.get(op)
            help_text = f"give '{left.ty.info.name}' the method '__{name}__'" if name else ""
        self.fail(Code.TYPE_MISMATCH, f"'{op}' does not take '{a}' and '{b}'", self.at(node), help_text)

    def unary(self, node: ast.Unary) -> Any:
        """Elaborate `-x`, `+x`, `~x`, `not x`."""
        if node.op == "not":
            return RV(self.elab.library_type("Bool"), self.truth(node))
        value = self.expr(node.value)
        if isinstance(value, (Sym, Opaque)):
            raise Symbolic
        name = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}[node.op]
        made = self.dunder(value, name, [], node)
        if made is None:
            shown = self.elab.type_name(value.ty) if isinstance(value, (RV, LV, KV)) else said(value)
            self.fail(Code.TYPE_MISMATCH, f"'{node.op}' does not take '{shown}'", self.at(node))
        return made

    def condition(self, value: Any, node: Any) -> nodes.Value:
        """Return the truth of a value as an i1."""
        if isinstance(value, (Sym, Opaque)):
            raise Symbolic
        if isinstance(value, (RV, LV, KV)):
            prim = self.elab.base_prim(value.ty)
            if prim is not None and prim.name == "i1":
                return self.rvalue(value)
            made = self.dunder(value, "__bool__", [], node)
            if made is not None and made.ty is not value.ty:
                return self.condition(made, node)
            converted = self.try_convert(value, self.elab.library_type("Bool"), self.at(node))
            if converted is not None:
                return self.rvalue(converted)
        shown = self.elab.type_name(value.ty) if isinstance(value, (RV, LV, KV)) else said(value)
        self.fail(Code.TYPE_MISMATCH, f"'{shown}' is neither true nor false: it has no '__bool__'", self.at(node))

    def compare(self, node: ast.Compare) -> Any:
        """Elaborate a chain of comparisons; each operand is evaluated once."""
        left = self.expr(node.first)
        if len(node.ops) == 1:
            return self.compare_two(node.ops[0], left, self.expr(node.rest[0]), node)
        bool_ty = self.elab.library_type("Bool")
        local = self.local(types.BOOL, "chain")
        self.emit(nodes.Store(nodes.LocalAddress(local), nodes.Const(types.BOOL, 0)))
        label = self.fresh()
        self.open()
        for i, (op, rest) in enumerate(zip(node.ops, node.rest, strict=True)):
            right = self.expr(rest)
            if isinstance(right, LV) and self.elab.abi(right.ty) == "direct":
                right = RV(right.ty, self.rvalue(right))
            truth = self.condition(self.compare_two(op, left, right, node), node)
            if i < len(node.ops) - 1:
                self.emit(nodes.If(ops.build("xor", (truth, nodes.Const(types.BOOL, 1))), (nodes.Break(label),)))
            else:
                self.emit(nodes.Store(nodes.LocalAddress(local), truth))
            left = right
        self.emit(nodes.Block(label, self.close()))
        return RV(bool_ty, self.let(nodes.Load(nodes.LocalAddress(local), types.BOOL), types.BOOL))

    def compare_two(self, op: str, left: Any, right: Any, node: Any) -> Any:
        """Elaborate one comparison."""
        if isinstance(left, (Sym, Opaque)) or isinstance(right, (Sym, Opaque)):
            raise Symbolic
        if op in ("in", "not-in"):
            made = self.dunder(right, "__contains__", [left], node)
            if made is None:
                self.no_operator("in", left, right, node)
            return self.negated(made, node) if op == "not-in" else made
        if op in ("is", "is-not"):
            made = self.dunder(left, "__is__" if op == "is" else "__isnot__", [right], node)
            if made is None:
                self.no_operator(op.replace("-", " "), left, right, node)
            return made
        if isinstance(left, Ty) and isinstance(right, Ty):
            same = (left is right) == (op == "==")
            return self.elab.bool_constant(same)
        name = COMPARE[op]
        made = self.dunder(left, f"__{name}__", [right], node)
        if made is None:
            made = self.dunder(right, f"__{MIRROR[name]}__", [left], node)
        if made is None:
            plain = self.materialize(left)
            if plain is not left:
                made = self.dunder(plain, f"__{name}__", [right], node)
        if made is None:
            self.no_operator(op, left, right, node)
        return made

    def negated(self, value: Any, node: Any) -> Any:
        """Return `not value`."""
        truth = self.condition(value, node)
        return RV(self.elab.library_type("Bool"), ops.build("xor", (truth, nodes.Const(types.BOOL, 1))))

    def truth(self, node: ast.Expr) -> nodes.Value:
        """Elaborate an expression of which only the truth matters, as an i1; `and` and `or` copy nothing then."""
        match node:
            case ast.BoolOp(op=op):
                left = self.truth(node.left)
                if isinstance(left, nodes.Const):
                    return left if bool(left.value) == (op == "or") else self.truth(node.right)
                local = self.local(types.BOOL, op)
                self.emit(nodes.Store(nodes.LocalAddress(local), left))
                self.open()
                self.emit(nodes.Store(nodes.LocalAddress(local), self.truth(node.right)))
                done = self.close()
                self.dead = False
                self.emit(nodes.If(left, done, ()) if op == "and" else nodes.If(left, (), done))
                return self.let(nodes.Load(nodes.LocalAddress(local), types.BOOL), types.BOOL)
            case ast.Unary(op="not", value=value):
                return ops.build("xor", (self.truth(value), nodes.Const(types.BOOL, 1)))
        return self.condition(self.expr(node), node)

    def bool_op(self, node: ast.BoolOp) -> Any:
        """Elaborate `and` / `or` with short circuit: the value of the operand that decides."""
        bool_ty = self.elab.library_type("Bool")
        left = self.materialize(self.expr(node.left))
        truth = self.condition(left, node.left)
        plain = left.ty is bool_ty
        if isinstance(truth, nodes.Const):
            if bool(truth.value) == (node.op == "or"):
                return KV(bool_ty, truth.value) if plain else left
            if plain:
                return RV(bool_ty, self.truth(node.right))
            right = self.materialize(self.expr(node.right))
            ty = self._common([left, right], bool_ty, node)
            if ty is bool_ty:
                return RV(bool_ty, self.condition(right, node.right))
            return self.convert(right, ty, self.at(node.right))
        self.open()
        right = self.expr(node.right)
        statements, self.statements = self.statements, self.blocks.pop()
        self.dead = False
        ty = bool_ty if plain else self._common([left, right], bool_ty, node)
        plain = ty is bool_ty
        made = self.temporary(ty)
        arms: list[tuple[nodes.Statement, ...]] = []
        for value, body, part in ((left, [], node.left), (right, statements, node.right)):
            self.blocks.append(self.statements)
            self.statements = body
            if plain:
                value = RV(bool_ty, self.condition(self.materialize(value), part))
            self.init_place(ty, made.pointer, self.convert(value, ty, self.at(part)), self.at(part))
            self.mark("init", made)
            arms.append(self.close())
        then, orelse = arms if node.op == "or" else (arms[1], arms[0])
        self.emit(nodes.If(truth, then, orelse, self.at(node)))
        return RV(ty, self.rvalue(made)) if self.elab.abi(ty) == "direct" else made

    def ternary(self, node: ast.Ternary, expected: Ty | None) -> Any:
        """Elaborate `a if c else b`."""
        condition = self.truth(node.condition)
        if isinstance(condition, nodes.Const):
            return self.expr(node.then if condition.value else node.orelse, expected)
        lists, values = [], []
        for part in (node.then, node.orelse):
            self.open()
            value = self.expr(part, expected)
            values.append(self.materialize(value) if isinstance(value, FnVal) else value)
            lists.append(self.statements)
            self.statements = self.blocks.pop()
            self.dead = False
        ty = self._common(values, expected, node)
        made = self.temporary(ty, "", self._loans_of_all(values))
        arms = []
        for value, statements, part in zip(values, lists, (node.then, node.orelse), strict=True):
            self.blocks.append(self.statements)
            self.statements = statements
            self.init_moved(ty, made.pointer, self.convert(value, ty, self.at(part)), self.at(part))
            self.mark("init", made)
            arms.append(self.close())
        self.emit(nodes.If(condition, arms[0], arms[1], self.at(node)))
        if self.elab.abi(ty) == "direct":
            return RV(ty, self.rvalue(made), loans=self.loans_of(made))
        return made

    def _common(self, values: list[Any], expected: Ty | None, node: Any) -> Ty:
        a, b = values
        if not isinstance(a, (RV, LV, KV)) or not isinstance(b, (RV, LV, KV)):
            self.fail(Code.TYPE_MISMATCH, "both sides of a conditional expression must be values", self.at(node))
        if a.ty is b.ty:
            return cast(Ty, self.elab.materialized(a.ty, False))
        plain_a: Ty = self.elab.materialized(a.ty, False)
        plain_b: Ty = self.elab.materialized(b.ty, False)
        if plain_a is plain_b:
            return plain_a
        for want, other in ((plain_a, b), (plain_b, a)):
            if self.conversion(other.ty, want) is not None and not (want is plain_a and plain_a is not a.ty):
                return want
        for want, other in ((plain_b, a), (plain_a, b)):
            if self.conversion(other.ty, want) is not None:
                return want
        if isinstance(node, ast.BoolOp) and expected is not None:
            return expected
        shown = self.elab.type_name
        self.fail(Code.TYPE_MISMATCH, f"'{shown(a.ty)}' and '{shown(b.ty)}' have no common type", self.at(node))

    # ---- displays ----

    def tuple_of(self, node: Any, items: tuple[ast.Expr, ...]) -> Any:
        """Make a tuple; of types, the type of tuples."""
        values = [self.expr(item) for item in items]
        if any(isinstance(v, (Sym, Opaque)) for v in values):
            raise Symbolic
        if values and all(isinstance(v, Ty) for v in values):
            return self.elab.tuple_type(tuple(values))
        values = [self.materialize(v) for v in values]
        kinds = []
        for value, item in zip(values, items, strict=True):
            if not isinstance(value, (RV, LV, KV)):
                self.fail(Code.TYPE_MISMATCH, "a value is wanted here", self.at(item))
            kinds.append(value.ty)
        ty = self.elab.tuple_type(tuple(kinds))
        args = [Arg(v, self.at(i)) for v, i in zip(values, items, strict=True)]
        return self.call(ty, args, [], self.at(node))

    def fstring(self, node: ast.FString) -> Any:
        """Make the text of an f-string."""
        args = []
        for part in node.parts:
            if isinstance(part, ast.FField):
                value = self.arg(part.value)
                if part.conversion == "r":
                    value = Arg(self.call(self.find_fn("repr"), [value], [], self.at(part)), self.at(part))
                args.append(self.formatted(value, part) if part.spec else value)
            else:
                args.append(Arg(self.expr(part), self.at(node)))
        return self.call(self.elab.library_type("String"), args, [], self.at(node))

    def formatted(self, value: Arg, part: ast.FField) -> Arg:
        """Return the text of a field; the library reads the specification, errors lie at it."""
        end = part.end - 1
        span = Span(self.at(part).source, end - len(part.spec), end)
        spec = self.elab.literal("StringLiteral", "!kgen.string", part.spec)
        function = self.elab.partial_of(self.find_fn("__format_value"), (spec,), ())
        outer, self.span = self.span, span
        try:
            return Arg(self.call(function, [value], [], span), span)
        finally:
            self.span = outer

    def find_fn(self, name: str) -> Any:
        """Return a function of the prelude."""
        return FnVal(self.elab.prelude_name(name))

    def transfer(self, node: Any, value: ast.Expr) -> Any:
        """Elaborate `value^`."""
        found = self.expr(value)
        if isinstance(found, LV):
            if found.why == "foreign":
                return found
            if not found.mutable and not self.elab.is_trivial(found.ty):
                self.fail(Code.IMMUTABLE, f"this cannot be moved: it is {found.why or 'read only'}", self.at(node))
            if found.local is None and not found.owned and not self.elab.is_trivial(found.ty):
                self.fail(Code.IMMUTABLE, "this cannot be moved: it lies behind a reference", self.at(node))
            return LV(found.ty, found.pointer, True, found.local, found.path, True, found.why, found.loans)
        return found

    def function_type(self, node: ast.FunctionType) -> Any:
        """Make a function type."""
        raises = node.raises or node.is_def
        args = [a for a in node.args if a.convention != "out"]
        if node.params or any(a.type is None or a.kind in ("star", "starstar") for a in args):
            return FnTy(tuple(("", None) for _ in args), None, raises, node.effects, ast=node)
        kinds = tuple((convention_of(a), self._part(a.type)) for a in args)
        written = node.result or next((a.type for a in node.args if a.convention == "out"), None)
        result = self._part(written) if written is not None else self.elab.library_type("NoneType")
        ref = None
        if node.result_ref is not None:
            ref = True
        return self.elab.function_type(kinds, result, raises, node.effects, tuple(args), ref)

    def _part(self, node: ast.Expr | None) -> Any:
        """Return a type in a function type; it may be open."""
        assert node is not None
        value = self.expr(node)
        if isinstance(value, KV) and isinstance(node, (ast.NoneLit, ast.TupleLit)):
            return value.ty
        if not isinstance(value, (Ty, Sym, Opaque, PartialTy, PackPV)):
            self.fail(Code.TYPE_MISMATCH, "a type is wanted here", self.at(node))
        return value


def _exact(text: str) -> Any:
    """Return the number that a literal writes; far out of every range infinity or zero, not a huge fraction."""
    exponent = text.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > MAX_EXPONENT + len(text):
        return float(text)
    return Fraction(text)
