"""The unit of the functions that a program reaches, and the units of library functions that are compiled apart from it.

A function of the library's archive (`instances/library_archive.py`) is declared where it is called. Each such
function that the archive lacks has a unit of its own (`Unit.apart`), with the short functions that it needs and nothing
else of the archive: LLVM makes the same code of it, whatever program came to need it first.
"""

from collections.abc import Callable
from dataclasses import field

from ktc.base.records import entity, replace
from ktc.elaborate.instances.instance_table import TARGETS_TABLE
from ktc.elaborate.instances.library_archive import addresses, body_of, is_listed
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.instance import UnitState
from ktc.ir import nodes, types, walk
from ktc.ir.exports import Exports

NO_EXPORTS = Exports()
NO_TARGETS = types.ArrayType(types.I8, 1)


def keep_launched(elab: Elaboration, host: nodes.Unit) -> None:
    """Forget the kernels that the host's code does not name: only unreachable code launches them."""
    named = {symbol for item in host.globals.values() if isinstance(item.content, nodes.Const)
             for symbol in walk.addresses_of(item.content.value)}  # fmt: skip
    images = {(item.content.unit, item.content.kernel) for item in host.globals.values()
              if isinstance(item.content, nodes.ImageRef)}  # fmt: skip
    for state in elab.instances.states.values():
        state.kernels = {
            symbol: kernel for symbol, kernel in state.kernels.items()
            if symbol in named or (state.index, symbol) in images
        }  # fmt: skip


def reachable_unit(elab: Elaboration, state: UnitState, exports: Exports = NO_EXPORTS) -> nodes.Unit:
    """Return the functions and variables reachable from the entry and the exports, or from a target's kernels."""
    roots = [elab.instances.entry, *exports.roots()] if state.index < 0 else list(state.kernels)
    if state.archived is not None:
        roots.append(TARGETS_TABLE)  # the archive reads it
    reach = _Reach(elab, state)
    while True:
        unit = nodes.Unit(state.target, exports=exports, described=elab.types.described)
        try:
            reach.fill(unit, [root for root in roots if root], "")
            unit.apart = reach.apart()
            break
        except _NotApart as found:
            reach.forget(found.symbol)
    unit.kernels = tuple(state.kernels[s] for s in sorted(state.kernels))
    return unit


def units_apart(elab: Elaboration, state: UnitState) -> dict[str, nodes.Unit]:
    """Return the units of all that the archive may have of what was elaborated."""
    reach = _Reach(elab, state)
    reach.wanted += [symbol for symbol in sorted(state.listed.functions) if reach.is_apart(symbol)]
    return reach.apart()


class _NotApart(Exception):
    """A listed function needs a variable that only one object may hold and that is not listed: the list is not made for
    all settings. Such a function is compiled with the program."""

    def __init__(self, symbol: str) -> None:
        super().__init__(symbol)
        self.symbol = symbol


class _Reach:
    """Collects what functions need.

    Attributes:
        wanted: functions and variables of the archive that were met and that it lacks.
        rejected: functions on the list that are compiled with the program.
    """

    def __init__(self, elab: Elaboration, state: UnitState) -> None:
        self.elab, self.state = elab, state
        self.wanted: list[str] = []
        self.rejected: set[str] = set()

        def function(symbol: str) -> nodes.Function | None:
            found = body_of(elab, state, symbol)
            return None if found is None else found[0]

        self.lengths = Lengths(function)

    def is_apart(self, symbol: str) -> bool:
        """Return whether a function is compiled for itself."""
        return symbol not in self.rejected and is_listed(self.state, symbol) and self.lengths.is_long(symbol)

    def forget(self, symbol: str) -> None:
        """Begin again, with a function compiled with the program."""
        self.rejected.add(symbol)
        self.wanted.clear()

    def apart(self) -> dict[str, nodes.Unit]:
        """Return the units of the wanted functions, by symbol."""
        units: dict[str, nodes.Unit] = {}
        while self.wanted:
            symbol = self.wanted.pop()
            if symbol not in units:
                units[symbol] = unit = nodes.Unit(self.state.target, described=self.elab.types.described)
                self.fill(unit, [symbol], symbol)
        return dict(sorted(units.items()))

    def fill(self, unit: nodes.Unit, work: list[str], own: str) -> None:
        """Put what some functions need into a unit.

        Args:
            own: the function or variable of the archive whose unit it is; "" for the program's.
        """
        state = self.state
        seen: set[str] = set()
        while work:
            symbol = work.pop()
            if symbol in seen:
                continue
            seen.add(symbol)
            instance = state.by_symbol.get(symbol)
            archived = None if state.archived is None else state.archived.get(symbol)
            if archived is not None and (instance is None or instance.archived is not None):
                unit.functions[symbol] = archived
            elif symbol in state.shared:
                unit.globals[symbol] = state.shared[symbol]
            elif symbol in self.elab.instances.globals:
                work += self._global(unit, self.elab.instances.globals[symbol], own)
            else:
                work += self._function(unit, symbol, own)

    def _function(self, unit: nodes.Unit, symbol: str, own: str) -> list[str]:
        found = body_of(self.elab, self.state, symbol)
        if found is None:
            return []
        function, refs = found
        if symbol == own:
            function = replace(function, linkage="hidden")
        elif self.is_apart(symbol):
            unit.functions[symbol] = replace(function, body=(), linkage="external", span=None)
            self.wanted.append(symbol)
            return []
        unit.functions[symbol] = function
        return list(refs)

    def _global(self, unit: nodes.Unit, held: nodes.Global, own: str) -> list[str]:
        name, listed = held.name, self.state.listed
        if name == TARGETS_TABLE and own:
            held = replace(held, type=NO_TARGETS, content=None, linkage="external")
        elif name == own:
            held = replace(held, linkage="hidden")
        elif name in listed.variables:
            held = replace(held, content=None, linkage="external")
            if name not in self.state.archived_variables:
                self.wanted.append(name)
        elif own and (not held.constant or isinstance(held.content, nodes.ImageRef | nodes.SourcePlace)):
            raise _NotApart(own)
        unit.globals[name] = held
        return addresses(held)


SHORT = 32
"""Functions of fewer statements, those of inlined callees included, are compiled with the program. Calls of longer ones
cost little beside what they do: with 12 programs took up to a third more time, with 48 none took less."""


@entity
class Lengths:
    """The lengths of functions.

    Args:
        function: finds a function by its symbol, None if there is none.
    """

    function: Callable[[str], nodes.Function | None]
    _known: dict[str, int] = field(default_factory=dict)

    def is_long(self, symbol: str) -> bool:
        """Return whether a function is long enough to be compiled for itself."""
        function = self.function(symbol)
        if function is None or function.inline == "always":
            return False
        return self._length(symbol) >= SHORT

    def _length(self, symbol: str) -> int:
        """Return how many statements a function has, with those of callees that are always inlined."""
        found = self._known.get(symbol)
        if found is None:
            self._known[symbol] = 0  # of a callee that calls itself
            function = self.function(symbol)
            found = sum(self._cost(statement) for statement in walk.statements(function.body)) if function else 0
            self._known[symbol] = found
        return found

    def _cost(self, statement: nodes.Statement) -> int:
        if isinstance(statement, nodes.Let) and isinstance(statement.value, nodes.Call):
            callee = self.function(statement.value.function)
            if callee is not None and callee.inline == "always":
                return self._length(statement.value.function)
        return 1
