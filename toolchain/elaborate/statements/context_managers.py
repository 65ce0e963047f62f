"""Context managers: `with`."""

from collections.abc import Callable

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import error_trace, locals, partial_moves, place_operations
from ktc.elaborate.calls import argument_passing, call_lowering, conversions
from ktc.elaborate.expressions import conditions
from ktc.elaborate.model.declarations import FunctionInfo, OverloadSet, Scope
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import FunctionValue, StructTy
from ktc.elaborate.model.values import Arg, Place, Result, Var
from ktc.elaborate.statements import exits, variable_declarations
from ktc.elaborate.statements.loops import NOT
from ktc.elaborate.types import struct_members, type_printer, well_known
from ktc.ir import nodes, ops
from ktc.syntax import ast


def _manager(body: Body, value: Result, span: Span) -> Place:
    """Return a context manager of the statement's own: a variable is copied, or moved."""
    is_own = isinstance(value, Place) and value.owned and value.local is not None and not value.local.name
    if is_own or not isinstance(value, Place):
        return argument_passing.owned_place(body, value, span)
    place_operations.check_copy(body, value, span)
    made = locals.temporary(body, value.ty, "", locals.loans_of(body, value))
    place_operations.init_place(body, value.ty, made.pointer, value, span)
    partial_moves.mark(body, "init", made)
    return made


def with_(body: Body, items: tuple[ast.WithItem, ...], content: tuple[ast.Stmt, ...], node: ast.Node) -> None:
    """Elaborate `with`."""
    if not items:
        body.api.block(body, content)
        return
    item, span = items[0], body.at(items[0])
    manager = _manager(body, conversions.materialize(body, body.api.expr(body, item.value)), span)
    enter = struct_members.method_set(body.elab, manager.ty, "__enter__")
    leave = struct_members.method_set(body.elab, manager.ty, "__exit__")
    if enter is None:
        ty, help = manager.ty, ""
        if isinstance(ty, StructTy) and not ty.info.module.is_library:
            help = f"give '{ty.info.name}' the methods '__enter__' and '__exit__'"
        body.fail(Code.NO_MEMBER, f"'{type_printer.type_name(body.elab, manager.ty)}' has no '__enter__'", span, help)
    fetched = enter.functions[0].node.args[0].convention in ("var", "owned", "deinit")
    if fetched and leave is not None and not body.frame.module.is_library:
        kind = type_printer.type_name(body.elab, manager.ty)
        text = f"'__enter__' of '{kind}' consumes its value, and '__exit__' needs it"
        body.fail(Code.TYPE_MISMATCH, text, span, "let '__enter__' take 'self', or leave '__exit__' out")
    subject = Place(manager.ty, manager.pointer, True, manager.local, manager.path, fetched)
    bound = call_lowering.call_fn(body, FunctionValue(enter, (), (), manager.ty), [Arg(subject, span)], [], span, True)  # type: ignore[arg-type]
    outer, body.frame.scope = body.frame.scope, Scope(body.frame.scope, "block", {}, body=body)
    try:
        if item.name:
            variable_declarations.declare_var(
                body, item.name, conversions.materialize(body, bound), span, "with"
            ) if not isinstance(bound, Place) or bound.owned else _alias_place(body, item.name, bound, span)
        if leave is None or fetched:
            _nested(body, lambda: with_(body, items[1:], content, node))
            held = body.frame.scope.names[item.name] if item.name else bound
            if isinstance(held, (Var, Place)) and held.local is not None and not body.dead:
                body.emit(nodes.Mark("use", held.local))  # it lives to the end of the body
        else:
            _with_exit(body, leave, manager, items, content, node)
    finally:
        body.frame.scope = outer


def _alias_place(body: Body, name: str, place: Place, span: Span) -> None:
    body.frame.scope.names[name] = Var(name, place.ty, place, span, "with", body=body)


def _with_exit(
    body: Body,
    leave: OverloadSet,
    manager: Place,
    items: tuple[ast.WithItem, ...],
    content: tuple[ast.Stmt, ...],
    node: ast.Node,
) -> None:
    span = body.at(items[0])
    subject = Place(manager.ty, manager.pointer, True, manager.local, manager.path)

    def close() -> None:
        call_lowering.call_fn(body, FunctionValue(leave, (), (), manager.ty), [Arg(subject, span)], [], span, True)  # type: ignore[arg-type]

    done, end = body.fresh(), body.fresh()
    body.open()
    body.open()
    body.flow.cleanups.append(close)
    error = exits.guarded(body, lambda: with_(body, items[1:], content, node), end, ())
    body.flow.cleanups.pop()
    if error is not None:
        _exit_with_error(body, leave, manager, error, subject, span)
        if not body.dead:  # the error was handled: `__exit__` has been called
            body.flow.used_labels.add(done)
            body.emit(nodes.Break(done))
    body.emit(nodes.Block(end, _close_list(body)))
    body.set_dead(end not in body.flow.used_labels)
    if not body.dead:
        close()
    inside, reaches = body.close(), not body.dead or done in body.flow.used_labels
    body.set_dead(False)
    body.emit(nodes.Block(done, inside))
    body.set_dead(not reaches)


def _nested(body: Body, make: Callable[[], None]) -> None:
    """Emit statements as a block of their own: their declarations end with it."""
    body.open()
    make()
    dead, inside = body.dead, body.close()
    body.set_dead(False)
    body.emit(nodes.Block(body.fresh(), inside))
    body.set_dead(dead)


def _close_list(body: Body) -> tuple[nodes.Statement, ...]:
    """End a nested list; what comes next is reached."""
    inside = body.close()
    body.set_dead(False)
    return inside


def _takes_error(exit: FunctionInfo) -> bool:
    """Return whether an `__exit__` takes an `Error`, and no error of another type."""
    kind = exit.node.args[1].type
    return isinstance(kind, ast.Name) and kind.id == "Error"


def _exit_with_error(body: Body, leave: OverloadSet, manager: Place, place: Place, subject: Place, span: Span) -> None:
    takers = [fn for fn in leave.functions if len(fn.node.args) > 1]
    if takers:
        error_ty = well_known.error_type(body.elab)
        if place.ty is not error_ty and all(map(_takes_error, takers)):
            moved = Place(place.ty, place.pointer, True, place.local, (), True)
            place = argument_passing.owned_place(body, exits.as_error(body, moved, error_ty, span), span)
        both = [Arg(subject, span), Arg(Place(place.ty, place.pointer, False, place.local), span)]
        method = FunctionValue(OverloadSet("__exit__", takers), (), (), manager.ty)  # type: ignore[arg-type]
        answer = call_lowering.call_fn(body, method, both, [], span, True)
        handled = conditions.condition(body, answer, ast.Pass(span.start, span.end))
        body.open()
        exits.reraise(body, place)
        done = body.close()
        body.set_dead(False)
        body.emit(nodes.If(ops.build("xor", (handled, NOT)), done))
        error_trace.end_trace(body)
    else:
        call_lowering.call_fn(body, FunctionValue(leave, (), (), manager.ty), [Arg(subject, span)], [], span, True)  # type: ignore[arg-type]
        exits.reraise(body, place)
