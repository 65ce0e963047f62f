"""One origin for several arguments: a function that names one origin twice wants them in one variable.

Input: a call, and the values of its arguments. Output: an error where two arguments whose types name one parameter of
the function as their origin surely lie in, or point into, different variables.
"""

from collections.abc import Sequence

from ktc.diag.codes import Code
from ktc.elaborate.builder import locals
from ktc.elaborate.model.declarations import StructInfo
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import Instance
from ktc.elaborate.model.values import Arg, Place, Result, RValue, Values
from ktc.elaborate.tree.argument_uses import names_in
from ktc.elaborate.types import struct_types
from ktc.ir import nodes
from ktc.syntax import ast


def check_shared(body: Body, instance: Instance, values: Values, slots: Sequence[Arg | list[Arg] | None]) -> None:
    """Report arguments in different variables, where the function wants one origin for both."""
    fn = instance.fn
    if fn.module.is_library or len(values) < 2:
        return
    around = fn.owner.node.params if fn.name == "__init__" and isinstance(fn.owner, StructInfo) else ()
    for param in (*fn.node.params, *around):
        if not _is_origin(param.type):
            continue
        first: nodes.Local | None = None
        for arg, value, slot in zip(fn.node.args, values, slots, strict=True):
            if not isinstance(slot, Arg):
                continue
            found = _variable(body, arg, value, param.name)
            if found is None:
                continue
            if first is None:
                first = found
            elif found is not first:
                text = f"parameter '{param.name}' of {fn.title} is one origin, and this is in '{found.name}', not in"
                help = "give each argument an origin of its own"
                body.fail(Code.TYPE_MISMATCH, f"{text} '{first.name}'", slot.span, help)


def _is_origin(node: ast.Expr | None) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.base
    return isinstance(node, ast.Name) and node.id in ("Origin", "MutOrigin", "ImmutOrigin", "ImmOrigin")


def _variable(body: Body, arg: ast.Param, value: Result, name: str) -> nodes.Local | None:
    """Return the only variable of the program that the origin `name` of an argument stands for."""
    if (
        isinstance(value, Place)
        and arg.origin
        and all(isinstance(one, ast.Name) and one.id == name for one in arg.origin)
    ):
        found = value.local if value.local is not None else _only(value.loans)
    elif isinstance(value, (RValue, Place)) and name in names_in(arg.type):
        origins = struct_types.origins_of(body.elab, value.ty)
        if len(origins) != 1 or any(one.kind == "any" for one in origins):
            return None
        found = next(iter(origins)).local or _only(locals.loans_of(body, value))
    else:
        return None
    is_plain = found is not None and found.name and found in body.facts.local_types
    if not is_plain or found is None or struct_types.origins_of(body.elab, body.facts.local_types[found]):
        return None  # it has no name, or refers to something itself
    return found


def _only(found: Sequence[nodes.Local] | None) -> nodes.Local | None:
    return found[0] if found is not None and len(found) == 1 else None
