"""Functions that adapt one calling convention to another."""

import hashlib

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values, materialization, place_operations
from ktc.elaborate.calls import conversions
from ktc.elaborate.generics import function_types
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import ArgumentSignature, Instance, Signature
from ktc.elaborate.model.types import FunctionTy
from ktc.elaborate.model.values import Arg, Place, RValue, Val
from ktc.elaborate.types import struct_types
from ktc.ir import nodes, types
from ktc.ir.nodes import Value


def bridge(body: Body, instance: Instance, expected: FunctionTy) -> str:
    """Return the symbol of a function that has the convention of a type and calls another."""
    text = f"{instance.symbol}:{expected.raises}:{expected.is_escaping}:{' '.join(word for word, _ in expected.args)}"
    symbol = f"bridge${hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if symbol in body.state.synthesized:
        return symbol
    inner, outer = instance.signature, function_types.call_signature(body.elab, expected)
    params: list[tuple[str, types.Type]] = []

    def take(name: str, kind: types.Type) -> Value:
        params.append((name, kind))
        return nodes.Argument(len(params) - 1, kind)

    made_body = Body(body.elab, instance.fn.module, instance.scope, None)
    back = take("result", types.PTR) if outer.through_memory else None
    args = [back] if inner.through_memory and back is not None else []
    owned: list[Place] = []
    for sig, own in zip(outer.args, (sig for sig in inner.args if sig.convention != "out"), strict=True):
        if sig.passing == "none":
            continue
        given = take(sig.name, types.PTR if sig.passing == "memory" else struct_types.ir_type(body.elab, sig.ty))
        place = Place(sig.ty, given)
        if sig.passing == "memory" and own.passing != "memory":  # what is changed there, and only read here
            args += [ir_values.rvalue(made_body, place)] if own.passing == "direct" else []
        else:
            args.append(given)
        if sig.convention in ("var", "deinit") and own.convention == "read":
            owned += [place if sig.passing == "memory" else materialization.as_place(made_body, RValue(sig.ty, given))]
    environment = take("env", types.PTR) if expected.is_escaping else nodes.Const(types.PTR, 0)
    args += [environment for _ in instance.environments]
    if inner.raises:
        args.append(take("error", types.PTR))
    elif outer.raises:
        take("error", types.PTR)
    kind = _result_type(body, inner)
    value = made_body.let(nodes.Call(instance.symbol, tuple(args), kind), kind)
    for place in owned:
        place_operations.destroy_place(made_body, place.ty, place.pointer, None)
    if outer.raises and not inner.raises:
        if back is not None and inner.result in ("direct", "ref"):
            made_body.emit(nodes.Store(back, value))
        value = nodes.Const(types.BOOL, 0)
    result = _result_type(body, outer)
    made_body.emit(nodes.Return(None if isinstance(result, types.VoidType) else value))
    made = nodes.Function(symbol, f"{instance.title} as {expected}", tuple(params), result, made_body.finish())
    body.state.synthesized[symbol] = (made, {instance.symbol})
    return symbol


def given(body: Body, signature: Signature, ty: FunctionTy, pos: list[Arg], kw: list[Arg], span: Span) -> list[Arg]:
    names = [sig.name for sig in signature.args]
    given: list[Arg | None] = [*pos, *[None] * (len(names) - len(pos))]
    if len(pos) > len(names):
        text = f"a function of type '{ty}' takes {len(names)} argument{'s' * (len(names) != 1)}"
        body.fail(Code.TOO_MANY_ARGUMENTS, f"{text}, but {len(pos)} are given", pos[len(names)].span)
    for arg in kw:
        if arg.name not in names or given[names.index(arg.name)] is not None:
            body.fail(Code.UNKNOWN_ARGUMENT, f"a '{ty}' has no argument '{arg.name}' left to give", arg.span)
        given[names.index(arg.name)] = arg
    found = [arg for arg in given if arg is not None]
    if len(found) < len(names):
        body.fail(Code.MISSING_ARGUMENT, f"argument {given.index(None) + 1} of a '{ty}' is missing", span)
    return found


def passed(body: Body, sig: ArgumentSignature, arg: Arg, ty: FunctionTy) -> Val:
    value = conversions.convert_value(body, arg.value, sig.ty, arg.span)
    if sig.convention in ("mut", "ref") and not (isinstance(value, Place) and (value.mutable or value.owned)):
        body.fail(Code.CANNOT_MUTATE, f"a '{ty}' modifies this argument, but the passed value is immutable", arg.span)
    return value


def _result_type(body: Body, signature: Signature) -> types.Type:
    if signature.raises:
        return types.BOOL
    if signature.result == "ref":
        return types.PTR
    kind: types.Type = (
        struct_types.ir_type(body.elab, signature.result_ty) if signature.result == "direct" else types.VOID
    )
    return kind
