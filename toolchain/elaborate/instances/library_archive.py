"""The library's archive: what of the standard library is compiled once and not in each build.

Input: an elaborated seed program that uses the library as programs do. Output: a `Unit` whose hidden functions other
programs call, and the `Library` that describes them to the elaborator of a program. What depends on the program (its
targets, places in its source) or could be a part of its loops (short functions, which LLVM should see) stays out.
"""

from collections.abc import Mapping, Set
from dataclasses import field

from ktc.base.records import entity, record, replace
from ktc.elaborate.model.body_store import Packed, pack
from ktc.elaborate.model.instance import Instance, UnitState
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    FunctionValue,
    ParameterArgument,
    ParameterPack,
    PartialTy,
    StructTy,
)
from ktc.ir import nodes, walk
from ktc.ir.read_only import read_only_arguments
from ktc.syntax.loader import MAIN, Package
from ktc.syntax.parsing.parser import pack as pack_module

SHORT = 12
"""Functions of fewer statements, those of inlined callees included, are compiled with the program. LLVM would inline
most of them; calls of longer ones cost little beside what they do."""
SHORT_LEAF = 32
"""The same of functions without loops and calls, which end as a few instructions (`Optional.or_else`)."""


_DIGEST = 12
"""Length of the digest that ends the symbol of an instance; a longer ending distinguishes instances with one digest."""


@record
class Library:
    """What a program needs to know of the archive.

    Args:
        functions: packed declarations by symbol.
        variables: global variables that the archive defines.
        packed: bodies of all functions that were elaborated for the host, long and short.
        modules: trees of the library's modules that the archive is made of, for `Package.packed`.
        devices: bodies that were elaborated for device targets, by the target's name.
    """

    functions: Mapping[str, bytes]
    variables: Set[str]
    packed: Packed
    modules: Mapping[str, tuple[str, bytes]]
    devices: Mapping[str, Packed] = field(default_factory=dict)

    def inlined(self) -> "Library":
        """Return the library for a unit that holds all of its code: bodies, but nothing to link with."""
        return replace(self, functions={}, variables=frozenset())


def archive_unit(state: UnitState, variables: Mapping[str, nodes.Global]) -> nodes.Unit:
    """Return the unit of the archive: hidden functions, and internal ones that these reach."""
    return _Choice(state, variables).unit()


def packed_bodies(state: UnitState, variables: Mapping[str, nodes.Global]) -> Packed:
    """Return the bodies of the library's functions that depend on nothing of the program, and what these reach."""
    return _Choice(state, variables).packed()


def parts(unit: nodes.Unit, count: int) -> list[nodes.Unit]:
    """Divide an archive's unit: each hidden function and variable is in one part, and declared in the others."""
    hidden = sorted(symbol for symbol, function in unit.functions.items() if function.linkage == "hidden")
    sizes = {symbol: sum(1 for _ in walk.statements(unit.functions[symbol].body)) for symbol in hidden}
    share = sum(sizes.values()) / count
    done, home = 0, dict[str, int]()
    for symbol in hidden:
        home[symbol] = min(int(done / share), count - 1) if share else 0
        done += sizes[symbol]
    return [
        nodes.Unit(
            unit.target,
            {
                symbol: function if home.get(symbol, part) == part else replace(function, body=(), linkage="external")
                for symbol, function in unit.functions.items()
            },
            {
                name: replace(held, linkage="external", content=None) if part and held.linkage == "hidden" else held
                for name, held in unit.globals.items()
            },
            described=unit.described,
        )
        for part in range(count)
    ]


def packed_modules(package: Package) -> Mapping[str, tuple[str, bytes]]:
    """Return the library's modules that a package has loaded."""
    trees = [
        (name, module.source.path, pack_module(module)) for name, module in package.modules.items() if name != MAIN
    ]
    return {name: (path, data) for name, path, data in trees if data is not None}


def library_of(unit: nodes.Unit, packed: Packed, modules: Mapping[str, tuple[str, bytes]]) -> Library:
    """Return what a program needs to know of an archive."""
    read_only = read_only_arguments(unit.functions)
    functions = {
        symbol: pack(replace(function, body=(), linkage="external", span=None, read_only=read_only[symbol]))
        for symbol, function in unit.functions.items()
        if function.linkage == "hidden"
    }
    return Library(
        functions, frozenset(v.name for v in unit.globals.values() if v.linkage == "hidden"), packed, modules
    )


