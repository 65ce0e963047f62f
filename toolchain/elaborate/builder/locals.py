"""Locals, temporaries, what they keep alive, and their destructors."""

from ktc.diag.source import Span
from ktc.elaborate.builder import (
    linear_types,
    locals,
)
from ktc.elaborate.instances import function_instances, work_queue
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import StructTy
from ktc.elaborate.model.values import Place, Result, RValue, Values
from ktc.elaborate.types import struct_types, well_known
from ktc.ir import nodes, types
from ktc.ir.nodes import Value


def new_local(
    body: Body, kind: types.Type, name: str = "", ty: Ty | None = None, declare: bool = True,
    loans: tuple[nodes.Local, ...] | None = None,
) -> nodes.Local:  # fmt: skip
    """Make a local and declare it."""
    local = nodes.Local(body.fresh(), kind, name, span=body.frame.span)
    if ty is not None:
        local.drop = drop_symbol(body, ty)
        note_points_to(body, local, ty, loans)
    if declare:
        body.emit(nodes.Declare(local))
    return local


def argument_local(body: Body, argument: Value, ty: Ty, name: str, span: Span) -> nodes.Local:
    """Make a local for the memory that an argument points to."""
    assert isinstance(argument, nodes.Argument)
    local = nodes.Local(
        body.fresh(), struct_types.ir_type(body.elab, ty), name, drop_symbol(body, ty), span=span, at=argument
    )
    note_points_to(body, local, ty, ())
    return local


def note_points_to(body: Body, local: nodes.Local, ty: Ty, loans: tuple[nodes.Local, ...] | None = None) -> None:
    """Record the locals that a value keeps alive; `loans`: those that it points into, None: unknown."""
    body.facts.local_types[local] = ty
    origins = struct_types.origins_of(body.elab, ty)
    if origins:
        local.points_to_all = any(o.kind == "any" or (o.kind == "some" and loans is None) for o in origins)
        points_to = (*(o.local for o in origins if o.local is not None), *(loans or ()))
        local.points_to = tuple(dict.fromkeys(one for one in points_to if one is not local))


def add_points_to(body: Body, local: nodes.Local, ty: Ty, loans: tuple[nodes.Local, ...] | None) -> None:
    """Record the loans of another value that is stored in a local."""
    if any(o.kind == "some" for o in struct_types.origins_of(body.elab, ty)):
        local.points_to_all = local.points_to_all or loans is None
        local.points_to = tuple(dict.fromkeys((*local.points_to, *(one for one in loans or () if one is not local))))


def loans_of(body: Body, value: Result) -> tuple[nodes.Local, ...] | None:
    """Return the locals into which a value points, None if that is not known."""
    if not isinstance(value, (RValue, Place)) or not struct_types.origins_of(body.elab, value.ty):
        return ()
    if isinstance(value, Place) and value.local is not None:
        return None if value.local.points_to_all else value.local.points_to
    return value.loans


def stack_slot(body: Body, type: types.Type, align: int) -> Value:
    """Return the address of a new place of the function's frame."""
    local = nodes.Local(body.fresh(), type, "slot", align=align, span=body.frame.span)
    body.hoist(nodes.Declare(local))
    return nodes.LocalAddress(local)


def temporary(body: Body, ty: Ty, name: str = "", loans: tuple[nodes.Local, ...] | None = None) -> Place:
    """Return a new, uninitialized temporary."""
    local = new_local(body, struct_types.ir_type(body.elab, ty), name, ty, loans=loans)
    return Place(ty, nodes.LocalAddress(local), True, local, owned=True)


def drop_symbol(body: Body, ty: Ty) -> str:
    """Return the symbol of a type's destructor, "" if there is nothing to do."""
    if struct_types.is_trivial(body.elab, ty):
        return ""
    if not isinstance(ty, StructTy):
        return library_symbol(body, "__ktc_drop_closure__")
    symbol = body.elab.api.destructor(body.elab, ty)
    if symbol:
        body.refer(symbol)
        if ty.info.explicit_destroy is not None:
            linear_types.note_destructor(body, ty, symbol)
    return symbol


def library_symbol(body: Body, name: str) -> str:
    """Return the symbol of a function of the library that the compiler itself calls."""
    instance = function_instances.instance_of(body.elab, well_known.startup_function(body.elab, name), None, None)
    work_queue.request(body.elab, instance)
    body.refer(instance.symbol)
    return instance.symbol


def discard(body: Body, value: Result) -> None:
    """Discard the value of an expression."""
    if isinstance(value, Place) and value.local is not None and value.owned and not value.local.name:
        body.emit(nodes.Mark("use", value.local))


def loans_of_all(body: Body, values: Values) -> tuple[nodes.Local, ...] | None:
    found: list[nodes.Local] = []
    for value in values:
        loans = locals.loans_of(body, value)
        if loans is None:
            return None
        found += loans
    return tuple(dict.fromkeys(found))
