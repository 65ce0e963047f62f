"""Refinement of type parameters by conditions: inside its branch, `conforms_to(T, Trait)` holds.

Input: conditions of a generic body of edition 2026, which is looked at with archetypes. Output: these have the traits
too, for a while. Instances need none of this: they have the types themselves.
"""

import contextlib
from collections.abc import Iterator, Sequence

from ktc.base.editions import Edition
from ktc.elaborate.generics import archetypes
from ktc.elaborate.model.declarations import Member, ModuleInfo, Scope, TraitInfo
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import StructTy, TraitTy
from ktc.elaborate.types import struct_members
from ktc.syntax import ast


@contextlib.contextmanager
def refined(elab: Elaboration, conditions: Sequence[ast.Expr], scope: Scope, module: ModuleInfo) -> Iterator[None]:
    """Let the conditions hold inside of a `with`."""
    before: list[tuple[StructTy, tuple[TraitInfo, ...] | None, dict[str, Member], TraitTy]] = []
    for ty, trait in _promises(elab, conditions, scope, module):
        bound = ty.info.bound
        assert isinstance(bound, TraitTy)
        before.append((ty, ty.info.traits, dict(ty.info.members), bound))
        refine(elab, ty, trait)
    try:
        yield
    finally:
        for ty, traits, members, bound in reversed(before):
            ty.info.traits, ty.info.members, ty.info.bound = traits, members, bound
            _forget(ty)


def assume(elab: Elaboration, condition: ast.Expr, scope: Scope, module: ModuleInfo) -> None:
    """Let a condition hold from here on."""
    for ty, trait in _promises(elab, (condition,), scope, module):
        refine(elab, ty, trait)


def refine(elab: Elaboration, ty: StructTy, trait: TraitTy) -> None:
    """Give an archetype more traits."""
    info, found = ty.info, list(ty.info.traits or ())
    assert isinstance(info.bound, TraitTy)
    for one in trait.traits:
        struct_members.add_trait(elab, one, found)
    for one in found[len(info.traits or ()) :]:
        for name, member in one.members.items():
            archetypes.add_member(info.members, name, member)
    info.traits = tuple(found)
    info.bound = struct_members.trait_type(elab, tuple(dict.fromkeys((*info.bound.traits, *trait.traits))))
    _forget(ty)


def _forget(ty: StructTy) -> None:
    ty.conforms.clear()
    ty.info.inherited_members.clear()


def _promises(
    elab: Elaboration, conditions: Sequence[ast.Expr], scope: Scope, module: ModuleInfo
) -> list[tuple[StructTy, TraitTy]]:
    """Return the archetypes and traits of all `conforms_to` that the conditions ask for."""
    found: list[tuple[StructTy, TraitTy]] = []
    if module.edition is Edition.Y2025 or module.is_library:
        return found
    for node in _calls(conditions):
        with contextlib.suppress(ErrorReported, Symbolic, Mismatch):
            ty, trait = (elab.api.evaluate(elab, arg, scope, module) for arg in node.args)
            if isinstance(ty, StructTy) and ty.info.bound is not None and isinstance(trait, TraitTy):
                found.append((ty, trait))
    return found


def _calls(conditions: Sequence[ast.Expr]) -> list[ast.Call]:
    work, found = list(conditions), list[ast.Call]()
    while work:
        node = work.pop()
        if isinstance(node, ast.BoolOp) and node.op == "and":
            work += [node.right, node.left]
        elif isinstance(node, ast.TupleLit) and node.items:  # with a message
            work.append(node.items[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "conforms_to":
            found += [node] if len(node.args) == 2 else []
    return found
