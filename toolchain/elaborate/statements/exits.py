"""Exits from a body: `return`, `raise` and `try`."""

from collections.abc import Callable
from functools import partial
from typing import TypeGuard

from ktc.base.editions import Edition
from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import (
    dead_code,
    error_trace,
    ir_values,
    locals,
    materialization,
    partial_moves,
    place_operations,
    type_warnings,
    variables,
)
from ktc.elaborate.calls import argument_passing, call_lowering, conversions
from ktc.elaborate.expressions import conditions
from ktc.elaborate.instances import kernel_errors
from ktc.elaborate.instances.reference_mutability import own_result
from ktc.elaborate.model.body_state import Handler
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ConstValue
from ktc.elaborate.model.values import Arg, Binding, Place, Result, RValue, Val, Var
from ktc.elaborate.ownership.reference_escapes import check_returned, check_returned_place
from ktc.elaborate.statements import overwrites, unreachable, variable_declarations
from ktc.elaborate.statements.variable_declarations import value_or_place
from ktc.elaborate.tree.argument_uses import names_in
from ktc.elaborate.types import primitive_types, struct_members, struct_types, type_printer, well_known
from ktc.ir import nodes, types
from ktc.syntax import ast


def return_(body: Body, node: ast.Return) -> None:
    """Elaborate `return`."""
    body.flow.exit_span = body.at(node)
    if body.frame.inline_result is not None and (body.frame.instance is None or body.frame.instance.in_progress):
        _return_inline(body, node)
        return
    instance = body.frame.instance
    assert instance is not None
    signature = instance.signature
    if node.value is None or body.flow.out_var is not None:
        if node.value is not None:
            assert body.flow.out_var is not None and isinstance(body.flow.out_var.value, Place)
            value = body.api.expr(body, node.value, signature.result_ty)
            overwrites.store_place(body, body.flow.out_var.value, value, body.at(node.value), "*")
        elif body.flow.out_var is None and signature.result != "none":
            kind = type_printer.type_name(body.elab, signature.result_ty)
            body.fail(Code.MISSING_RETURN, f"a value of type '{kind}' must be returned", body.at(node))
        leave(body, None)
        return
    if signature.result == "ref":
        place = _place_of(body, node.value)
        check_returned_place(body, place, node.value, body.at(node.value))
        leave(body, RValue(primitive_types.prim(body.elab, "!kgen.pointer"), argument_passing.generic(place.pointer)))
        return
    expected = signature.result_ty if body.frame.module.is_library else own_result(body.elab, signature)
    value = body.api.expr(body, node.value, expected)
    check_returned(body, value, body.at(node.value))
    if (
        signature.result == "none"
        and instance.fn.node.result is None
        and isinstance(value, (RValue, Place, ConstValue))
    ):
        _check_result(body, value, expected, node.value)
    value = conversions.convert_value(body, value, expected, body.at(node.value))
    if signature.result == "memory":
        assert body.flow.result_pointer is not None
        if _is_own(value, body):
            place_operations.check_copy(body, value, body.at(node.value))
            value = Place(value.ty, value.pointer, True, value.local, (), True)
        place_operations.init_place(body, value.ty, body.flow.result_pointer, value, body.at(node.value))
        leave(body, None)
    elif signature.result == "none":
        leave(body, None)
    else:
        place_operations.check_copy(body, value, body.at(node.value))
        if isinstance(value, Place) and value.owned and value.local is not None and value.local.name:
            place_operations.check_movable(body, value.ty, body.at(node.value))
        leave(body, RValue(value.ty, ir_values.rvalue(body, value)))


def _place_of(body: Body, node: ast.Expr) -> Place:
    """Elaborate a result that is a reference."""
    found = conditions.ternary(body, node, None, True) if isinstance(node, ast.Ternary) else value_or_place(body, node)
    return found if isinstance(found, Place) else materialization.as_place(body, found)


def _check_result(body: Body, value: RValue | Place | ConstValue, expected: Ty, node: ast.Expr) -> None:
    """Report a value that is returned where no result is declared."""
    have = well_known.materialized(body.elab, value.ty, False)
    if have is not expected and body.frame.instance is not None:
        if body.frame.instance.fn.name == "main":
            text, help = "'main' returns nothing", "give an exit code with 'exit', from the module 'sys'"
            body.fail(Code.INVALID_MAIN, text, body.at(node), help)
        kind, fn = type_printer.type_name(body.elab, have), body.frame.instance.fn
        text = f"'{fn.name}' declares no result, and returns a value of type '{kind}' here"
        body.fail(Code.UNDECLARED_RESULT, text, body.at(node), f"write '-> {kind}' after its arguments")


