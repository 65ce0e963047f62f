"""Members and traits of structs: inheritance, and conformance to traits."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import (
    AliasInfo,
    FunctionInfo,
    Member,
    ModuleInfo,
    OverloadSet,
    Scope,
    StructInfo,
    TraitInfo,
    Ty,
)
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import FunctionTy, ParameterPack, PartialTy, StructTy, TraitTy
from ktc.elaborate.resolve import modules
from ktc.elaborate.tree import derived_methods
from ktc.elaborate.tree.argument_uses import names_in
from ktc.elaborate.types import struct_types
from ktc.syntax import ast

_OF_REGISTERS = ("RegisterPassable", "TrivialRegisterPassable")
_OF_COPIES = ("copy", "__copyinit__")
_TRIVIAL = ("Copyable", "Movable", "ImplicitlyCopyable")


SYNTHESISED = frozenset(("__init__", "__copyinit__", "__moveinit__", "__del__", "copy"))
"""Methods that a struct may have without writing them."""

_DERIVED_BESIDE: Mapping[str, int] = MappingProxyType({"__init__": 0, "__hash__": 1})
"""Methods that are derived beside those of the same name that take another number of arguments than this."""

MADE = SYNTHESISED - {"copy"}
"""Methods that no trait gives: the compiler makes them."""


def defaults_of(name: str, members: Sequence[object], taken: set[int]) -> OverloadSet | None:
    """Return the methods that traits give, the first trait's of those that take the same number of arguments.

    Args:
        members: the traits' members of that name.
        taken: numbers of arguments that methods of the struct take.
    """
    found: list[FunctionInfo] = []
    for member in members:
        if isinstance(member, OverloadSet):
            more = [fn for fn in member.functions if fn.node.body is not None and len(fn.node.args) not in taken]
            if not found and len(more) == len(member.functions) and len(members) == 1:
                return member
            found += more
            taken = taken | {len(fn.node.args) for fn in more}
    return OverloadSet(name, found) if found else None


def add_defaults(info: StructInfo, traits: tuple[TraitInfo, ...]) -> None:
    """Give a struct's methods those of its traits beside them that take another number of arguments."""
    for name, own in info.members.items():
        if isinstance(own, OverloadSet) and name not in SYNTHESISED:
            members = [trait.members[name] for trait in traits if name in trait.members]
            more = defaults_of(name, members, {len(fn.node.args) for fn in own.functions})
            if more is not None:
                info.members[name] = OverloadSet(name, [*own.functions, *more.functions])


def trait_type(elab: Elaboration, traits: tuple[TraitInfo, ...]) -> TraitTy:
    """Return the type of things that conform to all these traits."""
    found = elab.types.traits.get(traits)
    if found is None:
        found = elab.types.traits[traits] = TraitTy(traits)
    return found


def traits_of(elab: Elaboration, info: StructInfo) -> tuple[TraitInfo, ...]:
    """Return the traits that a struct lists, with their parents, in order."""
    if info.traits is None:
        info.traits, found = (), list[TraitInfo]()
        for node in info.node.traits:
            if isinstance(node, ast.ConditionalTrait) and _is_never(node):
                continue
            # a trait may depend on the struct's parameters only through its own; names suffice
            info.has_trait_error |= not _collect_traits(elab, node, info.scope, info.module, found)
            if isinstance(node, ast.ConditionalTrait):
                _note_condition(elab, info, node)
        if info.module.edition is Edition.Y2026 and not info.module.is_library and info.bound is None:
            _derive(elab, info, found)
        info.traits = tuple(found)
        info.inherited_members.clear()  # what was looked for meanwhile
        if not info.module.is_library:
            add_defaults(info, info.traits)
    return info.traits


def _note_condition(elab: Elaboration, info: StructInfo, node: ast.ConditionalTrait) -> None:
    """Keep a trait's condition under its own name too (`Equatable`), and for what it includes and is not listed."""
    try:
        value = elab.api.evaluate(elab, node.trait, info.scope, info.module)
    except ErrorReported:
        return
    others = (getattr(one, "trait", one) for one in info.node.traits if one is not node)
    listed = {*implied_traits(info), *(getattr(one, "id", "") for one in others)}
    for trait in value.traits if isinstance(value, TraitTy) else ():
        if trait.name in listed:
            continue
        conditions = info.trait_conditions.setdefault(trait.name, [])
        if node.condition not in conditions:
            conditions.append(node.condition)


