"""Members: `base.name`, of values, types, modules and parts of values."""

from typing import NoReturn

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import place_operations, variables
from ktc.elaborate.calls import call_lowering, conversions
from ktc.elaborate.calls.writeback import attribute_of, field_of, runs_after_operands
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.expressions import edition_members, names
from ktc.elaborate.generics import archetypes, parameter_binding, unification
from ktc.elaborate.model.declarations import AliasInfo, Member, ModuleInfo, OverloadSet, StructInfo, Ty
from ktc.elaborate.model.elaboration import UNIT_CONST, Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import (
    BoundAlias,
    ConstValue,
    FunctionTy,
    FunctionValue,
    ModuleValue,
    Opaque,
    ParameterArgument,
    ParameterPack,
    PartialTy,
    StructTy,
    UnboundParameter,
)
from ktc.elaborate.model.values import (
    Arg,
    Binding,
    DeferredOperand,
    Method,
    PackValue,
    Place,
    Result,
    RValue,
    Val,
    Var,
)
from ktc.elaborate.primitives import spellings
from ktc.elaborate.resolve import edition_imports, modules
from ktc.elaborate.resolve.hints import function_hint, import_hint, member_hint
from ktc.elaborate.resolve.suggestions import suggest_import, suggest_member
from ktc.elaborate.tree import lifecycle
from ktc.elaborate.types import (
    lookup,
    struct_members,
    struct_types,
    triviality,
    type_printer,
    well_known,
)
from ktc.syntax import ast

_WRAPPED = ("_mlir_value", "address")
_PRIMITIVES = ("__mlir_type", "__mlir_attr", "__mlir_op")
_MAKERS = ("__init__", "__copyinit__", "__moveinit__")
"""They make a new value, whatever value stands before the dot."""


def attribute(body: Body, node: ast.Attribute) -> Result:
    """Elaborate `value.name`."""
    if isinstance(node.value, ast.Name) and node.value.id == "__mlir_type":
        return spellings.type_named(body, node.name, body.at(node))
    if isinstance(node.value, ast.Name) and node.value.id == "__mlir_attr":
        return spellings.attribute(body, node.name, body.at(node))
    if isinstance(node.value, ast.Name) and node.value.id == "__mlir_op":
        body.fail(Code.SYNTAX_ERROR, "a primitive operation is only called", body.at(node))
    return require_place(body, place_or_value(body, node), node)


def require_place(body: Body, value: Result, node: ast.Node) -> Result:
    """Require that the result of `part` is initialized."""
    if isinstance(value, Place) and value.local is not None and not value.owned:
        variables.require(body, value, node)
    return value


def place_or_value(body: Body, node: ast.Expr) -> Result:
    """Elaborate a variable or a field of one, whether or not it has a value; anything else as `expr` does."""
    if isinstance(node, ast.Name):
        found = variables.find(body, node.id)
        return variables.variable(body, found, node, True) if isinstance(found, Var) else body.api.expr(body, node)
    if not isinstance(node, ast.Attribute) or (isinstance(node.value, ast.Name) and node.value.id in _PRIMITIVES):
        return body.api.expr(body, node)
    base = place_or_value(body, node.value)
    if isinstance(base, Place) and base.local is not None and base.computed_from is None:
        member = struct_members.member(body.elab, base.ty, node.name) if isinstance(base.ty, StructTy) else None
        if isinstance(member, ast.VarDecl) and not _is_renamed(body, base.ty, node.name):
            return place_operations.field(body, base, node.name)
        if node.name not in _MAKERS and not _is_of_type(member, base.ty, node.name):
            require_place(body, base, node.value)
    if node.name == "alloc" and isinstance(base, (StructTy, PartialTy)):
        _check_alloc(body, base, node)
    return member_of(body, base, node.name, node)


def _check_alloc(body: Body, base: StructTy | PartialTy, node: ast.Attribute) -> None:
    """Report 'UnsafePointer[T].alloc': only the pointer of the older name has this method."""
    name = node.value.base if isinstance(node.value, ast.Subscript) else node.value
    if body.frame.module.is_library or not isinstance(name, ast.Name) or base.info.name != "UnsafePointer":
        return
    found = lookup.find(body.elab, name.id, body.frame.scope, body.frame.module)
    if found is well_known.library_info(body.elab, "UnsafePointer"):
        help_text = "write 'alloc[T](count)', or import 'LegacyUnsafePointer' from 'memory'"
        body.fail(Code.NO_MEMBER, "'UnsafePointer' has no member 'alloc'", body.at(node), help_text)


