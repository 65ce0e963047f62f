"""Operators: arithmetic, comparison, truth.

Each is a call of a method of the library (`__add__`, `__lt__`, `__bool__`); the compiler knows only their names.
"""

from functools import partial
from typing import Any, cast

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Sink
from ktc.elaborate.builder import ir_values, locals, partial_moves, place_operations
from ktc.elaborate.calls import call_lowering, conversions, overload_resolution
from ktc.elaborate.calls.writeback import taken
from ktc.elaborate.expressions import operands
from ktc.elaborate.model.calls import Waiting
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import Abort
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.operator_names import BINARY, COMPARE, UNARY
from ktc.elaborate.model.types import KV, FnVal, Opaque, StructTy, Sym, TraitTy
from ktc.elaborate.model.values import LV, RV, Arg, Method
from ktc.elaborate.resolve.suggestions import operand_help
from ktc.elaborate.types import struct_members, struct_types, type_printer, well_known
from ktc.elaborate.types.type_printer import said
from ktc.ir import nodes, ops, types
from ktc.syntax import ast


def binary(body: Body, node: ast.Binary) -> Any:
    """Elaborate `left op right`."""
    left = operands.operand(body, node.left, partial(body.api.expr, body))
    if isinstance(left, TraitTy) and node.op == "&":
        right = body.api.expr(body, node.right)
        if not isinstance(right, TraitTy):
            body.fail(Code.TYPE_MISMATCH, "only a trait can be joined to a trait with '&'", body.at(node.right))
        return struct_members.trait_type(body.elab, tuple(dict.fromkeys(left.traits + right.traits)))
    right = (
        operands.operand(body, node.right, partial(body.api.expr, body))
        if isinstance(left, Waiting)
        else body.api.expr(body, node.right)
    )
    left = taken(body, left)
    return operate(body, node.op, left, taken(body, right), node)


def operate(body: Body, op: str, left: Any, right: Any, node: Any) -> Any:
    """Apply a binary operator to values."""
    if isinstance(left, (Sym, Opaque)) or isinstance(right, (Sym, Opaque)):
        raise Symbolic
    name = BINARY[op]
    made = dunder(body, left, f"__{name}__", [right], node)
    if made is None:
        made = dunder(body, right, f"__r{name}__", [left], node)
    if made is None and isinstance(left, (RV, LV, KV)) and isinstance(right, (RV, LV, KV)):
        plain = conversions.materialize(body, left)
        if plain is not left:
            made = dunder(body, plain, f"__{name}__", [right], node)
        if made is None and isinstance(left, KV):
            made = _literals(body, name, left, right, node)
    if made is None:
        no_operator(body, op, left, right, node)
    return made


def _literals(body: Body, name: str, left: KV, right: Any, node: Any) -> Any:
    """Two literals of different kinds: the left becomes what the right is made of."""
    if isinstance(right, KV) and isinstance(right.ty, StructTy) and right.ty.info.materialized is not None:
        want = well_known.materialized(body.elab, right.ty, False)
        converted = conversions.try_convert(body, left, want, None)
        if converted is not None:
            return dunder(body, converted, f"__{name}__", [right], node)
    return None


def dunder(body: Body, base: Any, name: str, args: list[Any], node: Any) -> Any:
    """Call a method if the value has it and it takes the arguments, else return None."""
    if not isinstance(base, (RV, LV, KV)):
        return None
    fns = struct_members.method_set(body.elab, base.ty, name)
    if fns is None:
        return None
    span = body.at(node)
    pos = [Arg(base, span), *(Arg(a, span) for a in args)]
    fn = FnVal(fns, (), (), base.ty)  # type: ignore[arg-type]
    outer = body.span
    if outer is None or not body.module.is_library:
        body.span = span
    try:
        found = overload_resolution.chosen(body, fn, pos, [], span, True, quiet=True)
    finally:
        body.span = outer
    if found is None:
        return None
    outer, body.span = body.span, span
    try:
        return call_lowering.emit_call(body, found, span)
    finally:
        body.span = outer


