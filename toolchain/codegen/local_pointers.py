"""Which pointers may point to a function's own locals, found over all functions of a unit.

Input: functions. Output: `LocalPointers`. On the CPU the threads of a block are turns of a loop, and after inlining
they share the stack slot of a local that LLVM cannot turn into registers. Only accesses that surely touch something
else may be declared independent between turns, so this errs towards "may be local": whatever is computed from the
address of a local may be; if such an address is ever stored in memory, so may everything else that is loaded.
"""

from collections.abc import Iterator, Mapping

from ktc.ir.nodes import (
    Action,
    Argument,
    AtomicRmw,
    Block,
    Call,
    CompareExchange,
    Const,
    Function,
    GlobalAddress,
    If,
    Let,
    Load,
    LocalAddress,
    Loop,
    Op,
    Return,
    Statement,
    Store,
    Temp,
    Value,
)
from ktc.ir.types import ArrayType, PointerType, StructType, Type


def flat(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Give every statement, those inside others too."""
    for statement in body:
        yield statement
        kind = statement.__class__
        if kind is If:
            yield from flat(statement.then)  # type: ignore[union-attr]
            yield from flat(statement.orelse)  # type: ignore[union-attr]
        elif kind is Loop or kind is Block:
            yield from flat(statement.body)  # type: ignore[union-attr]


def _holds_pointers(kind: Type) -> bool:
    return kind.__class__ in (PointerType, StructType, ArrayType)


class LocalPointers:
    """The result of the search; ask `may_be_local`."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._arguments: set[tuple[str, int]] = set()
        self._temps: set[tuple[str, int]] = set()
        self._results: set[str] = set()
        self._escaped = False
        self._changed = True
        while self._changed:
            self._changed = False
            for function in functions.values():
                self._visit(function)

    def may_be_local(self, function: str, value: Value) -> bool:
        """Return whether `value` in `function` may hold an address of a local of any function."""
        kind = value.__class__
        if kind is Const or kind is GlobalAddress or not _holds_pointers(value.type):
            return False
        if kind is LocalAddress:
            return True
        if kind is Temp:
            return (function, value.id) in self._temps  # type: ignore[union-attr]
        if kind is Argument:
            return (function, value.index) in self._arguments  # type: ignore[union-attr]
        # Numbers are not followed, so a number that is made an address may be any.
        name, args = value.name, value.args  # type: ignore[union-attr]
        return name == "inttoptr" or any(self.may_be_local(function, arg) for arg in args)

    def _add(self, found: set[tuple[str, int]], key: tuple[str, int]) -> None:
        if key not in found:
            found.add(key)
            self._changed = True

    def _escape(self, function: str, value: Value) -> None:
        if not self._escaped and self.may_be_local(function, value):
            self._escaped = self._changed = True

    def _visit(self, function: Function) -> None:
        name = function.symbol
        for statement in flat(function.body):
            if isinstance(statement, Let):
                if self._action(name, statement.value) and statement.temp is not None:
                    self._add(self._temps, (name, statement.temp.id))
            elif isinstance(statement, Store):
                self._escape(name, statement.value)
            elif isinstance(statement, Return) and statement.value is not None:
                self._give(name, statement.value)

    def _give(self, function: str, value: Value) -> None:
        if function not in self._results and self.may_be_local(function, value):
            self._results.add(function)
            self._changed = True

    def _action(self, name: str, action: Action) -> bool:
        """Note an action's uses of addresses; return whether its result may be the address of a local."""
        if isinstance(action, Op):
            return self.may_be_local(name, action)
        if isinstance(action, Load):
            return self._escaped and _holds_pointers(action.type)
        if isinstance(action, Call):
            for index, arg in enumerate(action.args):
                if self.may_be_local(name, arg):
                    self._add(self._arguments, (action.function, index))
            return action.function in self._results or self._escaped
        if isinstance(action, AtomicRmw):
            self._escape(name, action.value)
        elif isinstance(action, CompareExchange):
            self._escape(name, action.desired)
        # An intrinsic, external, indirect call or assembly may give back what it got, or what lies in memory.
        args: tuple[Value, ...] = getattr(action, "args", ())
        return self._escaped or any(self.may_be_local(name, arg) for arg in args)
