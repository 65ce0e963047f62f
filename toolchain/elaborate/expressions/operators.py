"""Operators: arithmetic, comparison, truth.

Each is a call of a method of the library (`__add__`, `__lt__`, `__bool__`); the compiler knows only their names.
"""

from functools import partial
from typing import Any

from ktc.diag.codes import Code
from ktc.elaborate.builder import ir_values, place_operations
from ktc.elaborate.calls import call_lowering, conversions, overload_resolution
from ktc.elaborate.calls.writeback import taken
from ktc.elaborate.expressions import collection_literals, operands
from ktc.elaborate.model.calls import DeferredOperand
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.operator_names import BINARY, COMPARE
from ktc.elaborate.model.types import ConstValue, FunctionValue, Opaque, StructTy, Sym, TraitTy
from ktc.elaborate.model.values import Arg, CollectionLiteral, Method, Place, RValue
from ktc.elaborate.resolve.suggestions import operand_help
from ktc.elaborate.types import struct_members, type_printer, well_known
from ktc.elaborate.types.type_printer import said
from ktc.syntax import ast


def binary(body: Body, node: ast.Binary) -> Any:
    """Elaborate `left op right`."""
    left = operands.operand(body, node.left, partial(collection_literals.late_operand, body))
    if isinstance(left, TraitTy) and node.op == "&":
        right = body.api.expr(body, node.right)
        if not isinstance(right, TraitTy):
            body.fail(Code.TYPE_MISMATCH, "only a trait can be joined to a trait with '&'", body.at(node.right))
        return struct_members.trait_type(body.elab, tuple(dict.fromkeys(left.traits + right.traits)))
    right = (
        operands.operand(body, node.right, partial(body.api.expr, body))
        if isinstance(left, DeferredOperand)
        else collection_literals.late_operand(body, node.right)
    )
    left = taken(body, left)
    return operate(body, node.op, left, taken(body, right), node)


def operate(body: Body, op: str, left: Any, right: Any, node: Any) -> Any:
    """Apply a binary operator to values."""
    if isinstance(left, (Sym, Opaque)) or isinstance(right, (Sym, Opaque)):
        raise Symbolic
    name = BINARY[op]
    if isinstance(left, CollectionLiteral):
        left = collection_literals.beside(body, left, right)
    made = dunder(body, left, f"__{name}__", [right], node)
    if made is None and isinstance(right, CollectionLiteral):
        right = collection_literals.beside(body, right, left)
        made = dunder(body, left, f"__{name}__", [right], node)
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


def _literals(body: Body, name: str, left: ConstValue, right: Any, node: Any) -> Any:
    """Two literals of different kinds: the left becomes what the right is made of."""
    if isinstance(right, ConstValue) and isinstance(right.ty, StructTy) and right.ty.info.materialized is not None:
        want = well_known.materialized(body.elab, right.ty, False)
        converted = conversions.try_convert(body, left, want, None)
        if converted is not None:
            return dunder(body, converted, f"__{name}__", [right], node)
    return None


def dunder(body: Body, base: Any, name: str, args: list[Any], node: Any) -> Any:
    """Call a method if the value has it and it takes the arguments, else return None."""
    if not isinstance(base, (RValue, Place, ConstValue)):
        return None
    fns = struct_members.method_set(body.elab, base.ty, name)
    if fns is None:
        return None
    span = body.at(node)
    pos = [Arg(base, span), *(Arg(a, span) for a in args)]
    fn = FunctionValue(fns, (), (), base.ty)  # type: ignore[arg-type]
    outer = body.frame.span
    if outer is None or not body.frame.module.is_library:
        body.frame.span = span
    try:
        found = overload_resolution.chosen(body, fn, pos, [], span, True, quiet=True)
    finally:
        body.frame.span = outer
    if found is None:
        return None
    outer, body.frame.span = body.frame.span, span
    try:
        return call_lowering.emit_call(body, found, span)
    finally:
        body.frame.span = outer


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
    a, b = (
        type_printer.type_name(body.elab, v.ty) if isinstance(v, (RValue, Place, ConstValue)) else said(v)
        for v in (left, right)
    )
    both = isinstance(left, (RValue, Place, ConstValue)) and isinstance(right, (RValue, Place, ConstValue))
    help_text = operand_help(op, a, b) if both and a != b else ""
    own = isinstance(getattr(asked, "ty", None), StructTy) and not asked.ty.info.module.is_library
    if both and own and isinstance(asked.ty, StructTy) and f"__{name}__" not in asked.ty.info.members:
        help_text = f"give '{asked.ty.info.name}' the method '__{name}__'" if name else ""
    elif op in BINARY and isinstance(getattr(right, "ty", None), StructTy) and not right.ty.info.module.is_library:
        turned = (
            isinstance(left, (RValue, Place, ConstValue))
            and struct_members.method_set(body.elab, right.ty, f"__{name}__") is not None
        )
        more = ", or write it the other way round" if turned else ""
        help_text = f"give '{right.ty.info.name}' the method '__r{name}__'{more}"
    if "NoneType" in (a, b) and _lacks_result(body):
        raise ErrorReported  # it calls itself
    body.fail(Code.TYPE_MISMATCH, f"'{op}' does not take '{a}' and '{b}'", body.at(node), help_text)


def _lacks_result(body: Body) -> bool:
    """Was it told that this function returns something and does not declare it."""
    own = body.frame.instance.fn.span() if body.frame.instance is not None else None
    told = [one.span for one in body.elab.reporter.sink.diagnostics if one.code is Code.RETURN_TYPE]
    end = body.frame.instance.fn.node.end if body.frame.instance is not None else 0
    return own is not None and any(
        at is not None and at.source is own.source and own.start < at.start < end for at in told
    )


def _why_not(body: Body, owner: Any, other: Any, name: str, node: Any) -> None:
    """Report why a container's method does not take its own type, or that of its items: what they lack, mostly."""
    if not (
        isinstance(owner, (RValue, Place)) and isinstance(other, (RValue, Place)) and isinstance(owner.ty, StructTy)
    ):
        return
    fns = struct_members.method_set(body.elab, owner.ty, name)
    if fns is not None and (owner.ty is other.ty or other.ty in owner.ty.params):
        span = body.at(node)
        overload_resolution.chosen(
            body, FunctionValue(fns, (), (), owner.ty), [Arg(owner, span), Arg(other, span)], [], span, True
        )
