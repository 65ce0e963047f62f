"""Statements: declarations, assignments, control flow, errors."""

from dataclasses import dataclass, replace
from typing import Any, NoReturn

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.broken import declared_names
from ktc.elaborate.expressions import BINARY, Expressions
from ktc.elaborate.instances import Abort
from ktc.elaborate.mentions import moved
from ktc.elaborate.scope import AliasInfo, FnInfo, FnSet, Scope, Var
from ktc.elaborate.unrolling import iterate
from ktc.elaborate.values import KV, LV, RV, Arg, FnTy, FnVal, PackPV, StructTy, Ty
from ktc.ir import nodes, ops, types
from ktc.syntax import ast

NOT = nodes.Const(types.BOOL, 1)


@dataclass(slots=True, eq=False)
class _Item(ast.Node):
    """The innermost part of a comprehension: what to do with each item."""

    action: Any


class Statements(Expressions):
    """The part of a body that elaborates statements."""

    # ---- blocks ----

    def block(self, body: tuple[ast.Stmt, ...], names: dict[str, Any] | None = None) -> None:
        """Elaborate statements in a scope of their own; an error in one does not stop the others."""
        outer, self.scope = self.scope, Scope(self.scope, "block", names or {}, body=self)
        depths = len(self.blocks), len(self.loops), len(self.handlers), len(self.finals), len(self.current_error)
        try:
            for statement in body:
                if self.dead:
                    break
                self.span = self.at(statement)
                try:
                    self.statement(statement)
                except Abort:
                    if self.instance is not None:
                        self.instance.failed = True
                    if self.module.is_library or (self.comptime and self.inline_result is None):
                        raise  # what else is wrong in the library then follows from the first mistake
                    self._give_up(statement, depths)
        finally:
            self.scope = outer

    def _give_up(self, statement: ast.Stmt, depths: tuple[int, ...]) -> None:
        """After an error: go on behind the statement; nothing is said about names that it would have declared."""
        blocks, loops, handlers, finals, errors = depths
        while len(self.blocks) > blocks:
            self.close()
        del self.loops[loops:], self.handlers[handlers:], self.handler_depths[handlers:]
        del self.finals[finals:], self.current_error[errors:]
        self.dead = False
        inner, whole = declared_names(statement)
        for scope, found in ((self.scope, inner), (self.function_scope, whole)):
            for name in found:
                if self.find(name) is None:
                    scope.names[name] = None  # `unknown` knows a failed declaration by it

    def statement(self, node: ast.Stmt) -> None:
        """Elaborate one statement."""
        match node:
            case ast.ExprStmt(value=value):
                if not isinstance(value, (ast.StrLit, ast.EllipsisLit)):
                    made = self.expr(value)
                    self.effect(made)
                    if not self.module.is_library:
                        self.elab.warn_unused(self, made, value)
            case ast.VarDecl():
                self.var_decl(node)
            case ast.Assign():
                self.assign(node)
            case ast.AugAssign():
                self.aug_assign(node)
            case ast.Return():
                self.return_(node)
            case ast.If():
                self.if_(node)
            case ast.While():
                self.while_(node)
            case ast.For():
                self.for_(node)
            case ast.Break():
                self.jump(True, node)
            case ast.Continue():
                self.jump(False, node)
            case ast.Pass():
                pass
            case ast.Alias():
                self.alias(node)
            case ast.FunctionDecl():
                self.nested(node)
            case ast.Raise():
                self.raise_(node)
            case ast.Try():
                self.try_(node)
            case ast.With():
                self.with_(node.items, node.body, node)
            case ast.StaticAssert():
                self.static_assert(node)
            case ast.Import() | ast.FromImport():
                self.elab.add_imports(self.scope.names, node, self.module)
            case _Item():
                node.action()
            case _:
                what = type(node).__name__.lower()
                self.fail(
                    Code.UNSUPPORTED, f"this statement ({what}) is not supported inside a function", self.at(node)
                )

    def effect(self, value: Any) -> None:
        """Drop the value of an expression."""
        if isinstance(value, LV) and value.local is not None and value.owned and not value.local.name:
            self.emit(nodes.Mark("use", value.local))

    # ---- variables ----

    def declare_var(
        self, name: str, value: Any, span: Span, kind: str = "var", function_scope: bool = False,
        value_span: Span | None = None,
    ) -> Var:  # fmt: skip
        """Declare a variable with a value; `span` is the name's."""
        if not isinstance(value, (RV, LV, KV)):
            if isinstance(value, Ty) and not self.module.is_library:
                text = f"'{name}' cannot hold a type"
                self.fail(Code.TYPE_MISMATCH, text, span, f"write 'alias {name} = …' for another name of the type")
            if isinstance(value, (FnVal, Ty, PackPV)):
                (self.function_scope if function_scope else self.scope).names[name] = value
                return Var(name, self.elab.prim("!kgen.none"), KV(self.elab.prim("!kgen.none"), ()), span)
            self.fail(Code.TYPE_MISMATCH, f"'{name}' cannot hold this", span)
        ty = value.ty
        local = nodes.Local(self.fresh(), self.elab.ir(ty), name, span=span)
        local.drop = self.drop_symbol(ty)
        self.pin(local, ty, self.loans_of(value))
        if function_scope and self.blocks:
            self.hoisted.append(nodes.Declare(local))
        else:
            self.emit(nodes.Declare(local))
        place = LV(ty, nodes.LocalAddress(local), True, local)
        if not local.drop and not self.module.is_library and self.instance and name in moved(self.instance.fn):
            self.late_locals.add(local)  # whether there is still a value matters here, too
        self.init_place(ty, place.pointer, value, value_span or span)
        self.mark("init", place)
        var = Var(name, ty, place, span, kind, local, self)
        (self.function_scope if function_scope else self.scope).names[name] = var
        return var

    def var_decl(self, node: ast.VarDecl) -> None:
        """Elaborate `var x: T = v` and `ref x = v`."""
        want = self.declared_type(node.type) if node.type is not None else None
        if isinstance(node.target, ast.TupleLit):
            self.unpack(node.target, node.value, node, True)
            return
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        if name in self.scope.names and isinstance(self.scope.names[name], Var) and self.scope.names[name].body is self:
            self.fail(Code.DUPLICATE_DEFINITION, f"'{name}' is already declared in this block", self.at(node.target))
        if node.value is None:
            self.late(name, want, node)
            return
        value = self.expr(node.value, want if isinstance(want, Ty) else None)
        if node.kind == "ref":
            place = self.place(value)
            self.scope.names[name] = Var(name, place.ty, place, self.at(node.target), "ref", body=self)
            return
        value = (
            self.convert(value, want, self.at(node.value))
            if isinstance(want, (StructTy, FnTy))
            else self.materialize(value)
        )
        self.declare_var(name, value, self.at(node.target), value_span=self.at(node.value))

    def declared_type(self, node: ast.Expr) -> Any:
        """Return the type that an annotation names; a partial type asks only for what it gives."""
        value = self.param_arg(node)
        if value is not None and not isinstance(value, Ty) and not hasattr(value, "info"):
            if isinstance(value, KV) and isinstance(node, ast.TupleLit):
                return value.ty
            self.fail(Code.TYPE_MISMATCH, "a type is wanted here", self.at(node))
        return value

    def late(self, name: str, want: Any, node: ast.VarDecl) -> None:
        """Declare a variable without a value."""
        if not isinstance(want, Ty):
            self.fail(Code.CANNOT_INFER, f"'{name}' needs a type or a value", self.at(node))
        local = self.local(self.elab.ir(want), name, want)
        place = LV(want, nodes.LocalAddress(local), True, local)
        self.late_locals.add(local)
        self.scope.names[name] = Var(name, want, place, self.at(node.target), "late", local, self)

    def unpack(self, target: ast.TupleLit, value: ast.Expr | None, node: Any, declare: bool) -> None:
        """Elaborate `a, b = v`."""
        if value is None:
            self.fail(Code.UNINITIALIZED, "these variables need a value", self.at(node))
        if isinstance(value, ast.TupleLit) and len(value.items) == len(target.items):
            values = [self.materialize(self.expr(item)) for item in value.items]
            held = [self._held(v) for v in values]
            for part, one in zip(target.items, held, strict=True):
                self.bind_target(part, one, node, declare)
            return
        self.unpack_value(target, self.materialize(self.expr(value)), node, declare)

    def unpack_value(self, target: ast.TupleLit, whole: Any, node: Any, declare: bool) -> None:
        """Give the parts of a value to the targets."""
        whole = self.place(whole) if isinstance(whole, (RV, KV)) else whole
        pack = whole.ty.params[0] if isinstance(whole.ty, StructTy) and whole.ty.info.name == "Tuple" else None
        if isinstance(pack, PackPV) and len(pack.items) != len(target.items):
            text = f"{len(pack.items)} values cannot be unpacked into {len(target.items)} names"
            self.fail(Code.TYPE_MISMATCH, text, self.at(target))
        getter = self.elab.method_set(whole.ty, "__getitem__")
        if getter is None:
            text = f"a value of type '{self.elab.type_name(whole.ty)}' cannot be unpacked"
            self.fail(Code.TYPE_MISMATCH, text, self.at(node))
        for i, part in enumerate(target.items):
            number = Arg(KV(self.elab.library_type("Int"), i), self.at(node))
            self.bind_target(part, self.apply_index(whole, [number], node), node, declare)

    def _held(self, value: Any) -> Any:
        """Return a value that a later store cannot change."""
        if isinstance(value, LV) and not value.owned:
            if self.elab.abi(value.ty) == "direct":
                return RV(value.ty, self.rvalue(value), loans=self.loans_of(value))
            return self.own(value, self.span or self.elab.main_span())
        return value

    def bind_target(self, target: ast.Expr, value: Any, node: Any, declare: bool) -> None:
        """Give a value to one target of an assignment."""
        if isinstance(target, ast.TupleLit):
            self.unpack_value(target, self.materialize(value), node, declare)
        elif declare and isinstance(target, ast.Name) and target.id != "_":
            if isinstance(node, ast.For) and isinstance(value, LV) and not self.elab.is_copied_implicitly(value.ty):
                # parts of a loop's value stay in it: nothing else owns what cannot be copied
                value = replace(value, mutable=False, owned=False, why="a loop variable")
                self.scope.names[target.id] = Var(target.id, value.ty, value, self.at(target), "loop", body=self)
                return
            self.declare_var(target.id, value, self.at(target))
        else:
            self.store(target, value, node)

    # ---- assignment ----

    def assign(self, node: ast.Assign) -> None:
        """Elaborate `t = v`."""
        want: Any = None
        if node.type is not None:
            want = self.declared_type(node.type)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.TupleLit):
            self.unpack(node.targets[0], node.value, node, False)
            return
        last = node.targets[-1]
        if isinstance(last, ast.Subscript) and len(node.targets) == 1:
            self.store_item(last, node.value, node)
            return
        if want is None and isinstance(last, ast.Name):
            known = self.find(last.id)
            want = known.ty if isinstance(known, Var) else None
        elif want is None and isinstance(last, ast.Attribute):
            want = self._attribute_type(last)
        value = self.expr(node.value, want if isinstance(want, Ty) else None)
        if node.type is not None and isinstance(want, (StructTy, FnTy)):
            value = self.convert(value, want, self.at(node.value))
        for target in node.targets:
            self.store(target, value, node)

    def _attribute_type(self, node: ast.Attribute) -> Ty | None:
        if isinstance(node.value, ast.Name):
            found = self.find(node.value.id)
            if (
                isinstance(found, Var)
                and isinstance(found.ty, StructTy)
                and isinstance(self.elab.member(found.ty, node.name), ast.VarDecl)
            ):
                return dict(self.elab.fields(found.ty)).get(node.name)
        return None

    def store(self, target: ast.Expr, value: Any, node: Any) -> None:
        """Store a value in a target."""
        span = self.at(target)
        if isinstance(target, ast.Name):
            if target.id == "_":
                self.effect(value)
                if isinstance(value, LV) and value.local is not None and value.owned and not value.path:
                    self.destroy_place(value.ty, value.pointer, span)
                    self.mark("consume", value, span)
                elif isinstance(value, LV) and value.local is not None:
                    self.emit(nodes.Mark("use", value.local))
                return
            found = self.find(target.id)
            if not isinstance(found, Var) or (found.body is not self and found.kind != "out"):
                if isinstance(found, Var) and found.body is not None:
                    place = self.foreign(found, target)
                    if isinstance(place, LV) and place.why != "foreign":
                        self.store_place(place, value, span, "")
                        return
                if not self.module.is_library:
                    self._not_a_parameter(target)
                self.declare_var(target.id, self.materialize(value), span, function_scope=True)
                return
            self.store_var(found, value, target)
        elif isinstance(target, ast.Attribute):
            self.store_attribute(target, value, node)
        elif isinstance(target, ast.Subscript):
            self.set_item(target, value, node)
        elif isinstance(target, ast.TupleLit):
            self.unpack_value(target, self.materialize(value), node, False)
        else:
            place = self.expr(target)
            if not isinstance(place, LV) or not place.mutable or place.owned:
                self.fail(Code.IMMUTABLE, "this cannot be assigned to", span)
            self.store_place(place, value, span, "")

    def _not_a_parameter(self, target: ast.Name) -> None:
        for scope in self.scope.chain():
            if scope.kind == "function" and target.id in scope.names:
                self.fail(Code.IMMUTABLE, f"'{target.id}' is a parameter, known at compile time", self.at(target))

    def store_var(self, var: Var, value: Any, target: ast.Name) -> None:
        """Store a value in a variable."""
        if self.builtin_self is not None and var.kind == "out":
            self.builtin_self["whole"] = self.convert(value, var.ty, self.at(target))
            return
        place = var.value
        if not isinstance(place, LV) or not place.mutable:
            why = f"argument '{var.name}' is read only" if var.kind == "arg" else f"'{var.name}' is read only"
            help_text = f"declare it 'mut {var.name}' or 'var {var.name}'" if var.kind == "arg" else ""
            self.fail(Code.IMMUTABLE, why, self.at(target), help_text)
        self.store_place(place, value, self.at(target), "*" if var is self.out_var else "")

    def store_place(self, place: LV, value: Any, span: Span, out_key: str) -> None:
        """Replace the value in a place; `out_key` names a part of the result that may have no value yet."""
        value = self.convert(value, place.ty, span)
        if place.local is not None:
            self.pin_more(place.local, place.ty, self.loans_of(value))
        if self.elab.is_trivial(place.ty):
            self.init_place(place.ty, place.pointer, value, span)
            if place.local is not None:
                self.mark("init", LV(place.ty, place.pointer, True, place.local, place.path))
            if out_key:
                self.assigned.add(out_key)
            return
        fresh = self.own(value, span)
        if place.local is not None and (not place.path or self._taken_apart(place.local)):
            self.mark("overwrite", place, span)
        elif place.local is not None or not out_key or out_key in self.assigned:
            self.destroy_place(place.ty, place.pointer, span)
        self.move_bits(place.ty, place.pointer, fresh)
        if place.local is not None:
            self.mark("init", place)
        if out_key:
            self.assigned.add(out_key)

    def store_attribute(self, target: ast.Attribute, value: Any, node: Any) -> None:
        """Store a value in a field."""
        base = self.part(target.value)
        if isinstance(target.value, ast.Attribute):
            self.required(base, target.value)
        if self.builtin_self is not None and isinstance(target.value, ast.Name):
            var = self.find(target.value.id)
            if isinstance(var, Var) and var.kind == "out":
                self.builtin_self[target.name] = value
                return
        if not isinstance(base, (RV, LV, KV)):
            self.fail(Code.IMMUTABLE, "this cannot be assigned to", self.at(target))
        member = self.elab.member(base.ty, target.name) if isinstance(base.ty, StructTy) else None
        if not isinstance(member, ast.VarDecl):
            setter = self.elab.method_set(base.ty, "__setattr__")
            if setter is not None:
                text = self.elab.literal("StringLiteral", "!kgen.string", target.name)
                span = self.at(node)
                parameters: tuple[Any, ...] = (text,) if setter.functions[0].node.params else ()
                pos = [Arg(base, span), *([] if parameters else [Arg(text, span)]), Arg(value, span)]
                self.call_fn(FnVal(setter, parameters, (), base.ty), pos, [], span, True)  # type: ignore[arg-type]
                return
            self.no_member(base.ty, target.name, target)
        if not isinstance(base, LV) or not base.mutable:
            why = base.why if isinstance(base, LV) and base.why else "read only"
            self.fail(Code.IMMUTABLE, f"'{target.name}' cannot be changed: its owner is {why}", self.at(target))
        key = ""
        if (
            self.out_var is not None
            and isinstance(target.value, ast.Name)
            and self.find(target.value.id) is self.out_var
        ):
            key = target.name if "*" not in self.assigned else "*"
        self.store_place(self.field(base, target.name), value, self.at(target), key)

    def store_item(self, target: ast.Subscript, value: ast.Expr, node: Any) -> None:
        """Elaborate `a[i] = v`: the index is evaluated before the value."""
        base = self.expr(target.base)
        args = [self._index_arg(item) for item in target.args]
        setter = self.elab.method_set(base.ty, "__setitem__") if isinstance(base, (RV, LV, KV)) else None
        if setter is not None:
            self.put_item(base, setter, args, self.late_arg(value).value, target)
            return
        place = self.apply_index(base, args, target)
        self.assign_item(place, self.expr(value, place.ty if isinstance(place, LV) else None), target)

    def _index_arg(self, item: ast.Expr) -> Arg:
        arg = self.arg(item)
        if isinstance(arg.value, LV) and self.elab.abi(arg.value.ty) == "direct":
            arg.value = RV(arg.value.ty, self.rvalue(arg.value))
        return arg

    def apply_index(self, base: Any, args: list[Arg], node: Any) -> Any:
        """Index a value with elaborated arguments."""
        getter = self.elab.method_set(base.ty, "__getitem__")
        if getter is None:
            self.fail(Code.NO_MEMBER, f"'{self.elab.type_name(base.ty)}' has no '__setitem__'", self.at(node))
        span = self.at(node)
        if all(len(fn.node.args) == 1 and fn.node.params for fn in getter.functions):
            fn = FnVal(getter, tuple(self.param(a.value, a.span) for a in args), (), base.ty)
            return self.call_fn(fn, [Arg(base, span)], [], span, True)
        return self.call_fn(FnVal(getter, (), (), base.ty), [Arg(base, span), *args], [], span, True)

    def assign_item(self, place: Any, value: Any, node: Any) -> None:
        """Store to what an index gave."""
        if not isinstance(place, LV) or not place.mutable or place.owned:
            self.fail(Code.IMMUTABLE, "this item cannot be assigned to", self.at(node))
        self.store_place(place, value, self.at(node), "")

    def set_item(self, target: ast.Subscript, value: Any, node: Any) -> None:
        """Store an elaborated value in an item."""
        base = self.expr(target.base)
        args = [self._index_arg(item) for item in target.args]
        setter = self.elab.method_set(base.ty, "__setitem__") if isinstance(base, (RV, LV, KV)) else None
        if setter is not None:
            self.put_item(base, setter, args, value, target)
        else:
            self.assign_item(self.apply_index(base, args, target), value, target)

    def put_item(self, base: Any, setter: FnSet, args: list[Arg], value: Any, node: Any) -> None:
        """Call `__setitem__`."""
        span = self.at(node)
        static = all(len(fn.node.args) == 2 and fn.node.params for fn in setter.functions)
        if static and len(args) == 1 and isinstance(args[0].value, KV):
            fn = FnVal(setter, (args[0].value,), (), base.ty)
            self.call_fn(fn, [Arg(base, span), Arg(value, span)], [], span, True)
            return
        self.call_fn(FnVal(setter, (), (), base.ty), [Arg(base, span), *args, Arg(value, span)], [], span, True)

    def aug_assign(self, node: ast.AugAssign) -> None:
        """Elaborate `t op= v`."""
        target = node.target
        if isinstance(target, ast.Subscript):
            base = self.expr(target.base)
            args = [self._index_arg(item) for item in target.args]
            setter = self.elab.method_set(base.ty, "__setitem__") if isinstance(base, (RV, LV, KV)) else None
            old = self.apply_index(base, args, target)
            if setter is not None:
                value = self.expr(node.value)
                self.put_item(base, setter, args, self.operate(node.op, self._held(old), value, node), target)
                return
            place = old
        else:
            place = self.expr(target)
        value = self.expr(node.value)
        if isinstance(place, (RV, KV)) or (isinstance(place, LV) and not place.mutable):
            self._read_only(place, target)
        if not isinstance(place, LV):
            self.fail(Code.IMMUTABLE, "this cannot be changed", self.at(target))
        made = self.dunder(place, f"__i{BINARY[node.op]}__", [value], node)
        if made is None:
            current = self._held(LV(place.ty, place.pointer, True, place.local, place.path))
            self.store_place(place, self.operate(node.op, current, value, node), self.at(target), "")

    def _read_only(self, place: Any, target: ast.Expr) -> NoReturn:
        """Report `t op= v` where t cannot be changed."""
        name = target.id if isinstance(target, ast.Name) else getattr(target, "name", "this")
        why = getattr(place, "why", "")
        text = f"'{name}' is read only" if isinstance(target, ast.Name) or not why else f"'{name}' is part of {why}"
        owner = target
        while isinstance(owner, (ast.Attribute, ast.Subscript)):
            owner = owner.value if isinstance(owner, ast.Attribute) else owner.base
        var = self.find(owner.id) if isinstance(owner, ast.Name) else None
        help = f"declare it 'mut {var.name}'" if isinstance(var, Var) and var.kind == "arg" else ""
        self.fail(Code.IMMUTABLE, text, self.at(target), help)

    # ---- control flow ----

    def return_(self, node: ast.Return) -> None:
        """Elaborate `return`."""
        self.leaving = self.at(node)
        if self.inline_result is not None and (self.instance is None or self.instance.busy):
            self._return_inline(node)
            return
        instance = self.instance
        assert instance is not None
        signature = instance.signature
        if node.value is None or self.out_var is not None:
            if node.value is not None:
                assert self.out_var is not None and isinstance(self.out_var.value, LV)
                self.store_place(self.out_var.value, self.expr(node.value, signature.result_ty), self.at(node), "*")
            elif self.out_var is None and signature.result != "none":
                self.fail(
                    Code.RETURN_TYPE,
                    f"a value of type '{self.elab.type_name(signature.result_ty)}' must be returned",
                    self.at(node),
                )
            self.leave(None)
            return
        if signature.result == "ref":
            place = self.expr(node.value)
            if not isinstance(place, LV):
                place = self.place(place)
            self.leave(RV(self.elab.prim("!kgen.pointer"), place.pointer))
            return
        value = self.expr(node.value, signature.result_ty)
        value = self.convert(value, signature.result_ty, self.at(node.value))
        if signature.result == "memory":
            assert self.result_pointer is not None
            own = value.local if isinstance(value, LV) and not value.path else None
            if own is not None and not own.kept and not value.owned:
                value = LV(value.ty, value.pointer, True, value.local, (), True)
            self.init_place(value.ty, self.result_pointer, value, self.at(node.value))
            self.leave(None)
        elif signature.result == "none":
            self.leave(None)
        else:
            if not isinstance(value, LV) or value.local is None or value.path:
                self.check_copy(value, self.at(node.value))
            self.leave(RV(value.ty, self.rvalue(value)))

    def _return_inline(self, node: ast.Return) -> None:
        assert self.inline_result is not None and self.instance is not None
        signature = self.instance.signature
        if node.value is not None:
            value = self.expr(node.value, signature.result_ty)
            if signature.result == "ref":
                value = self.place(value)
                value = replace(value, mutable=value.mutable and signature.result_mutable, owned=False, why="")
            else:
                value = self.convert(value, signature.result_ty, self.at(node.value))
                if isinstance(value, LV):
                    value = self._held(value)
            if self.builtin_self is not None:
                self.builtin_self["whole"] = value
            self.inline_result.append(value)

    def leave(self, value: RV | None) -> None:
        """Leave the function: run what must run first, then return."""
        instance = self.instance
        assert instance is not None
        signature = instance.signature
        self.run_finals(0)
        self.give_result()
        if self.out_var is not None and value is None and signature.result == "direct":
            assert isinstance(self.out_var.value, LV)
            value = RV(signature.result_ty, self.rvalue(self.out_var.value))
        if signature.raises:
            if value is not None:
                assert self.result_pointer is not None
                self.emit(nodes.Store(self.result_pointer, value.ir, span=self.span))
            self.emit(nodes.Return(nodes.Const(types.BOOL, 0), self.span))
        else:
            self.emit(nodes.Return(value.ir if value is not None else None, self.span))

    def give_result(self) -> None:
        """The named result leaves with the function: it must be complete."""
        if self.out_var is not None and isinstance(self.out_var.value, LV) and self.out_var.value.local is not None:
            place = self.out_var.value
            at = self.leaving or (self.instance.fn.span() if self.instance is not None else self.out_var.span)
            self.require(place, ast.Pass(at.start, at.end), leaves=True)
            self.mark("consume", place)

    def run_finals(self, depth: int) -> None:
        """Run the pending `finally` and `__exit__` parts down to a depth, innermost first."""
        saved = list(self.finals)
        while len(self.finals) > depth:
            self.finals.pop()()
        self.finals = saved

    def if_(self, node: ast.If) -> None:
        """Elaborate `if`; a condition that is a constant chooses only where `@parameter` says so."""
        if node.comptime:
            condition = self.elab.index_of(self.param_arg(node.condition))
            self.block(node.body if condition else node.orelse) if (node.body if condition else node.orelse) else None
            return
        value = self.truth(node.condition)
        before = set(self.assigned)
        self.open()
        self.block(node.body)
        then, dead_then = self.close(), self.dead
        after = self.assigned
        self.dead, self.assigned = False, before
        orelse: tuple[nodes.Statement, ...] = ()
        dead_else = False
        if node.orelse:
            self.open()
            self.block(node.orelse)
            orelse, dead_else = self.close(), self.dead
        self.assigned = after if dead_else else self.assigned if dead_then else self.assigned | after
        self.dead = False
        self.emit(nodes.If(value, then, orelse, self.at(node)))
        self.dead = dead_then and dead_else

    def while_(self, node: ast.While) -> None:
        """Elaborate `while … else`."""

        def head(exit_: Any) -> None:
            value = self.truth(node.condition)
            if isinstance(value, nodes.Const) and value.value:
                return
            self.open()
            exit_()
            done = self.close()
            self.dead = False
            self.emit(nodes.If(ops.build("xor", (value, NOT)), done))

        self.loop(head, lambda: self.block(node.body), node.orelse, node)

    def loop(self, head: Any, body: Any, orelse: tuple[ast.Stmt, ...], node: Any) -> None:
        """Emit a loop: `head` gets the action that leaves it normally."""
        label = self.fresh()
        outer = self.fresh() if orelse else label
        leaves: list[bool] = []

        def exit_() -> None:
            leaves.append(True)
            if orelse:
                self.block(orelse)
            self.emit(nodes.Break(outer))

        self.loops.append((outer, label, len(self.finals)))  # type: ignore[arg-type]
        self.open()
        head(exit_)
        body()
        inside = self.close()
        self.dead = False
        self.loops.pop()
        statement: nodes.Statement = nodes.Loop(label, inside, self.at(node))
        if orelse:
            statement = nodes.Block(outer, (statement,))
        self.emit(statement)
        self.dead = not leaves and outer not in self.used_labels

    def jump(self, leave: bool, node: Any) -> None:
        """Elaborate `break` and `continue`."""
        if not self.loops:
            self.fail(Code.SYNTAX_ERROR, f"'{'break' if leave else 'continue'}' stands outside a loop", self.at(node))
        outer, label, depth = self.loops[-1]  # type: ignore[misc]
        self.run_finals(depth)
        if leave:
            self.used_labels.add(outer)
            self.emit(nodes.Break(outer))
        else:
            self.emit(nodes.Continue(label))

    def for_(self, node: ast.For) -> None:
        """Elaborate `for`."""
        if node.comptime:
            self.unrolled(node)
            return
        span = self.at(node.iter)
        iterable = self.expr(node.iter)
        if not isinstance(iterable, (RV, LV, KV)):
            self.fail(Code.TYPE_MISMATCH, "this cannot be iterated over", span)
        iterable = self.materialize(iterable)
        if self.elab.method_set(iterable.ty, "__iter__") is not None:
            iterator = self.dunder(iterable, "__iter__", [], node.iter)
            if iterator is None:
                iterator = self.dunder(self.place(iterable), "__iter__", [], node.iter)
        else:
            iterator = iterable
        if iterator is None or self.elab.method_set(iterator.ty, "__next__") is None:
            self.fail(
                Code.TYPE_MISMATCH,
                f"a value of type '{self.elab.type_name(iterable.ty)}' cannot be iterated over",
                span,
            )
        held = self.declare_var("", iterator, span)
        del self.scope.names[""]
        place = held.value
        assert isinstance(place, LV)
        if isinstance(iterable, LV) and iterable.local is not None and held.local is not None:
            held.local.pins = (*held.local.pins, iterable.local)

        def head(exit_: Any) -> None:
            more = self.condition(self.dunder(place, "__has_next__", [], node.iter), node.iter)
            self.open()
            exit_()
            done = self.close()
            self.dead = False
            self.emit(nodes.If(ops.build("xor", (more, NOT)), done))

        def body() -> None:
            item = self.dunder(place, "__next__", [], node.iter)
            if item is None:
                self.fail(Code.TYPE_MISMATCH, "'__next__' of the iterator cannot be called", span)
            self.loop_body(node, item)

        self.loop(head, body, node.orelse, node)

    def loop_body(self, node: ast.For, item: Any) -> None:
        """Bind the loop's variable and elaborate its body."""
        outer, self.scope = self.scope, Scope(self.scope, "block", {}, body=self)
        try:
            target = node.target
            if isinstance(target, ast.TupleLit):
                if isinstance(item, (RV, KV)):
                    item = self.declare_var("", item, self.at(target)).value
                    del self.scope.names[""]
                self.unpack_value(target, item, node, True)
            elif isinstance(target, ast.Name) and target.id != "_":
                if isinstance(item, LV) and node.convention != "var" and not item.owned:
                    if node.convention != "ref":
                        item = replace(item, mutable=False, owned=False, why="a loop variable")
                    self.scope.names[target.id] = Var(target.id, item.ty, item, self.at(target), "loop", body=self)
                else:
                    self.declare_var(target.id, item, self.at(target), "loop")
            self.block(node.body)
        finally:
            self.scope = outer

    def unrolled(self, node: ast.For) -> None:
        """Elaborate `@parameter for`: the body once for each value."""
        span = self.at(node.iter)
        for value in iterate(self.elab, self.param_arg(node.iter), span, self):
            if self.dead:
                return
            names = {}
            if isinstance(node.target, ast.Name):
                names[node.target.id] = value
            self.block(node.body, names)

    def comprehension(self, node: ast.Comprehension) -> Any:
        """Elaborate a comprehension: loops that add to a collection, which is made before them."""
        before = self.statements
        made: list[LV] = []
        names = {"list": ("List", "append"), "set": ("Set", "add"), "dict": ("Dict", "__setitem__")}
        struct, method = names[node.kind]

        def add() -> None:
            parts = [self.materialize(self.expr(node.item))]
            if node.value is not None:
                parts.append(self.materialize(self.expr(node.value)))
            if not made:
                inner, self.statements = self.statements, before
                ty = self.elab.library_struct(struct, tuple(p.ty for p in parts))
                made.append(self.place(self.call(ty, [], [], self.at(node))))
                self.statements = inner
            target = LV(made[0].ty, made[0].pointer, True, made[0].local)
            if self.dunder(target, method, [self._held(p) for p in parts], node) is None:
                self.fail(Code.TYPE_MISMATCH, "this item cannot be added to the collection", self.at(node.item))

        body: Any = _Item(node.start, node.end, add)
        for clause in reversed(node.clauses):
            for condition in reversed(clause.conditions):
                body = ast.If(condition.start, condition.end, condition, (body,), (), False)
            body = ast.For(clause.start, clause.end, clause.target, "", clause.iter, (body,), (), False)
        self.statement(body)
        if not made:
            raise Abort
        return made[0]

    # ---- declarations inside a body ----

    def alias(self, node: ast.Alias) -> None:
        """Elaborate a local alias."""
        if node.params:
            self.scope.names[node.name] = AliasInfo(node.name, node, self.module, self.scope, next(self.elab.ids))
            return
        assert node.value is not None
        self.scope.names[node.name] = self.elab.typed_constant(node.type, node.value, self.scope, self.module)

    def nested(self, node: ast.FunctionDecl) -> None:
        """Elaborate a nested function: it is a function of its own that sees this body's variables."""
        fn = self.elab.function(node, self.module, None, self.scope)
        fn.parent = self
        self.copy_captures(fn)
        self.elab.add_function(self.scope.names, fn)

    def copy_captures(self, fn: FnInfo) -> None:
        """Copy what a nested function captures by value (in `Closures`)."""
        raise NotImplementedError

    def static_assert(self, node: ast.StaticAssert) -> None:
        """Elaborate `comptime assert`."""
        if not self.elab.index_of(self.param_arg(node.condition)):
            text = "a compile-time assertion does not hold"
            if node.message is not None:
                text = self.elab.text_of(self.param_arg(node.message))
            self.fail(Code.CONSTRAINT_FAILED, text, self.at(node))

    # ---- errors ----

    def raise_(self, node: ast.Raise) -> None:
        """Elaborate `raise`."""
        error_ty = self.elab.error_type()
        if node.value is None:
            if not self.current_error:
                self.fail(Code.RAISES, "there is no error to raise again here", self.at(node))
            held = self.current_error[-1]
            value: Any = LV(held.ty, held.pointer, True, held.local, (), True)
        else:
            value = self.expr(node.value)
            converted = self.try_convert(value, error_ty, self.at(node))
            if converted is None and not self.module.is_library:
                self.convert(value, error_ty, self.at(node.value))
            value = (
                converted
                if converted is not None
                else self.call(error_ty, [Arg(value, self.at(node))], [], self.at(node))
            )
        if self.handlers:
            label, local = self.handlers[-1]
            pointer: nodes.Value = nodes.LocalAddress(local)
        elif self.error_argument is not None:
            label, local, pointer = 0, None, self.error_argument
        else:
            self.fail(Code.RAISES, "nothing may raise here", self.at(node), "declare this function with 'raises'")
        self.init_place(error_ty, pointer, value, self.at(node))
        self._leave_raising(label, local)

    def try_(self, node: ast.Try) -> None:
        """Elaborate `try … except … else … finally`."""
        if node.final:
            self.finals.append(lambda: self.block(node.final))
        end = self.fresh()
        self.open()
        caught = self._guarded(lambda: self.block(node.body), end, node.orelse if node.handler else ())
        if caught is not None:
            self._handle(node, caught)
        elif node.handler is not None and not self.module.is_library:
            self.elab.warn_unreached(self, node.handler)
        inside = self.close()
        reaches = not self.dead or end in self.used_labels
        self.dead = False
        self.emit(nodes.Block(end, inside))
        self.dead = not reaches
        if node.final:
            self.finals.pop()
            if not self.dead:
                self.block(node.final)

    def _guarded(self, body: Any, end: int, orelse: tuple[ast.Stmt, ...]) -> nodes.Local | None:
        """Emit a part whose errors come to the statements behind it; returns the error's local, None if none comes."""
        label = self.fresh()
        error_ty = self.elab.error_type()
        error = self.local(self.elab.ir(error_ty), "error", error_ty)
        self.handlers.append((label, error))
        self.handler_depths.append(len(self.finals))
        self.open()
        body()
        self.handlers.pop()
        self.handler_depths.pop()
        if orelse and not self.dead:
            self.block(orelse)
        if not self.dead:
            self.used_labels.add(end)
            self.emit(nodes.Break(end))
        inside = self.close()
        self.dead = False
        self.emit(nodes.Block(label, inside))
        if label not in self.used_labels:
            self.dead = True
            return None
        return error

    def _handle(self, node: ast.Try, error: nodes.Local) -> None:
        error_ty = self.elab.error_type()
        place = LV(error_ty, nodes.LocalAddress(error), True, error)
        if node.handler is None:
            outer = self.finals.pop() if node.final else None
            if outer is not None:
                outer()
            self._reraise(place)
            if outer is not None:
                self.finals.append(outer)
            return
        names = {}
        if node.handler.name:
            names[node.handler.name] = Var(
                node.handler.name, error_ty, place, self.at(node.handler), "var", error, self
            )
        self.current_error.append(place)
        self.block(node.handler.body, names)
        self.current_error.pop()

    def _reraise(self, place: LV) -> None:
        moved = LV(place.ty, place.pointer, True, place.local, (), True)
        if self.handlers:
            label, local = self.handlers[-1]
            self.init_place(place.ty, nodes.LocalAddress(local), moved, self.span)
            self._leave_raising(label, local)
        elif self.error_argument is not None:
            self.init_place(place.ty, self.error_argument, moved, self.span)
            self._leave_raising(0, None)
        else:
            self.fail(Code.RAISES, "an error may leave this block, and nothing may raise here", self.span)

    def with_(self, items: tuple[ast.WithItem, ...], body: tuple[ast.Stmt, ...], node: Any) -> None:
        """Elaborate `with`."""
        if not items:
            self.block(body)
            return
        item, span = items[0], self.at(items[0])
        value = self.expr(item.value)
        manager = self.own(self.materialize(value), span) if not isinstance(value, LV) or value.owned else value
        enter = self.elab.method_set(manager.ty, "__enter__")
        leave = self.elab.method_set(manager.ty, "__exit__")
        if enter is None:
            self.fail(Code.NO_MEMBER, f"'{self.elab.type_name(manager.ty)}' has no '__enter__'", span)
        taken = enter.functions[0].node.args[0].convention in ("var", "owned", "deinit")
        subject = LV(manager.ty, manager.pointer, True, manager.local, manager.path, taken)
        bound = self.call_fn(FnVal(enter, (), (), manager.ty), [Arg(subject, span)], [], span, True)  # type: ignore[arg-type]
        outer, self.scope = self.scope, Scope(self.scope, "block", {}, body=self)
        try:
            if item.name:
                self.declare_var(item.name, self.materialize(bound), span, "with") if not isinstance(
                    bound, LV
                ) or bound.owned else self._alias_place(item.name, bound, span)
            if leave is None or taken:
                self.with_(items[1:], body, node)
                held = self.scope.names[item.name] if item.name else bound
                if isinstance(held, (Var, LV)) and held.local is not None and not self.dead:
                    self.emit(nodes.Mark("use", held.local))  # it lives to the end of the body
            else:
                self._with_exit(leave, manager, items, body, node)
        finally:
            self.scope = outer

    def _alias_place(self, name: str, place: LV, span: Span) -> None:
        self.scope.names[name] = Var(name, place.ty, place, span, "with", body=self)

    def _with_exit(self, leave: FnSet, manager: LV, items: Any, body: Any, node: Any) -> None:
        span = self.at(items[0])
        subject = LV(manager.ty, manager.pointer, True, manager.local, manager.path)

        def close() -> None:
            self.call_fn(FnVal(leave, (), (), manager.ty), [Arg(subject, span)], [], span, True)  # type: ignore[arg-type]

        done, end = self.fresh(), self.fresh()
        self.open()
        self.open()
        self.finals.append(close)
        error = self._guarded(lambda: self.with_(items[1:], body, node), end, ())
        self.finals.pop()
        if error is not None:
            self._exit_with_error(leave, manager, error, subject, span)
            if not self.dead:  # the error was handled: `__exit__` has been called
                self.used_labels.add(done)
                self.emit(nodes.Break(done))
        self.emit(nodes.Block(end, self._reopen()))
        self.dead = end not in self.used_labels
        if not self.dead:
            close()
        inside, reaches = self.close(), not self.dead or done in self.used_labels
        self.dead = False
        self.emit(nodes.Block(done, inside))
        self.dead = not reaches

    def _reopen(self) -> tuple[nodes.Statement, ...]:
        """End a nested list; what comes next is reached."""
        inside = self.close()
        self.dead = False
        return inside

    def _exit_with_error(self, leave: FnSet, manager: LV, error: nodes.Local, subject: LV, span: Span) -> None:
        error_ty = self.elab.error_type()
        place = LV(error_ty, nodes.LocalAddress(error), True, error)
        takers = [fn for fn in leave.functions if len(fn.node.args) > 1]
        if takers:
            both = [Arg(subject, span), Arg(LV(error_ty, place.pointer, False, error), span)]
            answer = self.call_fn(FnVal(FnSet("__exit__", takers), (), (), manager.ty), both, [], span, True)  # type: ignore[arg-type]
            handled = self.condition(answer, ast.Pass(span.start, span.end))
            self.open()
            self._reraise(place)
            done = self.close()
            self.dead = False
            self.emit(nodes.If(ops.build("xor", (handled, NOT)), done))
        else:
            self.call_fn(FnVal(leave, (), (), manager.ty), [Arg(subject, span)], [], span, True)  # type: ignore[arg-type]
            self._reraise(place)
