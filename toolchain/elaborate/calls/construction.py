"""Construction of structs: by `__init__`, or field by field."""

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values, locals, materialization, partial_moves, place_operations
from ktc.elaborate.calls import argument_passing, call_lowering, conversions, overload_resolution, parameter_inference
from ktc.elaborate.generics import unification
from ktc.elaborate.instances import callable_types
from ktc.elaborate.model.declarations import OverloadSet
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import UnresolvedCall
from ktc.elaborate.model.spelling import suggest
from ktc.elaborate.model.types import ConstValue, FunctionValue, ParameterArgument, StructTy, UnboundParameter
from ktc.elaborate.model.values import Arg, Place, RValue, Val
from ktc.elaborate.tree import lifecycle
from ktc.elaborate.types import struct_members, struct_types, well_known
from ktc.syntax import ast


def construct(body: Body, ty: StructTy, pos: list[Arg], kw: list[Arg], span: Span) -> Val:
    """Construct a value of a struct."""
    inits = struct_members.method_set(body.elab, ty, "__init__")
    if kw and not pos and (role := role_by_keyword(ty, inits, kw)):
        return copied_or_moved(body, _type_of_value(body, ty, kw[0]), role, kw[0])
    if ty.info.fieldwise and (inits is None or ty.info.members.get("__init__") is None):
        return _fieldwise(body, ty, pos, kw, span)
    if inits is None:
        if len(pos) == 1 and not kw and getattr(pos[0].value, "ty", None) is ty:
            return conversions.convert_value(body, pos[0].value, ty, span)
        place_operations.require_bound(body, ConstValue(ty, ()), "__init__", ast.Pass(span.start, span.end))
        help = "write '@fieldwise_init' above the struct, or give it an '__init__'"
        body.fail(Code.NOT_CALLABLE, f"'{ty.info.name}' has no constructor", span, help)
    if ty.info.module.is_library and not body.frame.module.is_library:
        for arg in kw:
            if arg.name in ("mlir_value", "_mlir_value"):  # as packages call it
                arg.name = "__mlir_value"
    call = UnresolvedCall(FunctionValue(inits, (), (), ty), pos, kw, span)
    if ty.info.fieldwise:
        if not ty.symbolic and _matches_fields(body, ty, pos, kw):
            return _fieldwise(body, ty, pos, kw, span)
        # in a generic body whether a condition holds is not known, so the constructor may be meant
        unsure = body.elab.coverage.speculation is not None and any(fn.node.where for fn in inits.functions)
        found = overload_resolution.choose_cached(body, call, quiet=not unsure)
        if found is None:
            return _fieldwise(body, ty, pos, kw, span)
        return call_lowering.emit_call(body, found, span)
    copied = _copy_argument(ty, pos, kw)
    found = overload_resolution.choose_cached(body, call, quiet=copied is not None)
    if found is None and copied is not None:
        return copied
    assert found is not None
    return call_lowering.emit_call(body, found, span)


def role_by_keyword(ty: StructTy, inits: OverloadSet | None, kw: list[Arg]) -> str:
    """Return the role of the constructor that `S(copy=x)` and `S(move=x^)` mean, "" for another call.

    An `__init__` or a field of the struct's own with an argument of that name goes before it.
    """
    role = lifecycle.BY_KEYWORD.get(kw[0].name, "") if len(kw) == 1 else ""
    if role and inits is not None:
        return "" if any(arg.name == kw[0].name for fn in inits.functions for arg in fn.node.args) else role
    taken = role and any(
        isinstance(field.target, ast.Name) and field.target.id == kw[0].name for field in ty.info.field_nodes
    )
    return "" if taken else role


def _type_of_value(body: Body, ty: StructTy, arg: Arg) -> StructTy:
    """Return the type to construct: where its parameters are open, that of the value that is copied or moved."""
    given = getattr(arg.value, "ty", None)
    if not ty.symbolic or not isinstance(given, StructTy):
        return ty
    given = well_known.materialized(body.elab, given)
    return given if isinstance(given, StructTy) and given.info is ty.info else ty


def copied_or_moved(body: Body, ty: StructTy, role: str, arg: Arg) -> Val:
    """Make a value by the struct's copy or move constructor, its own or the compiler's."""
    made = locals.temporary(body, ty)
    value = materialization.as_place(body, conversions.convert(body, arg.value, ty, arg.span))
    if role == lifecycle.COPY:
        place_operations.copy_to(body, ty, made.pointer, value, arg.span, True)
    else:
        place_operations.move_bits(body, ty, made.pointer, value)
    partial_moves.mark(body, "init", made)
    return made if struct_types.abi(body.elab, ty) == "memory" else RValue(ty, ir_values.rvalue(body, made))


