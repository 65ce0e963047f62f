"""`t op= v`. Input: its syntax. Output: a call of the method that changes the value in place, or the operator's
result, stored in its place."""

from functools import partial
from typing import NoReturn

from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.elaborate.builder import materialization, variables
from ktc.elaborate.calls.writeback import fetched, runs_after_operands, writeback_place
from ktc.elaborate.expressions import collection_literals, operands, operators
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ConstValue, StructTy
from ktc.elaborate.model.values import Arg, ComputedAccess, DeferredOperand, Place, Result, RValue, Val, Var
from ktc.elaborate.resolve.suggestions import loop_help
from ktc.elaborate.statements import item_assignments, overwrites, variable_declarations
from ktc.elaborate.statements.item_assignments import write_back
from ktc.elaborate.tree.operator_names import BINARY
from ktc.elaborate.types import struct_members, type_printer
from ktc.syntax import ast


def aug_assign(body: Body, node: ast.AugAssign) -> None:
    """Elaborate `t op= v`."""
    target = node.target
    if isinstance(target, ast.Subscript):
        base = body.api.expr(body, target.base)
        args = item_assignments.index_args(body, target)
        setter = (
            struct_members.method_set(body.elab, base.ty, "__setitem__")
            if isinstance(base, (RValue, Place, ConstValue))
            else None
        )
        outer = body.site.defer(target)
        late = (
            setter is not None
            and isinstance(base, (RValue, Place, ConstValue))
            and runs_after_operands(body, base, target)
        )
        body.site.defer(outer)
        value = collection_literals.operand_or_literal(body, node.value) if late else None
        old = item_assignments.apply_index(body, base, args, target)
        if setter is not None and isinstance(base, (RValue, Place, ConstValue)) and not _changes_there(body, old):
            value = value if late else collection_literals.operand_or_literal(body, node.value)
            item_assignments.set_fetched_item(
                body, base, setter, args, Arg(_changed(body, old, value, node), body.at(target)), target
            )
            return
        found: Result = old
    else:
        found = operands.operand(body, target, partial(body.api.expr, body))
    after: list[tuple[ComputedAccess, Place]] = []
    late = isinstance(found, DeferredOperand)
    value = collection_literals.operand_or_literal(body, node.value) if late else None
    place = fetched(body, found)
    if isinstance(place, (RValue, Place)) and place.computed_from is not None:
        place = writeback_place(body, place, after)
    value = value if late else collection_literals.operand_or_literal(body, node.value)
    if isinstance(place, (RValue, ConstValue)) or (isinstance(place, Place) and not place.mutable):
        _read_only(body, place, target)
    if not isinstance(place, Place):
        body.fail(Code.CANNOT_MUTATE, "this cannot be changed", body.at(target))
    name = f"__i{BINARY[node.op]}__"
    made = operators.dunder(body, place, name, [value], node)
    if made is None:
        _check_in_place(body, place.ty, name, node)
        if not struct_members.is_copied_implicitly(body.elab, place.ty) and _has(body, place.ty, name):
            operators.no_operator(body, f"{node.op}=", place, value, node)
        current = variable_declarations.snapshot(body, Place(place.ty, place.pointer, True, place.local, place.path))
        overwrites.store_place(
            body, place, operators.apply_operator(body, node.op, current, value, node), body.at(target), ""
        )
    write_back(body, after)


def _changes_there(body: Body, old: object) -> bool:
    """Return whether an item is a mutable place whose value cannot be copied out and stored again."""
    if not isinstance(old, Place) or not old.mutable or old.owned:
        return False
    return not struct_members.is_copied_implicitly(body.elab, old.ty)


def _has(body: Body, ty: Ty, name: str) -> bool:
    return isinstance(ty, StructTy) and struct_members.method_set(body.elab, ty, name) is not None


def _changed(body: Body, old: Val, value: Result, node: ast.AugAssign) -> Result:
    """Return the new value of an item that `__setitem__` stores: the old one is changed, if it can be."""
    held = variable_declarations.snapshot(body, old)
    name = f"__i{BINARY[node.op]}__"
    if isinstance(held.ty, StructTy) and not held.ty.info.module.is_library:
        held = materialization.as_place(body, held)
        if operators.dunder(body, replace(held, mutable=True, owned=False), name, [value], node) is not None:
            return held
        _check_in_place(body, held.ty, name, node)
    return operators.apply_operator(body, node.op, held, value, node)


def _check_in_place(body: Body, ty: Ty, name: str, node: ast.AugAssign) -> None:
    """Report `t op= v` where a struct of the program has no method for it; the library's types may do without."""
    if (
        isinstance(ty, StructTy)
        and not ty.info.module.is_library
        and struct_members.method_set(body.elab, ty, name) is None
    ):
        text = f"'{node.op}=' changes a value of type '{type_printer.type_name(body.elab, ty)}', which has no '{name}'"
        body.fail(Code.TYPE_MISMATCH, text, body.at(node), f"give '{ty.info.name}' the method '{name}'")


def _read_only(body: Body, place: Result, target: ast.Expr) -> NoReturn:
    """Report `t op= v` where t cannot be changed."""
    item = isinstance(target, ast.Subscript)
    name = f"'{target.id if isinstance(target, ast.Name) else getattr(target, 'name', '')}'"
    name = "this item" if item else name
    reason = "" if item else getattr(place, "read_only_reason", "")
    text = f"{name} is read only" if isinstance(target, ast.Name) or not reason else f"{name} is part of {reason}"
    owner = target
    while isinstance(owner, (ast.Attribute, ast.Subscript)):
        owner = owner.value if isinstance(owner, ast.Attribute) else owner.base
    var = variables.find(body, owner.id) if isinstance(owner, ast.Name) else None
    help = loop_help(var.name, getattr(var.value, "read_only_reason", "")) if isinstance(var, Var) else ""
    help = f"declare it 'mut {var.name}'" if isinstance(var, Var) and var.kind == "arg" else help
    body.fail(Code.CANNOT_MUTATE, text, body.at(target), help)
