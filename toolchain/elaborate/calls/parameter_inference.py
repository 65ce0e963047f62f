"""Inference: parameters that follow from the types of arguments."""

from collections.abc import Sequence
from typing import TypeGuard

from ktc.elaborate.builder import ir_values
from ktc.elaborate.calls import scalar_types
from ktc.elaborate.generics import function_types, parameter_binding, unification
from ktc.elaborate.generics.parameter_assignment import ParameterList
from ktc.elaborate.instances import callable_types, constructed_types
from ktc.elaborate.model.declarations import FunctionInfo, Scope, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import UnresolvedCall
from ktc.elaborate.model.types import (
    Actual,
    ConstValue,
    FunctionTy,
    FunctionValue,
    Metatype,
    Opaque,
    OriginValue,
    ParameterArgument,
    ParameterPack,
    PartialTy,
    StructTy,
    TraitTy,
    UnboundParameter,
    is_symbolic,
)
from ktc.elaborate.model.values import Arg, Binding, CollectionLiteral, PackValue, Place, Result, RValue, Slot
from ktc.elaborate.tree.argument_uses import names_in
from ktc.elaborate.types import struct_members, struct_types, well_known
from ktc.ir import types
from ktc.syntax import ast

_DeferredLiteral = tuple[Arg, UnboundParameter | StructTy]
"""A literal, and the parameter or type that its default type binds where no other argument does."""


def infer(
    body: Body, fn: FunctionInfo, self_ty: StructTy | None, given: dict[str, ParameterArgument], slots: Sequence[Slot]
) -> dict[UnboundParameter, ParameterArgument]:
    elab = body.elab
    pattern = unification.signature_pattern(elab, fn, self_ty)
    bound: dict[UnboundParameter, ParameterArgument] = {pattern.symbols[name]: value for name, value in given.items()}
    for name, value in given.items():
        kind = parameter_binding.type_of_param(elab, value)
        expected = pattern.params.get(name)
        if isinstance(expected, Metatype) and kind is None:
            unification.unify(elab, expected, value, bound)
        elif kind is not None and expected is not None:
            unification.unify(
                elab,
                expected,
                well_known.inferred_type(elab, kind) if isinstance(expected, UnboundParameter) else kind,
                bound,
            )
    later: list[_DeferredLiteral] = []
    for formal, slot, expected, origin in zip(fn.node.args, slots, pattern.args, pattern.origins, strict=True):
        if formal.convention == "out" and formal.name == "self" and formal.type is not None:
            if self_ty is not None and isinstance(expected, (StructTy, PartialTy)):
                constructed_types.unify_self(body.elab, self_ty, expected, bound)
            continue
        if slot is None:
            continue
        if isinstance(slot, list):
            later += _infer_star(body, formal, slot, expected, bound)
            continue
        if is_literal(body, slot.value) and isinstance(expected, (UnboundParameter, StructTy)):
            later.append((slot, expected))
        elif callable_types.is_bounded_by_call(elab, expected, slot.value, self_ty, pattern):
            bound.setdefault(expected, type_of(body, slot.value))  # type: ignore[arg-type]
        else:
            infer_one(body, slot, expected, bound)
        if isinstance(origin, UnboundParameter):
            _infer_origin(body, slot, origin, fn, self_ty, bound)
    for place_of, space in pattern.spaces.items():
        _infer_space(elab, slots[place_of], space, bound)
    for literal, kind_of in later:
        if not isinstance(kind_of, UnboundParameter):
            infer_one(body, literal, kind_of, bound)
            _infer_materialized(body, literal, kind_of, bound)
        elif bound.get(kind_of) is None:
            infer_one(body, literal, kind_of, bound)
    for param in fn.node.params if elab.generics.callable_traits else ():
        promised, found = pattern.params.get(param.name), bound.get(pattern.symbols[param.name])
        if isinstance(promised, TraitTy) and isinstance(found, (StructTy, FunctionTy)):
            callable_types.unify_call(elab, promised, found, bound)
    if self_ty is not None and any(isinstance(own, UnboundParameter) and own not in bound for own in self_ty.params):
        kinds = [type_of(body, slot.value) if isinstance(slot, Arg) else None for slot in slots]
        constructed_types.infer_made(body.elab, fn, self_ty, kinds, pattern, bound)
    return bound


