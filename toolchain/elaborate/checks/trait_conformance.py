"""Conformance of structs to their traits. Input: a struct of the program. Output: diagnostics at the struct's name.

Methods are compared as far as their types can be known without a call: parametric ones by their name and arguments.
"""

import contextlib

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Label, Sink
from ktc.diag.source import Span
from ktc.elaborate.builder.linear_types import check_fields
from ktc.elaborate.checks.struct_decorators import check_fieldwise, check_registers, constructor_arguments
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.generics import archetypes, unification
from ktc.elaborate.generics.archetypes import MARK, NoArchetype
from ktc.elaborate.model.declarations import AliasInfo, FunctionInfo, OverloadSet, Scope, StructInfo, TraitInfo, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.reporting import FOUND_HERE
from ktc.elaborate.model.spelling import nearest
from ktc.elaborate.model.types import ConstValue, ParameterArgument, StructTy, TraitTy
from ktc.elaborate.types import struct_members, struct_types, type_printer
from ktc.elaborate.types.struct_members import MADE
from ktc.syntax import ast


def check_traits(elab: Elaboration, info: StructInfo) -> None:
    """Report requirements of a struct's traits that nothing implements."""
    try:
        traits = struct_members.traits_of(elab, info)
    except ErrorReported:
        return
    given = {name for trait in traits for name, member in trait.members.items() if _is_provided(member)}
    ty = archetypes.own_type(elab, info)
    check_registers(elab, info, ty)
    check_fields(elab, info)
    check_fieldwise(elab, info, ty)
    _check_defaults(elab, info, ty, traits)
    _check_fields(elab, info, ty, {trait.name for trait in traits})
    for trait in traits:
        for name, member in trait.members.items():
            own = info.members.get(name)
            if isinstance(member, AliasInfo):
                if own is None and name not in given and name not in {p.name for p in info.node.params}:
                    _report(elab, info, trait, f"lacks the alias '{name}' that", member)
                elif isinstance(own, AliasInfo) and not _alias_fits(elab, ty, member, own):
                    _report(elab, info, trait, f"has no '{name}' of the kind that", member)
            elif isinstance(member, OverloadSet) and name == "__init__":
                for expected in member.functions:
                    if expected.node.body is None and not _constructs(info, own, expected):
                        _report(elab, info, trait, "lacks the constructor that", expected)
            elif isinstance(member, OverloadSet) and name not in MADE:
                if own is None and name not in given and struct_members.implied_member(elab, info, name) is None:
                    _report(elab, info, trait, f"lacks the method '{name}' that", member.functions[0])
                elif isinstance(own, OverloadSet) and name not in given and not _is_refined(elab, traits, trait, name):
                    _compare(elab, info, ty, trait, member, own)


def _is_refined(elab: Elaboration, traits: tuple[TraitInfo, ...], trait: TraitInfo, name: str) -> bool:
    """Return whether a trait that extends another one of the library's declares a method of it again."""
    return trait.module.is_library and any(
        name in one.members and trait in struct_members.parents_of(elab, one) for one in traits if one is not trait
    )


def _constructs(info: StructInfo, own: object, expected: FunctionInfo) -> bool:
    """Return whether a constructor of a struct takes as many arguments as one that a trait declares."""
    count = len(constructor_arguments(expected))
    if info.fieldwise and len(info.field_nodes) == count:
        return True
    for fn in own.functions if isinstance(own, OverloadSet) else ():
        args = constructor_arguments(fn)
        several = any(arg.kind in ("star", "starstar") for arg in args)
        required = [arg for arg in args if arg.default is None and arg.kind not in ("star", "starstar")]
        if len(required) <= count and (several or count <= len(args)):
            return True
    return False


def check_cycle(elab: Elaboration, info: TraitInfo) -> None:
    """Report a trait that extends itself through others, at the last of them."""
    for node in info.node.traits:
        named = node.id if isinstance(node, ast.Name) else ""
        circle = [one for one in struct_members.parents_of(elab, info) if one.name == named]
        if not circle or circle[0].node.start > info.node.start:
            continue
        if struct_members.conforms(
            elab, struct_members.trait_type(elab, (circle[0],)), struct_members.trait_type(elab, (info,))
        ):
            span = Span(info.module.source, node.start, node.end)
            notes = (Label(circle[0].span(), "declared here"),) if circle[0] is not info else ()
            text = f"trait '{info.name}' extends itself" + (f", through '{named}'" if notes else "")
            elab.reporter.sink.report(Diagnostic(Code.UNSATISFIED_TRAIT, span, text, "", notes))
            return


