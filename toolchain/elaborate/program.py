"""The elaborator's entry: a `Package` to a `Program`.

It starts at `main`, makes instances as calls ask for them, and works through the list of those whose bodies are not
made yet.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ktc.config import LIBRARIES, WITH_OR_WITHOUT_MAIN, Config
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.diag.source import Span
from ktc.elaborate.checks import generic_bodies, unused_functions
from ktc.elaborate.dispatch import Dispatch
from ktc.elaborate.functions import exports, function_bodies, reachable_units
from ktc.elaborate.instances import function_instances, instance_table, work_queue
from ktc.elaborate.instances.instance_table import TARGETS_TABLE, Specialisation
from ktc.elaborate.instances.library_archive import Library, Seed, new_bodies
from ktc.elaborate.model.body_store import Bodies, Declarations, Listed, Packed
from ktc.elaborate.model.declarations import ImportRef, OverloadSet
from ktc.elaborate.model.elaboration import Body, Elaboration, Observe
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import UnitState
from ktc.elaborate.model.types import FunctionValue
from ktc.elaborate.resolve import modules
from ktc.elaborate.types import primitive_types, type_printer, well_known
from ktc.ir import nodes, types
from ktc.syntax import ast
from ktc.syntax.loader import Package
from ktc.targets.target import Target

ENTRY = "__ktc_main__"


Ready = Callable[[nodes.Unit, str], None]
"""Takes a unit that is elaborated before the rest of the program is, and its entry."""

Keep = Callable[[Mapping[str, Packed]], None]
"""Takes what the library's archive may keep of the bodies of a program without mistakes: by the name of the device
target, "" for the host."""


def _check_main_imports(elab: Elaboration) -> None:
    """Report imports of the main file that cannot be followed."""
    for name, value in list(elab.modules.main.scope.names.items()):
        if isinstance(value, ImportRef):
            found = modules.follow(elab, value)
            if found is not None and not value.weak:
                elab.modules.main.scope.names[name] = found


def whole_program(elab: Elaboration, ready: Ready | None = None, keep: Keep | None = None) -> nodes.Program:
    """Elaborate everything that `main` reaches.

    Args:
        ready: is given the host's unit and its entry as soon as they are there, if nothing is wrong so far.
        keep: is given bodies of the library.
    """
    _check_main_imports(elab)
    entry = ""
    with contextlib.suppress(ErrorReported):
        entry = _begin(elab)
    work_queue.drain(elab, elab.instances.states["host"])
    host = reachable_units.reachable_unit(
        elab, elab.instances.states["host"], exports.describe(elab, _is_library(elab))
    )
    failed = any(
        one.failed for one in elab.instances.states["host"].by_symbol.values()
    )  # its error may be reported later
    if ready is not None and not failed and not elab.reporter.sink.mistake_count:
        ready(host, entry)
    work_queue.drain(elab)
    unused_functions.check_rest(elab)
    complete = reachable_units.reachable_unit(
        elab, elab.instances.states["host"], exports.describe(elab, _is_library(elab))
    )
    if complete.functions.keys() != host.functions.keys():  # exported functions, without a caller here
        host = complete
    reachable_units.keep_launched(elab, host)
    devices = tuple(
        reachable_units.reachable_unit(elab, s)
        for s in sorted(elab.instances.states.values(), key=lambda s: s.index)
        if s.index >= 0
    )
    used = (
        set()
        if elab.reporter.sink.mistake_count
        else {*host.functions, *(s for unit in devices for s in unit.functions)}
    )
    check_only = tuple(
        one.function for state in elab.instances.states.values() for symbol, one in state.by_symbol.items()
        if one.function is not None and not one.failed and not one.fn.module.is_library and symbol not in used
    )  # fmt: skip
    generic_bodies.check_generics(elab)
    unused_functions.check_sizes(elab)
    if keep is not None and not elab.reporter.sink.mistake_count:
        keep(_new_bodies(elab))
    return nodes.Program(
        host,
        devices,
        entry,
        check_only=(*check_only, *elab.coverage.unchecked_bodies),
        tunables=dict(elab.comptime.tunables),
    )


def _new_bodies(elab: Elaboration) -> dict[str, Packed]:
    states = {one.target.name if one.index >= 0 else "": one for one in elab.instances.states.values()}
    return {name: new for name, one in states.items() if (new := new_bodies(elab, one))}


def _begin(elab: Elaboration) -> str:
    """Request the program's entry points: its `main`, and the exports of a library."""
    if not _is_library(elab):
        return _entry(elab)
    exports.request(elab)
    return ""


def _is_library(elab: Elaboration) -> bool:
    kind = elab.config.emit
    return kind in LIBRARIES or (kind in WITH_OR_WITHOUT_MAIN and "main" not in elab.modules.main.scope.names)