def _infer_space(
    elab: Elaboration, slot: Slot, space: Binding, bound: dict[UnboundParameter, ParameterArgument]
) -> None:
    """Bind the address space of a `ref` argument where the pointer to it says one."""
    value = slot.value if isinstance(slot, Arg) else None
    kind = value.pointer.type if isinstance(value, Place) else None
    if isinstance(space, UnboundParameter) and isinstance(kind, types.PointerType):
        bound.setdefault(space, ConstValue(well_known.library_type(elab, "AddressSpace"), kind.space))


def _infer_origin(
    body: Body,
    arg: Arg,
    origin: UnboundParameter,
    fn: FunctionInfo,
    self_ty: StructTy | None,
    bound: dict[UnboundParameter, ParameterArgument],
) -> None:
    """Bind the origin of a `ref` argument, and the parameter that says whether it is mutable."""
    if not isinstance(arg.value, (Place, RValue, ConstValue, CollectionLiteral)):
        return
    found = OriginValue("some", False)  # of a temporary (also one made of a literal), or of an argument in registers
    if isinstance(arg.value, Place):
        found = ir_values.origin_of(body, arg.value, _may_change(body, arg.value))
    bound.setdefault(origin, well_known.origin_constant(body.elab, found))
    _bind_mut(body, origin, self_ty, fn, found.mutable, bound)


def _may_change(body: Body, place: Place) -> bool:
    """Return whether a pointer to an argument may mutate it: a temporary is borrowed immutably."""
    is_temporary = place.owned and place.local is not None and not place.local.name
    return place.mutable and (body.frame.module.is_library or not is_temporary)


def _infer_materialized(
    body: Body, arg: Arg, expected: StructTy, bound: dict[UnboundParameter, ParameterArgument]
) -> None:
    """Bind what is still open by the literal's run-time type."""
    own = type_of(body, arg.value)
    assert own is not None
    have = scalar_types.as_expected(body, well_known.materialized(body.elab, own, False), expected)
    tentative = dict(bound)
    if expected.symbolic and unification.unify(body.elab, expected, have, tentative):
        bound.update(tentative)


def _bind_mut(
    body: Body,
    origin: UnboundParameter,
    self_ty: StructTy | None,
    fn: FunctionInfo,
    mutable: bool,
    bound: dict[UnboundParameter, ParameterArgument],
) -> None:
    params = fn.node.params if origin.owner == fn.uid else (self_ty.info.node.params if self_ty is not None else ())
    for param in params:
        if param.name == origin.name and param.type is not None:
            names = [p.name for p in params if p.kind == "infer"]
            text = getattr(
                getattr(param.type, "args", [None])[0] if getattr(param.type, "args", None) else None, "id", ""
            )
            if text in names:
                for sym in _symbols(body, fn, self_ty):
                    if sym.name == text and sym.owner == origin.owner:
                        bound.setdefault(sym, well_known.bool_constant(body.elab, mutable))


def _symbols(body: Body, fn: FunctionInfo, self_ty: StructTy | None) -> list[UnboundParameter]:
    found = list(unification.signature_pattern(body.elab, fn, self_ty).symbols.values())
    if self_ty is not None:
        found += [p for p in self_ty.params if isinstance(p, UnboundParameter)]
    return found


def is_literal(body: Body, value: Result) -> bool:
    ty = getattr(value, "ty", None)
    return isinstance(ty, StructTy) and ty.info.materialized is not None