@entity
class _Choice:
    """Chooses what the archive holds.

    Args:
        closed: by symbol, whether a function reaches only what the archive can define.
    """

    state: UnitState
    variables: Mapping[str, nodes.Global]
    lengths: dict[str, int] = field(default_factory=dict)
    closed: dict[str, bool] = field(default_factory=dict)

    def unit(self) -> nodes.Unit:
        self._close()
        unit = nodes.Unit(self.state.target)
        work = [symbol for symbol in sorted(self._at_run_time()) if self.closed[symbol] and self._is_expected(symbol)]
        hidden = frozenset(work)
        while work:
            symbol = work.pop()
            if symbol in unit.functions or symbol in unit.globals:
                continue
            held = self.variables.get(symbol)
            if held is not None:
                unit.globals[symbol] = held if held.constant else replace(held, linkage="hidden")
                work += _addresses(held)
                continue
            function, refs = self._function(symbol)
            assert function is not None
            unit.functions[symbol] = replace(function, linkage="hidden" if symbol in hidden else "internal")
            work += sorted(refs)
        return unit

    def _at_run_time(self) -> Set[str]:
        """Return the functions that the seed's own functions reach; others served the computing of its constants."""
        work = [symbol for symbol, instance in self.state.by_symbol.items() if not instance.fn.module.is_library]
        seen: set[str] = set()
        while work:
            symbol = work.pop()
            if symbol in self.closed and symbol not in seen:
                seen.add(symbol)
                work += self._function(symbol)[1]
        return seen

    def packed(self) -> Packed:
        self._close()
        bodies: dict[str, bytes] = {}
        constants: dict[str, bytes] = {}
        work = [symbol for symbol in sorted(self.closed) if self.closed[symbol] and self._is_of_library(symbol)]
        while work:
            symbol = work.pop()
            if symbol in bodies or symbol in constants:
                continue
            held = self.variables.get(symbol)
            if held is not None:
                constants[symbol] = pack(held)
                work += _addresses(held)
                continue
            body = self._function(symbol)
            bodies[symbol] = pack(body)
            work += sorted(body[1])
        interpreter = self.state.interpreter
        return Packed(bodies, constants, interpreter.shapes.dump() if interpreter is not None else {})

    def _function(self, symbol: str) -> tuple[nodes.Function | None, Set[str]]:
        if symbol in self.state.synthesized:
            return self.state.synthesized[symbol]
        instance = self.state.by_symbol.get(symbol)
        return (None, frozenset()) if instance is None else (instance.function, instance.refs)

    def _close(self) -> None:
        """Find the functions that reach nothing that is missing, that failed, or that holds an image."""
        callers: dict[str, list[str]] = {}
        lost: list[str] = []
        for symbol in (*self.state.by_symbol, *self.state.synthesized):
            function, refs = self._function(symbol)
            self.closed[symbol] = True
            if function is None or function.linkage != "internal":
                lost.append(symbol)
            for ref in refs:
                callers.setdefault(ref, []).append(symbol)
        for symbol in callers:
            held = self.variables.get(symbol)
            if symbol not in self.closed and (held is None or isinstance(held.content, nodes.ImageRef)):
                lost.append(symbol)
        while lost:
            symbol = lost.pop()
            if self.closed.get(symbol, True):
                self.closed[symbol] = False
                lost += callers.get(symbol, ())

    def _is_of_library(self, symbol: str) -> bool:
        instance = self.state.by_symbol.get(symbol)
        if instance is not None and not _is_plain(instance):
            return False
        return len(symbol.rpartition("$")[2]) == _DIGEST

    def _is_expected(self, symbol: str) -> bool:
        if not self._is_of_library(symbol):
            return False
        function, _ = self._function(symbol)
        if function is None or function.inline == "always":
            return False
        is_leaf = function.inline != "never" and self._is_leaf(symbol)
        return self._length(symbol) >= (SHORT_LEAF if is_leaf else SHORT)

    def _is_leaf(self, symbol: str) -> bool:
        """Return whether a function has no loops, and calls nothing but what is always inlined and has none, either."""
        function, _ = self._function(symbol)
        for statement in walk.statements(function.body) if function is not None else ():
            called = statement.value if isinstance(statement, nodes.Let) else None
            if isinstance(statement, nodes.Loop) or isinstance(called, nodes.CallExternal | nodes.CallIndirect):
                return False
            if isinstance(called, nodes.Call):
                callee, _ = self._function(called.function)
                if callee is None or callee.inline != "always" or not self._is_leaf(called.function):
                    return False
        return True

    def _length(self, symbol: str) -> int:
        """Return how many statements a function has, with those of callees that are always inlined."""
        found = self.lengths.get(symbol)
        if found is None:
            self.lengths[symbol] = 0  # of a callee that calls itself
            function, _ = self._function(symbol)
            found = sum(self._cost(statement) for statement in walk.statements(function.body)) if function else 0
            self.lengths[symbol] = found
        return found

    def _cost(self, statement: nodes.Statement) -> int:
        if isinstance(statement, nodes.Let) and isinstance(statement.value, nodes.Call):
            callee, _ = self._function(statement.value.function)
            if callee is not None and callee.inline == "always":
                return self._length(statement.value.function)
        return 1


def _is_plain(instance: Instance) -> bool:
    """Return whether a function's symbol identifies it and names nothing of the program."""
    if instance.fn.parent is not None or not instance.fn.module.is_library or instance.environments:
        return False
    given = [instance.scope.names.get(param.name) for param in instance.fn.node.params]
    kinds = [arg.ty for arg in instance.signature.args] + [ty for arg in instance.signature.args for ty in arg.pack]
    return all(_is_of_library(value) for value in (instance.self_ty, *given, *kinds))


def _is_of_library(value: ParameterArgument) -> bool:
    match value:
        case FunctionValue() | FunctionTy():
            return False
        case StructTy(info, params) | PartialTy(info, params):
            return info.module.is_library and all(map(_is_of_library, params))
        case ParameterPack(items):
            return all(map(_is_of_library, items))
        case ConstValue(ty):
            return _is_of_library(ty)
        case tuple():
            return all(map(_is_of_library, value))
        case _:
            return True


def _addresses(held: nodes.Global) -> list[str]:
    return walk.addresses_of(held.content.value) if isinstance(held.content, nodes.Const) else []
