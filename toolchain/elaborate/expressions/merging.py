"""Values of different types that become one: `__merge_with__`."""

from collections.abc import Sequence

from ktc.elaborate.calls import call_lowering, overload_resolution
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ConstValue, FunctionValue, StructTy
from ktc.elaborate.model.values import Arg, Place, Result, RValue, Val
from ktc.elaborate.types import struct_members
from ktc.ir import nodes
from ktc.syntax import ast


def merge_arms(
    body: Body, values: Sequence[Result], lists: list[list[nodes.Statement]], node: ast.Ternary
) -> list[Result]:
    """Return what the arms of a conditional expression give where their types have a `__merge_with__` for each other.

    Args:
        values: of the two arms.
        lists: the statements of each arm; a call of the method is appended to them.
    """
    first, second = values
    if not isinstance(first, (RValue, Place, ConstValue)) or not isinstance(second, (RValue, Place, ConstValue)):
        return [first, second]
    found: list[Result] = []
    for own, other, statements, part in (
        (first, second.ty, lists[0], node.then),
        (second, first.ty, lists[1], node.orelse),
    ):
        body.reopen(statements)
        found.append(_merge(body, own, other, part) or own if own.ty is not other else own)
        body.close()
    return found


def _merge(body: Body, value: Val, other: Ty, node: ast.Node) -> Val | None:
    if not isinstance(value.ty, StructTy) or "__merge_with__" not in value.ty.info.members:
        return None
    fns = struct_members.method_set(body.elab, value.ty, "__merge_with__")
    if fns is None:
        return None
    span = body.at(node)
    fn = FunctionValue(fns, (), (("other_type", other),), value.ty)
    chosen = overload_resolution.choose_cached(body, fn, [Arg(value, span)], [], span, True, quiet=True)
    return None if chosen is None else call_lowering.emit_call(body, chosen, span)
