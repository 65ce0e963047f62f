"""Signatures of instances: the types of arguments and results."""

import contextlib
from collections.abc import Iterable, Sequence
from functools import partial

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.generics import function_types, parameter_binding, unification
from ktc.elaborate.generics.callable_traits import run_time_type
from ktc.elaborate.generics.conformance import missing_conformance
from ktc.elaborate.generics.function_effects import error_type
from ktc.elaborate.generics.function_types import convention_of
from ktc.elaborate.instances.default_origins import with_defaults
from ktc.elaborate.instances.reference_mutability import read_only_as
from ktc.elaborate.instances.result_references import (
    address_space,
    is_mutable_reference,
    placeholder_argument,
    pointed_to,
)
from ktc.elaborate.model.declarations import FunctionInfo, OverloadSet, Scope, StructInfo, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import ArgumentSignature, Signature, Symbolic
from ktc.elaborate.model.types import (
    Actual,
    ConstValue,
    FunctionTy,
    FunctionValue,
    OpenTy,
    ParameterArgument,
    ParameterPack,
    PartialTy,
    StructTy,
    TraitTy,
)
from ktc.elaborate.tree.argument_uses import (
    borrowed_arguments,
    names_in,
    pointed_arguments,
    points_anywhere,
    unlinked_arguments,
)
from ktc.elaborate.types import lookup, struct_members, struct_types, type_printer, type_relations, well_known
from ktc.syntax import ast


def open_key(elab: Elaboration, kind: ParameterArgument, have: Actual) -> ParameterArgument:
    have = _literal_run_time_type(elab, kind, have)
    if isinstance(kind, PartialTy) and not (isinstance(have, StructTy) and have.info is kind.info):
        return with_defaults(elab, kind)
    if isinstance(kind, FunctionTy):
        return None
    if isinstance(have, list):
        have = have[0] if have else None
    if isinstance(kind, PartialTy) and isinstance(have, StructTy):
        have = read_only_as(elab, have, kind)
    have = run_time_type(elab, have, kind) if isinstance(kind, TraitTy) and isinstance(have, Ty) else have
    return struct_types.canonical(elab, have)


def _literal_run_time_type(elab: Elaboration, kind: ParameterArgument, have: Actual) -> Actual:
    """Return a literal's type at run time where that is what a partial type leaves open."""
    if not isinstance(kind, PartialTy) or not isinstance(have, StructTy) or have.info.materialized is None:
        return have
    plain = well_known.materialized(elab, have)
    return plain if isinstance(plain, StructTy) and plain.info is kind.info else have


def declared_types(
    elab: Elaboration, fn: FunctionInfo, scope: Scope, self_ty: StructTy | None, actual: Sequence[Actual]
) -> list[ParameterArgument]:
    """Return the declared types; each may depend on the arguments before it, that of an `out` one on all others."""
    inner = Scope(scope, "function")
    found: list[ParameterArgument] = [None] * len(fn.node.args)
    order = sorted(range(len(fn.node.args)), key=lambda at: fn.node.args[at].convention == "out")
    for done, at in enumerate(order, 1):
        arg, have = fn.node.args[at], actual[at]
        try:
            kind = declared_type(elab, arg, inner, fn, self_ty)
        except ErrorReported:
            if not fn.module.is_library:
                _check_remaining(elab, fn, inner, order[done:], self_ty)
            raise
        found[at] = kind
        if isinstance(kind, (PartialTy, TraitTy)) and have is not None and not isinstance(have, list):
            kind = known(elab, kind, have)
        if isinstance(kind, Ty):
            inner.names[arg.name] = placeholder_argument(arg.name, kind, fn, arg)
    return found


