"""The library's archive: what of the standard library is compiled and elaborated once and not in each build.

A seed program that uses the library as programs do (`Seed`) decides its contents; a list beside the library
has the result, so that no build elaborates the seed. Programs fill the archive: listed functions that one
of them needs and the archive lacks are elaborated and compiled with it, and kept. Functions that depend on the program
(its targets, places in its source) or could be a part of its loops (short ones, which LLVM should see) are not listed.
"""

from collections.abc import Mapping, Set
from dataclasses import field

from ktc.base.records import entity, record, replace
from ktc.elaborate.instances import work_queue
from ktc.elaborate.model.body_store import Listed, Packed, pack
from ktc.elaborate.model.elaboration import Elaboration
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

_DIGEST = 12
"""Length of the digest that ends the symbol of an instance; a longer ending distinguishes instances with one digest."""


@record
class Library:
    """The archive as a program sees it.

    Args:
        listed: the symbols that the archive may hold.
        functions: packed declarations of what it has compiled, by symbol.
        variables: global variables that it has.
        packed: bodies of functions that were elaborated for the host, long and short.
        modules: trees of the library's modules, for `Package.packed`.
        devices: bodies that were elaborated for device targets, by the target's name.
        is_linked: programs call what is compiled; otherwise their units have all of their code.
    """

    listed: Listed = Listed()
    functions: Mapping[str, bytes] = field(default_factory=dict)
    variables: Set[str] = frozenset()
    packed: Packed = Packed()
    modules: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    devices: Mapping[str, Packed] = field(default_factory=dict)
    is_linked: bool = True

    def inlined(self) -> "Library":
        """Return the library for a unit that holds all of its code: bodies, but nothing to link with."""
        return replace(self, is_linked=False)


def body_of(elab: Elaboration, state: UnitState, symbol: str) -> tuple[nodes.Function, Set[str]] | None:
    """Return a function of a unit and the symbols it refers to, elaborated if need be; None if there is none."""
    if symbol in state.synthesized:
        return state.synthesized[symbol]
    instance = state.by_symbol.get(symbol)
    if instance is None:
        return work_queue.recall(elab, state, symbol)
    if not (instance.is_kernel and elab.instances.deferred_kernels is not None):
        # not yet there: only another kept body refers to it, or one that was met first in unreachable code
        elab.api.elaborate_instance(elab, instance)
    return None if instance.function is None else (instance.function, instance.refs)


def is_listed(state: UnitState, symbol: str) -> bool:
    """Return whether the archive may have a function that a unit reaches."""
    instance = state.by_symbol.get(symbol)
    return symbol in state.listed.functions and (instance is None or _is_plain(instance))


def new_bodies(elab: Elaboration, state: UnitState) -> Packed:
    """Return a target's new bodies for the archive: listed functions that it lacks, with their callees."""
    if state.bodies is None or not state.listed.bodies:
        return Packed()
    shapes = state.interpreter.shapes.dump(state.listed.bodies) if state.interpreter is not None else {}
    new: dict[str, tuple[nodes.Function, Set[str]]] = {}
    for symbol in state.listed.bodies - state.bodies.symbols:
        instance = state.by_symbol.get(symbol)
        body = state.synthesized.get(symbol)
        if body is None and instance is not None and instance.function is not None and not instance.failed:
            body = (instance.function, instance.refs) if _is_plain(instance) else None
        if body is not None and body[0].linkage == "internal":
            new[symbol] = body
    if not new:
        return Packed(shapes=shapes)
    return replace(_Kept({**elab.instances.globals, **state.shared}, new, state.bodies.symbols).packed(), shapes=shapes)


