"""The compiled standard library: the functions that programs have needed, each an object of its own.

Input: a `Config`. Output: the declarations that the elaborator sees, and the objects to link. The content is
fixed by a list (`elaborate/instances/library_archive.py`), and the object of a function is the same whatever program
needed it first, so the same program becomes the same executable with a full archive and with an empty one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from ktc import passes
from ktc.base.cache import Cache
from ktc.base.records import entity, replace
from ktc.codegen.module import LlvmModule, lower_host
from ktc.config import Config
from ktc.diag.diagnostic import Bug, Sink
from ktc.driver.front_end import kept_library
from ktc.driver.front_end.kept_library import KeptCode
from ktc.elaborate.instances.instance_table import TARGETS_TABLE
from ktc.elaborate.instances.library_archive import Library
from ktc.elaborate.model.body_store import pack
from ktc.emit import device
from ktc.emit.job_steps import Usage
from ktc.emit.workers import Workers
from ktc.ir.nodes import Function, Unit
from ktc.ir.read_only import read_only_arguments
from ktc.passes.never_returns import never_returning
from ktc.targets.target import Target

_BATCHES = 3
"""Jobs for each process of LLVM: more are slower to start, and fewer may end at different times."""

_SMALL_FOLDERS = ("stdlib/builtin/_runtime/", "stdlib/gpu/host/", "stdlib/os/")
"""Folders of the library whose functions are compiled for size: they start, report, or wait for a driver."""

Told = Callable[[int, int, Usage | None], None]
"""Gets how many functions are compiled, of how many, and the times of a job."""


@entity
class Archive:
    """The compiled library of one build.

    Args:
        library: the declarations that the elaborator sees.
        code: the compiled functions.
        new: declarations of functions that are being compiled, None for variables. needs: as `KeptCode.needs`, of them.
        modules: of these. jobs: the symbols that each job is for, and its ticket.
    """

    config: Config
    library: Library
    code: KeptCode
    new: dict[str, Function | None] = field(default_factory=dict)
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    modules: dict[str, LlvmModule] = field(default_factory=dict)
    jobs: list[tuple[list[str], int]] = field(default_factory=list)

    def compile(self, units: Mapping[str, Unit], workers: Workers) -> None:
        """Have LLVM compile what the archive lacks; `units` are settled."""
        config, new = self.config, {symbol: unit for symbol, unit in units.items() if symbol not in self.modules}
        modules = {
            symbol: lower_host(_for_size(unit, symbol), {}, "", config.debug, config.level)
            for symbol, unit in new.items()
        }
        self.modules |= modules
        for symbol, unit in new.items():
            self.needs[symbol] = references(unit)
            function = unit.functions.get(symbol)
            self.new[symbol] = None if function is None else _declaration(function)
        order = sorted(modules, key=lambda one: (-len(modules[one].text), one))
        count = min(len(order), max(1, config.jobs) * _BATCHES)
        for symbols in [order[first::count] for first in range(count)]:
            ticket = workers.submit(device.library_job([modules[one] for one in symbols], config.level))
            self.jobs.append((symbols, ticket))

    def finished(self, cache: Cache, workers: Workers, told: Told | None = None) -> None:
        """Wait for the functions being compiled, and keep them; `told` is called after each job."""
        if not self.jobs:
            return
        objects: dict[str, bytes] = {}
        for symbols, ticket in self.jobs:
            objects |= zip(symbols, self._result(symbols, ticket, workers), strict=True)
            if told is not None:
                told(len(objects), len(self.modules), workers.usage.get(ticket))
        functions = {symbol: pack(function) for symbol, function in self.new.items() if function is not None}
        made = KeptCode(functions, objects, dict(self.needs))
        self.jobs.clear()
        self.code = made.joined(self.code)
        kept_library.keep_code(self.config, cache, self.code)

    def _result(self, symbols: Sequence[str], ticket: int, workers: Workers) -> Sequence[bytes]:
        try:
            made: Sequence[bytes] = workers.result(ticket)
        except Bug:  # LLVM died of one of them: each for itself, and that one in another way
            jobs = [device.host_job(self.modules[symbol], "object", self.config.level) for symbol in symbols]
            made = [bytes(workers.result(one)) for one in [workers.submit(job) for job in jobs]]
        return made

    def objects(self, host: Unit) -> tuple[bytes, ...]:
        """Return the objects that a program's host needs; all are compiled."""
        work, chosen = list(references(host)), set[str]()
        while work:
            symbol = work.pop()
            if symbol in self.code.objects and symbol not in chosen:
                chosen.add(symbol)
                work += self.code.needs[symbol]
        return tuple([self.code.objects[symbol] for symbol in sorted(chosen)])


