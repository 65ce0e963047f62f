"""The parts of the state of one elaboration (`Elaboration`).

Each part has one owner: only files of that room change it directly (tests/unit/test_architecture.py). Other rooms call
a function of the owner, or one of the methods here. A method that replaces something returns what was there before.
"""

import itertools
from collections.abc import Iterator, Sequence

from ktc.base.editions import Edition
from ktc.diag.source import Span
from ktc.elaborate.model.build_options import Defines
from ktc.elaborate.model.declarations import (
    AliasInfo,
    FunctionInfo,
    ImportRef,
    ModuleInfo,
    OverloadSet,
    Scope,
    StructInfo,
    TraitInfo,
    Ty,
)  # fmt: skip
from ktc.elaborate.model.instance import Instance, Speculation, UnitState
from ktc.elaborate.model.types import FunctionTy, FunctionValue, ParameterPack, PrimTy, StructTy, TraitTy
from ktc.ir import nodes
from ktc.ir.types import DescribedType
from ktc.syntax import ast
from ktc.syntax.edition_names import EditionNames
from ktc.syntax.loader import Package


class Modules:
    """The modules of the program. Owner: `resolve`.

    Attributes:
        infos: modules that were entered, by the identity of their trees.
        ids: numbers of declarations.
        followed: imports that are being followed.
        preludes: the names that texts of an edition see without an import, by edition, once they are asked for.
        edition_names: the table of edition 2026, once it is asked for.
        unprefixed: where an import without `std.` was reported.
        symbol_prefix: begins the names of the program's own modules in symbols; not empty where another program will
            follow in the same elaboration (`prepared.py`).
    """

    def __init__(self, package: Package) -> None:
        self.package = package
        self.symbol_prefix = ""
        self.followed: set[ImportRef] = set()
        self.infos: dict[int, ModuleInfo] = {}
        self.ids: Iterator[int] = itertools.count(1)
        self.prelude_scope: Scope | None = None
        self.preludes: dict[Edition, Scope | None] = {}
        self.edition_names: EditionNames | None = None
        self.unprefixed: set[Span] = set()
        self.main: ModuleInfo  # set when the elaboration begins

    def begin(self, main: ModuleInfo, prelude: Scope | None) -> None:
        """Set the main file and the prelude's names."""
        self.main, self.prelude_scope = main, prelude

    def begin_symbols(self, prefix: str) -> None:
        """Set how the names of the program's own modules begin in symbols."""
        self.symbol_prefix = prefix

    def forget_program(self, package: Package) -> None:
        """Forget the program's own modules; `package` has the same modules of the library."""
        self.package, self.symbol_prefix = package, ""
        self.infos = {key: info for key, info in self.infos.items() if info.is_library}

    def set_main(self, module: ModuleInfo) -> None:
        """Check another module as the main file is."""
        self.main = module


class TypeTable:
    """Interned types, and facts about them. Owner: `types`.

    Attributes:
        primitives, traits: interned types; `none`: the primitive type of "no value".
        library: types of the library that the language builds on, by name.
        nesting, open_fields: types whose origins, and whose fields, are being found.
        described: descriptions of types for debuggers, by key.
    """

    def __init__(self) -> None:
        self.primitives: dict[tuple[object, ...], PrimTy] = {}
        self.none: PrimTy  # set when the elaboration begins
        self.traits: dict[tuple[TraitInfo, ...], TraitTy] = {}
        self.library: dict[object, object] = {}
        self.nesting = 0
        self.open_fields: set[StructTy] = set()
        self.described: dict[str, DescribedType] = {}
        self._packs: dict[int, tuple[ParameterPack, tuple[Ty, ...]]] = {}

    def members_of(self, pack: ParameterPack) -> tuple[Ty, ...]:
        """Return the types among the items of a pack; a call with thousands of arguments asks for each of them."""
        known = self._packs.get(id(pack))
        if known is None:
            known = self._packs[id(pack)] = pack, tuple([one for one in pack.items if isinstance(one, Ty)])
        return known[1]


class GenericTypes:
    """Function types, and the archetypes of type parameters. Owner: `generics`.

    Attributes:
        functions: interned function types.
        constant_functions: by the name of the address that stands for it, each function that is part of a constant.
        archetypes: stand-ins for type parameters, by name.
        callable_traits: the trait of each function type that stands where edition 2026 means a trait; the names of the
            arguments belong to it.
    """

    def __init__(self) -> None:
        self.functions: dict[object, FunctionTy] = {}
        self.constant_functions: dict[str, FunctionValue] = {}
        self.archetypes: dict[str, StructInfo] = {}
        self.callable_traits: dict[tuple[FunctionTy, tuple[str, ...]], TraitInfo] = {}

    def forget_program(self) -> None:
        """Forget what is the program's own."""
        self.archetypes.clear()
        self.constant_functions = {
            name: fn for name, fn in self.constant_functions.items() if fn.overloads.functions[0].module.is_library
        }


