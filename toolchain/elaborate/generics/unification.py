"""Unification: the pattern of a signature against actual types and values."""

from dataclasses import field
from functools import partial

from ktc.base.records import entity
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.generics import function_types, parameter_assignment
from ktc.elaborate.model.declarations import FunctionInfo, ModuleInfo, Scope, StructInfo, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import (
    OPAQUE,
    ConstValue,
    FunctionTy,
    FunctionValue,
    Metatype,
    Named,
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
from ktc.elaborate.model.values import FOREIGN, Binding, Place, Var
from ktc.elaborate.types import struct_members, struct_types, type_relations, well_known
from ktc.ir import nodes
from ktc.syntax import ast


@entity
class Pattern:
    """The types of a function's arguments with its parameters open.

    Args:
        symbols: by name the parameters of the function, and of its struct where that is open too.
        args: pattern of each argument's type, in order of `fn.node.args`; None for `self`.
        origins: for `ref [origin]` arguments the pattern of the origin.
        spaces: for `ref [origin, address_space]` arguments, by their places, the pattern of the address space.
    """

    symbols: dict[str, UnboundParameter]
    args: list[ParameterArgument]
    origins: list[Binding]
    self_ty: StructTy | None = None
    params: dict[str, ParameterArgument] = field(default_factory=dict)
    spaces: dict[int, Binding] = field(default_factory=dict)


def evaluate_pattern(elab: Elaboration, node: ast.Expr, scope: Scope, module: ModuleInfo) -> ParameterArgument:
    """Compute a type with open parameters."""
    try:
        return elab.api.evaluate_open(elab, node, scope, module)
    except Symbolic:
        return OPAQUE


def unify_value(
    elab: Elaboration,
    expected: ParameterArgument,
    kind: ParameterArgument,
    scope: Scope,
    module: ModuleInfo,
    bound: dict[UnboundParameter, ParameterArgument],
) -> None:
    """Bind what the type of a parameter leaves open by the type of its value."""
    if isinstance(expected, FunctionTy) and expected.syntax is not None:
        _unify_parametric(elab, expected, kind, scope, module, bound)
    unify(
        elab, expected, well_known.inferred_type(elab, kind) if isinstance(expected, UnboundParameter) else kind, bound
    )


def _unify_parametric(
    elab: Elaboration,
    expected: FunctionTy,
    kind: ParameterArgument,
    scope: Scope,
    module: ModuleInfo,
    bound: dict[UnboundParameter, ParameterArgument],
) -> None:
    """Bind what a function type with parameters of its own leaves open by the function that is given."""
    written = expected.syntax
    assert written is not None
    if not isinstance(kind, FunctionTy) or kind.of is None or len(kind.of.overloads.functions) != 1:
        return
    info = kind.of.overloads.functions[0]
    inner = Scope(scope, "function", {param.name: UnboundParameter(param.name, -3) for param in written.params})
    theirs = Scope(fn_scope_parent(elab, info, kind.of.self_ty), "function")
    theirs.names.update(signature_pattern(elab, info, kind.of.self_ty).symbols)
    theirs.names.update(function_types.parameters_of_function(elab, info.node.params, kind.of, info.title))
    expected_name = [arg.type for arg in written.args if arg.convention != "out"]
    found = [arg.type for arg in info.node.args if arg.convention != "out"]
    if len(expected_name) != len(found):
        return
    for ours, its in zip((*expected_name, written.result), (*found, info.node.result), strict=True):
        if ours is not None and its is not None:
            pattern = elab.api.evaluate_open(elab, ours, inner, module)
            unify(elab, pattern, elab.api.evaluate_open(elab, its, theirs, info.module), bound)


def rest(fn: FunctionValue) -> tuple[tuple[ParameterArgument, ...], Named, StructTy | None, Body | None]:
    return fn.params, fn.named, fn.self_ty, fn.env


def signature_pattern(elab: Elaboration, fn: FunctionInfo, self_ty: StructTy | None) -> Pattern:
    """Return the pattern of a function; `self_ty` may be symbolic."""
    key = (self_ty, elab.instances.state.target.name)
    found = fn.patterns.get(key)
    if found is None:
        found = fn.patterns[key] = _make_pattern(elab, fn, self_ty)
    return found


def _make_pattern(elab: Elaboration, fn: FunctionInfo, self_ty: StructTy | None) -> Pattern:
    base = fn_scope_parent(elab, fn, self_ty)
    scope = Scope(base, "function")
    symbols: dict[str, UnboundParameter] = {}
    for param in fn.node.params:
        symbols[param.name] = scope.names[param.name] = UnboundParameter(param.name, fn.uid, holds_several(param))
    pattern = Pattern(symbols, [], [], self_ty)
    for param in fn.node.params:
        pattern.params[param.name] = _pattern_of(elab, param.type, scope, fn) if param.type is not None else None
    for arg in fn.node.args:
        if isinstance(arg.type, ast.Name) and not fn.module.is_library:
            _check_type_parameter(elab, fn, arg.type.id, pattern)
        if arg.type is None:
            pattern.args.append(self_ty if arg.name == "self" or fn.owner is not None else OPAQUE)
        else:
            pattern.args.append(_pattern_of(elab, arg.type, scope, fn))
        scope.names.setdefault(arg.name, _pattern_binding(elab, arg, pattern.args[-1], fn))
        origin: Binding = None
        if name := parameter_assignment.origin_name(arg):
            origin = parameter_assignment.lookup_quiet(elab, scope, name, fn)
        pattern.origins.append(origin)
        if name := parameter_assignment.space_name(arg):
            pattern.spaces[len(pattern.origins) - 1] = parameter_assignment.lookup_quiet(elab, scope, name, fn)
    return pattern


def _check_type_parameter(elab: Elaboration, fn: FunctionInfo, name: str, pattern: Pattern) -> None:
    """Report a parameter that is used as a type and declared by a struct, so that it is a value."""
    kind = pattern.params.get(name)
    if not isinstance(kind, StructTy) or kind.symbolic:
        return
    declared = next(param.type for param in fn.node.params if param.name == name)
    if declared is not None and kind.info.scope is not None:
        text = f"'{kind}' is a struct, so '{name}' is a value and no type: only a trait bounds a type"
        span = Span(fn.module.source, declared.start, declared.end)
        elab.fail(Code.TYPE_MISMATCH, text, span, f"write '{kind}' where the type is expected, or a trait here")


def _pattern_binding(elab: Elaboration, arg: ast.Param, kind: ParameterArgument, fn: FunctionInfo) -> Var | Opaque:
    if isinstance(kind, Ty) and not is_symbolic(kind) and not isinstance(kind, TraitTy):
        place = Place(kind, nodes.LocalAddress(FOREIGN), True, None, (), False, "foreign")
        return Var(arg.name, kind, place, Span(fn.module.source, arg.start, arg.end), "arg")
    return OPAQUE


def _pattern_of(elab: Elaboration, node: ast.Expr, scope: Scope, fn: FunctionInfo) -> ParameterArgument:
    errors = elab.reporter.sink.error_count
    try:
        if isinstance(node, ast.Star):
            assert node.value is not None
            node = node.value
        return elab.api.evaluate_open(elab, node, scope, fn.module)
    except Symbolic:
        return OPAQUE
    except ErrorReported:
        if elab.reporter.sink.error_count == errors:
            return OPAQUE
        raise


def fn_scope_parent(elab: Elaboration, fn: FunctionInfo, self_ty: StructTy | None) -> Scope:
    """Return the scope in which a function's signature is read."""
    if self_ty is not None and fn.owner is not None:
        if isinstance(fn.owner, StructInfo):
            assert self_ty.scope is not None
            return self_ty.scope
        scope = Scope(fn.scope, "struct", struct=self_ty)
        scope.names["Self"] = self_ty
        for param, value in zip(self_ty.info.node.params, self_ty.params, strict=True):
            scope.names.setdefault(param.name, value)
        return scope
    return fn.scope


def holds_several(param: ast.Param) -> bool:
    """Return whether a parameter is a pack: `*Ts: Sized`, `Ts: VariadicOf[Sized]`."""
    kind = param.type
    return param.kind == "star" or (
        isinstance(kind, ast.Subscript) and getattr(kind.base, "id", "") in ("VariadicOf", "Variadic")
    )


def symbolic_struct(elab: Elaboration, info: StructInfo) -> StructTy:
    """Return the struct with all parameters open."""
    if info.symbolic is None:
        syms = tuple(UnboundParameter(p.name, info.uid, holds_several(p)) for p in info.node.params)
        info.symbolic = struct_types.struct_type(elab, info, syms)
    assert isinstance(info.symbolic, StructTy)
    return info.symbolic


def unify(
    elab: Elaboration,
    pattern: ParameterArgument,
    actual: ParameterArgument,
    bound: dict[UnboundParameter, ParameterArgument],
) -> bool:
    """Bind the symbols of a pattern so that it becomes `actual`; False if it cannot. Bindings stay on failure."""
    if isinstance(pattern, Opaque):
        if pattern.ty is not None and isinstance(actual, ConstValue):
            return unify(elab, pattern.ty, actual.ty, bound)
        return True
    if pattern is actual or pattern is None:
        return True
    if isinstance(pattern, UnboundParameter):
        known = bound.get(pattern)
        if known is None:
            bound[pattern] = actual
            return True
        return _compatible(elab, known, actual)
    if isinstance(pattern, StructTy):
        if not isinstance(actual, StructTy) or actual.info is not pattern.info:
            return False
        if not pattern.symbolic:
            return type_relations.fits(elab, actual, pattern)
        good = True
        for p, a in zip(pattern.params, actual.params, strict=True):
            good = unify(elab, p, a, bound) and good
        return good
    if isinstance(pattern, PartialTy):
        if not isinstance(actual, StructTy) or actual.info is not pattern.info:
            return False
        return all([p is None or unify(elab, p, a, bound) for p, a in zip(pattern.params, actual.params, strict=True)])
    if isinstance(pattern, Metatype):
        return unify(elab, pattern.of, actual.of if isinstance(actual, Metatype) else actual, bound)
    if isinstance(pattern, TraitTy):
        if isinstance(actual, TraitTy):
            return type_relations.param_fits(elab, actual, pattern)
        return isinstance(actual, Ty) and struct_members.conforms(elab, actual, pattern)
    if isinstance(pattern, ConstValue) and isinstance(actual, ConstValue):
        if isinstance(pattern.data, OriginValue):
            return True
        if isinstance(pattern.ty, StructTy) and pattern.ty.symbolic:
            unify(elab, pattern.ty, actual.ty, bound)
        return bool(pattern.data == actual.data)
    if isinstance(pattern, ParameterPack) and isinstance(actual, ParameterPack):
        parts, spread = pattern.items, without_spread(pattern)
        if spread is not pattern:
            return unify(elab, spread, actual, bound)
        return len(parts) == len(actual.items) and all(
            map(partial(unify, elab), parts, actual.items, [bound] * len(parts))
        )
    if isinstance(pattern, FunctionTy):
        return elab.api.unify_function(elab, pattern, actual, bound)
    return bool(pattern == actual)


def without_spread(value: ParameterArgument) -> ParameterArgument:
    """Return the symbol of a pack for `*Ts`, any other value as it is."""
    if isinstance(value, ParameterPack) and len(value.items) == 1:
        only = value.items[0]
        if isinstance(only, UnboundParameter) and only.pack:
            return only
    return value


def _compatible(elab: Elaboration, known: ParameterArgument, actual: ParameterArgument) -> bool:
    if known == actual:
        return True
    if isinstance(known, ConstValue) and isinstance(actual, ConstValue):
        if isinstance(known.data, OriginValue):
            return True
        return known.ty is actual.ty and known.data == actual.data
    if isinstance(known, Ty) and isinstance(actual, Ty):
        return type_relations.fits(elab, actual, known)
    return False