def no_operator(body: Body, op: str, left: Any, right: Any, node: Any) -> None:
    """Report an operator that the operands do not have."""
    asked = right if op == "in" else left
    name = "contains" if op == "in" else BINARY.get(op) or COMPARE.get(op)
    if name is not None:
        place_operations.promised(body, asked, f"__{name}__", node)
    for one in (left, right):
        if isinstance(one, Method):
            ir_values.fail_no_value(body, one, body.at(node))
    _why_not(body, asked, left if op == "in" else right, f"__{name}__", node)
    a, b = (type_printer.type_name(body.elab, v.ty) if isinstance(v, (RV, LV, KV)) else said(v) for v in (left, right))
    both = isinstance(left, (RV, LV, KV)) and isinstance(right, (RV, LV, KV))
    help_text = operand_help(op, a, b) if both and a != b else ""
    own = isinstance(getattr(asked, "ty", None), StructTy) and not asked.ty.info.module.is_library
    if both and own and isinstance(asked.ty, StructTy) and f"__{name}__" not in asked.ty.info.members:
        help_text = f"give '{asked.ty.info.name}' the method '__{name}__'" if name else ""
    elif op in BINARY and isinstance(getattr(right, "ty", None), StructTy) and not right.ty.info.module.is_library:
        turned = (
            isinstance(left, (RV, LV, KV)) and struct_members.method_set(body.elab, right.ty, f"__{name}__") is not None
        )
        more = ", or write it the other way round" if turned else ""
        help_text = f"give '{right.ty.info.name}' the method '__r{name}__'{more}"
    if "NoneType" in (a, b) and _lacks_result(body):
        raise Abort  # it calls itself
    body.fail(Code.TYPE_MISMATCH, f"'{op}' does not take '{a}' and '{b}'", body.at(node), help_text)


def _lacks_result(body: Body) -> bool:
    """Was it told that this function returns something and does not declare it."""
    own = body.instance.fn.span() if body.instance is not None else None
    told = [one.span for one in body.elab.reporter.sink.diagnostics if one.code is Code.RETURN_TYPE]
    end = body.instance.fn.node.end if body.instance is not None else 0
    return own is not None and any(
        at is not None and at.source is own.source and own.start < at.start < end for at in told
    )


def _why_not(body: Body, owner: Any, other: Any, name: str, node: Any) -> None:
    """Report why a container's method does not take its own type, or that of its items: what they lack, mostly."""
    if not (isinstance(owner, (RV, LV)) and isinstance(other, (RV, LV)) and isinstance(owner.ty, StructTy)):
        return
    fns = struct_members.method_set(body.elab, owner.ty, name)
    if fns is not None and (owner.ty is other.ty or other.ty in owner.ty.params):
        span = body.at(node)
        overload_resolution.chosen(
            body, FnVal(fns, (), (), owner.ty), [Arg(owner, span), Arg(other, span)], [], span, True
        )


def unary(body: Body, node: ast.Unary) -> Any:
    """Elaborate `-x`, `+x`, `~x`, `not x`."""
    if node.op == "not":
        return RV(well_known.library_type(body.elab, "Bool"), truth_of(body, node))
    value = body.api.expr(body, node.value)
    if isinstance(value, (Sym, Opaque)):
        raise Symbolic
    name = f"__{UNARY[node.op]}__"
    made = dunder(body, value, name, [], node)
    if made is None:
        place_operations.promised(body, value, name, node)
        shown = type_printer.type_name(body.elab, value.ty) if isinstance(value, (RV, LV, KV)) else said(value)
        own = isinstance(getattr(value, "ty", None), StructTy) and not value.ty.info.module.is_library
        help_text = f"give '{value.ty.info.name}' the method '{name}'" if own else ""
        body.fail(Code.TYPE_MISMATCH, f"'{node.op}' does not take '{shown}'", body.at(node), help_text)
    return made