def _check_defaults(elab: Elaboration, info: StructInfo, ty: StructTy, traits: tuple[TraitInfo, ...]) -> None:
    """Report a method that two traits of the program provide and the struct does not define itself."""
    first: dict[str, list[tuple[TraitInfo, FunctionInfo]]] = {}
    for trait in traits:
        for name, member in () if trait.module.is_library else trait.members.items():
            if not isinstance(member, OverloadSet) or name in info.members:
                continue
            for fn in member.functions:
                if fn.node.body is None:
                    continue
                for other, have in first.get(name, ()):
                    if other is not trait and _fits(elab, ty, fn, have) and _fits(elab, ty, have, fn):
                        text = f"traits '{other.name}' and '{trait.name}' of struct '{info.name}' both give '{name}'"
                        notes = tuple(Label(one.span(), "given here") for one in (have, fn))
                        help = f"let '{info.name}' have its own"
                        elab.reporter.sink.report(Diagnostic(Code.UNSATISFIED_TRAIT, info.span(), text, help, notes))
                first.setdefault(name, []).append((trait, fn))


def _check_fields(elab: Elaboration, info: StructInfo, ty: StructTy, traits: set[str]) -> None:
    """Report a field that cannot be copied or moved in a struct that is declared to be."""
    with contextlib.suppress(ErrorReported, Mismatch, Symbolic):
        fields = struct_types.fields_of(elab, ty)
        if len(fields) != len(info.field_nodes):
            return  # the error in a field's type is reported there
        for (name, kind), node in zip(fields, info.field_nodes, strict=True):
            copied = (
                struct_members.has_trait(elab, kind, "Copyable")
                or struct_members.method_set(elab, kind, "__copyinit__") is not None
            ) and struct_members.copies_values(elab, kind)
            moved = (
                copied
                or struct_members.has_trait(elab, kind, "Movable")
                or struct_members.method_set(elab, kind, "__moveinit__") is not None
            )
            for trait, method, can in (("Copyable", "__copyinit__", copied), ("Movable", "__moveinit__", moved)):
                if trait == "Copyable" and "ImplicitlyCopyable" in traits and not info.module.is_library:
                    trait, can = "ImplicitlyCopyable", struct_members.is_copied_implicitly(elab, kind)
                if trait in info.trait_conditions and MARK in type_printer.type_name(elab, kind):
                    continue  # of a type parameter the condition may say that it can
                if trait in traits and not can and method not in info.members:
                    done = {"Copyable": "copied", "Movable": "moved"}.get(trait, "copied implicitly")
                    shown = type_printer.type_name(elab, kind).replace(MARK, "")
                    text = f"field '{name}' of type '{shown}' cannot be {done}, so '{info.name}' is not "
                    help = f"give '{info.name}' the method '{method}', or remove '{trait}' from its traits"
                    span = Span(info.module.source, node.start, node.end)
                    elab.reporter.sink.report(Diagnostic(Code.UNSATISFIED_TRAIT, span, f"{text}'{trait}'", help))
                    return


def _alias_fits(elab: Elaboration, ty: StructTy, expected: AliasInfo, own: AliasInfo) -> bool:
    """Return whether the value of an alias has the kind that a trait declares, as far as known."""
    if expected.node.type is None or expected.node.params or own.node.params or expected.module.is_library:
        return True
    scope = Scope(expected.scope, "struct", {"Self": ty}, ty)
    outer = elab.reporter.redirect(Sink())  # their errors are reported where they stand
    queue, length = elab.instances.state.queue, len(elab.instances.state.queue)
    try:
        kind = unification.evaluate_pattern(elab, expected.node.type, scope, expected.module)
        value = evaluation.alias_value(elab, own, ty)
        if isinstance(kind, TraitTy):
            return not isinstance(value, StructTy) or value.symbolic or struct_members.conforms(elab, value, kind)
        if isinstance(kind, StructTy) and isinstance(value, ConstValue) and not (kind.symbolic or value.ty is kind):
            return evaluation.convert_constant(elab, value, kind) is not None
    except (ErrorReported, Mismatch, Symbolic, NoArchetype):
        return True
    finally:
        elab.reporter.redirect(outer)
        del queue[length:]  # functions of a struct with stand-ins for its parameters
    return True


def _is_provided(member: object) -> bool:
    if isinstance(member, AliasInfo):
        return member.node.value is not None
    return isinstance(member, OverloadSet) and any(fn.node.body is not None for fn in member.functions)


def _report(elab: Elaboration, info: StructInfo, trait: TraitInfo, what: str, member: AliasInfo | FunctionInfo) -> None:
    at = info.node.name_start
    span = Span(info.module.source, at, at + len(info.name))
    start = member.node.name_start
    notes = (Label(Span(member.module.source, start, start + len(member.name)), "declared here"),)
    text = f"struct '{info.name}' {what} its trait '{trait.name}' asks for"
    expected = {name for one in struct_members.traits_of(elab, info) for name in one.members}
    near = "" if member.name in info.members else nearest(member.name, info.members.keys() - expected)
    help = f"rename '{near}' to '{member.name}'" if near else ""
    if not help and isinstance(member, FunctionInfo):
        help = _needed(info, member)
    if trait.module.is_library:  # what the library's own code then finds wrong follows from it
        elab.reporter.sink.withdraw(_is_found_in_library)
    elab.reporter.sink.report(
        Diagnostic(Code.UNSATISFIED_TRAIT, span, text, help, () if trait.module.is_library else notes)
    )


