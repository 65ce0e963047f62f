"""Parameters of structs, aliases and functions: given values converted, defaults filled in, `where` checked."""

from collections.abc import Collection, Sequence
from functools import partial

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.generics import conformance, constant_parameters, function_types, parameter_assignment, unification
from ktc.elaborate.generics.parameter_assignment import ParameterList
from ktc.elaborate.model.declarations import AliasInfo, ModuleInfo, Scope, StructInfo, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import Mismatch, at_parameter, not_a_value, not_given, not_inferred, place_of
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import (
    OPAQUE,
    BoundAlias,
    ConstValue,
    FunctionTy,
    FunctionValue,
    Metatype,
    Named,
    ParameterArgument,
    ParameterPack,
    ParameterValue,
    PartialTy,
    StructTy,
    TraitTy,
    UnboundParameter,
    is_symbolic,
)
from ktc.elaborate.types import primitive_types, struct_members, struct_types, type_printer, well_known
from ktc.syntax import ast


def type_of_param(elab: Elaboration, value: ParameterArgument) -> ParameterArgument:
    """Return the type of a parameter value, to infer the parameters in its declared type."""
    if isinstance(value, ConstValue | UnboundParameter):
        return value.ty
    return function_types.fn_type_of(elab, value) if isinstance(value, FunctionValue) else None


def complete_parameters(
    elab: Elaboration,
    declared: ParameterList,
    given: dict[str, ParameterArgument],
    scope: Scope,
    unbound: Collection[str] | None = None,
) -> dict[str, ParameterArgument]:
    """Convert given values to the declared types and fill in defaults, in order; enters them into `scope.names`.

    Args:
        unbound: parameters whose default is not used; those without a value then stay open, as in a struct of which
            some parameters are given. None: each must get a value.

    Raises:
        Mismatch: a parameter has no value, or one of a wrong type.
    """
    params, module, what = declared.params, declared.module, declared.what
    allow_open, unbound = unbound is not None, unbound or ()
    _infer_from_values(elab, params, given, scope, module)
    for param in params:
        value = given.get(param.name)
        if value is None and param.kind == "star" and param.name not in unbound:
            value = ParameterPack(())
        if value is None and param.default is not None and param.name not in unbound:
            try:
                value = elab.api.evaluate(elab, param.default, scope, module)
            except Symbolic:
                value = OPAQUE
        if value is None and allow_open:
            scope.names[param.name] = UnboundParameter(
                param.name, -1, unification.holds_several(param), ty=_origin_type(elab, param, scope, module)
            )
            continue
        value = function_types.only_value(elab, param, scope, module) if value is None else value
        if value is None:
            unwritten = not_given(param, params, given, what)
            raise unwritten or not_inferred(param.name, what, param.kind == "infer")
        try:
            scope.names[param.name] = given[param.name] = _declared(elab, param, value, scope, declared)
        except Mismatch as reason:
            raise at_parameter(reason, param.name, place_of(param, params)) from None
    return given


def is_existential(param: ast.Param) -> bool:
    """Return whether a parameter has an existential type: `[x: Some[Writable]]`."""
    return isinstance(param.type, ast.Subscript) and getattr(param.type.base, "id", "") == "Some"


def _origin_type(elab: Elaboration, param: ast.Param, scope: Scope, module: ModuleInfo) -> StructTy | None:
    """Return the declared type of a parameter that is an origin, as far as it is known."""
    try:
        expected = elab.api.evaluate(elab, param.type, scope, module) if param.type is not None else None
    except Symbolic:
        return None
    is_origin = isinstance(expected, StructTy) and expected.info is well_known.library_info(elab, "Origin")
    return expected if is_origin else None  # type: ignore[return-value]


def _infer_from_values(
    elab: Elaboration,
    params: tuple[ast.Param, ...],
    given: dict[str, ParameterArgument],
    scope: Scope,
    module: ModuleInfo,
) -> None:
    missing = (p for p in params if p.name not in given and (p.kind == "infer" or p.default is None))
    open_params = [p for p in missing if p.kind in ("infer", "pos", "any")]
    if not open_params:
        return
    inner = Scope(scope.parent, "function", dict(scope.names))
    syms = {p.name: UnboundParameter(p.name, -2) for p in params}
    inner.names.update(syms)
    inner.names.update(given)
    bound: dict[UnboundParameter, ParameterArgument] = {}
    for param in params:
        value = given.get(param.name)
        if isinstance(value, ParameterPack):
            value = value.items[0] if value.items else None
        if value is None or param.type is None:
            continue
        if (kind := type_of_param(elab, value)) is None and not isinstance(value, StructTy):
            continue
        try:
            expected = elab.api.evaluate_open(elab, param.type, inner, module)
            if kind is None:
                kind = value if isinstance(expected, Metatype) else None
            if kind is not None:
                unification.unify_value(elab, expected, kind, inner, module, bound)
        except Symbolic:
            continue
    for param in open_params:
        value = bound.get(syms[param.name])
        if value is not None and not is_symbolic(value):
            given[param.name] = value


