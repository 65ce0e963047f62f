"""Overwriting: when the old value of a place ends, and which results are built in place."""

from collections.abc import Sequence
from functools import partial

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import locals, partial_moves, place_operations, variables
from ktc.elaborate.builder.linear_types import check_dropped
from ktc.elaborate.calls import argument_passing, conversions
from ktc.elaborate.model.declarations import StructInfo
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import FunctionValue
from ktc.elaborate.model.values import PackValue, Place, Result, RValue, Var
from ktc.elaborate.ownership import interior_references, origin_agreement
from ktc.elaborate.ownership.access_paths import are_disjoint, is_untracked, may_overlap, of_inside, of_place
from ktc.elaborate.ownership.reference_escapes import check_stored
from ktc.elaborate.resolve.suggestions import loop_help
from ktc.elaborate.statements import variable_declarations
from ktc.elaborate.tree.argument_uses import is_call, names_in, overlaps_argument
from ktc.elaborate.types import struct_types, type_relations
from ktc.ir import nodes
from ktc.ir.types import has_pointer
from ktc.syntax import ast

_BRANCHES = (nodes.If, nodes.Loop, nodes.Block, nodes.Return)


def note_temporary_result(
    body: Body, target: ast.Expr, made: Result, node: ast.Expr, place: Place | None = None
) -> None:
    """Note the result of a call that cannot be made in its target: the call sees the target (not where `place` is
    no variable's), or may raise and must leave the old value then. Such a result is moved by `__moveinit__`."""
    body.assignments.pending_result = None
    if not is_call(node) or not isinstance(made, Place) or not made.owned or made.local is None:
        return
    if body.frame.module.is_library or made.local.name or made.path or struct_types.moves_plainly(body.elab, made.ty):
        return
    if overlaps_argument(node, target) and not (place is not None and is_untracked(place)):
        body.assignments.pending_result = made.local, False
    elif _raises(body.statements, made.local):
        body.assignments.pending_result = made.local, True


def temporary_result(body: Body, place: Place, is_first: bool = False) -> nodes.Local | None:
    """Return the temporary for the result, if a place asks for one: an uninitialised place, and a variable of the
    function itself, need not keep one when the call raises."""
    aside, body.assignments.pending_result = body.assignments.pending_result, None
    if aside is None:
        return None
    own = is_first or (place.local is not None and not place.path and not place.local.is_caller_owned)
    return None if aside[1] and own else aside[0]


def destroy_then_store(body: Body, place: Place, target: ast.Expr, value: ast.Expr, is_behind: bool = False) -> bool:
    """Replace what a reference points to by the result of a call, or by a copy. An old value that the call does
    surely not see is destroyed before it, if it does not raise. False for other values; nothing is made then.

    Args:
        is_behind: a variable that is replaced through a reference to it.
    """
    if body.frame.module.is_library or struct_types.is_trivial(body.elab, place.ty):
        return False
    if place.local is not None and len(place.path) <= 1 and not (is_behind or place.access_paths):
        return False
    if isinstance(value, ast.Name):
        return _replace_by_copy(body, place, value)
    if not is_call(value) and not isinstance(value, ast.Attribute):
        return False
    span = body.at(value)
    body.open()
    result = body.api.expr(body, value, place.ty)
    check_stored(body, place, result, span)
    if isinstance(result, Place) and not result.owned and result.ty is place.ty:
        _copy_from(body, place, result, value)
        return True
    if not is_call(value) or isinstance(value, ast.Subscript):
        for statement in body.close():
            body.emit(statement)
        store_place(body, place, conversions.convert(body, result, place.ty, span), body.at(target), "")
        return True
    fresh = argument_passing.owned_place(body, conversions.convert(body, result, place.ty, span), span)
    note_temporary_result(body, target, fresh, value, place)
    made = body.close()
    at = _last_use_of_old(body, place, value, fresh, made)
    for statement in made[:at]:
        body.emit(statement)
    check_dropped(body, place.ty, span)
    place_operations.destroy_place(body, place.ty, place.pointer, span)
    for statement in made[at:]:
        body.emit(statement)
    if fresh.local is not None and fresh.local is temporary_result(body, place):
        place_operations.init_moved(body, place.ty, place.pointer, fresh, span)
    else:
        place_operations.move_bits(body, place.ty, place.pointer, fresh)
    return True


