"""Statements: blocks, branches, nested functions and aliases; `statement` sends each kind to the method for it."""

from typing import Any

from ktc.diag.codes import Code
from ktc.elaborate.kernels.launch_targets import targets_where
from ktc.elaborate.model.declarations import AliasInfo, FnInfo, Scope
from ktc.elaborate.model.errors import Abort
from ktc.elaborate.model.values import LV, Method
from ktc.elaborate.statements import unreachable
from ktc.elaborate.statements.exits import Raising
from ktc.elaborate.tree.declared_names import declared_names
from ktc.ir import nodes
from ktc.syntax import ast


class Statements(Raising):
    """The part of a body that elaborates statements."""

    def block(self, body: tuple[ast.Stmt, ...], names: dict[str, Any] | None = None) -> None:
        """Elaborate statements in a scope of their own; an error in one does not stop the others."""
        outer, self.scope = self.scope, Scope(self.scope, "block", names or {}, body=self)
        depths = len(self.blocks), len(self.loops), len(self.handlers), len(self.finals), len(self.current_error)
        try:
            for i, statement in enumerate(body):
                if self.dead:
                    if i and unreachable.is_checked(self, body[i - 1]):
                        with unreachable.looked_at(self):
                            self.block(body[i:], self.scope.names)
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
                    if isinstance(made, Method) and made.base is not None:
                        self.fail_no_value(made, self.at(value))
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
            case ast.CollectItem():
                node.action()
            case _:
                what = {"StructDecl": "struct", "TraitDecl": "trait"}.get(type(node).__name__, "statement of this kind")
                text = f"a {what} inside a function is not supported"
                self.fail(Code.UNSUPPORTED, text, self.at(node), "declare it at the first column of the file")

    def effect(self, value: Any) -> None:
        """Drop the value of an expression."""
        if isinstance(value, LV) and value.local is not None and value.owned and not value.local.name:
            self.emit(nodes.Mark("use", value.local))

    def if_(self, node: ast.If) -> None:
        """Elaborate `if`; a condition that is a constant chooses only where `@parameter` says so."""
        if node.comptime:
            condition = self.elab.index_of(self.param_arg(node.condition))
            if not self.module.is_library:
                self.elab.arms.add((node, bool(condition)))
            taken = node.body if condition else node.orelse
            outer = self.launch_targets
            self.launch_targets = targets_where(self, node.condition, bool(condition))
            self.block(taken) if taken else None
            self.launch_targets = outer
            if self.elab.trial is not None and self._is_tried(node):
                self._other_arm(node.orelse if condition else node.body)
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
        if isinstance(value, nodes.Const):  # only this arm gives variables their values, and returns
            self.statements += then if value.value else orelse
            self.dead = dead_then if value.value else dead_else
            return
        self.emit(nodes.If(value, then, orelse, self.at(node)))
        self.dead = dead_then and dead_else

    def _is_tried(self, node: ast.If) -> bool:
        """Does a statement stand in the declaration that is elaborated by itself."""
        trial = self.elab.trial
        return self.module is self.elab.main and trial is not None and trial.node.start <= node.start < trial.node.end

    def _other_arm(self, body: tuple[ast.Stmt, ...]) -> None:
        """Look at the arm that is not taken: a body is checked for all values of its parameters."""
        doubt, assigned, dead = self.elab.doubt, set(self.assigned), self.dead
        self.elab.doubt, self.dead = 2 if doubt or self.turns else 0, False
        self.open()
        self.block(body)
        self.close()
        self.elab.doubt, self.assigned, self.dead = doubt, assigned, dead

    def alias(self, node: ast.Alias) -> None:
        """Elaborate a local alias."""
        self.check_new(node.name, node.name_start)
        if node.params:
            self.scope.names[node.name] = AliasInfo(node.name, node, self.module, self.scope, next(self.elab.ids))
            return
        assert node.value is not None
        self.scope.names[node.name] = self.elab.typed_constant(node.type, node.value, self.scope, self.module)

    def nested(self, node: ast.FunctionDecl) -> None:
        """Elaborate a nested function: it is a function of its own that sees this body's variables."""
        self.check_new(node.name, node.name_start)
        fn = self.elab.function(node, self.module, None, self.scope)
        fn.parent = self
        fn.closure = f"{fn.name} {self.fresh()} of {self.instance.symbol if self.instance else ''}"
        self.copy_captures(fn)
        self.elab.add_function(self.scope.names, fn)
        if not self.module.is_library and not self.comptime:
            self.elab.nested.append(fn)

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
