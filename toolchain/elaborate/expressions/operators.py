"""Operators: arithmetic, comparison, truth.

Each is a call of a method of the library (`__add__`, `__lt__`, `__bool__`); the compiler knows only their names.
"""

from typing import Any, cast

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Sink
from ktc.elaborate.calls.writeback import Waiting, taken
from ktc.elaborate.expressions.call_expressions import Arguments
from ktc.elaborate.instances.instance_table import Symbolic
from ktc.elaborate.model.errors import Abort
from ktc.elaborate.model.operator_names import BINARY, COMPARE, UNARY
from ktc.elaborate.model.values import (
    KV,
    LV,
    RV,
    Arg,
    FnVal,
    Method,
    Opaque,
    StructTy,
    Sym,
    TraitTy,
    Ty,
)  # fmt: skip
from ktc.elaborate.resolve.suggestions import operand_help
from ktc.elaborate.types.type_printer import said
from ktc.ir import nodes, ops, types
from ktc.syntax import ast


class Operators(Arguments):
    """The part of a body that elaborates operators."""

    def binary(self, node: ast.Binary) -> Any:
        """Elaborate `left op right`."""
        left = self.operand(node.left, self.expr)
        if isinstance(left, TraitTy) and node.op == "&":
            right = self.expr(node.right)
            if not isinstance(right, TraitTy):
                self.fail(Code.TYPE_MISMATCH, "only a trait can be joined to a trait with '&'", self.at(node.right))
            return self.elab.trait(tuple(dict.fromkeys(left.traits + right.traits)))
        right = self.operand(node.right, self.expr) if isinstance(left, Waiting) else self.expr(node.right)
        left = taken(self, left)
        return self.operate(node.op, left, taken(self, right), node)

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
        outer = self.span
        if outer is None or not self.module.is_library:
            self.span = span
        try:
            found = self.chosen(fn, pos, [], span, True, quiet=True)
        finally:
            self.span = outer
        if found is None:
            return None
        outer, self.span = self.span, span
        try:
            return self.emit_call(found, span)
        finally:
            self.span = outer

    def no_operator(self, op: str, left: Any, right: Any, node: Any) -> None:
        """Report an operator that the operands do not have."""
        asked = right if op == "in" else left
        name = "contains" if op == "in" else BINARY.get(op) or COMPARE.get(op)
        if name is not None:
            self.promised(asked, f"__{name}__", node)
        for one in (left, right):
            if isinstance(one, Method):
                self.fail_no_value(one, self.at(node))
        self._why_not(asked, left if op == "in" else right, f"__{name}__", node)
        a, b = (self.elab.type_name(v.ty) if isinstance(v, (RV, LV, KV)) else said(v) for v in (left, right))
        both = isinstance(left, (RV, LV, KV)) and isinstance(right, (RV, LV, KV))
        help_text = operand_help(op, a, b) if both and a != b else ""
        own = isinstance(getattr(asked, "ty", None), StructTy) and not asked.ty.info.module.is_library
        if both and own and isinstance(asked.ty, StructTy) and f"__{name}__" not in asked.ty.info.members:
            help_text = f"give '{asked.ty.info.name}' the method '__{name}__'" if name else ""
        elif op in BINARY and isinstance(getattr(right, "ty", None), StructTy) and not right.ty.info.module.is_library:
            turned = isinstance(left, (RV, LV, KV)) and self.elab.method_set(right.ty, f"__{name}__") is not None
            more = ", or write it the other way round" if turned else ""
            help_text = f"give '{right.ty.info.name}' the method '__r{name}__'{more}"
        if "NoneType" in (a, b) and self._lacks_result():
            raise Abort  # it calls itself
        self.fail(Code.TYPE_MISMATCH, f"'{op}' does not take '{a}' and '{b}'", self.at(node), help_text)

    def _lacks_result(self) -> bool:
        """Was it told that this function returns something and does not declare it."""
        own = self.instance.fn.span() if self.instance is not None else None
        told = [one.span for one in self.elab.sink.diagnostics if one.code is Code.RETURN_TYPE]
        end = self.instance.fn.node.end if self.instance is not None else 0
        return own is not None and any(
            at is not None and at.source is own.source and own.start < at.start < end for at in told
        )

    def _why_not(self, owner: Any, other: Any, name: str, node: Any) -> None:
        """Report why a container's method does not take its own type, or that of its items: what they lack, mostly."""
        if not (isinstance(owner, (RV, LV)) and isinstance(other, (RV, LV)) and isinstance(owner.ty, StructTy)):
            return
        fns = self.elab.method_set(owner.ty, name)
        if fns is not None and (owner.ty is other.ty or other.ty in owner.ty.params):
            span = self.at(node)
            self.chosen(FnVal(fns, (), (), owner.ty), [Arg(owner, span), Arg(other, span)], [], span, True)

    def unary(self, node: ast.Unary) -> Any:
        """Elaborate `-x`, `+x`, `~x`, `not x`."""
        if node.op == "not":
            return RV(self.elab.library_type("Bool"), self.truth(node))
        value = self.expr(node.value)
        if isinstance(value, (Sym, Opaque)):
            raise Symbolic
        name = f"__{UNARY[node.op]}__"
        made = self.dunder(value, name, [], node)
        if made is None:
            self.promised(value, name, node)
            shown = self.elab.type_name(value.ty) if isinstance(value, (RV, LV, KV)) else said(value)
            own = isinstance(getattr(value, "ty", None), StructTy) and not value.ty.info.module.is_library
            help_text = f"give '{value.ty.info.name}' the method '{name}'" if own else ""
            self.fail(Code.TYPE_MISMATCH, f"'{node.op}' does not take '{shown}'", self.at(node), help_text)
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
            self.promised(value, "__bool__", node)
        if isinstance(value, Method):
            self.fail_no_value(value, self.at(node))
        shown = self.elab.type_name(value.ty) if isinstance(value, (RV, LV, KV)) else said(value)
        self.fail(Code.TYPE_MISMATCH, f"'{shown}' is neither true nor false: it has no '__bool__'", self.at(node))

    def compare(self, node: ast.Compare) -> Any:
        """Elaborate a chain of comparisons; each operand is evaluated once."""
        left = self.operand(node.first, self.expr)
        if len(node.ops) == 1:
            right = self.operand(node.rest[0], self.expr) if isinstance(left, Waiting) else self.expr(node.rest[0])
            left = taken(self, left)
            return self.compare_two(node.ops[0], left, taken(self, right), node)
        bool_ty = self.elab.library_type("Bool")
        local = self.local(types.BOOL, "chain")
        self.emit(nodes.Store(nodes.LocalAddress(local), nodes.Const(types.BOOL, 0)))
        label = self.fresh()
        self.open()
        for i, (op, rest) in enumerate(zip(node.ops, node.rest, strict=True)):
            right = self.operand(rest, self.expr) if isinstance(left, Waiting) else self.expr(rest)
            left = taken(self, left)
            right = taken(self, right)
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

    def ternary(self, node: ast.Ternary, expected: Ty | None, is_place: bool = False) -> Any:
        """Elaborate `a if c else b`; `is_place`: what is wanted is a place, not the value in it."""
        condition = self.truth(node.condition)
        if isinstance(condition, nodes.Const):
            chosen, other = (node.then, node.orelse) if condition.value else (node.orelse, node.then)
            value = self.expr(chosen, expected)
            if expected is None and isinstance(value, KV) and self.elab.materialized(value.ty, False) is not value.ty:
                return self._literal_beside(value, other, node)
            return value
        lists, values = [], []
        for part in (node.then, node.orelse):
            self.open()
            if is_place and isinstance(part, ast.Ternary):
                value = self.ternary(part, expected, True)
            else:
                value = self.expr(part, expected)
            values.append(self.materialize(value) if isinstance(value, FnVal) else value)
            lists.append(self.statements)
            self.statements = self.blocks.pop()
            self.dead = False
        ty = self._common(values, expected, node)
        are_places = all(
            isinstance(v, LV) and not v.owned and v.ty is ty and v.pointer.type == types.PTR for v in values
        )
        if are_places and not self.module.is_library and (is_place or not self.elab.is_trivial(ty)):
            return self._one_of(condition, values, lists, node)
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

    def _one_of(self, condition: nodes.Value, places: list[LV], lists: list[Any], node: ast.Ternary) -> LV:
        """Return one of two places: nothing is copied to choose."""
        local = self.local(types.PTR, "")
        loans: tuple[nodes.Local, ...] | None = ()
        arms = []
        for place, statements in zip(places, lists, strict=True):
            self.blocks.append(self.statements)
            self.statements = statements
            self.emit(nodes.Store(nodes.LocalAddress(local), place.pointer, span=self.span))
            arms.append(self.close())
            own = place.loans if place.local is None else (place.local,)
            loans = None if loans is None or own is None else (*loans, *own)
        local.pins, local.pins_all = tuple(dict.fromkeys(loans or ())), loans is None
        self.emit(nodes.If(condition, arms[0], arms[1], self.at(node)))
        pointer = self.let(nodes.Load(nodes.LocalAddress(local), types.PTR), types.PTR)
        mutable, why = all(place.mutable for place in places), "one of two values"
        return LV(places[0].ty, pointer, mutable, why="" if mutable else why, loans=loans)

    def _literal_beside(self, value: KV, other: ast.Expr, node: ast.Ternary) -> Any:
        """Return a literal that was chosen while compiling: its type is common to both arms."""
        sink, self.elab.sink = self.elab.sink, Sink()
        depth, statements, dead = len(self.blocks), self.statements, self.dead
        self.open()
        try:
            ty = self._common([value, self.expr(other, None)], None, node)
        except Abort:  # it is not chosen, so whatever is wrong with it does no harm
            return value
        finally:
            del self.blocks[depth:]
            self.statements, self.dead, self.elab.sink = statements, dead, sink
        return value if ty is self.elab.materialized(value.ty, False) else self.convert(value, ty, self.at(node))

    def _common(self, values: list[Any], expected: Ty | None, node: Any) -> Ty:
        a, b = values
        if not isinstance(a, (RV, LV, KV)) or not isinstance(b, (RV, LV, KV)):
            self.fail(Code.TYPE_MISMATCH, "both sides of a conditional expression must be values", self.at(node))
        if a.ty is b.ty:
            return cast(Ty, self.elab.materialized(a.ty, False))
        plain_a: Ty = self.elab.materialized(a.ty, False)
        plain_b: Ty = self.elab.materialized(b.ty, False)
        if plain_a is plain_b:
            # of two literals: what both are as constants of the program
            return cast(Ty, self.elab.materialized(a.ty, True)) if isinstance(a, KV) and isinstance(b, KV) else plain_a
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
