"""Missing conformances, and missing bounds of type parameters."""

from functools import partial
from typing import NoReturn

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.generics.archetypes import MARK
from ktc.elaborate.model.declarations import OverloadSet, StructInfo, TraitInfo, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Instance
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    Opaque,
    ParameterArgument,
    PartialTy,
    StructTy,
    TraitTy,
    UnboundParameter,
)
from ktc.elaborate.resolve import modules
from ktc.elaborate.resolve.hints import trait_hint
from ktc.elaborate.types import struct_members, type_printer
from ktc.elaborate.types.struct_members import SYNTHESISED
from ktc.syntax import ast


def missing_conformance(elab: Elaboration, ty: Ty, expected: TraitTy, asks: str = "") -> Mismatch:
    """Return why a type cannot be given; `asks` ends the message."""
    missing = [
        trait
        for trait in expected.traits
        if not struct_members.conforms(elab, ty, struct_members.trait_type(elab, (trait,)))
    ] or list(expected.traits)
    named = " & ".join(trait.name for trait in missing)
    name = type_printer.type_name(elab, ty)
    if name.startswith("fn(") and any(trait.call is not None for trait in missing):
        name = f"def{name.removeprefix('fn')}"
    text = f"'{name}' does not conform to '{named}'{asks}"
    reason = Mismatch(Code.UNSATISFIED_TRAIT, text, weight=2, hint=partial(_help, ty, missing, name))
    reason.culprit = ty
    return reason


def not_in_tuple(elab: Elaboration, ty: Ty) -> Mismatch | None:
    """Return why a value of a type cannot be in a tuple, or None if it can."""
    lacking = [name for name in ("Copyable", "Movable") if not struct_members.has_trait(elab, ty, name)]
    if not lacking or not isinstance(ty, StructTy) or ty.symbolic or struct_members.is_only_moved(elab, ty):
        return None
    traits = map(partial(modules.prelude_name, elab), lacking)
    return missing_conformance(
        elab,
        ty,
        struct_members.trait_type(elab, tuple(trait for trait in traits if isinstance(trait, TraitInfo))),
        ", as the values of a tuple must",
    )


def check_conforms(elab: Elaboration, param: ast.Param, value: ParameterArgument, expected: TraitTy, what: str) -> None:
    """Check a value that is given for a type parameter.

    Raises:
        Mismatch: it is no type, or one that does not conform.
    """
    if isinstance(value, TraitTy):
        if any(trait.call is not None for trait in value.traits):
            text = f"'{param.name}' of {what} must be a type, and a function type without 'thin' is a trait"
            raise Mismatch(
                Code.TYPE_MISMATCH, text, weight=2, hint="write 'thin' before '->' for pointers to functions"
            )
        hint = f"write a parameter, '[T: {type_printer.type_name(elab, value)}]', and use 'T'"
        text = f"'{param.name}' of {what} must be a type, not a trait"
        raise Mismatch(Code.TYPE_MISMATCH, text, weight=2, hint=hint)
    if isinstance(value, PartialTy):
        if _depends_on_unbound(value):
            return
        text = f"'{value.info.name}' needs its parameters before it can be parameter '{param.name}' of {what}"
        raise Mismatch(Code.WRONG_PARAMETER_COUNT, text, weight=2)
    if isinstance(value, ConstValue) and isinstance(value.data, (int, tuple, float)):
        raise Mismatch(Code.TYPE_MISMATCH, f"parameter '{param.name}' of {what} must be a type", weight=2)
    is_called = isinstance(value, FunctionTy) and any(trait.call is not None for trait in expected.traits)
    if is_called and isinstance(value, FunctionTy) and not struct_members.conforms(elab, value, expected):
        raise missing_conformance(elab, value, expected, f", as parameter '{param.name}' of {what} asks")
    if isinstance(value, StructTy) and not value.symbolic and not struct_members.conforms(elab, value, expected):
        if value.info.has_trait_error:
            raise ErrorReported
        raise missing_conformance(elab, value, expected, f", as parameter '{param.name}' of {what} asks")


