"""Free variables of nested functions.

Input: the syntax of a nested function. Output: the names that it reads or writes and does not declare itself.
"""

from collections.abc import Iterator

from ktc.base.records import field_names
from ktc.syntax import ast


def free_names(node: ast.FunctionDecl) -> set[str]:
    """Return the free variables of a function's body."""
    used = {part.id for part in parts(node.body) if isinstance(part, ast.Name)}
    return used - declared_in(node.body) - {arg.name for arg in (*node.args, *node.params)} - {node.name}


def captured_names(node: ast.FunctionDecl) -> set[str]:
    """Return the names in a function's body that it does not declare; functions in it have names of their own."""
    used, own = set[str](), {arg.name for arg in (*node.args, *node.params)}
    work: list[object] = [node.body]
    while work:
        part = work.pop()
        if isinstance(part, (tuple, list)):
            work += part
        elif isinstance(part, ast.FunctionDecl):
            used |= captured_names(part) | {one.name for one in part.captures or () if one.name}
            own |= {part.name}
            work += [part.args, part.params, part.result]
        elif isinstance(part, ast.Node):
            used |= {part.id} if isinstance(part, ast.Name) else set()
            own |= declared_by(part)
            work += [getattr(part, name) for name in field_names(type(part))]
    return used - own


def declared_in(value: object) -> set[str]:
    """Return the names that are declared anywhere in a node, or in one of several."""
    own: set[str] = set()
    for part in parts(value):
        own |= declared_by(part)
    return own


def declared_by(node: ast.Node) -> set[str]:
    """Return the names that one node declares."""
    match node:
        case ast.VarDecl(target=target) | ast.For(target=target) | ast.ForClause(target=target):
            return _bound(target)
        case ast.WithItem(name=name) | ast.Alias(name=name) | ast.FunctionDecl(name=name):
            return {name}
        case ast.Param(name=name) | ast.Handler(name=name) | ast.CasePattern(kind="bind", name=name):
            return {name}
    return set()


def first_use(node: ast.FunctionDecl, name: str) -> ast.Node:
    """Return where a function's body names something first, or the function where only captures in it name it."""
    uses = [part for part in parts(node.body) if isinstance(part, ast.Name) and part.id == name]
    return min(uses, key=lambda part: part.start, default=node)


def _bound(target: object) -> set[str]:
    return {part.id for part in parts(target) if isinstance(part, ast.Name)}


def parts(value: object) -> Iterator[ast.Node]:
    """Give a node, or each of several, and all nodes in it."""
    work: list[object] = [value]
    while work:
        part = work.pop()
        if isinstance(part, (tuple, list)):
            work += part
        elif isinstance(part, ast.Node):
            yield part
            work += [getattr(part, name) for name in field_names(type(part))]
