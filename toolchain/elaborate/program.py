"""The elaborator's entry: a `Package` to a `Program`.

It starts at `main`, makes instances as calls ask for them, and works through the list of those whose bodies are not
made yet.
"""

import contextlib
from collections.abc import Callable
from typing import Any

from ktc.config import Config
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.diag.source import Span
from ktc.elaborate.checks.type_warnings import Warnings
from ktc.elaborate.instances.body_store import Bodies, Packed
from ktc.elaborate.instances.instance_table import TARGETS_TABLE, ArgSig, Instance, OfProgram, Symbolic, UnitState
from ktc.elaborate.instances.library_archive import Defines, Library, archive_unit, packed_bodies
from ktc.elaborate.kernels.launches import KernelBody
from ktc.elaborate.model.declarations import AliasInfo, FnSet, ImportRef, ModuleInfo, Scope, StructInfo
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.values import KV, OPAQUE, RV, FnTy, FnVal, OriginValue, PackPV, PartialTy, StructTy, Ty
from ktc.elaborate.types import primitive_types as builtin_types
from ktc.ir import nodes, types
from ktc.syntax import ast
from ktc.syntax.loader import Package
from ktc.targets.target import Target

ENTRY = "__ktc_main__"


class Body(KernelBody):
    """The elaborator of one function body or one compile-time expression."""


Ready = Callable[[nodes.Unit, str], None]
"""Takes a unit that is elaborated before the rest of the program is, and its entry."""