def _check_remaining(
    elab: Elaboration, fn: FunctionInfo, scope: Scope, rest: Sequence[int], self_ty: StructTy | None
) -> None:
    """Report what else is wrong with a signature, as far as it does not depend on the arguments."""
    names = {arg.name for arg in fn.node.args}
    for arg in (fn.node.args[at] for at in rest):
        if arg.type is not None and not names & names_in(arg.type):
            with contextlib.suppress(ErrorReported, Mismatch, Symbolic):
                declared_type(elab, arg, scope, fn, self_ty)
    if fn.node.result is not None and not names & names_in(fn.node.result):
        with contextlib.suppress(ErrorReported, Mismatch, Symbolic):
            library_result(elab, fn, scope)


def declared_type(
    elab: Elaboration, arg: ast.Param, scope: Scope, fn: FunctionInfo, self_ty: StructTy | None
) -> ParameterArgument:
    if arg.type is None:
        return self_ty
    if isinstance(arg.type, ast.Star):
        assert arg.type.value is not None
        return elab.api.evaluate(elab, arg.type.value, scope, fn.module)
    value = parameter_binding.open_alias(elab, elab.api.evaluate(elab, arg.type, scope, fn.module))
    if isinstance(value, ConstValue) and isinstance(arg.type, ast.TupleLit):
        return value.ty
    if isinstance(value, FunctionValue) and not _is_function(
        elab, arg.type, scope, fn
    ):  # of a parameter of function type
        return function_types.fn_type_of(elab, value)
    if not isinstance(value, (Ty, PartialTy, ParameterPack)):
        span = Span(fn.module.source, arg.start, arg.end)
        elab.fail(Code.TYPE_MISMATCH, f"the type of argument '{arg.name}' is not a type", span)
    return value


def _is_function(elab: Elaboration, node: ast.Expr, scope: Scope, fn: FunctionInfo) -> bool:
    return isinstance(node, ast.Name) and isinstance(lookup.find(elab, node.id, scope, fn.module), OverloadSet)


def signature(
    elab: Elaboration,
    fn: FunctionInfo,
    self_ty: StructTy | None,
    scope: Scope,
    declared: Sequence[ParameterArgument],
    actual: Sequence[Actual],
) -> Signature:
    args: list[ArgumentSignature] = []
    result_ty: Ty | None = None
    out_name = ""
    for arg, kind, have in zip(fn.node.args, declared, actual, strict=True):
        if arg.convention == "out":
            result_ty = _type(known(elab, kind, have) if isinstance(kind, (PartialTy, TraitTy)) else kind)
            if isinstance(kind, PartialTy) and self_ty is not None and self_ty.info is kind.info:
                result_ty = self_ty
            elif isinstance(kind, PartialTy) and arg.type is not None and not fn.module.is_library:
                result_ty = _complete(elab, kind, Span(fn.module.source, arg.type.start, arg.type.end))
            out_name = arg.name
        args.append(_arg(elab, fn, arg, kind, have))
    result_mutable = True
    if result_ty is None:
        result_ty = library_result(elab, fn, with_arguments(fn, args, scope))
    passing = "ref" if fn.node.result_ref is not None else struct_types.abi(elab, result_ty)
    if passing == "ref":
        result_mutable = is_mutable_reference(elab, fn, scope)
    borrowed, named, fields = borrowed_arguments(fn)
    keeps_all = False
    if passing == "ref":
        pointed, keeps_all = pointed_to(elab, fn, args, scope)
        if pointed is not None:
            named, result_mutable = (), pointed
    by_ref = not fn.module.is_library or sum(a.convention == "ref" for a in args) > 1
    writing = ("mut", "ref") if by_ref else ("mut",)
    changes = any(a.convention in writing and (len(args) > 1 or a.variadic) for a in args)
    error = error_type(elab, fn, with_arguments(fn, args, scope)) if fn.node.error is not None else None
    return Signature(
        tuple(args),
        result_ty,
        passing,
        fn.raises and not well_known.is_never(error),
        out_name,
        result_mutable,
        borrowed,
        pointed_arguments(fn),
        named,
        changes=changes,
        borrowed_fields=fields,
        unlinked_args=() if fn.module.is_library else unlinked_arguments(fn),
        points_anywhere=points_anywhere(fn),
        keeps_all=keeps_all,
        error=error,
        result_space=max([address_space(elab, node, scope, fn) for node in (fn.node.result_ref or ())[1:]], default=0),
    )


