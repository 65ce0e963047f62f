"""Access paths of places, field by field. Exclusive access, and when an overwritten value ends, depend on them.

Input: a place, or a call whose result lies in, or points into, its arguments. Output: paths: each a variable or an
argument, followed by fields. All items of a collection have the path of the collection, and their fields continue it.
A path that is None lies somewhere inside, at an unknown field.
"""

from ktc.elaborate.builder import locals
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import Signature
from ktc.elaborate.model.types import StructTy
from ktc.elaborate.model.values import AccessPath, Place, Result, RValue, UntrackedRoot, Values
from ktc.elaborate.types import struct_types
from ktc.ir import nodes

UNTRACKED = "__untracked_origin__"
"""A struct of the library with an alias of this name is a pointer whose user answers for the memory behind it."""


def of_place(place: Place) -> tuple[AccessPath, ...]:
    """Return the paths one of which leads to a place; empty if unknown."""
    if place.access_paths:
        known: tuple[AccessPath, ...] = place.access_paths
        return known
    if place.local is not None:
        return ((place.local, place.path),)
    found: list[AccessPath] = [(local, ()) for local in place.loans or ()]
    pointer, path = place.pointer, tuple[int, ...]()
    while isinstance(pointer, nodes.Op) and pointer.name == "field" and isinstance(pointer.attr, tuple):
        path = (pointer.attr[1], *path)
        pointer = pointer.args[0]
    if isinstance(pointer, nodes.Argument):
        found.append((pointer, path))
    return tuple(found)


def of_inside(body: Body, value: Result) -> tuple[AccessPath, ...]:
    """Return the known paths of the places that a value points into."""
    if not isinstance(value, (Place, RValue)) or not struct_types.origins_of(body.elab, value.ty):
        return ()
    known: tuple[AccessPath, ...]
    if isinstance(value, RValue):
        known = value.access_paths
    else:
        known = body.facts.access_paths.get(value.local, ()) if value.local is not None else ()
    return known or tuple((local, None) for local in locals.loans_of(body, value) or ())


def of_result(body: Body, signature: Signature, values: Values) -> tuple[AccessPath, ...]:
    """Return the paths of the places that the result of a call lies in, or points into."""
    found: list[AccessPath] = []
    if signature.result == "ref" and signature.named:
        for i, names in signature.borrowed_fields:
            value = values[i]
            if isinstance(value, Place):
                found += _extended(body, value, names)
        return tuple(dict.fromkeys(found))
    for i, value in enumerate(values):
        if i in signature.borrowed_args and isinstance(value, Place):
            found += of_place(value)
        if i not in signature.unlinked_args:
            found += of_inside(body, value)
    if signature.result == "ref":
        found = [(root, path or ()) for root, path in found]
    return tuple(dict.fromkeys(found))


def note_place(body: Body, made: Result, signature: Signature, values: Values) -> None:
    """Record the access paths of the result of a call."""
    if signature.result != "ref" or not isinstance(made, Place):
        return
    made.access_paths = of_result(body, signature, values)
    owner = getattr(values[0], "ty", None) if values else None
    if not made.access_paths and isinstance(owner, StructTy) and UNTRACKED in owner.info.members:
        made.access_paths = ((UntrackedRoot(), ()),)  # its user answers for where it points to


def is_untracked(place: Place) -> bool:
    """Return whether a place lies behind an untracked pointer."""
    return any(isinstance(root, UntrackedRoot) for root, _ in place.access_paths)


def may_overlap(some: tuple[AccessPath, ...], others: tuple[AccessPath, ...]) -> bool:
    """Return whether two places are surely the same, or one a part of the other, as far as each has but one way."""
    return any(
        root == other and (path == () if way is None else way == () if path is None else _overlap(path, way))
        for root, path in some
        for other, way in others
    )


def are_disjoint(a: Place, b: Place) -> bool:
    """Return whether two places surely have nothing in common."""
    some, others = of_place(a), of_place(b)
    return bool(some and others) and not may_overlap(some, others)


def _overlap(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(one == other for one, other in zip(a, b, strict=False))


def _extended(body: Body, place: Place, names: tuple[str, ...]) -> list[AccessPath]:
    path, ty = tuple[int, ...](), place.ty
    for name in names:
        if not isinstance(ty, StructTy) or name not in dict(struct_types.fields_of(body.elab, ty)):
            break
        path = (*path, max(struct_types.slot_of(body.elab, ty, name)[1], 0))
        ty = dict(struct_types.fields_of(body.elab, ty))[name]
    return [(root, None if way is None else (*way, *path)) for root, way in of_place(place)]
