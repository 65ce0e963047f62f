"""Items and fields of computed values that a call changes: read before, written back after."""

from typing import TypeGuard

from ktc.base.records import replace
from ktc.elaborate.builder import locals, partial_moves, place_operations
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import ArgumentSignature
from ktc.elaborate.model.types import ConstValue, StructTy
from ktc.elaborate.model.values import Arg, ComputedAccess, DeferredOperand, Place, Result, RValue, Val, Values
from ktc.elaborate.types import struct_members
from ktc.ir import nodes
from ktc.syntax import ast

_NOWHERE = ast.Pass(0, 0)


def runs_after_operands(body: Body, base: Val, node: ast.Node, setter: str = "__setitem__") -> bool:
    """Return whether the getter of this index runs after the other operands: the program defines it beside a setter."""
    if (
        body.site.deferred_operand is not node
        or bool(getattr(node, "keywords", None))
        or not isinstance(base.ty, StructTy)
    ):
        return False
    return not base.ty.info.module.is_library and _writable(base, body, setter)


def fetched(body: Body, value: Result) -> Result:
    """Return a value; one whose getter runs after the operands is fetched now."""
    if not isinstance(value, DeferredOperand):
        return value
    made = body.api.call_fn(body, value.getter, value.args, [], body.at(value.node), True)
    base = value.args[0].value
    assert isinstance(base, (RValue, Place, ConstValue))
    if value.name:
        return attribute_of(body, made, base, value.name, value.node)
    return item_of(body, made, base, value.args[1:], value.node)


def item_of(body: Body, made: Val, base: Val, args: list[Arg], node: ast.Node) -> Val:
    """Record in the value of `base[args]` where to write it back, if possible."""
    if isinstance(made, ConstValue) or (isinstance(made, Place) and not made.owned):
        return made
    if not _writable(base, body, "__setitem__"):
        return made
    return replace(made, computed_from=ComputedAccess(base, args, node))


def attribute_of(body: Body, made: Val, base: Val, name: str, node: ast.Node) -> Val:
    """Record in the result of `__getattr__` where to write it back, if possible."""
    if isinstance(made, ConstValue) or (isinstance(made, Place) and not made.owned):
        return made
    if not _writable(base, body, "__setattr__"):
        return made
    return replace(made, computed_from=ComputedAccess(base, [], node, name))


def field_of(made: Val, base: RValue | Place, name: str) -> Val:
    """Record in a field the computed value that it is a part of."""
    return (
        replace(made, computed_from=ComputedAccess(base, [], _NOWHERE, name, True))
        if isinstance(made, (RValue, Place))
        else made
    )


def begin_writebacks(
    body: Body, signature: tuple[ArgumentSignature, ...], values: Values
) -> list[tuple[ComputedAccess, Place]]:
    """Make places of the computed values that a call mutates; return what to write back after it."""
    after: list[tuple[ComputedAccess, Place]] = []
    for i, (sig, value) in enumerate(zip(signature, values, strict=True)):
        if sig.convention == "mut" and isinstance(value, (RValue, Place)) and value.computed_from is not None:
            values[i] = writeback_place(body, value, after)
    return after


def writeback_place(body: Body, value: RValue | Place, after: list[tuple[ComputedAccess, Place]]) -> Place:
    """Return a place with the value."""
    item = value.computed_from
    assert item is not None
    if item.is_field:
        return place_operations.field(body, writeback_place(body, item.base, after), item.name)
    made = locals.temporary(body, value.ty, "item", locals.loans_of(body, value))
    place_operations.init_place(
        body, value.ty, made.pointer, replace(value, computed_from=None), body.at(item.node), True
    )
    partial_moves.mark(body, "init", made)
    after.append((item, made))
    return Place(value.ty, made.pointer, True, made.local)


def _writable(base: Val, body: Body, setter: str) -> TypeGuard[RValue | Place]:
    """Return whether a setter can write to a value: one that takes it read-only can also where it is not mutable."""
    fns = struct_members.method_set(body.elab, base.ty, setter)
    if fns is None or not isinstance(base, (RValue, Place)):
        return False
    if base.computed_from is not None:
        return True
    if isinstance(base, Place) and base.mutable:
        return not _is_new(base)
    reads = (args[0].convention in ("", "read") for fn in fns.functions if (args := fn.node.args))
    return not body.frame.module.is_library and any(reads)


def _is_new(base: Place) -> bool:
    return base.owned and isinstance(base.local, nodes.Local) and not base.local.name