def _entry(elab: Elaboration) -> str:
    found = elab.modules.main.scope.names.get("main")
    if not isinstance(found, OverloadSet):
        span = Span(elab.modules.main.source, 0, 0)
        elab.reporter.sink.report(Diagnostic(Code.MISSING_MAIN, span, "the program has no function 'main'"))
        raise ErrorReported
    main = found.functions[0]
    if main.node.args or main.node.params:
        elab.reporter.sink.report(
            Diagnostic(
                Code.INVALID_MAIN,
                main.span(),
                "'main' takes no arguments and no parameters",
                "write 'from sys import argv'; 'argv()' returns the command-line arguments" if main.node.args else "",
            )
        )
        raise ErrorReported
    result = main.node.result
    if result is not None and not isinstance(result, ast.NoneLit) and getattr(result, "id", "") != "NoneType":
        text = "'main' returns nothing; an exit code is given with 'sys.exit'"
        elab.reporter.sink.report(
            Diagnostic(
                Code.INVALID_MAIN,
                Span(elab.modules.main.source, result.start, result.end),
                text,
                "leave the result type out",
            )
        )
        raise ErrorReported
    body = Body(elab, elab.modules.main, elab.modules.main.scope, None)
    call_span = main.span()
    # the user's main first, so that its errors come first and without the starter's frames
    instance = function_instances.instance_of(elab, FunctionValue(found), call_span, body)
    function_bodies.elaborate_instance(elab, instance)
    fn = well_known.startup_function(elab, ENTRY).overloads.functions[0]
    given = {fn.node.params[0].name: FunctionValue(found)}
    made = instance_table.instance(elab, Specialisation(fn, None, given, [None] * len(fn.node.args)), body)
    work_queue.request_entry(elab, made)
    return made.symbol


def _targets_table(targets: tuple[Target, ...], linkage: str) -> nodes.Global:
    """Return the list of device targets that the library reads at run time: a line "vendor name" for each."""
    data = "".join(f"{target.vendor} {target.name}\n" for target in targets).encode() + b"\0"
    content = None if linkage == "external" else data
    return nodes.Global(TARGETS_TABLE, types.ArrayType(types.I8, len(data)), content, True, 0, 1, linkage)


def begin(
    package: Package, config: Config, sink: Sink, library: Library | None = None, is_archive: bool = False,
    symbol_prefix: str = "",
) -> Elaboration:  # fmt: skip
    """Return the state of an elaboration in which nothing is elaborated yet; the main file's declarations are known.

    Args:
        library: the compiled library; the program gets declarations of it.
        is_archive: the library's archive is elaborated, not a program.
        symbol_prefix: see `Modules`.
    """
    host = UnitState(config.host, -1)
    if library is not None:
        host.listed = Listed(bodies=library.listed.bodies)
        if library.is_linked:
            host.archived, host.listed = Declarations(library.functions, package.library_source), library.listed
            host.archived_variables = library.variables
        package.packed = library.modules
        host.bodies = Bodies(library.packed, package.library_source)
    elab = Elaboration(package, config, sink, Dispatch(), host, is_archive)
    for index, target in enumerate(config.accelerators):
        state = elab.instances.add_state(target.name, UnitState(target, index))
        if library is not None and target.name in library.devices:
            state.bodies = Bodies(library.devices[target.name], package.library_source)
            state.listed = Listed(bodies=library.listed.bodies)
    linkage = "external" if is_archive else "hidden" if library is not None and library.is_linked else "internal"
    elab.instances.add_global(_targets_table(config.accelerators, linkage))
    primitive_types.begin(elab)
    elab.modules.begin_symbols(symbol_prefix)
    begin_program(elab)
    return elab


def begin_program(elab: Elaboration) -> None:
    """Enter the main file and the prelude."""
    elab.reporter.describe_with(partial(type_printer.printed_instance, elab))
    package = elab.modules.package
    prelude = package.find("std." + modules.PRELUDE)
    main = modules.enter(elab, package.root)
    elab.modules.begin(main, modules.enter(elab, prelude).scope if prelude is not None else None)


def reached(elab: Elaboration) -> None:
    """Elaborate what `main` reaches, and make nothing of it."""
    _check_main_imports(elab)
    with contextlib.suppress(ErrorReported):
        _begin(elab)
    work_queue.drain(elab)


def elaborate(
    package: Package, config: Config, sink: Sink, library: Library | None = None, ready: Ready | None = None,
    observe: Observe | None = None, keep: Keep | None = None,
) -> nodes.Program:  # fmt: skip
    """Elaborate a program: the host's unit and one for each device target.

    Args:
        library: the compiled library; the program gets declarations of it.
        ready, keep: see `whole_program`.
        observe: see `Elaboration.observe`.
    """
    elab = begin(package, config, sink, library)
    elab.observe = observe
    return whole_program(elab, ready, keep)


def elaborate_seed(package: Package, config: Config, sink: Sink) -> Seed:
    """Elaborate the seed of the library's archive, for the host or for the config's one device target."""
    elab = begin(package, config, sink, None, True)
    _check_main_imports(elab)
    unused_functions.check_rest(elab)
    name = config.accelerators[0].name if config.accelerators else "host"
    return Seed(elab, elab.instances.states[name])


def contents(seed: Seed, listed: Listed) -> tuple[Packed, dict[str, nodes.Unit]]:
    """Return all that the archive may keep of an elaborated seed: bodies, and units to be compiled."""
    elab, state = seed.elab, seed.state
    state.listed, state.bodies = listed, Bodies(Packed(), elab.modules.package.library_source)
    units = reachable_units.units_apart(elab, state) if state.index < 0 else {}
    return new_bodies(elab, state), units


def elaborate_edited(
    package: Package, config: Config, sink: Sink, edited_range: tuple[int, int], library: Library | None = None,
    observe: Observe | None = None,
) -> Sequence[nodes.Function]:  # fmt: skip
    """Elaborate only the main file's declarations that touch some characters; return the functions that are sound."""
    elab = begin(package, config, sink, library)
    elab.observe = observe
    _check_main_imports(elab)
    unused_functions.check_edited(elab, *edited_range)
    functions = [
        one.function for state in elab.instances.states.values() for one in state.by_symbol.values()
        if one.function is not None and not one.failed and not one.fn.module.is_library
    ]  # fmt: skip
    generic_bodies.check_generics(elab)
    return (*functions, *elab.coverage.unchecked_bodies)
