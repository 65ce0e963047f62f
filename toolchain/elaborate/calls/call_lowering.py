"""Calls: of functions and of types, and the expansion of "builtin" functions in place.

Input: the callee and the arguments. Output: the value of the call; `Matching` chooses the function, `Passing` emits the
call.
"""

from functools import partial

from ktc.base.editions import Edition
from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values, materialization, type_warnings
from ktc.elaborate.calls import argument_passing, conversions, inlining, overload_resolution
from ktc.elaborate.calls.writeback import begin_writebacks
from ktc.elaborate.generics import parameter_binding, unification
from ktc.elaborate.generics.function_types import ANONYMOUS_ARGUMENT
from ktc.elaborate.instances.reference_mutability import readonly_result
from ktc.elaborate.model.declarations import AliasInfo, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import ArgumentSignature, Candidate, Instance, Symbolic, UnresolvedCall
from ktc.elaborate.model.types import (
    BoundAlias,
    ConstValue,
    FunctionTy,
    FunctionValue,
    ModuleValue,
    ParameterArgument,
    ParameterPack,
    PartialTy,
    StructTy,
    TraitTy,
)
from ktc.elaborate.model.values import Arg, Method, PackValue, Place, Result, RValue, Val, Values
from ktc.elaborate.ownership import interior_references
from ktc.elaborate.ownership.access_paths import note_place, of_result
from ktc.elaborate.ownership.exclusivity import check_call
from ktc.elaborate.ownership.reference_escapes import check_kept
from ktc.elaborate.ownership.shared_origins import check_shared
from ktc.elaborate.resolve.hints import import_hint
from ktc.elaborate.types import struct_members, struct_types, type_printer, well_known
from ktc.ir import nodes, types
from ktc.ir.nodes import Value

MANY_ITEMS = 32
"""So many constants that are passed as `*values` lie in one constant array; fewer are better seen by LLVM."""


def call(body: Body, callee: Result, pos: list[Arg], kw: list[Arg], span: Span) -> Val:
    """Call the value of an expression."""
    match callee:
        case FunctionValue():
            return call_fn(body, callee, pos, kw, span)
        case Method(base, fn):
            if base is None:
                return call_fn(body, fn, pos, kw, span)
            return call_fn(body, fn, [Arg(base, span), *pos], kw, span, receiver=True)
        case StructTy():
            if callee.symbolic:
                raise Symbolic(callee)
            if (
                body.frame.comptime
                and callee.info is well_known.list_info(body.elab)
                and pos
                and not kw
                and not callee.symbolic
            ):
                made = _constants(body, pos, callee.params[0])
                if made is not None:
                    return _list_of(body, made)
            return body.api.construct(body, callee, pos, kw, span)
        case PartialTy(info, params):
            if (
                len(pos) == 1
                and isinstance(pos[0].value, (ParameterPack, PackValue))
                and info is well_known.list_info(body.elab)
            ):
                return _list_of(body, pos[0].value)
            open_ty = unification.symbolic_struct(body.elab, info)
            values = tuple(b if p is None else p for p, b in zip(params, open_ty.params, strict=True))
            return body.api.construct(body, struct_types.struct_type(body.elab, info, values), pos, kw, span)
        case AliasInfo() | BoundAlias():
            return call(body, parameter_binding.open_alias(body.elab, callee), pos, kw, span)
        case RValue() | Place() | ConstValue():
            if isinstance(callee.ty, FunctionTy) and callee.ty.of is not None:
                return call_fn(body, callee.ty.of, pos, kw, span)
            if isinstance(callee.ty, FunctionTy):
                return body.api.call_value(body, callee, pos, kw, span)
            fns = struct_members.method_set(body.elab, callee.ty, "__call__")
            if fns is not None:
                return call_fn(body, FunctionValue(fns, (), (), callee.ty), [Arg(callee, span), *pos], kw, span, True)  # type: ignore[arg-type]
            body.fail(
                Code.NOT_CALLABLE,
                f"a value of type '{type_printer.type_name(body.elab, callee.ty)}' cannot be called",
                span,
            )
        case TraitTy():
            name = type_printer.type_name(body.elab, callee)
            help = "call a struct that conforms to it"
            body.fail(Code.NOT_CALLABLE, f"'{name}' is a trait, which cannot be instantiated", span, help)
        case ModuleValue():
            around, _, name = callee.module.name.rpartition(".")
            text = f"'{name}' is a module, and cannot be called"
            help = import_hint(around.removeprefix("std."), name) or "call a function of it"
            body.fail(Code.NOT_CALLABLE, text, span, help)
        case _:
            body.fail(Code.NOT_CALLABLE, "this cannot be called", span)


