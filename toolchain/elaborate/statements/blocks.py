"""Blocks, branches, nested functions and local aliases."""

from typing import NoReturn

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.elaborate.builder import dead_code, ir_values, locals, type_warnings, variables
from ktc.elaborate.closures import captures, closure_values
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.expressions import conditions
from ktc.elaborate.generics.refinement import assume, refined
from ktc.elaborate.kernels.launches import targets_satisfying
from ktc.elaborate.model.declarations import AliasInfo, ImportRef, OverloadSet, Scope
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.values import Binding, Method, Var
from ktc.elaborate.resolve import modules, overload_sets
from ktc.elaborate.statements import unreachable, variable_declarations
from ktc.elaborate.tree.argument_uses import names_in
from ktc.elaborate.tree.declared_names import declared_names
from ktc.ir import nodes
from ktc.syntax import ast


def block(body: Body, statements: tuple[ast.Stmt, ...], names: dict[str, Binding] | None = None) -> None:
    """Elaborate statements in a scope of their own; an error in one does not stop the others."""
    outer, body.frame.scope = body.frame.scope, Scope(body.frame.scope, "block", names or {}, body=body)
    depths = (
        len(body.blocks),
        len(body.flow.loops),
        len(body.flow.handlers),
        len(body.flow.cleanups),
        len(body.flow.current_error),
    )
    waiting = _forward_aliases(statements)
    try:
        for i, statement in enumerate(statements):
            if body.dead:
                if i and unreachable.is_checked(body, statements[i - 1]):
                    with dead_code.unreached(body):
                        block(body, statements[i:], body.frame.scope.names)
                break
            body.frame.span = body.at(statement)
            try:
                if isinstance(statement, ast.Alias) and i in waiting:
                    alias(body, statement, True)
                else:
                    body.api.statement(body, statement)
            except ErrorReported:
                if body.frame.instance is not None:
                    body.frame.instance.failed = True
                if body.frame.module.is_library or (body.frame.comptime and body.frame.inline_result is None):
                    raise  # what else is wrong in the library then follows from the first mistake
                _recover(body, statement, depths)
    finally:
        body.frame.scope = outer


def _forward_aliases(statements: tuple[ast.Stmt, ...]) -> set[int]:
    """Return the positions of aliases whose values name what a later statement of the block declares."""
    found, later = set[int](), set[str]()
    if not any(isinstance(one, ast.Alias) for one in statements[:-1]):
        return found
    for i in range(len(statements) - 1, -1, -1):
        statement = statements[i]
        if isinstance(statement, ast.Alias) and not later.isdisjoint(names_in((statement.type, statement.value))):
            found.add(i)
        later.update(declared_names(statement)[0])
    return found


def _recover(body: Body, statement: ast.Stmt, depths: tuple[int, ...]) -> None:
    """After an error: go on after the statement; nothing is said about names that it would have declared."""
    blocks, loops, handlers, cleanups, errors = depths
    while len(body.blocks) > blocks:
        body.close()
    del body.flow.loops[loops:], body.flow.handlers[handlers:], body.flow.handler_depths[handlers:]
    del body.flow.cleanups[cleanups:], body.flow.current_error[errors:]
    body.set_dead(False)
    inner, whole = declared_names(statement)
    for scope, found in ((body.frame.scope, inner), (body.frame.function_scope, whole)):
        for name in found:
            if variables.find(body, name) is None:
                scope.names[name] = None  # `unknown` knows a failed declaration by it


def if_(body: Body, node: ast.If) -> None:
    """Elaborate `if`; a condition that is a constant chooses only where `@parameter` says so."""
    if node.comptime:
        condition = evaluation.truth_of(body.elab, evaluation.param_arg(body, node.condition))
        if not body.frame.module.is_library:
            body.elab.coverage.note_arm(node, condition)
        fetched = node.body if condition else node.orelse
        outer = body.site.set_launch_targets(targets_satisfying(body, node.condition, condition))
        block(body, fetched) if fetched else None
        body.site.set_launch_targets(outer)
        if body.elab.coverage.speculation is not None and _is_speculated(body, node):
            with refined(body.elab, () if condition else (node.condition,), body.frame.scope, body.frame.module):
                _other_arm(body, node.orelse if condition else node.body)
        return
    try:
        value = conditions.truth_of(body, node.condition)
    except ErrorReported:
        if not body.frame.module.is_library and not body.frame.comptime:
            block(body, node.body)
            block(body, node.orelse)
        raise
    if isinstance(value, nodes.Const):
        _decided(body, node, bool(value.value))
        return
    before = set(body.assignments.assigned)
    body.open()
    block(body, node.body)
    then, dead_then = body.close(), body.dead
    after = body.assignments.assigned
    body.set_dead(False)
    body.assignments.assigned = before
    orelse: tuple[nodes.Statement, ...] = ()
    dead_else = False
    if node.orelse:
        body.open()
        block(body, node.orelse)
        orelse, dead_else = body.close(), body.dead
    now = body.assignments.assigned
    body.assignments.assigned = after if dead_else else now if dead_then else now | after
    body.set_dead(False)
    body.emit(nodes.If(value, then, orelse, body.at(node)))
    body.set_dead(dead_then and dead_else)


