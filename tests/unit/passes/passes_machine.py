"""A way to write small functions with marks, and a machine that runs them and judges who destroys what.

The machine knows no numbers: it follows objects. It raises `Fault` for a use of what is not there, a second
destruction, a value written over a living one, and an object that is left over when its place goes out of scope.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ktc.diag.diagnostic import Sink
from ktc.ir.nodes import (
    Block,
    Break,
    Call,
    Const,
    Continue,
    Declare,
    Function,
    If,
    Let,
    Load,
    Local,
    LocalAddress,
    Loop,
    Mark,
    Op,
    Return,
    Statement,
    Store,
    Temp,
    Unreachable,
    Value,
)
from ktc.ir.types import BOOL, I64, PTR, VOID, StructType
from ktc.passes import definite_initialization, drop_insertion

PAIR = StructType((I64, I64))


class Fault(Exception):
    """The program did something it must not."""


class OutOfSteps(Exception):
    """The run did not end in time."""


@dataclass
class Writer:
    """Makes locals and statements with fresh ids."""

    ids: int = 0

    def fresh(self) -> int:
        self.ids += 1
        return self.ids

    def local(self, name: str, drop: str = "drop", **rest: object) -> Local:
        return Local(self.fresh(), rest.pop("type", I64), name, drop, **rest)

    def pair(self, name: str, drop: str = "drop") -> Local:
        return self.local(name, drop, type=PAIR, field_drops=("drop", "drop"), is_under_construction=True)

    def ask(self) -> tuple[Statement, Temp]:
        """`cond()`: a choice of the run."""
        temp = Temp(self.fresh(), BOOL)
        return Let(temp, Call("cond", (), BOOL)), temp

    def when(self, then: Sequence[Statement], orelse: Sequence[Statement] = ()) -> list[Statement]:
        let, temp = self.ask()
        return [let, If(temp, tuple(then), tuple(orelse))]

    def peek(self, *values: Value) -> tuple[Statement, Temp]:
        """A call that returns a pointer into its first argument."""
        temp = Temp(self.fresh(), PTR)
        return Let(temp, Call("peek", values, PTR)), temp


def at(local: Local, index: int | None = None) -> Value:
    """The address of a local, or of a field of it."""
    address = LocalAddress(local)
    return address if index is None else Op("field", (address,), PTR, (local.type, index))


def declare(local: Local) -> list[Statement]:
    return [Declare(local)]


def fill(local: Local, *inputs: Local) -> list[Statement]:
    """The first value of a place."""
    return [Let(None, Call("make", (at(local), *map(at, inputs)), VOID)), Mark("init", local)]


def new(local: Local, *inputs: Local) -> list[Statement]:
    return [*declare(local), *fill(local, *inputs)]


def assign(local: Local, *inputs: Local) -> list[Statement]:
    return [Mark("overwrite", local), *fill(local, *inputs)]


def fill_field(local: Local, index: int) -> list[Statement]:
    return [Let(None, Call("make", (at(local, index),), VOID)), Mark("init", local, (index,))]


def assign_field(local: Local, index: int) -> list[Statement]:
    return [Mark("overwrite", local, (index,)), *fill_field(local, index)]


def use(*what: Local | Value) -> list[Statement]:
    marks = [Mark("require", one) for one in what if isinstance(one, Local)]
    values = tuple(at(one) if isinstance(one, Local) else one for one in what)
    return [*marks, Let(None, Call("use", values, VOID))]


def take(local: Local) -> list[Statement]:
    return [Mark("require", local), Let(None, Call("take", (at(local),), VOID)), Mark("consume", local)]


def take_field(local: Local, index: int) -> list[Statement]:
    return [
        Mark("require", local, (index,)),
        Let(None, Call("take", (at(local, index),), VOID)),
        Mark("consume", local, (index,)),
    ]


def say(text: str) -> list[Statement]:
    """Something visible that touches no local."""
    return [Let(None, Call(f"say {text}", (), VOID))]


def function(*parts: Sequence[Statement]) -> Function:
    """A function of all the statements; a `Return` is added if the last is none."""
    body = [statement for part in parts for statement in part]
    if not body or not isinstance(body[-1], Return | Unreachable):
        body.append(Return())
    return Function("f", "f", (), VOID, tuple(body))


def passed(one: Function, errors: int = 0) -> Function:
    """Run both passes; check how many errors there are and that no mark is left."""
    sink = Sink()
    after = drop_insertion.run(definite_initialization.run(one, None, sink), None, sink)
    # A field that is moved away for good is an error; the rest is destroyed all the same.
    found = [one.message for one in sink.diagnostics if not one.message.endswith("cannot be destroyed")]
    assert len(found) == errors, found
    assert "Mark(" not in repr(after)
    return after


def trace(one: Function, choices: Sequence[int] = ()) -> str:
    """What a run with these choices does, in words."""
    machine = Machine(list(choices))
    machine.run(one)
    return ", ".join(machine.events)


@dataclass(eq=False)
class Object:
    """A value that somebody must destroy once."""

    name: str
    alive: bool = True
    points_into: list["Object"] = field(default_factory=list)


def owned(place: tuple[Local, int]) -> bool:
    """Return whether somebody must destroy what lies in a place."""
    local, index = place
    return bool(local.drop or (local.field_drops and local.field_drops[index]))


class _Jump(Exception):
    def __init__(self, kind: type, label: int) -> None:
        self.kind, self.label = kind, label


@dataclass
class Machine:
    """One run. `strict` False: marks have no effect, so nothing is destroyed and leftovers are no fault."""

    choices: list[int]
    strict: bool = True
    steps: int = 3000
    events: list[str] = field(default_factory=list)
    places: dict[tuple[Local, int], Object] = field(default_factory=dict)
    words: dict[Local, int] = field(default_factory=dict)
    temps: dict[int, object] = field(default_factory=dict)
    scope: list[Local] = field(default_factory=list)

    def run(self, one: Function) -> None:
        try:
            self.block(one.body)
        except _Jump as jump:
            assert jump.kind is Return
            self.leave(0)
        left = [thing.name for place, thing in self.places.items() if owned(place)]
        if self.strict and left:
            raise Fault(f"left over: {left}")

    def block(self, body: Sequence[Statement]) -> None:
        depth = len(self.scope)
        for statement in body:
            self.steps -= 1
            if self.steps < 0:
                raise OutOfSteps
            try:
                self.statement(statement)
            except _Jump:
                self.leave(depth)
                raise
        self.leave(depth)

    def leave(self, depth: int) -> None:
        for local in self.scope[depth:]:
            self.gone(local)
        del self.scope[depth:]

    def gone(self, local: Local) -> None:
        for place in [place for place in self.places if place[0] is local]:
            if self.strict and owned(place):
                raise Fault(f"leak of {self.places[place].name}: {', '.join(self.events)}")
            del self.places[place]

    def statement(self, statement: Statement) -> None:
        match statement:
            case Let(temp, Call(symbol, args)):
                result = self.call(symbol, [self.value(arg) for arg in args])
                if temp is not None:
                    self.temps[temp.id] = result
            case Let(temp, Load(pointer)):
                assert temp is not None
                self.temps[temp.id] = self.words[self.value(pointer)[0]]
            case Store(pointer, Const(_, number)):
                self.words[self.value(pointer)[0]] = number
            case Declare(local):
                self.gone(local)
                self.words.pop(local, None)
                if local not in self.scope:
                    self.scope.append(local)
            case Mark():
                self.mark(statement)
            case If(condition, then, orelse):
                self.block(then if self.value(condition) else orelse)
            case Loop(label, body):
                self.loop(label, body)
            case Block(label, body):
                try:
                    self.block(body)
                except _Jump as jump:
                    if jump.kind is Return or jump.label != label:
                        raise
            case Break(label) | Continue(label):
                raise _Jump(type(statement), label)
            case Return():
                raise _Jump(Return, 0)
            case _:
                raise Fault(f"reached {statement}")

    def loop(self, label: int, body: Sequence[Statement]) -> None:
        while True:
            try:
                self.block(body)
            except _Jump as jump:
                if jump.kind is Return or jump.label != label:
                    raise
                if jump.kind is Break:
                    return

    def mark(self, mark: Mark) -> None:
        """Only before the passes."""
        if mark.kind == "overwrite" and not self.strict:
            for index in mark.path or range(self.count(mark.local)):
                self.places.pop((mark.local, index), None)

    def value(self, value: Value) -> object:
        match value:
            case LocalAddress(local):
                return (local, None)
            case Op("field", (pointer,), _, (_, index)):
                return (self.value(pointer)[0], index)
            case Temp(number):
                return self.temps[number]
            case Const(_, number):
                return number
        raise AssertionError(value)

    def count(self, local: Local) -> int:
        return len(local.type.fields) if isinstance(local.type, StructType) else 1

    def spread(self, pointer: tuple[Local, int | None]) -> list[tuple[Local, int]]:
        local, index = pointer
        return [(local, one) for one in ([index] if index is not None else range(self.count(local)))]

    def name(self, place: tuple[Local, int]) -> str:
        return place[0].name + (f".{place[1]}" if self.count(place[0]) > 1 else "")

    def title(self, pointer: tuple[Local, int | None]) -> str:
        local, index = pointer
        return local.name if index is None else self.name((local, index))

    def call(self, symbol: str, args: list[tuple[Local, int | None]]) -> object:
        if symbol == "cond":
            return self.choices.pop(0) if self.choices else 0
        if symbol.startswith("say "):
            self.events.append(symbol)
        elif symbol == "make":
            self.make(args[0], args[1:])
        elif symbol == "peek":
            self.look(args)
            return args[0]
        else:
            self.look(args)
            self.events.append(f"{symbol} {' '.join(map(self.title, args))}")
            if symbol in ("drop", "take"):
                for place in self.spread(args[0]):
                    self.places.pop(place).alive = symbol == "take"
        return None

    def make(self, target: tuple[Local, int | None], inputs: list[tuple[Local, int | None]]) -> None:
        local = target[0]
        self.look(inputs)
        points = [
            self.places[place] for pin in local.points_to for place in self.spread((pin, None)) if place in self.places
        ]
        for place in self.spread(target):
            if place in self.places and owned(place):
                raise Fault(f"{self.name(place)} is written over: {', '.join(self.events)}")
            self.places[place] = Object(self.name(place), points_into=points)
        self.events.append(f"make {self.title(target)}")

    def look(self, pointers: list[tuple[Local, int | None]]) -> None:
        for pointer in pointers:
            for place in self.spread(pointer):
                thing = self.places.get(place)
                if thing is None or not thing.alive:
                    raise Fault(f"{self.name(place)} is not there: {', '.join(self.events)}")
                for other in thing.points_into:
                    if not other.alive:
                        raise Fault(f"{thing.name} points into {other.name}, gone: {', '.join(self.events)}")
            if pointer[0].points_to_all:
                self.events.append("alive: " + " ".join(sorted(self.name(place) for place in self.places)))