@entity
class _Kept:
    """Packs functions that reach only what is kept with them.

    Args:
        bodies: the functions. kept: what is kept already.
        closed: by symbol of a function or global, whether it reaches nothing else.
    """

    globals: Mapping[str, nodes.Global]
    bodies: Mapping[str, tuple[nodes.Function, Set[str]]]
    kept: Set[str] = frozenset()
    closed: dict[str, bool] = field(default_factory=dict)

    def packed(self) -> Packed:
        self.close()
        chosen = [symbol for symbol in self.bodies if self.closed[symbol]]
        work = [ref for symbol in chosen for ref in self.bodies[symbol][1]]
        constants: dict[str, bytes] = {}
        while work:
            name = work.pop()
            held = self.globals.get(name)
            if held is not None and name not in constants:
                constants[name] = pack(held)
                work += addresses(held)
        return Packed({symbol: pack(self.bodies[symbol]) for symbol in sorted(chosen)}, constants)

    def close(self) -> None:
        """Find the functions that reach nothing that is missing, or that holds an image or a place."""
        users: dict[str, list[str]] = {}
        work = [(ref, symbol) for symbol, (_, refs) in self.bodies.items() for ref in refs]
        lost: list[str] = []
        self.closed.update(dict.fromkeys(self.bodies, True))
        while work:
            name, user = work.pop()
            is_new = name not in users
            users.setdefault(name, []).append(user)
            held = self.globals.get(name)
            if not is_new or name in self.bodies or name in self.kept:
                continue
            if held is None or isinstance(held.content, nodes.ImageRef | nodes.SourcePlace):
                lost.append(name)
            else:
                self.closed[name] = True
                work += [(inner, name) for inner in addresses(held)]
        while lost:
            name = lost.pop()
            if self.closed.get(name, True):
                self.closed[name] = False
                lost += users.get(name, ())


@entity
class Seed:
    """The functions and variables that the seed program reaches.

    Args:
        state: of one target, after the seed was elaborated.
    """

    elab: Elaboration
    state: UnitState
    closed: dict[str, bool] = field(default_factory=dict)

    def listed(self) -> Listed:
        """Return the symbols that the archive may hold."""
        self._close()
        functions = {symbol for symbol in self._at_run_time() if self.closed[symbol] and self._is_of_library(symbol)}
        bodies, variables = set[str](), set[str]()
        work = [symbol for symbol in self.closed if self.closed[symbol] and self._is_of_library(symbol)]
        while work:
            symbol = work.pop()
            held = self._global(symbol)
            if held is not None:
                work += addresses(held)
            elif symbol not in bodies:
                bodies.add(symbol)
                work += self._function(symbol)[1]
        work = list(functions)
        seen: set[str] = set()
        while work:
            symbol = work.pop()
            if symbol in seen:
                continue
            seen.add(symbol)
            held = self._global(symbol)
            if held is not None and not held.constant:
                variables.add(symbol)
            work += addresses(held) if held is not None else self._function(symbol)[1]
        return Listed(functions, variables, bodies, tuple(sorted(self.elab.comptime.defines.read)))

    def _global(self, name: str) -> nodes.Global | None:
        return self.elab.instances.globals.get(name) or self.state.shared.get(name)

    def _function(self, symbol: str) -> tuple[nodes.Function | None, Set[str]]:
        if symbol in self.state.synthesized:
            return self.state.synthesized[symbol]
        instance = self.state.by_symbol.get(symbol)
        return (None, frozenset()) if instance is None else (instance.function, instance.refs)

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

    def _close(self) -> None:
        """Find the functions that reach nothing that is missing, that failed, or that holds an image."""
        symbols = (*self.state.by_symbol, *self.state.synthesized)
        bodies = {
            symbol: (function, refs) for symbol, (function, refs) in ((one, self._function(one)) for one in symbols)
            if function is not None and function.linkage == "internal"
        }  # fmt: skip
        kept = _Kept({**self.elab.instances.globals, **self.state.shared}, bodies)
        kept.close()
        self.closed.update(dict.fromkeys(symbols, False))
        self.closed.update(kept.closed)

    def _is_of_library(self, symbol: str) -> bool:
        instance = self.state.by_symbol.get(symbol)
        if instance is not None and not _is_plain(instance):
            return False
        if instance is None and symbol not in self.state.synthesized:
            return False
        return len(symbol.rpartition("$")[2]) == _DIGEST


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


def addresses(held: nodes.Global) -> list[str]:
    """Return the functions and globals whose addresses a global holds."""
    return walk.addresses_of(held.content.value) if isinstance(held.content, nodes.Const) else []
