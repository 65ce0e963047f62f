"""Calls: of functions and of types, and the expansion of "builtin" functions in place.

In: the callee and the arguments. Out: the value of the call; `Matching` chooses the function, `Passing` emits the call.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values, locals, materialization, partial_moves, place_operations, type_warnings
from ktc.elaborate.calls import argument_passing, conversions, overload_resolution, parameter_inference
from ktc.elaborate.calls.writeback import lend_all
from ktc.elaborate.comptime.default_arguments import default_value
from ktc.elaborate.generics import unification
from ktc.elaborate.generics.function_types import NAMELESS
from ktc.elaborate.instances.reference_mutability import seen_result
from ktc.elaborate.model.calls import Candidate
from ktc.elaborate.model.declarations import Scope, Ty
from ktc.elaborate.model.elaboration import UNIT_CONST, Body
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.instance import ArgSig, Instance
from ktc.elaborate.model.types import KV, FnTy, FnVal, PackPV, PartialTy, StructTy, TraitTy
from ktc.elaborate.model.values import LV, RV, Arg, Method, PackVal, Var
from ktc.elaborate.ownership.access_paths import note_place
from ktc.elaborate.ownership.exclusivity import check_call
from ktc.elaborate.ownership.reference_escapes import check_kept
from ktc.elaborate.statements.item_assignments import put_back
from ktc.elaborate.types import struct_members, struct_types, type_printer, well_known
from ktc.elaborate.types.struct_types import zero_of
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value
from ktc.syntax import ast

MANY_ITEMS = 32
"""So many constants that are passed as `*values` lie in one constant array; fewer are better seen by LLVM."""


def call(body: Body, callee: Any, pos: list[Arg], kw: list[Arg], span: Span) -> Any:
    """Call what an expression gave."""
    match callee:
        case FnVal():
            return call_fn(body, callee, pos, kw, span)
        case Method(base, fn):
            if base is None:
                return call_fn(body, fn, pos, kw, span)
            return call_fn(body, fn, [Arg(base, span), *pos], kw, span, receiver=True)
        case StructTy():
            if (
                body.comptime
                and callee.info is well_known.list_info(body.elab)
                and pos
                and not kw
                and not callee.symbolic
            ):
                made = _constants(body, pos, callee.params[0])
                if made is not None:
                    return _list_of(body, made)
            return construct(body, callee, pos, kw, span)
        case PartialTy(info, params):
            if (
                len(pos) == 1
                and isinstance(pos[0].value, (PackPV, PackVal))
                and info is well_known.list_info(body.elab)
            ):
                return _list_of(body, pos[0].value)
            open_ty = unification.symbolic_struct(body.elab, info)
            values = tuple(b if p is None else p for p, b in zip(params, open_ty.params, strict=True))
            return construct(body, struct_types.struct_type(body.elab, info, values), pos, kw, span)
        case RV() | LV() | KV():
            if isinstance(callee.ty, FnTy):
                return body.api.call_value(body, callee, pos, kw, span)
            fns = struct_members.method_set(body.elab, callee.ty, "__call__")
            if fns is not None:
                return call_fn(body, FnVal(fns, (), (), callee.ty), [Arg(callee, span), *pos], kw, span, True)  # type: ignore[arg-type]
            body.fail(
                Code.NOT_CALLABLE,
                f"a value of type '{type_printer.type_name(body.elab, callee.ty)}' cannot be called",
                span,
            )
        case TraitTy():
            name = type_printer.type_name(body.elab, callee)
            help = "call a struct that conforms to it"
            body.fail(Code.NOT_CALLABLE, f"'{name}' is a trait, which no value can be made of", span, help)
        case _:
            body.fail(Code.NOT_CALLABLE, "this cannot be called", span)


def call_fn(body: Body, fn: FnVal, pos: list[Arg], kw: list[Arg], span: Span, receiver: bool = False) -> Any:
    """Call a function with the parameters that it was given."""
    found = overload_resolution.chosen(body, fn, pos, kw, span, receiver)
    assert found is not None
    return emit_call(body, found, span)


def construct(body: Body, ty: StructTy, pos: list[Arg], kw: list[Arg], span: Span) -> Any:
    """Make a value of a struct by its constructors."""
    inits = struct_members.method_set(body.elab, ty, "__init__")
    if ty.info.fieldwise and (inits is None or ty.info.members.get("__init__") is None):
        return _fieldwise(body, ty, pos, kw, span)
    if inits is None:
        if len(pos) == 1 and not kw and getattr(pos[0].value, "ty", None) is ty:
            return pos[0].value
        place_operations.promised(body, KV(ty, ()), "__init__", ast.Pass(span.start, span.end))
        help = "write '@fieldwise_init' above the struct, or give it an '__init__'"
        body.fail(Code.NOT_CALLABLE, f"'{ty.info.name}' has no constructor", span, help)
    if ty.info.fieldwise and not ty.symbolic:
        found = overload_resolution.chosen(body, FnVal(inits, (), (), ty), pos, kw, span, quiet=True)
        if found is None:
            return _fieldwise(body, ty, pos, kw, span)
        return emit_call(body, found, span)
    found = overload_resolution.chosen(body, FnVal(inits, (), (), ty), pos, kw, span)
    assert found is not None
    return emit_call(body, found, span)


def _fieldwise(body: Body, ty: StructTy, pos: list[Arg], kw: list[Arg], span: Span) -> Any:
    names = [n.target.id for n in ty.info.field_nodes]  # type: ignore[union-attr]
    given: dict[str, Arg] = {}
    if len(names) < sum(isinstance(node, ast.VarDecl) for node in ty.info.node.body):
        raise Abort  # a field of a name that another one has was reported
    if len(pos) > len(names):
        text = f"'{ty.info.name}' has {len(names)} field{'s' * (len(names) != 1)}, but {len(pos)} values are given"
        body.fail(Code.TOO_MANY_ARGUMENTS, text, pos[len(names)].span)
    given.update(zip(names, pos, strict=False))
    for arg in kw:
        if arg.name not in names or arg.name in given:
            body.fail(Code.UNKNOWN_ARGUMENT, f"'{ty.info.name}' has no field '{arg.name}' left to give", arg.span)
        given[arg.name] = arg
    if ty.symbolic:
        ty = _infer_fieldwise(body, ty, given, span)
    for name in names:
        if name not in given:
            body.fail(Code.MISSING_ARGUMENT, f"argument '{name}' of '{ty.info.name}' is missing", span)
    fields, loans = struct_types.fields_of(body.elab, ty), loans_of_all(body, [arg.value for arg in given.values()])
    values = {name: conversions.convert(body, given[name].value, kind, given[name].span) for name, kind in fields}
    if struct_types.abi(body.elab, ty) != "memory":
        parts = {name: ir_values.rvalue(body, value) for name, value in values.items()}
        return RV(ty, build_struct(body, ty, parts), loans=loans)
    for name, kind in fields:  # as for a call's arguments: all are made before one is moved
        if not (body.module.is_library or struct_types.is_trivial(body.elab, kind)):
            values[name] = argument_passing.own(body, values[name], given[name].span, True)
    made = locals.temporary(body, ty, "", loans)
    for name, kind in fields:
        place_operations.init_moved(
            body, kind, place_operations.field(body, made, name).pointer, values[name], given[name].span
        )
    partial_moves.mark(body, "init", made)
    return made


def loans_of_all(body: Body, values: list[Any]) -> tuple[nodes.Local, ...] | None:
    found: list[nodes.Local] = []
    for value in values:
        loans = locals.loans_of(body, value)
        if loans is None:
            return None
        found += loans
    return tuple(dict.fromkeys(found))


def _infer_fieldwise(body: Body, ty: StructTy, given: dict[str, Arg], span: Span) -> StructTy:
    bound: dict[Any, Any] = {}
    for node in ty.info.field_nodes:
        arg = given.get(node.target.id)  # type: ignore[union-attr]
        if arg is not None and node.type is not None and ty.scope is not None:
            want = unification.evaluate_pattern(body.elab, node.type, ty.scope, ty.info.module)
            parameter_inference.infer_one(body, arg, want, bound, node)
    try:
        return parameter_inference.concrete_self(body, ty, bound)
    except Mismatch as why:
        body.fail(why.code, why.message, span)


def build_struct(body: Body, ty: StructTy, parts: dict[str, Value]) -> Value:
    """Return the IR value of a directly passed struct from its fields' values."""
    kind = struct_types.ir_type(body.elab, ty)
    if types.size_of(kind) == 0:
        return nodes.Const(kind, ())
    found: list[Value] = []
    for name, _ in struct_types.fields_of(body.elab, ty):
        slot = struct_types.slot_of(body.elab, ty, name)[1]
        if slot == -2:
            return parts[name]
        if slot >= 0:
            found.append(parts[name])
    return ops.build("make", tuple(found), kind)