def _is_own(value: Val, body: Body) -> TypeGuard[Place]:
    """Return whether a value is a variable that the result may take away: no 'finally' that will still run names it."""
    if not isinstance(value, Place) or value.local is None or value.path or value.by_reference:
        return False
    if value.local.is_caller_owned or value.owned:
        return False
    waiting = (one.args for one in body.flow.cleanups if isinstance(one, partial))
    return not any(value.local.name in names_in(args) for args in waiting)


def _return_inline(body: Body, node: ast.Return) -> None:
    assert body.frame.inline_result is not None and body.frame.instance is not None
    signature = body.frame.instance.signature
    if node.value is not None:
        given = body.api.expr(body, node.value, signature.result_ty)
        value: Val
        if signature.result == "ref":
            place = materialization.as_place(body, given)
            value = replace(place, mutable=place.mutable and signature.result_mutable, owned=False, read_only_reason="")
        else:
            converted = conversions.convert_value(body, given, signature.result_ty, body.at(node.value))
            value = variable_declarations.snapshot(body, converted)
        if body.frame.builtin_self is not None:
            body.frame.builtin_whole = value
        body.frame.inline_result.append(value)


def leave(body: Body, value: RValue | None) -> None:
    """Leave the function: run what must run first, then return."""
    instance = body.frame.instance
    assert instance is not None
    signature = instance.signature
    run_cleanups(body, 0)
    return_named_result(body)
    if body.flow.out_var is not None and value is None and signature.result == "direct":
        assert isinstance(body.flow.out_var.value, Place)
        value = RValue(signature.result_ty, ir_values.rvalue(body, body.flow.out_var.value))
    if signature.raises:
        if value is not None:
            assert body.flow.result_pointer is not None
            body.emit(nodes.Store(body.flow.result_pointer, value.ir, span=body.frame.span))
        body.emit(nodes.Return(nodes.Const(types.BOOL, 0), body.frame.span))
    else:
        body.emit(nodes.Return(value.ir if value is not None else None, body.frame.span))


def return_named_result(body: Body) -> None:
    """The named result leaves with the function: it must be complete."""
    out = body.flow.out_var
    if out is not None and isinstance(out.value, Place) and out.value.local is not None:
        place = out.value
        at = body.flow.exit_span or (body.frame.instance.fn.span() if body.frame.instance is not None else out.span)
        variables.require(body, place, ast.Pass(at.start, at.end), leaves=True)
        partial_moves.mark(body, "consume", place)


def run_cleanups(body: Body, depth: int) -> None:
    """Run the pending `finally` and `__exit__` parts down to a depth, innermost first."""
    saved = list(body.flow.cleanups)
    while len(body.flow.cleanups) > depth:
        body.flow.cleanups.pop()()
    body.flow.cleanups = saved


def raise_(body: Body, node: ast.Raise) -> None:
    """Elaborate `raise`."""
    if node.value is None:
        if not body.flow.current_error:
            body.fail(
                Code.UNHANDLED_RAISE, "there is no error to raise again here", body.at(node), "write 'raise Error(…)'"
            )
        held = body.flow.current_error[-1]
        value: Val = Place(held.ty, held.pointer, True, held.local, (), True)
        way = error_trace.error_target(body, held.ty)
    else:
        given = body.api.expr(body, node.value)
        way = error_trace.error_target(body, _type_of_error(body, given))
    if way is None:
        body.fail(Code.UNHANDLED_RAISE, "nothing may raise here", body.at(node), kernel_errors.help_for(body))
    if body.elab.observe is not None:
        body.elab.observe(body, body.at(node), way)
    error_ty = way.ty
    if node.value is not None:
        converted = conversions.try_convert(body, given, error_ty, body.at(node))
        if converted is None and (body.frame.module.is_library or _is_text_of_error(body, given, error_ty)):
            value = call_lowering.call(body, error_ty, [Arg(given, body.at(node))], [], body.at(node))
        elif isinstance(converted, (RValue, Place, ConstValue)):
            value = converted
        else:
            value = conversions.convert_value(body, given, error_ty, body.at(node.value))
    else:
        value = as_error(body, value, error_ty, body.at(node))
    place_operations.init_place(body, error_ty, way.pointer, value, body.at(node))
    error_trace.begin_trace(body, body.at(node), bool(body.flow.current_error) and not isinstance(node.value, ast.Call))
    argument_passing.leave_raising(body, way.label, way.local)


def as_error(body: Body, value: Val, error_ty: Ty, span: Span) -> Val:
    """Return an error as one of the type that is raised here."""
    if value.ty is error_ty:
        return value
    if _is_text_of_error(body, value, error_ty):
        return call_lowering.call(body, error_ty, [Arg(value, span)], [], span)
    return conversions.convert_value(body, value, error_ty, span)


