"""Conditions: truth values, `and`, `or`, `not`; conditional expressions, whose arms may merge (`__merge_with__`)."""

from collections.abc import Sequence
from functools import partial

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Sink
from ktc.elaborate.builder import dead_code, ir_values, locals, partial_moves, place_operations, variables
from ktc.elaborate.calls import call_lowering, conversions, overload_resolution
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.expressions import operands, operators
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Symbolic, UnresolvedCall
from ktc.elaborate.model.types import ConstValue, FunctionValue, Opaque, StructTy, UnboundParameter
from ktc.elaborate.model.values import Arg, Method, Place, Result, RValue, Val, Var
from ktc.elaborate.tree.operator_names import UNARY
from ktc.elaborate.types import struct_members, struct_types, type_printer, well_known
from ktc.elaborate.types.type_printer import operand_text
from ktc.ir import nodes, ops, types
from ktc.syntax import ast

_LITERALS = (ast.BoolLit, ast.FloatLit, ast.IntLit, ast.NoneLit, ast.StrLit)
"""Expressions whose types are known without a look at anything else."""


def unary(body: Body, node: ast.Unary) -> Result:
    """Elaborate `-x`, `+x`, `~x`, `not x`."""
    if node.op == "not":
        return RValue(well_known.library_type(body.elab, "Bool"), truth_of(body, node))
    value = body.api.expr(body, node.value)
    if isinstance(value, (UnboundParameter, Opaque)):
        raise Symbolic
    name = f"__{UNARY[node.op]}__"
    made = operators.dunder(body, value, name, [], node)
    if made is None:
        place_operations.require_bound(body, value, name, node)
        shown = (
            type_printer.type_name(body.elab, value.ty)
            if isinstance(value, (RValue, Place, ConstValue))
            else operand_text(value)
        )
        ty = value.ty if isinstance(value, (RValue, Place, ConstValue)) else None
        own = isinstance(ty, StructTy) and not ty.info.module.is_library
        help_text = f"give '{ty.info.name}' the method '{name}'" if isinstance(ty, StructTy) and own else ""
        body.fail(Code.TYPE_MISMATCH, f"'{node.op}' does not accept '{shown}'", body.at(node), help_text)
    return made


def condition(body: Body, value: Result, node: ast.Node) -> nodes.Value:
    """Return the truth value of a value as an i1."""
    if isinstance(value, (UnboundParameter, Opaque)):
        raise Symbolic
    if isinstance(value, (RValue, Place, ConstValue)):
        prim = struct_types.base_prim(body.elab, value.ty)
        if prim is not None and prim.name == "i1":
            return ir_values.rvalue(body, value)
        made = operators.dunder(body, value, "__bool__", [], node)
        if made is not None and made.ty is not value.ty:
            return condition(body, made, node)
        converted = conversions.try_convert(body, value, well_known.library_type(body.elab, "Bool"), body.at(node))
        if converted is not None:
            return ir_values.rvalue(body, converted)
        place_operations.require_bound(body, value, "__bool__", node)
    if isinstance(value, Method):
        ir_values.fail_no_value(body, value, body.at(node))
    if isinstance(value, (RValue, Place, ConstValue)):
        shown = type_printer.type_name(body.elab, value.ty)
    else:
        shown = operand_text(value)
    body.fail(Code.TYPE_MISMATCH, f"'{shown}' is neither true nor false: it has no '__bool__'", body.at(node))


def truth_of(body: Body, node: ast.Expr) -> nodes.Value:
    """Elaborate a condition as an i1; `and` and `or` copy nothing then."""
    match node:
        case ast.BoolOp(op=op):
            left = operands.first_operand(body, (node.right,), partial(truth_of, body, node.left))
            if isinstance(left, nodes.Const):
                return left if bool(left.value) == (op == "or") else truth_of(body, node.right)
            local = locals.new_local(body, types.BOOL, op)
            body.emit(nodes.Store(nodes.LocalAddress(local), left))
            body.open()
            body.emit(nodes.Store(nodes.LocalAddress(local), truth_of(body, node.right)))
            done = body.close()
            body.set_dead(False)
            body.emit(nodes.If(left, done, ()) if op == "and" else nodes.If(left, (), done))
            return body.let(nodes.Load(nodes.LocalAddress(local), types.BOOL), types.BOOL)
        case ast.Unary(op="not", value=value):
            return ops.build("xor", (truth_of(body, value), nodes.Const(types.BOOL, 1)))
    return condition(body, body.api.expr(body, node), node)


