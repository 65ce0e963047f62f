"""Comprehensions: loops that add to a collection, which is made before them."""

from ktc.diag.codes import Code
from ktc.elaborate.builder import materialization
from ktc.elaborate.calls import call_lowering, conversions
from ktc.elaborate.expressions import collection_literals, operators
from ktc.elaborate.generics import parameter_binding
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.types import ConstValue, StructTy
from ktc.elaborate.model.values import Place, Result, RValue
from ktc.elaborate.statements import variable_declarations
from ktc.elaborate.types import struct_members, type_printer
from ktc.syntax import ast

_ADDS = {"list": ("List", "append"), "set": ("Set", "add"), "dict": ("Dict", "__setitem__")}
"""By the kind of comprehension, the type that it makes where none is expected, and the method that adds an item."""


def comprehension(body: Body, node: ast.Comprehension, expected: Ty | None) -> Result:
    """Elaborate a comprehension.

    Args:
        expected: a type with the method that adds an item is made in place of a `List`, `Set` or `Dict`.
    """
    before = body.statements
    made: list[Place] = []
    wanted = expected if _collects(body, expected, node) else None

    def make(ty: Ty) -> None:
        inner = body.swap_statements(before)
        made.append(materialization.as_place(body, call_lowering.call(body, ty, [], [], body.at(node))))
        body.swap_statements(inner)

    def add() -> None:
        items = [node.item] if node.value is None else [node.item, node.value]
        if wanted is None:
            parts: list[Result] = [conversions.materialize_value(body, body.api.expr(body, item)) for item in items]
        else:
            parts = [collection_literals.argument_or_literal(body, item).value for item in items]
        if not made:
            own = tuple(getattr(part, "ty", None) for part in parts)
            make(wanted or parameter_binding.library_struct(body.elab, _ADDS[node.kind][0], own))
        target = Place(made[0].ty, made[0].pointer, True, made[0].local)
        values = [variable_declarations.snapshot(body, part) for part in parts]
        if operators.dunder(body, target, _ADDS[node.kind][1], values, node) is None:
            given = [part.ty for part in parts if isinstance(part, (RValue, Place, ConstValue))]
            kinds = "' and '".join(type_printer.type_name(body.elab, ty) for ty in given)
            text = f"'{kinds}' cannot be added to a '{type_printer.type_name(body.elab, target.ty)}'"
            body.fail(Code.TYPE_MISMATCH, text, body.at(node.item))

    nested: ast.Stmt = ast.CollectItem(node.start, node.end, add)
    for clause in reversed(node.clauses):
        for condition in reversed(clause.conditions):
            nested = ast.If(condition.start, condition.end, condition, (nested,), (), False)
        nested = ast.For(clause.start, clause.end, clause.target, "", clause.iter, (nested,), (), False)
    body.api.statement(body, nested)
    if not made:
        raise ErrorReported
    return made[0]


def _collects(body: Body, expected: Ty | None, node: ast.Comprehension) -> bool:
    """Return whether items can be added to a type, so that the comprehension makes it."""
    if not isinstance(expected, StructTy) or expected.symbolic:
        return False
    return struct_members.method_set(body.elab, expected, _ADDS[node.kind][1]) is not None
