"""Argument passing: how the values of a call reach the function, and what its result borrows.

Input: the chosen function and the values. Output: the call in the IR. The convention: an address for a result in memory
comes first, then the arguments that take memory, then the environments of captured variables, then, in a function that
may raise, the address for the error. A raising function returns an i1: true if it raised; its result goes through
memory.
"""

from collections.abc import Callable, Sequence

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import error_trace, ir_values, locals, materialization, partial_moves, place_operations
from ktc.elaborate.builder.error_trace import ErrorTarget
from ktc.elaborate.instances import kernel_errors, work_queue
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import ArgumentSignature, Instance, Signature
from ktc.elaborate.model.types import ConstValue, FunctionValue, OriginValue
from ktc.elaborate.model.values import Arg, PackValue, Place, Result, RValue, Values
from ktc.elaborate.ownership.access_paths import note_place, of_result
from ktc.elaborate.types import struct_members, struct_types, type_printer, well_known
from ktc.elaborate.types.struct_types import zero_of
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Plain, Value


def _note_loans_of_others(body: Body, target: Place, values: Values) -> None:
    """A mutated argument may keep pointers that the other arguments hold."""
    if target.local is None or not any(o.kind == "some" for o in struct_types.origins_of(body.elab, target.ty)):
        return
    for value in values:
        for one in value.items if isinstance(value, PackValue) else (value,):
            if one is not target and isinstance(one, (Place, RValue)) and struct_types.origins_of(body.elab, one.ty):
                locals.add_points_to(body, target.local, target.ty, locals.loans_of(body, one))


def owned_place(body: Body, value: Result, span: Span, passed: bool = False) -> Place:
    """Return a place whose value the callee may take; `passed` as in `init_place`."""
    if isinstance(value, Place) and value.owned:
        return value
    if not isinstance(value, (RValue, Place, ConstValue)):
        ir_values.fail_no_value(body, value, span)
    made = locals.temporary(body, value.ty, "", locals.loans_of(body, value))
    place_operations.init_place(body, value.ty, made.pointer, value, span, passed)
    partial_moves.mark(body, "init", made)
    return made


Emit = Callable[[tuple[Value, ...], types.Type], nodes.Action]
"""Emits the call itself, from the arguments and the type of the result."""


def emit(body: Body, instance: Instance, values: Values, span: Span) -> RValue | Place:
    work_queue.request(body.elab, instance)
    body.refer(instance.symbol)
    return emit_call_with(body, 
        lambda args, kind: nodes.Call(instance.symbol, args, kind),
        instance.signature, values, instance.environments, callee_title(instance), span,
    )  # fmt: skip


