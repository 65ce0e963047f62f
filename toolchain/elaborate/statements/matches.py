"""`match`: the body of the first case whose pattern fits a value.

Input: the statement. Output: one block for each case, which control leaves where the pattern or the guard does not fit,
and one around all, which it leaves behind the body that ran. A name of a pattern is declared as by `var`. Cases that
compare Bools, also inside tuples, may fit all values; the last of them is not tested.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

from ktc.diag.codes import Code
from ktc.elaborate.builder import materialization
from ktc.elaborate.calls import conversions
from ktc.elaborate.expressions import conditions
from ktc.elaborate.model.declarations import Scope, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.types import ParameterPack, StructTy
from ktc.elaborate.model.values import Place, Var
from ktc.elaborate.statements import blocks
from ktc.elaborate.types import type_printer, well_known
from ktc.ir import nodes, ops
from ktc.syntax import ast

_SUBJECT = "the value of match"
"""The name of the value in the cases; no name of a program has spaces."""

_MAX_TRUTHS = 8
"""Of how many Bools in a value all combinations are tried."""

Path = tuple[int, ...]


def match(body: Body, node: ast.Match) -> None:
    """Elaborate `match`."""
    value = conversions.materialize_value(body, body.api.expr(body, node.subject))
    place = materialization.as_place(body, value)
    held = Place(place.ty, place.pointer, False, place.local, place.path)
    outer, body.frame.scope = body.frame.scope, Scope(body.frame.scope, "block", {}, body=body)
    body.frame.scope.names[_SUBJECT] = Var(_SUBJECT, held.ty, held, body.at(node.subject), "with", body=body)
    before, after = set(body.assignments.assigned), set(body.assignments.assigned)
    done, last = body.fresh(), _last_needed(body.elab, node.cases, held.ty)
    body.open()
    try:
        for number, case in enumerate(node.cases):
            body.assignments.assigned = set(before)
            _check_size(body, held, case.pattern)
            _case(body, case, done, fits=number == last)
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


def _case(body: Body, case: ast.Case, done: int, fits: bool) -> None:
    """Emit the block of a case.

    Args:
        fits: whether its pattern fits whatever the cases before leave.
    """
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
    test = None if fits else _test(case.pattern, subject)
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
    """Return the operand of a part of a pattern: the subject, or of a tuple its item."""
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


def _last_needed(elab: Elaboration, cases: Sequence[ast.Case], ty: Ty) -> int | None:
    """Return the number of the first case with which the cases without guards fit all values; None if none does."""
    tested: set[Path] = set()
    for case in cases:
        _collect(case.pattern, (), tested)
    paths = sorted(tested)
    if len(paths) > _MAX_TRUTHS or any(not _is_bool(elab, ty, path) for path in paths):
        return None
    left = [dict(zip(paths, truths, strict=True)) for truths in product((True, False), repeat=len(paths))]
    for number, case in enumerate(cases):
        if case.guard is None:
            left = [truths for truths in left if not _fits(case.pattern, (), truths)]
        if not left:
            return number
    return None


def _collect(pattern: ast.CasePattern, path: Path, found: set[Path]) -> None:
    """Add the places in a value that a pattern compares with `True` or `False`."""
    if isinstance(pattern.value, ast.BoolLit):
        found.add(path)
    for at, part in enumerate(pattern.parts):
        _collect(part, path if pattern.kind == "or" else (*path, at), found)


def _is_bool(elab: Elaboration, ty: Ty, path: Path) -> bool:
    """Return whether the value at a place is a `Bool`."""
    for at in path:
        pack = ty.params[0] if isinstance(ty, StructTy) and ty.params else None
        item = pack.items[at] if isinstance(pack, ParameterPack) and at < len(pack.items) else None
        if not isinstance(item, Ty):
            return False
        ty = item
    return ty is well_known.library_type(elab, "Bool")


def _fits(pattern: ast.CasePattern, path: Path, truths: Mapping[Path, bool]) -> bool:
    """Return whether a pattern fits all values with some Bools; False if that depends on more than these."""
    if pattern.kind == "equal":
        return isinstance(pattern.value, ast.BoolLit) and truths[path] == pattern.value.value
    if pattern.kind == "or":
        return any(_fits(part, path, truths) for part in pattern.parts)
    return all(_fits(part, (*path, at), truths) for at, part in enumerate(pattern.parts))