def emit_call(body: Body, found: Candidate, span: Span) -> Any:
    """Emit the call of a chosen candidate."""
    outer, body.span = body.span, span if body.span is None or not body.module.is_library else body.span
    try:
        values = _values(body, found, span)
        instance = found.instance
        if not body.module.is_library:
            if instance.fn.deprecated:
                type_warnings.warn_deprecated(body.elab, instance.fn, span)
            after = lend_all(body, instance.signature.args, values)
            check_kept(body, found)
            check_call(body, instance, values, found.slots)
            if after:
                made = argument_passing.emit(body, instance, values, span)
                put_back(body, after)
                return made
        if instance.fn.inline != "builtin":
            made = argument_passing.emit(body, instance, values, span)
        else:
            made = expand(body, instance, values, span)
            if not body.module.is_library:
                note_place(body, made, instance.signature, values)
            behind = isinstance(made, LV) and made.local is None and not body.module.is_library
            if (
                isinstance(made, (RV, LV))
                and made.loans is None
                and (behind or struct_types.origins_of(body.elab, made.ty))
            ):
                made.loans = argument_passing.loans_of_call(body, instance.signature, values)
        if not body.module.is_library and isinstance(made, (RV, LV)) and made.ty is instance.signature.result_ty:
            made.ty = seen_result(body.elab, instance.signature, values)
        return made
    finally:
        body.span = outer


