"""Instances of function values, and whether they fit a function type."""

from collections.abc import Sequence

from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.generics import function_types, parameter_binding, unification
from ktc.elaborate.generics.function_types import is_complete
from ktc.elaborate.generics.parameter_assignment import ParameterList
from ktc.elaborate.generics.unification import rest
from ktc.elaborate.instances import instance_table
from ktc.elaborate.instances.instance_table import Specialisation
from ktc.elaborate.model.declarations import FunctionInfo, OverloadSet, Scope, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.instance import Instance, Signature, Symbolic
from ktc.elaborate.model.types import (
    Actual,
    ConstValue,
    FunctionTy,
    FunctionValue,
    OpenTy,
    ParameterArgument,
    PartialTy,
    TraitTy,
    UnboundParameter,
)
from ktc.elaborate.types import type_printer, type_relations, well_known
from ktc.syntax import ast


def fits_function(elab: Elaboration, have: FunctionTy, expected: FunctionTy) -> bool:
    """Return whether a function type is a subtype of another."""
    if have is expected:
        return True
    if have.of is not None:
        return function_as(elab, have.of, expected) is not None
    if expected.of is not None:
        return False
    if expected.syntax is not None:
        return len(have.args) == len(expected.args)
    return (have.args, have.result, have.raises, have.result_ref, have.is_escaping, have.error) == (
        expected.args, expected.result, expected.raises, expected.result_ref, expected.is_escaping, expected.error,
    )  # fmt: skip


def unify_function(
    elab: Elaboration, pattern: FunctionTy, actual: ParameterArgument, bound: dict[UnboundParameter, ParameterArgument]
) -> bool:
    """Bind what a function type leaves open by a function's own type."""
    if not isinstance(actual, FunctionTy):
        return False
    if not pattern.symbolic:
        return fits_function(elab, actual, pattern)
    if actual.of is None:
        return _unify_parts(elab, pattern, actual, bound)
    for info in actual.of.overloads.functions:
        thin = declared_type(elab, FunctionValue(single_set(elab, actual.of.overloads, info), *rest(actual.of)))
        tentative = dict(bound)
        if thin is None or _unify_parts(elab, pattern, thin, tentative):
            bound.update(tentative)
            return True
    return False


def declared_type(elab: Elaboration, fn: FunctionValue) -> FunctionTy | None:
    """Return the type of one function, closure or not; None if its parameters are open."""
    try:
        instance = only_instance(elab, fn, [None] * len(fn.overloads.functions[0].node.args), None)
    except (Mismatch, Symbolic):
        return None
    signature = instance.signature
    args = tuple(
        (sig.convention, sig.ty.partial if isinstance(sig.ty, OpenTy) else sig.ty)
        for sig in signature.args
        if sig.convention != "out"
    )
    ref = signature.result_mutable if signature.result == "ref" else None
    return function_types.function_type(elab, args, signature.result_ty, signature.raises, (), (), ref, signature.error)


def _unify_parts(
    elab: Elaboration, pattern: FunctionTy, actual: FunctionTy, bound: dict[UnboundParameter, ParameterArgument]
) -> bool:
    if len(pattern.args) != len(actual.args):
        return False
    pairs = [(p, a) for (_, p), (_, a) in zip(pattern.args, actual.args, strict=True)]
    if pattern.error is not None:
        if not actual.raises:
            return False
        pairs.append((pattern.error, actual.error or well_known.error_type(elab)))
    return all([unification.unify(elab, p, a, bound) for p, a in (*pairs, (pattern.result, actual.result))])


def single_set(elab: Elaboration, functions: OverloadSet, info: FunctionInfo) -> OverloadSet:
    """Return a set of one of the overloads, always the same one."""
    if len(functions.functions) == 1:
        return functions
    found = elab.instances.function_sets.get(info)
    if found is None:
        found = elab.instances.function_sets[info] = OverloadSet(functions.name, [info])
    return found