def call_fn(body: Body, fn: FunctionValue, pos: list[Arg], kw: list[Arg], span: Span, receiver: bool = False) -> Val:
    """Call a function with the parameters that it was given."""
    if kw and fn.renamed:
        kw = [replace(arg, name=fn.own_name(arg.name)) for arg in kw]
    if len(pos) == 1 and isinstance(pos[0].value, (ParameterPack, PackValue)) and not _takes_several(fn):
        pos = [Arg(_list_of(body, pos[0].value), pos[0].span)]
    found = overload_resolution.choose_cached(body, UnresolvedCall(fn, pos, kw, span, receiver))
    assert found is not None
    made = emit_call(body, found, span)
    if body.frame.module.edition is Edition.Y2026 and isinstance(made, RValue) and isinstance(made.ty, StructTy):
        return conversions.convert(body, made, well_known.of_scalar(body.elab, made.ty), span)
    return made


def _takes_several(fn: FunctionValue) -> bool:
    """Return whether an overload has a variadic argument."""
    return any(arg.kind == "star" for one in fn.overloads.functions for arg in one.node.args)


def emit_call(body: Body, found: Candidate, span: Span) -> Val:
    """Emit the call of a chosen candidate."""
    keep = body.frame.span is not None and body.frame.module.is_library
    outer = body.frame.set_span(body.frame.span if keep else span)
    if body.elab.observe is not None:
        body.elab.observe(body, span, found)
    try:
        values = _values(body, found, span)
        instance = found.instance
        made: Val
        if not body.frame.module.is_library:
            if instance.fn.unavailable:
                text = f"{instance.fn.title} is unavailable: {instance.fn.unavailable}"
                body.fail(Code.NOT_CALLABLE, text, span)
            if instance.fn.deprecated:
                type_warnings.warn_deprecated(body.elab, instance.fn, span)
            after = begin_writebacks(body, instance.signature.args, values)
            check_kept(body, found)
            check_call(body, instance, values, found.slots)
            check_shared(body, instance, values, found.slots)
            interior_references.end_by_call(body, instance, values, span)
            if after:
                made = argument_passing.emit(body, instance, values, span)
                body.api.write_back(body, after)
                return made
        if instance.fn.inline != "builtin" and not struct_types.is_compile_time_only(instance.signature.result_ty):
            made = argument_passing.emit(body, instance, values, span)
        else:
            made = inlining.expand(body, instance, values, span)
            if not body.frame.module.is_library:
                note_place(body, made, instance.signature, values)
            behind = isinstance(made, Place) and made.local is None and not body.frame.module.is_library
            if (
                isinstance(made, (RValue, Place))
                and made.loans is None
                and (behind or struct_types.origins_of(body.elab, made.ty))
            ):
                made.loans = argument_passing.loans_of_call(body, instance.signature, values)
            if isinstance(made, RValue) and not made.access_paths and not body.frame.module.is_library:
                made.access_paths = of_result(body, instance.signature, values)
        if not body.frame.module.is_library:
            argument_passing.keep_all(body, values)
            if instance.signature.keeps_all and isinstance(made, Place) and made.local is None:
                argument_passing.refer_anywhere(body, made)
            interior_references.note(body, instance, values, made)
            if isinstance(made, (RValue, Place)) and made.ty is instance.signature.result_ty:
                made.ty = readonly_result(body.elab, instance.signature, values)
        return made
    finally:
        body.frame.set_span(outer)


def _values(body: Body, found: Candidate, span: Span) -> Values:
    values: Values = []
    for sig, slot in zip(found.instance.signature.args, found.slots, strict=True):
        if sig.convention == "out":
            values.append(None)
        elif sig.kind == "starstar":
            values.append(_keywords(body, sig, slot if isinstance(slot, list) else [], span))
        elif slot is None:
            values.append(body.api.default_value(body, found.instance, sig, span))
        elif isinstance(slot, list):
            if not found.instance.variadic_spans:
                found.instance.variadic_spans = tuple(arg.span for arg in slot)
            values.append(_star(body, sig, slot, found.instance))
        elif isinstance(slot.value, FunctionValue) and isinstance(sig.ty, FunctionTy) and sig.ty.of is not None:
            values.append(sig.ty.of)
        else:
            values.append(conversions.convert(body, slot.value, sig.ty, slot.span, sig.convention))
    return values


def _keywords(body: Body, sig: ArgumentSignature, slot: list[Arg], span: Span) -> Val:
    """Collect the keyword arguments that no argument declares in a dictionary."""
    assert isinstance(sig.ty, StructTy)
    whole = slot[0].value if len(slot) == 1 and not slot[0].name else None
    if isinstance(whole, (RValue, Place, ConstValue)) and whole.ty is sig.ty:  # `f(**keywords^)`
        return whole
    made = materialization.as_place(body, call(body, sig.ty, [], [], span))
    inner = sig.ty.params[0]
    insert = FunctionValue(well_known.known_methods(body.elab, sig.ty, "_insert"), (), (), sig.ty)
    for arg in slot:
        target = Place(sig.ty, made.pointer, True, made.local)
        name = well_known.literal(body.elab, "StringLiteral", "!kgen.string", arg.name)
        value = Arg(conversions.convert(body, arg.value, inner, arg.span), arg.span)  # type: ignore[arg-type]
        call_fn(body, insert, [Arg(target, span), Arg(name, arg.span), value], [], span, True)
    return made