def _is_of_type(member: Member | None, ty: Ty, name: str) -> bool:
    """Return whether a member belongs to the type, so that no value is needed: `self.size` while `self` is built."""
    if isinstance(member, OverloadSet):
        return all(fn.static for fn in member.functions)
    own = isinstance(ty, StructTy) and any(param.name == name for param in ty.info.node.params)
    return own or isinstance(member, AliasInfo)


def _seen_by(body: Body, module: ModuleInfo, name: str) -> Binding:
    """Return the meaning of a name that a module's text sees without an import; in edition 2026 only of the prelude."""
    if body.frame.module.edition is Edition.Y2026:
        return modules.prelude_name(body.elab, name, module.edition)
    return lookup.find(body.elab, name, module.scope, module)


def member_of(body: Body, base: Result, name: str, node: ast.Node) -> Result:
    """Return a member of a value, a type or a module."""
    elab = body.elab
    if name in lifecycle.ROLES and not isinstance(base, ModuleValue):
        name = lifecycle.ROLES[name]
    if body.frame.module.edition is Edition.Y2026:
        name = _name_in_library(body, base, name, node)
    match base:
        case ModuleValue(module):
            renamed = edition_imports.member_import(elab, body.frame.module, module, name)
            found = modules.member(elab, module, name) if renamed is None else modules.follow(elab, renamed)
            if found is None:
                found = modules.submodule(elab, module, name)
            if found is None and not module.is_library:
                found = _seen_by(body, module, name)
            if found is None:
                of = module.name.removeprefix("std.")
                help = import_hint(of, name) or suggest_import(name, module.scope.names, elab.config.stdlib)
                body.fail(Code.NO_MEMBER, f"module '{of}' has no '{name}'", body.at(node), help)
            return names.resolve(body, found, node)
        case StructTy():
            return type_member(body, base, name, node)
        case PartialTy(info, _):
            open_ty = unification.symbolic_struct(elab, info)
            member = struct_members.member(elab, open_ty, name)
            values = tuple(b if p is None else p for p, b in zip(base.params, open_ty.params, strict=True))
            if isinstance(member, OverloadSet):
                return FunctionValue(member, (), (), struct_types.struct_type(elab, info, values))
            try:
                found = type_member(body, struct_types.struct_type(elab, info, values), name, node)
                if not isinstance(found, (UnboundParameter, Opaque)):
                    return found
            except Symbolic:
                pass
            body.fail(
                Code.CANNOT_INFER_PARAMETER,
                f"'{info.name}' needs parameters before its member '{name}'",
                body.at(node),
                "write 'alloc[T](count)', which returns an 'UnsafePointer'" if name == "alloc" else "",
            )
        case AliasInfo() | BoundAlias():
            return member_of(body, parameter_binding.open_alias(elab, base), name, node)
        case RValue() | Place() | ConstValue():
            return value_member(body, _with_member(body, base, name, node), name, node)
        case UnboundParameter() | Opaque():
            raise Symbolic
        case ParameterPack() if body.frame.module.edition is Edition.Y2026:
            return type_member(body, well_known.parameter_list_type(elab, base), name, node)
        case PackValue(items) if name == "__len__":
            return ConstValue(well_known.library_type(elab, "Int"), len(items))
        case Ty() if name in triviality.FLAGS:  # of a function, or a value of the compiler's own
            return well_known.bool_constant(elab, triviality.is_trivial(elab, base, name))
        case FunctionValue() if name == "copy" and (ty := elab.api.thin_type(elab, base)) is not None:
            pointer = body.api.function_value(body, base, ty, body.at(node))
            assert isinstance(pointer, RValue | Place)
            return value_member(body, pointer, name, node)
        case FunctionValue():
            body.fail(Code.NO_MEMBER, f"a function has no member '{name}'", body.at(node), function_hint(name))
        case _:
            body.fail(Code.NO_MEMBER, f"'{base}' has no member '{name}'", body.at(node))


def _with_member(body: Body, base: Val, name: str, node: ast.Node) -> Val:
    """Return an `Int` of edition 2026 as the scalar that it is, for a member that only vectors have."""
    if body.frame.module.edition is Edition.Y2025:
        return base
    scalar = well_known.as_scalar(body.elab, base.ty)
    if scalar is base.ty or struct_members.member(body.elab, base.ty, name) is not None:  # type: ignore[arg-type]
        return base
    is_found = isinstance(scalar, StructTy) and struct_members.member(body.elab, scalar, name) is not None
    return conversions.convert(body, base, scalar, body.at(node)) if is_found else base