def condition(body: Body, value: Any, node: Any) -> nodes.Value:
    """Return the truth of a value as an i1."""
    if isinstance(value, (Sym, Opaque)):
        raise Symbolic
    if isinstance(value, (RV, LV, KV)):
        prim = struct_types.base_prim(body.elab, value.ty)
        if prim is not None and prim.name == "i1":
            return ir_values.rvalue(body, value)
        made = dunder(body, value, "__bool__", [], node)
        if made is not None and made.ty is not value.ty:
            return condition(body, made, node)
        converted = conversions.try_convert(body, value, well_known.library_type(body.elab, "Bool"), body.at(node))
        if converted is not None:
            return ir_values.rvalue(body, converted)
        place_operations.promised(body, value, "__bool__", node)
    if isinstance(value, Method):
        ir_values.fail_no_value(body, value, body.at(node))
    shown = type_printer.type_name(body.elab, value.ty) if isinstance(value, (RV, LV, KV)) else said(value)
    body.fail(Code.TYPE_MISMATCH, f"'{shown}' is neither true nor false: it has no '__bool__'", body.at(node))


def compare(body: Body, node: ast.Compare) -> Any:
    """Elaborate a chain of comparisons; each operand is evaluated once."""
    left = operands.operand(body, node.first, partial(body.api.expr, body))
    if len(node.ops) == 1:
        right = (
            operands.operand(body, node.rest[0], partial(body.api.expr, body))
            if isinstance(left, Waiting)
            else body.api.expr(body, node.rest[0])
        )
        left = taken(body, left)
        return compare_two(body, node.ops[0], left, taken(body, right), node)
    bool_ty = well_known.library_type(body.elab, "Bool")
    local = locals.new_local(body, types.BOOL, "chain")
    body.emit(nodes.Store(nodes.LocalAddress(local), nodes.Const(types.BOOL, 0)))
    label = body.fresh()
    body.open()
    for i, (op, rest) in enumerate(zip(node.ops, node.rest, strict=True)):
        right = (
            operands.operand(body, rest, partial(body.api.expr, body))
            if isinstance(left, Waiting)
            else body.api.expr(body, rest)
        )
        left = taken(body, left)
        right = taken(body, right)
        if isinstance(right, LV) and struct_types.abi(body.elab, right.ty) == "direct":
            right = RV(right.ty, ir_values.rvalue(body, right))
        truth = condition(body, compare_two(body, op, left, right, node), node)
        if i < len(node.ops) - 1:
            body.emit(nodes.If(ops.build("xor", (truth, nodes.Const(types.BOOL, 1))), (nodes.Break(label),)))
        else:
            body.emit(nodes.Store(nodes.LocalAddress(local), truth))
        left = right
    body.emit(nodes.Block(label, body.close()))
    return RV(bool_ty, body.let(nodes.Load(nodes.LocalAddress(local), types.BOOL), types.BOOL))


def compare_two(body: Body, op: str, left: Any, right: Any, node: Any) -> Any:
    """Elaborate one comparison."""
    if isinstance(left, (Sym, Opaque)) or isinstance(right, (Sym, Opaque)):
        raise Symbolic
    if op in ("in", "not-in"):
        made = dunder(body, right, "__contains__", [left], node)
        if made is None:
            no_operator(body, "in", left, right, node)
        return negated(body, made, node) if op == "not-in" else made
    if op in ("is", "is-not"):
        made = dunder(body, left, "__is__" if op == "is" else "__isnot__", [right], node)
        if made is None:
            no_operator(body, op.replace("-", " "), left, right, node)
        return made
    if isinstance(left, Ty) and isinstance(right, Ty):
        same = (left is right) == (op == "==")
        return well_known.bool_constant(body.elab, same)
    name = COMPARE[op]
    made = dunder(body, left, f"__{name}__", [right], node)
    if made is None:
        plain = conversions.materialize(body, left)
        if plain is not left:
            made = dunder(body, plain, f"__{name}__", [right], node)
    if made is None:
        no_operator(body, op, left, right, node)
    return made


def negated(body: Body, value: Any, node: Any) -> Any:
    """Return `not value`."""
    truth = condition(body, value, node)
    return RV(well_known.library_type(body.elab, "Bool"), ops.build("xor", (truth, nodes.Const(types.BOOL, 1))))


