"""Items and fields of computed values that a call changes: read before, written back after."""

from typing import Any

from ktc.elaborate.builder import locals, partial_moves, place_operations
from ktc.elaborate.model.calls import Computed, DeferredOperand
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import ArgumentSignature
from ktc.elaborate.model.types import StructTy
from ktc.elaborate.model.values import Arg, Place, RValue
from ktc.elaborate.types import struct_members
from ktc.ir import nodes
from ktc.records import replace


def waits(body: Body, base: Any, node: Any, setter: str = "__setitem__") -> bool:
    """Is the getter of this index called after the other operands: it is the program's own, beside a setter."""
    if (
        body.site.deferred_operand is not node
        or bool(getattr(node, "keywords", None))
        or not isinstance(base.ty, StructTy)
    ):
        return False
    if base.ty.info.module.is_library or not _writable(base):
        return False
    return struct_members.method_set(body.elab, base.ty, setter) is not None


def taken(body: Body, value: Any) -> Any:
    """Return a value; one that waits is fetched now."""
    if not isinstance(value, DeferredOperand):
        return value
    made = body.api.call_fn(body, value.getter, value.args, [], body.at(value.node), True)
    if value.name:
        return attribute_of(body, made, value.args[0].value, value.name, value.node)
    return item_of(body, made, value.args[0].value, value.args[1:], value.node)


def item_of(body: Body, made: Any, base: Any, args: list[Arg], node: Any) -> Any:
    """Let the value of `base[args]` remember where to put it back, if it can be."""
    if not isinstance(made, RValue) and not (isinstance(made, Place) and made.owned):
        return made
    if not _writable(base) or struct_members.method_set(body.elab, base.ty, "__setitem__") is None:
        return made
    return replace(made, back=Computed(base, args, node))


def attribute_of(body: Body, made: Any, base: Any, name: str, node: Any) -> Any:
    """Let what `__getattr__` gave remember where to put it back, if it can be."""
    if isinstance(made, Place) and not made.owned:
        return made
    if not _writable(base) or struct_members.method_set(body.elab, base.ty, "__setattr__") is None:
        return made
    return replace(made, back=Computed(base, [], node, name))


def field_of(made: Any, base: Any, name: str) -> Any:
    """Let a field remember the computed value that it is a part of."""
    return replace(made, back=Computed(base, [], None, name, True)) if isinstance(made, (RValue, Place)) else made


def lend_all(body: Body, signature: tuple[ArgumentSignature, ...], values: list[Any]) -> list[tuple[Computed, Place]]:
    """Make places of the computed values that a call changes; return what to put back after it."""
    after: list[tuple[Computed, Place]] = []
    for i, (sig, value) in enumerate(zip(signature, values, strict=True)):
        if sig.convention == "mut" and isinstance(value, (RValue, Place)) and value.back is not None:
            values[i] = lend(body, value, after)
    return after


def lend(body: Body, value: RValue | Place, after: list[tuple[Computed, Place]]) -> Place:
    """Return a place with the value."""
    item: Computed = value.back
    if item.is_field:
        place: Place = place_operations.field(body, lend(body, item.base, after), item.name)
        return place
    made: Place = locals.temporary(body, value.ty, "item", locals.loans_of(body, value))
    place_operations.init_place(body, value.ty, made.pointer, replace(value, back=None), body.at(item.node), True)
    partial_moves.mark(body, "init", made)
    after.append((item, made))
    return Place(value.ty, made.pointer, True, made.local)


def _writable(base: Any) -> bool:
    if isinstance(base, RValue):
        return base.back is not None
    return isinstance(base, Place) and (base.back is not None or (base.mutable and not _is_fresh(base)))


def _is_fresh(base: Place) -> bool:
    return base.owned and isinstance(base.local, nodes.Local) and not base.local.name