def _is_renamed(body: Body, ty: Ty, name: str) -> bool:
    """Return whether a name of a struct's member means another one in edition 2026, or none."""
    if body.frame.module.edition is Edition.Y2025 or not isinstance(ty, StructTy):
        return False
    return name in ty.info.names_2026 or name in ty.info.hidden_2026


def _name_in_library(body: Body, base: Result, name: str, node: ast.Node) -> str:
    """Return a member's name in the library for its name in edition 2026."""
    of = base.ty if isinstance(base, (RValue, Place, ConstValue)) else base
    if not isinstance(of, (StructTy, PartialTy)):
        return name
    own, new = edition_members.own_name(body.elab, of.info, name)
    if new:
        _not_in_edition(body, of, name, node, f"write '{new}'")
    return own


def _check_seen(body: Body, ty: StructTy, member: OverloadSet, node: ast.Node) -> None:
    """Report a method that the edition of the text does not have."""
    if not member.seen_from(body.frame.module):
        shown = type_printer.type_name(body.elab, ty)
        help = member_hint(shown, member.name, _receiver(body, node))
        if help and body.frame.module.edition is Edition.Y2025:  # a habit from elsewhere, not from 2026
            at = Span(body.frame.module.source, getattr(node, "name_start", node.start), node.end)
            body.fail(Code.NO_MEMBER, f"'{shown}' has no member '{member.name}'", at, help)
        renamed = next((f"{word}_{member.name}" for word in ("ascii", "unsafe") if _has(ty, word, member.name)), "")
        _not_in_edition(body, ty, member.name, node, f"write '{renamed}'" if renamed else "")


def _has(ty: StructTy, word: str, name: str) -> bool:
    return f"{word}_{name}" in ty.info.members


def _not_in_edition(body: Body, ty: StructTy | PartialTy, name: str, node: ast.Node, help: str) -> NoReturn:
    start = getattr(node, "name_start", node.start)
    span = Span(body.frame.module.source, start, max(node.end, start + 1))
    text = f"'{ty.info.name}' has no '{name}' in edition {body.frame.module.edition.value}"
    body.fail(Code.WRONG_EDITION, text, span, help)


def type_member(body: Body, ty: StructTy, name: str, node: ast.Node) -> Result:
    """Return a member of a type: a parameter, an alias or a method."""
    for param, value in zip(ty.info.node.params, ty.params, strict=True):
        if param.name == name:
            return value
    member = struct_members.member(body.elab, ty, name)
    if isinstance(member, AliasInfo):
        return evaluation.alias_value(body.elab, member, ty)
    if isinstance(member, OverloadSet) and member.by_edition:
        _check_seen(body, ty, member, node)
    if isinstance(member, OverloadSet):
        statics = [fn for fn in member.functions if fn.static]
        chosen = OverloadSet(name, statics) if statics and len(statics) != len(member.functions) else member
        return FunctionValue(well_known.static_set(body.elab, member, chosen), (), (), ty)
    if ty.info.fieldwise and name == "__init__":
        return ty
    if name in ("__copyinit__", "__moveinit__"):
        return FunctionValue(OverloadSet(name, []), (), (), ty)
    if ty.symbolic:
        raise Symbolic
    if name in triviality.FLAGS and (ty.info.bound is None or triviality.bound_promises(body.elab, ty, name)):
        if ty.info.bound is not None:
            return archetypes.bound_truth(body.elab)
        return well_known.bool_constant(body.elab, triviality.is_trivial(body.elab, ty, name))
    no_member(body, ty, name, node)


def no_member(body: Body, ty: Ty, name: str, node: ast.Node) -> NoReturn:
    """Report a missing member."""
    place_operations.require_bound(body, ConstValue(ty, ()), name, node)
    if name == "copy" and isinstance(ty, StructTy) and "Copyable" in ty.info.trait_conditions:
        shown = type_printer.type_name(body.elab, ty)
        text = f"'{shown}' cannot be copied: the condition of its 'Copyable' does not hold"
        body.fail(Code.UNSATISFIED_TRAIT, text, body.at(node))
    own = ty.info if isinstance(ty, StructTy) and ty.info.module is body.elab.modules.main else None
    if own is not None and any(name in trait.members for trait in struct_members.traits_of(body.elab, own)):
        raise ErrorReported  # the struct's missing member is reported at its name
    names = list(ty.info.members) if isinstance(ty, StructTy) else []
    if isinstance(ty, StructTy) and isinstance(ty.info.members.get(name), OverloadSet):
        text = f"'{name}' is a method of '{type_printer.type_name(body.elab, ty)}', and only fields can be assigned to"
        body.fail(Code.CANNOT_MUTATE, text, body.at(node))
    help_text = member_hint(type_printer.type_name(body.elab, ty), name, _receiver(body, node)) or suggest_member(
        name, names
    )
    if own is not None and not help_text and _receiver(body, node) == "self":
        help_text = f"declare the field in the struct: 'var {name}: …'"
    start = getattr(node, "name_start", node.start)
    span = body.at(node)
    span = type(span)(span.source, start, max(node.end, start + 1))
    body.fail(Code.NO_MEMBER, f"'{type_printer.type_name(body.elab, ty)}' has no member '{name}'", span, help_text)