def _derive(elab: Elaboration, info: StructInfo, traits: list[TraitInfo]) -> None:
    """Give a struct the methods of its traits that edition 2026 derives from its fields."""
    if any(trait.name == "Writable" and trait.module.is_library for trait in traits):
        represented = modules.prelude_name(elab, "Representable")
        if isinstance(represented, TraitInfo):
            add_trait(elab, represented, traits)
            if "Writable" in info.trait_conditions:
                info.trait_conditions.setdefault("Representable", info.trait_conditions["Writable"])
    fields = [node.target.id for node in info.field_nodes if isinstance(node.target, ast.Name)]
    for trait in traits:
        wanted = derived_methods.methods_of(trait.name, info.members.__contains__) if trait.module.is_library else {}
        for name, make in wanted.items():
            if name == "__init__" and info.fieldwise and not fields:
                continue  # the decorator makes the same one
            own = info.members.get(name)
            written = own.functions if isinstance(own, OverloadSet) else []
            if own is None or (
                name in _DERIVED_BESIDE and not any(_takes(fn, _DERIVED_BESIDE[name]) for fn in written)
            ):
                node = make(info.node, fields).with_where(tuple(info.trait_conditions.get(trait.name, ())))
                fn = modules.function(elab, node, info.module, info, info.module.scope)
                info.members[name] = OverloadSet(name, [*written, fn])


def _takes(fn: FunctionInfo, count: int) -> bool:
    """Return whether a method can be called with a number of arguments beside `self`."""
    args = fn.node.args[1:]
    return sum(one.default is None and one.kind != "star" for one in args) <= count and (
        len(args) >= count or any(one.kind == "star" for one in args)
    )


def _is_never(node: ast.ConditionalTrait) -> bool:
    """Return whether a trait's condition is the word `False`: the struct does not have it."""
    return isinstance(node.condition, ast.BoolLit) and not node.condition.value


def _collect_traits(
    elab: Elaboration, node: ast.Expr, scope: Scope, module: ModuleInfo, found: list[TraitInfo]
) -> bool:
    node = node.trait if isinstance(node, ast.ConditionalTrait) else node
    try:
        value = elab.api.evaluate(elab, node, scope, module)
    except ErrorReported:
        return False  # reported; the struct goes on without it
    if not isinstance(value, TraitTy):
        elab.reporter.sink.report(
            Diagnostic(Code.TYPE_MISMATCH, Span(module.source, node.start, node.end), *no_trait(value))
        )
        return False
    for trait in value.traits:
        add_trait(elab, trait, found)
    return True


def add_trait(elab: Elaboration, trait: TraitInfo, found: list[TraitInfo]) -> None:
    """Add a trait and all that it extends; those that were added before have theirs with them."""
    known = set(found)
    found += [one for one in (trait, *parents_of(elab, trait)) if one not in known] if trait not in known else ()


def parents_of(elab: Elaboration, trait: TraitInfo) -> tuple[TraitInfo, ...]:
    """Return all traits that a trait extends, each once."""
    if trait.parents is None:
        trait.parents, found = (), list[TraitInfo]()
        for node in trait.node.traits:
            _collect_traits(elab, node, trait.scope, trait.module, found)
        trait.parents = tuple(found)
    return trait.parents


def member(elab: Elaboration, ty: StructTy, name: str) -> Member | None:
    """Return the member of that name: a field's `VarDecl`, a `OverloadSet`, an `AliasInfo`, or None."""
    info = ty.info
    if name in _OF_COPIES and not copies_values(elab, ty):
        return None
    if name == "copy" and "Copyable" in info.trait_conditions and not has_trait(elab, ty, "Copyable"):
        return None
    found = info.members.get(name)
    if found is not None:
        if info.traits is None and info.node.traits and isinstance(found, OverloadSet) and not info.module.is_library:
            traits_of(elab, info)
            return info.members[name]
        return found
    if name not in info.inherited_members:
        info.inherited_members[name] = _inherited(elab, info, name)
    return info.inherited_members[name]


def _inherited(elab: Elaboration, info: StructInfo, name: str) -> Member | None:
    """Return the member that a struct inherits from its traits."""
    members = [trait.members[name] for trait in traits_of(elab, info) if name in trait.members]
    if name in info.members:  # it was derived meanwhile
        return info.members[name]
    alias = next((one for one in members if isinstance(one, AliasInfo) and one.node.value is not None), None)
    found = alias or defaults_of(name, members, set())
    return found or implied_member(elab, info, name)