def _values(body: Body, found: Candidate, span: Span) -> list[Any]:
    values: list[Any] = []
    for sig, slot in zip(found.instance.signature.args, found.slots, strict=True):
        if sig.convention == "out":
            values.append(None)
        elif sig.kind == "starstar":
            values.append(_keywords(body, sig, slot or [], span))
        elif slot is None:
            values.append(default_value(body, found.instance, sig, span))
        elif isinstance(slot, list):
            if not found.instance.rest_spans:
                found.instance.rest_spans = tuple(arg.span for arg in slot)
            values.append(_star(body, sig, slot, span, found.instance.fn.module.is_library))
        elif isinstance(slot.value, FnVal) and isinstance(sig.ty, FnTy) and sig.ty.of is not None:
            values.append(sig.ty.of)
        else:
            values.append(conversions.convert(body, slot.value, sig.ty, slot.span, sig.convention))
    return values


def _keywords(body: Body, sig: ArgSig, slot: list[Arg], span: Span) -> Any:
    """Gather the keyword arguments that no argument is named for in a dictionary."""
    assert isinstance(sig.ty, StructTy)
    made = materialization.as_place(body, call(body, sig.ty, [], [], span))
    inner = sig.ty.params[0]
    insert = FnVal(well_known.known_methods(body.elab, sig.ty, "_insert"), (), (), sig.ty)
    for arg in slot:
        target = LV(sig.ty, made.pointer, True, made.local)
        name = well_known.literal(body.elab, "StringLiteral", "!kgen.string", arg.name)
        value = Arg(conversions.convert(body, arg.value, inner, arg.span), arg.span)  # type: ignore[arg-type]
        call_fn(body, insert, [Arg(target, span), Arg(name, arg.span), value], [], span, True)
    return made


def _constants(body: Body, args: list[Arg], want: Any) -> PackVal | None:
    items = [body.elab.api.convert_constant(body.elab, arg.value, want) for arg in args if isinstance(arg.value, KV)]
    found = tuple(item for item in items if item is not None)
    return PackVal(found) if len(found) == len(args) else None


def _list_of(body: Body, pack: PackPV | PackVal) -> Any:
    """Return the values of a variadic parameter as a list; of types and functions it has only the length."""
    items: list[Any] = list(pack.items)
    empty = getattr(pack, "kind", None)
    kind: Any = empty if isinstance(empty, (StructTy, FnTy)) else well_known.library_type(body.elab, "NoneType")
    start: Value | None = nodes.Const(types.PTR, 0)
    if items and (isinstance(pack, PackVal) or all(isinstance(item, KV) for item in items)):
        items = [conversions.materialize(body, item) for item in items]
        kind, start = items[0].ty, None
        if body.comptime and all(isinstance(item, KV) for item in items):
            start = ir_values.constant_places(
                body, items
            )  # the list may become a constant, and outlive this evaluation
    sig = ArgSig("", kind, "read", "star", NAMELESS, "memory", "list")
    if start is not None:
        return variadic_value(body, sig, [start, nodes.Const(types.I64, len(items))])
    return pack_value(body, sig, PackVal(tuple(materialization.as_place(body, item) for item in items)))


def _star(body: Body, sig: ArgSig, slot: list[Arg], span: Span, library: bool) -> Any:
    """Gather variadic arguments: the addresses of the values in an array or a pack.

    Args:
        library: the callee is the library's, which changes no trivial value that it is given.
    """
    items: list[Any] = []
    for arg in slot:
        items += [Arg(v, arg.span) for v in arg.value.items] if isinstance(arg.value, PackVal) else [arg]
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
                return PackVal(tuple(constants))
    owned = sig.convention in ("var", "owned")
    places = []
    for value, arg in zip(values, items, strict=True):
        if sig.convention == "mut" and not (isinstance(value, LV) and value.mutable and not value.owned):
            body.fail(Code.IMMUTABLE, f"'*{sig.name}' changes its arguments, and this one cannot be", arg.span)
        shown = (
            partial(materialization.unchanged_place, body)
            if sig.convention == "read"
            else partial(materialization.as_place, body)
        )
        places.append(argument_passing.own(body, value, arg.span) if owned else shown(value))
    return PackVal(tuple(places))


