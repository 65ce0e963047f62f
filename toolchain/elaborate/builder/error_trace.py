"""The trace of an error: which places of the program it came from and through (`builtin/_runtime/trace.kpy`).

Input: where a program raises, calls what has raised, or catches. Output: a call of the library there, on the path of
the error only, so nothing is slower where nothing raises. The library's own code is left out: of an error that it
raises the program's call is the first place.
"""

from ktc.base.records import record
from ktc.diag.source import Span
from ktc.elaborate.builder import locals
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.types import struct_types, well_known
from ktc.ir import nodes, types

_KIND = types.ArrayType(types.I8, 0)


@record
class ErrorTarget:
    """Where an error goes that is raised here.

    Args:
        label: of the block that it leaves; 0: it leaves the function.
        local: that holds it, in a `try`. pointer: the address for it. ty: the type that it must have.
    """

    label: int
    local: nodes.Local | None
    pointer: nodes.Value
    ty: Ty


def error_target(body: Body, ty: Ty | None = None) -> ErrorTarget | None:
    """Return where an error goes that is raised here; None if nothing takes one.

    Args:
        ty: the error's type, which the first that raises in a `try` of edition 2026 gives to its errors.
    """
    if body.flow.handlers:
        handler = body.flow.handlers[-1]
        if handler.is_open and ty is not None:
            handler.is_open = False
            if ty is not handler.ty:
                handler.ty, handler.local.type = ty, struct_types.ir_type(body.elab, ty)
                handler.local.drop = locals.drop_symbol(body, ty)
                locals.note_points_to(body, handler.local, ty)
        return ErrorTarget(handler.label, handler.local, nodes.LocalAddress(handler.local), handler.ty)
    if body.flow.error_argument is None:
        return None
    instance = body.frame.outer_instance or body.frame.instance
    declared = instance.signature.error if instance is not None else None
    return ErrorTarget(0, None, body.flow.error_argument, declared or well_known.error_type(body.elab))


def begin_trace(body: Body, span: Span, again: bool) -> None:
    """Begin a trace where the program raises; `again`: one that it has caught."""
    if _is_traced(body):
        _call_tracer(body, "__ktc_raise_again__" if again else "__ktc_raise__", span)


def add_call(body: Body, span: Span) -> None:
    """Add the place of a call that has raised."""
    if _is_traced(body):
        _call_tracer(body, "__ktc_pass_error__", span)


def end_trace(body: Body) -> None:
    """Note that the program has caught an error: the next one starts a new trace."""
    if _is_traced(body):
        symbol = locals.library_symbol(body, "__ktc_catch__")
        body.emit(nodes.Let(None, nodes.Call(symbol, (), types.VOID), body.frame.span))


def _is_traced(body: Body) -> bool:
    frame = body.frame
    return (
        body.elab.config.places and not body.elab.is_archive and not body.target.is_device and not frame.comptime
        and not frame.module.is_library and frame.outer_instance is not None
    )  # fmt: skip


def _call_tracer(body: Body, name: str, span: Span) -> None:
    holder, shown = body.frame.outer_instance, body.frame.instance
    assert holder is not None
    line, column = span.source.position(span.start)
    place = f"place${holder.symbol}${body.fresh()}"
    content = nodes.SourcePlace(span.source.path, line, column, (shown or holder).title)
    body.elab.instances.add_global(nodes.Global(place, _KIND, content, True, align=4))
    body.refer(place)
    call = nodes.Call(locals.library_symbol(body, name), (nodes.GlobalAddress(place),), types.VOID)
    body.emit(nodes.Let(None, call, span))
