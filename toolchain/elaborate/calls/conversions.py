"""Implicit conversions."""

from typing import overload

from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Label
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values, place_operations, type_warnings
from ktc.elaborate.calls import argument_passing, changed_arguments, overload_resolution
from ktc.elaborate.generics import function_types
from ktc.elaborate.instances import work_queue
from ktc.elaborate.model.declarations import OverloadSet, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Candidate, UnresolvedCall
from ktc.elaborate.model.spelling import conversion_help
from ktc.elaborate.model.types import ConstValue, FunctionTy, FunctionValue, StructTy, TraitTy
from ktc.elaborate.model.values import Arg, CollectionLiteral, Method, PackValue, Place, Result, RValue, Val
from ktc.elaborate.ownership import origin_agreement
from ktc.elaborate.resolve.hints import division_hint
from ktc.elaborate.types import type_printer, type_relations, well_known
from ktc.ir import nodes, types
from ktc.ir.nodes import Value


def call_init(body: Body, ty: Ty, init: OverloadSet, pointer: Value, val: Place) -> None:
    """Run `__copyinit__` or `__moveinit__` on a place."""
    assert isinstance(ty, StructTy)
    span = body.frame.span or body.elab.main_span()
    found = body.api.choose(body, UnresolvedCall(FunctionValue(init, (), (), ty), [Arg(val, span)], [], span))
    assert found is not None
    instance = found.instance
    work_queue.request(body.elab, instance)
    body.refer(instance.symbol)
    if instance.signature.result == "memory":
        body.let(nodes.Call(instance.symbol, (pointer, val.pointer), types.VOID), types.VOID)
    else:
        made = argument_passing.emit(body, instance, [None, val], span)
        place_operations.store_bits(body, pointer, made)


@overload
def convert(
    body: Body, value: Val, expected: Ty | None, span: Span, convention: str = "read", because: tuple[Label, ...] = ()
) -> Val: ...
@overload
def convert(
    body: Body,
    value: Result,
    expected: Ty | None,
    span: Span,
    convention: str = "read",
    because: tuple[Label, ...] = (),
) -> Result: ...
def convert(
    body: Body,
    value: Result,
    expected: Ty | None,
    span: Span,
    convention: str = "read",
    because: tuple[Label, ...] = (),
) -> Result:
    """Return a value converted implicitly to a type; an error if it cannot be.

    Args:
        because: where the type comes from, for the error.
    """
    if (type(value) is RValue or type(value) is Place or type(value) is ConstValue) and value.ty is expected:
        return value
    if expected is None or isinstance(expected, TraitTy) or isinstance(value, PackValue):
        return body.api.build_collection(body, value, None) if isinstance(value, CollectionLiteral) else value
    if isinstance(value, CollectionLiteral):
        value = body.api.build_collection(body, value, expected)
    made = try_convert(body, value, expected, span)
    if made is None:
        if isinstance(value, FunctionValue):
            wanted = type_printer.type_name(body.elab, expected)
            text = f"'{value.overloads.name}', a '{value.described()}', is not a '{wanted}'"
            body.fail(Code.TYPE_MISMATCH, text, span)
        if isinstance(value, Method):
            ir_values.fail_no_value(body, value, span)
        if not isinstance(value, (RValue, Place, ConstValue)):
            body.fail(
                Code.TYPE_MISMATCH,
                f"a value of type '{type_printer.type_name(body.elab, expected)}' is expected here",
                span,
            )
        have, expected_name = type_printer.type_name(body.elab, value.ty), type_printer.type_name(body.elab, expected)
        text = f"'{have}' does not convert to '{expected_name}'"
        if isinstance(value.ty, StructTy) and value.ty.info.closure is not None and isinstance(expected, FunctionTy):
            text = "a closure with captures does not convert to a pointer to a function"
            help = "capture nothing ('{}'), or take it as an argument of a type 'F: def(…) -> …' that is a parameter"
            body.fail(Code.TYPE_MISMATCH, text, span, help)
        help = division_hint(have, expected_name, span.source.text[span.start : span.end]) or conversion_help(
            have, expected_name
        )
        body.elab.report(Code.TYPE_MISMATCH, text, span or body.frame.span, help, body.frame.instance, because)
        raise ErrorReported
    origin_agreement.check_named(body, value, expected, span)
    return made