def _constants(body: Body, args: list[Arg], expected: ParameterArgument) -> PackValue | None:
    if not isinstance(expected, Ty):
        return None
    items = [
        body.elab.api.convert_constant(body.elab, arg.value, expected)
        for arg in args
        if isinstance(arg.value, ConstValue)
    ]
    found = tuple(item for item in items if item is not None)
    return PackValue(found) if len(found) == len(args) else None


def _list_of(body: Body, pack: ParameterPack | PackValue) -> Val:
    """Return the values of a variadic parameter as a list; of types it has only the length."""
    items: list[Result] = list(pack.items)
    declared = getattr(pack, "kind", None)
    kind: Ty = well_known.library_type(body.elab, "NoneType")
    if isinstance(declared, (StructTy, FunctionTy)):
        kind = declared
    start: Value | None = nodes.Const(types.PTR, 0)
    values: list[Result] = []
    if isinstance(declared, FunctionTy):
        values = [conversions.try_convert(body, item, declared, None) for item in items]
    elif isinstance(pack, PackValue) or all(isinstance(item, ConstValue) for item in items):
        values = [conversions.materialize_value(body, item) for item in items]
    first = values[0] if values else None
    if isinstance(first, (RValue, Place, ConstValue)) and None not in values:
        kind, start, items = first.ty, None, values
        constants = [item for item in map(_as_constant, values) if item is not None]
        if body.frame.comptime and len(constants) == len(values):
            # the list may become a constant, and outlive this evaluation
            start = ir_values.constant_places(body, constants)
    sig = ArgumentSignature("", kind, "read", "star", ANONYMOUS_ARGUMENT, "memory", "list")
    if start is not None:
        return inlining.variadic_value(body, sig, [start, nodes.Const(types.I64, len(items))])
    return inlining.pack_value(body, sig, PackValue(tuple(materialization.as_place(body, item) for item in items)))


def _as_constant(value: Result) -> ConstValue | None:
    """Return a value as a constant, if it is one; a function is one by its address."""
    if isinstance(value, RValue) and isinstance(value.ty, FunctionTy) and isinstance(value.ir, nodes.Const):
        return ConstValue(value.ty, value.ir.value)
    return value if isinstance(value, ConstValue) else None


def _star(body: Body, sig: ArgumentSignature, slot: list[Arg], instance: Instance) -> PackValue:
    """Gather variadic arguments: the addresses of the values in an array or a pack.

    The library changes no trivial value that it is given. Where a function of the program changes another argument, it
    gets copies of what goes through registers.
    """
    library = instance.fn.module.is_library
    items: list[Arg] = []
    for arg in slot:
        items += [Arg(v, arg.span) for v in arg.value.items] if isinstance(arg.value, PackValue) else [arg]
    if sig.variadic == "pack":
        values = [conversions.convert(body, a.value, kind, a.span) for a, kind in zip(items, sig.pack, strict=True)]
    else:
        values = [conversions.convert(body, a.value, sig.ty, a.span) for a in items]
        if (
            len(values) >= MANY_ITEMS
            and (sig.convention == "read" or library)
            and struct_types.is_trivial(body.elab, sig.ty)
        ):
            constants = ir_values.constant_items(body, sig.ty, values)
            if constants is not None:
                return PackValue(tuple(constants))
    owned = sig.convention in ("var", "owned")
    places = []
    for value, arg in zip(values, items, strict=True):
        if isinstance(value, (Method, FunctionValue, ModuleValue, PartialTy, Ty)):
            ir_values.fail_no_value(body, value, arg.span)
        if sig.convention == "mut" and not (isinstance(value, Place) and value.mutable and not value.owned):
            body.fail(Code.CANNOT_MUTATE, f"'*{sig.name}' modifies its arguments, but this one is immutable", arg.span)
        if (
            sig.convention == "read"
            and instance.signature.changes
            and not library
            and isinstance(value, Place)
            and isinstance(value.ty, StructTy)
            and value.ty.info.register_passable
            and struct_types.is_trivial(body.elab, value.ty)
        ):
            value = RValue(value.ty, ir_values.rvalue(body, value))
        shown = (
            partial(materialization.unchanged_place, body)
            if sig.convention == "read"
            else partial(materialization.as_place, body)
        )
        places.append(argument_passing.owned_place(body, value, arg.span) if owned else shown(value))
    return PackValue(tuple(places))