def emit_call_with(
    body: Body, call: Emit, signature: Signature, values: Values,
    envs: Sequence[FunctionValue | Value], name: str, span: Span,
) -> RValue | Place:  # fmt: skip
    """Emit a call whose action `call` makes."""
    args: list[Value] = []
    result: Place | None = None
    body.facts.note_call(None)
    loans: tuple[nodes.Local, ...] | None = ()
    points = False
    if signature.result == "ref" or struct_types.origins_of(body.elab, signature.result_ty):
        loans = None if signature.points_anywhere else loans_of_call(body, signature, values)
        points = not body.frame.module.is_library
    if signature.through_memory:
        if signature.result == "ref":
            local = locals.new_local(body, types.PTR, "", None)
            local.points_to, local.points_to_all = loans or (), loans is None
            result = Place(signature.result_ty, nodes.LocalAddress(local), loans=loans)
        else:
            # in edition 2025 the result of a call inside 'try' is a temporary, from which it is moved
            is_aside = signature.raises and body.flow.handlers and body.frame.module.edition is not Edition.Y2026
            named = "result" if is_aside else ""
            result = locals.temporary(body, signature.result_ty, named, loans)
            if named and result.local is not None:
                body.flow.note_try_result(result.local)
        args.append(result.pointer)
    consumed: list[Place] = []
    for sig, value in zip(signature.args, values, strict=True):
        if sig.convention != "out":
            if sig.convention in ("mut", "ref") and isinstance(value, Place) and value.local is not None:
                value.local.is_shared = True
                if sig.convention == "mut":
                    _note_loans_of_others(body, value, values)
            _pass(body, sig, value, args, consumed, span)
    for env in envs:
        args.append(body.api.environment(body, env, span) if isinstance(env, FunctionValue) else env)
    made = _call_action(body, call, signature, name, args, consumed, result, span)
    if isinstance(made, Place) and signature.result == "ref":
        made.loans = loans
        if not body.frame.module.is_library:
            note_place(body, made, signature, values)
        made.mutable = signature.result_mutable and all(
            value.mutable if signature.args[i].convention == "ref" else signature.args[i].convention != "read"
            for i in signature.named
            if isinstance(value := values[i], Place)
        )
        made.read_only_reason = "" if made.mutable else "a reference that is read only"
    elif isinstance(made, RValue):
        made.loans = loans
        if points:
            made.access_paths = of_result(body, signature, values)
    elif points and isinstance(made, Place) and made.local is not None:
        body.facts.note_paths(made.local, of_result(body, signature, values))
    if well_known.is_never(signature.result_ty):
        body.emit(nodes.Unreachable())
    if isinstance(made, Place) and made.local is not None:
        body.facts.note_call((made.local, values))
    return made


def keep_all(body: Body, values: Values) -> None:
    """Keep all variables alive up to here if a value of a call may point to any of them, and no variable says so."""
    origins = (one for value in values for one in _unnamed_origins(body, value))
    if not any(one.kind == "any" for one in origins) or not _holds_values(body):
        return
    local = locals.new_local(body, types.PTR, declare=False)  # only the mark names it: it needs no memory
    local.points_to_all = True
    body.emit(nodes.Mark("use", local))


def refer_anywhere(body: Body, place: Place) -> None:
    """Have each use of a place, of a `ref` result that may refer to any variable, keep all variables alive."""
    if not _holds_values(body):
        return
    local = locals.new_local(body, types.PTR)
    local.points_to_all = True
    body.emit(nodes.Store(nodes.LocalAddress(local), place.pointer, span=body.frame.span))
    place.pointer = body.let(nodes.Load(nodes.LocalAddress(local), types.PTR), types.PTR)


def _holds_values(body: Body) -> bool:
    """Return whether a variable so far has a destructor: in most kernels, none has."""
    return any(local.drop for local in body.facts.local_types)


def _unnamed_origins(body: Body, value: Result) -> tuple[OriginValue, ...]:
    """Return the origins in a value's type, unless a variable holds the value and keeps alive what it points to."""
    if isinstance(value, RValue):
        return struct_types.origins_of(body.elab, value.ty) if value.loans == () else ()
    if not isinstance(value, Place) or (value.local is not None and value.local.points_to_all):
        return ()
    return struct_types.origins_of(body.elab, value.ty)


def _call_action(
    body: Body, call: Emit, signature: Signature, name: str, args: list[Value], consumed: list[Place],
    result: Place | None,
    span: Span,
) -> RValue | Place:  # fmt: skip
    if signature.raises:
        _call_raising(body, call, name, args, consumed, span, signature.error)
    else:
        direct = signature.result == "direct"
        kind = struct_types.ir_type(body.elab, signature.result_ty) if direct else types.VOID
        if signature.result == "ref":
            kind = types.PTR
        value = body.let(call(tuple(args), kind), kind)
        for place in consumed:
            partial_moves.mark(body, "consume", place, span)
        if direct:
            return RValue(signature.result_ty, value)
        if signature.result == "ref":
            return _referred(signature, value)
    if signature.result == "none":
        kind = struct_types.ir_type(body.elab, signature.result_ty)
        return RValue(signature.result_ty, nodes.Const(kind, zero_of(kind)))
    assert result is not None
    if signature.result == "ref":
        pointer = body.let(nodes.Load(result.pointer, types.PTR), types.PTR)
        return _referred(signature, pointer)
    partial_moves.mark(body, "init", result)
    if signature.result == "direct":
        return RValue(signature.result_ty, ir_values.rvalue(body, result))
    return result


