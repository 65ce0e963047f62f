"""Struct types: fields, representation, how values are passed, copied and destroyed.

Everything is computed on demand and kept in the slots of `StructTy`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import Scope, StructInfo, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    OriginValue,
    ParameterArgument,
    ParameterPack,
    ParameterValue,
    PartialTy,
    PrimTy,
    StructTy,
    TraitTy,
    is_symbolic,
)
from ktc.elaborate.types.recursive_types import DEEP, check_finite, report_recursive
from ktc.ir import nodes, types
from ktc.syntax import ast

_WHOLE, _EMPTY = -2, -1


MAX_ALIGNMENT = 64

MAX_LEAVES = 16
"""A trivial type with more scalars than this is passed by its address."""


def struct_type(elab: Elaboration, info: StructInfo, params: tuple[ParameterValue | None, ...]) -> StructTy:
    """Return the instance of a struct."""
    ty = info.instances.get(params)
    if ty is None:
        ty = StructTy(info, params)
        ty.symbolic = any(map(is_symbolic, params))
        info.instances[params] = ty
        scope = Scope(info.scope, "struct", struct=ty)
        for param, value in zip(info.node.params, params, strict=True):
            scope.names[param.name] = value
        if info.closure is None:  # in a closure, it is the struct around
            scope.names["Self"] = ty
        ty.scope = scope
        return ty
    assert isinstance(ty, StructTy)
    return ty


def fields_of(elab: Elaboration, ty: StructTy) -> tuple[tuple[str, Ty], ...]:
    """Return names and types of a struct's fields."""
    if ty.fields is None:
        ty.fields = ()
        elab.types.open_fields.add(ty)
        try:
            ty.fields = tuple(_find_field(elab, ty, node) for node in ty.info.field_nodes)
        finally:
            elab.types.open_fields.discard(ty)
    return ty.fields


def _find_field(elab: Elaboration, ty: StructTy, node: ast.VarDecl) -> tuple[str, Ty]:
    assert ty.scope is not None and isinstance(node.target, ast.Name)
    kind = elab.api.evaluate(elab, node.type, ty.scope, ty.info.module) if node.type is not None else None
    kind = elab.api.type_with_defaults(elab, kind)
    if isinstance(kind, PartialTy) and ty.symbolic:
        raise Symbolic  # what it leaves open may follow from the struct's parameters
    if not isinstance(kind, Ty) or isinstance(kind, TraitTy):
        span = Span(ty.info.module.source, (node.type or node).start, (node.type or node).end)
        text = f"the type of field '{node.target.id}' is not complete"
        elab.reporter.sink.report(Diagnostic(Code.WRONG_PARAMETER_COUNT, span, text, "write its parameters, in '[]'"))
        kind = elab.types.none
    return node.target.id, kind


def is_compile_time_only(ty: Ty) -> bool:
    """Return whether no program has a value of a type when it runs: a target."""
    return isinstance(ty, PrimTy) and ty.ir is None


def ir_type(elab: Elaboration, ty: Ty) -> types.Type:
    """Return the IR type of a type; UNIT for a type without size."""
    if isinstance(ty, StructTy):
        if ty.ir_type is None:
            fields = fields_of(elab, ty)
            if ty in elab.types.open_fields:  # a field's type asks for the size of its own struct
                report_recursive(ty, True, elab.reporter.sink)
            check_finite(ty, partial(fields_of, elab), elab.reporter.sink)
            kinds = [ir_type(elab, field) for _, field in fields]
            if ty.info.alignment is not None:
                kinds.append(_alignment(elab, ty, ty.info.alignment))
            kind, slots = erase(kinds)
            ty.field_slots = {name: (i, slots[i]) for i, (name, _) in enumerate(fields)}
            ty.ir_type = kind
        return ty.ir_type
    if isinstance(ty, PrimTy):
        return types.UNIT if ty.ir is None else ty.ir
    if isinstance(ty, FunctionTy):
        return types.PTR if ty.of is None else types.UNIT
    return types.UNIT


