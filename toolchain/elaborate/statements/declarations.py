"""Variables: how they are declared, and what a pattern on the left binds."""

from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.calls.writeback import taken
from ktc.elaborate.expressions.literals import Expressions
from ktc.elaborate.model.declarations import StructInfo, Var
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.values import KV, LV, RV, Arg, FnTy, FnVal, Method, PackPV, PartialTy, StructTy, Ty
from ktc.elaborate.ownership.access_paths import of_inside
from ktc.elaborate.resolve.suggestions import A_LOOP_VARIABLE
from ktc.elaborate.tree.argument_uses import moved
from ktc.elaborate.types.type_printer import said
from ktc.ir import nodes
from ktc.records import replace
from ktc.syntax import ast


class Variables(Expressions):
    """The part of a body that makes variables."""

    def store(self, target: ast.Expr, value: Any, node: Any) -> None:
        """Store a value in a target (in `Statements`)."""
        raise NotImplementedError

    def apply_index(self, base: Any, args: list[Arg], node: Any) -> Any:
        """Index a value with elaborated arguments (in `Statements`)."""
        raise NotImplementedError

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
            if isinstance(value, Method):
                self.fail_no_value(value, value_span or span)
            self.fail(Code.TYPE_MISMATCH, f"'{name}' cannot hold {said(value)}", span)
        ty = value.ty
        local = nodes.Local(self.fresh(), self.elab.ir(ty), name, span=span)
        local.drop = self.drop_symbol(ty)
        self.pin(local, ty, self.loans_of(value))
        if not self.module.is_library and (ways := of_inside(self, value)):
            self.ways[local] = ways
        if function_scope and self.blocks:
            self.hoisted.append(nodes.Declare(local))
            if not self.module.is_library:
                self.late_locals.add(local)  # it is a variable of the whole function, and may get no value there
        else:
            self.emit(nodes.Declare(local))
        place = LV(ty, nodes.LocalAddress(local), True, local)
        if not local.drop and not self.module.is_library and self.instance and name in moved(self.instance.fn):
            self.late_locals.add(local)  # whether there is still a value matters here, too
        self.mark_copied(place, value)
        self.assigned_once.add(local)
        self.init_place(ty, place.pointer, value, value_span or span)
        self.mark("init", place)
        var = Var(name, ty, place, span, kind, local, self)
        (self.function_scope if function_scope else self.scope).names[name] = var
        return var

    def var_decl(self, node: ast.VarDecl) -> None:
        """Elaborate `var x: T = v` and `ref x = v`."""
        want = self.variable_type(node.type) if node.type is not None else None
        if isinstance(node.target, ast.TupleLit):
            self.unpack(node.target, node.value, node, True)
            return
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        if name in self.scope.names and isinstance(self.scope.names[name], Var) and self.scope.names[name].body is self:
            self.fail(Code.DUPLICATE_DEFINITION, f"'{name}' is already declared in this block", self.at(node.target))
        self.check_new(name, node.target.start)
        if node.value is None:
            self.late(name, want, node)
            return
        try:
            value = self.expr(node.value, want if isinstance(want, Ty) else None)
            if node.kind == "ref":
                self.check_place(value, node.value)
                place = self.place(value)
                self.scope.names[name] = Var(name, place.ty, place, self.at(node.target), "ref", body=self)
                return
            known = isinstance(want, (StructTy, FnTy))
            value = self.convert(value, want, self.at(node.value)) if known else self.materialize(value)
        except Abort:
            if isinstance(want, StructTy) and not self.module.is_library:
                self.late(name, want, node)  # what follows is wrong only if it does not fit this type
            raise
        if isinstance(value, FnVal) and not self.module.is_library:
            self._check_function(value, self.at(node.value))
        self.declare_var(name, value, self.at(node.target), value_span=self.at(node.value))

    def check_place(self, value: Any, node: ast.Expr, what: str = "") -> None:
        """Report a reference to a number and the like that lies nowhere in memory."""
        if self.module.is_library or not isinstance(value, (RV, KV)):
            return
        if not what and not isinstance(
            node, (ast.Call, ast.IntLit, ast.FloatLit, ast.BoolLit, ast.Binary, ast.Unary, ast.Compare)
        ):
            return
        ty = self.elab.materialized(value.ty)
        if isinstance(ty, StructTy) and ty.info.register_passable:
            text = f"a value of type '{self.elab.type_name(ty)}' has no place that a reference could point to"
            self.fail(Code.TYPE_MISMATCH, text, self.at(node), "leave 'ref' out" if what else "write 'var'")

    def check_new(self, name: str, start: int) -> None:
        """Report a declaration in the outermost block of a function that has the name of one of its arguments or
        parameters, or of a parameter of the struct."""
        if self.module.is_library or self.instance is None or self.scope.parent is not self.function_scope:
            return
        fn = self.instance.fn
        outer = fn.owner.node.params if isinstance(fn.owner, StructInfo) else ()
        if any(param.name == name for param in (*fn.node.args, *fn.node.params, *outer)) and name != "_":
            span = Span(self.module.source, start, start + len(name))
            self.fail(Code.DUPLICATE_DEFINITION, f"'{name}' is already declared by this function", span)

    def _check_function(self, value: FnVal, span: Span) -> None:
        """Report a function that a variable cannot hold: it is known at compile time only, or is not one alone."""
        info = value.set.functions[0]
        if len(value.set.functions) > 1:
            why, help = "has several overloads", "declare the variable with the function's type"
        elif info.parameter and info.parent is not None:
            why, help = "captures by reference and is known only at compile time", "leave '@parameter' out"
        elif info.node.params and len(value.params) + len(value.named) < len(info.node.params):
            why, help = "has parameters that are not given", f"write '{value.set.name}[…]'"
        else:
            return
        self.fail(Code.TYPE_MISMATCH, f"a variable cannot hold '{value.set.name}', which {why}", span, help)

    def variable_type(self, node: ast.Expr) -> Any:
        """Return the type that is written for a variable; its value says nothing of parameters that are left out."""
        want = self.declared_type(node)
        if not isinstance(want, PartialTy) or self.module.is_library:
            return want
        try:
            return self.elab.settle_struct(want)
        except Mismatch as why:
            text = f"'{want.info.name}' is not complete here: {why.message}"
            self.fail(Code.CANNOT_INFER, text, self.at(node), "write its parameters, or leave the type out")

    def declared_type(self, node: ast.Expr) -> Any:
        """Return the type that an annotation names; it may be a partial one."""
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
            # as in `a[i] = v`, what a target is indexed with is evaluated before the values
            places = [self.indexed(part) if isinstance(part, ast.Subscript) else None for part in target.items]
            given = [self.operand(item, lambda one: self.materialize(self.expr(one))) for item in value.items]
            values = [self.materialize(taken(self, one)) for one in given]
            if any(map(self._is_made_whole, values)):
                held = self.items_of(self.tuple_made(values, value), len(values), node)
            else:
                held = [self._held(v) for v in values]
            for part, place, one in zip(target.items, places, held, strict=True):
                if place is not None and isinstance(part, ast.Subscript):
                    self.put(*place, one, part)
                else:
                    self.bind_target(part, one, node, declare)
            return
        self.unpack_value(target, self.materialize(self.expr(value)), node, declare)

    def indexed(self, target: ast.Subscript) -> tuple[Any, list[Arg]]:
        """Elaborate what an assignment indexes, and with what (in `Assignments`)."""
        raise NotImplementedError

    def put(self, base: Any, args: list[Arg], value: Any, target: ast.Subscript) -> None:
        """Store in an item (in `Assignments`)."""
        raise NotImplementedError

    def _items_help(self, whole: Ty, node: Any) -> str:
        """Return what to write if a loop over a mapping wants its keys and its values."""
        if isinstance(whole, StructTy) and {"key", "value"} <= {name for name, _ in self.elab.fields(whole)}:
            return "give it one name, and take its '.key' and its '.value'"
        ty = getattr(self.expr(node.iter), "ty", None) if isinstance(node, ast.For) else None
        if not isinstance(ty, StructTy) or self.elab.method_set(ty, "items") is None:
            return ""
        return f"write '{self.module.source.text[node.iter.start : node.iter.end]}.items()'"

    def unpack_value(self, target: ast.TupleLit, whole: Any, node: Any, declare: bool) -> None:
        """Give the parts of a value to the targets."""
        whole = self.place(whole) if isinstance(whole, (RV, KV)) else whole
        is_tuple = isinstance(whole.ty, StructTy) and whole.ty.info is self.elab.tuple_type(()).info
        pack = whole.ty.params[0] if is_tuple else None
        if isinstance(pack, PackPV) and len(pack.items) != len(target.items):
            text = f"{len(pack.items)} values cannot be unpacked into {len(target.items)} names"
            self.fail(Code.TYPE_MISMATCH, text, self.at(target))
        if not is_tuple:
            text = f"a value of type '{self.elab.type_name(whole.ty)}' cannot be unpacked: it is no tuple"
            self.fail(Code.TYPE_MISMATCH, text, self.at(target), self._items_help(whole.ty, node))
        for i, part in enumerate(target.items):
            self.bind_target(part, self.item_of(whole, i, node), node, declare)

    def item_of(self, whole: Any, i: int, node: Any) -> Any:
        """Return a part of a value by its number."""
        number = Arg(KV(self.elab.library_type("Int"), i), self.at(node))
        return self.apply_index(whole, [number], node)

    def items_of(self, whole: Any, count: int, node: Any) -> list[Any]:
        """Return the parts of a tuple."""
        place = self.place(whole)
        return [self.item_of(place, i, node) for i in range(count)]

    def _is_made_whole(self, value: Any) -> bool:
        """Say whether `a, b = v, w` makes a tuple first: what only the library's own copies can tell apart does not."""
        if self.module.is_library or not isinstance(value, (RV, LV, KV)) or not isinstance(value.ty, StructTy):
            return False
        ty = value.ty
        unseen = self.elab.is_trivial(ty) or (ty.info.module.is_library and self.elab.moves_plainly(ty))
        return not (unseen and self.elab.is_copied_implicitly(ty))

    def _held(self, value: Any) -> Any:
        """Return a value that a later store cannot change."""
        span = self.span or self.elab.main_span()
        if isinstance(value, LV) and not value.owned:
            if self.elab.abi(value.ty) == "direct":
                return RV(value.ty, self.rvalue(value), loans=self.loans_of(value))
            return self.own(value, span)
        if isinstance(value, LV) and value.local is not None:  # moved out of a variable, which may be a target
            local = self.local(self.elab.ir(value.ty), "moved", value.ty)
            place = LV(value.ty, nodes.LocalAddress(local), True, local, owned=True, loans=value.loans)
            self.init_place(value.ty, place.pointer, value, span)
            self.mark("init", place)
            return place
        return value

    def bind_target(self, target: ast.Expr, value: Any, node: Any, declare: bool) -> None:
        """Give a value to one target of an assignment."""
        if isinstance(target, ast.TupleLit):
            self.unpack_value(target, self.materialize(value), node, declare)
        elif declare and isinstance(target, ast.Name) and target.id != "_":
            if isinstance(node, ast.For) and isinstance(value, LV) and node.convention != "var":
                # parts of a loop's value stay in it
                value = replace(value, mutable=False, owned=False, why=A_LOOP_VARIABLE)
                self.scope.names[target.id] = Var(target.id, value.ty, value, self.at(target), "loop", body=self)
                return
            self.declare_var(target.id, value, self.at(target))
        else:
            self.store(target, value, node)
