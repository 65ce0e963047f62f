"""The compiler's own functions for places: written as calls, each stands for another expression."""

from ktc.diag.codes import Code
from ktc.elaborate.builder import variables
from ktc.elaborate.model.elaboration import Body
from ktc.syntax import ast

UNINITIALIZED_PLACE = "__get_address_as_uninit_lvalue"

NAMES = (UNINITIALIZED_PLACE, "__get_address_as_owned_value", "__get_mvalue_as_litref", "__get_litref_as_mvalue")


def desugar(body: Body, node: ast.Call) -> ast.Expr | None:
    """Return the expression that a call of one of these functions stands for, or None."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in NAMES or variables.find(body, name) is not None:
        return None
    start, end, inner = node.start, node.end, _operand(body, node, name)
    if name == "__get_address_as_owned_value":
        return ast.Call(start, end, ast.Attribute(start, end, _pointer(inner), "_owned_pointee", start), (), ())
    if name == "__get_mvalue_as_litref":
        return ast.Call(start, end, ast.Name(start, end, "Pointer"), (), (ast.Keyword(start, end, "to", inner),))
    if name == "__get_litref_as_mvalue":
        return ast.Subscript(start, end, inner, (), ())
    body.fail(Code.SYNTAX_ERROR, f"'{name}' can only be assigned to", body.at(node))


def ownership_operand(operation: str, node: ast.Call) -> ast.Expr | None:
    """Return the variable that an operation about ownership names, whether or not it has a value, or None."""
    match node.args:
        case (ast.Call(func=ast.Name(id="__get_mvalue_as_litref"), args=(of,)),) if operation.startswith(
            "lit.ownership."
        ):
            return of
    return None


def initialization(body: Body, target: ast.Expr, value: ast.Expr) -> ast.Call | None:
    """Return the call that `__get_address_as_uninit_lvalue(p) = v` stands for, or None."""
    if not isinstance(target, ast.Call) or not isinstance(target.func, ast.Name):
        return None
    if target.func.id != UNINITIALIZED_PLACE or variables.find(body, UNINITIALIZED_PLACE) is not None:
        return None
    start, end = target.start, target.end
    pointer = _pointer(_operand(body, target, UNINITIALIZED_PLACE))
    place = ast.Attribute(start, end, pointer, "__mlir_value", start)
    operation = ast.Attribute(start, end, ast.Name(start, end, "__mlir_op"), "lit.init", start)
    return ast.Call(start, end, operation, (place, value), ())


def _operand(body: Body, node: ast.Call, name: str) -> ast.Expr:
    if len(node.args) != 1 or node.keywords:
        code = Code.MISSING_ARGUMENT if not node.args else Code.TOO_MANY_ARGUMENTS
        body.fail(code, f"'{name}' takes one argument", body.at(node))
    return node.args[0]


def _pointer(node: ast.Expr) -> ast.Expr:
    """Return the pointer in `pointer.address`."""
    return node.value if isinstance(node, ast.Attribute) and node.name == "address" else node
