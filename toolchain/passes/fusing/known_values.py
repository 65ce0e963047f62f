"""Constants that LLVM finds in a unit's functions, as far as they decide which products are fused.

Input: the functions of a unit. Output: an order in which callers come before what they call; which arguments are
constants at every call; which functions give a constant for constants.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from ktc.ir import walk
from ktc.ir.nodes import (
    Argument,
    Block,
    Break,
    Call,
    CallIntrinsic,
    Const,
    Declare,
    Function,
    GlobalAddress,
    If,
    Let,
    Load,
    LocalAddress,
    Mark,
    Op,
    Return,
    Statement,
    Store,
    Temp,
    Value,
)
from ktc.ir.read_only import read_only_arguments
from ktc.ir.types import BOOL


class UnitValues:
    """Known values of the functions of a unit."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions
        looks = {name: _Look(function) for name, function in functions.items()}
        self.summing = {name for name, look in looks.items() if look.sums}
        """Functions that add or subtract floats."""
        self.callees = {name: look.callees for name, look in looks.items()}
        self.calls = Counter(name for names in self.callees.values() for name in names)
        self.passed: dict[str, list[tuple[bool, ...]]] = {}
        self.folded: dict[str, bool] = {}
        """By function, whether it gives a constant for constants."""
        self.quiet: dict[str, bool] = {}
        self.reached = {name for name, function in functions.items() if function.linkage != "internal"}
        self.reached.update(name for look in looks.values() for name in look.addresses)
        self._read_only: dict[str, tuple[int, ...]] | None = None

    def read_only(self, symbol: str) -> tuple[int, ...]:
        """Return the arguments through which a function only reads."""
        if self._read_only is None:
            found = read_only_arguments(self.functions)
            self._read_only = {name: found[name] or function.read_only for name, function in self.functions.items()}
        return self._read_only.get(symbol, ())

    def concerned(self) -> list[str]:
        """Return the functions that add floats or call such functions, callers before what they call."""
        callers: dict[str, list[str]] = {}
        for name, names in self.callees.items():
            for one in names:
                callers.setdefault(one, []).append(name)
        work = list(self.summing)
        found = set(work)
        while work:
            new = set(callers.get(work.pop(), ())) - found
            found |= new
            work += new
        return [name for name in self.order() if name in found] if found else []

    def order(self) -> list[str]:
        """Return the functions, callers before what they call, but for recursion."""
        done: list[str] = []
        seen: set[str] = set()
        for root in self.functions:
            stack = [(root, False)]
            while stack:
                name, is_left = stack.pop()
                if is_left:
                    done.append(name)
                elif name not in seen:
                    seen.add(name)
                    stack.append((name, True))
                    stack += [(one, False) for one in self.callees[name] if one not in seen]
        return done[::-1]

    def note_call(self, symbol: str, are_known: tuple[bool, ...]) -> None:
        """Note which arguments of a call are constants."""
        self.passed.setdefault(symbol, []).append(are_known)

    def known_arguments(self, function: Function) -> frozenset[int]:
        """Return which arguments are constants at every call; all callers have been looked at, or none is."""
        given = self.passed.get(function.symbol, [])
        if function.inline == "never" or function.symbol in self.reached:
            return frozenset()
        if len(given) != self.calls[function.symbol]:
            return frozenset()
        return frozenset(index for index, _ in enumerate(function.params) if given and all(one[index] for one in given))

    def is_folded(self, symbol: str) -> bool:
        """Return whether a function computes with its arguments and does nothing else, without loops.

        It may give its result through its first argument, as functions do that raise.
        """
        found = self.folded.get(symbol)
        if found is None:
            self.folded[symbol] = False  # of one that calls itself
            function = self.functions.get(symbol)
            found = function is not None and function.inline != "never" and bool(function.body)
            found = found and function is not None and all(map(self._is_plain, self._live(function.body)))
            self.folded[symbol] = found
        return found

    def never_raises(self, symbol: str) -> bool:
        """Return whether a function that may raise, by its type, does not."""
        found = self.quiet.get(symbol)
        if found is None:
            self.quiet[symbol] = False
            function = self.functions.get(symbol)
            found = function is not None and function.result == BOOL and bool(function.body)
            live = self._live(function.body) if found and function is not None else ()
            found = found and all(_is_success(one.value) for one in live if isinstance(one, Return))
            self.quiet[symbol] = found
        return found

    def _live(self, body: Sequence[Statement]) -> list[Statement]:
        """Return the statements of a list and those in them, without what follows errors that never come."""
        found: list[Statement] = []
        quiet: set[Value] = set()
        for statement in body:
            found.append(statement)
            match statement:
                case Let(Temp() as temp, Call(symbol)) if self.never_raises(symbol):
                    quiet.add(temp)
                case If(condition, _, orelse) if condition in quiet:
                    found += self._live(orelse)
                    continue
            for nested in walk.bodies(statement):
                found += self._live(nested)
        return found

    def _is_plain(self, statement: Statement) -> bool:
        match statement:
            case Let(_, Load(LocalAddress())) | Let(_, Op()) | Let(_, CallIntrinsic(pure=True)):
                return True
            case Let(_, Call(symbol, args)):
                return self.is_folded(symbol) and not _gives_address(args[1:])
            case Store(LocalAddress() | Argument(0), value):
                return not _gives_address((value,))
        return isinstance(statement, (Declare, Mark, If, Block, Break, Return))


def _gives_address(values: tuple[Value, ...]) -> bool:
    return any(isinstance(one, LocalAddress) for one in walk.leaves(values))


def _is_success(value: Value | None) -> bool:
    return isinstance(value, Const) and not value.value


class _Look:
    """A function's callees, the functions whose addresses it takes, and whether it adds floats."""

    def __init__(self, function: Function) -> None:
        self.callees: list[str] = []
        self.addresses: list[str] = []
        self.sums = False
        for statement in walk.statements(function.body):
            if isinstance(statement, Let) and isinstance(statement.value, Call):
                self.callees.append(statement.value.function)
            stack = list(walk.operands(statement))
            while stack:
                value = stack.pop()
                if isinstance(value, Op):
                    stack += value.args
                    self.sums = self.sums or value.name in ("fadd", "fsub")
                elif isinstance(value, GlobalAddress):
                    self.addresses.append(value.name)
                elif isinstance(value, Const):
                    self.addresses += walk.addresses_of(value.value)