def _copy_argument(ty: StructTy, pos: list[Arg], kw: list[Arg]) -> Val | None:
    """Return the only argument where a struct whose parameters are open is called with a value of it: a copy."""
    value = pos[0].value if len(pos) == 1 and not kw and ty.symbolic else None
    if not isinstance(value, (RValue, Place, ConstValue)):
        return None
    return value if isinstance(value.ty, StructTy) and value.ty.info is ty.info else None


def _matches_fields(body: Body, ty: StructTy, pos: list[Arg], kw: list[Arg]) -> bool:
    """Return whether there is one argument of each field's exact type: then no constructor fits better."""
    fields = struct_types.fields_of(body.elab, ty)
    if kw or len(pos) != len(fields):
        return False
    given = [getattr(arg.value, "ty", None) for arg in pos]
    return all(
        isinstance(one, StructTy) and well_known.materialized(body.elab, one) is kind
        for one, (_, kind) in zip(given, fields, strict=True)
    )


def _fieldwise(body: Body, ty: StructTy, pos: list[Arg], kw: list[Arg], span: Span) -> Val:
    names = [n.target.id for n in ty.info.field_nodes]  # type: ignore[union-attr]
    given: dict[str, Arg] = {}
    if len(names) < sum(isinstance(node, ast.VarDecl) for node in ty.info.node.body):
        raise ErrorReported  # a field of a name that another one has was reported
    if len(pos) > len(names):
        text = f"'{ty.info.name}' has {len(names)} field{'s' * (len(names) != 1)}, but {len(pos)} values are given"
        body.fail(Code.TOO_MANY_ARGUMENTS, text, pos[len(names)].span)
    given.update(zip(names, pos, strict=False))
    for arg in kw:
        if arg.name not in names or arg.name in given:
            text = f"field '{arg.name}' of '{ty.info.name}' is given twice"
            if arg.name not in names:
                text = f"'{ty.info.name}' has no field '{arg.name}'"
            body.fail(Code.UNKNOWN_ARGUMENT, text, arg.span, suggest(arg.name, [n for n in names if n not in given]))
        given[arg.name] = arg
    if ty.symbolic:
        ty = _infer_fieldwise(body, ty, given, span)
    for name in names:
        if name not in given:
            body.fail(Code.MISSING_ARGUMENT, f"argument '{name}' of '{ty.info.name}' is missing", span)
    fields, loans = (
        struct_types.fields_of(body.elab, ty),
        locals.loans_of_all(body, [arg.value for arg in given.values()]),
    )
    values = {name: conversions.convert_value(body, given[name].value, kind, given[name].span) for name, kind in fields}
    if struct_types.abi(body.elab, ty) != "memory":
        parts = {name: ir_values.rvalue(body, value) for name, value in values.items()}
        return RValue(ty, ir_values.build_struct(body, ty, parts), loans=loans)
    for name, kind in fields:  # as for a call's arguments: all are made before one is moved
        if not (body.frame.module.is_library or struct_types.is_trivial(body.elab, kind)):
            values[name] = argument_passing.owned_place(body, values[name], given[name].span, True)
    made = locals.temporary(body, ty, "", loans)
    for name, kind in fields:
        place_operations.init_moved(
            body, kind, place_operations.field(body, made, name).pointer, values[name], given[name].span
        )
    partial_moves.mark(body, "init", made)
    return made


def _infer_fieldwise(body: Body, ty: StructTy, given: dict[str, Arg], span: Span) -> StructTy:
    bound: dict[UnboundParameter, ParameterArgument] = {}
    for node in ty.info.field_nodes:
        arg = given.get(node.target.id)  # type: ignore[union-attr]
        if arg is not None and node.type is not None and ty.scope is not None:
            expected = unification.evaluate_pattern(body.elab, node.type, ty.scope, ty.info.module)
            if callable_types.is_bounded_by_call(body.elab, expected, arg.value, ty):
                bound.setdefault(expected, parameter_inference.type_of(body, arg.value))  # type: ignore[arg-type]
            else:
                parameter_inference.infer_one(body, arg, expected, bound)
    try:
        return parameter_inference.concrete_self(body, ty, bound)
    except Mismatch as reason:
        body.fail(reason.code, reason.message, span, reason.help())