class Elaborator(Warnings):
    """All of the elaborator."""

    def __init__(
        self, package: Package, config: Config, sink: Sink, library: Library | None = None, is_archive: bool = False
    ) -> None:
        self.prims = {}
        self.trait_tys = {}
        self.fn_tys, self.fn_sets = {}, {}
        self.globals = {}
        self.current = None
        self.constants = []
        self.told_by_library = set()
        self.busy_aliases = {}
        self.circular, self.open_fields, self.endless = set(), set(), set()
        self.elaborated, self.reached, self.nested, self.arms = set(), set(), [], set()
        self.checks_rest = False
        self.trial = None
        self.archetypes = {}
        self.sound = []
        self.alone: dict[str, UnitState] = {}
        self.library_cache: dict[str, Any] = {}
        self.is_archive = is_archive
        self.defines = Defines(config.defines)
        host = UnitState(config.host, -1)
        if library is not None:
            host.archived, host.archived_variables = library.functions, library.variables
            package.packed = library.modules
            host.bodies = Bodies(library.packed, package.library_source)
        self.states = {"host": host}
        for index, target in enumerate(config.accelerators):
            state = self.states[target.name] = UnitState(target, index)
            if library is not None and target.name in library.devices:
                state.bodies = Bodies(library.devices[target.name], package.library_source)
        self.state = host
        linkage = "external" if is_archive else "internal" if library is None else "hidden"
        self.globals[TARGETS_TABLE] = _targets_table(config.accelerators, linkage)
        super().__init__(package, config, sink)

    def targets_of_program(self) -> tuple[Target, ...]:
        """Return the targets of the program's kernels, which the library's archive does not know."""
        if self.is_archive:
            raise OfProgram
        return self.state.only or self.config.accelerators

    # ---- what the language knows of the library ----

    def new_body(self, module: ModuleInfo, scope: Scope, instance: Instance | None) -> Body:
        return Body(self, module, scope, instance)

    def find(self, name: str, scope: Scope, module: ModuleInfo) -> Any:
        """Return the binding of a name in a scope of a module, or None."""
        at: Scope | None = scope
        while at is not None:
            found = at.names.get(name)
            if found is not None:
                if isinstance(found, ImportRef):
                    if found.weak and (usual := self.prelude_name(name)) is not None:
                        return usual
                    found = self.follow(found)
                    if found is not None:  # `unknown` knows a failed import by what stays
                        at.names[name] = found
                return found
            if at.struct is not None and module.is_library:  # programs write `Self.name`
                member = self.member(at.struct, name)
                if isinstance(member, AliasInfo):
                    return self.alias_value(member, at.struct)
            at = at.parent
        found = self.module_name(module, name)
        return self.prelude_name(name) if found is None else found

    def prelude_name(self, name: str) -> Any:
        """Return what the prelude calls `name`, or None."""
        if self.prelude_scope is None:
            return None
        found = self.prelude_scope.names.get(name)
        if found is None:
            return None
        if isinstance(found, ImportRef):
            value = self.follow(found)
            if value is not None:
                self.prelude_scope.names[name] = value
            return value
        return found

    def library_info(self, name: str) -> StructInfo:
        """Return a struct of the library that the language itself builds on."""
        found = self.library_cache.get(name)
        if found is None:
            found = self.prelude_name(name) or self.prelude_name("__" + name)  # programs import some of them
            if not isinstance(found, StructInfo):
                self.fail(Code.MODULE_NOT_FOUND, f"the standard library has no '{name}'", self.main_span())
            self.library_cache[name] = found
        assert isinstance(found, StructInfo)
        return found

    def library_type(self, name: str) -> StructTy:
        """Return a library struct without parameters."""
        return self.struct(self.library_info(name), ())

    def library_struct(self, name: str, params: tuple[Any, ...]) -> StructTy:
        """Return a library struct with parameters, defaults filled in."""
        made = self.apply_struct(self.library_info(name), params, ())
        assert isinstance(made, StructTy)
        return made

    def literal(self, struct: str, prim: str, value: Any) -> KV:
        """Return a literal: a value without size whose type holds the number or text."""
        key = (struct, value)
        found = self.library_cache.get(key)  # type: ignore[call-overload]
        if found is None:
            ty = self.struct(self.library_info(struct), (KV(self.prim(prim), value),))
            found = self.library_cache[key] = KV(ty, ())  # type: ignore[index]
        assert isinstance(found, KV)
        return found

    def bool_constant(self, value: bool) -> KV:
        """Return `True` or `False`."""
        return KV(self.library_type("Bool"), int(value))

    def error_type(self) -> StructTy:
        """Return the type of errors."""
        return self.library_type("Error")

    def tuple_type(self, kinds: tuple[Ty, ...]) -> StructTy:
        """Return the type of tuples of these types."""
        return self.struct(self.library_info("Tuple"), (PackPV(kinds),))

    def pack_type(self, kinds: tuple[Ty, ...]) -> StructTy:
        """Return the type of `*args` of different types."""
        return self.struct(self.library_info("VariadicPack"), (PackPV(kinds),))

    def list_type(self, kind: Ty, mutable: bool = False) -> StructTy:
        """Return the type of `*args` of one type."""
        return self.struct(self.library_info("VariadicList"), (kind, self.bool_constant(mutable)))

    def owned_type(self, sig: ArgSig) -> StructTy:
        """Return the type of `var *args`, which are the function's to destroy."""
        if sig.variadic == "pack":
            return self.struct(self.library_info("_OwnedVariadicPack"), (PackPV(sig.pack),))
        return self.struct(self.library_info("_OwnedVariadicList"), (sig.ty,))

    def list_info(self) -> StructInfo:
        """Return the struct of `*args` of one type."""
        return self.library_info("VariadicList")

    def keywords_type(self, kind: Ty) -> StructTy:
        """Return the type of `**kwargs`."""
        return self.library_struct("OwnedKwargsDict", (kind,))

    def known_methods(self, ty: StructTy, name: str) -> FnSet:
        """Return methods that the library must have."""
        found = self.method_set(ty, name)
        assert found is not None
        return found

    def pack_items(self, ty: Ty) -> tuple[Any, ...] | None:
        """Return the types of a `VariadicPack`, owned or not, or None."""
        if isinstance(ty, StructTy) and ty.info in map(self.library_info, ("VariadicPack", "_OwnedVariadicPack")):
            pack = ty.params[0]
            return pack.items if isinstance(pack, PackPV) else None
        return None

    def origin_constant(self, value: OriginValue) -> KV:
        """Return an origin as a parameter value."""
        ty = self.struct(self.library_info("Origin"), (self.bool_constant(value.mutable),))
        return KV(ty, value)

    def materialized(self, ty: Any, pack: bool = False) -> Any:
        """Return the run-time type of a literal's type; other types are their own."""
        if not isinstance(ty, StructTy) or ty.info.materialized is None:
            if isinstance(ty, FnTy) and ty.of is not None:
                return self.thin_type(ty.of) or ty
            return ty
        info = ty.info
        key = f"{info.uid}{'pack' if pack else ''}"
        if key not in self.library_cache:
            node = info.materialized_in_packs if pack else info.materialized
            assert node is not None
            self.library_cache[key] = self.evaluate(node, info.scope, info.module)
        return self.library_cache[key]

    def static_set(self, member: FnSet, statics: FnSet) -> FnSet:
        """Return the overloads meant through the type, one object for each member."""
        if statics is member:
            return member
        return self.library_cache.setdefault(f"static{id(member)}", statics)  # type: ignore[no-any-return]

    def main_span(self) -> Span:
        """Return the beginning of the main file."""
        return Span(self.main.source, 0, 0)

    # ---- constants ----

    def index_of(self, value: Any) -> int:
        """Return a whole number or a truth value known at compile time."""
        if value is None or (isinstance(value, (Ty, FnVal)) and not isinstance(value, StructTy)):
            self.fail(Code.NOT_COMPILE_TIME, "a number known at compile time is wanted", None)
        try:
            return builtin_types.comptime_int(self, value)
        except ValueError:
            pass
        body = self.new_body(self.main, self.main.scope, self.current)
        made = body.param(RV_bool(body, value), None)
        return int(made.data)

    def text_of(self, value: Any) -> str:
        """Return a text known at compile time."""
        if isinstance(value, KV):
            if isinstance(value.ty, StructTy) and value.ty.params and value.data == ():
                first = value.ty.params[0]
                if isinstance(first, KV) and isinstance(first.data, str):
                    return first.data
            if isinstance(value.data, (str, tuple)) and value.data:
                return self.string_of(value.data)
        return str(value)

    def evaluate_pattern(self, node: ast.Expr, scope: Scope, module: ModuleInfo) -> Any:
        """Compute a type with open parameters."""
        try:
            return self.evaluate_open(node, scope, module)
        except Symbolic:
            return OPAQUE

    def refine(self, base: PartialTy, positional: tuple[Any, ...], named: tuple[tuple[str, Any], ...]) -> Any:
        """Give more parameters to a struct that has some."""
        params = base.info.node.params
        slots = [p.name for p, v in zip(params, base.params, strict=True) if v is None and p.kind in ("pos", "any")]
        if len(positional) > len(slots):
            raise Mismatch(Code.PARAMETER_COUNT, f"'{base.info.name}' takes at most {len(slots)} more parameters")
        have = [(p.name, v) for p, v in zip(params, base.params, strict=True) if v is not None]
        return self.apply_struct(base.info, (), (*have, *zip(slots, positional, strict=False), *named))

    # ---- the program ----

    def startup_function(self, name: str) -> FnVal:
        """Return a function that the compiler itself calls."""
        found = self.prelude_name(name)
        if found is None:
            startup = self.package.find("std.builtin._startup")
            assert startup is not None
            found = self.module_name(self.enter(startup), name)
        assert isinstance(found, FnSet)
        return FnVal(found)

    def check_main_imports(self) -> None:
        """Report imports of the main file that cannot be followed."""
        for name, value in list(self.main.scope.names.items()):
            if isinstance(value, ImportRef):
                found = self.follow(value)
                if found is not None and not value.weak:
                    self.main.scope.names[name] = found

    def program(self, ready: "Ready | None" = None) -> nodes.Program:
        """Elaborate everything that `main` reaches.

        Args:
            ready: is given the host's unit and its entry as soon as they are there, if nothing is wrong so far.
        """
        self.check_main_imports()
        entry = ""
        with contextlib.suppress(Abort):
            entry = self._entry()
        self.drain(self.states["host"])
        host = self.unit_of(self.states["host"])
        failed = any(one.failed for one in self.states["host"].by_symbol.values())  # its mistake may be told later
        if ready is not None and not failed and not self.sink.mistake_count:
            ready(host, entry)
        self.drain()
        self.check_rest()
        complete = self.unit_of(self.states["host"])
        if complete.functions.keys() != host.functions.keys():  # functions for others to call, which nobody calls here
            host = complete
        devices = tuple(self.unit_of(s) for s in sorted(self.states.values(), key=lambda s: s.index) if s.index >= 0)
        used = set() if self.sink.mistake_count else {*host.functions, *(s for unit in devices for s in unit.functions)}
        apart = tuple(
            one.function for state in self.states.values() for symbol, one in state.by_symbol.items()
            if one.function is not None and not one.failed and not one.fn.module.is_library and symbol not in used
        )  # fmt: skip
        self.check_generics()
        self.check_sizes()
        return nodes.Program(host, devices, entry, apart=(*apart, *self.sound))

    def archive(self) -> nodes.Unit:
        """Elaborate the seed of the library's archive."""
        self.check_main_imports()
        self.check_rest()
        return archive_unit(self.states["host"], self.globals)

    def _entry(self) -> str:
        found = self.main.scope.names.get("main")
        if not isinstance(found, FnSet):
            span = Span(self.main.source, 0, 0)
            self.sink.report(Diagnostic(Code.MAIN, span, "the program has no function 'main'"))
            raise Abort
        main = found.functions[0]
        if main.node.args or main.node.params:
            self.sink.report(Diagnostic(Code.MAIN, main.span(), "'main' takes no arguments and no parameters"))
            raise Abort
        result = main.node.result
        if result is not None and not isinstance(result, ast.NoneLit) and getattr(result, "id", "") != "NoneType":
            text = "'main' returns nothing; an exit code is given with 'sys.exit'"
            self.sink.report(Diagnostic(Code.MAIN, Span(self.main.source, result.start, result.end), text))
            raise Abort
        body = self.new_body(self.main, self.main.scope, None)
        call_span = main.span()
        # the user's main first, so that its errors are told first and without the starter's frames
        instance = self.instance_of(FnVal(found), call_span, body)
        self.elaborate_instance(instance)
        fn = self.startup_function(ENTRY).set.functions[0]
        made = self.instance(fn, None, {fn.node.params[0].name: FnVal(found)}, [None] * len(fn.node.args), None, body)
        self.request(made)
        self.entry_refs = made.symbol
        return made.symbol


