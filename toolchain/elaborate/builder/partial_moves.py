"""Fields of fields that are given and moved away by themselves.

In: a local, and the path to a field inside of one of its fields. Out: the local's `parts`, which say how the passes
destroy what lies on the way.
"""

from typing import Any

from ktc.elaborate.model.values import StructTy
from ktc.ir import nodes, types


def divide(body: Any, local: nodes.Local, ty: StructTy, path: tuple[int, ...]) -> bool:
    """Take a local apart so that the field at `path` stands alone; False if what lies on the way is no struct."""
    found = {part.path: part for part in local.parts}
    if path in found:
        return True
    steps: tuple[tuple[types.Type, int], ...] = ()
    name, kind = "", ty
    for depth, slot in enumerate(path):
        inside: Any = None
        bound = body.elab.method_set(kind, "__del__") is not None
        for own, (at, field_ty) in _slots(body, kind).items():
            here = (*steps, (body.elab.ir(kind), at)) if at >= 0 else steps
            full = f"{name}.{own}" if name else own
            place = (*path[:depth], max(at, 0))
            if depth and place not in found:
                found[place] = nodes.Part(place, body.drop_symbol(field_ty), full, here, bound)
            if place[-1] == slot:
                inside = full, field_ty, here
        if inside is None or (depth < len(path) - 1 and not isinstance(inside[1], StructTy)):
            return False
        name, kind, steps = inside
    local.parts = tuple(found.values())
    return True


def _slots(body: Any, ty: StructTy) -> dict[str, tuple[int, Any]]:
    """Return the fields of a struct that take memory: the slot and the type of each."""
    found = {name: (body.elab.slot(ty, name)[1], kind) for name, kind in body.elab.fields(ty)}
    return {name: one for name, one in found.items() if one[0] != -1}
