"""Function types: made from declarations, printed, given parameters."""

import hashlib
from collections.abc import Iterator, Sequence

from ktc.elaborate.generics import parameter_assignment
from ktc.elaborate.model.declarations import FunctionInfo, ModuleInfo, Scope, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.instance import ArgumentSignature, Signature
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    FunctionValue,
    Named,
    ParameterArgument,
    ParameterPack,
    ParameterValue,
    PartialTy,
    StructTy,
    TraitTy,
    is_symbolic,
)
from ktc.elaborate.types import struct_types, well_known
from ktc.ir import nodes, types
from ktc.syntax import ast

_CONVENTIONS = {"owned": "var", "": "read", "borrowed": "read", "inout": "mut"}


ANONYMOUS_ARGUMENT = ast.Param(0, 0, "", None, None, "any", "", (), False)
"""Stands for how an argument was written where it was not."""


def convention_of(node: ast.Param) -> str:
    """Return an argument's convention by its current name."""
    return _CONVENTIONS.get(node.convention, node.convention)


def with_parameters(
    elab: Elaboration,
    fn: FunctionValue,
    positional: tuple[ParameterValue | None, ...],
    named: Named,
) -> FunctionValue:
    """Bind parameters of a function value; the first ones go where `_` left one open."""
    params = fn.params
    if fn.renamed:
        named = tuple((fn.own_name(name), value) for name, value in named)
    if fn.seen_by_type:
        own = (param.name for param in fn.overloads.functions[0].node.params)
        given = dict(zip(own, positional, strict=False))
        named = tuple((name, value) for name, value in (*given.items(), *named) if value is not None)
        return FunctionValue(fn.overloads, params, named, fn.self_ty, fn.env, renamed=fn.renamed)
    if None in params:
        rest = iter(positional)
        params = tuple(next(rest, None) if value is None else value for value in params)
        positional = tuple(rest)
    named = tuple(one for one in named if one[1] is not None)
    return FunctionValue(
        fn.overloads,
        params + positional,
        fn.named + named,
        fn.self_ty,
        fn.env,
        fn.struct_params_first,
        renamed=fn.renamed,
    )


def parameters_of_function(
    elab: Elaboration, params: tuple[ast.Param, ...], fn: FunctionValue, what: str
) -> dict[str, ParameterArgument]:
    """Return the bound parameters of a function value by name."""
    given = parameter_assignment.assign_parameters(elab, params, fn.params, fn.named, what)
    return {name: value for name, value in given.items() if value is not None} if None in fn.params else given


def function_type(
    elab: Elaboration, args: Named, result: ParameterArgument, raises: bool, effects: tuple[str, ...],
    written: tuple[ast.Param, ...] = (), result_ref: bool | None = None, error: ParameterArgument = None,
) -> FunctionTy:  # fmt: skip
    """Return the function type; the names of arguments are no part of it."""
    key = (args, result, raises, effects, result_ref, error)
    found = elab.generics.functions.get(key)
    if found is None:
        found = elab.generics.functions[key] = FunctionTy(args, result, raises, effects, written, result_ref)
        found.error = error
        found.symbolic = any(is_symbolic(kind) for _, kind in args) or is_symbolic(result) or is_symbolic(error)
    return found


def fn_type_of(elab: Elaboration, fn: FunctionValue) -> FunctionTy:
    """Return the type of one function alone."""
    found = elab.generics.functions.get(fn)
    if found is None:
        first = fn.overloads.functions[0]
        effects = ("capturing",) if first.parameter else ()
        found = elab.generics.functions[fn] = FunctionTy((), None, first.raises, effects, of=fn)
    return found


def call_signature(elab: Elaboration, ty: FunctionTy) -> Signature:
    """Return the signature of calls through a function type."""
    if ty.signature is None:
        args = []
        for i, (word, kind) in enumerate(ty.args):
            node = ty.nodes[i] if ty.nodes else ANONYMOUS_ARGUMENT
            assert isinstance(kind, Ty)
            passing = "memory" if word in ("mut", "ref") else struct_types.abi(elab, kind)
            args.append(ArgumentSignature(node.name, kind, word, "any", node, passing))
        assert isinstance(ty.result, Ty)
        result = "ref" if ty.result_ref is not None else struct_types.abi(elab, ty.result)
        borrowed = tuple(range(len(args)))  # which of them the function keeps is not known
        error = ty.error if isinstance(ty.error, Ty) else None
        ty.signature = Signature(
            tuple(args), ty.result, result, ty.raises and not well_known.is_never(error), "", bool(ty.result_ref),
            borrowed_args=borrowed, error=error,
        )  # fmt: skip
    assert isinstance(ty.signature, Signature)
    return ty.signature


def is_plain(elab: Elaboration, ty: FunctionTy) -> bool:
    """Return whether values of the type exist at run time."""
    return ty.of is None and ty.syntax is None and all(is_complete(kind) for _, kind in ty.args)


def only_value(elab: Elaboration, param: ast.Param, scope: Scope, module: ModuleInfo) -> ConstValue | None:
    """Return the value of an inferred parameter whose type has only one, as a set of origins has."""
    if param.kind != "infer" or param.type is None:
        return None
    ty = elab.api.evaluate(elab, param.type, scope, module)
    if not isinstance(ty, StructTy) or ty.params or types.size_of(struct_types.ir_type(elab, ty)):
        return None
    return ConstValue(ty, ())


def as_constant(elab: Elaboration, fn: FunctionValue, key: str) -> nodes.Address:
    """Return the address of a function as a constant, as in an `Optional` that is a parameter's value."""
    name = "fn$" + hashlib.sha256(key.encode()).hexdigest()[:24]
    elab.generics.constant_functions[name] = fn
    return nodes.Address(name)


def constant_function(elab: Elaboration, data: object) -> FunctionValue | None:
    """Return the function that an address in a constant stands for."""
    return elab.generics.constant_functions.get(data.name) if isinstance(data, nodes.Address) else None


def environments(elab: Elaboration, values: Sequence[ParameterArgument]) -> tuple[FunctionValue, ...]:
    """Return the closures in parameter values, each once: their environments are passed along."""
    found: dict[FunctionInfo, FunctionValue] = {}
    work = list(reversed(values))
    while work:
        match work.pop():
            case FunctionValue() as fn:
                if fn.env is not None:
                    found.setdefault(fn.overloads.functions[0], fn)
                work += (*fn.params, *(value for _, value in fn.named), fn.self_ty)
            case FunctionTy(of=FunctionValue() as fn):
                work.append(fn)
            case StructTy(params=params) | ParameterPack(params):
                work += params
            case ConstValue(data=tuple() | nodes.Address() as data) if elab.generics.constant_functions:
                work += _functions_in(elab, data)
    return tuple(found.values())


def _functions_in(elab: Elaboration, data: object) -> Iterator[FunctionValue]:
    if isinstance(data, tuple):
        for part in data:
            yield from _functions_in(elab, part)
    elif (found := constant_function(elab, data)) is not None:
        yield found


def is_complete(kind: object) -> bool:
    return isinstance(kind, Ty) and not isinstance(kind, TraitTy) and not isinstance(kind, (PartialTy, ParameterPack))
