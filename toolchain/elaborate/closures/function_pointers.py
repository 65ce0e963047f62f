"""Functions as values at run time."""

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values, materialization
from ktc.elaborate.calls import argument_passing
from ktc.elaborate.closures import bridges, captures, escaping_closures
from ktc.elaborate.closures.escaping_closures import code_and_environment
from ktc.elaborate.generics import function_types
from ktc.elaborate.instances import function_instances, work_queue
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.instance import ArgumentSignature, Symbolic
from ktc.elaborate.model.types import FunctionTy, FunctionValue, OpenTy, TraitTy
from ktc.elaborate.model.values import Arg, Place, RValue, Val, Values
from ktc.elaborate.types import mangling
from ktc.ir import nodes, types
from ktc.ir.nodes import Value


def function_address(body: Body, fn: FunctionValue, span: Span | None) -> Value:
    """Return the address of a function."""
    instance = function_instances.instance_of(body.elab, fn, span, body)
    if instance.signature.raises or instance.signature.through_memory:
        body.fail(Code.UNSUPPORTED, f"'{instance.fn.name}' cannot be called through its address", span)
    work_queue.request(body.elab, instance)
    body.refer(instance.symbol)
    return nodes.GlobalAddress(instance.symbol)


def function_environment(body: Body, fn: FunctionValue, span: Span | None) -> Value:
    """Return the address of a closure's environment, which its function takes after its own arguments."""
    instance = function_instances.instance_of(body.elab, fn, span, body)
    if len(instance.environments) > 1:
        body.fail(Code.UNSUPPORTED, f"'{instance.fn.name}' needs more than one environment", span)
    return (
        captures.environment(body, instance.environments[0], span)
        if instance.environments
        else nodes.Const(types.PTR, 0)
    )


def function_value(body: Body, fn: FunctionValue, expected: FunctionTy, span: Span | None) -> RValue | Place | None:
    """Return the address of the overload that fits a function type, or a closure; None if none fits."""
    if body.frame.comptime and (
        expected.syntax is not None or ("capturing" in expected.effects and not expected.is_escaping)
    ):
        single = function_instances.function_as(body.elab, fn, expected)
        if single is None:
            return None
        address = function_types.as_constant(body.elab, single, mangling.key_text(body.elab, single))
        return RValue(expected, nodes.Const(types.PTR, address))
    if not function_types.is_plain(body.elab, expected):
        return None
    instance = function_instances.instance_as(body.elab, fn, expected)
    if instance is None or (instance.signature.raises != expected.raises and not body.frame.module.is_library):
        return None
    if instance.signature.raises and instance.signature.error is not expected.error:
        return None
    work_queue.request(body.elab, instance)
    if expected.is_escaping:
        return escaping_closures.heap_closure(body, fn, instance, expected, span)
    symbol = instance.symbol
    words = tuple(sig.convention for sig in instance.signature.args if sig.convention != "out")
    differs = instance.signature.raises != expected.raises or words != tuple(word for word, _ in expected.args)
    if instance.environments or differs:
        for env in instance.environments:
            if captures.captures_anything(body, env):
                text = f"'{instance.fn.name}' uses variables of the enclosing function, so it is not a '{expected}'"
                body.fail(
                    Code.TYPE_MISMATCH,
                    text,
                    span,
                    "write 'escaping' in the type, or pass it by its name, as an argument or a parameter",
                )
        symbol = bridges.bridge(body, instance, expected)
    body.refer(symbol)
    return RValue(expected, nodes.Const(types.PTR, nodes.Address(symbol)))


def call_value(body: Body, callee: Val, pos: list[Arg], kw: list[Arg], span: Span) -> Val:
    """Call a function that is known only at run time."""
    ty = callee.ty
    assert isinstance(ty, FunctionTy)
    if not function_types.is_plain(body.elab, ty):
        body.fail(Code.UNSUPPORTED, f"a value of type '{ty}' cannot be called at run time", span)
    signature = function_types.call_signature(body.elab, ty)
    given = bridges.given(body, signature, ty, pos, kw, span)
    extra: tuple[Value, ...] = ()
    if ty.is_escaping:
        pointer, environment = code_and_environment(body, materialization.as_place(body, callee))
        extra = (environment,)
    else:
        pointer = ir_values.rvalue(body, callee)
    values: Values = [bridges.passed(body, sig, arg, ty) for sig, arg in zip(signature.args, given, strict=True)]
    return argument_passing.emit_call_with(
        body, lambda args, kind: nodes.CallIndirect(pointer, args, kind), signature, values, extra, "the function", span
    )


def takes_open_types(elab: Elaboration, fn: FunctionValue) -> bool:
    """Return whether only a call can tell the types of a function's arguments: `S[3, _]`, `Some[Writer]`."""
    try:
        instance = function_instances.only_instance(elab, fn, [None] * len(fn.overloads.functions[0].node.args), None)
    except (Mismatch, Symbolic):
        return False
    return any(map(_is_open, instance.signature.args))


def _is_open(sig: ArgumentSignature) -> bool:
    return not sig.variadic and (sig.left_open or isinstance(sig.ty, (TraitTy, OpenTy)))


def thin_type(elab: Elaboration, fn: FunctionValue) -> FunctionTy | None:
    """Return the type that a function has as a value at run time; None if it is not one function, or captures."""
    if len(fn.overloads.functions) != 1 or (
        fn.overloads.functions[0].parent is not None and fn.overloads.functions[0].parameter
    ):
        return None
    if "unified" in fn.overloads.functions[0].node.effects:
        return None
    try:
        instance = function_instances.only_instance(elab, fn, [None] * len(fn.overloads.functions[0].node.args), None)
    except (Mismatch, Symbolic):
        return None
    signature = instance.signature
    shown = [sig for sig in signature.args if sig.convention != "out"]
    if any(sig.variadic or _is_open(sig) for sig in shown):
        return None
    ref = signature.result_mutable if signature.result == "ref" else None
    args = tuple((sig.convention, sig.ty) for sig in shown)
    effects: tuple[str, ...] = ()
    if instance.environments:
        work_queue.request(elab, instance)
        effects = (
            ("escaping",) if any(captures.captures_anything(env.env, env) for env in instance.environments) else ()
        )
    nodes = tuple(sig.node for sig in shown)
    return function_types.function_type(
        elab, args, signature.result_ty, signature.raises, effects, nodes, ref, signature.error
    )
