"""Structs and traits: instances, fields, members, conformance, representation, copying and destruction.

In: declarations and parameter values. Out: `StructTy` and what is known of it. All is computed on demand and kept.
"""

from typing import Any

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import AliasInfo, FnSet, Scope, StructInfo, TraitInfo
from ktc.elaborate.model.errors import Abort
from ktc.elaborate.model.origins import is_static
from ktc.elaborate.model.values import (
    KV,
    PV,
    FnTy,
    Opaque,
    OriginValue,
    PackPV,
    PrimTy,
    StructTy,
    TraitTy,
    Ty,
    is_symbolic,
)  # fmt: skip
from ktc.elaborate.resolve.modules import Modules
from ktc.elaborate.types import primitive_types as builtin_types
from ktc.elaborate.types.conformance import no_trait
from ktc.elaborate.types.default_methods import add_defaults, defaults_of
from ktc.elaborate.types.qualified_names import qualified
from ktc.elaborate.types.recursive_types import DEEP, check_finite, endless
from ktc.elaborate.types.type_printer import shown
from ktc.ir import types
from ktc.syntax import ast

MAX_LEAVES = 16
"""A trivial type with more scalars than this is passed by its address."""
TRIVIAL_TRAITS = ("Copyable", "Movable", "ImplicitlyCopyable")  # what '@register_passable("trivial")' says of a struct


