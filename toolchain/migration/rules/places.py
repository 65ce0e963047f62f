"""Where an expression stands, and facts about it for many rules."""

from collections.abc import Set

from ktc.migration.changes import Rewrite
from ktc.migration.plan import Plan
from ktc.syntax import ast

PRIMARY = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


TEXTS = frozenset(("String", "StringSlice", "StringLiteral"))


def outside(plan: Plan, node: ast.Node) -> tuple[int, int]:
    """Return the characters of an expression with the parentheses right around it."""
    text, start, end = plan.read.text, node.start, node.end
    parent = plan.read.parents.get(node)
    low = parent.start if parent is not None else 0
    while True:
        left, right = start - 1, end
        while left >= low and text[left] in " \t\n":
            left -= 1
        while right < len(text) and text[right] in " \t\n":
            right += 1
        if left < low or text[left] != "(" or text[right : right + 1] != ")":
            return start, end
        if isinstance(parent, ast.Call) and left == parent.func.end:
            return start, end
        start, end = left, right + 1


def is_printed(plan: Plan, node: ast.Node) -> bool:
    parent = plan.read.parents.get(node)
    return isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id in ("print", "String")


def is_path(node: ast.Expr) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_path(node.value))


def bring(plan: Plan, rewrite: Rewrite, module: str, names: Set[str]) -> None:
    """Import names of the library above the first import, unless the file imports them."""
    body = plan.read.module.body
    have = {new or name for one in body if isinstance(one, ast.FromImport) for name, new in one.names}
    wanted = ", ".join(sorted(names - have))
    if wanted and body:
        first = next((one for one in body if isinstance(one, ast.FromImport | ast.Import)), body[0])
        start = min([first.start, *(one.start for one in getattr(first, "decorators", ()))])
        below = "" if isinstance(first, ast.FromImport | ast.Import) else "\n\n"
        plan.changes.insert(rewrite, start, f"from {module} import {wanted}\n{below}")
