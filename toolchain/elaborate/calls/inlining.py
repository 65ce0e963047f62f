"""Inlining of `builtin` functions by the elaborator."""

from collections.abc import Sequence

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values
from ktc.elaborate.calls import argument_passing, conversions
from ktc.elaborate.model.declarations import Scope, Ty
from ktc.elaborate.model.elaboration import UNIT_CONST, Body
from ktc.elaborate.model.instance import ArgumentSignature, Instance
from ktc.elaborate.model.types import ConstValue, FunctionValue, StructTy
from ktc.elaborate.model.values import PackValue, Place, Result, RValue, Val, Values, Var
from ktc.elaborate.types import struct_types, well_known
from ktc.elaborate.types.struct_types import zero_of
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value


def expand(body: Body, instance: Instance, values: Values, span: Span) -> Val:
    """Inline a "builtin" function into this body."""
    if instance.template is None:
        body.elab.api.make_template(body.elab, instance)
    template = instance.template
    if not (template is None or isinstance(template, bool)) and all(
        v is None or isinstance(v, (RValue, ConstValue)) for v in values
    ):
        args = [
            ir_values.rvalue(body, v)
            for v, s in zip(values, instance.signature.args, strict=True)
            if s.passing == "direct" and v is not None
        ]
        body.refer(*instance.refs)
        return RValue(instance.signature.result_ty, substitute(template, args))
    return inline(body, instance, values, span)


def inline(body: Body, instance: Instance, values: Values, span: Span) -> Val:
    """Run a function's statements here, its arguments bound to values."""
    outer = body.frame
    if instance.in_progress:
        body.fail(Code.INSTANTIATION_LIMIT, f"'{instance.fn.name}' is marked as builtin and calls itself", span)
    instance.in_progress = True
    body.frame = outer.expanded(instance.fn.module, Scope(instance.scope, "body", body=body), instance)
    signature = instance.signature
    try:
        for sig, value in zip(signature.args, values, strict=True):
            if sig.convention == "out" and signature.out_name == sig.name:
                body.frame.build_result()
                body.frame.scope.names[sig.name] = Var(
                    sig.name, signature.result_ty, RValue(signature.result_ty, UNIT_CONST), span, "out"
                )
            else:
                _bind(body, sig, value, span)
        return _run_inline(body, instance, span)
    finally:
        instance.in_progress = False
        outer.set_span(body.frame.span)
        body.frame = outer


def _bind(body: Body, sig: ArgumentSignature, value: Result, span: Span) -> None:
    if isinstance(value, PackValue):
        value = pack_value(body, sig, value)
    elif isinstance(value, FunctionValue):
        body.frame.scope.names[sig.name] = value
        return
    if not isinstance(value, (RValue, Place, ConstValue)):
        ir_values.fail_no_value(body, value, span)
    body.frame.scope.names[sig.name] = Var(sig.name, value.ty, value, span, "arg", body=body)


def pack_value(body: Body, sig: ArgumentSignature, value: PackValue) -> RValue:
    """Return the library's value for variadic arguments that are bound in place."""
    args: list[Value] = []
    argument_passing.pass_pack(body, sig, value, args, [])
    return variadic_value(body, sig, args)


def variadic_value(body: Body, sig: ArgumentSignature, args: Sequence[Value]) -> RValue:
    """Make a `VariadicList` or `VariadicPack` of addresses."""
    if sig.variadic == "pack":
        ty = well_known.pack_type(body.elab, sig.pack, sig.convention == "mut")
        kind = struct_types.ir_type(body.elab, ty)
        if not args:
            return RValue(ty, nodes.Const(kind, ()))
        return RValue(ty, args[0] if len(args) == 1 else ops.build("make", tuple(args), kind))
    ty = well_known.list_type(body.elab, sig.ty, sig.convention == "mut")
    return RValue(ty, ops.build("make", tuple(args), struct_types.ir_type(body.elab, ty)))


def _run_inline(body: Body, instance: Instance, span: Span) -> Val:
    signature = instance.signature
    assert instance.fn.node.body is not None
    body.api.block(body, instance.fn.node.body)
    if body.frame.builtin_self is not None:
        return _built(body, signature.result_ty, span)
    if body.frame.inline_result:
        return body.frame.inline_result[0]
    kind = struct_types.ir_type(body.elab, signature.result_ty)
    return RValue(signature.result_ty, nodes.Const(kind, zero_of(kind)))


def _built(body: Body, ty: Ty, span: Span) -> Val:
    parts = body.frame.builtin_self
    assert parts is not None
    if body.frame.builtin_whole is not None:
        return body.frame.builtin_whole
    if not isinstance(ty, StructTy):
        body.fail(Code.MISSING_RETURN, "the result has no value", span)
    values = {}
    for name, kind in struct_types.fields_of(body.elab, ty):
        if name not in parts:
            body.fail(Code.UNINITIALIZED, f"field '{name}' gets no value", span)
        values[name] = ir_values.rvalue(body, conversions.convert_value(body, parts[name], kind, span))
    name = next(iter(values)) if len(values) == 1 else ""
    only = parts.get(name)
    if isinstance(only, ConstValue) and (
        struct_types.slot_of(body.elab, ty, name)[1] == -2 or types.size_of(struct_types.ir_type(body.elab, ty)) == 0
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
