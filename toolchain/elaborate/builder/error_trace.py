"""The trace of an error: which places of the program it came from and through (`builtin/_trace.kpy`).

Input: where a program raises, calls what has raised, or catches. Output: a call of the library there, on the path of
the error only, so nothing is slower where nothing raises. The library's own code is left out: of an error that it
raises the program's call is the first place.
"""

from ktc.diag.source import Span
from ktc.elaborate.builder import locals
from ktc.elaborate.model.elaboration import Body
from ktc.ir import nodes, types

_KIND = types.ArrayType(types.I8, 0)


def error_target(body: Body) -> tuple[int, nodes.Local | None, nodes.Value] | None:
    """Return the label, the local and the address for an error that is raised here; None if nothing takes one."""
    if body.flow.handlers:
        label, local = body.flow.handlers[-1]
        return label, local, nodes.LocalAddress(local)
    return None if body.flow.error_argument is None else (0, None, body.flow.error_argument)


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
