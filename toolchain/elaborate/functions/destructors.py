"""Destructors: the functions that destroy values of a type.

Input: a type. Output: the symbol of a function of the unit: the type's `__del__`, then its fields.
"""

import hashlib

from ktc.elaborate.builder import place_operations
from ktc.elaborate.instances import instance_table, work_queue
from ktc.elaborate.instances.instance_table import Specialisation
from ktc.elaborate.model.declarations import OverloadSet
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.types import StructTy
from ktc.elaborate.model.values import Place
from ktc.elaborate.types import mangling, struct_members, struct_types
from ktc.ir import nodes, types


def destructor(elab: Elaboration, ty: StructTy) -> str:
    """Return the symbol of the function that destroys a value: its `__del__`, then its fields."""
    if ty.destructor_symbol is not None and ty.destructor_symbol in elab.instances.state.synthesized:
        return ty.destructor_symbol
    own, parts = _dropped(elab, ty)
    is_seen = ty.info.bound is not None or ty.info.explicit_destroy is not None
    if own is None and not parts and not is_seen:  # what stands for a type parameter may have one
        ty.destructor_symbol = ""
        return ""
    digest = hashlib.sha256(mangling.key_text(elab, struct_types.canonical(elab, ty)).encode()).hexdigest()[:12]
    symbol = ty.destructor_symbol = f"{ty.info.name}_drop${digest}"
    if symbol in elab.instances.state.synthesized:
        return symbol
    state = elab.instances.state
    archived = None if state.archived is None else state.archived.get(symbol)
    if archived is not None:
        elab.instances.state.synthesized[symbol] = (archived, set())
        elab.instances.state.pending_destructors[symbol] = ty
        return symbol
    kept = work_queue.recall(elab, elab.instances.state, symbol)
    if kept is not None:
        elab.instances.state.synthesized[symbol] = (kept[0], set(kept[1]))
        return symbol
    synthesize_destructor(elab, ty, symbol)
    return symbol


def _dropped(elab: Elaboration, ty: StructTy) -> tuple[OverloadSet | None, list[str]]:
    """Return a type's own `__del__`, and the fields that are to be destroyed."""
    parts = [name for name, kind in struct_types.fields_of(elab, ty) if not struct_types.is_trivial(elab, kind)]
    return struct_members.method_set(elab, ty, "__del__"), parts


def synthesize_destructor(elab: Elaboration, ty: StructTy, symbol: str) -> None:
    """Make the body of a destructor."""
    own, parts = _dropped(elab, ty)
    empty = nodes.Function(symbol, f"destructor of {ty}", (("self", types.PTR),), types.VOID, (nodes.Return(),))
    elab.instances.state.synthesized[symbol] = (empty, set())
    body = Body(elab, ty.info.module, ty.info.scope, elab.instances.current, comptime=False)
    place = Place(ty, nodes.Argument(0, types.PTR), True)
    if own is not None:
        _call_del(elab, body, ty, own, place)  # which destroys the fields
        parts = []
    for name in parts:
        field = place_operations.field(body, place, name)
        place_operations.destroy_place(body, field.ty, field.pointer, None)
    body.emit(nodes.Return())
    made = nodes.Function(symbol, f"destructor of {ty}", (("self", types.PTR),), types.VOID, body.finish())
    elab.instances.state.synthesized[symbol] = (made, body.refs)


def _call_del(elab: Elaboration, body: Body, ty: StructTy, own: OverloadSet, place: Place) -> None:
    fn = own.functions[0]
    instance = instance_table.instance(elab, Specialisation(fn, ty, {}, [ty] * len(fn.node.args)), body)
    work_queue.request(elab, instance)
    body.refer(instance.symbol)
    args = (place.pointer,) if instance.signature.args[0].passing == "memory" else ()
    body.let(nodes.Call(instance.symbol, args, types.VOID), types.VOID)
