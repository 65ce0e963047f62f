"""Marks of ownership; locals whose fields are initialized and destroyed separately."""

from ktc.diag.source import Span
from ktc.elaborate.builder import locals
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import StructTy
from ktc.elaborate.model.values import Place
from ktc.elaborate.types import struct_members, struct_types
from ktc.ir import nodes, types


def split_field(body: Body, local: nodes.Local, ty: StructTy, path: tuple[int, ...]) -> bool:
    """Split a local so that the field at `path` is tracked separately; False if a value on the path is no struct."""
    found = {part.path: part for part in local.parts}
    if path in found:
        return True
    steps: tuple[tuple[types.Type, int], ...] = ()
    name = ""
    kind: Ty = ty
    for depth, slot in enumerate(path):
        inside: tuple[str, Ty, tuple[tuple[types.Type, int], ...]] | None = None
        bound = struct_members.method_set(body.elab, kind, "__del__") is not None
        for own, (at, field_ty) in _slots(body, kind).items():
            here = (*steps, (struct_types.ir_type(body.elab, kind), at)) if at >= 0 else steps
            full = f"{name}.{own}" if name else own
            place = (*path[:depth], max(at, 0))
            if depth and place not in found:
                found[place] = nodes.Part(place, locals.drop_symbol(body, field_ty), full, here, bound)
            if place[-1] == slot:
                inside = full, field_ty, here
        if inside is None or (depth < len(path) - 1 and not isinstance(inside[1], StructTy)):
            return False
        name, kind, steps = inside
    local.parts = tuple(found.values())
    return True


def _slots(body: Body, ty: Ty) -> dict[str, tuple[int, Ty]]:
    """Return the fields of a struct that take memory: the slot and the type of each."""
    if not isinstance(ty, StructTy):
        return {}
    found = {
        name: (struct_types.slot_of(body.elab, ty, name)[1], kind)
        for name, kind in struct_types.fields_of(body.elab, ty)
    }
    return {name: one for name, one in found.items() if one[0] != -1}


def mark(body: Body, kind: str, place: Place, span: Span | None = None) -> None:
    """Emit a mark for the local of a place."""
    if is_empty_field(body, place):
        return
    if place.local is not None and place.path:
        split_into_fields(body, place.local, place.path)
    if place.local is not None and tracked(body, place.local):
        body.emit(nodes.Mark(kind, place.local, place.path, span))
        if kind == "consume":
            body.facts.moved.add(place.local)


def is_empty_field(body: Body, place: Place) -> bool:
    """Return whether a place is a field without size, whose path is that of another field."""
    return bool(place.path) and struct_types.ir_type(body.elab, place.ty) == types.UNIT


def tracked(body: Body, local: nodes.Local) -> bool:
    """Return whether the initialization of a local is tracked."""
    return bool(local.drop or local.field_drops) or local in body.late_locals


def split_into_fields(body: Body, local: nodes.Local, path: tuple[int, ...]) -> bool:
    """Split a local for the marks of a (nested) field; False if that cannot be tracked separately."""
    ty = body.facts.local_types.get(local)
    if isinstance(ty, StructTy) and local.drop and not local.field_drops:
        track_fields(body, local, ty)
    if len(path) <= 1:
        return True
    if not local.field_drops or not isinstance(ty, StructTy) or body.frame.module.is_library:
        return False
    return split_field(body, local, ty, path)


def track_fields(body: Body, local: nodes.Local, ty: StructTy) -> None:
    """Track the fields of a local separately."""
    slots = [
        (struct_types.slot_of(body.elab, ty, name)[1], name, kind)
        for name, kind in struct_types.fields_of(body.elab, ty)
    ]
    found = {max(slot, 0): (locals.drop_symbol(body, kind), name) for slot, name, kind in slots if slot != -1}
    local.field_drops = tuple(found[i][0] for i in range(len(found)))
    local.fields = tuple(found[i][1] for i in range(len(found)))