def function_as(elab: Elaboration, fn: FunctionValue, expected: FunctionTy) -> FunctionValue | None:
    """Return the one overload, with its parameters, that a function type means; None if none fits."""
    if expected.of is not None:
        return fn if expected.of == fn else None
    key = ("fn_as", fn, expected)
    memo = elab.instances.state.memo
    if key not in memo:
        memo[key] = None
        found = [
            one for one in (_as_one(elab, fn, info, expected) for info in fn.overloads.functions) if one is not None
        ]
        memo[key] = _named_by(found[0][0], expected) if found else None
    known: FunctionValue | None = memo[key]
    return known


def _named_by(fn: FunctionValue, expected: FunctionTy) -> FunctionValue:
    """Return a function as a function type names its parameters and arguments."""
    node = fn.overloads.functions[0].node
    if expected.syntax is None:
        return with_names(fn, [arg.name for arg in expected.nodes])
    arguments = [arg.name for arg in node.args if arg.convention != "out"]
    free = [param for param in node.params[len(fn.params) :] if fn.seen_by_type or param.kind != "infer"]
    own = [param.name for param in free if param.name not in dict(fn.named)]
    if fn.struct_params_first and fn.self_ty is not None:
        pairs = zip(fn.self_ty.info.node.params, fn.self_ty.params, strict=True)
        own = [param.name for param, value in pairs if isinstance(value, UnboundParameter)] + own
    names = list(zip([param.name for param in expected.syntax.params], own, strict=False))
    names += zip([arg.name for arg in expected.syntax.args], arguments, strict=False)
    renamed = tuple((name, own) for name, own in names if name and name != own)
    return fn if renamed == fn.renamed else replace(fn, renamed=renamed)


def with_names(fn: FunctionValue, names: Sequence[str]) -> FunctionValue:
    """Return a function whose arguments have other names, where these are not empty."""
    own = [arg.name for arg in fn.overloads.functions[0].node.args if arg.convention != "out"]
    renamed = tuple((name, mine) for name, mine in zip(names, own, strict=False) if name and name != mine)
    return fn if renamed == fn.renamed else replace(fn, renamed=renamed)


def declared_function(
    elab: Elaboration, param: ast.Param, value: ParameterArgument, expected: FunctionTy, what: str
) -> ParameterArgument:
    """Return a function that a parameter of function type is given, one overload of it."""
    if isinstance(value, FunctionValue):
        found = function_as(elab, value, expected)
        if found is not None:
            return found
        given = value.described()
    elif isinstance(value, FunctionTy) and value.of is not None and function_as(elab, value.of, expected) is not None:
        return value  # a closure's own type, where the function type is the bound of a type
    elif isinstance(value, ConstValue):
        if isinstance(value.ty, FunctionTy) and type_relations.fits(elab, value.ty, expected):
            return value
        given = type_printer.type_name(elab, value.ty)
    else:
        given = str(value)
    text = f"parameter '{param.name}' of {what} expects '{expected}', not '{given}'"
    raise Mismatch(Code.TYPE_MISMATCH, text, weight=2)


def instance_as(elab: Elaboration, fn: FunctionValue, expected: FunctionTy) -> Instance | None:
    """Return the instance of a function that a function type means."""
    for info in fn.overloads.functions:
        found = _as_one(elab, fn, info, expected)
        if found is not None:
            return found[1]
    return None


def _as_one(
    elab: Elaboration, fn: FunctionValue, info: FunctionInfo, expected: FunctionTy
) -> tuple[FunctionValue, Instance | None] | None:
    formals = [a for a in info.node.args if a.convention != "out"]
    if len(formals) != len(expected.args) or any(a.kind in ("star", "starstar") for a in formals):
        return None
    if info.raises and not expected.raises:
        return None
    single = FunctionValue(single_set(elab, fn.overloads, info), *rest(fn)) if len(fn.overloads.functions) > 1 else fn
    if expected.syntax is not None:
        takes = len(info.node.params) - len(fn.params) - len(fn.named) + fn.params.count(None)
        if single.self_ty is not None and single.self_ty.symbolic:
            takes += sum(isinstance(value, UnboundParameter) for value in single.self_ty.params)
            single = replace(single, struct_params_first=True)
        expected_name = len(expected.syntax.params)
        if takes < expected_name and not _is_open(elab, info, single):
            return None
        inferred = sum(param.kind == "infer" for param in info.node.params)
        if takes - inferred < expected_name and not fn.params and not fn.named:
            single = replace(single, seen_by_type=True)
        return single, None
    if not all(is_complete(kind) for _, kind in expected.args) or expected.symbolic:
        return single, None
    try:
        instance, single = _instance_for(elab, single, info, expected)
    except (Mismatch, Symbolic):
        return None
    return (single, instance) if _same(elab, instance.signature, expected) else None