def _targets_table(targets: tuple[Target, ...], linkage: str) -> nodes.Global:
    """Return the list of device targets that the library reads at run time: a line "vendor name" for each."""
    data = "".join(f"{target.vendor} {target.name}\n" for target in targets).encode() + b"\0"
    content = None if linkage == "external" else data
    return nodes.Global(TARGETS_TABLE, types.ArrayType(types.I8, len(data)), content, True, 0, 1, linkage)


def RV_bool(body: Any, value: Any) -> Any:
    """Return a constant's truth as a value."""
    return RV(body.elab.library_type("Bool"), body.condition(value, ast.Pass(0, 0)))


def elaborate(
    package: Package, config: Config, sink: Sink, library: Library | None = None, ready: Ready | None = None
) -> nodes.Program:
    """Elaborate a program: the host's unit and one for each device target.

    Args:
        library: what is compiled already; the program gets declarations of it.
        ready: see `Elaborator.program`.
    """
    return Elaborator(package, config, sink, library).program(ready)


def elaborate_archive(package: Package, config: Config, sink: Sink) -> tuple[nodes.Unit, Packed, tuple[str, ...]]:
    """Elaborate the library's archive from its seed; returns also the names of `-D` that it depends on."""
    elaborator = Elaborator(package, config, sink, None, True)
    unit = elaborator.archive()
    packed = packed_bodies(elaborator.states["host"], elaborator.globals)
    return unit, packed, tuple(sorted(elaborator.defines.asked))


def elaborate_for_device(package: Package, config: Config, sink: Sink) -> tuple[Packed, tuple[str, ...]]:
    """Elaborate the seed of what is kept for the config's one device target; returns also names of `-D`, as above."""
    elaborator = Elaborator(package, config, sink, None, True)
    elaborator.archive()
    packed = packed_bodies(elaborator.states[config.accelerators[0].name], elaborator.globals)
    return packed, tuple(sorted(elaborator.defines.asked))