def _infer_star(
    body: Body,
    formal: ast.Param,
    slot: list[Arg],
    expected: ParameterArgument,
    bound: dict[UnboundParameter, ParameterArgument],
) -> list[_DeferredLiteral]:
    """Infer from a variadic argument; returns the literals, which say something only where nothing else does."""
    if formal.splat:
        if isinstance(expected, UnboundParameter):
            kinds: list[ParameterArgument] = []
            for arg in slot:
                if isinstance(arg.value, PackValue):
                    kinds += [v.ty for v in arg.value.items]
                else:
                    have = type_of(body, arg.value)
                    kinds.append(well_known.materialized(body.elab, have, True) if have is not None else None)
            bound[expected] = ParameterPack(tuple(kinds))
        return []
    later: list[_DeferredLiteral] = []
    for arg in slot:
        parts = [Arg(v, arg.span) for v in arg.value.items] if isinstance(arg.value, PackValue) else [arg]
        for part in parts:
            if is_literal(body, part.value) and isinstance(expected, (UnboundParameter, StructTy)):
                later.append((part, expected))
            else:
                infer_one(body, part, expected, bound)
    return later


def infer_one(
    body: Body, arg: Arg, expected: ParameterArgument, bound: dict[UnboundParameter, ParameterArgument]
) -> None:
    have = type_of(body, arg.value)
    if isinstance(arg.value, CollectionLiteral) and _has_open_parameters(expected):
        have = _displayed_type(body, arg.value, expected) or have
    if have is None:
        return
    if isinstance(expected, UnboundParameter):
        have = well_known.materialized(body.elab, have, False)
    have = scalar_types.as_expected(body, have, expected)
    tentative = dict(bound)
    if unification.unify(body.elab, expected, have, tentative):
        bound.update(tentative)
    elif isinstance(have, StructTy) and _has_open_parameters(expected):
        # what fits may still infer something; the conversion is checked later
        if expected.info is have.info:
            bound.update(tentative)
        else:
            _infer_through_conversion(body, have, expected, bound, arg.value)


def _has_open_parameters(expected: ParameterArgument) -> TypeGuard[StructTy | PartialTy]:
    """Return whether a declared type is a struct some of whose parameters are still to be found."""
    if isinstance(expected, PartialTy):
        return any(
            isinstance(value, UnboundParameter) or getattr(value, "symbolic", False) for value in expected.params
        )
    return isinstance(expected, StructTy) and expected.symbolic


def _infer_through_conversion(
    body: Body,
    have: StructTy,
    expected: StructTy | PartialTy,
    bound: dict[UnboundParameter, ParameterArgument],
    value: Result,
) -> None:
    if body.site.inferring:
        return
    made = converted_type(body, have, expected, value)
    if made is not None:
        unification.unify(body.elab, expected, made, bound)


def converted_type(body: Body, have: StructTy, expected: StructTy | PartialTy, value: Result) -> StructTy | None:
    """Return the type that an implicit constructor of a partly open type makes of a value."""
    span = body.frame.span or body.elab.main_span()
    arg = Arg(value if isinstance(value, Place) else RValue(have, None), span)  # type: ignore[arg-type]
    if have.info.materialized is not None:
        arg = Arg(ConstValue(have, ()), span)
    return _constructed_type(body, expected, [arg], [], implicit_only=True)


def _displayed_type(body: Body, literal: CollectionLiteral, expected: StructTy | PartialTy) -> StructTy | None:
    """Return the type that a list or set display makes of a partly open type whose constructor takes displays."""
    flag = {"List": "__list_literal__", "Set": "__set_literal__", "Slice": "__slice_literal__"}.get(literal.name)
    if flag is None or literal.keywords or (isinstance(literal.ty, StructTy) and literal.ty.info is expected.info):
        return None
    inits = struct_members.method_set(body.elab, unification.symbolic_struct(body.elab, expected.info), "__init__")
    if inits is None or not any(arg.name == flag for fn in inits.functions for arg in fn.node.args):
        return None
    flagged = Arg(RValue(well_known.tuple_type(body.elab, ()), None), body.at(literal.node), flag)  # type: ignore[arg-type]
    return _constructed_type(body, expected, list(literal.items), [flagged], implicit_only=False)


