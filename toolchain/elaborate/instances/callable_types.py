"""Types that can be called as a function type says, and the open parameters that such a call determines.

Input: a type, and the trait of a function type (`def(Int) -> Int` in edition 2026). Functions, closures and pointers to
functions conform to the trait by their types alone; a struct of the program must list such a trait, too.
"""

from ktc.base.records import replace
from ktc.elaborate.generics import function_types, unification
from ktc.elaborate.generics.callable_traits import CALL, calls_of
from ktc.elaborate.generics.unification import Pattern
from ktc.elaborate.instances import function_instances
from ktc.elaborate.model.declarations import TraitInfo, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import (
    FunctionTy,
    FunctionValue,
    ParameterArgument,
    StructTy,
    TraitTy,
    UnboundParameter,
)
from ktc.elaborate.model.values import Result
from ktc.elaborate.types import struct_members


def conforms_to_call(elab: Elaboration, ty: Ty, trait: TraitInfo) -> bool:
    """Return whether values of a type can be called as the trait's function type says."""
    expected = trait.call
    assert isinstance(expected, FunctionTy)
    if isinstance(ty, FunctionTy):
        return _is_called_as(elab, ty, expected)
    if not isinstance(ty, StructTy):
        return False
    listed = [one.call for one in struct_members.traits_of(elab, ty.info) if isinstance(one.call, FunctionTy)]
    if not listed and ty.info.closure is None:
        return False
    if ty.symbolic or expected.symbolic:
        return True
    if ty.info.bound is not None:
        return any(_is_called_as(elab, one, expected) for one in listed)
    methods = struct_members.method_set(elab, ty, CALL)
    return methods is not None and _has_instance(
        elab, FunctionValue(methods, (), (), ty), _with_receiver(elab, expected, ty)
    )


def _is_called_as(elab: Elaboration, have: FunctionTy, expected: FunctionTy) -> bool:
    """Return whether a function of one type can be called where one of another type is expected."""
    if have.of is not None:
        return _has_instance(elab, have.of, expected)
    if have is expected or expected.symbolic:
        return True
    if expected.syntax is not None or have.syntax is not None:
        return len(have.args) == len(expected.args) and (expected.raises or not have.raises)
    if have.raises and (not expected.raises or have.error is not expected.error):
        return False
    return (have.args, have.result, have.result_ref) == (expected.args, expected.result, expected.result_ref)


def _has_instance(elab: Elaboration, fn: FunctionValue, expected: FunctionTy) -> bool:
    """Return whether one of a function's overloads is as a function type says."""
    if function_instances.function_as(elab, fn, expected) is None:
        return False
    instance = function_instances.instance_as(elab, fn, expected)
    return instance is None or not instance.signature.raises or instance.signature.error is expected.error


def is_bounded_by_call(
    elab: Elaboration,
    expected: ParameterArgument,
    value: Result,
    self_ty: StructTy | None,
    pattern: Pattern | None = None,
) -> bool:
    """Return whether a function is given for an argument whose type is a parameter bounded by a function type: the
    parameter is the function's own type then, so that calls are direct.

    Args:
        self_ty, pattern: the struct and the function that may declare the parameter.
    """
    if not isinstance(value, FunctionValue) or not isinstance(expected, UnboundParameter):
        return False
    bounds = pattern.params.get(expected.name) if pattern is not None else None
    info = self_ty.info if self_ty is not None else None
    if bounds is None and info is not None and expected.owner == info.uid:
        for param in info.node.params:
            if param.name == expected.name and param.type is not None:
                scope = self_ty.scope if self_ty is not None and self_ty.scope is not None else info.scope
                bounds = unification.evaluate_pattern(elab, param.type, scope, info.module)
    return isinstance(bounds, TraitTy) and bool(calls_of(bounds))


def unify_call(
    elab: Elaboration, bound_trait: TraitTy, actual: ParameterArgument, bound: dict[UnboundParameter, ParameterArgument]
) -> None:
    """Bind the open parameters of the function types among a parameter's traits by the type given for it."""
    for pattern in calls_of(bound_trait):
        if pattern.symbolic and isinstance(actual, FunctionTy):
            function_instances.unify_function(elab, pattern, actual, bound)
        elif pattern.symbolic and isinstance(actual, StructTy):
            methods = struct_members.method_set(elab, actual, CALL)
            if methods is not None:
                of = function_types.fn_type_of(elab, FunctionValue(methods, (), (), actual))
                function_instances.unify_function(elab, _with_receiver(elab, pattern, actual), of, bound)


def _with_receiver(elab: Elaboration, ty: FunctionTy, receiver: StructTy) -> FunctionTy:
    """Return the type of a method `__call__` for values that are called as a function type says."""
    first: tuple[str, ParameterArgument] = ("read", receiver)
    if ty.syntax is not None:
        return replace(ty, args=(first, *ty.args))
    return function_types.function_type(
        elab, (first, *ty.args), ty.result, ty.raises, ty.effects, (), ty.result_ref, ty.error
    )