def convert_value(body: Body, value: Result, expected: Ty, span: Span) -> Val:
    """Return a value, at run time or a constant, converted implicitly to a type; an error if it cannot be."""
    made = convert(body, value, expected, span)
    if isinstance(made, FunctionValue) and isinstance(expected, FunctionTy):  # of this function alone, without a size
        return ConstValue(expected, ())
    if not isinstance(made, (RValue, Place, ConstValue)):
        ir_values.fail_no_value(body, made, span)
    return made


def try_convert(body: Body, value: Result, expected: Ty, span: Span | None) -> Val | FunctionValue | None:
    """Return a value converted implicitly to a type, or None."""
    if isinstance(value, FunctionValue):
        return _function_to(body, value, expected, span)
    if not isinstance(value, (RValue, Place, ConstValue)):
        return None
    if value.ty is expected:
        return value
    if type_relations.fits(body.elab, value.ty, expected):
        if isinstance(value, Place):
            return replace(value, ty=expected)
        return (
            RValue(expected, value.ir, loans=value.loans, access_paths=value.access_paths)
            if isinstance(value, RValue)
            else ConstValue(expected, value.data)
        )
    if not isinstance(expected, StructTy) or expected.symbolic:
        return None
    return _through_init(body, value, value.ty, expected, span)


def _function_to(body: Body, value: FunctionValue, expected: Ty, span: Span | None) -> Val | FunctionValue | None:
    if isinstance(expected, FunctionTy):
        return value if expected.of is not None else body.api.function_value(body, value, expected, span)
    if isinstance(expected, StructTy) and not expected.symbolic:
        return _through_init(body, value, function_types.fn_type_of(body.elab, value), expected, span)
    return None


def _through_init(body: Body, value: Result, have: Ty, expected: StructTy, span: Span | None) -> Val | None:
    where = span or body.frame.span or body.elab.main_span()
    outer = body.frame.set_span(where)  # what the constructor finds wrong is wrong here
    found = overload_resolution.implicit_init(body, have, expected)
    body.frame.set_span(outer)
    if found is None:
        return (
            body.api.construct(body, expected, [Arg(value, where)], [], where)
            if overload_resolution.through_only_field(body, have, expected)
            else None
        )
    if changed_arguments.makes_mutable(body, found.instance, value):
        return None
    if found.instance.fn.is_discouraged and not body.frame.module.is_library:
        type_warnings.warn_conversion(body.elab, found.instance.fn, have, expected, where)
    given = Arg(value, where)
    slots = [given if isinstance(slot, Arg) else [given] if slot else slot for slot in found.slots]
    made = body.api.emit_call(body, Candidate(found.instance, slots, 0), where)
    if isinstance(made, (RValue, Place)) and made.ty is not expected:
        made.ty = expected
    return made


def materialize_value(body: Body, value: Result) -> Val:
    """Return a value, at run time or a constant, of its run-time type; an error if it is none."""
    made = materialize(body, value)
    if not isinstance(made, (RValue, Place, ConstValue)):
        ir_values.fail_no_value(body, made)
    return made


@overload
def materialize(body: Body, value: Val) -> Val: ...
@overload
def materialize(body: Body, value: Result) -> Result: ...
def materialize(body: Body, value: Result) -> Result:
    """Turn a literal into a value of its run-time type."""
    if isinstance(value, (RValue, Place, ConstValue)):
        expected = well_known.materialized(body.elab, value.ty, False)
        if expected is not value.ty:
            return convert(body, value, expected, body.frame.span or body.elab.main_span())
    elif isinstance(value, FunctionValue):
        thin = body.elab.api.thin_type(body.elab, value)
        return value if thin is None else convert(body, value, thin, body.frame.span or body.elab.main_span())
    return value