class Instances:
    """Instances of functions, and the globals that they use. Owner: `instances`.

    Attributes:
        states: the instances of each target; `state`: those of the target that is elaborated now.
        current: the instance that is elaborated now.
        launch_states: states in which conditions of launches are computed for one target.
        elaborated: declarations of which an instance was elaborated.
        function_sets: of an overload that was chosen, the set with only it.
        nonterminating: declarations that instantiate themselves without end.
        entry: the symbol of the program's entry.
        placed: symbols of library functions that hold a place in the program's text.
        deferred_kernels: kernels that are elaborated one by one, by (target's number, symbol); None where they are
            elaborated with the rest.
    """

    def __init__(self, host: UnitState) -> None:
        self.states: dict[str, UnitState] = {"host": host}
        self.state = host
        self.current: Instance | None = None
        self.launch_states: dict[str, UnitState] = {}
        self.globals: dict[str, nodes.Global] = {}
        self.elaborated: set[int] = set()
        self.function_sets: dict[FunctionInfo, OverloadSet] = {}
        self.nonterminating: set[int] = set()
        self.entry = ""
        self.placed: set[str] = set()
        self.deferred_kernels: dict[tuple[int, str], Instance] | None = None

    def enter(self, state: UnitState, current: Instance | None) -> tuple[UnitState, Instance | None]:
        """Elaborate for another target, and another instance."""
        outer = self.state, self.current
        self.state, self.current = state, current
        return outer

    def enter_state(self, state: UnitState) -> UnitState:
        """Elaborate for another target."""
        outer, self.state = self.state, state
        return outer

    def add_state(self, name: str, state: UnitState) -> UnitState:
        """Begin a target."""
        self.states[name] = state
        return state

    def add_global(self, item: nodes.Global) -> None:
        """Add a global, or replace the one of its name."""
        self.globals[item.name] = item

    def note_placed(self, symbol: str) -> None:
        """A function of the library holds a place in the program's text."""
        self.placed.add(symbol)

    def forget_program(self) -> None:
        """Forget what is the program's own; instances of library functions stay."""
        self.state, self.current, self.entry = self.states["host"], None, ""
        for state in self.states.values():
            state.forget_program(self.placed)
        self.placed.clear()

    def note_elaborated(self, uid: int) -> None:
        """An instance of a declaration is elaborated, or none need be."""
        self.elaborated.add(uid)


class CompileTime:
    """Evaluation at compile time. Owner: `comptime`.

    Attributes:
        busy_aliases: aliases that are being computed; `circular`: those that need themselves.
        defines: the values of `-D`.
        is_quiet: code that runs prints nothing.
        tunables: the choices that the program declares, by name: the values, the first of them where nothing is chosen.
    """

    def __init__(self, defines: Defines) -> None:
        self.busy_aliases: dict[tuple[int, StructTy | None], AliasInfo] = {}
        self.circular: set[tuple[int, StructTy | None]] = set()
        self.defines = defines
        self.is_quiet = False
        self.tunables: dict[str, tuple[int, ...]] = {}

    def set_quiet(self, is_quiet: bool) -> None:
        """Set whether what runs prints nothing."""
        self.is_quiet = is_quiet

    def note_tunable(self, name: str, choices: tuple[int, ...]) -> tuple[int, ...]:
        """The program declares a choice; returns the values that it was declared with first."""
        return self.tunables.setdefault(name, choices)


class Coverage:
    """The declarations that instances have reached, and the state of generic checks. Owner: `checks`.

    Attributes:
        nested: nested functions that were declared; `reached`: nested functions that were elaborated.
        arms: arms of `@parameter if` that were taken.
        only_used: only declarations that have instances are checked.
        speculation: the declaration that is elaborated by itself now; `speculation_state`: its target, None for the
            host.
        uncertainty: how much of what is elaborated depends on a constant that was taken for a parameter (0 to 2).
        constant_choice: which of the constants is taken.
        constants_taken: how many numbers were taken for parameters that all have different ones.
        assumed_immutable, outer_assumed_immutable: an origin was taken to be immutable, here and around.
        unchecked_bodies: bodies without errors, whose ownership is still to be checked.
        uninstantiated_spans: code that is in no instance: an error there counts if all choices of constants show it in
            the same words.
        edited_range: only declarations of the main file that touch these characters are checked.
    """

    def __init__(self) -> None:
        self.nested: list[FunctionInfo] = []
        self.reached: set[ast.FunctionDecl] = set()
        self.arms: set[tuple[ast.If, bool]] = set()
        self.only_used = False
        self.speculation: Speculation | None = None
        self.speculation_state: UnitState | None = None
        self.uncertainty = 0
        self.constant_choice = 0
        self.constants_taken = 0
        self.assumed_immutable = False
        self.outer_assumed_immutable = False
        self.unchecked_bodies: list[nodes.Function] = []
        self.uninstantiated_spans: Sequence[tuple[int, int]] = ()
        self.edited_range: tuple[int, int] | None = None

    def leaves_out(self, node: ast.Node) -> bool:
        """Return whether a declaration is none of those that are checked."""
        return self.edited_range is not None and (node.end < self.edited_range[0] or node.start > self.edited_range[1])

    def set_speculation(self, speculation: Speculation | None) -> Speculation | None:
        """Elaborate another declaration by itself, or none."""
        outer, self.speculation = self.speculation, speculation
        return outer

    def set_uncertainty(self, uncertainty: int) -> int:
        """Set how much depends on constants taken for parameters."""
        outer, self.uncertainty = self.uncertainty, uncertainty
        return outer

    def next_exponent(self) -> int:
        """Return which power of two, from 4 on, is taken for the next number: another one for each parameter in the
        first two choices, the same one for all in the others."""
        if self.constant_choice > 1:
            return self.constant_choice
        self.constants_taken += 1
        return (self.constant_choice + self.constants_taken - 1) % 5

    def note_uncertain(self) -> None:
        """A constant was taken for a parameter."""
        self.uncertainty = max(self.uncertainty, 1)

    def note_assumed_immutable(self) -> None:
        """An origin was taken to be immutable."""
        self.assumed_immutable = True

    def note_nested(self, fn: FunctionInfo) -> None:
        """A nested function was declared."""
        self.nested.append(fn)

    def note_reached(self, node: ast.FunctionDecl) -> None:
        """A nested function was elaborated."""
        self.reached.add(node)

    def note_arm(self, node: ast.If, taken: bool) -> None:
        """An arm of `@parameter if` was taken."""
        self.arms.add((node, taken))
