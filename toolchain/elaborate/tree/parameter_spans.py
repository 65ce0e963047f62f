"""Where a parameter that does not fit is written. Input: `f[…]`, and the mismatch. Output: the value in brackets."""

from ktc.elaborate.model.errors import Mismatch
from ktc.syntax import ast


def parameter_node(node: ast.Expr | None, reason: Mismatch, name: str = "") -> ast.Expr | None:
    """Return the value that is written for the parameter that does not fit; None if none is, or not in these brackets.

    Args:
        name: the name before the brackets, if that is known.
    """
    if not isinstance(node, ast.Subscript) or reason.param is None:
        return None
    called = node.base.id if isinstance(node.base, ast.Name) else getattr(node.base, "name", "")
    if (name and called != name) or any(isinstance(item, ast.Star) for item in node.args):
        return None
    named, index = reason.param
    found = [keyword.value for keyword in node.keywords if keyword.name == named]
    if found:
        return found[-1]
    return node.args[index] if 0 <= index < len(node.args) else None