def _declared(
    elab: Elaboration, param: ast.Param, value: ParameterArgument, scope: Scope, declared: ParameterList
) -> ParameterArgument:
    """Return a value as one of the parameter's declared type."""
    what, of = declared.what, declared.of
    if param.type is None or isinstance(value, (UnboundParameter, type(OPAQUE))):
        return value
    try:
        expected = elab.api.evaluate(elab, param.type, scope, declared.module)
    except Symbolic:
        return value
    item = expected if param.kind == "star" else primitive_types.variadic_item(expected)
    if item is None:
        return _declared_one(elab, param, value, _asked(elab, value, expected, of), what)
    if isinstance(value, ParameterPack):
        found = tuple(_declared_one(elab, param, one, _asked(elab, one, item, of), what) for one in value.items)
        return ParameterPack(found, item if not found or isinstance(item, FunctionTy) else None)
    if param.kind == "star":
        return _declared_one(elab, param, value, _asked(elab, value, item, of), what)
    text = f"parameter '{param.name}' of {what} holds several: it must be a variadic parameter"
    raise Mismatch(Code.TYPE_MISMATCH, text, weight=2)


def _asked(
    elab: Elaboration, value: ParameterArgument, expected: ParameterArgument, of: StructInfo | None
) -> ParameterArgument:
    """Return the bound of a type parameter: a library's struct holds what edition 2026 only moves, as it does there.

    A view of the library may be one of any values there.
    """
    if of is None or not of.module.is_library or not isinstance(expected, TraitTy):
        return expected
    if {trait.name for trait in expected.traits} != {"Copyable", "Movable"}:
        return expected
    if struct_members.is_view(of) and isinstance(value, StructTy) and value.info.module.edition is Edition.Y2026:
        return struct_members.trait_type(elab, ())
    moved = tuple(trait for trait in expected.traits if trait.name == "Movable")
    return struct_members.trait_type(elab, moved) if struct_members.is_only_moved(elab, value) else expected


def _declared_one(
    elab: Elaboration, param: ast.Param, value: ParameterArgument, expected: ParameterArgument, what: str
) -> ParameterArgument:
    if isinstance(value, (UnboundParameter, type(OPAQUE))):
        return value
    if isinstance(expected, TraitTy) and isinstance(value, ConstValue) and is_existential(param):
        conformance.check_conforms(elab, param, value.ty, expected, what)
        return value
    if isinstance(expected, Metatype):
        if isinstance(expected.of, TraitTy):
            return conformance.check_trait(elab, param, value, expected.of, what)
        if not isinstance(value, StructTy) or not unification.unify(elab, expected.of, value, {}):
            shown = type_printer.type_name(elab, value) if isinstance(value, Ty) else type_printer.operand_text(value)
            text = f"parameter '{param.name}' of {what} must be a type that is '{expected.of}', not '{shown}'"
            raise Mismatch(Code.TYPE_MISMATCH, text, weight=2)
        return value
    if isinstance(expected, TraitTy):
        value = type_with_defaults(elab, value)
        conformance.check_conforms(elab, param, value, expected, what)
        return value
    if isinstance(expected, StructTy) and isinstance(value, (ConstValue, FunctionValue)) and not expected.symbolic:
        return constant_parameters.converted(elab, param, value, expected, what)
    if isinstance(expected, PartialTy):
        return constant_parameters.of_open_type(elab, param, value, expected, what)
    if isinstance(expected, FunctionTy) and not expected.symbolic:
        return elab.api.declared_function(elab, param, value, expected, what)
    if isinstance(expected, StructTy) and isinstance(value, Ty):
        raise not_a_value(param.name, what, expected, value, partial(type_printer.type_name, elab))
    return value


