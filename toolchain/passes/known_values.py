"""What LLVM knows of a unit's functions while compiling, as far as it decides which products are fused (at -O0).

Input: the functions of a unit. Output: an order in which callers come before what they call; which arguments are the
same kind of thing at every call, constants; which functions give a constant for constants.
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
    """What is known of the functions of a unit.

    Attributes:
        read_only: by function, the arguments through which it only reads.
    """

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions
        found = read_only_arguments(functions)
        self.read_only = {name: found[name] or function.read_only for name, function in functions.items()}
        self.callees = {name: _callees(function) for name, function in functions.items()}
        self.calls = Counter(name for names in self.callees.values() for name in names)
        self.passed: dict[str, list[tuple[bool, ...]]] = {}
        self.folded: dict[str, bool] = {}
        """By function, whether it gives a constant for constants."""
        self.quiet: dict[str, bool] = {}
        self.reached: set[str] = set()
        for function in functions.values():
            if function.linkage != "internal":
                self.reached.add(function.symbol)
            self.reached |= walk.names(function) - set(self.callees[function.symbol])

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


def _callees(function: Function) -> Sequence[str]:
    return [action.function for action in walk.actions(function) if isinstance(action, Call)]
