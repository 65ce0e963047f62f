"""Value numbers: which products of a function are computed several times from the same numbers.

LLVM computes such a product once. It then has several uses and becomes a part of no sum.
Input: a function. Output: for a product, how often it occurs on a way through a place.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from ktc.ir import walk
from ktc.ir.nodes import (
    Block,
    Call,
    Declare,
    Function,
    If,
    Let,
    Load,
    Local,
    LocalAddress,
    Loop,
    MemCopy,
    MemSet,
    Op,
    Statement,
    Store,
    Temp,
    Value,
)

Path = tuple[int, ...]
"""A place: the lists of statements around it, from the outermost on."""


class Products:
    """The products of one function.

    Attributes:
        keys: the key of a temp: two with one key are the same number.
        numbers, known: of operations, by identity and by what they compute.
        places: by a product's key, where it is computed.
    """

    def __init__(self, function: Function, is_folded: Callable[[str], bool]) -> None:
        self.is_folded = is_folded
        self.keys: dict[Value, object] = {}
        self.numbers: dict[int, tuple[Op, int]] = {}
        self.known: dict[object, int] = {}
        self.places: dict[object, list[Path]] = {}
        self.versions: Counter[Local] = Counter()
        self.memory = 0
        """How often memory may have changed that is no variable of the function."""
        self.body(function.body, ())

    def count(self, product: Value, path: Path) -> int:
        """Return how often a product is computed on a way through a place."""
        found = self.places.get(self.key(product), ())
        return sum(1 for one in found if all(a == b for a, b in zip(one, path, strict=False)))

    def key(self, value: Value) -> object:
        """Return a key that two values share if they are the same number."""
        if not isinstance(value, Op):
            return self.keys.get(value, value)
        found = self.numbers.get(id(value))
        if found is None:  # which is kept, so that no other operation gets its identity
            args = tuple(map(self.key, value.args))
            key = (value.name, value.type, value.attr, frozenset(args) if value.name == "fmul" else args)
            found = self.numbers[id(value)] = (value, self.known.setdefault(key, len(self.known)))
        return found[1]

    def body(self, body: Sequence[Statement], path: Path) -> None:
        """Look at a list of statements."""
        path = (*path, id(body))
        for statement in body:
            if isinstance(statement, Loop):
                self.change(statement)
            for product in _products(walk.operands(statement)):
                self.places.setdefault(self.key(product), []).append(path)
            self.statement(statement)
            for nested in walk.bodies(statement):
                self.body(nested, path)
            if isinstance(statement, (Loop, If, Block)):
                self.change(statement)

    def statement(self, statement: Statement) -> None:
        """Note a statement's bindings and changes."""
        match statement:
            case Let(Temp() as temp, Load(LocalAddress(local))):
                self.keys[temp] = (local, self.versions[local])
            case Let(Temp() as temp, Load(pointer)):
                self.keys[temp] = (self.key(pointer), self.memory)
            case Let(Temp() as temp, Op() as value):
                self.keys[temp] = self.key(value)
            case Let(Temp() as temp, Call(symbol, args)) if self.is_folded(symbol):
                self.keys[temp] = (symbol, *map(self.key, args))
            case If() | Loop() | Block() | Let(_, Op()) | Let(_, Load()):
                pass
            case _:
                self.change(statement)

    def change(self, statement: Statement) -> None:
        """Note that the places that a statement may write have new values from now on, with the statements in it."""
        for one in walk.statements((statement,)):
            if isinstance(one, (Store, MemCopy, MemSet)) and isinstance(walk.operands(one)[0], LocalAddress):
                pass
            elif not isinstance(one, Declare | If | Loop | Block):
                self.memory += not (isinstance(one, Let) and isinstance(one.value, (Op, Load)))
            if isinstance(one, Let) and isinstance(one.value, Load):
                continue
            for leaf in walk.leaves(walk.operands(one)):
                if isinstance(leaf, LocalAddress):
                    self.versions[leaf.local] += 1


def _products(values: tuple[Value, ...]) -> list[Op]:
    found, stack = [], list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, Op):
            stack += value.args
            if value.name == "fmul":
                found.append(value)
    return found