def bool_op(body: Body, node: ast.BoolOp) -> Result:
    """Elaborate `and` / `or` with short circuit: the value of the operand that decides."""
    bool_ty = well_known.library_type(body.elab, "Bool")
    left = conversions.materialize_value(body, body.api.expr(body, node.left))
    truth = condition(body, left, node.left)
    plain = left.ty is bool_ty
    if isinstance(truth, nodes.Const):
        if bool(truth.value) == (node.op == "or"):
            return ConstValue(bool_ty, truth.value) if plain else left
        if plain:
            return RValue(bool_ty, truth_of(body, node.right))
        right = conversions.materialize_value(body, body.api.expr(body, node.right))
        ty = _common(body, [left, right], bool_ty, node)
        if ty is bool_ty:
            return RValue(bool_ty, condition(body, right, node.right))
        return conversions.convert(body, right, ty, body.at(node.right))
    body.open()
    other = body.api.expr(body, node.right)
    statements = body.close_list()
    body.set_dead(False)
    ty = bool_ty if plain else _common(body, [left, other], bool_ty, node)
    plain = ty is bool_ty
    made = locals.temporary(body, ty)
    arms: list[tuple[nodes.Statement, ...]] = []
    sides: tuple[tuple[Result, list[nodes.Statement], ast.Expr], ...]
    sides = ((left, [], node.left), (other, statements, node.right))
    for value, target, part in sides:
        body.reopen(target)
        if plain:
            value = RValue(bool_ty, condition(body, conversions.materialize(body, value), part))
        place_operations.init_place(
            body, ty, made.pointer, conversions.convert_value(body, value, ty, body.at(part)), body.at(part)
        )
        partial_moves.mark(body, "init", made)
        arms.append(body.close())
    then, orelse = arms if node.op == "or" else (arms[1], arms[0])
    body.emit(nodes.If(truth, then, orelse, body.at(node)))
    return RValue(ty, ir_values.rvalue(body, made)) if struct_types.abi(body.elab, ty) == "direct" else made


def ternary(body: Body, node: ast.Ternary, expected: Ty | None, is_place: bool = False) -> Result:
    """Elaborate `a if c else b`; `is_place`: what is expected is a place, not the value in it."""
    condition = truth_of(body, node.condition)
    if isinstance(condition, nodes.Const):
        chosen, other = (node.then, node.orelse) if condition.value else (node.orelse, node.then)
        value = body.api.expr(body, chosen, expected)
        return value if expected is not None else _beside(body, value, other, node)
    lists, values, parts = list[list[nodes.Statement]](), list[Result](), (node.then, node.orelse)
    for part in parts:
        body.open()
        if is_place and isinstance(part, ast.Ternary):
            value = ternary(body, part, expected, True)
        else:
            value = body.api.expr(body, part, expected)
        values.append(conversions.materialize(body, value) if isinstance(value, FunctionValue) else value)
        lists.append(body.close_list())
        body.set_dead(False)
    if all(map(_is_compile_time_only, values)):
        return values[0 if _decided(body, node.condition) else 1]
    if any(isinstance(value, FunctionValue) for value in values):
        return evaluation.param_arg(body, node.then if _decided(body, node.condition) else node.orelse)
    values = merge_arms(body, values, lists, node)
    ty = _common(body, values, expected, node)
    places = [v for v in values if isinstance(v, Place) and not v.owned and v.ty is ty and v.pointer.type == types.PTR]
    are_places = len(places) == len(values) and (is_place or all(_is_variable(body, one) for one in parts))
    if are_places and not body.frame.module.is_library and (is_place or not struct_types.is_trivial(body.elab, ty)):
        return _one_of(body, condition, places, lists, node)
    made = locals.temporary(body, ty, "", locals.loans_of_all(body, values))
    if made.local is not None and made.local.points_to:
        lists = [_without_owners(body, statements, made.local.points_to) for statements in lists]
    arms = []
    for value, statements, part in zip(values, lists, parts, strict=True):
        body.reopen(statements)
        place_operations.init_moved(
            body, ty, made.pointer, conversions.convert_value(body, value, ty, body.at(part)), body.at(part)
        )
        partial_moves.mark(body, "init", made)
        arms.append(body.close())
    body.emit(nodes.If(condition, arms[0], arms[1], body.at(node)))
    if struct_types.abi(body.elab, ty) == "direct":
        return RValue(ty, ir_values.rvalue(body, made), loans=locals.loans_of(body, made))
    return made