def _last_use_of_old(body: Body, place: Place, value: ast.Expr, fresh: Place, made: tuple[nodes.Statement, ...]) -> int:
    """Return before which of the statements that make a new value the old one ends."""
    if body.assignments.pending_result is not None:
        return len(made)
    at = _call_of(made, fresh.local)
    if at is not None:
        result, given = body.facts.last_call or (None, ())
        others = result is fresh.local and not any(_may_access(body, one, place) for one in given)
        return at if others and not any(isinstance(one, _BRANCHES) for one in made[at + 1 :]) else len(made)
    if all(map(partial(_is_disjoint, body), names_in(value))) and not any(isinstance(one, _BRANCHES) for one in made):
        return 0
    return len(made)


def _copy_from(body: Body, place: Place, value: Place, node: ast.Expr) -> None:
    """Replace what a reference points to by a copy of what lies in another place, which was found in the open
    block. The old value is destroyed first where these are surely two; else the copy is made aside."""
    span = body.at(node)
    place_operations.check_copy(body, value, span)
    for statement in body.close():
        body.emit(statement)
    if are_disjoint(place, value):
        check_dropped(body, place.ty, span)
        place_operations.destroy_place(body, place.ty, place.pointer, span)
        place_operations.init_place(body, place.ty, place.pointer, value, span)
        return
    fresh = argument_passing.owned_place(body, value, span)
    check_dropped(body, place.ty, span)
    place_operations.destroy_place(body, place.ty, place.pointer, span)
    place_operations.init_moved(body, place.ty, place.pointer, fresh, span)


def _replace_by_copy(body: Body, place: Place, node: ast.Name) -> bool:
    """Replace what a reference points to by a copy of a variable that is surely another place."""
    found = variables.find(body, node.id)
    if not isinstance(found, Var) or found.body is not body:
        return False
    held = found.value
    if not isinstance(held, Place) or held.ty is not place.ty:
        return False
    if not are_disjoint(place, held):
        return False
    value, span = body.api.expr(body, node), body.at(node)
    place_operations.check_copy(body, value, span)
    check_dropped(body, place.ty, span)
    place_operations.destroy_place(body, place.ty, place.pointer, span)
    place_operations.init_place(body, place.ty, place.pointer, value, span)
    return True


def _may_access(body: Body, value: Result, place: Place) -> bool:
    """Return whether a function may see a place through an argument."""
    if isinstance(value, PackValue):
        return any(_may_access(body, one, place) for one in value.items)
    if isinstance(value, FunctionValue):
        return value.env is not None
    if not isinstance(value, (Place, RValue)) or (isinstance(value, RValue) and _is_constant(value)):
        return False
    inside = of_inside(body, value)
    if struct_types.origins_of(body.elab, value.ty) and (not inside or may_overlap(inside, of_place(place))):
        return True
    if isinstance(value, RValue):
        return has_pointer(struct_types.ir_type(body.elab, value.ty)) and not inside
    is_temporary = value.owned and value.local is not None and not value.local.name
    return not is_temporary and not are_disjoint(place, value)


def _is_constant(value: RValue) -> bool:
    """Return whether a value is a constant, or a view of memory that never changes, as a 'StaticString' is."""
    return isinstance(value.ir, nodes.Const) or any(map(type_relations.is_static, getattr(value.ty, "params", ())))


def _is_disjoint(body: Body, name: str) -> bool:
    """Return whether a name stands for a value that can point to nothing another name owns."""
    found = variables.find(body, name)
    if not isinstance(found, Var):
        return True
    return (
        found.body is body
        and struct_types.is_trivial(body.elab, found.ty)
        and not has_pointer(struct_types.ir_type(body.elab, found.ty))
    )


def _call_of(made: Sequence[nodes.Statement], result: nodes.Local | None) -> int | None:
    """Return which statement is the call that makes a result."""
    if result is not None:
        for at in range(len(made) - 1, -1, -1):
            one = made[at]
            call = one.value if isinstance(one, nodes.Let) else None
            if isinstance(call, nodes.Call) and call.args and call.args[0] == nodes.LocalAddress(result):
                return at
    return None


def _raises(made: Sequence[nodes.Statement], result: nodes.Local) -> bool:
    """Return whether the call that made a result may raise: it gives a flag then."""
    at = _call_of(made, result)
    call = made[at] if at is not None else None
    return isinstance(call, nodes.Let) and call.temp is not None