def expand(body: Body, instance: Instance, values: list[Any], span: Span) -> Any:
    """Expand a "builtin" function: its body becomes part of this one."""
    if instance.template is None:
        body.elab.api.make_template(body.elab, instance)
    if instance.template is not False and all(v is None or isinstance(v, (RV, KV)) for v in values):
        args = [
            ir_values.rvalue(body, v)
            for v, s in zip(values, instance.signature.args, strict=True)
            if s.passing == "direct" and v is not None
        ]
        body.refs |= instance.refs
        return RV(instance.signature.result_ty, substitute(instance.template, args))
    return inline(body, instance, values, span)


def inline(body: Body, instance: Instance, values: list[Any], span: Span) -> Any:
    """Run a function's statements here, its arguments bound to values."""
    outer = body.scope, body.module, body.instance, body.builtin_self, body.inline_result
    if instance.busy:
        body.fail(Code.INSTANTIATION_DEPTH, f"'{instance.fn.name}' is marked as builtin and calls itself", span)
    instance.busy = True
    body.scope = Scope(instance.scope, "body", body=body)
    body.module = instance.fn.module
    body.instance = instance
    body.builtin_self, body.inline_result = None, []
    signature = instance.signature
    try:
        for sig, value in zip(signature.args, values, strict=True):
            if sig.convention == "out" and signature.out_name == sig.name:
                body.builtin_self = {"": signature.result_ty, "name": sig.name}
                body.scope.names[sig.name] = Var(
                    sig.name, signature.result_ty, RV(signature.result_ty, UNIT_CONST), span, "out"
                )
            else:
                _bind(body, sig, value, span)
        return _run_inline(body, instance, span)
    finally:
        instance.busy = False
        body.scope, body.module, body.instance, body.builtin_self, body.inline_result = outer


def _bind(body: Body, sig: ArgSig, value: Any, span: Span) -> None:
    if isinstance(value, PackVal):
        value = pack_value(body, sig, value)
    elif isinstance(value, FnVal):
        body.scope.names[sig.name] = value
        return
    body.scope.names[sig.name] = Var(sig.name, value.ty, value, span, "arg", body=body)


def pack_value(body: Body, sig: ArgSig, value: PackVal) -> Any:
    """Return the library's value for variadic arguments that are bound in place."""
    args: list[Value] = []
    argument_passing.pass_pack(body, sig, value, args, [])
    return variadic_value(body, sig, args)


def variadic_value(body: Body, sig: ArgSig, args: Sequence[Value]) -> Any:
    """Make a `VariadicList` or `VariadicPack` of addresses."""
    if sig.variadic == "pack":
        ty = well_known.pack_type(body.elab, sig.pack)
        kind = struct_types.ir_type(body.elab, ty)
        if not args:
            return RV(ty, nodes.Const(kind, ()))
        return RV(ty, args[0] if len(args) == 1 else ops.build("make", tuple(args), kind))
    ty = well_known.list_type(body.elab, sig.ty, sig.convention == "mut")
    return RV(ty, ops.build("make", tuple(args), struct_types.ir_type(body.elab, ty)))


def _run_inline(body: Body, instance: Instance, span: Span) -> Any:
    signature = instance.signature
    assert instance.fn.node.body is not None
    body.api.block(body, instance.fn.node.body)
    if body.builtin_self is not None:
        return _built(body, signature.result_ty, span)
    if body.inline_result:
        return body.inline_result[0]
    kind = struct_types.ir_type(body.elab, signature.result_ty)
    return RV(signature.result_ty, nodes.Const(kind, zero_of(kind)))


def _built(body: Body, ty: Ty, span: Span) -> Any:
    parts = body.builtin_self
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
    if len(values) == 1 and isinstance(parts[next(iter(values))], KV):
        only = parts[next(iter(values))]
        if (
            struct_types.slot_of(body.elab, ty, next(iter(values)))[1] == -2
            or types.size_of(struct_types.ir_type(body.elab, ty)) == 0
        ):
            return KV(ty, only.data)
    return RV(ty, build_struct(body, ty, values))


def substitute(template: Value, args: list[Value]) -> Value:
    """Return a value with its `Argument`s replaced; constants fold on the way."""
    if isinstance(template, nodes.Argument):
        return args[template.index]
    if isinstance(template, nodes.Op):
        return ops.build(template.name, tuple(substitute(a, args) for a in template.args), template.type, template.attr)
    return template
