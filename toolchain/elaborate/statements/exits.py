"""What leaves a body: `return`, `raise`, `try` and `with`."""

from functools import partial
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.instances.reference_mutability import own_result
from ktc.elaborate.model.declarations import FnSet, Scope, Var
from ktc.elaborate.model.values import KV, LV, RV, Arg, FnVal, StructTy, Ty
from ktc.elaborate.ownership.reference_escapes import check_returned, check_returned_place
from ktc.elaborate.statements import unreachable
from ktc.elaborate.statements.loops import NOT, Loops
from ktc.elaborate.tree.argument_uses import names_in
from ktc.ir import nodes, ops, types
from ktc.records import replace
from ktc.syntax import ast


class Raising(Loops):
    """The part of a body that elaborates ways out."""

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
                self.store_place(
                    self.out_var.value, self.expr(node.value, signature.result_ty), self.at(node.value), "*"
                )
            elif self.out_var is None and signature.result != "none":
                self.fail(
                    Code.RETURN_TYPE,
                    f"a value of type '{self.elab.type_name(signature.result_ty)}' must be returned",
                    self.at(node),
                )
            self.leave(None)
            return
        if signature.result == "ref":
            place = self._place_of(node.value)
            check_returned_place(self, place, node.value, self.at(node.value))
            self.leave(RV(self.elab.prim("!kgen.pointer"), place.pointer))
            return
        want = signature.result_ty if self.module.is_library else own_result(self.elab, signature)
        value = self.expr(node.value, want)
        check_returned(self, value, self.at(node.value))
        if signature.result == "none" and instance.fn.node.result is None and isinstance(value, (RV, LV, KV)):
            self._check_result(value, want, node.value)
        value = self.convert(value, want, self.at(node.value))
        if signature.result == "memory":
            assert self.result_pointer is not None
            own = value.local if isinstance(value, LV) and not value.path else None
            if own is not None and not own.kept and not value.owned and not self._used_finally(own.name):
                self.check_copy(value, self.at(node.value))
                value = LV(value.ty, value.pointer, True, value.local, (), True)
            self.init_place(value.ty, self.result_pointer, value, self.at(node.value))
            self.leave(None)
        elif signature.result == "none":
            self.leave(None)
        else:
            self.check_copy(value, self.at(node.value))
            if isinstance(value, LV) and value.owned and value.local is not None and value.local.name:
                self.check_movable(value.ty, self.at(node.value))
            self.leave(RV(value.ty, self.rvalue(value)))

    def _place_of(self, node: ast.Expr) -> LV:
        """Elaborate a result that is a reference."""
        found = self.ternary(node, None, True) if isinstance(node, ast.Ternary) else self.expr(node)
        return found if isinstance(found, LV) else self.place(found)

    def _check_result(self, value: RV | LV | KV, want: Ty, node: ast.Expr) -> None:
        """Report a value that is returned where no result is declared."""
        have = self.elab.materialized(value.ty, False)
        if have is not want and self.instance is not None:
            if self.instance.fn.name == "main":
                text, help = "'main' returns nothing", "give an exit code with 'exit', from the module 'sys'"
                self.fail(Code.MAIN, text, self.at(node), help)
            kind, fn = self.elab.type_name(have), self.instance.fn
            text = f"'{fn.name}' declares no result, and returns a value of type '{kind}' here"
            self.fail(Code.RETURN_TYPE, text, self.at(node), f"write '-> {kind}' behind its arguments")

    def _used_finally(self, name: str) -> bool:
        """Say whether a 'finally' that will still run names a variable."""
        return any(name in names_in(one.args) for one in self.finals if isinstance(one, partial))

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
            self.finals.append(partial(self.block, node.final))
        end = self.fresh()
        self.open()
        caught = None
        if node.handler is None and not self.handlers and self.error_argument is None and not self.comptime:
            self.block(node.body)  # no error can go anywhere, so the call that may raise is told
        else:
            caught = self._guarded(lambda: self.block(node.body), end, node.orelse if node.handler else ())
        if caught is not None:
            self._handle(node, caught)
        elif node.handler is not None and not self.module.is_library:
            self.elab.warn_unreached(self, node.handler)
            if unreachable.is_checked(self, node):
                with unreachable.looked_at(self):
                    error_ty = self.elab.error_type()
                    self._handle(node, self.local(self.elab.ir(error_ty), "error", error_ty))
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

    def _manager(self, value: Any, span: Span) -> LV:
        """Return a context manager of the statement's own: a variable is copied, or moved."""
        is_own = isinstance(value, LV) and value.owned and value.local is not None and not value.local.name
        if is_own or not isinstance(value, LV):
            return self.own(value, span)
        self.check_copy(value, span)
        made = self.temporary(value.ty, "", self.loans_of(value))
        self.init_place(value.ty, made.pointer, value, span)
        self.mark("init", made)
        return made

    def with_(self, items: tuple[ast.WithItem, ...], body: tuple[ast.Stmt, ...], node: Any) -> None:
        """Elaborate `with`."""
        if not items:
            self.block(body)
            return
        item, span = items[0], self.at(items[0])
        manager = self._manager(self.materialize(self.expr(item.value)), span)
        enter = self.elab.method_set(manager.ty, "__enter__")
        leave = self.elab.method_set(manager.ty, "__exit__")
        if enter is None:
            ty, help = manager.ty, ""
            if isinstance(ty, StructTy) and not ty.info.module.is_library:
                help = f"give '{ty.info.name}' the methods '__enter__' and '__exit__'"
            self.fail(Code.NO_MEMBER, f"'{self.elab.type_name(manager.ty)}' has no '__enter__'", span, help)
        taken = enter.functions[0].node.args[0].convention in ("var", "owned", "deinit")
        if taken and leave is not None and not self.module.is_library:
            text = f"'__enter__' of '{self.elab.type_name(manager.ty)}' takes its value away, and '__exit__' wants it"
            self.fail(Code.TYPE_MISMATCH, text, span, "let '__enter__' take 'self', or leave '__exit__' out")
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