def find(config: Config, cache: Cache) -> Archive:
    """Return the archive for a build."""
    code = kept_library.code(config, cache)
    return Archive(config, kept_library.library_of(config, code, *kept_library.bodies(config, cache)), code)


def settled(unit: Unit, config: Config) -> Unit:
    """Return a host's unit in which all that is compiled apart has gone through the passes, and is declared as it will
    be in later builds.

    Raises:
        Bug: a function of the library has an error that was not found before.
    """
    if not unit.apart:
        return unit
    sink = Sink()
    made: dict[str, Unit] = {}
    for symbol, raw in unit.apart.items():
        one = passes.run(_without_facts(raw), config, sink)
        # The facts of the functions in the archive hold for their callers, too: without them the facts of a
        # caller would depend on which program came first.
        made[symbol] = replace(one, functions=_with(one.functions, _externals(raw)))
    if sink.error_count:
        raise Bug(f"the library has errors: {sink.diagnostics[0].message}", "archive")
    declared = _declarations(made)
    for symbol, one in made.items():
        functions = _with(one.functions, declared)
        if symbol in declared:
            head = declared[symbol]
            functions[symbol] = replace(one.functions[symbol], read_only=head.read_only, noreturn=head.noreturn)
        made[symbol] = replace(one, functions=functions)
    return replace(unit, functions=_with(unit.functions, declared), apart=made)


def _for_size(unit: Unit, symbol: str) -> Unit:
    """Return a unit that LLVM compiles for size, if its function is one of those that run once or wait for a device."""
    function, target = unit.functions.get(symbol), unit.target
    if function is None or function.span is None or not isinstance(target, Target):
        return unit
    if not function.span.source.path.startswith(_SMALL_FOLDERS):
        return unit
    return replace(unit, target=replace(target, prefers_size=True))


def references(unit: Unit) -> tuple[str, ...]:
    """Return the functions and variables that other objects define."""
    functions = (symbol for symbol, one in unit.functions.items() if one.linkage == "external")
    variables = (name for name, one in unit.globals.items() if one.linkage == "external" and name != TARGETS_TABLE)
    return tuple(sorted((*functions, *variables)))


def _declarations(units: Mapping[str, Unit]) -> dict[str, Function]:
    """Return the declarations of functions. They may call one another: through an argument nothing is written unless
    one of them is found to write, and a function returns unless all of its paths are found to end."""
    known = {
        symbol: _declaration(replace(one, read_only=tuple(range(len(one.params)))))
        for symbol, unit in units.items()
        if (one := unit.functions.get(symbol)) is not None
    }
    callers: dict[str, list[str]] = {}
    for symbol in known:
        for callee in references(units[symbol]):
            callers.setdefault(callee, []).append(symbol)
    work = dict.fromkeys(known)
    while work:
        symbol, _ = work.popitem()
        own = units[symbol].functions[symbol]
        functions = {**_with(units[symbol].functions, known), symbol: own}
        found = replace(
            known[symbol],
            read_only=read_only_arguments(functions)[symbol],
            noreturn=symbol in never_returning(functions),
        )
        if found != known[symbol]:
            known[symbol] = found
            work |= dict.fromkeys(callers.get(symbol, ()))
    return known


def _externals(unit: Unit) -> dict[str, Function]:
    return {symbol: one for symbol, one in unit.functions.items() if one.linkage == "external"}


def _without_facts(unit: Unit) -> Unit:
    """Return a unit that knows the same of all functions of the archive, whether this has them or not."""
    bare = {symbol: replace(one, read_only=(), noreturn=False) for symbol, one in _externals(unit).items()}
    return replace(unit, functions={**unit.functions, **bare})


def _declaration(function: Function) -> Function:
    return replace(function, body=(), linkage="external", span=None)


def _with(functions: Mapping[str, Function], declared: Mapping[str, Function]) -> dict[str, Function]:
    return {symbol: declared.get(symbol, function) for symbol, function in functions.items()}