def _needed(info: StructInfo, member: FunctionInfo) -> str:
    """Return the help for a struct that lacks a trait's method: how its own method differs."""
    own = info.members.get(member.name)
    if isinstance(own, OverloadSet):
        only_raises = any(member.raises and not have.raises for have in own.functions)
        return "the trait's method raises: add 'raises', or write 'def'" if only_raises else ""
    if isinstance(member.owner, TraitInfo) and member.owner.call is not None:
        return f"write 'def {_call_head(member)}'"
    if member.node.head.only_passes:
        return f"write 'fn {_head(member)}'; a default that does nothing is 'return', not 'pass'"
    return f"write 'fn {_head(member)}'"


def _call_head(member: FunctionInfo) -> str:
    """Return how the method is declared that the trait of a function type asks for."""
    owner = member.owner
    assert isinstance(owner, TraitInfo)
    written = owner.name.removeprefix("def")
    return f"{member.name}(self{'' if written.startswith('()') else ', …'}){written[written.index(')') + 1 :]}"


def _is_found_in_library(one: Diagnostic) -> bool:
    return any(note.text == FOUND_HERE and note.span is not None and note.span.source.is_library for note in one.notes)


def _head(fn: FunctionInfo) -> str:
    """Return how a function is declared, in one line."""
    text, depth = fn.module.source.text, 0
    for at in range(fn.node.name_start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if text[at] == ":" and depth == 0:
            return " ".join(text[fn.node.name_start : at].split())
    return fn.name


def _compare(
    elab: Elaboration, info: StructInfo, ty: StructTy, trait: TraitInfo, expected_name: OverloadSet, own: OverloadSet
) -> None:
    for expected in expected_name.functions:
        if expected.node.body is None and not any(_fits(elab, ty, expected, have) for have in own.functions):
            _report(elab, info, trait, f"has no '{expected.name}' of the form that", expected)


def _fits(elab: Elaboration, ty: StructTy, expected: FunctionInfo, have: FunctionInfo) -> bool:
    """Return whether a method implements the one that the trait declares."""
    if expected.static != have.static or (have.raises and not expected.raises):
        return False
    if expected.raises and not have.raises and not have.module.is_library and have.module.edition is Edition.Y2025:
        return False
    if have.node.params or any(a.kind in ("star", "starstar") for a in (*expected.node.args, *have.node.args)):
        return True
    if len(expected.node.args) != len(have.node.args):
        return False
    params = {param.name for param in expected.node.params}
    for a, b in zip(expected.node.args, have.node.args, strict=True):
        if a.convention in ("", "read", "borrowed") and b.convention in ("mut", "inout"):
            return False
        if params:
            if isinstance(a.type, ast.Name) and a.type.id in params and _is_one_type(_type(elab, ty, have, b.type)):
                return False
        elif not _same(_type(elab, ty, expected, a.type), _type(elab, ty, have, b.type)):
            return False
    return bool(params) or _same(
        _type(elab, ty, expected, expected.node.result), _type(elab, ty, have, have.node.result)
    )


def _is_one_type(kind: object) -> bool:
    """Whether an argument takes values of this one type only, where the trait says any."""
    return isinstance(kind, StructTy) and not kind.symbolic


def _type(elab: Elaboration, ty: StructTy, fn: FunctionInfo, node: ast.Expr | None) -> ParameterArgument:
    """Return the type that a method declares, or None if it depends on more than the declaration."""
    if isinstance(node, ast.Attribute):
        known = isinstance(node.value, ast.Name) and node.value.id == "Self"
        if not known or not isinstance(struct_members.member(elab, ty, node.name), AliasInfo):
            return None
    elif not isinstance(node, (ast.Name, ast.Subscript)):
        return None
    names = {a.name for a in fn.node.args}
    if _mentions(node, names):
        return None
    outer = elab.reporter.redirect(Sink())  # its errors are reported where it stands
    try:
        return unification.evaluate_pattern(elab, node, unification.fn_scope_parent(elab, fn, ty), fn.module)
    except ErrorReported:
        return None
    finally:
        elab.reporter.redirect(outer)


def _mentions(node: ast.Node, names: set[str]) -> bool:
    """Return whether a type depends on an argument."""
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


def _same(a: object, b: object) -> bool:
    known = all(isinstance(t, Ty) and not isinstance(t, TraitTy) and not getattr(t, "symbolic", False) for t in (a, b))
    return not known or a is b
