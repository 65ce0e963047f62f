"""Captured variables that are never changed are held in a closure's environment by value.

Input: the host's unit without marks, where an environment is an array of addresses of variables. Output: the same with
a copy of the variable's value instead of its address wherever the variable gets a value at one place only and is only
read elsewhere, in the function that owns it and in all closures that reach it. The environment is rebuilt wherever the
closure is passed on, after the variable has its value, so this is not observable; but LLVM need no longer think that
the stores of a loop change what the loop captures.

    declare %x: f64                              declare %x: f64
    declare %env: [1 x ptr]                      declare %env: [1 x ptr]
    store %x, f64 2.0                            store %x, f64 2.0
    store %env, %x                        ->     %t9 = load f64 %x
                                                 store %env, %t9
    (in the closure)
    %t1 = load ptr %0
    %t2 = load f64 %t1                           %t2 = load f64 %0
"""

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

from ktc.base.records import entity, field_names, replace
from ktc.ir import nodes as ir
from ktc.ir import ops, walk
from ktc.ir.types import I64, PTR, ArrayType, Type, align_of, size_of

_LARGEST = 64
"""Bytes of a value that is copied into an environment."""

_WORD = 8

Slot = tuple[str, int]
"""A closure, and the number of the variable among those that it captures."""
Node = ir.Local | Slot
"""A place that may hold a captured value."""


def run(unit: ir.Unit) -> ir.Unit:
    """Return the unit with environments that hold values."""
    if not any(function.environments for function in unit.functions.values()):
        return unit
    facts = _Facts()
    scanned = {}
    for symbol, function in unit.functions.items():
        if function.environments or any(_makes_one(statement) for statement in function.body):
            scanned[symbol] = _Scan(facts, function).temps
    facts.exclude_indirect()
    words, sizes = _layout(facts)
    if not words:
        return unit
    functions = {
        symbol: _Rewriter(function, scanned[symbol], words, sizes).function() if symbol in scanned else function
        for symbol, function in unit.functions.items()
    }
    return replace(unit, functions=functions)


def _makes_one(statement: ir.Statement) -> bool:
    """Return whether a statement declares an environment, at the beginning of a function."""
    return isinstance(statement, ir.Declare) and bool(statement.local.environment_of)


# ---- what happens to variables -----------------------------------------------------------------------------------


