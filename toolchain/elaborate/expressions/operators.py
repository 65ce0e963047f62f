"""Operators: arithmetic, comparison, truth.

Each is a call of a method of the library (`__add__`, `__lt__`, `__bool__`); the compiler knows only their names.
"""

from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from ktc.diag.codes import Code
from ktc.elaborate.builder import ir_values, place_operations
from ktc.elaborate.calls import call_lowering, conversions, overload_resolution, parameter_inference
from ktc.elaborate.calls.writeback import fetched
from ktc.elaborate.expressions import collection_literals, operands
from ktc.elaborate.instances import work_queue
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Symbolic, UnresolvedCall
from ktc.elaborate.model.types import ConstValue, FunctionValue, Opaque, StructTy, TraitTy, UnboundParameter
from ktc.elaborate.model.values import Arg, CollectionLiteral, DeferredOperand, Method, Place, Result, RValue, Val
from ktc.elaborate.resolve.suggestions import operand_help
from ktc.elaborate.tree.operator_names import BINARY, COMPARE
from ktc.elaborate.types import struct_members, type_printer, well_known
from ktc.elaborate.types.type_printer import operand_text
from ktc.syntax import ast


def binary(body: Body, node: ast.Binary) -> Result:
    """Elaborate `left op right`."""
    operand_or_literal = partial(collection_literals.operand_or_literal, body)
    left = operands.first_operand(body, (node.right,), partial(operands.operand, body, node.left, operand_or_literal))
    if isinstance(left, TraitTy) and node.op == "&":
        right = body.api.expr(body, node.right)
        if not isinstance(right, TraitTy):
            body.fail(Code.TYPE_MISMATCH, "only a trait can be joined to a trait with '&'", body.at(node.right))
        return struct_members.trait_type(body.elab, tuple(dict.fromkeys(left.traits + right.traits)))
    right = (
        operands.operand(body, node.right, partial(body.api.expr, body))
        if isinstance(left, DeferredOperand)
        else collection_literals.operand_or_literal(body, node.right)
    )
    left = fetched(body, left)
    return apply_operator(body, node.op, left, fetched(body, right), node)


def apply_operator(body: Body, op: str, left: Result, right: Result, node: ast.Node) -> Val:
    """Apply a binary operator to values."""
    if isinstance(left, (UnboundParameter, Opaque)) or isinstance(right, (UnboundParameter, Opaque)):
        raise Symbolic
    name = BINARY[op]
    if isinstance(left, CollectionLiteral):
        left = collection_literals.literal_like(body, left, right)
    made = dunder(body, left, f"__{name}__", [right], node)
    if made is None and isinstance(right, CollectionLiteral):
        right = collection_literals.literal_like(body, right, left)
        made = dunder(body, left, f"__{name}__", [right], node)
    if made is None and _is_word(left) and not parameter_inference.is_literal(body, right):
        made = dunder(body, conversions.materialize(body, left), f"__{name}__", [right], node)
    if made is None:
        made = dunder(body, right, f"__r{name}__", [left], node)
    if (
        made is None
        and isinstance(left, (RValue, Place, ConstValue))
        and isinstance(right, (RValue, Place, ConstValue))
    ):
        plain = conversions.materialize(body, left)
        if plain is not left:
            made = dunder(body, plain, f"__{name}__", [right], node)
        if made is None and isinstance(left, ConstValue):
            made = _literals(body, name, left, right, node)
    if made is None:
        no_operator(body, op, left, right, node)
    return made


def _is_word(value: Result) -> bool:
    """Return whether a value is a literal that fits an `Int`: `3 - n` of a `UInt` is one, before `UInt.__rsub__`."""
    ty = value.ty if isinstance(value, (RValue, Place, ConstValue)) else None
    if not isinstance(ty, StructTy) or ty.info.materialized is None or len(ty.params) != 1:
        return False
    (number,) = ty.params
    return isinstance(number, ConstValue) and isinstance(number.data, int) and -(2**63) <= number.data < 2**63


def _literals(body: Body, name: str, left: ConstValue, right: Val, node: ast.Node) -> Val | None:
    """Convert the left of two literals of different kinds to the kind of the right one."""
    if isinstance(right, ConstValue) and isinstance(right.ty, StructTy) and right.ty.info.materialized is not None:
        expected = well_known.materialized(body.elab, right.ty, False)
        converted = conversions.try_convert(body, left, expected, None)
        if converted is not None:
            return dunder(body, converted, f"__{name}__", [right], node)
    return None