def _constructed_type(
    body: Body, expected: StructTy | PartialTy, args: list[Arg], keywords: list[Arg], *, implicit_only: bool
) -> StructTy | None:
    """Return the type that a constructor of a partly open type makes of arguments, if one fits."""
    open_ty = struct_types.struct_type(
        body.elab,
        expected.info,
        tuple(
            base if own is None or is_symbolic(own) else own
            for own, base in zip(
                expected.params, unification.symbolic_struct(body.elab, expected.info).params, strict=True
            )
        ),
    )
    inits = struct_members.method_set(body.elab, open_ty, "__init__")
    if inits is None:
        return None
    span = body.frame.span or body.elab.main_span()
    body.site.set_inferring(True)
    try:
        call = UnresolvedCall(FunctionValue(inits, (), (), open_ty), args, keywords, span)
        found = body.api.choose(body, call, implicit_only=implicit_only, quiet=True)
    except ErrorReported:
        return None
    finally:
        body.site.set_inferring(False)
    return found.instance.self_ty if found is not None else None


def check_where(
    elab: Elaboration, fn: FunctionInfo, given: dict[str, ParameterArgument], scope: Scope, what: str
) -> None:
    """Check the `where` conditions that name no arguments: before the signature is read, which may rely on them.

    Raises:
        Mismatch: one does not hold.
    """
    arguments = {arg.name for arg in fn.node.args}
    about = [condition for condition in fn.node.where if not arguments & names_in(condition)]
    if about:
        inner = Scope(scope, "function")
        inner.names.update(given)
        parameter_binding.check_where(elab, about, inner, fn.module, what)


def type_of(body: Body, value: Result) -> Ty | None:
    if isinstance(value, (RValue, Place, ConstValue, CollectionLiteral)):
        return value.ty
    if isinstance(value, FunctionValue):
        return function_types.fn_type_of(body.elab, value)
    return None


def _leaves_open(fn: FunctionInfo, arg: ast.Param) -> bool:
    """Return whether a declared type has a `_` in its brackets, or none although the result names the argument."""
    declared = arg.type
    if isinstance(declared, ast.Name):
        results = (fn.node.result, *(other.type for other in fn.node.args if other.convention == "out"))
        return arg.name in names_in(results)
    return isinstance(declared, ast.Subscript) and any(
        isinstance(part, ast.Name) and part.id == "_"
        for part in (*declared.args, *(k.value for k in declared.keywords))
    )


def concrete_self(body: Body, self_ty: StructTy, bound: dict[UnboundParameter, ParameterArgument]) -> StructTy:
    info = self_ty.info
    values: dict[str, ParameterArgument] = {}
    for param, own in zip(info.node.params, self_ty.params, strict=True):
        value = bound.get(own) if isinstance(own, UnboundParameter) else own
        if value is not None and not isinstance(value, (UnboundParameter, Opaque)):
            values[param.name] = value
    scope = Scope(info.scope, "function")
    values = parameter_binding.complete_parameters(
        body.elab, ParameterList(info.node.params, info.module, f"'{info.name}'", info), values, scope
    )
    return struct_types.struct_type(body.elab, info, tuple(values[p.name] for p in info.node.params))


def actual_types(body: Body, fn: FunctionInfo, self_ty: StructTy | None, slots: Sequence[Slot]) -> list[Actual]:
    """Return the types of the arguments, for declared types that leave something open."""
    found: list[Actual] = []
    for i, slot in enumerate(slots):
        if isinstance(slot, Arg):
            kind = type_of(body, slot.value)
            if isinstance(kind, StructTy) and _leaves_open(fn, fn.node.args[i]) and not body.site.inferring:
                expected = unification.signature_pattern(body.elab, fn, self_ty).args[i]
                if isinstance(expected, PartialTy) and expected.info is not kind.info:
                    kind = converted_type(body, kind, expected, slot.value) or kind
            found.append(kind)
        elif isinstance(slot, list):
            kinds: list[ParameterArgument] = []
            for arg in slot:
                if isinstance(arg.value, PackValue):
                    kinds += [v.ty for v in arg.value.items]
                else:
                    kinds.append(type_of(body, arg.value))
            found.append(kinds)
        else:
            found.append(None)
    return found
