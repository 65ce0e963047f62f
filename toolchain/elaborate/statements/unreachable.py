"""Statements that control does not reach: they are checked like all others, and nothing of them becomes code.

Input: the statements after a `return`, a jump or what else does not go on. Output: their mistakes
(`syntax/linting/flow.py` warns of them).
"""

from ktc.elaborate.model.elaboration import Body
from ktc.syntax import ast


def is_checked(body: Body, before: ast.Stmt) -> bool:
    """Return whether the unreachable code after a statement is checked: not where `@parameter if` made it unreachable,
    because it is meant for other parameters then."""
    if (
        body.frame.module.is_library
        or body.frame.comptime
        or body.frame.instance is None
        or body.frame.inline_result is not None
    ):
        return False
    return not _chooses(before)


def _chooses(node: object) -> bool:
    """Return whether a statement contains a compile-time condition."""
    if isinstance(node, tuple):
        return any(map(_chooses, node))
    if isinstance(node, (ast.If, ast.For)) and node.comptime:
        return True
    match node:
        case ast.If(body=body, orelse=rest) | ast.While(body=body, orelse=rest) | ast.For(body=body, orelse=rest):
            return _chooses(body) or _chooses(rest)
        case ast.With(body=body):
            return _chooses(body)
        case ast.Try():
            handler = node.handler.body if node.handler is not None else ()
            return any(map(_chooses, (node.body, handler, node.orelse, node.final)))
    return False