def type_of_call(body: Body, value: Val, name: str, node: ast.Node) -> Ty:
    """Return the type of the result of a method without arguments; nothing is emitted."""
    inner = Body(body.elab, body.frame.module, body.frame.scope, body.frame.instance)
    inner.site.is_reflected = True
    with work_queue.unrequested(body.elab):
        made = dunder(inner, value, name, [], node)
    assert made is not None  # it has such a method
    return made.ty


def dunder(body: Body, base: Result, name: str, args: Sequence[Result], node: ast.Node) -> Val | None:
    """Call a method if the value has it and it accepts the arguments; else return None."""
    if not isinstance(base, (RValue, Place, ConstValue)):
        return None
    fns = struct_members.method_set(body.elab, base.ty, name)
    if fns is None:
        return None
    span = body.at(node)
    pos = [Arg(base, span), *(Arg(a, span) for a in args)]
    fn = FunctionValue(fns, (), (), base.ty)  # type: ignore[arg-type]
    keep = body.frame.span is not None and body.frame.module.is_library
    outer = body.frame.set_span(body.frame.span if keep else span)
    try:
        found = overload_resolution.choose_cached(body, UnresolvedCall(fn, pos, [], span, True), quiet=True)
    finally:
        body.frame.set_span(outer)
    if found is None:
        return None
    outer = body.frame.set_span(span)
    try:
        return call_lowering.emit_call(body, found, span)
    finally:
        body.frame.set_span(outer)


def no_operator(body: Body, op: str, left: Result, right: Result, node: ast.Node) -> NoReturn:
    """Report an operator that the operands do not have."""
    asked = right if op == "in" else left
    name = "contains" if op == "in" else BINARY.get(op) or COMPARE.get(op)
    if name is not None:
        place_operations.require_bound(body, asked, f"__{name}__", node)
    for one in (left, right):
        if isinstance(one, Method):
            ir_values.fail_no_value(body, one, body.at(node))
    _report_missing_requirement(body, asked, left if op == "in" else right, f"__{name}__", node)
    a, b = (
        type_printer.type_name(body.elab, v.ty) if isinstance(v, (RValue, Place, ConstValue)) else operand_text(v)
        for v in (left, right)
    )
    both = isinstance(left, (RValue, Place, ConstValue)) and isinstance(right, (RValue, Place, ConstValue))
    help_text = operand_help(op, a, b) if both and (a != b or op == "@") else ""
    own, other = _own_struct(asked), _own_struct(right)
    if both and own is not None and f"__{name}__" not in own.info.members:
        help_text = f"give '{own.info.name}' the method '__{name}__'" if name else ""
    elif op in BINARY and other is not None:
        turned = (
            isinstance(left, (RValue, Place, ConstValue))
            and struct_members.method_set(body.elab, other, f"__{name}__") is not None
        )
        more = ", or swap the operands" if turned else ""
        help_text = f"give '{other.info.name}' the method '__r{name}__'{more}"
    if "NoneType" in (a, b) and _lacks_result(body):
        raise ErrorReported  # it calls itself
    body.fail(Code.TYPE_MISMATCH, f"'{op}' does not accept '{a}' and '{b}'", body.at(node), help_text)


def _own_struct(value: Result) -> StructTy | None:
    """Return the type of a value if it is a struct of the program's own."""
    ty = value.ty if isinstance(value, (RValue, Place, ConstValue, CollectionLiteral)) else None
    return ty if isinstance(ty, StructTy) and not ty.info.module.is_library else None


def _lacks_result(body: Body) -> bool:
    """Return whether a missing result type of this function was reported."""
    own = body.frame.instance.fn.span() if body.frame.instance is not None else None
    reported = [one.span for one in body.elab.reporter.sink.diagnostics if one.code is Code.UNDECLARED_RESULT]
    end = body.frame.instance.fn.node.end if body.frame.instance is not None else 0
    return own is not None and any(
        at is not None and at.source is own.source and own.start < at.start < end for at in reported
    )


def _report_missing_requirement(body: Body, owner: Result, other: Result, name: str, node: ast.Node) -> None:
    """Report why a container's method does not take its own type, or that of its items: what they lack, mostly."""
    if not (
        isinstance(owner, (RValue, Place)) and isinstance(other, (RValue, Place)) and isinstance(owner.ty, StructTy)
    ):
        return
    fns = struct_members.method_set(body.elab, owner.ty, name)
    if fns is not None and (owner.ty is other.ty or other.ty in owner.ty.params):
        span = body.at(node)
        pos = [Arg(owner, span), Arg(other, span)]
        overload_resolution.choose_cached(
            body, UnresolvedCall(FunctionValue(fns, (), (), owner.ty), pos, [], span, True)
        )