def _alignment(elab: Elaboration, ty: StructTy, node: ast.Expr) -> types.Type:
    """Return the type of a field without size that gives a struct the alignment of `@align`."""
    assert ty.scope is not None
    value = elab.api.evaluate(elab, node, ty.scope, ty.info.module)
    if isinstance(value, ConstValue) and isinstance(value.ty, StructTy) and value.ty.params:
        value = (
            value.ty.params[0] if value.ty.info.materialized is not None else value
        )  # a literal's type has its value
    count = value.data if isinstance(value, ConstValue) else 0
    span = Span(ty.info.module.source, node.start, node.end)
    if not isinstance(count, int) or count <= 0 or count & (count - 1):
        elab.fail(Code.UNSATISFIED_CONSTRAINT, "an alignment is a power of two", span)
    if count > MAX_ALIGNMENT:
        elab.fail(Code.UNSUPPORTED, f"alignments of more than {MAX_ALIGNMENT} bytes are not supported yet", span)
    return types.ArrayType(types.VectorType(types.I8, count) if count > 1 else types.I8, 0)


def slot_of(elab: Elaboration, ty: StructTy, name: str) -> tuple[int, int]:
    """Return (number of the field, index in the IR's struct; -1 no memory, -2 the whole)."""
    ir_type(elab, ty)
    found = ty.field_slots.get(name)
    if found is None:
        raise ErrorReported  # a field's type is wrong, which has been said
    return found


def base_prim(elab: Elaboration, ty: Ty) -> PrimTy | None:
    """Return the primitive that a struct with one field stands for."""
    if isinstance(ty, PrimTy):
        return ty
    if not isinstance(ty, StructTy):
        return None
    if ty.prim == "?":
        fields = fields_of(elab, ty)
        ty.prim = base_prim(elab, fields[0][1]) if len(fields) == 1 else None
    assert not isinstance(ty.prim, str)
    return ty.prim


def abi(elab: Elaboration, ty: Ty) -> str:
    """Return how a value is passed: "none", "direct" or "memory"."""
    kind = ir_type(elab, ty)
    if not is_trivial(elab, ty):
        return "memory"
    if types.size_of(kind) == 0:
        return "none"
    return "direct" if _leaves(kind) <= MAX_LEAVES and not is_kept_in_memory(elab, ty) else "memory"


def is_kept_in_memory(elab: Elaboration, ty: Ty) -> bool:
    """Return whether an argument is the caller's value itself: functions may take its address, or change it there.

    This holds for the program's structs but `@register_passable` ones, and for types with such fields.
    """
    if not isinstance(ty, StructTy):
        return False
    if ty.kept_in_memory is None:
        info = ty.info
        ty.kept_in_memory = info.is_kept_in_memory or not (info.module.is_library or info.register_passable)
        if not ty.kept_in_memory and not info.register_passable:
            ty.kept_in_memory = any(is_kept_in_memory(elab, kind) for _, kind in fields_of(elab, ty))
    return ty.kept_in_memory


def fits_registers(elab: Elaboration, ty: Ty) -> bool:
    """Return whether a value is a few numbers and no more: a kernel can get it as they are."""
    return is_trivial(elab, ty) and _leaves(ir_type(elab, ty)) <= MAX_LEAVES


def is_trivial(elab: Elaboration, ty: Ty) -> bool:
    """Return whether a value is copied, moved and destroyed bitwise."""
    if not isinstance(ty, StructTy):
        return not isinstance(ty, FunctionTy) or not ty.is_escaping
    if ty.trivial is None:
        ty.trivial = True  # a type that holds itself through a pointer
        if ty.info.register_trivial:
            return True
        own = any(name in ty.info.members for name in ("__copyinit__", "__moveinit__", "__del__"))
        own = own or ty.info.explicit_destroy is not None
        check_finite(ty, partial(fields_of, elab), elab.reporter.sink)
        ty.trivial = not own and all(is_trivial(elab, kind) for _, kind in fields_of(elab, ty))
    return ty.trivial


def moves_plainly(elab: Elaboration, value: object) -> bool:
    """Return whether a move is a bitwise copy; the `__moveinit__` of library types are."""
    match value:
        case StructTy(plain_move=bool() as known):
            return known
        case StructTy(info=info):
            value.plain_move = True
            with _nested(elab, value):
                inside = value.params if info.module.is_library else (kind for _, kind in fields_of(elab, value))
                value.plain_move = (info.module.is_library or "__moveinit__" not in info.members) and all(
                    map(partial(moves_plainly, elab), inside)
                )
            return value.plain_move
        case PrimTy(args=inside) | ParameterPack(items=inside):
            return all(map(partial(moves_plainly, elab), inside))
    return True