def loans_of_call(body: Body, signature: Signature, values: Values) -> tuple[nodes.Local, ...] | None:
    """Return the locals into which the result of a call may point, None if that is not known."""
    found: list[nodes.Local] = []
    unlinked = signature.unlinked_args
    if unlinked and any(one.kind == "any" for one in struct_types.origins_of(body.elab, signature.result_ty)):
        unlinked = ()
    for i, value in enumerate(values):
        if i in unlinked:
            continue
        lent = i in signature.borrowed_args
        for one in value.items if isinstance(value, PackValue) else (value,):
            if lent and isinstance(one, Place):
                if one.local is None and one.loans is None:
                    return None
                found += (one.local,) if one.local is not None else one.loans or ()
            elif isinstance(one, FunctionValue) and one.env is not None:
                return None
            inside = locals.loans_of(body, one)
            if inside is None:
                return None
            found += inside
    return tuple(dict.fromkeys(found))


def _call_raising(
    body: Body, call: Emit, name: str, args: list[Value], consumed: list[Place], span: Span, error: Ty | None
) -> None:
    raised_ty = error or well_known.error_type(body.elab)
    target = error_trace.error_target(body, raised_ty)
    if target is None:
        target = _without_target(body, name, span)
    elif body.elab.observe is not None:
        body.elab.observe(body, span, target)
    passes = target.ty is raised_ty or target.label < 0
    place = None if passes else locals.temporary(body, raised_ty)
    pointer = target.pointer if place is None else place.pointer
    raised = body.let(call((*args, pointer), types.BOOL), types.BOOL)
    for one in consumed:
        partial_moves.mark(body, "consume", one, span)
    body.open()
    if target.label < 0:
        held = Arg(Place(target.ty, pointer, False, target.local), span)
        body.api.call_fn(body, well_known.startup_function(body.elab, "__ktc_uncaught__"), [held], [], span)
    else:
        if place is not None:
            _convert_error(body, place, target, name, span)
        error_trace.add_call(body, span)
    leave_raising(body, target.label, target.local)
    then = body.close()
    body.set_dead(False)
    body.emit(nodes.If(raised, then, (), span))


def _without_target(body: Body, name: str, span: Span) -> ErrorTarget:
    """Return where an error goes that ends the compile-time evaluation; elsewhere report it."""
    if body.site.is_reflected or (body.frame.comptime and body.frame.module.is_library):
        ty = well_known.error_type(body.elab)
        local = locals.new_local(body, struct_types.ir_type(body.elab, ty), "error")
        return ErrorTarget(-1, local, nodes.LocalAddress(local), ty)
    help = "put the call in a 'try' block, or declare this function with 'raises'"
    if kernel_errors.is_kernel(body):
        help = "put the call in a 'try' block: a kernel cannot raise"
    if body.frame.comptime:
        help = "call a function that catches the error: a value at compile time cannot be missing"
    body.fail(Code.UNHANDLED_RAISE, f"{name} may raise, and nothing here catches it", span, help)


def _convert_error(body: Body, place: Place, target: ErrorTarget, name: str, span: Span) -> None:
    """Convert an error to the type that the target takes: an `Error` of any that can be written."""
    if target.ty is not well_known.error_type(body.elab) or not struct_members.has_trait(
        body.elab, place.ty, "Writable"
    ):
        have, expected = type_printer.type_name(body.elab, place.ty), type_printer.type_name(body.elab, target.ty)
        text = f"{name} may raise '{have}', and errors have the type '{expected}' here"
        body.fail(Code.UNHANDLED_RAISE, text, span, "put the call in a 'try' block of its own")
    partial_moves.mark(body, "init", place)
    made = body.api.construct(body, target.ty, [Arg(place, span)], [], span)
    place_operations.init_place(body, target.ty, target.pointer, made, span)


