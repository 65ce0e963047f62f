"""References into the memory of a collection: they end when the collection may move or destroy its values.

Input: calls and assignments of a program of edition 2026. Output: marks. A variable that refers into a collection gets
a mark of its own, which has a value from the declaration on; whatever may end the reference moves that away, and each
use requires it. So `passes/definite_initialization.py` finds the uses that come too late, on each path.

    ref first = items[0]     init
    items.append(4)          consume
    print(first)             require: 'first' refers into 'items', which has changed since
"""

from ktc.base.editions import Edition
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import StructInfo
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import Instance
from ktc.elaborate.model.types import StructTy
from ktc.elaborate.model.values import Interior, Place, Result, RValue, Values, Var
from ktc.elaborate.ownership.access_paths import of_place
from ktc.elaborate.types import struct_types
from ktc.ir import nodes, types

_COLLECTIONS = frozenset({"Deque", "Dict", "LinkedList", "List", "OwnedPointer", "Set", "String", "Variant"})
"""Structs of the library whose values lie in memory that may move or be destroyed."""
_VIEWS = frozenset({"List", "Span", "StringSlice"})
"""Types whose values, made of a collection, point to its elements, not to the collection."""
_STAYING = frozenset({"__setitem__", "fill", "reverse", "sort", "swap_elements", "unsafe_get", "unsafe_ptr"})
"""Methods of lists that change values where they are."""


def note(body: Body, instance: Instance, values: Values, made: Result) -> None:
    """Record which collections the result of a call refers into."""
    if not isinstance(made, (Place, RValue)) or not _is_checked(body):
        return
    signature = instance.signature
    is_reference = signature.result == "ref"
    if not is_reference and not struct_types.origins_of(body.elab, made.ty):
        return
    owner = instance.fn.owner
    is_getter = isinstance(owner, StructInfo) and owner.module.is_library and owner.name in _COLLECTIONS
    is_view = not is_reference and _is_one_of(made.ty, _VIEWS)
    found: list[Interior] = []
    for i, value in enumerate(values):
        if not isinstance(value, (Place, RValue)) or i in signature.unlinked_args:
            continue
        is_inside = isinstance(value, Place) and i in signature.borrowed_args and _is_one_of(value.ty, _COLLECTIONS)
        if is_inside and (is_getter if is_reference else is_view):
            found += _inside(value, is_getter)  # type: ignore[arg-type]
        else:
            found += value.interior
    made.interior = tuple(dict.fromkeys(found))


def _inside(place: Place, is_getter: bool) -> list[Interior]:
    """Return the ways to the values of a collection."""
    if place.interior:
        return [(root, path, depth + 1, is_getter and strict) for root, path, depth, strict in place.interior]
    return [(root, path, 1, is_getter) for root, path in of_place(place) if path is not None]


def declare(body: Body, var: Var, value: Result) -> None:
    """Give a variable its mark if it refers into a collection."""
    if not isinstance(value, (Place, RValue)) or not value.interior or not _is_checked(body):
        return
    if var.kind != "ref" and not struct_types.origins_of(body.elab, var.ty):
        return  # a copy
    local = nodes.Local(body.fresh(), types.UNIT, var.name, span=var.span)
    root = value.interior[0][0]
    local.refers_into = (
        (getattr(root, "name", "") or "a collection") if isinstance(root, nodes.Local) else "an argument"
    )
    body.facts.refer(var, local, value.interior)
    body.emit(nodes.Mark("init", local))


def require(body: Body, var: Var, span: Span) -> None:
    """Require that the value that a variable refers into is still there."""
    if var in body.facts.references:
        body.emit(nodes.Mark("require", body.facts.references[var][0], (), span))


def replace(body: Body, var: Var, value: Result) -> None:
    """Let a variable refer into what its new value refers into."""
    if isinstance(value, (Place, RValue)) and var in body.facts.references:
        local, before = body.facts.references[var]
        body.facts.refer(var, local, tuple(dict.fromkeys((*before, *value.interior))))
        body.emit(nodes.Mark("init", local))


def end_by_call(body: Body, instance: Instance, values: Values, span: Span) -> None:
    """End the references into what a call may change."""
    if not body.facts.references or not _is_checked(body):
        return
    owner = instance.fn.owner
    is_library = instance.fn.module.is_library
    if is_library and not (isinstance(owner, StructInfo) and owner.name in _COLLECTIONS):
        return
    if is_library and instance.fn.name in _STAYING and owner.name != "Dict":  # type: ignore[union-attr]
        return
    for sig, value in zip(instance.signature.args, values, strict=True):
        if sig.convention == "mut" and isinstance(value, Place):
            _end(body, value, span, getters_only=not is_library)


def end_by_assignment(body: Body, place: Place, span: Span | None) -> None:
    """End the references into what gets a new value."""
    if body.facts.references and span is not None and _is_checked(body):
        _end(body, place, span, getters_only=False)


def _end(body: Body, place: Place, span: Span, getters_only: bool) -> None:
    changed = place.interior or tuple((root, path, 0, True) for root, path in of_place(place) if path is not None)
    for local, ways in body.facts.references.values():
        if any(
            root == other and depth > level and path[: len(way)] == way and (of_getter or not getters_only)
            for root, path, depth, of_getter in ways
            for other, way, level, _ in changed
        ):
            body.emit(nodes.Mark("consume", local, (), span))


def _is_checked(body: Body) -> bool:
    return body.frame.module.edition is Edition.Y2026 and not body.frame.module.is_library and not body.frame.comptime


def _is_one_of(ty: object, names: frozenset[str]) -> bool:
    return isinstance(ty, StructTy) and ty.info.module.is_library and ty.info.name in names