def origins_of(elab: Elaboration, ty: Ty) -> tuple[OriginValue, ...]:
    """Return the origins in a type: the variables into which its values may point."""
    if not isinstance(ty, StructTy):
        return ()
    if ty.origins is None:
        ty.origins = ()
        with _nested(elab, ty):
            ty.origins = _find_origins(elab, ty)
    return ty.origins


@contextmanager
def _nested(elab: Elaboration, ty: StructTy) -> Iterator[None]:
    """Report a struct of the program whose fields have ever more types, while fields of fields are followed."""
    elab.types.nesting += 1
    try:
        if elab.types.nesting > DEEP and not ty.info.module.is_library:
            report_recursive(ty, False, elab.reporter.sink)
        yield
    finally:
        elab.types.nesting -= 1


def _find_origins(elab: Elaboration, ty: StructTy) -> tuple[OriginValue, ...]:
    found: list[OriginValue] = []
    for value in ty.params:
        _origins_in(elab, value, found)
    hides = not ty.info.module.is_library  # a program's struct with a pointer to anything keeps nothing alive
    for _, kind in fields_of(elab, ty):
        found += [o for o in origins_of(elab, kind) if o.kind != "any" or not hides]
    return tuple(dict.fromkeys(o for o in found if o.kind in ("any", "local", "some")))


def _origins_in(elab: Elaboration, value: ParameterArgument, found: list[OriginValue]) -> None:
    match value:
        case ConstValue(_, OriginValue() as origin):
            found.append(origin)
        case StructTy():
            found += origins_of(elab, value)
        case ParameterPack(items):
            for item in items:
                _origins_in(elab, item, found)
        case _:
            pass


def canonical(elab: Elaboration, value: ParameterArgument) -> ParameterArgument:
    """Return a parameter value with the origins of locals replaced by one that names none, so that an instance does
    not depend on whose variables it was called with."""
    match value:
        case ConstValue(ty, OriginValue() as origin) if origin.kind == "local" or origin.cast:
            own = canonical_struct(elab, ty) if isinstance(ty, StructTy) else ty
            return ConstValue(own, OriginValue("some" if origin.kind == "local" else origin.kind, origin.mutable))
        case StructTy():
            return canonical_struct(elab, value)
        case ParameterPack(items):
            return ParameterPack(tuple(map(partial(canonical, elab), items)), value.kind)
        case _:
            return value


def canonical_struct(elab: Elaboration, ty: StructTy) -> StructTy:
    """Return a struct's type with the origins of locals in its parameters replaced likewise."""
    if not any(origin.kind == "local" for origin in origins_of(elab, ty)):
        return ty
    return struct_type(elab, ty.info, tuple(map(partial(canonical, elab), ty.params)))


def _leaves(kind: types.Type) -> int:
    match kind:
        case types.StructType(fields):
            return sum(map(_leaves, fields))
        case types.ArrayType(element, count):
            return count * _leaves(element)
        case _:
            return 1


def zero_of(kind: types.Type) -> nodes.Plain:
    match kind:
        case types.StructType(fields):
            return tuple(map(zero_of, fields))
        case types.ArrayType(element, count):
            return (zero_of(element),) * count
        case types.VectorType(element, lanes):
            return (zero_of(element),) * lanes
        case types.FloatType():
            return 0.0
        case _:
            return 0


def erase(fields: Sequence[types.Type]) -> tuple[types.Type, tuple[int, ...]]:
    """Return the IR type of an aggregate, and for each field its index in it.

    Empty fields are left out (index -1), and an aggregate of one field that is left is that field (index -2).
    """
    kept = [field for field in fields if field != types.UNIT]
    if not kept:
        return types.UNIT, (_EMPTY,) * len(fields)
    if len(kept) == 1:
        return kept[0], tuple(_EMPTY if field == types.UNIT else _WHOLE for field in fields)
    places, at = [], 0
    for field in fields:
        places.append(_EMPTY if field == types.UNIT else at)
        at += field != types.UNIT
    return types.StructType(tuple(kept)), tuple(places)