def is_not_declared_by(body: Body, target: ast.Name) -> bool:
    """Whether a declaration of the name failed, so that this one is none; an error if it is a parameter or an alias."""
    for scope in body.frame.scope.chain():
        if scope.kind in ("module", "struct") or scope.body not in (None, body):
            return False
        if target.id not in scope.names:
            continue
        found = scope.names[target.id]
        if found is None:
            return True
        if scope.kind == "function":
            body.fail(Code.CANNOT_MUTATE, f"'{target.id}' is a parameter, known at compile time", body.at(target))
        if not isinstance(found, Var):
            body.fail(Code.CANNOT_MUTATE, f"'{target.id}' is not a variable of this function", body.at(target))
    return False


def store_var(body: Body, var: Var, value: Result, target: ast.Name) -> None:
    """Store a value in a variable."""
    if body.frame.builtin_self is not None and var.kind == "out":
        body.frame.builtin_whole = conversions.convert_value(body, value, var.ty, body.at(target))
        return
    place = var.value
    if not isinstance(place, Place) or not place.mutable:
        reason = f"argument '{var.name}' is read only" if var.kind == "arg" else f"'{var.name}' is read only"
        help_text = f"declare it 'mut {var.name}' or 'var {var.name}'" if var.kind == "arg" else ""
        fn = body.frame.instance.fn if body.frame.instance is not None else None
        if var.kind == "arg" and fn is not None and isinstance(fn.owner, StructInfo) and var.name in fn.owner.members:
            help_text = f"write 'self.{var.name} = …' for the field"
        help_text = help_text or loop_help(var.name, getattr(place, "read_only_reason", ""))
        body.fail(Code.CANNOT_MUTATE, reason, body.at(target), help_text)
    store_place(body, place, value, body.at(target), "*" if var is body.flow.out_var else "")
    interior_references.replace(body, var, value)


def store_place(body: Body, place: Place, value: Result, span: Span, out_key: str) -> None:
    """Replace the value in a place; `out_key` names a part of the result that may have no value yet."""
    check_stored(body, place, value, span)
    interior_references.end_by_assignment(body, place, span)
    origin_agreement.check_kept(body, place, value, span)
    value = conversions.convert_value(body, value, place.ty, span)
    if place.local is not None:
        locals.add_points_to(body, place.local, place.ty, locals.loans_of(body, value))
        if place.local in body.assignments.assigned_once or place.path or place.local.is_caller_owned:
            place.local.is_shared = True
        body.assignments.assigned_once.add(place.local)
    if struct_types.is_trivial(body.elab, place.ty):
        place_operations.init_place(body, place.ty, place.pointer, value, span)
        if place.local is not None:
            partial_moves.mark(body, "init", Place(place.ty, place.pointer, True, place.local, place.path))
        if out_key:
            body.assignments.assigned.add(out_key)
        return
    is_itself = isinstance(value, Place) and value.local is not None and value.local is place.local
    is_itself = (
        is_itself
        and isinstance(value, Place)
        and value.path == place.path
        and not value.access_paths
        and not body.frame.module.is_library
    )
    if not out_key and not is_itself:
        place_operations.mark_copied(body, place, value)
    fresh = (
        variable_declarations.snapshot(body, value) if is_itself else argument_passing.owned_place(body, value, span)
    )
    assert isinstance(fresh, Place)  # for its type is not trivial
    if place.local is not None and partial_moves.split_into_fields(body, place.local, place.path):
        partial_moves.mark(body, "overwrite", place, span)
    elif place.local is not None or not out_key or out_key in body.assignments.assigned:
        partial_moves.mark(body, "use", place, span)
        check_dropped(body, place.ty, span)
        place_operations.destroy_place(body, place.ty, place.pointer, span)
    is_first = bool(out_key) and out_key not in body.assignments.assigned
    copied = place.local is None and not place.path and isinstance(value, Place) and not (value.owned or value.local)
    if copied or is_itself or (fresh.local is not None and fresh.local is temporary_result(body, place, is_first)):
        place_operations.init_moved(
            body, place.ty, place.pointer, fresh, span
        )  # from one reference to another: copied, then moved
    else:
        place_operations.move_bits(body, place.ty, place.pointer, fresh)
    if place.local is not None:
        partial_moves.mark(body, "init", place)
    if out_key:
        body.assignments.assigned.add(out_key)
