"""Assignments: to names, fields, items and places, plain and augmented."""

from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder.linear_types import check_dropped
from ktc.elaborate.calls.writeback import lend, put_back
from ktc.elaborate.model.declarations import AliasInfo, FnSet, Var
from ktc.elaborate.model.values import KV, LV, RV, Arg, DisplayVal, FnTy, FnVal, StructTy, Ty
from ktc.elaborate.ownership.reference_escapes import check_stored
from ktc.elaborate.resolve.suggestions import loop_help, mutability_help
from ktc.elaborate.statements.overwrites import Replacing
from ktc.ir import nodes
from ktc.records import replace
from ktc.syntax import ast


class Assignments(Replacing):
    """The part of a body that stores into things."""

    def effect(self, value: Any) -> None:
        """Drop the value of an expression (in `Statements`)."""
        raise NotImplementedError

    def assign(self, node: ast.Assign) -> None:
        """Elaborate `t = v`."""
        want: Any = None
        if node.type is not None:
            want = self.variable_type(node.type)
            if not isinstance(node.targets[0], ast.Name):
                want = None  # `self.x: Int = 1`: what is there has its type, this one need only be one
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.TupleLit):
            self.unpack(node.targets[0], node.value, node, False)
            return
        last = node.targets[-1]
        if isinstance(last, ast.Subscript) and len(node.targets) == 1:
            self.store_item(last, node.value, node)
            return
        if isinstance(last, ast.Call) and len(node.targets) == 1:
            self._store_result(last, node.value)
            return
        if isinstance(last, ast.Attribute) and len(node.targets) == 1 and self._is_reached(last.value):
            self.store_reached(last, node.value, node)
            return
        if want is None and isinstance(last, ast.Name):
            known = self.find(last.id)
            if len(node.targets) == 1 and self._replaces_behind(known, last, node.value):
                return
            want = known.ty if isinstance(known, Var) else None
        elif want is None and isinstance(last, ast.Attribute):
            want = self._attribute_type(last)
        value = self.expr(node.value, want if isinstance(want, Ty) else None)
        if isinstance(want, (StructTy, FnTy)) and (node.type is not None or len(node.targets) == 1):
            value = self.convert(value, want, self.at(node.value))
        if len(node.targets) == 1:
            self.note_aside(last, value, node.value)
        *others, last = node.targets
        for target in others:
            value, lent = self._lent(value)
            self.store(target, lent, node)
        self.store(last, value, node)

    def _store_result(self, target: ast.Call, value: ast.Expr) -> None:
        """Elaborate `f(x) = v`: the place is computed before the value."""
        place = self.expr(target)
        if not isinstance(place, LV) or not place.mutable or place.owned:
            why = f": it is {place.why}" if isinstance(place, LV) and place.why else ""
            self.fail(Code.IMMUTABLE, f"this cannot be assigned to{why}", self.at(target))
        if not self.replace_first(place, target, value):
            made = self.convert(self.expr(value, place.ty), place.ty, self.at(value))
            self.store_place(place, made, self.at(target), "")

    def _lent(self, value: Any) -> tuple[Any, Any]:
        """Return a value that is wanted once more, and as what it is copied from until then."""
        if isinstance(value, DisplayVal):
            value = self.build_display(value, None)
        if not isinstance(value, (RV, LV)) or self.elab.is_trivial(value.ty):
            return value, value
        value = self.place(value)
        return value, replace(value, owned=False)

    def _is_reached(self, node: ast.Expr) -> bool:
        """Say whether an expression is a path of fields that begins with an index, a call or a reference."""
        while isinstance(node, ast.Attribute):
            node = node.value
        found = self.find(node.id) if isinstance(node, ast.Name) else None
        return not isinstance(node, ast.Name) or (isinstance(found, Var) and found.kind in ("ref", "loop"))

    def _replaces_behind(self, var: Any, target: ast.Expr, value: ast.Expr) -> bool:
        """Assign to what a reference stands for, if its old value can be destroyed first."""
        if not isinstance(var, Var) or var.kind not in ("ref", "loop") or var.body is not self:
            return False
        place = var.value
        writable = isinstance(place, LV) and place.mutable and not place.owned
        return writable and self.replace_first(place, target, value, is_behind=True)

    def _attribute_type(self, node: ast.Attribute) -> Ty | None:
        """Return the type of a field of a variable, or of a field of one."""
        owner: Any = None
        if isinstance(node.value, ast.Name):
            owner = getattr(self.find(node.value.id), "ty", None)
        elif isinstance(node.value, ast.Attribute):
            owner = self._attribute_type(node.value)
        if isinstance(owner, StructTy) and isinstance(self.elab.member(owner, node.name), ast.VarDecl):
            return dict(self.elab.fields(owner)).get(node.name)
        return None

    def store(self, target: ast.Expr, value: Any, node: Any) -> None:
        """Store a value in a target."""
        span = self.at(target)
        if isinstance(target, ast.Name):
            if target.id == "_":
                self.effect(value)
                if isinstance(value, LV) and value.local is not None:
                    if value.owned and not value.path:
                        check_dropped(self, value.ty, span)
                    self.emit(nodes.Mark("use", value.local, value.path if value.local.field_drops else ()))
                return
            found = self.find(target.id)
            if not isinstance(found, Var) or (found.body is not self and found.kind != "out"):
                if isinstance(found, Var) and found.body is not None:
                    place = self.foreign(found, target)
                    if isinstance(place, LV) and place.why != "foreign":
                        if not place.mutable:
                            self.fail(Code.IMMUTABLE, f"'{target.id}' is read only", span)
                        self.store_place(place, value, span, "")
                        return
                if not self.module.is_library and self._is_not_declared_by(target):
                    return
                self.declare_var(target.id, self.materialize(value), span, function_scope=True)
                return
            self.store_var(found, value, target)
        elif isinstance(target, ast.Attribute):
            self.store_attribute(target, value, node)
        elif isinstance(target, ast.Subscript):
            self.set_item(target, value)
        elif isinstance(target, ast.TupleLit):
            self.unpack_value(target, self.materialize(value), node, False)
        else:
            place = self.expr(target)
            if not isinstance(place, LV) or not place.mutable or place.owned:
                why = f": it is {place.why}" if isinstance(place, LV) and place.why else ""
                self.fail(Code.IMMUTABLE, f"this cannot be assigned to{why}", span)
            self.store_place(place, value, span, "")

    def _is_not_declared_by(self, target: ast.Name) -> bool:
        """Whether a declaration of the name failed, so that this one is none; an error if it is a parameter's."""
        for scope in self.scope.chain():
            if target.id in scope.names and scope.names[target.id] is None:
                return True
            if scope.kind == "function" and target.id in scope.names:
                self.fail(Code.IMMUTABLE, f"'{target.id}' is a parameter, known at compile time", self.at(target))
        return False

    def store_var(self, var: Var, value: Any, target: ast.Name) -> None:
        """Store a value in a variable."""
        if self.builtin_self is not None and var.kind == "out":
            self.builtin_self["whole"] = self.convert(value, var.ty, self.at(target))
            return
        place = var.value
        if not isinstance(place, LV) or not place.mutable:
            why = f"argument '{var.name}' is read only" if var.kind == "arg" else f"'{var.name}' is read only"
            help_text = f"declare it 'mut {var.name}' or 'var {var.name}'" if var.kind == "arg" else ""
            help_text = help_text or loop_help(var.name, getattr(place, "why", ""))
            self.fail(Code.IMMUTABLE, why, self.at(target), help_text)
        self.store_place(place, value, self.at(target), "*" if var is self.out_var else "")

    def store_place(self, place: LV, value: Any, span: Span, out_key: str) -> None:
        """Replace the value in a place; `out_key` names a part of the result that may have no value yet."""
        check_stored(self, place, value, span)
        value = self.convert(value, place.ty, span)
        if place.local is not None:
            self.pin_more(place.local, place.ty, self.loans_of(value))
            if place.local in self.assigned_once or place.path or place.local.kept:
                place.local.is_shared = True
            self.assigned_once.add(place.local)
        if self.elab.is_trivial(place.ty):
            self.init_place(place.ty, place.pointer, value, span)
            if place.local is not None:
                self.mark("init", LV(place.ty, place.pointer, True, place.local, place.path))
            if out_key:
                self.assigned.add(out_key)
            return
        is_itself = isinstance(value, LV) and value.local is not None and value.local is place.local
        is_itself = is_itself and value.path == place.path and not value.via and not self.module.is_library
        if not out_key and not is_itself:
            self.mark_copied(place, value)
        fresh = self._held(value) if is_itself else self.own(value, span)
        if place.local is not None and self.taken_apart(place.local, place.path):
            self.mark("overwrite", place, span)
        elif place.local is not None or not out_key or out_key in self.assigned:
            self.mark("use", place, span)
            check_dropped(self, place.ty, span)
            self.destroy_place(place.ty, place.pointer, span)
        is_first = bool(out_key) and out_key not in self.assigned
        copied = place.local is None and not place.path and isinstance(value, LV) and not (value.owned or value.local)
        if copied or is_itself or (fresh.local is not None and fresh.local is self.is_aside(place, is_first)):
            self.init_moved(place.ty, place.pointer, fresh, span)  # from one reference to another: copied, then moved
        else:
            self.move_bits(place.ty, place.pointer, fresh)
        if place.local is not None:
            self.mark("init", place)
        if out_key:
            self.assigned.add(out_key)

    def store_reached(self, target: ast.Attribute, value: ast.Expr, node: Any) -> None:
        """Elaborate `a[i].x = v`: what has the field is evaluated before the value."""
        base = self.part(target.value)
        typed = isinstance(base, LV) and isinstance(base.ty, StructTy)
        member = self.elab.member(base.ty, target.name) if typed else None
        want: Any = None
        if isinstance(base, LV) and isinstance(member, ast.VarDecl):
            place = self.field(base, target.name)
            if base.mutable and self.replace_first(place, target, value):
                return
            want = place.ty
        self.store_attribute(target, self.expr(value, want), node, base)

    def store_attribute(self, target: ast.Attribute, value: Any, node: Any, base: Any = None) -> None:
        """Store a value in a field."""
        base = base or self.part(target.value)
        if isinstance(target.value, ast.Attribute) and not self._stands_alone(base, target.name):
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
            if isinstance(member, AliasInfo):
                text = f"'{target.name}' is an alias of '{self.elab.type_name(base.ty)}', known at compile time"
                self.fail(Code.IMMUTABLE, text, self.at(target))
            if self.set_attribute(base, target.name, value, node):
                return
            self.no_member(base.ty, target.name, target)
        after: list[Any] = []
        if not isinstance(base, KV) and base.back is not None:
            base = lend(self, base, after)
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
        put_back(self, after)

    def _stands_alone(self, base: Any, name: str) -> bool:
        """Say whether a field of a field may get a value while others beside it have none."""
        if not isinstance(base, LV) or base.local is None or not isinstance(base.ty, StructTy):
            return False
        if self.out_var is not None and base.local is getattr(self.out_var.value, "local", None):
            return False
        if not isinstance(self.elab.member(base.ty, name), ast.VarDecl) or not self.tracked(base.local):
            return False
        return self.taken_apart(base.local, (*base.path, max(self.elab.slot(base.ty, name)[1], 0)))

    def set_attribute(self, base: Any, name: str, value: Any, node: Any) -> bool:
        """Call `__setattr__`; False if there is none."""
        setter = self.elab.method_set(base.ty, "__setattr__")
        if setter is None:
            return False
        text = self.elab.literal("StringLiteral", "!kgen.string", name)
        span = self.at(node)
        parameters: tuple[Any, ...] = (text,) if setter.functions[0].node.params else ()
        pos = [Arg(base, span), *([] if parameters else [Arg(text, span)]), Arg(value, span)]
        self.call_fn(FnVal(setter, parameters, (), base.ty), pos, [], span, True)
        return True

    def store_item(self, target: ast.Subscript, value: ast.Expr, node: Any) -> None:
        """Elaborate `a[i] = v`: the index is evaluated before the value."""
        base = self.expr(target.base)
        args = [self._index_arg(item) for item in target.args]
        setter = self.elab.method_set(base.ty, "__setitem__") if isinstance(base, (RV, LV, KV)) else None
        if setter is not None:
            self.put_item(base, setter, args, self.late_arg(value), target)
            return
        place = self.apply_index(base, args, target)
        if isinstance(place, LV) and place.mutable and not place.owned and self.replace_first(place, target, value):
            return
        made = self.expr(value, place.ty if isinstance(place, LV) else None)
        if isinstance(place, LV) and place.mutable and not place.owned:
            made = self.convert(made, place.ty, self.at(value))
        self.assign_item(place, made, target, base)

    def _index_arg(self, item: ast.Expr) -> Arg:
        arg = self.arg(item)
        if isinstance(arg.value, LV) and self.elab.abi(arg.value.ty) == "direct":
            arg.value = RV(arg.value.ty, self.rvalue(arg.value))
        return arg

    def apply_index(self, base: Any, args: list[Arg], node: Any) -> Any:
        """Index a value with elaborated arguments."""
        if not isinstance(base, (RV, LV, KV)) or not isinstance(base.ty, StructTy):
            self.fail(Code.TYPE_MISMATCH, "this is no value that has items", self.at(node))
        getter = self.elab.method_set(base.ty, "__getitem__")
        if getter is None:
            self.fail(Code.NO_MEMBER, f"'{self.elab.type_name(base.ty)}' has no '__setitem__'", self.at(node))
        span = self.at(node)
        if all(len(fn.node.args) == 1 and fn.node.params for fn in getter.functions):
            fn = FnVal(getter, tuple(self.param(a.value, a.span) for a in args), (), base.ty)
            return self.call_fn(fn, [Arg(base, span)], [], span, True)
        return self.call_fn(FnVal(getter, (), (), base.ty), [Arg(base, span), *args], [], span, True)

    def assign_item(self, place: Any, value: Any, node: Any, base: Any) -> None:
        """Store to what an index gave."""
        if not isinstance(place, LV) or not place.mutable or place.owned:
            help = "" if base is None or self.elab.is_trivial(base.ty) else mutability_help(base.why)
            text = f"this item cannot be assigned to{f': it is part of {base.why}' if help else ''}"
            if not help and isinstance(place, RV) and base is not None:
                text += f": '{self.elab.type_name(base.ty)}' has no '__setitem__'"
            if not help and isinstance(getattr(base, "ty", None), StructTy) and not base.ty.info.module.is_library:
                help = "write a '__setitem__', or let '__getitem__' return a 'ref'"
            self.fail(Code.IMMUTABLE, text, self.at(node), help)
        self.store_place(place, value, self.at(node), "")

    def set_item(self, target: ast.Subscript, value: Any) -> None:
        """Store an elaborated value in an item."""
        self.put(*self.indexed(target), value, target)

    def indexed(self, target: ast.Subscript) -> tuple[Any, list[Arg]]:
        """Elaborate what an assignment indexes, and with what."""
        return self.expr(target.base), [self._index_arg(item) for item in target.args]

    def put(self, base: Any, args: list[Arg], value: Any, target: ast.Subscript) -> None:
        """Store an elaborated value in an item of an elaborated base."""
        setter = self.elab.method_set(base.ty, "__setitem__") if isinstance(base, (RV, LV, KV)) else None
        if setter is not None:
            self.put_item(base, setter, args, Arg(value, self.at(target)), target)
        else:
            self.assign_item(self.apply_index(base, args, target), value, target, base)

    def put_item(self, base: Any, setter: FnSet, args: list[Arg], value: Arg, node: Any) -> None:
        """Call `__setitem__`."""
        span = self.at(node)
        static = all(len(fn.node.args) == 2 and fn.node.params for fn in setter.functions)
        if static and len(args) == 1 and isinstance(args[0].value, KV):
            fn = FnVal(setter, (args[0].value,), (), base.ty)
            self.call_fn(fn, [Arg(base, span), value], [], span, True)
            return
        name = _value_keyword(setter, len(args))
        given, named = ([Arg(base, span), *args], [Arg(value.value, value.span, name)]) if name else ([], [])
        given = given or [Arg(base, span), *args, value]
        self.call_fn(FnVal(setter, (), (), base.ty), given, named, span, True)


def _value_keyword(setter: FnSet, count: int) -> str:
    """Return the name of the value where `__setitem__` takes any number of indices before it."""
    by_name = ""
    for fn in setter.functions:
        formals = fn.node.args
        kinds = [formal.kind for formal in formals]
        if "star" in kinds:
            by_name = formals[-1].name if kinds[-1] != "star" else ""
        elif len(formals) == count + 2:
            return ""
    return by_name