def implied_traits(info: StructInfo) -> tuple[str, ...]:
    """Return the traits of the library that a struct's decorator says it has; it need not list them."""
    if info.register_trivial:
        return _TRIVIAL
    is_movable = info.module.edition is Edition.Y2026 and not info.is_unmovable and info.bound is None
    return ("Movable",) if info.register_passable or is_movable else ()


def implied_member(elab: Elaboration, info: StructInfo, name: str) -> Member | None:
    """Return the method that a struct has by a trait which its decorator says it has: `copy`."""
    for implied in implied_traits(info):
        trait = modules.prelude_name(elab, implied)
        found = trait.members.get(name) if isinstance(trait, TraitInfo) and name not in MADE else None
        if isinstance(found, OverloadSet):
            return found
    return None


def method_set(elab: Elaboration, ty: Ty, name: str) -> OverloadSet | None:
    """Return the methods of that name, or None."""
    if isinstance(ty, StructTy):
        found = member(elab, ty, name)
        if isinstance(found, OverloadSet):
            return found
    return None


def conforms(elab: Elaboration, ty: Ty, trait: TraitTy) -> bool:
    """Return whether a type conforms to a trait: its struct lists it, or every type has it."""
    if isinstance(ty, TraitTy):
        return all(any(t is o or t in _all_parents(elab, o) for o in ty.traits) for t in trait.traits)
    return all(_conforms_one(elab, ty, one) for one in trait.traits)


def declares(elab: Elaboration, ty: Ty, trait: TraitTy) -> bool:
    """Answer `conforms_to`: whether a type conforms, without traits that only this library's structs have."""
    if not conforms(elab, ty, trait):
        return False
    return not _further(elab, ty, trait)


def declares_in_2026(elab: Elaboration, ty: Ty, trait: TraitTy) -> bool:
    """Answer `conforms_to` in edition 2026, where a container has some traits if its values have them."""
    if not conforms(elab, ty, trait):
        return False
    further = _further(elab, ty, trait)
    if not further or not isinstance(ty, StructTy):
        return True
    kinds = [names_in(param.type) for param in ty.info.node.params]
    given = [one for one, kind in zip(ty.params, kinds, strict=True) if "Hasher" not in kind]
    values = [item for one in given for item in (one.items if isinstance(one, ParameterPack) else (one,))]
    asked = trait_type(elab, tuple(further))
    return all(declares_in_2026(elab, one, asked) for one in values if isinstance(one, Ty) and one is not ty)


def _further(elab: Elaboration, ty: Ty, trait: TraitTy) -> list[TraitInfo]:
    """Return the traits among those asked that a type has only here, or only if its values have them."""
    further = ty.info.further_traits if isinstance(ty, StructTy) else ()
    asked = [one for each in trait.traits for one in _all_parents(elab, each)] if further else []
    return [one for one in asked if one.module.is_library and one.name in further]


def _all_parents(elab: Elaboration, trait: TraitInfo) -> list[TraitInfo]:
    add_trait(elab, trait, found := list[TraitInfo]())
    return found


def _conforms_one(elab: Elaboration, ty: Ty, trait: TraitInfo) -> bool:
    if trait.name in ("AnyType", "UnknownDestructibility"):
        return True
    if trait.call is not None:
        return elab.api.conforms_to_call(elab, ty, trait)
    if trait.name == "Deinitable" and trait.module.is_library:
        return not isinstance(ty, StructTy) or ty.info.explicit_destroy is None
    if trait.name in _OF_REGISTERS and trait.module.is_library and isinstance(ty, StructTy) and ty.info.bound is None:
        return ty.info.register_trivial or (ty.info.register_passable and trait.name == _OF_REGISTERS[0])
    if trait.name in ("AnyTrivialRegType", "TrivialRegType"):
        return struct_types.is_trivial(elab, ty) or isinstance(ty, (FunctionTy, TraitTy)) or says_trivial(elab, ty)
    if trait.name == "_RegisterTrivial" and trait.module.is_library:
        return not isinstance(ty, StructTy) or ty.info.register_trivial
    if isinstance(ty, StructTy):
        known = ty.conforms.get(trait.uid)
        if known is None:
            known = trait.name in implied_traits(ty.info) or trait in traits_of(elab, ty.info)
            known = known and _holds(elab, ty, trait.name)
            ty.conforms[trait.uid] = known
        return known
    return trait.name in ("Copyable", "Movable", "ImplicitlyCopyable", "ExplicitlyCopyable", "Defaultable")


