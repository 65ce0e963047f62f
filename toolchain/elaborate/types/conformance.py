"""A type that does not conform to a trait. In: both. Out: the mismatch, and for a struct of the user's what to do."""

from functools import partial
from typing import Any

from ktc.diag.codes import Code
from ktc.elaborate.model.declarations import FnSet, TraitInfo
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.values import KV, PartialTy, StructTy, Sym, TraitTy, Ty
from ktc.elaborate.types.default_methods import SYNTHESISED
from ktc.syntax import ast


def unmet(elab: Any, ty: Ty, want: TraitTy, asks: str = "") -> Mismatch:
    """Return why a type cannot be given; `asks` ends the message."""
    missing = [trait for trait in want.traits if not elab.conforms(ty, elab.trait((trait,)))] or list(want.traits)
    named = " & ".join(trait.name for trait in missing)
    text = f"'{elab.type_name(ty)}' does not conform to '{named}'{asks}"
    why = Mismatch(Code.TRAIT_NOT_MET, text, weight=2, hint=partial(_help, ty, missing))
    why.culprit = ty
    return why


def not_in_tuple(elab: Any, ty: Ty) -> Mismatch | None:
    """Return why a value of a type cannot be in a tuple, or None if it can."""
    lacking = [name for name in ("Copyable", "Movable") if not elab.has_trait(ty, name)]
    if not lacking or not isinstance(ty, StructTy) or ty.symbolic:
        return None
    return unmet(elab, ty, elab.trait(tuple(map(elab.prelude_name, lacking))), ", as the values of a tuple must")


def check_conforms(elab: Any, param: ast.Param, value: Any, want: TraitTy, what: str) -> None:
    """Check a value that is given for a parameter that is a type.

    Raises:
        Mismatch: it is no type, or one that does not conform.
    """
    if isinstance(value, TraitTy):
        hint = f"write a parameter, '[T: {elab.type_name(value)}]', and use 'T'"
        text = f"'{param.name}' of {what} wants a type, not a trait"
        raise Mismatch(Code.TYPE_MISMATCH, text, weight=2, hint=hint)
    if isinstance(value, PartialTy):
        if _follows(value):
            return
        text = f"'{value.info.name}' needs its parameters before it can be parameter '{param.name}' of {what}"
        raise Mismatch(Code.PARAMETER_COUNT, text, weight=2)
    if isinstance(value, KV) and isinstance(value.data, (int, tuple, float)):
        raise Mismatch(Code.TYPE_MISMATCH, f"parameter '{param.name}' of {what} wants a type", weight=2)
    if isinstance(value, StructTy) and not value.symbolic and not elab.conforms(value, want):
        if value.info.lacks_trait:
            raise Abort
        raise unmet(elab, value, want, f", as parameter '{param.name}' of {what} asks")


def _follows(value: PartialTy) -> bool:
    """Does what a type lacks come with a parameter that has no value yet, as the `mut` of its origin does."""
    lacking = [param for param, given in zip(value.info.node.params, value.params, strict=True) if given is None]
    return all(param.kind == "infer" for param in lacking) and any(isinstance(given, Sym) for given in value.params)


def no_trait(value: Any) -> tuple[str, str]:
    """Return what to say about something that stands in the head of a struct and is no trait, and what to do."""
    if isinstance(value, (StructTy, PartialTy)):
        return (
            f"'{value.info.name}' is a struct, and only traits can stand here",
            "structs do not inherit; hold it in a field",
        )
    return "a trait is wanted here", ""


def _help(ty: Ty, missing: list[TraitInfo]) -> str:
    if not isinstance(ty, StructTy) or ty.info.module.is_library or ty.info.bound is not None:
        return ""
    names = ", ".join(f"'{trait.name}'" for trait in missing)
    methods = [
        f"'{name}'" for trait in missing for name, member in trait.members.items()
        if isinstance(member, FnSet) and name not in SYNTHESISED and name not in ty.info.members
        and all(fn.node.body is None for fn in member.functions)
    ]  # fmt: skip
    needs = f", and give it {' and '.join(methods)}" if methods else ""
    return f"name {names} in the head of '{ty.info.name}'{needs}"
