"""Comparisons, chained ones too."""

from functools import partial

from ktc.base.editions import Edition
from ktc.elaborate.builder import ir_values, locals
from ktc.elaborate.calls import conversions
from ktc.elaborate.calls.writeback import fetched
from ktc.elaborate.expressions import collection_literals, conditions, operands, operators
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import Opaque, UnboundParameter
from ktc.elaborate.model.values import CollectionLiteral, DeferredOperand, Place, Result, RValue, Val
from ktc.elaborate.tree.operator_names import COMPARE
from ktc.elaborate.types import struct_types, well_known
from ktc.ir import nodes, ops, types
from ktc.syntax import ast


def compare(body: Body, node: ast.Compare) -> Result:
    """Elaborate a chain of comparisons; each operand is evaluated once."""
    only = len(node.ops) == 1
    late = body.api.expr if not only or "in" in node.ops[0] else collection_literals.operand_or_literal
    left = operands.first_operand(body, node.rest, partial(operands.operand, body, node.first, partial(late, body)))
    if only:
        right = (
            operands.operand(body, node.rest[0], partial(body.api.expr, body))
            if isinstance(left, DeferredOperand)
            else late(body, node.rest[0])
        )
        left = fetched(body, left)
        return compare_two(body, node.ops[0], left, fetched(body, right), node)
    bool_ty = well_known.library_type(body.elab, "Bool")
    local = locals.new_local(body, types.BOOL, "chain")
    body.emit(nodes.Store(nodes.LocalAddress(local), nodes.Const(types.BOOL, 0)))
    label = body.fresh()
    body.open()
    for i, (op, rest) in enumerate(zip(node.ops, node.rest, strict=True)):
        right = (
            operands.operand(body, rest, partial(body.api.expr, body))
            if isinstance(left, DeferredOperand)
            else body.api.expr(body, rest)
        )
        left = fetched(body, left)
        right = fetched(body, right)
        if isinstance(right, Place) and struct_types.abi(body.elab, right.ty) == "direct":
            right = RValue(right.ty, ir_values.rvalue(body, right))
        truth = conditions.condition(body, compare_two(body, op, left, right, node), node)
        if i < len(node.ops) - 1:
            body.emit(nodes.If(ops.build("xor", (truth, nodes.Const(types.BOOL, 1))), (nodes.Break(label),)))
        else:
            body.emit(nodes.Store(nodes.LocalAddress(local), truth))
        left = right
    body.emit(nodes.Block(label, body.close()))
    return RValue(bool_ty, body.let(nodes.Load(nodes.LocalAddress(local), types.BOOL), types.BOOL))


def compare_two(body: Body, op: str, left: Result, right: Result, node: ast.Node) -> Val:
    """Elaborate one comparison."""
    if isinstance(left, (UnboundParameter, Opaque)) or isinstance(right, (UnboundParameter, Opaque)):
        raise Symbolic
    if op in ("in", "not-in"):
        made = operators.dunder(body, right, "__contains__", [left], node)
        if made is None:
            operators.no_operator(body, "in", left, right, node)
        return negated(body, made, node) if op == "not-in" else made
    if op in ("is", "is-not"):
        right = collection_literals.literal_like(body, right, left) if isinstance(right, CollectionLiteral) else right
        made = operators.dunder(body, left, "__is__" if op == "is" else "__isnot__", [right], node)
        if made is None:
            operators.no_operator(body, op.replace("-", " "), left, right, node)
        return made
    if isinstance(left, Ty) and isinstance(right, Ty):
        if body.frame.module.edition is Edition.Y2026:
            left, right = well_known.as_scalar(body.elab, left), well_known.as_scalar(body.elab, right)
        same = (left is right) == (op == "==")
        return well_known.bool_constant(body.elab, same)
    name = COMPARE[op]
    if isinstance(left, CollectionLiteral):
        left = collection_literals.literal_like(body, left, right)
    made = operators.dunder(body, left, f"__{name}__", [right], node)
    if made is None and isinstance(right, CollectionLiteral):
        right = collection_literals.literal_like(body, right, left)
        made = operators.dunder(body, left, f"__{name}__", [right], node)
    if made is None:
        plain = conversions.materialize(body, left)
        if plain is not left:
            made = operators.dunder(body, plain, f"__{name}__", [right], node)
    if made is None:
        operators.no_operator(body, op, left, right, node)
    return made


def negated(body: Body, value: Result, node: ast.Node) -> RValue:
    """Return `not value`."""
    truth = conditions.condition(body, value, node)
    return RValue(well_known.library_type(body.elab, "Bool"), ops.build("xor", (truth, nodes.Const(types.BOOL, 1))))