def _is_text_of_error(body: Body, value: Result, error_ty: Ty) -> bool:
    """Return whether an `Error` is made of a value as its text, as edition 2026 does it of all that can be written."""
    is_value = isinstance(value, (RValue, Place, ConstValue)) and body.frame.module.edition is Edition.Y2026
    is_error = error_ty is well_known.error_type(body.elab)
    return is_value and is_error and struct_members.has_trait(body.elab, getattr(value, "ty", error_ty), "Writable")


def _type_of_error(body: Body, value: Result) -> Ty:
    """Return the type that the value of the first `raise` gives to the errors of its `try`."""
    error_ty = well_known.error_type(body.elab)
    if not isinstance(value, (RValue, Place, ConstValue)):
        return error_ty
    own = well_known.materialized(body.elab, value.ty, False)
    return own if own is value.ty else error_ty  # a literal is the text of an `Error`


def try_(body: Body, node: ast.Try) -> None:
    """Elaborate `try … except … else … finally`."""
    if node.final:
        body.flow.cleanups.append(partial(partial(body.api.block, body), node.final))
    end = body.fresh()
    body.open()
    caught = None
    if node.handler is None and not body.flow.handlers and body.flow.error_argument is None and not body.frame.comptime:
        body.api.block(body, node.body)  # no handler can take an error, so the call that may raise is reported
    else:
        caught = guarded(body, lambda: body.api.block(body, node.body), end, node.orelse if node.handler else ())
    if caught is not None:
        _handle(body, node, caught)
    elif node.handler is not None and not body.frame.module.is_library and not _is_generic_of_2026(body):
        type_warnings.warn_unreached(body.elab, body, node.handler)
        if unreachable.is_checked(body, node):
            with dead_code.unreached(body):
                ty = well_known.error_type(body.elab)
                error = locals.new_local(body, struct_types.ir_type(body.elab, ty), "error", ty)
                _handle(body, node, Place(ty, nodes.LocalAddress(error), True, error))
            body.set_dead(True)
    inside = body.close()
    reaches = not body.dead or end in body.flow.used_labels
    body.set_dead(False)
    body.emit(nodes.Block(end, inside))
    body.set_dead(not reaches)
    if node.final:
        body.flow.cleanups.pop()
        if not body.dead:
            body.api.block(body, node.final)


def _is_generic_of_2026(body: Body) -> bool:
    """Return whether a call that does not raise here may raise with other parameters, or another type of errors."""
    instance = body.frame.instance
    return body.frame.module.edition is Edition.Y2026 and instance is not None and instance.is_parametric


def guarded(body: Body, content: Callable[[], None], end: int, orelse: tuple[ast.Stmt, ...]) -> Place | None:
    """Emit a part whose errors come to the statements after it; returns the error's place, None if none comes."""
    label = body.fresh()
    error_ty = well_known.error_type(body.elab)
    error = locals.new_local(body, struct_types.ir_type(body.elab, error_ty), "error", error_ty)
    handler = Handler(label, error, error_ty, body.frame.module.edition is Edition.Y2026)
    body.flow.handlers.append(handler)
    body.flow.handler_depths.append(len(body.flow.cleanups))
    body.open()
    content()
    body.flow.handlers.pop()
    body.flow.handler_depths.pop()
    if orelse and not body.dead:
        body.api.block(body, orelse)
    if not body.dead:
        body.flow.used_labels.add(end)
        body.emit(nodes.Break(end))
    inside = body.close()
    body.set_dead(False)
    body.emit(nodes.Block(label, inside))
    if label not in body.flow.used_labels:
        body.set_dead(True)
        return None
    return Place(handler.ty, nodes.LocalAddress(error), True, error)


def _handle(body: Body, node: ast.Try, place: Place) -> None:
    error_ty, error = place.ty, place.local
    if node.handler is None:
        outer = body.flow.cleanups.pop() if node.final else None
        if outer is not None:
            outer()
        reraise(body, place)
        if outer is not None:
            body.flow.cleanups.append(outer)
        return
    names: dict[str, Binding] = {}
    if node.handler.name:
        names[node.handler.name] = Var(node.handler.name, error_ty, place, body.at(node.handler), "var", error, body)
    error_trace.end_trace(body)
    body.flow.current_error.append(place)
    body.api.block(body, node.handler.body, names)
    body.flow.current_error.pop()


def reraise(body: Body, place: Place) -> None:
    moved = Place(place.ty, place.pointer, True, place.local, (), True)
    way = error_trace.error_target(body, place.ty)
    if way is None:
        body.fail(Code.UNHANDLED_RAISE, "an error may leave this block, and nothing may raise here", body.frame.span)
    if body.elab.observe is not None:
        body.elab.observe(body, way, way)
    value = as_error(body, moved, way.ty, body.frame.span or body.elab.main_span())
    place_operations.init_place(body, way.ty, way.pointer, value, body.frame.span)
    argument_passing.leave_raising(body, way.label, way.local)