def library_result(elab: Elaboration, fn: FunctionInfo, scope: Scope) -> Ty:
    """Return the declared result type; NoneType where none is written."""
    if fn.node.result is None:
        return well_known.library_type(elab, "NoneType")
    value = elab.api.evaluate(elab, fn.node.result, scope, fn.module)
    if isinstance(value, ConstValue) and isinstance(fn.node.result, ast.NoneLit):
        return value.ty
    span = Span(fn.module.source, fn.node.result.start, fn.node.result.end)
    if isinstance(value, PartialTy):
        if fn.module.is_library:
            value = with_defaults(elab, value, "any")
        else:
            value = _complete(elab, value, span)
    if not isinstance(value, Ty) or isinstance(value, TraitTy):
        elab.fail(Code.TYPE_MISMATCH, "the result type is not a complete type", span)
    return value


def _complete(elab: Elaboration, value: PartialTy, span: Span) -> StructTy:
    """Return the type that a result's partial type means: defaults say the rest, and nothing can infer it."""
    try:
        return parameter_binding.with_default_parameters(elab, value)
    except Mismatch as reason:
        text = f"the result type '{value.info.name}' is not complete: {reason.message}"
        origin = any(p.name == "origin" and p.default is None for p in value.info.node.params)
        help_text = "write its origin: 'origin_of(x)' of an argument, or 'MutAnyOrigin'" if origin else ""
        elab.fail(Code.CANNOT_INFER_PARAMETER, text, span, help_text or "write its parameters, in '[]'")


def _type(kind: ParameterArgument) -> Ty:
    """Return the type of an argument as its signature has it.

    Raises:
        Mismatch: it is a list of types.
    """
    if isinstance(kind, PartialTy):
        return OpenTy(kind)
    if not isinstance(kind, Ty):
        raise Mismatch(Code.TYPE_MISMATCH, "an argument's type cannot be a list of types", None, 2)
    return kind


def known(elab: Elaboration, kind: ParameterArgument, have: Actual) -> ParameterArgument:
    if isinstance(kind, FunctionTy):
        # a function given by name is a part of the instance, so that it can be called directly
        found = (
            elab.api.function_as(elab, have.of, kind) if isinstance(have, FunctionTy) and have.of is not None else None
        )
        return kind if found is None else function_types.fn_type_of(elab, found)
    if isinstance(kind, PartialTy):
        have = _literal_run_time_type(elab, kind, have)
        if isinstance(have, StructTy) and have.info is kind.info:
            if not all(map(partial(_given_fits, elab, kind), kind.info.node.params, have.params, kind.params)) or (
                kind.shape is not None and not unification.unify(elab, kind.shape, have, {})
            ):
                text = f"a '{type_printer.type_name(elab, have)}' is given, but the expected type has other parameters"
                raise Mismatch(Code.TYPE_MISMATCH, text, None, 2)
            return struct_types.canonical_struct(elab, read_only_as(elab, have, kind))
        made = with_defaults(elab, kind)
        if have is None and isinstance(made, StructTy) and made.symbolic and _leaves_a_default_open(kind):
            return kind  # another parameter's default depends on what is open
        if have is not None and not isinstance(made, StructTy):
            text = f"'{type_printer.type_name(elab, have)}' is given where '{kind.info.name}' is expected"
            raise Mismatch(Code.TYPE_MISMATCH, text, None, 2)
        return made
    if isinstance(kind, TraitTy) and isinstance(have, Ty):
        plain = run_time_type(elab, have, kind)
        if not struct_members.conforms(elab, plain, kind):
            raise missing_conformance(elab, plain, kind)
        return struct_types.canonical(elab, plain)
    return kind