def apply_struct(
    elab: Elaboration, info: StructInfo, positional: tuple[ParameterArgument, ...], named: Named
) -> ParameterArgument:
    """Give parameters to a struct: a `StructTy`, or a `PartialTy` where some are still open; remembered.

    Raises:
        Mismatch: they do not fit.
    """
    key = ("apply", info, positional, named)
    if key in elab.instances.state.memo:
        known: StructTy | PartialTy = elab.instances.state.memo[key]
        return known
    what, params = f"'{info.name}'", info.node.params
    given = parameter_assignment.assign_parameters(elab, params, positional, named, what)
    # '_' leaves a parameter open even if it has a default, '**_' (whose name is empty) all that are not given
    rest_open = given.pop("", elab) is None
    unbound = {p.name for p in params if (given[p.name] is None if p.name in given else rest_open)}
    given = {name: value for name, value in given.items() if value is not None}
    scope = Scope(info.scope, "function")
    written = frozenset(given)
    given = complete_parameters(elab, ParameterList(params, info.module, what, info), given, scope, unbound)
    values = tuple(given.get(p.name) for p in params)
    made = PartialTy(info, values, written=written) if None in values else struct_types.struct_type(elab, info, values)
    check_where(elab, info.node.where, scope, info.module, what, made)
    elab.instances.state.memo[key] = made
    return made


def with_default_parameters(elab: Elaboration, open_ty: PartialTy) -> StructTy:
    """Return the type that a partial one means where nothing else says its parameters: their defaults do.

    Raises:
        Mismatch: one has none, or is left open by '_'.
    """
    info = open_ty.info
    given: dict[str, ParameterArgument] = {
        p.name: v for p, v in zip(info.node.params, open_ty.params, strict=True) if v is not None
    }
    scope = Scope(info.scope, "function")
    declared = ParameterList(info.node.params, info.module, f"'{info.name}'", info)
    found = complete_parameters(elab, declared, given, scope)
    return struct_types.struct_type(elab, info, tuple(found[p.name] for p in info.node.params))


def type_with_defaults(elab: Elaboration, value: ParameterArgument) -> ParameterArgument:
    """Return the type that a partial one means where a type is given, if all open parameters have defaults."""
    if isinstance(value, PartialTy):
        params = zip(value.info.node.params, value.params, strict=True)
        if all(given is not None or param.default is not None or param.kind == "star" for param, given in params):
            return with_default_parameters(elab, value)
    if isinstance(value, AliasInfo) and all(param.default is not None for param in value.node.params):
        return apply_alias(elab, value, (), (), None)
    return value


def bind_parameters(
    elab: Elaboration, fn: FunctionValue, positional: tuple[ParameterValue | None, ...],
    named: tuple[tuple[str, ParameterValue | None], ...],
) -> FunctionValue:  # fmt: skip
    """Give (more) parameters to a function value; the first of a method of an open struct are the struct's."""
    if fn.struct_params_first and fn.self_ty is not None:
        rest = iter(positional)
        own = tuple(next(rest, None) if isinstance(value, UnboundParameter) else value for value in fn.self_ty.params)
        given = tuple((p.name, v) for p, v in zip(fn.self_ty.info.node.params, own, strict=True) if v is not None)
        self_ty = apply_struct(elab, fn.self_ty.info, (), given)
        if isinstance(self_ty, StructTy):
            fn = FunctionValue(fn.overloads, fn.params, fn.named, self_ty, fn.env, renamed=fn.renamed)
            positional = tuple(rest)
    return function_types.with_parameters(elab, fn, positional, named)


def open_alias(elab: Elaboration, value: ParameterArgument) -> ParameterArgument:
    """Return a type with all parameters of an alias left open; other types as they are."""
    if isinstance(value, AliasInfo):
        return _apply_open(elab, value, {}, None)
    if isinstance(value, BoundAlias):
        return _apply_open(elab, value.alias, {}, value.self_ty)
    return value


def _apply_open(
    elab: Elaboration, alias: AliasInfo, given: dict[str, ParameterArgument], self_ty: StructTy | None
) -> ParameterArgument:
    """Return an alias of which some parameters stay open, as a partial type."""
    params = alias.node.params
    parent = self_ty.scope if self_ty is not None and self_ty.scope is not None else alias.scope
    scope = Scope(parent, "function")
    source = (BoundAlias(alias, self_ty), tuple(given.items()))
    unbound = [param.name for param in params if param.name not in given]
    complete_parameters(elab, ParameterList(params, alias.module, f"'{alias.name}'"), given, scope, unbound)
    assert alias.node.value is not None
    found = elab.api.evaluate_open(elab, alias.node.value, scope, alias.module)
    made, symbols = _without_symbols(found, list[UnboundParameter]())
    if isinstance(made, PartialTy) and len(symbols) != len(set(symbols)):
        assert isinstance(found, (PartialTy, StructTy))
        return PartialTy(made.info, made.params, found, alias=source)
    return PartialTy(made.info, made.params, alias=source) if isinstance(made, PartialTy) else made


