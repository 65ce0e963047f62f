"""Names that a statement with an error would have declared.

Input: the statement. Output: names of its block, and names of the whole function.
"""

from ktc.syntax import ast


def declared_names(statement: ast.Stmt) -> tuple[list[str], list[str]]:
    """Return the names that a statement declares in its own block, and those that it declares for the function."""
    inner: list[str] = []
    whole: list[str] = []
    match statement:
        case ast.VarDecl(target=target):
            _names(target, inner)
        case ast.Alias(name=name) | ast.FunctionDecl(name=name):
            inner.append(name)
        case _:
            _assigned(statement, whole)
    return inner, whole


def _assigned(statement: ast.Stmt, found: list[str]) -> None:
    """Names that `x = v` inside a statement declares for the whole function."""
    bodies: tuple[tuple[ast.Stmt, ...], ...] = ()
    match statement:
        case ast.Assign(targets=targets):
            for target in targets:
                _names(target, found)
        case ast.If() | ast.While() | ast.For():
            bodies = (statement.body, statement.orelse)
        case ast.With():
            bodies = (statement.body,)
        case ast.Try():
            handled = statement.handler.body if statement.handler else ()
            bodies = (statement.body, handled, statement.orelse, statement.final)
    for body in bodies:
        for inner in body:
            _assigned(inner, found)


def _names(target: ast.Expr, found: list[str]) -> None:
    if isinstance(target, ast.Name):
        found.append(target.id)
    elif isinstance(target, ast.Bound):
        _names(target.target, found)
    elif isinstance(target, ast.TupleLit):
        for item in target.items:
            _names(item, found)
