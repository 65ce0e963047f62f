"""How long functions are: the library's short functions become a part of the program, where LLVM can inline them."""

from collections.abc import Callable
from dataclasses import field

from ktc.base.records import entity
from ktc.ir import nodes, walk

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