def truth_of(body: Body, node: ast.Expr) -> nodes.Value:
    """Elaborate an expression of which only the truth matters, as an i1; `and` and `or` copy nothing then."""
    match node:
        case ast.BoolOp(op=op):
            left = truth_of(body, node.left)
            if isinstance(left, nodes.Const):
                return left if bool(left.value) == (op == "or") else truth_of(body, node.right)
            local = locals.new_local(body, types.BOOL, op)
            body.emit(nodes.Store(nodes.LocalAddress(local), left))
            body.open()
            body.emit(nodes.Store(nodes.LocalAddress(local), truth_of(body, node.right)))
            done = body.close()
            body.dead = False
            body.emit(nodes.If(left, done, ()) if op == "and" else nodes.If(left, (), done))
            return body.let(nodes.Load(nodes.LocalAddress(local), types.BOOL), types.BOOL)
        case ast.Unary(op="not", value=value):
            return ops.build("xor", (truth_of(body, value), nodes.Const(types.BOOL, 1)))
    return condition(body, body.api.expr(body, node), node)


def bool_op(body: Body, node: ast.BoolOp) -> Any:
    """Elaborate `and` / `or` with short circuit: the value of the operand that decides."""
    bool_ty = well_known.library_type(body.elab, "Bool")
    left = conversions.materialize(body, body.api.expr(body, node.left))
    truth = condition(body, left, node.left)
    plain = left.ty is bool_ty
    if isinstance(truth, nodes.Const):
        if bool(truth.value) == (node.op == "or"):
            return KV(bool_ty, truth.value) if plain else left
        if plain:
            return RV(bool_ty, truth_of(body, node.right))
        right = conversions.materialize(body, body.api.expr(body, node.right))
        ty = _common(body, [left, right], bool_ty, node)
        if ty is bool_ty:
            return RV(bool_ty, condition(body, right, node.right))
        return conversions.convert(body, right, ty, body.at(node.right))
    body.open()
    right = body.api.expr(body, node.right)
    statements, body.statements = body.statements, body.blocks.pop()
    body.dead = False
    ty = bool_ty if plain else _common(body, [left, right], bool_ty, node)
    plain = ty is bool_ty
    made = locals.temporary(body, ty)
    arms: list[tuple[nodes.Statement, ...]] = []
    for value, target, part in ((left, [], node.left), (right, statements, node.right)):
        body.blocks.append(body.statements)
        body.statements = target
        if plain:
            value = RV(bool_ty, condition(body, conversions.materialize(body, value), part))
        place_operations.init_place(
            body, ty, made.pointer, conversions.convert(body, value, ty, body.at(part)), body.at(part)
        )
        partial_moves.mark(body, "init", made)
        arms.append(body.close())
    then, orelse = arms if node.op == "or" else (arms[1], arms[0])
    body.emit(nodes.If(truth, then, orelse, body.at(node)))
    return RV(ty, ir_values.rvalue(body, made)) if struct_types.abi(body.elab, ty) == "direct" else made


def ternary(body: Body, node: ast.Ternary, expected: Ty | None, is_place: bool = False) -> Any:
    """Elaborate `a if c else b`; `is_place`: what is wanted is a place, not the value in it."""
    condition = truth_of(body, node.condition)
    if isinstance(condition, nodes.Const):
        chosen, other = (node.then, node.orelse) if condition.value else (node.orelse, node.then)
        value = body.api.expr(body, chosen, expected)
        if (
            expected is None
            and isinstance(value, KV)
            and well_known.materialized(body.elab, value.ty, False) is not value.ty
        ):
            return _literal_beside(body, value, other, node)
        return value
    lists, values = [], []
    for part in (node.then, node.orelse):
        body.open()
        if is_place and isinstance(part, ast.Ternary):
            value = ternary(body, part, expected, True)
        else:
            value = body.api.expr(body, part, expected)
        values.append(conversions.materialize(body, value) if isinstance(value, FnVal) else value)
        lists.append(body.statements)
        body.statements = body.blocks.pop()
        body.dead = False
    ty = _common(body, values, expected, node)
    are_places = all(isinstance(v, LV) and not v.owned and v.ty is ty and v.pointer.type == types.PTR for v in values)
    if are_places and not body.module.is_library and (is_place or not struct_types.is_trivial(body.elab, ty)):
        return _one_of(body, condition, values, lists, node)
    made = locals.temporary(body, ty, "", call_lowering.loans_of_all(body, values))
    arms = []
    for value, statements, part in zip(values, lists, (node.then, node.orelse), strict=True):
        body.blocks.append(body.statements)
        body.statements = statements
        place_operations.init_moved(
            body, ty, made.pointer, conversions.convert(body, value, ty, body.at(part)), body.at(part)
        )
        partial_moves.mark(body, "init", made)
        arms.append(body.close())
    body.emit(nodes.If(condition, arms[0], arms[1], body.at(node)))
    if struct_types.abi(body.elab, ty) == "direct":
        return RV(ty, ir_values.rvalue(body, made), loans=locals.loans_of(body, made))
    return made


