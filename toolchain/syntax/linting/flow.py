"""Statements that nothing reaches, conditions that are always the same, and texts that are no docstrings.

Input: a body. Output: warnings about it, nested functions included.

    return x
    print(x)        this is never reached: the 'return' before it always leaves
"""

from collections.abc import Iterator

from ktc.base.records import record
from ktc.diag.codes import Code
from ktc.syntax import ast


@record
class Finding:
    """One finding and where it stands."""

    code: Code
    start: int
    end: int
    message: str
    help: str


def unreachable(body: tuple[ast.Stmt, ...]) -> Iterator[Finding]:
    """Give the first statement of each part that nothing reaches, constant conditions, and texts that do nothing."""
    leaves = ""
    documented = False
    for statement in body:
        if leaves:
            text = f"this is never reached: {leaves}"
            yield Finding(Code.UNREACHABLE_CODE, statement.start, statement.end, text, "remove it")
            return
        if isinstance(statement, ast.ExprStmt) and isinstance(statement.value, ast.StrLit) and not documented:
            text = "this string is not used; a docstring is the first statement of its function"
            yield Finding(Code.UNUSED_VALUE, statement.start, statement.end, text, "remove it, or make a comment of it")
        documented = isinstance(statement, ast.Alias)
        yield from _inside(statement)
        leaves = _leaves(statement)


def _inside(statement: ast.Stmt) -> Iterator[Finding]:
    match statement:
        case ast.If():
            if not statement.comptime:
                yield from _constant(statement.condition, "if")
            yield from unreachable(statement.body)
            yield from unreachable(statement.orelse)
        case ast.While():
            if isinstance(statement.condition, ast.BoolLit) and not statement.condition.value:
                yield from _constant(statement.condition, "while")
            yield from unreachable(statement.body)
            yield from unreachable(statement.orelse)
        case ast.For():
            yield from unreachable(statement.body)
            yield from unreachable(statement.orelse)
        case ast.With():
            yield from unreachable(statement.body)
        case ast.Try():
            parts = (statement.body, statement.handler.body if statement.handler else (), statement.orelse)
            for part in (*parts, statement.final):
                yield from unreachable(part)
        case ast.FunctionDecl():
            yield from unreachable(statement.body or ())


def _constant(condition: ast.Expr, word: str) -> Iterator[Finding]:
    value = condition
    negated = isinstance(value, ast.Unary) and value.op == "not"
    if isinstance(value, ast.Unary) and negated:
        value = value.value
    if isinstance(value, ast.BoolLit):
        always = value.value != negated
        text = f"the condition of this '{word}' is always {always}"
        yield Finding(Code.CONSTANT_CONDITION, condition.start, condition.end, text, "remove what is never run")


def _leaves(statement: ast.Stmt) -> str:
    """Say why nothing after a statement is reached; "" if it may be."""
    match statement:
        case ast.Return():
            return "the 'return' before it always leaves"
        case ast.Raise():
            return "the 'raise' before it always leaves"
        case ast.Break():
            return "the 'break' before it always leaves"
        case ast.Continue():
            return "the 'continue' before it always leaves"
        case ast.If(body=body, orelse=orelse) if body and orelse and _all_leave(body) and _all_leave(orelse):
            return "every branch of the 'if' before it leaves"
        case ast.While(condition=ast.BoolLit(value=True), body=body) if not _breaks(body):
            return "the loop before it never ends"
        case ast.Try() if _all_leave(statement.final):
            return "the 'finally' before it always leaves"
        case ast.Try(handler=handler) if (
            (_all_leave(statement.body) or _all_leave(statement.orelse))
            and (handler is None or _all_leave(handler.body))
        ):  # fmt: skip
            return "every path through the 'try' before it leaves"
    return ""


def _all_leave(body: tuple[ast.Stmt, ...]) -> bool:
    return any(_leaves(statement) for statement in body)


def _breaks(body: tuple[ast.Stmt, ...]) -> bool:
    """Return whether the body of a loop contains a `break` of that loop."""
    for statement in body:
        match statement:
            case ast.Break():
                return True
            case ast.If():
                inner = (*statement.body, *statement.orelse)
            case ast.While() | ast.For():
                inner = statement.orelse
            case ast.With():
                inner = statement.body
            case ast.Try():
                handled = statement.handler.body if statement.handler else ()
                inner = (*statement.body, *handled, *statement.orelse, *statement.final)
            case _:
                continue
        if _breaks(inner):
            return True
    return False
