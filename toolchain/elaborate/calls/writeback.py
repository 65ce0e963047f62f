"""Computed places: what a getter gives by value and a setter takes back, used where a place is wanted.

In: the value of an index whose type has `__setitem__` too, or of `__getattr__` beside `__setattr__`. Out: a place for a
call or an assignment to change; the value is put back after it, through as many setters as the path has.
"""

from typing import Any

from ktc.elaborate.instances.instance_table import ArgSig
from ktc.elaborate.model.values import LV, RV, Arg, FnVal, StructTy
from ktc.ir import nodes
from ktc.records import entity, replace


@entity
class Computed:
    """Where a value came from: an item of `base` at `args`, its field `name`, or what its `__getattr__` gave for it."""

    base: Any
    args: list[Arg]
    node: Any
    name: str = ""
    is_field: bool = False


@entity
class Waiting:
    """An item, or what `__getattr__` gives for `name`, that is fetched when the other operands have been evaluated."""

    getter: FnVal
    args: list[Arg]
    node: Any
    name: str = ""


def waits(body: Any, base: Any, node: Any, setter: str = "__setitem__") -> bool:
    """Is the getter of this index called after the other operands: it is the program's own, beside a setter."""
    if body.waiting is not node or bool(getattr(node, "keywords", None)) or not isinstance(base.ty, StructTy):
        return False
    if base.ty.info.module.is_library or not _writable(base):
        return False
    return body.elab.method_set(base.ty, setter) is not None


def taken(body: Any, value: Any) -> Any:
    """Return a value; one that waits is fetched now."""
    if not isinstance(value, Waiting):
        return value
    made = body.call_fn(value.getter, value.args, [], body.at(value.node), True)
    if value.name:
        return attribute_of(body, made, value.args[0].value, value.name, value.node)
    return item_of(body, made, value.args[0].value, value.args[1:], value.node)


def item_of(body: Any, made: Any, base: Any, args: list[Arg], node: Any) -> Any:
    """Let the value of `base[args]` remember where to put it back, if it can be."""
    if not isinstance(made, RV) and not (isinstance(made, LV) and made.owned):
        return made
    if not _writable(base) or body.elab.method_set(base.ty, "__setitem__") is None:
        return made
    return replace(made, back=Computed(base, args, node))


def attribute_of(body: Any, made: Any, base: Any, name: str, node: Any) -> Any:
    """Let what `__getattr__` gave remember where to put it back, if it can be."""
    if isinstance(made, LV) and not made.owned:
        return made
    if not _writable(base) or body.elab.method_set(base.ty, "__setattr__") is None:
        return made
    return replace(made, back=Computed(base, [], node, name))


def field_of(made: Any, base: Any, name: str) -> Any:
    """Let a field remember the computed value that it is a part of."""
    return replace(made, back=Computed(base, [], None, name, True)) if isinstance(made, (RV, LV)) else made


def lend_all(body: Any, signature: tuple[ArgSig, ...], values: list[Any]) -> list[tuple[Computed, LV]]:
    """Make places of the computed values that a call changes; return what to put back after it."""
    after: list[tuple[Computed, LV]] = []
    for i, (sig, value) in enumerate(zip(signature, values, strict=True)):
        if sig.convention == "mut" and isinstance(value, (RV, LV)) and value.back is not None:
            values[i] = lend(body, value, after)
    return after


def lend(body: Any, value: RV | LV, after: list[tuple[Computed, LV]]) -> LV:
    """Return a place with the value."""
    item: Computed = value.back
    if item.is_field:
        place: LV = body.field(lend(body, item.base, after), item.name)
        return place
    made: LV = body.temporary(value.ty, "item", body.loans_of(value))
    body.init_place(value.ty, made.pointer, replace(value, back=None), body.at(item.node), True)
    body.mark("init", made)
    after.append((item, made))
    return LV(value.ty, made.pointer, True, made.local)


def put_back(body: Any, after: list[tuple[Computed, LV]]) -> None:
    """Give the changed values to the setters, the last first."""
    for item, place in reversed(after):
        if item.name:
            body.set_attribute(item.base, item.name, place, item.node)
            continue
        setter = body.elab.method_set(item.base.ty, "__setitem__")
        body.put_item(item.base, setter, item.args, Arg(place, body.at(item.node)), item.node)


def _writable(base: Any) -> bool:
    if isinstance(base, RV):
        return base.back is not None
    return isinstance(base, LV) and (base.back is not None or (base.mutable and not _is_fresh(base)))


def _is_fresh(base: LV) -> bool:
    return base.owned and isinstance(base.local, nodes.Local) and not base.local.name
