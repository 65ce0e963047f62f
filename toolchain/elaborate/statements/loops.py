"""Loops: `while`, `for`, comprehensions, and the jumps out of them."""

from typing import Any

from ktc.diag.codes import Code
from ktc.elaborate.model.declarations import Scope, Var
from ktc.elaborate.model.errors import Abort
from ktc.elaborate.model.values import KV, LV, RV, Arg, StructTy
from ktc.elaborate.resolve.suggestions import A_LOOP_VARIABLE, iteration_help
from ktc.elaborate.statements.augmented_assignments import InPlace
from ktc.elaborate.statements.unrolling import iterate
from ktc.elaborate.tree.argument_uses import jumps
from ktc.ir import nodes, ops, types
from ktc.records import replace
from ktc.syntax import ast

NOT = nodes.Const(types.BOOL, 1)


class Loops(InPlace):
    """The part of a body that elaborates loops."""

    turns = 0
    """How many loops around are unrolled."""

    def block(self, body: tuple[ast.Stmt, ...], names: dict[str, Any] | None = None) -> None:
        """Elaborate statements in a scope of their own (in `Statements`)."""
        raise NotImplementedError

    def statement(self, node: ast.Stmt) -> None:
        """Elaborate one statement (in `Statements`)."""
        raise NotImplementedError

    def run_finals(self, depth: int) -> None:
        """Run the pending `finally` and `__exit__` parts down to a depth, innermost first (in `Statements`)."""
        raise NotImplementedError

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
            if orelse:  # its jumps are those of the loop around this one
                here = self.loops.pop()
                self.block(orelse)
                self.loops.append(here)
            if not self.dead:
                leaves.append(True)
                self.emit(nodes.Break(outer))

        self.loops.append((outer, label, len(self.finals), nodes.Continue))
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
        outer, label, depth, again = self.loops[-1]
        self.run_finals(depth)
        if leave or again is nodes.Break:  # else control comes back to the loop's head, and not behind the loop
            self.used_labels.add(outer if leave else label)
        self.emit(nodes.Break(outer) if leave else again(label))

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
        if isinstance(iterable, LV) and iterable.owned and not self.module.is_library:
            iterable = replace(iterable, mutable=False)  # what nobody else sees is not changed either
        iterator = self._iterator(iterable, node.iter)
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

    def _iterator(self, iterable: Any, node: ast.Expr) -> Any:
        """Return what gives the items of a value."""
        iterator = None
        if self.elab.method_set(iterable.ty, "__iter__") is not None:
            iterator = self.dunder(iterable, "__iter__", [], node)
            if iterator is None:
                iterator = self.dunder(self.place(iterable), "__iter__", [], node)
        name = self.elab.type_name(iterable.ty)
        text = f"a value of type '{name}' cannot be iterated over"
        if iterator is None:
            self.promised(iterable, "__iter__", node)
            own = isinstance(iterable.ty, StructTy) and not iterable.ty.info.module.is_library
            self.fail(Code.TYPE_MISMATCH, text, self.at(node), iteration_help(name, own))
        for method in ("__has_next__", "__next__"):
            if self.elab.method_set(iterator.ty, method) is None:
                self.promised(iterator, method, node)
                given = self.elab.type_name(iterator.ty)
                text += f": its '__iter__' gives '{given}', which has no '{method}'"
                self.fail(Code.TYPE_MISMATCH, text, self.at(node))
        return iterator

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
                        item = replace(item, mutable=False, owned=False, why=A_LOOP_VARIABLE)
                    self.scope.names[target.id] = Var(target.id, item.ty, item, self.at(target), "loop", body=self)
                else:
                    if node.convention == "ref":
                        self.check_place(item, node.iter, "for")
                    self.declare_var(target.id, item, self.at(target), "loop")
            self.block(node.body)
        finally:
            self.scope = outer

    def unrolled(self, node: ast.For) -> None:
        """Elaborate `@parameter for`: the body once for each value; `continue` leaves one, `break` all of them."""
        span = self.at(node.iter)
        values = iterate(self.elab, self.param_arg(node.iter), span, self)
        if not jumps(node.body):
            for value in values:
                if self.dead:
                    return
                self.turn(node, value)
            self.block(node.orelse)
            return
        outer = self.fresh()
        self.open()
        for value in values:
            if self.dead:
                break
            label = self.fresh()
            self.loops.append((outer, label, len(self.finals), nodes.Break))
            self.open()
            self.turn(node, value)
            self.emit_joined(label)
            self.loops.pop()
        if not self.dead:
            self.block(node.orelse)
        self.emit_joined(outer)

    def emit_joined(self, label: int) -> None:
        """End a nested list of statements, which `label` leaves."""
        inside, reaches = self.close(), not self.dead or label in self.used_labels
        self.dead = False
        self.emit(nodes.Block(label, inside))
        self.dead = not reaches

    def turn(self, node: ast.For, value: Any) -> None:
        """Elaborate the body of `@parameter for` for one value."""
        names: dict[str, Any] = {}
        self._name_parts(node.target, value, names, self.at(node.iter))
        self.turns += 1
        self.block(node.body, names)
        self.turns -= 1

    def _name_parts(self, target: ast.Expr, value: Any, names: dict[str, Any], span: Any) -> None:
        """Name a value that is known at compile time, or its parts."""
        if isinstance(target, ast.Name):
            names[target.id] = value
        elif isinstance(target, ast.TupleLit):
            for i, part in enumerate(target.items):
                number = Arg(KV(self.elab.library_type("Int"), i), span)
                body = self.elab.new_body(self.module, self.scope, self.instance)
                found = body.apply_index(value, [number], target)
                self._name_parts(part, body.param(found, span), names, span)

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

        body: ast.Stmt = ast.CollectItem(node.start, node.end, add)
        for clause in reversed(node.clauses):
            for condition in reversed(clause.conditions):
                body = ast.If(condition.start, condition.end, condition, (body,), (), False)
            body = ast.For(clause.start, clause.end, clause.target, "", clause.iter, (body,), (), False)
        self.statement(body)
        if not made:
            raise Abort
        return made[0]
