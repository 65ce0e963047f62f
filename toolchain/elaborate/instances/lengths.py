"""How long functions are: the library's short functions become a part of the program, where LLVM can inline them."""

from collections.abc import Callable
from dataclasses import field

from ktc.base.records import entity
from ktc.ir import nodes, walk

SHORT = 12
"""Functions of fewer statements, those of inlined callees included, are compiled with the program. LLVM would inline
most of them; calls of longer ones cost little beside what they do."""
SHORT_LEAF = 32
"""The same of functions without loops and calls, which end as a few instructions (`Optional.or_else`)."""


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
        is_leaf = function.inline != "never" and self._is_leaf(function)
        return self._length(symbol) >= (SHORT_LEAF if is_leaf else SHORT)

    def _is_leaf(self, function: nodes.Function) -> bool:
        """Return whether a function has no loops, and calls nothing but what is always inlined and has none, either."""
        for statement in walk.statements(function.body):
            called = statement.value if isinstance(statement, nodes.Let) else None
            if isinstance(statement, nodes.Loop) or isinstance(called, nodes.CallExternal | nodes.CallIndirect):
                return False
            if isinstance(called, nodes.Call):
                callee = self.function(called.function)
                if callee is None or callee.inline != "always" or not self._is_leaf(callee):
                    return False
        return True

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