def says_trivial(elab: Elaboration, ty: Ty) -> bool:
    """Return whether a type is trivial as its `__is_trivial__` says: an `Optional` of a number, say.

    Its copies are functions all the same, for with other parameters they do more.
    """
    if not isinstance(ty, StructTy) or not ty.info.module.is_library or not has_trait(elab, ty, "PassedWhole"):
        return False
    said = ty.info.members.get("__is_trivial__")
    try:
        return isinstance(said, AliasInfo) and bool(getattr(elab.api.alias_value(elab, said, ty), "data", False))
    except Symbolic:
        return False


def has_trait(elab: Elaboration, ty: Ty, name: str) -> bool:
    """Return whether a type's struct lists a library trait of this name, or has it because it is trivial."""
    if not isinstance(ty, StructTy) or name in implied_traits(ty.info):
        return True
    return any(trait.name == name for trait in traits_of(elab, ty.info)) and _holds(elab, ty, name)


def _holds(elab: Elaboration, ty: StructTy, name: str) -> bool:
    """Return whether the conditions hold under which a struct has a trait; a condition that is open holds."""
    if name in ("Copyable", "ImplicitlyCopyable") and not copies_values(elab, ty):
        return False
    for condition in ty.info.trait_conditions.get(name, ()):
        if ty.scope is None or ty.symbolic:
            return True
        try:
            value = elab.api.evaluate(elab, condition, ty.scope, ty.info.module)
        except Symbolic:
            return True
        if not bool(getattr(value, "data", True)):
            return False
    return True


def copies_values(elab: Elaboration, ty: Ty) -> bool:
    """Return whether the values that a type of the library owns can be copied; where there are none, they can.

    In edition 2026 a list or an optional may hold values that only move; then it only moves as well.
    """
    if not isinstance(ty, StructTy) or not ty.info.module.is_library:
        return True
    for at in value_parameters(ty.info):
        given = ty.params[at]
        values = given.items if isinstance(given, ParameterPack) else (given,)
        if any(isinstance(one, StructTy) and not has_trait(elab, one, "Copyable") for one in values):
            return False
    return True


def value_parameters(info: StructInfo) -> tuple[int, ...]:
    """Return the places of the parameters of a library's struct that are types of values which it owns.

    They have the bound `Copyable & Movable`. A struct with an origin among its parameters is a view and owns none.
    """
    if info.value_params is None:
        kinds = [names_in(param.type) for param in info.node.params]
        info.value_params = (
            () if is_view(info) else tuple([at for at, kind in enumerate(kinds) if kind == {"Copyable", "Movable"}])
        )
    return info.value_params


def is_view(info: StructInfo) -> bool:
    """Return whether a struct refers to values of somebody else: it has an origin among its parameters."""
    return any({"Origin", "MutOrigin", "ImmutOrigin", "ImmOrigin"} & names_in(param.type) for param in info.node.params)


def is_only_moved(elab: Elaboration, ty: object) -> bool:
    """Return whether a type's values move and are not copied, and edition 2026 holds them in the library's types."""
    if not isinstance(ty, StructTy) or has_trait(elab, ty, "Copyable") or not has_trait(elab, ty, "Movable"):
        return False
    if ty.info.module.is_library:
        return elab.modules.main.edition is Edition.Y2026
    return ty.info.module.edition is Edition.Y2026


def is_copied_implicitly(elab: Elaboration, ty: Ty) -> bool:
    """Return whether values of a type are copied implicitly."""
    if not isinstance(ty, StructTy):
        return True
    return ty.info.register_trivial or has_trait(elab, ty, "ImplicitlyCopyable")


def no_trait(value: object) -> tuple[str, str]:
    """Return the message and the help for an entry in a struct's head that is no trait."""
    if isinstance(value, (StructTy, PartialTy)):
        return (
            f"'{value.info.name}' is a struct, and only traits can be listed here",
            "structs do not inherit; hold it in a field",
        )
    return "a trait is expected here", ""