def _without_owners(
    body: Body, statements: list[nodes.Statement], owners: tuple[nodes.Local, ...]
) -> list[nodes.Statement]:
    """Declare the temporaries of an arm that own what the result points to around both arms; return the rest."""
    kept: list[nodes.Statement] = []
    for statement in statements:
        if isinstance(statement, nodes.Declare) and statement.local in owners and statement.local.drop:
            body.emit(statement)
        else:
            kept.append(statement)
    return kept


def _decided(body: Body, node: ast.Expr) -> bool:
    """Return the truth of a condition that has to be known while compiling."""
    decided = evaluation.param_arg(body, node)
    if not isinstance(decided, ConstValue):
        raise Symbolic
    return evaluation.truth_of(body.elab, decided)


def _is_compile_time_only(value: Result) -> bool:
    """Return whether a value is of a kind that no program has when it runs: a target."""
    return isinstance(value, ConstValue) and struct_types.is_compile_time_only(value.ty)


def _is_variable(body: Body, node: ast.Expr) -> bool:
    """Return whether an expression names a variable or a field of one, and is no reference to something."""
    while isinstance(node, ast.Attribute):
        node = node.value
    found = variables.find(body, node.id) if isinstance(node, ast.Name) else None
    return isinstance(found, Var) and found.kind not in ("ref", "loop")


def _one_of(
    body: Body, condition: nodes.Value, places: list[Place], lists: list[list[nodes.Statement]], node: ast.Ternary
) -> Place:
    """Return one of two places: nothing is copied to choose."""
    local = locals.new_local(body, types.PTR, "")
    loans: tuple[nodes.Local, ...] | None = ()
    arms = []
    for place, statements in zip(places, lists, strict=True):
        body.reopen(statements)
        body.emit(nodes.Store(nodes.LocalAddress(local), place.pointer, span=body.frame.span))
        arms.append(body.close())
        own = place.loans if place.local is None else (place.local,)
        loans = None if loans is None or own is None else (*loans, *own)
    local.points_to, local.points_to_all = tuple(dict.fromkeys(loans or ())), loans is None
    body.emit(nodes.If(condition, arms[0], arms[1], body.at(node)))
    pointer = body.let(nodes.Load(nodes.LocalAddress(local), types.PTR), types.PTR)
    mutable, reason = all(place.mutable for place in places), "one of two values"
    return Place(places[0].ty, pointer, mutable, read_only_reason="" if mutable else reason, loans=loans)


