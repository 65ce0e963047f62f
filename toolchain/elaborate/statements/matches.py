"""`match`: the body of the first case whose pattern fits a value.

Input: the statement. Output: one block for each case, which control leaves where the pattern or the guard does not fit,
and one around all, which it leaves behind the body that ran. A name of a pattern is declared as by `var`.
"""

from collections.abc import Callable

from ktc.diag.codes import Code
from ktc.elaborate.builder import materialization
from ktc.elaborate.calls import conversions
from ktc.elaborate.expressions import conditions
from ktc.elaborate.model.declarations import Scope
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ParameterPack, StructTy
from ktc.elaborate.model.values import Place, Var
from ktc.elaborate.statements import blocks
from ktc.elaborate.types import type_printer, well_known
from ktc.ir import nodes, ops
from ktc.syntax import ast

_SUBJECT = "the value of match"
"""The name of the value in the cases; no name of a program has spaces."""


def match(body: Body, node: ast.Match) -> None:
    """Elaborate `match`."""
    value = conversions.materialize_value(body, body.api.expr(body, node.subject))
    place = materialization.as_place(body, value)
    held = Place(place.ty, place.pointer, False, place.local, place.path)
    outer, body.frame.scope = body.frame.scope, Scope(body.frame.scope, "block", {}, body=body)
    body.frame.scope.names[_SUBJECT] = Var(_SUBJECT, held.ty, held, body.at(node.subject), "with", body=body)
    before, after = set(body.assignments.assigned), set(body.assignments.assigned)
    done = body.fresh()
    body.open()
    try:
        for case in node.cases:
            body.assignments.assigned = set(before)
            _check_size(body, held, case.pattern)
            _case(body, case, done)
            after |= body.assignments.assigned
            if body.dead:
                break  # the pattern before fits everything
    finally:
        body.frame.scope = outer
    body.assignments.assigned = after
    inside, reaches = body.close(), not body.dead or done in body.flow.used_labels
    body.set_dead(False)
    body.emit(nodes.Block(done, inside))
    body.set_dead(not reaches)


def _check_size(body: Body, value: Place, pattern: ast.CasePattern) -> None:
    """Report a pattern of a tuple that has another number of items."""
    is_tuple = isinstance(value.ty, StructTy) and value.ty.info is well_known.library_info(body.elab, "Tuple")
    pack = value.ty.params[0] if is_tuple and isinstance(value.ty, StructTy) else None
    if pattern.kind == "tuple" and not (isinstance(pack, ParameterPack) and len(pack.items) == len(pattern.parts)):
        shown = type_printer.type_name(body.elab, value.ty)
        text = f"a value of type '{shown}' is no tuple of {len(pattern.parts)} items"
        body.fail(Code.TYPE_MISMATCH, text, body.at(pattern))


def _case(body: Body, case: ast.Case, done: int) -> None:
    """Emit the block of a case."""
    label = body.fresh()

    def skip() -> None:
        body.flow.use_label(label)
        body.emit(nodes.Break(label))

    def finish() -> None:
        body.flow.use_label(done)
        body.emit(nodes.Break(done))
        body.set_dead(True)

    body.open()
    subject = ast.Name(case.pattern.start, case.pattern.end, _SUBJECT)
    test = _test(case.pattern, subject)
    if test is not None:
        _unless(body, test, skip)
    if not body.dead:
        content: tuple[ast.Stmt, ...] = (*case.body, ast.CollectItem(case.end, case.end, finish))
        if case.guard is not None:
            content = (ast.If(case.guard.start, case.guard.end, case.guard, content, (), False),)
        blocks.block(body, (*_declarations(case.pattern, subject), *content))
    inside, reaches = body.close(), not body.dead or label in body.flow.used_labels
    body.set_dead(False)
    body.emit(nodes.Block(label, inside))
    body.set_dead(not reaches)


def _unless(body: Body, test: ast.Expr, skip: Callable[[], None]) -> None:
    """Skip the case where a test fails."""
    value = conditions.truth_of(body, test)
    if isinstance(value, nodes.Const) and value.value:
        return
    body.open()
    skip()
    skipped = body.close()
    body.set_dead(False)
    if isinstance(value, nodes.Const):
        for statement in skipped:
            body.emit(statement)
        body.set_dead(True)
    else:
        body.emit(nodes.If(ops.build("xor", (value, nodes.Const(value.type, 1))), skipped))


def _test(pattern: ast.CasePattern, subject: ast.Expr) -> ast.Expr | None:
    """Return the condition under which a pattern fits a value; None if it always does."""
    start, end = pattern.start, pattern.end
    if pattern.kind == "equal":
        assert pattern.value is not None
        return ast.Compare(start, end, subject, ("==",), (pattern.value,))
    tests = [_test(part, _item(part, subject, at, pattern.kind)) for at, part in enumerate(pattern.parts)]
    if pattern.kind == "or" and None in tests:
        return None
    found = [test for test in tests if test is not None]
    whole = found[0] if found else None
    for test in found[1:]:
        assert whole is not None
        whole = ast.BoolOp(start, end, "or" if pattern.kind == "or" else "and", whole, test)
    return whole


def _item(part: ast.CasePattern, subject: ast.Expr, at: int, kind: str) -> ast.Expr:
    """Return what a part of a pattern is compared with: of a tuple its item."""
    if kind == "or":
        return subject
    return ast.Subscript(part.start, part.end, subject, (ast.IntLit(part.start, part.end, at),), ())


def _declarations(pattern: ast.CasePattern, subject: ast.Expr) -> list[ast.Stmt]:
    """Return the declarations of the names in a pattern."""
    if pattern.kind == "bind":
        name = ast.Name(pattern.start, pattern.end, pattern.name)
        return [ast.VarDecl(pattern.start, pattern.end, "var", name, None, subject)]
    parts = enumerate(pattern.parts if pattern.kind == "tuple" else ())
    return [one for at, part in parts for one in _declarations(part, _item(part, subject, at, "tuple"))]