@entity
class _Facts:
    """Facts about all functions of a unit.

    Args:
        above: of two nodes that hold the same variable, the one is found from the other; roots are missing.
        excluded: nodes that must stay addresses.
        given: how often each local gets a value.
        counts: by closure, how many variables it captures.
        inner: by slot, the closures whose environments it is the address of.
        bases: slots of which what lies behind the address is read.
    """

    above: dict[Node, Node] = field(default_factory=dict)
    excluded: set[Node] = field(default_factory=set)
    given: dict[ir.Local, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    inner: dict[Slot, set[str]] = field(default_factory=dict)
    bases: set[Slot] = field(default_factory=set)

    def exclude_indirect(self) -> None:
        """Leave environments as they are that somebody reaches through others, as launches of kernels do."""
        work = list(self.bases)
        while work:
            for closure in self.inner.pop(work.pop(), ()):
                slots = [(closure, at) for at in range(self.counts.get(closure, 0))]
                self.excluded.update(slots)
                work += slots

    def root(self, node: Node) -> Node:
        """Return the representative of all nodes that hold the same variable."""
        while node in self.above:
            node = self.above[node]
        return node

    def join(self, one: Node, other: Node) -> None:
        """Note that two nodes hold the same variable."""
        one, other = self.root(one), self.root(other)
        if one != other:
            self.above[one] = other


class _Scan:
    """Reads one function; `temps` are those that are addresses from environments, each with the environment's."""

    def __init__(self, facts: _Facts, function: ir.Function) -> None:
        self.facts = facts
        self.environments = {index: closure for closure, index in function.environments.items()}
        self.temps: dict[int, tuple[Slot, ir.Value]] = {}
        for statement in walk.statements(function.body):
            self._statement(statement)

    def _statement(self, statement: ir.Statement) -> None:
        match statement:
            case ir.Let(temp, ir.Load(pointer, _, _, False)):
                base, at = _word(pointer)
                closure = self._closure(base)
                if closure is not None and temp is not None and at >= 0:
                    self.temps[temp.id] = ((closure, at), base)
                    return
                base = self._exclude_indices(pointer)
                if isinstance(base, ir.Temp) and base.id in self.temps:
                    self.facts.bases.add(self.temps[base.id][0])
            case ir.Store(pointer, value, _, False):
                self._store(pointer, value)
            case ir.MemCopy(target, origin, size):
                self._write(target, size)
                self._exclude_indices(origin)
                self._exclude((size,))
            case ir.Declare(local) if local.environment_of:
                assert isinstance(local.type, ArrayType)
                self.facts.counts[local.environment_of] = local.type.count
            case _:
                self._exclude(walk.operands(statement))

    def _store(self, pointer: ir.Value, value: ir.Value) -> None:
        slot = written_slot(pointer)
        if slot is None:
            self._write(pointer, None)
            self._exclude((value,))
            return
        node, closure = self._node(value), self._closure(value)
        if closure is not None:
            self.facts.inner.setdefault(slot, set()).add(closure)
        if node is None or closure is not None:
            self.facts.excluded.add(slot)
            self._exclude((value,))
        else:
            self.facts.join(slot, node)

    def _write(self, target: ir.Value, size: ir.Value | None) -> None:
        """A place gets a value: all of a local, or something that can be a part of one."""
        if isinstance(target, ir.LocalAddress):
            local = target.local
            self.facts.given[local] = self.facts.given.get(local, 0) + 1
            if size is not None and size != ir.Const(I64, size_of(local.type)):
                self.facts.excluded.add(local)
        else:
            self._exclude((target,))

    def _closure(self, value: ir.Value) -> str | None:
        """Return the closure whose environment lies at an address, None if it is none that is known."""
        if isinstance(value, ir.LocalAddress):
            return value.local.environment_of or None
        return self.environments.get(value.index) if isinstance(value, ir.Argument) else None

    def _node(self, value: ir.Value) -> Node | None:
        if isinstance(value, ir.LocalAddress):
            return value.local
        if isinstance(value, ir.Temp) and value.id in self.temps:
            return self.temps[value.id][0]
        return None

    def _exclude(self, values: Iterable[ir.Value]) -> None:
        """Values are used in a way that is not only reading what lies there."""
        for leaf in walk.leaves(values):
            node = self._node(leaf)
            if node is not None:
                self.facts.excluded.add(node)

    def _exclude_indices(self, pointer: ir.Value) -> ir.Value:
        """Return the address that one is computed from; whatever else it is computed of is used somehow."""
        while isinstance(pointer, ir.Op) and pointer.name in ("offset", "field"):
            self._exclude(pointer.args[1:])
            pointer = pointer.args[0]
        if isinstance(pointer, ir.Op):
            self._exclude((pointer,))
        return pointer


def written_slot(pointer: ir.Value) -> Slot | None:
    """Return which part of an environment is made by a store to an address."""
    base, at = _word(pointer)
    if isinstance(base, ir.LocalAddress) and base.local.environment_of and at >= 0:
        return (base.local.environment_of, at)
    return None


def _word(pointer: ir.Value) -> tuple[ir.Value, int]:
    """Return the base of an address and how many words are added to it, -1 where that is not known."""
    match pointer:
        case ir.Op("offset", (base, ir.Const(_, int() as at)), _, element):
            return base, at if element == PTR else -1
        case ir.Op():
            return pointer, -1
        case _:
            return pointer, 0


def _layout(facts: _Facts) -> tuple[dict[Slot, tuple[int, Type]], dict[str, int]]:
    """Return in which word of its environment each captured value lies, with its type; and how many words each has."""
    variables: dict[Node, set[ir.Local]] = {}
    slots: list[tuple[Slot, Node]] = []
    excluded = {facts.root(node) for node in facts.excluded}
    for node in {*facts.above, *facts.above.values()}:
        root = facts.root(node)
        if isinstance(node, ir.Local):
            variables.setdefault(root, set()).add(node)
        else:
            slots.append((node, root))
    words: dict[Slot, tuple[int, Type]] = {}
    sizes = dict(facts.counts)
    for slot, root in sorted(slots, key=lambda one: one[0][1]):
        held = variables.get(root, set())
        kinds = {local.type for local in held}
        if root in excluded or len(kinds) != 1 or any(facts.given.get(local) != 1 for local in held):
            continue
        kind = next(iter(kinds))
        size = size_of(kind)
        if 0 < size <= _LARGEST and align_of(kind) <= _WORD:
            words[slot] = (slot[1], kind)
            if size > _WORD:
                words[slot] = (sizes[slot[0]], kind)
                sizes[slot[0]] += -(-size // _WORD)
    return words, sizes


# ---- the new functions ---------------------------------------------------------------------------------------------


class _Rewriter:
    """Rewrites one function."""

    def __init__(
        self, function: ir.Function, temps: dict[int, tuple[Slot, ir.Value]], words: dict[Slot, tuple[int, Type]],
        sizes: dict[str, int],
    ) -> None:  # fmt: skip
        self._function, self._words = function, words
        self._next = max(walk.numbers(function.body), default=0)
        self._temps: dict[int, ir.Value] = {}
        self._locals = {
            local: replace(local, type=ArrayType(PTR, sizes[local.environment_of]))
            for local in walk.locals_of(function)
            if local.environment_of
        }
        for number, (slot, base) in temps.items():
            if slot in words:
                self._temps[number] = _at(self._node(base), words[slot][0])

    def function(self) -> ir.Function:
        """Return the function as it is now."""
        return replace(self._function, body=self._body(self._function.body))

    def _body(self, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        made: list[ir.Statement] = []
        for statement in body:
            match statement:
                case ir.Let(ir.Temp(number)) if number in self._temps:
                    continue
                case ir.Store(pointer, value):
                    slot = written_slot(pointer)
                    if slot in self._words:
                        assert slot is not None
                        made += self._hold(pointer, *self._words[slot], value, statement)
                        continue
                case ir.If(condition, then, orelse, span):
                    made.append(ir.If(self._node(condition), self._body(then), self._body(orelse), span))
                    continue
                case ir.Loop(_, inner) | ir.Block(_, inner):
                    made.append(replace(statement, body=self._body(inner)))
                    continue
            made.append(self._node(statement))
        return tuple(made)

    def _hold(
        self, pointer: ir.Value, word: int, kind: Type, place: ir.Value, statement: ir.Store
    ) -> Iterator[ir.Statement]:
        self._next += 1
        temp = ir.Temp(self._next, kind)
        yield ir.Let(temp, ir.Load(self._node(place), kind), statement.span)
        yield ir.Store(_at(self._node(_word(pointer)[0]), word), temp, span=statement.span)

    def _node(self, node: Any) -> Any:
        match node:
            case ir.Temp(number):
                return self._temps.get(number, node)
            case ir.LocalAddress(local):
                return ir.LocalAddress(self._locals[local]) if local in self._locals else node
            case ir.Local():
                return self._locals.get(node, node)
            case ir.Op():
                args = tuple(map(self._node, node.args))
                return node if args == node.args else replace(node, args=args)
            case tuple():
                return tuple(map(self._node, node))
        if isinstance(node, walk.WITH_PARTS):
            return type(node)(*(self._node(getattr(node, name)) for name in field_names(node)))
        return node


def _at(base: ir.Value, word: int) -> ir.Value:
    return ops.build("offset", (base, ir.Const(I64, word)), None, PTR)