def _is_open(elab: Elaboration, info: FunctionInfo, fn: FunctionValue) -> bool:
    """Return whether the type of an argument leaves parameters open."""
    pattern = unification.signature_pattern(elab, info, fn.self_ty)
    return any(isinstance(kind, (PartialTy, TraitTy)) for kind in pattern.args)


def _instance_for(
    elab: Elaboration, fn: FunctionValue, info: FunctionInfo, expected: FunctionTy
) -> tuple[Instance, FunctionValue]:
    given = function_types.parameters_of_function(elab, info.node.params, fn, f"'{info.name}'")
    kinds = iter([kind for _, kind in expected.args])
    actual = [None if arg.convention == "out" else next(kinds) for arg in info.node.args]
    if len(given) < len(info.node.params):
        pattern = unification.signature_pattern(elab, info, fn.self_ty)
        bound: dict[UnboundParameter, ParameterArgument] = {
            pattern.symbols[name]: value for name, value in given.items()
        }
        for formal, kind in zip(pattern.args, actual, strict=True):
            if kind is not None and not unification.unify(elab, formal, kind, bound):
                raise Mismatch(Code.TYPE_MISMATCH, "")
        found = {p.name: bound.get(pattern.symbols[p.name]) for p in info.node.params}
        named = tuple((name, value) for name, value in found.items() if value is not None)
        fn = FunctionValue(fn.overloads, (), named, fn.self_ty, fn.env)
    return only_instance(elab, fn, actual, None), fn


def only_instance(
    elab: Elaboration,
    fn: FunctionValue,
    actual: Sequence[Actual],
    asking: Body | None,
    span: Span | None = None,
    kernel: bool = False,
) -> Instance:
    """Return the instance of a single function whose parameters are given.

    Raises:
        Mismatch: a parameter is missing or does not fit.
    """
    info = fn.overloads.functions[0]
    scope = Scope(unification.fn_scope_parent(elab, info, fn.self_ty), "function")
    given = function_types.parameters_of_function(elab, info.node.params, fn, f"'{info.name}'")
    given = parameter_binding.complete_parameters(
        elab, ParameterList(info.node.params, info.module, f"'{info.name}'"), given, scope
    )
    return instance_table.instance(elab, Specialisation(info, fn.self_ty, given, actual, fn.env, kernel), asking, span)


def _same(elab: Elaboration, signature: Signature, expected: FunctionTy) -> bool:
    args = [sig for sig in signature.args if sig.convention != "out"]
    for sig, (word, kind) in zip(args, expected.args, strict=True):
        # what only reads its argument may be called where it would be changed or given away
        if (
            sig.convention not in (word, "read")
            or not isinstance(kind, Ty)
            or not type_relations.fits(elab, kind, sig.ty)
        ):
            return False
    ref = signature.result_mutable if signature.result == "ref" else None
    if (ref is None) != (expected.result_ref is None):
        return False
    own, expected_name = signature.result_ty, expected.result
    return own is expected_name or (isinstance(expected_name, Ty) and type_relations.fits(elab, own, expected_name))


def instance_of(
    elab: Elaboration, fn: FunctionValue, span: Span | None, asking: Body | None, kernel: bool = False
) -> Instance:
    """Return the one instance that a function value with all its parameters is.

    A function with several overloads or open parameters is an error.
    """
    if len(fn.overloads.functions) != 1:
        elab.fail(Code.AMBIGUOUS_CALL, f"'{fn.overloads.name}' has several overloads; one must be chosen", span)
    actual = [None] * len(fn.overloads.functions[0].node.args)
    try:
        return only_instance(elab, fn, actual, asking, span, kernel)
    except Mismatch as reason:
        elab.fail(reason.code, reason.message, reason.span or span, reason.help())