def _leaves_a_default_open(kind: PartialTy) -> bool:
    """Return whether a '_' stands for a parameter with a default: only an argument can tell its value."""
    params = zip(kind.info.node.params, kind.params, strict=True)
    return not kind.is_bare and any(value is None and param.default is not None for param, value in params)


def _given_fits(
    elab: Elaboration, kind: PartialTy, param: ast.Param, have: ParameterArgument, expected: ParameterArgument
) -> bool:
    """Return whether a parameter of an argument's type matches that of a partial type, if it has one."""
    if expected is None or (param.default is not None and param.name not in kind.written):
        return True
    if isinstance(expected, (ParameterPack, PartialTy)):
        return unification.unify(elab, expected, have, {})
    return type_relations.param_fits(elab, have, expected)


def _arg(
    elab: Elaboration, fn: FunctionInfo, arg: ast.Param, kind: ParameterArgument, have: Actual
) -> ArgumentSignature:
    convention = convention_of(arg)
    if arg.kind == "star":
        if arg.splat:
            items = kind.items if isinstance(kind, ParameterPack) else ()
            pack = tuple(_type(item) if item is not None else None for item in items)
            return ArgumentSignature(arg.name, None, convention, arg.kind, arg, "memory", "pack", pack)  # type: ignore[arg-type]
        if isinstance(kind, (TraitTy, PartialTy)):
            kind = known(elab, kind, have[0] if isinstance(have, list) and have else None)
        return ArgumentSignature(arg.name, _type(kind), convention, arg.kind, arg, "memory", "list")
    if arg.kind == "starstar":
        return ArgumentSignature(
            arg.name, parameter_binding.kwargs_type(elab, _type(kind)), "var", arg.kind, arg, "memory"
        )
    ty = kind if isinstance(kind, FunctionTy) and not is_specialised(arg, fn) else _type(known(elab, kind, have))
    if isinstance(ty, (TraitTy, OpenTy)) or convention in ("mut", "ref", "out"):
        passing = "memory"
    else:
        passing = struct_types.abi(elab, ty)
        if passing == "direct" and fn.node.result_ref and _needs_place(fn, arg, ty):
            passing = "memory"
    left_open = have is None and isinstance(kind, PartialTy) and _leaves_a_default_open(kind)
    return ArgumentSignature(arg.name, ty, convention, arg.kind, arg, passing, left_open=left_open)


def _needs_place(fn: FunctionInfo, arg: ast.Param, ty: Ty) -> bool:
    """Return whether `-> ref [self.x] T` names this argument, which then needs a place."""
    known = isinstance(ty, StructTy) and not ty.info.register_trivial
    return known and any(fn.node.args[i] is arg for i in borrowed_arguments(fn)[1])


def is_specialised(arg: ast.Param, fn: FunctionInfo) -> bool:
    """Return whether the instance is specialised by a function argument: not if a parameter is its type."""
    if arg.kind == "star" or convention_of(arg) != "read":
        return False
    if isinstance(arg.type, ast.Name):
        own = (*fn.node.params, *(fn.owner.node.params if isinstance(fn.owner, StructInfo) else ()))
        return all(param.name != arg.type.id or isinstance(param.type, ast.FunctionType) for param in own)
    return isinstance(arg.type, (ast.FunctionType, ast.Attribute))


def with_arguments(fn: FunctionInfo, args: Iterable[ArgumentSignature], scope: Scope) -> Scope:
    """Return a scope in which the arguments stand for their types: of a result, or of a `where` condition."""
    inner = Scope(scope, "function")
    for sig in args:
        if isinstance(sig.ty, Ty) and not isinstance(sig.ty, OpenTy):
            inner.names[sig.name] = placeholder_argument(sig.name, sig.ty, fn, sig.node)
    return inner