def _beside(body: Body, value: Result, other: ast.Expr, node: ast.Ternary) -> Result:
    """Return a value that was chosen while compiling: its type is common to both arms."""
    is_literal = isinstance(value, ConstValue) and well_known.materialized(body.elab, value.ty, False) is not value.ty
    if not is_literal and (body.frame.module.is_library or not isinstance(value, (RValue, Place, ConstValue))):
        return value
    sink = body.elab.reporter.redirect(Sink())
    try:
        with dead_code.unreached(body):
            beside = body.api.expr(body, other, None)
        if isinstance(other, _LITERALS):
            body.elab.reporter.redirect(sink)
        ty = _common(body, [value, beside], None, node)
    except (ErrorReported, Mismatch, Symbolic):  # it is not chosen, so whatever is wrong with it does no harm
        if isinstance(other, _LITERALS):
            raise
        return value
    finally:
        body.elab.reporter.redirect(sink)
    if (
        not isinstance(value, (RValue, Place, ConstValue))
        or ty is value.ty
        or (is_literal and ty is well_known.materialized(body.elab, value.ty, False))
    ):
        return value
    return conversions.convert(body, value, ty, body.at(node))


def _common(body: Body, values: Sequence[Result], expected: Ty | None, node: ast.Node) -> Ty:
    a, b = values
    if not isinstance(a, (RValue, Place, ConstValue)) or not isinstance(b, (RValue, Place, ConstValue)):
        body.fail(Code.TYPE_MISMATCH, "both sides of a conditional expression must be values", body.at(node))
    if body.frame.module.edition is Edition.Y2026 and isinstance(expected, StructTy) and not expected.symbolic:
        literals = [one.ty for one in values if isinstance(one, ConstValue) and isinstance(one.ty, StructTy)]
        if len(literals) == len(values) and all(
            ty.info.materialized is not None and overload_resolution.conversion(body, ty, expected) is not None
            for ty in literals
        ):
            return expected
    if a.ty is b.ty:
        return well_known.materialized(body.elab, a.ty, False)
    plain_a: Ty = well_known.materialized(body.elab, a.ty, False)
    plain_b: Ty = well_known.materialized(body.elab, b.ty, False)
    if plain_a is plain_b:
        # of two literals: what both are as constants of the program
        return (
            well_known.materialized(body.elab, a.ty, True)
            if isinstance(a, ConstValue) and isinstance(b, ConstValue)
            else plain_a
        )
    for target, other in ((plain_a, b), (plain_b, a)):
        if overload_resolution.conversion(body, other.ty, target) is not None and not (
            target is plain_a and plain_a is not a.ty
        ):
            return target
    for target, other in ((plain_b, a), (plain_a, b)):
        if overload_resolution.conversion(body, other.ty, target) is not None:
            return target
    if isinstance(node, ast.BoolOp) and expected is not None:
        return expected
    shown = partial(type_printer.type_name, body.elab)
    body.fail(Code.TYPE_MISMATCH, f"'{shown(a.ty)}' and '{shown(b.ty)}' have no common type", body.at(node))


def merge_arms(
    body: Body, values: Sequence[Result], lists: list[list[nodes.Statement]], node: ast.Ternary
) -> list[Result]:
    """Return the values of the arms of a conditional expression, merged where their types have a `__merge_with__`.

    Args:
        values: of the two arms.
        lists: the statements of each arm; a call of the method is appended to them.
    """
    first, second = values
    if not isinstance(first, (RValue, Place, ConstValue)) or not isinstance(second, (RValue, Place, ConstValue)):
        return [first, second]
    found: list[Result] = []
    for own, other, statements, part in (
        (first, second.ty, lists[0], node.then),
        (second, first.ty, lists[1], node.orelse),
    ):
        body.reopen(statements)
        found.append(_merge(body, own, other, part) or own if own.ty is not other else own)
        body.close()
    return found


def _merge(body: Body, value: Val, other: Ty, node: ast.Node) -> Val | None:
    if not isinstance(value.ty, StructTy) or "__merge_with__" not in value.ty.info.members:
        return None
    fns = struct_members.method_set(body.elab, value.ty, "__merge_with__")
    if fns is None:
        return None
    span = body.at(node)
    fn = FunctionValue(fns, (), (("other_type", other),), value.ty)
    chosen = overload_resolution.choose_cached(body, UnresolvedCall(fn, [Arg(value, span)], [], span, True), quiet=True)
    return None if chosen is None else call_lowering.emit_call(body, chosen, span)
