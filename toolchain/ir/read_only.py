"""Which arguments functions only read through: LLVM can rely on it where it sees a declaration and no body.

Input: the functions of a unit. Output: by symbol, the indices of pointers through which a function writes nothing, and
which are of no use after it: it keeps them nowhere and does not return them.
"""

from collections.abc import Mapping

from ktc.ir import nodes as ir
from ktc.ir import walk
from ktc.ir.types import PointerType

_DERIVED = ("field", "offset", "spacecast")
"""Operations that make an address out of their first operand."""


def read_only_arguments(functions: Mapping[str, ir.Function]) -> dict[str, tuple[int, ...]]:
    """Return the arguments that functions only read through; calls are followed."""
    kept = {symbol: _pointers(function) for symbol, function in functions.items()}
    passed: dict[tuple[str, int], list[tuple[str, int]]] = {}
    lost: list[tuple[str, int]] = []
    for symbol, function in functions.items():
        if kept[symbol]:
            lost += [(symbol, index) for index in _Uses(function, kept, passed).lost & kept[symbol]]
    while lost:
        symbol, index = lost.pop()
        if index in kept[symbol]:
            kept[symbol].remove(index)
            lost += passed.get((symbol, index), ())
    return {symbol: tuple(sorted(indices)) for symbol, indices in kept.items()}


def _pointers(function: ir.Function) -> set[int]:
    pointers = {index for index, (_, kind) in enumerate(function.params) if isinstance(kind, PointerType)}
    return pointers if function.body else pointers.intersection(function.read_only)


class _Uses:
    """A function's uses of its arguments.

    Attributes:
        lost: arguments that it writes through or gives away.
        origins: temps that hold an address made of an argument, and which argument that is.
        passed: by a function's argument, the arguments of its callers that are passed there.
    """

    def __init__(
        self,
        function: ir.Function,
        kept: Mapping[str, set[int]],
        passed: dict[tuple[str, int], list[tuple[str, int]]],
    ) -> None:
        self.symbol, self.kept, self.passed = function.symbol, kept, passed
        self.lost: set[int] = set()
        self.origins: dict[ir.Value, int] = {}
        for statement in walk.statements(function.body):
            self.statement(statement)

    def statement(self, statement: ir.Statement) -> None:
        """Look at one statement, without those in it."""
        match statement:
            case ir.Let(ir.Temp() as temp, ir.Op() as value) if (origin := self.origin(value)) is not None:
                self.origins[temp] = origin
                self.give_away(value.args[1:])
            case ir.Let(_, ir.Load(pointer, _, _, False)):
                self.read(pointer)
            case ir.Let(_, ir.Call(symbol, args)) if symbol in self.kept:
                for index, arg in enumerate(args):
                    origin = self.origin(arg)
                    if origin is None or index not in self.kept[symbol]:
                        self.give_away((arg,))
                    else:
                        self.passed.setdefault((symbol, index), []).append((self.symbol, origin))
                        self.read(arg)
            case ir.MemCopy(target, origin_, size):
                self.give_away((target, size))
                self.read(origin_)
            case _:
                self.give_away(walk.operands(statement))

    def origin(self, value: ir.Value) -> int | None:
        """Return the argument that an address is made of."""
        base = value
        while isinstance(base, ir.Op) and base.name in _DERIVED:
            base = base.args[0]
        return base.index if isinstance(base, ir.Argument) else self.origins.get(base)

    def read(self, pointer: ir.Value) -> None:
        """Note that memory is read through an address."""
        base = pointer
        while isinstance(base, ir.Op) and base.name in _DERIVED:
            self.give_away(base.args[1:])
            base = base.args[0]
        if isinstance(base, ir.Op):
            self.give_away((base,))

    def give_away(self, values: tuple[ir.Value, ...]) -> None:
        """Note that values are used for something else."""
        for leaf in walk.leaves(values):
            origin = leaf.index if isinstance(leaf, ir.Argument) else self.origins.get(leaf)
            if origin is not None:
                self.lost.add(origin)