class Structs(Modules):
    """The part of the elaborator that knows types."""

    nesting: int = 0

    open_fields: set[StructTy]
    """Those whose fields are being found."""
    prims: dict[Any, PrimTy]
    trait_tys: dict[tuple[TraitInfo, ...], TraitTy]
    fn_tys: dict[Any, FnTy]

    def evaluate(self, node: ast.Expr, scope: Scope, module: Any, expected: Ty | None = None) -> Any:
        """Compute a parameter value (in `Instances`)."""
        raise NotImplementedError

    # ---- making types ----

    def prim(self, name: str, args: tuple[Any, ...] = ()) -> PrimTy:
        """Return the primitive type; ValueError if there is none such."""
        key = (name, args)
        found = self.prims.get(key)
        if found is None:
            made = builtin_types.make(self, name, args)
            canonical = (made.name, made.args)
            found = self.prims.setdefault(("=", canonical), made)
            self.prims[key] = found
        return found

    def struct(self, info: StructInfo, params: tuple[PV | None, ...]) -> StructTy:
        """Return the instance of a struct."""
        ty = info.instances.get(params)
        if ty is None:
            ty = StructTy(info, params)
            ty.symbolic = any(map(is_symbolic, params))
            info.instances[params] = ty
            scope = Scope(info.scope, "struct", struct=ty)
            for param, value in zip(info.node.params, params, strict=True):
                scope.names[param.name] = value
            scope.names["Self"] = ty
            ty.scope = scope
        return ty

    def trait(self, traits: tuple[TraitInfo, ...]) -> TraitTy:
        """Return the type of things that conform to all these traits."""
        found = self.trait_tys.get(traits)
        if found is None:
            found = self.trait_tys[traits] = TraitTy(traits)
        return found

    # ---- members ----

    def traits_of(self, info: StructInfo) -> tuple[TraitInfo, ...]:
        """Return the traits that a struct lists, with their parents, in order."""
        if info.traits is None:
            info.traits, found = (), list[TraitInfo]()
            for node in info.node.traits:
                # a trait may depend on the struct's parameters only through its own; names suffice
                info.lacks_trait |= not self._collect_traits(node, info.scope, info.module, found)
            info.traits = tuple(found)
            info.inherited.clear()  # what was looked for meanwhile
            if not info.module.is_library:
                add_defaults(info, info.traits)
        return info.traits

    def _collect_traits(self, node: ast.Expr, scope: Scope, module: Any, found: list[TraitInfo]) -> bool:
        try:
            value = self.evaluate(node, scope, module)
        except Abort:
            return False  # reported; the struct goes on without it
        if not isinstance(value, TraitTy):
            self.sink.report(
                Diagnostic(Code.TYPE_MISMATCH, Span(module.source, node.start, node.end), *no_trait(value))
            )
            return False
        for trait in value.traits:
            self._add_trait(trait, found)
        return True

    def _add_trait(self, trait: TraitInfo, found: list[TraitInfo]) -> None:
        if trait in found:
            return
        found.append(trait)
        for parent in self.parents_of(trait):
            self._add_trait(parent, found)

    def parents_of(self, trait: TraitInfo) -> tuple[TraitInfo, ...]:
        """Return the traits that a trait extends."""
        if trait.parents is None:
            trait.parents, found = (), list[TraitInfo]()
            for node in trait.node.traits:
                self._collect_traits(node, trait.scope, trait.module, found)
            trait.parents = tuple(found)
        return trait.parents

    def member(self, ty: StructTy, name: str) -> Any:
        """Return the member of that name: a field's `VarDecl`, a `FnSet`, an `AliasInfo`, or None."""
        info = ty.info
        found = info.members.get(name)
        if found is not None:
            if info.traits is None and info.node.traits and isinstance(found, FnSet) and not info.module.is_library:
                self.traits_of(info)
                return info.members[name]
            return found
        if name not in info.inherited:
            info.inherited[name] = self._inherited(info, name)
        return info.inherited[name]

    def _inherited(self, info: StructInfo, name: str) -> Any:
        """Return what a struct has of its traits."""
        members = [trait.members[name] for trait in self.traits_of(info) if name in trait.members]
        alias = next((one for one in members if isinstance(one, AliasInfo) and one.node.value is not None), None)
        return alias or defaults_of(name, members, set())

    def method_set(self, ty: Ty, name: str) -> FnSet | None:
        """Return the methods of that name, or None."""
        if isinstance(ty, StructTy):
            found = self.member(ty, name)
            if isinstance(found, FnSet):
                return found
        return None

    def conforms(self, ty: Ty, trait: TraitTy) -> bool:
        """Does a type meet a trait: its struct lists it, or it is one of the traits that every type has."""
        if isinstance(ty, TraitTy):
            return all(any(t is o or t in self._all_parents(o) for o in ty.traits) for t in trait.traits)
        return all(self._conforms_one(ty, one) for one in trait.traits)

    def _all_parents(self, trait: TraitInfo) -> list[TraitInfo]:
        self._add_trait(trait, found := list[TraitInfo]())
        return found

    def _conforms_one(self, ty: Ty, trait: TraitInfo) -> bool:
        if trait.name in ("AnyType", "UnknownDestructibility"):
            return True
        if trait.name in ("AnyTrivialRegType", "TrivialRegType"):
            return self.is_trivial(ty) or isinstance(ty, (FnTy, TraitTy))
        if isinstance(ty, StructTy):
            known = ty.conforms.get(trait.uid)
            if known is None:
                implied = ty.info.register_trivial and trait.name in TRIVIAL_TRAITS
                known = implied or trait in self.traits_of(ty.info)
                ty.conforms[trait.uid] = known
            return known
        return trait.name in ("Copyable", "Movable", "ImplicitlyCopyable", "ExplicitlyCopyable", "Defaultable")

    def has_trait(self, ty: Ty, name: str) -> bool:
        """Does the type's struct list a library trait of this name, or have it as a trivial one."""
        if not isinstance(ty, StructTy) or (ty.info.register_trivial and name in TRIVIAL_TRAITS):
            return True
        return any(trait.name == name for trait in self.traits_of(ty.info))

    # ---- representation ----

    def fields(self, ty: StructTy) -> tuple[tuple[str, Ty], ...]:
        """Return names and types of a struct's fields."""
        if ty.fields is None:
            ty.fields = ()
            self.open_fields.add(ty)
            try:
                ty.fields = tuple(self._find_field(ty, node) for node in ty.info.field_nodes)
            finally:
                self.open_fields.discard(ty)
        return ty.fields

    def _find_field(self, ty: StructTy, node: ast.VarDecl) -> tuple[str, Ty]:
        assert ty.scope is not None and isinstance(node.target, ast.Name)
        kind = self.evaluate(node.type, ty.scope, ty.info.module) if node.type is not None else None
        if not isinstance(kind, Ty) or isinstance(kind, TraitTy):
            span = Span(ty.info.module.source, (node.type or node).start, (node.type or node).end)
            text = f"the type of field '{node.target.id}' is not complete"
            self.sink.report(Diagnostic(Code.PARAMETER_COUNT, span, text, "write its parameters, in '[]'"))
            kind = self.prim("!kgen.none")
        return node.target.id, kind

    def ir(self, ty: Ty) -> types.Type:
        """Return the representation of a type; UNIT for what takes no memory."""
        if isinstance(ty, StructTy):
            if ty.ir_type is None:
                fields = self.fields(ty)
                if ty in self.open_fields:  # a field's type asks for the size of what it is a field of
                    endless(ty, True, self.sink)
                check_finite(ty, self.fields, self.sink)
                kind, slots = builtin_types.erase([self.ir(field) for _, field in fields])
                ty.slots_of = {name: (i, slot) for i, ((name, _), slot) in enumerate(zip(fields, slots, strict=True))}
                ty.ir_type = kind
            return ty.ir_type
        if isinstance(ty, PrimTy):
            return types.UNIT if ty.ir is None else ty.ir
        if isinstance(ty, FnTy):
            return types.PTR
        return types.UNIT

    def slot(self, ty: StructTy, name: str) -> tuple[int, int]:
        """Return (number of the field, index in the IR's struct; -1 no memory, -2 the whole)."""
        self.ir(ty)
        found = ty.slots_of.get(name)
        if found is None:
            raise Abort  # a field's type is wrong, which has been said
        return found

    def base_prim(self, ty: Ty) -> PrimTy | None:
        """Return the primitive that a struct with one field stands for."""
        if isinstance(ty, PrimTy):
            return ty
        if not isinstance(ty, StructTy):
            return None
        if ty.prim == "?":
            fields = self.fields(ty)
            ty.prim = self.base_prim(fields[0][1]) if len(fields) == 1 else None
        assert not isinstance(ty.prim, str)
        return ty.prim

    def abi(self, ty: Ty) -> str:
        """Return how a value is passed: "none", "direct" or "memory"."""
        kind = self.ir(ty)
        if not self.is_trivial(ty):
            return "memory"
        if types.size_of(kind) == 0:
            return "none"
        return "direct" if _leaves(kind) <= MAX_LEAVES else "memory"

    def is_trivial(self, ty: Ty) -> bool:
        """Is a value copied, moved and destroyed bit by bit."""
        if not isinstance(ty, StructTy):
            return not isinstance(ty, FnTy) or not ty.kept
        if ty.trivial is None:
            ty.trivial = True  # a type that holds itself through a pointer
            if ty.info.register_trivial:
                return True
            own = any(name in ty.info.members for name in ("__copyinit__", "__moveinit__", "__del__"))
            own = own or ty.info.explicit_destroy is not None
            check_finite(ty, self.fields, self.sink)
            ty.trivial = not own and all(self.is_trivial(kind) for _, kind in self.fields(ty))
        return ty.trivial

    def moves_plainly(self, value: Any) -> bool:
        """Is moving a value copying its bytes: the library's own `__moveinit__` do nothing else with their own data."""
        match value:
            case StructTy(plain_move=bool() as known):
                return known
            case StructTy(info=info):
                value.plain_move = True
                inside = value.params if info.module.is_library else (kind for _, kind in self.fields(value))
                value.plain_move = (info.module.is_library or "__moveinit__" not in info.members) and all(
                    map(self.moves_plainly, inside)
                )
                return value.plain_move
            case PrimTy(args=inside) | PackPV(items=inside):
                return all(map(self.moves_plainly, inside))
        return True

    def is_copied_implicitly(self, ty: Ty) -> bool:
        """May a value be copied without being asked for."""
        if not isinstance(ty, StructTy):
            return True
        return ty.info.register_trivial or self.has_trait(ty, "ImplicitlyCopyable")

    def origins(self, ty: Ty) -> tuple[OriginValue, ...]:
        """Return the origins that stand in a type: what a value of it may point to."""
        if not isinstance(ty, StructTy):
            return ()
        if ty.origins is None:
            ty.origins = ()
            self.nesting += 1
            try:
                ty.origins = self._origins_of(ty)
            finally:
                self.nesting -= 1
        return ty.origins

    def _origins_of(self, ty: StructTy) -> tuple[OriginValue, ...]:
        if self.nesting > DEEP and not ty.info.module.is_library:
            endless(ty, False, self.sink)
        found: list[OriginValue] = []
        for value in ty.params:
            self._origins_in(value, found)
        hides = not ty.info.module.is_library  # a program's struct with a pointer to anything keeps nothing alive
        for _, kind in self.fields(ty):
            found += [o for o in self.origins(kind) if o.kind != "any" or not hides]
        return tuple(dict.fromkeys(o for o in found if o.kind in ("any", "local", "some")))

    def _origins_in(self, value: Any, found: list[OriginValue]) -> None:
        match value:
            case KV(_, OriginValue() as origin):
                found.append(origin)
            case StructTy():
                found += self.origins(value)
            case PackPV(items):
                for item in items:
                    self._origins_in(item, found)
            case _:
                pass

    # ---- comparing ----

    def same_type(self, a: Ty, b: Ty) -> bool:
        """Are two types one."""
        return a is b

    def fits(self, have: Ty, want: Ty) -> bool:
        """Is a value of one type one of the other without conversion: origins and mutability may weaken."""
        if have is want:
            return True
        if isinstance(have, StructTy) and isinstance(want, StructTy) and have.info is want.info:
            return all(self._param_fits(a, b) for a, b in zip(have.params, want.params, strict=True))
        if isinstance(have, FnTy) and isinstance(want, FnTy):
            return self.fits_function(have, want)
        return False

    def fits_function(self, have: FnTy, want: FnTy) -> bool:
        """Is a function of one type one of the other (in `FunctionTypes`)."""
        raise NotImplementedError

    def _param_fits(self, a: PV | None, b: PV | None) -> bool:
        if a == b or isinstance(a, Opaque) or isinstance(b, Opaque):
            return True
        if isinstance(a, KV) and isinstance(b, KV):
            if isinstance(a.data, OriginValue) and isinstance(b.data, OriginValue):
                # what points anywhere points to no constant of the program
                return (a.data.mutable or not b.data.mutable) and (is_static(a) or not is_static(b))
            prim = self.base_prim(a.ty)
            # the `mut` parameter of a pointer: from mutable to immutable
            return prim is not None and prim.kind == "b" and a.ty is b.ty and a.data == 1
        if isinstance(a, Ty) and isinstance(b, Ty):
            return self.fits(a, b)
        return False

    def canonical(self, value: Any) -> Any:
        """Return a parameter value with the origins of locals replaced by one that names none, so that an instance does
        not depend on whose variables it was called with."""
        match value:
            case KV(ty, OriginValue(kind="local") as origin):
                return KV(self.canonical(ty), OriginValue("some", origin.mutable))
            case StructTy():
                if not any(origin.kind == "local" for origin in self.origins(value)):
                    return value
                return self.struct(value.info, tuple(map(self.canonical, value.params)))
            case PackPV(items):
                return PackPV(tuple(map(self.canonical, items)), value.kind)
            case _:
                return value

    def type_name(self, ty: Any) -> str:
        """Return a type as a person writes it."""
        return shown(self, ty)

    def qualified_name(self, ty: Any, builtins: bool) -> str:
        """Return the name of a type with its module, as programs ask for it."""
        return qualified(self, ty, builtins)


def _leaves(kind: types.Type) -> int:
    match kind:
        case types.StructType(fields):
            return sum(map(_leaves, fields))
        case types.ArrayType(element, count):
            return count * _leaves(element)
        case _:
            return 1
