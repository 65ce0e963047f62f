"""Which functions never return: LLVM can rely on it where it sees a declaration and no body.

Input: the functions of a unit. Output: the symbols of those that end the program, or run for ever, on every path.
Without it, the call that reports a failed check seems to come back: a loop's registers are saved around it.
"""

from collections.abc import Mapping, Set

from ktc.ir import nodes as ir

_ENDS = frozenset(("abort", "exit", "_exit"))
"""Functions of the C library that end the program (C11 7.22.4, POSIX `_exit`)."""
_TRAP = "llvm.trap"


def never_returning(functions: Mapping[str, ir.Function]) -> Set[str]:
    """Return the symbols of functions that never return; calls are followed, declarations say it themselves."""
    found = {symbol for symbol, function in functions.items() if function.noreturn}
    more = True
    while more:
        new = {
            symbol
            for symbol, function in functions.items()
            if symbol not in found and function.body and not _Paths(function.body, found).returns
        }
        found |= new
        more = bool(new)
    return found


class _Paths:
    """Where control goes in one function.

    Attributes:
        returns: some path leads out of the function.
    """

    def __init__(self, body: tuple[ir.Statement, ...], ending: Set[str]) -> None:
        self._ending = ending
        self._left: set[int] = set()
        self.returns = False
        if self._through(body):
            self.returns = True

    def _through(self, body: tuple[ir.Statement, ...]) -> bool:
        """Return whether control reaches the end of some statements."""
        return all(self._after(statement) for statement in body)

    def _after(self, statement: ir.Statement) -> bool:
        match statement:
            case ir.Return():
                self.returns = True
                return False
            case ir.Unreachable() | ir.Continue():
                return False
            case ir.Break(label):
                self._left.add(label)
                return False
            case ir.If(_, then, orelse):
                ways = [self._through(then), self._through(orelse)]
                return any(ways)
            case ir.Loop(label, body):
                self._through(body)
                return label in self._left
            case ir.Block(label, body):
                return self._through(body) or label in self._left
            case ir.Let(_, ir.Call(symbol)):
                return symbol not in self._ending
            case ir.Let(_, ir.CallExternal(symbol)):
                return symbol not in _ENDS
            case ir.Let(_, ir.CallIntrinsic(name)):
                return name != _TRAP
            case _:
                return True