def _receiver(body: Body, node: ast.Node) -> str:
    """Return the text in front of the dot."""
    base = node.value if isinstance(node, ast.Attribute) else None
    return body.frame.module.source.text[base.start : base.end] if isinstance(base, ast.Node) else ""


def _library_copy(elab: Elaboration, info: StructInfo, own: Member | None) -> Member | None:
    """Return the `copy` that the library calls: a trivial struct may have another method of that name."""
    if not info.register_trivial or info.module.is_library or not isinstance(own, OverloadSet):
        return own
    names = ("Self", info.name)
    if any(isinstance(fn.node.result, ast.Name) and fn.node.result.id in names for fn in own.functions):
        return own
    return struct_members.implied_member(elab, info, "copy") or own


def value_member(body: Body, base: Val, name: str, node: ast.Node) -> Result:
    """Return a member of a value."""
    ty = base.ty
    if not isinstance(ty, StructTy):
        if name in ("value", "__mlir_value", "_mlir_value"):
            return base
        if name == "copy" and isinstance(ty, FunctionTy):  # a value as any other to what is generic
            return Method(base, well_known.startup_function(body.elab, "__ktc_copy_function__"))
        no_member(body, ty, name, node)
    member = struct_members.member(body.elab, ty, name)
    if name == "copy" and body.frame.module.is_library:
        member = _library_copy(body.elab, ty.info, member)
    if member is None and name in _WRAPPED and ty.info.module.is_library:  # what a package calls the primitive in it
        name = "__mlir_value"
        member = struct_members.member(body.elab, ty, name)
    if isinstance(member, ast.VarDecl):
        if (
            body.frame.builtin_self is not None
            and isinstance(base, RValue)
            and base.ir is UNIT_CONST
            and name in body.frame.builtin_self
        ):
            return body.frame.builtin_self[name]
        made = (
            place_operations.field(body, base, name)
            if isinstance(base, Place)
            else place_operations.field_value(body, base, name)
        )
        return made if isinstance(base, ConstValue) or base.computed_from is None else field_of(made, base, name)
    if name in _MAKERS and not body.frame.module.is_library:
        return type_member(body, ty, name, node)
    if isinstance(member, OverloadSet) and member.by_edition:
        _check_seen(body, ty, member, node)
    if isinstance(member, OverloadSet):
        return Method(base, FunctionValue(member, (), (), ty))
    for param, value in zip(ty.info.node.params, ty.params, strict=True):
        if param.name == name:
            return value
    if isinstance(member, AliasInfo):
        return evaluation.alias_value(body.elab, member, ty)
    getter = struct_members.method_set(body.elab, ty, "__getattr__")
    if getter is not None:
        text = well_known.literal(body.elab, "StringLiteral", "!kgen.string", name)
        span, static = body.at(node), bool(getter.functions[0].node.params)
        pos = [Arg(base, span)] if static else [Arg(base, span), Arg(text, span)]
        called = FunctionValue(getter, (text,) if static else (), (), ty)
        if body.site.deferred_operand is node and runs_after_operands(body, base, node, "__setattr__"):
            return DeferredOperand(called, pos, node, name)
        gotten = call_lowering.call_fn(body, called, pos, [], span, True)
        return attribute_of(body, gotten, base, name, node)
    no_member(body, ty, name, node)


def type_part(body: Body, node: ast.Expr | None) -> ParameterArgument:
    """Return a type in a function type; it may be open."""
    assert node is not None
    value = body.api.expr(body, node)
    if isinstance(value, ConstValue) and isinstance(node, (ast.NoneLit, ast.TupleLit)):
        return value.ty
    if not isinstance(value, (Ty, UnboundParameter, Opaque, PartialTy, ParameterPack)):
        body.fail(Code.TYPE_MISMATCH, "a type is expected here", body.at(node))
    return value