def check_trait(elab: Elaboration, param: ast.Param, value: ParameterArgument, expected: TraitTy, what: str) -> TraitTy:
    """Check a value that is given for a parameter that is a trait, and return it.

    Raises:
        Mismatch: it is no trait, or one that does not extend the expected one.
    """
    shown = type_printer.type_name(elab, expected)
    if not isinstance(value, TraitTy):
        raise Mismatch(Code.TYPE_MISMATCH, f"'{param.name}' of {what} must be a trait that extends '{shown}'", weight=2)
    found: list[TraitInfo] = []
    for trait in value.traits:
        struct_members.add_trait(elab, trait, found)
    if any(trait not in found and trait.name != "AnyType" for trait in expected.traits):
        text = f"'{param.name}' of {what} must extend '{shown}', and '{type_printer.type_name(elab, value)}' does not"
        raise Mismatch(Code.UNSATISFIED_TRAIT, text, weight=2)
    return value


def _depends_on_unbound(value: PartialTy) -> bool:
    """Return whether what is missing may follow from an unbound parameter, such as the `mut` of an origin."""
    lacking = [param for param, given in zip(value.info.node.params, value.params, strict=True) if given is None]
    return all(param.kind == "infer" for param in lacking) and any(
        isinstance(given, (UnboundParameter, Opaque)) for given in value.params
    )


def _help(ty: Ty, missing: list[TraitInfo], shown: str) -> str:
    if hint := trait_hint(shown, [trait.name for trait in missing]):
        return hint
    if not isinstance(ty, StructTy) or ty.info.module.is_library or ty.info.bound is not None:
        return ""
    if ty.info.closure is not None:
        is_copied = missing[0].name in ("Copyable", "ImplicitlyCopyable")
        return "a closure has it if all that it captures with 'var' has" if is_copied else ""
    names = ", ".join(f"'{trait.name}'" for trait in missing)
    methods = [
        f"'{name}'" for trait in missing for name, member in trait.members.items()
        if isinstance(member, OverloadSet) and name not in SYNTHESISED and name not in ty.info.members
        and all(fn.node.body is None for fn in member.functions)
    ]  # fmt: skip
    needs = f", and give it {' and '.join(methods)}" if methods else ""
    return f"add {names} to the traits of '{ty.info.name}'{needs}"


def missing_trait_bound(
    elab: Elaboration, ty: StructTy, name: str, span: Span | None, instance: Instance | None
) -> NoReturn:
    """Report that the bound of a type parameter does not promise a member."""
    bound = ty.info.bound
    assert bound is not None
    if name == "__init__" and isinstance(bound, TraitTy) and any(trait.call is not None for trait in bound.traits):
        text = f"'{ty.info.name}' is a type here, for '{bound}' is a trait: it cannot be called itself"
        help = "take the function as an argument of that type, or write 'thin' before '->' for a function"
        elab.fail(Code.NOT_CALLABLE, text, span, help, instance)
    known = _traits_with(elab, name)
    help = f"declare a trait that has '{name}', and add it to the bound"
    if known:
        help = f"'{known[0].name}' has it: {add_bound_help(ty.info, known[0].name)}"
    text = f"'{ty.info.name}' has no '{name}': its only bound is '{bound}'"
    elab.fail(Code.MISSING_TRAIT_BOUND, text, span, help, instance)


def _traits_with(elab: Elaboration, name: str) -> list[TraitInfo]:
    """Return the traits of the program and the prelude that have a member, those that ask for least first."""
    found: dict[int, TraitInfo] = {}
    for scope in (elab.modules.main.scope, elab.modules.prelude_scope):
        for spelled in list(scope.names) if scope is not None else ():
            own = scope is elab.modules.main.scope
            value = (
                modules.module_name(elab, elab.modules.main, spelled) if own else modules.prelude_name(elab, spelled)
            )
            if isinstance(value, TraitInfo) and name in value.members:
                found.setdefault(value.uid, value)
    return sorted(found.values(), key=lambda trait: (len(trait.members) + len(trait.node.traits), trait.name))


def add_bound_help(info: StructInfo, more: str) -> str:
    """Return how to add a trait to the bound of a type parameter."""
    assert isinstance(info.bound, TraitTy)
    if info.name == f"{MARK}Self":
        return f"let trait '{info.bound}' extend '{more}'"
    traits = dict.fromkeys((*(t.name for t in info.bound.traits if t.name != "AnyType"), more))
    return f"let the bound say '{' & '.join(traits)}'"
