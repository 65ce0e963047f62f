"""Expansion in place: what a call of a `builtin` function becomes."""

from collections.abc import Sequence
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values
from ktc.elaborate.calls import argument_passing, conversions
from ktc.elaborate.model.declarations import Scope, Ty
from ktc.elaborate.model.elaboration import UNIT_CONST, Body
from ktc.elaborate.model.instance import ArgumentSignature, Instance
from ktc.elaborate.model.types import ConstValue, FunctionValue, StructTy
from ktc.elaborate.model.values import PackValue, RValue, Var
from ktc.elaborate.types import struct_types, well_known
from ktc.elaborate.types.struct_types import zero_of
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value


def expand(body: Body, instance: Instance, values: list[Any], span: Span) -> Any:
    """Expand a "builtin" function: its body becomes part of this one."""
    if instance.template is None:
        body.elab.api.make_template(body.elab, instance)
    if instance.template is not False and all(v is None or isinstance(v, (RValue, ConstValue)) for v in values):
        args = [
            ir_values.rvalue(body, v)
            for v, s in zip(values, instance.signature.args, strict=True)
            if s.passing == "direct" and v is not None
        ]
        body.refs |= instance.refs
        return RValue(instance.signature.result_ty, substitute(instance.template, args))
    return inline(body, instance, values, span)


def inline(body: Body, instance: Instance, values: list[Any], span: Span) -> Any:
    """Run a function's statements here, its arguments bound to values."""
    outer = body.frame
    if instance.busy:
        body.fail(Code.INSTANTIATION_DEPTH, f"'{instance.fn.name}' is marked as builtin and calls itself", span)
    instance.busy = True
    body.frame = outer.expanded(instance.fn.module, Scope(instance.scope, "body", body=body), instance)
    signature = instance.signature
    try:
        for sig, value in zip(signature.args, values, strict=True):
            if sig.convention == "out" and signature.out_name == sig.name:
                body.frame.builtin_self = {"": signature.result_ty, "name": sig.name}
                body.frame.scope.names[sig.name] = Var(
                    sig.name, signature.result_ty, RValue(signature.result_ty, UNIT_CONST), span, "out"
                )
            else:
                _bind(body, sig, value, span)
        return _run_inline(body, instance, span)
    finally:
        instance.busy = False
        outer.span = body.frame.span
        body.frame = outer


def _bind(body: Body, sig: ArgumentSignature, value: Any, span: Span) -> None:
    if isinstance(value, PackValue):
        value = pack_value(body, sig, value)
    elif isinstance(value, FunctionValue):
        body.frame.scope.names[sig.name] = value
        return
    body.frame.scope.names[sig.name] = Var(sig.name, value.ty, value, span, "arg", body=body)


def pack_value(body: Body, sig: ArgumentSignature, value: PackValue) -> Any:
    """Return the library's value for variadic arguments that are bound in place."""
    args: list[Value] = []
    argument_passing.pass_pack(body, sig, value, args, [])
    return variadic_value(body, sig, args)


def variadic_value(body: Body, sig: ArgumentSignature, args: Sequence[Value]) -> Any:
    """Make a `VariadicList` or `VariadicPack` of addresses."""
    if sig.variadic == "pack":
        ty = well_known.pack_type(body.elab, sig.pack)
        kind = struct_types.ir_type(body.elab, ty)
        if not args:
            return RValue(ty, nodes.Const(kind, ()))
        return RValue(ty, args[0] if len(args) == 1 else ops.build("make", tuple(args), kind))
    ty = well_known.list_type(body.elab, sig.ty, sig.convention == "mut")
    return RValue(ty, ops.build("make", tuple(args), struct_types.ir_type(body.elab, ty)))


def _run_inline(body: Body, instance: Instance, span: Span) -> Any:
    signature = instance.signature
    assert instance.fn.node.body is not None
    body.api.block(body, instance.fn.node.body)
    if body.frame.builtin_self is not None:
        return _built(body, signature.result_ty, span)
    if body.frame.inline_result:
        return body.frame.inline_result[0]
    kind = struct_types.ir_type(body.elab, signature.result_ty)
    return RValue(signature.result_ty, nodes.Const(kind, zero_of(kind)))


def _built(body: Body, ty: Ty, span: Span) -> Any:
    parts = body.frame.builtin_self
    assert parts is not None
    if "whole" in parts:
        return parts["whole"]
    if not isinstance(ty, StructTy):
        body.fail(Code.RETURN_TYPE, "the result has no value", span)
    values = {}
    for name, kind in struct_types.fields_of(body.elab, ty):
        if name not in parts:
            body.fail(Code.UNINITIALIZED, f"field '{name}' gets no value", span)
        values[name] = ir_values.rvalue(body, conversions.convert(body, parts[name], kind, span))
    if len(values) == 1 and isinstance(parts[next(iter(values))], ConstValue):
        only = parts[next(iter(values))]
        if (
            struct_types.slot_of(body.elab, ty, next(iter(values)))[1] == -2
            or types.size_of(struct_types.ir_type(body.elab, ty)) == 0
        ):
            return ConstValue(ty, only.data)
    return RValue(ty, ir_values.build_struct(body, ty, values))


def substitute(template: Value, args: list[Value]) -> Value:
    """Return a value with its `Argument`s replaced; constants fold on the way."""
    if isinstance(template, nodes.Argument):
        return args[template.index]
    if isinstance(template, nodes.Op):
        return ops.build(template.name, tuple(substitute(a, args) for a in template.args), template.type, template.attr)
    return template