def _one_of(body: Body, condition: nodes.Value, places: list[LV], lists: list[Any], node: ast.Ternary) -> LV:
    """Return one of two places: nothing is copied to choose."""
    local = locals.new_local(body, types.PTR, "")
    loans: tuple[nodes.Local, ...] | None = ()
    arms = []
    for place, statements in zip(places, lists, strict=True):
        body.blocks.append(body.statements)
        body.statements = statements
        body.emit(nodes.Store(nodes.LocalAddress(local), place.pointer, span=body.span))
        arms.append(body.close())
        own = place.loans if place.local is None else (place.local,)
        loans = None if loans is None or own is None else (*loans, *own)
    local.pins, local.pins_all = tuple(dict.fromkeys(loans or ())), loans is None
    body.emit(nodes.If(condition, arms[0], arms[1], body.at(node)))
    pointer = body.let(nodes.Load(nodes.LocalAddress(local), types.PTR), types.PTR)
    mutable, why = all(place.mutable for place in places), "one of two values"
    return LV(places[0].ty, pointer, mutable, why="" if mutable else why, loans=loans)


def _literal_beside(body: Body, value: KV, other: ast.Expr, node: ast.Ternary) -> Any:
    """Return a literal that was chosen while compiling: its type is common to both arms."""
    sink, body.elab.reporter.sink = body.elab.reporter.sink, Sink()
    depth, statements, dead = len(body.blocks), body.statements, body.dead
    body.open()
    try:
        ty = _common(body, [value, body.api.expr(body, other, None)], None, node)
    except Abort:  # it is not chosen, so whatever is wrong with it does no harm
        return value
    finally:
        del body.blocks[depth:]
        body.statements, body.dead, body.elab.reporter.sink = statements, dead, sink
    return (
        value
        if ty is well_known.materialized(body.elab, value.ty, False)
        else conversions.convert(body, value, ty, body.at(node))
    )


def _common(body: Body, values: list[Any], expected: Ty | None, node: Any) -> Ty:
    a, b = values
    if not isinstance(a, (RV, LV, KV)) or not isinstance(b, (RV, LV, KV)):
        body.fail(Code.TYPE_MISMATCH, "both sides of a conditional expression must be values", body.at(node))
    if a.ty is b.ty:
        return cast(Ty, well_known.materialized(body.elab, a.ty, False))
    plain_a: Ty = well_known.materialized(body.elab, a.ty, False)
    plain_b: Ty = well_known.materialized(body.elab, b.ty, False)
    if plain_a is plain_b:
        # of two literals: what both are as constants of the program
        return (
            cast(Ty, well_known.materialized(body.elab, a.ty, True))
            if isinstance(a, KV) and isinstance(b, KV)
            else plain_a
        )
    for want, other in ((plain_a, b), (plain_b, a)):
        if overload_resolution.conversion(body, other.ty, want) is not None and not (
            want is plain_a and plain_a is not a.ty
        ):
            return want
    for want, other in ((plain_b, a), (plain_a, b)):
        if overload_resolution.conversion(body, other.ty, want) is not None:
            return want
    if isinstance(node, ast.BoolOp) and expected is not None:
        return expected
    shown = partial(type_printer.type_name, body.elab)
    body.fail(Code.TYPE_MISMATCH, f"'{shown(a.ty)}' and '{shown(b.ty)}' have no common type", body.at(node))