def leave_raising(body: Body, label: int, local: nodes.Local | None) -> None:
    if label > 0 and local is not None:
        body.flow.use_label(label)
        body.emit(nodes.Mark("init", local))
        body.api.run_cleanups(body, body.flow.handler_depths[-1])
        body.emit(nodes.Break(label))
    elif label < 0:
        body.emit(nodes.Unreachable())
    else:
        body.api.run_cleanups(body, 0)
        body.emit(nodes.Return(nodes.Const(types.BOOL, 1), body.frame.span))


def _pass(
    body: Body, sig: ArgumentSignature, value: Result, args: list[Value], consumed: list[Place], span: Span
) -> None:
    if isinstance(value, PackValue):
        pass_pack(body, sig, value, args, consumed)
        return
    if sig.passing == "none" or isinstance(value, FunctionValue):
        return
    if sig.passing == "direct":
        if sig.convention in ("var", "deinit") and isinstance(value, Place):
            if value.owned:
                consumed.append(value)
            else:
                place_operations.check_copy(body, value, span)
        args.append(ir_values.rvalue(body, value))
        return
    if sig.convention in ("var", "deinit", "owned"):
        place = owned_place(body, value, span, True)
        args.append(place.pointer)
        if not struct_types.is_trivial(body.elab, place.ty):
            consumed.append(place)
        return
    args.append(generic(materialization.as_place(body, value).pointer))


def generic(pointer: Value) -> Value:
    """Return an address of any memory, as functions take and return them, for one in shared memory, say."""
    return pointer if pointer.type == types.PTR else ops.build("spacecast", (pointer,), types.PTR)


def _referred(signature: Signature, pointer: Value) -> Place:
    """Return the place to which a function returned a reference."""
    if signature.result_space:
        pointer = ops.build("spacecast", (pointer,), types.PointerType(signature.result_space))
    return Place(signature.result_ty, pointer)


def pass_pack(body: Body, sig: ArgumentSignature, value: PackValue, args: list[Value], consumed: list[Place]) -> None:
    places = [item for item in value.items if isinstance(item, Place)]
    if sig.variadic == "pack":
        args.extend(generic(place.pointer) for place in places)
    elif places and len(fixed := _fixed_addresses(places)) == len(places):
        args += [ir_values.constant_addresses(body, tuple(fixed)), nodes.Const(types.I64, len(places))]
    else:
        kind = types.ArrayType(types.PTR, max(1, len(places)))
        local = locals.new_local(body, kind, "arguments")
        held = [place.loans if place.local is None else (place.local,) for place in places]
        local.points_to = tuple(dict.fromkeys(one for loans in held for one in loans or ()))
        local.points_to_all = None in held
        for i, place in enumerate(places):
            at = ops.build("offset", (nodes.LocalAddress(local), nodes.Const(types.I64, i)), None, types.PTR)
            body.emit(nodes.Store(at, generic(place.pointer)))
        start = nodes.LocalAddress(local) if places else nodes.Const(types.PTR, 0)
        args += [start, nodes.Const(types.I64, len(places))]
    if sig.convention in ("var", "owned"):
        consumed.extend(p for p in places if not struct_types.is_trivial(body.elab, p.ty))


def _fixed_addresses(places: Sequence[Place]) -> list[Plain]:
    """Return the addresses that are known at compile time."""
    pointers = [place.pointer for place in places]
    return [pointer.value for pointer in pointers if isinstance(pointer, nodes.Const) and pointer.type == types.PTR]


def callee_title(instance: Instance) -> str:
    """Return the name in messages of a function that may raise; for a constructor that of its struct."""
    owner = instance.fn.owner
    return f"'{owner.name if instance.fn.name == '__init__' and owner is not None else instance.fn.name}'"