def _decided(body: Body, node: ast.If, truth: bool) -> None:
    """Elaborate an `if` whose condition is a constant; the other arm only for its mistakes."""
    dead = False
    for arm, is_taken in ((node.body, truth), (node.orelse, not truth)):
        if not arm:
            continue
        if is_taken:
            block(body, arm)
            dead = body.dead
        else:
            with dead_code.unreached(body):
                block(body, arm)
        body.set_dead(False)
    body.set_dead(dead)


def _is_speculated(body: Body, node: ast.If) -> bool:
    """Return whether a statement is in the declaration that is elaborated speculatively."""
    speculation = body.elab.coverage.speculation
    return (
        body.frame.module is body.elab.modules.main
        and speculation is not None
        and speculation.node.start <= node.start < speculation.node.end
    )


def _other_arm(body: Body, content: tuple[ast.Stmt, ...]) -> None:
    """Look at the arm that is not taken: a body is checked for all values of its parameters."""
    uncertainty, assigned, dead = body.elab.coverage.uncertainty, set(body.assignments.assigned), body.dead
    body.elab.coverage.set_uncertainty(2 if uncertainty or body.flow.unrolled_depth else 0)
    body.set_dead(False)
    body.open()
    block(body, content)
    body.close()
    body.assignments.assigned = assigned
    body.set_dead(dead)
    body.elab.coverage.set_uncertainty(uncertainty)


def alias(body: Body, node: ast.Alias, is_forward: bool = False) -> None:
    """Elaborate a local alias.

    Args:
        is_forward: its value names what is declared behind it, and is computed where it is used first.
    """
    variable_declarations.check_new(body, node.name, node.name_start)
    if node.params or is_forward:
        body.frame.scope.names[node.name] = AliasInfo(
            node.name, node, body.frame.module, body.frame.scope, next(body.elab.modules.ids)
        )
        return
    assert node.value is not None
    body.frame.scope.names[node.name] = evaluation.typed_constant(
        body.elab, node.type, node.value, body.frame.scope, body.frame.module
    )


def nested(body: Body, node: ast.FunctionDecl) -> None:
    """Elaborate a nested function: it is a function of its own that sees this body's variables."""
    if not _is_overload(body, node.name):
        variable_declarations.check_new(body, node.name, node.name_start)
    fn = modules.function(body.elab, node, body.frame.module, None, body.frame.scope)
    fn.parent = body
    fn.parameter = fn.parameter or "capturing" in node.effects
    fn.closure_name = f"{fn.name} {body.fresh()} of {body.frame.instance.symbol if body.frame.instance else ''}"
    if body.frame.module.edition is Edition.Y2026 and not fn.parameter and "async" not in node.effects:
        made = closure_values.closure(body, fn, fn.name)
        if made is not None:
            body.frame.scope.names[fn.name] = Var(fn.name, made.ty, made, fn.span(), "var", made.local, body)
            if not body.frame.comptime:
                body.elab.coverage.note_nested(fn)
            return
    else:
        captures.copy_captures(body, fn)
    overload_sets.add_function(body.elab, body.frame.scope.names, fn)
    if not body.frame.module.is_library and not body.frame.comptime:
        body.elab.coverage.note_nested(fn)


def _is_overload(body: Body, name: str) -> bool:
    """Return whether the block has nested functions of the name: another one is an overload."""
    known = body.frame.scope.names.get(name)
    return isinstance(known, OverloadSet) and all(fn.parent is body for fn in known.functions)


def static_assert(body: Body, node: ast.StaticAssert) -> None:
    """Elaborate `comptime assert`."""
    if body.elab.coverage.speculation is not None:
        assume(body.elab, node.condition, body.frame.scope, body.frame.module)
    if not evaluation.index_of(body.elab, evaluation.param_arg(body, node.condition)):
        text = "a compile-time assertion does not hold"
        if node.message is not None:
            text = evaluation.text_of(body.elab, evaluation.param_arg(body, node.message))
        body.fail(Code.UNSATISFIED_CONSTRAINT, text, body.at(node))


def expression_statement(body: Body, node: ast.ExprStmt) -> None:
    """Elaborate an expression whose value is not used; documentation strings and `...` are nothing."""
    if isinstance(node.value, (ast.StrLit, ast.EllipsisLit)):
        return
    made = body.api.expr(body, node.value)
    if isinstance(made, Method) and made.base is not None:
        ir_values.fail_no_value(body, made, body.at(node.value))
    locals.discard(body, made)
    if not body.frame.module.is_library:
        type_warnings.warn_unused(body.elab, body, made, node.value)


def imports(body: Body, node: ast.Import | ast.FromImport) -> None:
    """Elaborate an import in a function."""
    names = body.frame.scope.names
    before = dict(names)
    modules.add_imports(body.elab, names, node, body.frame.module)
    if body.frame.module.is_library:
        return
    for name, ref in list(names.items()):  # also what is never used must exist
        if isinstance(ref, ImportRef) and not ref.weak and before.get(name) is not ref:
            names[name] = modules.follow(body.elab, ref) or ref


def unsupported(body: Body, node: ast.Stmt) -> NoReturn:
    """Report a statement that cannot stand in a function."""
    what = {"StructDecl": "struct", "TraitDecl": "trait"}.get(type(node).__name__, "statement of this kind")
    text = f"a {what} inside a function is not supported"
    body.fail(Code.UNSUPPORTED, text, body.at(node), "declare it at the first column of the file")
