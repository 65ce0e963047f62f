"""Does a struct have what its traits ask for? In: a struct of the user's. Out: diagnostics at the struct's name.

Methods are compared as far as their types can be known without a call: parametric ones by their name only.
"""

from typing import Any

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Label
from ktc.diag.source import Span
from ktc.elaborate.mismatch import Abort
from ktc.elaborate.scope import AliasInfo, FnInfo, FnSet, StructInfo, TraitInfo
from ktc.elaborate.values import StructTy, TraitTy, Ty
from ktc.syntax import ast

SYNTHESISED = frozenset(("__init__", "__copyinit__", "__moveinit__", "__del__", "copy"))
"""Methods that a struct may have without writing them."""


def check_traits(elab: Any, info: StructInfo) -> None:
    """Report what a trait of a struct asks for and nothing gives."""
    try:
        traits = elab.traits_of(info)
    except Abort:
        return
    given = {name for trait in traits for name, member in trait.members.items() if _gives(member)}
    for trait in traits:
        for name, member in trait.members.items():
            own = info.members.get(name)
            if isinstance(member, AliasInfo):
                if own is None and name not in given and name not in {p.name for p in info.node.params}:
                    _report(elab, info, trait, f"lacks the alias '{name}' that", member)
            elif isinstance(member, FnSet) and name not in SYNTHESISED:
                if own is None and name not in given:
                    _report(elab, info, trait, f"lacks the method '{name}' that", member.functions[0])
                elif isinstance(own, FnSet) and name not in given:
                    _compare(elab, info, trait, member, own)


def _gives(member: Any) -> bool:
    if isinstance(member, AliasInfo):
        return member.node.value is not None
    return isinstance(member, FnSet) and any(fn.node.body is not None for fn in member.functions)


def _report(elab: Any, info: StructInfo, trait: TraitInfo, what: str, member: AliasInfo | FnInfo) -> None:
    at = info.node.name_start
    span = Span(info.module.source, at, at + len(info.name))
    start = member.node.name_start
    notes = (Label(Span(member.module.source, start, start + len(member.name)), "declared here"),)
    text = f"struct '{info.name}' {what} its trait '{trait.name}' asks for"
    elab.sink.report(Diagnostic(Code.TRAIT_NOT_MET, span, text, "", () if trait.module.is_library else notes))


def _compare(elab: Any, info: StructInfo, trait: TraitInfo, wanted: FnSet, own: FnSet) -> None:
    ty = elab.symbolic_struct(info) if info.node.params else elab.struct(info, ())
    for want in wanted.functions:
        if want.node.body is None and not any(_fits(elab, ty, want, have) for have in own.functions):
            _report(elab, info, trait, f"has no '{want.name}' of the form that", want)


def _fits(elab: Any, ty: StructTy, want: FnInfo, have: FnInfo) -> bool:
    """Can the method stand for the one that the trait declares?"""
    if want.static != have.static or (have.raises and not want.raises):
        return False
    if want.node.params or have.node.params or any(a.kind in ("star", "starstar") for a in have.node.args):
        return True
    if len(want.node.args) != len(have.node.args):
        return False
    for a, b in zip(want.node.args, have.node.args, strict=True):
        if a.convention in ("", "read", "borrowed") and b.convention in ("mut", "inout"):
            return False
        if not _same(_type(elab, ty, want, a.type), _type(elab, ty, have, b.type)):
            return False
    return _same(_type(elab, ty, want, want.node.result), _type(elab, ty, have, have.node.result))


def _type(elab: Any, ty: StructTy, fn: FnInfo, node: ast.Expr | None) -> Any:
    """Return the type that a method declares, or None if it cannot be told alone."""
    if not isinstance(node, (ast.Name, ast.Subscript)):
        return None
    names = {a.name for a in fn.node.args}
    if _mentions(node, names):
        return None
    try:
        return elab.evaluate_pattern(node, elab.fn_scope_parent(fn, ty), fn.module)
    except Abort:
        return None  # reported, or told where it is used


def _mentions(node: Any, names: set[str]) -> bool:
    """Does a type speak of an argument?"""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Attribute(value=value):
            return _mentions(value, names)
        case ast.Subscript(base=base, args=args, keywords=keywords):
            return any(_mentions(part, names) for part in (base, *args, *(k.value for k in keywords)))
        case ast.Call(func=func, args=args):
            return any(_mentions(part, names) for part in (func, *args))
    return not isinstance(node, (ast.IntLit, ast.StrLit, ast.BoolLit))


def _same(a: Any, b: Any) -> bool:
    known = all(isinstance(t, Ty) and not isinstance(t, TraitTy) and not getattr(t, "symbolic", False) for t in (a, b))
    return not known or a is b
