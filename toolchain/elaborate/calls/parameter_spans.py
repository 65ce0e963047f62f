"""Where a parameter is written that does not fit. In: `f[…]` as it stands, and why. Out: the value in the brackets."""

from ktc.elaborate.model.errors import Mismatch
from ktc.syntax import ast


def written_parameter(node: ast.Expr | None, why: Mismatch, name: str = "") -> ast.Expr | None:
    """Return the value that is written for the parameter that does not fit; None if none is, or not in these brackets.

    Args:
        name: what must stand before the brackets, if that is known.
    """
    if not isinstance(node, ast.Subscript) or why.param is None:
        return None
    called = node.base.id if isinstance(node.base, ast.Name) else getattr(node.base, "name", "")
    if (name and called != name) or any(isinstance(item, ast.Star) for item in node.args):
        return None
    named, index = why.param
    found = [keyword.value for keyword in node.keywords if keyword.name == named]
    if found:
        return found[-1]
    return node.args[index] if 0 <= index < len(node.args) else None
