"""Declarations as the elaborator sees them, and the scopes in which names are looked up.

A scope maps names to bindings: declarations, parameter values, variables. Module scopes are filled from the syntax
tree at once; imports are followed when a name is asked for the first time.
"""

import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import field
from typing import Any, Union

from ktc.base.editions import Edition
from ktc.base.records import entity, record
from ktc.diag.source import Source, Span
from ktc.syntax import ast


class Ty:
    """A language type; the classes are in `types.py`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{self}>"


@record
class Arity:
    """The argument counts and names that a declaration accepts, whatever the types; most overloads fail it already.

    Args:
        least, most: arguments by position, where none is named.
        names: arguments that may be named; None: any name.
        needed: of each argument without a default its position (beyond `most` if it has none), and its name if it may
            be named.
        plain: where all arguments may go by position, after how many `out` ones these begin; -1 elsewhere.
    """

    least: float
    most: float
    names: frozenset[str] | None
    needed: tuple[tuple[float, str], ...]
    plain: int

    @staticmethod
    def of(formals: Sequence[ast.Param]) -> "Arity":
        """Read a declaration."""
        most, names, needed = 0.0, set[str](), list[tuple[float, str]]()
        kinds = {formal.kind for formal in formals}
        for formal in formals:
            if formal.convention == "out" or formal.kind in ("star", "starstar"):
                continue
            by_position, by_name = formal.kind in ("pos", "any"), formal.kind in ("any", "kw", "infer")
            if formal.default is None:
                needed.append((most if by_position else math.inf, formal.name if by_name else ""))
            most += by_position
            if by_name:
                names.add(formal.name)
        most = math.inf if "star" in kinds else most
        least = max((at + 1 for at, _ in needed), default=0.0)
        results = sum(formal.convention == "out" for formal in formals)
        is_plain = kinds <= {"pos", "any"} and not any(formal.convention == "out" for formal in formals[results:])
        free = None if "starstar" in kinds else frozenset(names)
        return Arity(least, most, free, tuple(needed), results if is_plain else -1)

    def fits(self, count: int, names: Set[str]) -> bool:
        """Return whether a call with `count` arguments by position and these names could fit."""
        if not names:
            return self.least <= count <= self.most
        if count > self.most or (self.names is not None and not names <= self.names):
            return False
        return all(at < count or name in names for at, name in self.needed)


@entity
class FunctionInfo:
    """One function declaration.

    Args:
        owner: the struct or trait that it is a method of.
        scope: where its names are looked up (the module's; the struct's are added per instance; a body's if nested).
        inline: "", "always", "builtin" or "never".
        traced, unchecked: as in `ir.nodes.Function`.
        parent: for a nested function the body it stands in.
        captures: a nested function that reads variables of its parent.
        copied_captures: the variables named by `@__copy_capture`, of which a `@parameter` function has copies.
        closure_name: of a nested function: a name that no other of its unit has.
        reads_call_location: it asks where it is called (`__call_location`): each call has an instance of its own.
        edition: the only edition whose texts see it; None: both do.
        unavailable: why no call of it is allowed.
    """

    name: str
    node: ast.FunctionDecl
    module: "ModuleInfo"
    owner: "StructInfo | TraitInfo | None"
    scope: "Scope"
    uid: int
    inline: str = ""
    traced: bool = True
    unchecked: bool = False
    static: bool = False
    implicit: bool = False
    is_discouraged: bool = False
    export: str = ""
    deprecated: str = ""
    unavailable: str = ""
    parameter: bool = False
    parent: Any = None
    captures: bool = False
    copied_captures: tuple[ast.Expr, ...] = ()
    closure_name: str = ""
    reads_call_location: bool = False
    edition: Edition | None = None
    patterns: dict[object, Any] = field(default_factory=dict)
    _arity: "Arity | None" = None

    @property
    def raises(self) -> bool:
        """Return whether it may raise: it says `raises`, or is a `def`."""
        return self.node.raises or self.node.is_def

    @property
    def closure_type(self) -> Ty | None:
        """The type of the closure whose calls run it; None for other functions."""
        owner = self.owner if isinstance(self.owner, StructInfo) and self.owner.closure is self else None
        return next(iter(owner.instances.values()), None) if owner is not None else None

    @property
    def title(self) -> str:
        """Its name in quotes, as messages show it: a constructor goes by its struct's name."""
        return f"'{self.owner.name if self.node.name == '__init__' and self.owner is not None else self.name}'"

    @property
    def arity(self) -> "Arity":
        """How many arguments it takes, and which."""
        if self._arity is None:
            self._arity = Arity.of(self.node.args)
        return self._arity

    def span(self) -> Span:
        """Where its name stands."""
        start = self.node.name_start
        return Span(self.module.source, start, start + len(self.node.name))


@entity
class OverloadSet:
    """Overloads of one name, in order of declaration."""

    name: str
    functions: list[FunctionInfo]
    _by_types: bool | None = None
    _by_edition: bool | None = None

    @property
    def by_edition(self) -> bool:
        """Whether texts of the two editions see different functions."""
        if self._by_edition is None:
            self._by_edition = any(fn.edition is not None for fn in self.functions)
        return self._by_edition

    def seen_from(self, module: "ModuleInfo") -> list[FunctionInfo]:
        """Return the functions that a module sees: those of its edition; the library also sees those of 2026 alone."""
        if not self.by_edition:
            return self.functions
        seen = [fn for fn in self.functions if fn.edition in (None, module.edition)]
        return seen or (self.functions if module.is_library else seen)

    def by_types(self) -> bool:
        """Return whether the types of the arguments alone decide: none names an origin or takes any names."""
        if self._by_types is None:
            formals = [formal for fn in self.functions for formal in fn.node.args]
            self._by_types = not any(formal.origin or formal.kind == "starstar" for formal in formals)
        return self._by_types


@entity
class StructInfo:
    """One struct declaration."""

    name: str
    node: ast.StructDecl
    module: "ModuleInfo"
    uid: int
    scope: "Scope"
    members: "dict[str, Member]" = field(default_factory=dict)
    field_nodes: list[ast.VarDecl] = field(default_factory=list)
    register_trivial: bool = False
    register_passable: bool = False
    is_kept_in_memory: bool = False
    """Its values are never passed in registers: an argument is the caller's value itself, with its address."""
    fieldwise: bool = False
    fieldwise_implicit: bool = False
    materialized: ast.Expr | None = None
    materialized_in_packs: ast.Expr | None = None
    first_printed_param: int = 0
    deprecated: str = ""
    explicit_destroy: str | None = None
    """Nothing destroys a value by itself; what to do instead, as the struct says."""
    further_traits: tuple[str, ...] = ()
    """Traits of a library's struct that it does not have in the reference: `conforms_to` answers no."""
    is_exported: bool = False
    """It is in the header of a library, whether an exported function names it or not."""
    instances: dict[tuple[object, ...], Ty] = field(default_factory=dict)
    traits: "tuple[TraitInfo, ...] | None" = None
    trait_conditions: "dict[str, list[ast.Expr]]" = field(default_factory=dict)
    """Conditions on the parameters under which it has a trait, by the trait's name."""
    value_params: tuple[int, ...] | None = None
    """Of a library's struct: the places of the parameters that are types of values which it owns, once asked for."""
    is_unmovable: bool = False
    """It says `Movable where False`; in edition 2026 other structs are movable."""
    has_trait_error: bool = False
    """One of its traits has a mistake, which was reported: errors that follow from it are not reported."""
    symbolic: Ty | None = None
    bound: Ty | None = None
    """Of an archetype, which stands for a type parameter: all that is known of it."""
    narrows: "StructInfo | None" = None
    """Of an archetype of which a downcast says more: the type parameter's own archetype."""
    inherited_members: "dict[str, Member | None]" = field(default_factory=dict)
    names_2026: dict[str, str] = field(default_factory=dict)
    """Names that members and parameters have in edition 2026: the name here by the name there."""
    hidden_2026: dict[str, str] = field(default_factory=dict)
    """Members that edition 2026 calls otherwise only: the name there by the name here."""
    code_names: dict[int, str] | None = None
    alignment: ast.Expr | None = None
    """The least alignment of its values in bytes, as `@align` says."""
    closure: "FunctionInfo | None" = None
    """Of the struct of a closure, whose fields are its captures: the function that a call runs."""

    def span(self) -> Span:
        """Where its name stands."""
        start = self.node.name_start
        return Span(self.module.source, start, start + len(self.name))


@entity
class TraitInfo:
    """One trait declaration."""

    name: str
    node: ast.TraitDecl
    module: "ModuleInfo"
    uid: int
    scope: "Scope"
    members: "dict[str, Member]" = field(default_factory=dict)
    parents: "tuple[TraitInfo, ...] | None" = None
    names_2026: dict[str, str] = field(default_factory=dict)
    hidden_2026: dict[str, str] = field(default_factory=dict)
    call: Ty | None = None
    """The function type, if this is the trait of values that are called so (`def(Int) -> Int`)."""

    def span(self) -> Span:
        """Where its name stands."""
        start = self.node.name_start
        return Span(self.module.source, start, start + len(self.name))


@entity
class AliasInfo:
    """One alias; its value is computed when it is asked for."""

    name: str
    node: ast.Alias
    module: "ModuleInfo"
    scope: "Scope"
    uid: int
    values: dict[object, Any] = field(default_factory=dict)

    def span(self) -> Span:
        """Where its name stands."""
        start = self.node.name_start
        return Span(self.module.source, start, start + len(self.name))


@entity
class ImportRef:
    """A name that comes from another module; `name` "" is the module itself.

    Args:
        weak: from `import *` of a user: what every module sees goes before it.
        implied: the `b` of `import a.b`: any declaration goes before it.
    """

    module: str
    level: int
    name: str
    importer: "ModuleInfo"
    span: Span
    weak: bool = False
    implied: bool = False


@entity
class ModuleInfo:
    """A module.

    Args:
        symbol_name: its name in symbols.
        reads_outer_call_location: functions ask where the functions around them are called
            (`__call_location[inline_count=2]`).
        edition: the dialect of its text.
        star_imports: the packages that it imports with `*`.
        imported_roots: the first names of the modules that it imports; the main file sees these modules by name.
        roots_inside: the same of imports inside its functions and structs; None: nobody has asked.
    """

    name: str
    symbol_name: str
    node: ast.Module
    source: Source
    scope: "Scope"
    is_library: bool
    reads_outer_call_location: bool = False
    edition: Edition = Edition.Y2025
    star_imports: "list[ModuleInfo]" = field(default_factory=list)
    imported_roots: set[str] = field(default_factory=set)
    roots_inside: set[str] | None = None

    def node_span(self) -> Span:
        """Where the module begins."""
        return Span(self.source, 0, 0)


@entity
class Scope:
    """Names and their meaning here; for others the parent is asked.

    Args:
        kind: "module", "struct", "function", "body", "block".
        struct: for a struct's scope the instance, so that its aliases are found too.
        body: for scopes inside a body, the body.
    """

    parent: "Scope | None"
    kind: str
    names: dict[str, Any] = field(default_factory=dict)
    struct: Ty | None = None
    body: Any = None

    def chain(self) -> Iterator["Scope"]:
        """Give this scope and its parents, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


Member = Union[ast.VarDecl, OverloadSet, AliasInfo]
"""A member of a struct or a trait: a field, methods, an alias."""