def _without_symbols(
    value: ParameterArgument, found: list[UnboundParameter]
) -> tuple[ParameterArgument, list[UnboundParameter]]:
    """Return a type whose parameters that only an alias names are open, and these symbols."""
    match value:
        case UnboundParameter(owner=-1):
            found.append(value)
            return None, found
        case StructTy(symbolic=True) | PartialTy():
            params = tuple(_without_symbols(part, found)[0] for part in value.params)
            return (value if params == value.params else PartialTy(value.info, params)), found
        case ParameterPack(items):
            return ParameterPack(tuple(_without_symbols(part, found)[0] for part in items), value.kind), found
    return value, found


def apply_alias(
    elab: Elaboration, alias: AliasInfo, positional: tuple[ParameterArgument, ...], named: Named,
    self_ty: StructTy | None,
) -> ParameterArgument:  # fmt: skip
    """Apply a parametric alias."""
    params = alias.node.params
    given = parameter_assignment.assign_parameters(elab, params, positional, named, f"'{alias.name}'")
    rest_open = given.pop("", elab) is None
    rest_open |= any(p.default is None and p.kind in ("pos", "any") and p.name not in given for p in params)
    if rest_open or None in given.values():
        given = {name: value for name, value in given.items() if value is not None}
        return _apply_open(elab, alias, given, self_ty)
    parent = self_ty.scope if self_ty is not None and self_ty.scope is not None else alias.scope
    scope = Scope(parent, "function")
    given = complete_parameters(elab, ParameterList(params, alias.module, f"'{alias.name}'"), given, scope)
    key = (self_ty, elab.instances.state.target.name, tuple(given[p.name] for p in params))
    if key not in alias.values:
        node = alias.node
        if node.value is None:
            alias.values[key] = elab.api.bound_alias(elab, alias, self_ty, scope)
        else:
            alias.values[key] = elab.api.typed_constant(elab, node.type, node.value, scope, alias.module)
    known: ParameterArgument = alias.values[key]
    return known


def library_struct(elab: Elaboration, name: str, params: tuple[ParameterArgument, ...]) -> StructTy:
    """Return a library struct with parameters, defaults filled in."""
    made = apply_struct(elab, well_known.library_info(elab, name), params, ())
    assert isinstance(made, StructTy)
    return made


def kwargs_type(elab: Elaboration, kind: Ty) -> StructTy:
    """Return the type of `**kwargs`."""
    return library_struct(elab, "OwnedKwargsDict", (kind,))


def check_where(
    elab: Elaboration,
    conditions: Sequence[ast.Expr],
    scope: Scope,
    module: ModuleInfo,
    what: str,
    made: ParameterArgument = None,
) -> None:
    """Check the `where` conditions of a declaration with its parameters; not of a struct that is still open.

    Raises:
        Mismatch: one does not hold.
    """
    if not conditions or (made is not None and (not isinstance(made, StructTy) or made.symbolic)):
        return
    for node in conditions:
        if not getattr(elab.api.evaluate(elab, node, scope, module), "data", True):
            raise Mismatch(Code.UNSATISFIED_CONSTRAINT, f"a 'where' condition of {what} does not hold", weight=2)


def check_bound(elab: Elaboration, fn: FunctionValue, span: Span) -> None:
    """Report it where no function of a name takes the parameters that are given so far."""
    first: Mismatch | None = None
    for one in fn.overloads.functions:
        params = one.node.params
        try:
            given = function_types.parameters_of_function(elab, params, fn, one.title)
            if one.owner is None:
                scope, unbound = Scope(one.scope, "function"), [param.name for param in params]
                complete_parameters(elab, ParameterList(params, one.module, one.title), given, scope, unbound)
            return
        except Symbolic:
            return
        except Mismatch as reason:
            first = first or reason
    if first is not None:
        elab.fail(first.code, first.message, first.span or span, first.help())
