"""Random programs of lists, dictionaries, texts, optionals, counted destructors, closures and errors together.

Each statement is written twice, for the compiler and for Python, and what Python prints is what the program must print.
`mixed` is called at run time and at compile time, `plain` in a kernel, too; `owned` counts what lives, with errors in
between.
"""

import contextlib
import io
import random
from collections.abc import Callable

from random_frames import HEAD, PYTHON, TAIL

_WORDS = ("ab", "kernel", "x,y", "Grid", "", "a-b-c", "tile 7", "zz")


class _Writer:
    """One function in both languages."""

    def __init__(self, chance: random.Random, ints: list[str]) -> None:
        self.chance, self.ints, self.depth, self.names = chance, ints, 1, 0
        self.ours: list[str] = []
        self.python: list[str] = []

    def put(self, ours: str, python: str | None = None) -> None:
        """Write a line."""
        self.ours.append("    " * self.depth + ours)
        self.python.append("    " * self.depth + (ours if python is None else python))

    def name(self, start: str) -> str:
        """Return a new name."""
        self.names += 1
        return f"{start}{self.names}"

    def let(self, start: str, ours: str, python: str | None = None) -> str:
        """Declare a variable, and return its name."""
        name = self.name(start)
        self.put(f"var {name} = {ours}", f"{name} = {ours if python is None else python}")
        return name

    def whole(self, depth: int = 2) -> str:
        """Return an expression of a whole number."""
        chance = self.chance
        if depth == 0 or chance.random() < 0.3:
            return chance.choice([*self.ints, str(chance.randrange(1, 60))])
        a, b = self.whole(depth - 1), self.whole(depth - 1)
        return chance.choice((
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b} % 89)", f"({a} // (abs({b}) + 1))", f"({a} % (abs({b}) + 2))",
            f"({a} ^ {b})", f"min({a}, {b})", f"max({a}, {b})", f"({a} if {b} > {self.whole(0)} else {self.whole(0)})",
        ))  # fmt: skip

    def variable(self, value: str) -> str:
        """Declare a whole number."""
        self.ints.append(self.let("n", f"({value}) % 9973"))
        return self.ints[-1]

    def change(self) -> None:
        """Change a whole number."""
        named = [one for one in self.ints if one.startswith("n") and one != "n"]
        if named:
            self.put(f"{self.chance.choice(named)} = ({self.whole()}) % 9973")

    def block(self, head: str, statement: Callable[[], None], python: str | None = None, count: int = 3) -> None:
        """Write a block of statements, whose names end with it."""
        self.put(head, python)
        self.depth += 1
        known = len(self.ints)
        for _ in range(self.chance.randrange(1, count + 1)):
            statement()
        self.put("pass")
        del self.ints[known:]
        self.depth -= 1

    def control(self, statement: Callable[[], None]) -> None:
        """Write a branch or a loop."""
        chance = self.chance
        kind = chance.randrange(4)
        if self.depth > 3:
            self.change()
        elif kind == 0:
            self.block(f"if {self.whole()} > {self.whole()}:", statement)
            if chance.random() < 0.5:
                self.block("else:", statement)
        elif kind == 1:
            name = self.name("i")
            self.ints.append(name)
            self.block(f"for {name} in range({chance.randrange(1, 5)}):", statement)
            self.ints.remove(name)
        elif kind == 2:
            name = self.let("w", str(chance.randrange(1, 5)))
            self.put(f"while {name} > 0:")
            self.depth += 1
            self.put(f"{name} -= 1")
            if chance.random() < 0.5:
                self.put(f"if {self.whole()} > 40:")
                self.put(f"    {chance.choice(('break', 'continue'))}")
            self.change()
            self.depth -= 1
        else:
            self.change()


def _closure(w: _Writer, total: str) -> None:
    """A nested function that reads and changes what is around it."""
    name = w.name("f")
    body = w.whole(1)
    w.ours += ["    @parameter", f"    fn {name}(x: Int) -> Int:", f"        {total} = ({total} + x) % 9973"]
    w.ours += [f"        return (x * 2 + {body}) % 9973"]
    w.python += [f"    def {name}(x):", f"        nonlocal {total}", f"        {total} = ({total} + x) % 9973"]
    w.python += [f"        return (x * 2 + {body}) % 9973"]
    w.variable(f"{name}({w.whole(1)}) + {name}({w.whole(0)})")


def _plain(chance: random.Random) -> _Writer:
    """`plain`: numbers, arrays, optionals and closures, as a kernel can have them."""
    w = _Writer(chance, ["n"])
    total = w.variable("n + 1")
    w.put("var cells = InlineArray[Int, 6](fill=0)", "cells = [0] * 6")
    w.put("var maybe: Optional[Int] = None", "maybe = None")

    def statement() -> None:
        kind = chance.randrange(6)
        if kind == 0:
            w.put(f"cells[({w.whole()}) % 6] = ({w.whole()}) % 9973")
        elif kind == 1:
            w.variable(f"cells[({w.whole()}) % 6] + {w.whole(0)}")
        elif kind == 2:
            value = f"({w.whole(1)}) % 9973"
            w.put(f"maybe = Optional[Int]({value})", f"maybe = {value}")
        elif kind == 3:
            default = w.whole(0)
            w.ints.append(w.let("n", f"maybe.or_else({default})", f"{default} if maybe is None else maybe"))
        elif kind == 4:
            w.control(statement)
        else:
            w.change()

    for _ in range(chance.randrange(5, 11)):
        statement()
    _closure(w, total)
    w.put(f"return ({total} + cells[0] * 3 + cells[5] + {w.whole()}) % 9973")
    return w


def _mixed(chance: random.Random) -> _Writer:
    """`mixed`: lists, dictionaries, sets and texts, at run time and at compile time."""
    w = _Writer(chance, ["n"])
    total = w.variable("n * 7")
    w.put("var items = List[Int]()", "items = []")
    w.put("var counts = Dict[String, Int]()", "counts = {}")
    w.put('var text = String("t")', 'text = "t"')
    w.put("var maybe: Optional[Int] = None", "maybe = None")
    w.ints += ["len(items)", "len(counts)"]

    def item() -> str:
        return f"(items[({w.whole(1)}) % len(items)] if len(items) > 0 else 1)"

    def key() -> str:
        word = chance.choice(_WORDS)
        return chance.choice((f'String("{word}")', f"String({w.whole(1)} % 5)", f'String("k", {w.whole(0)} % 3)'))

    def statement() -> None:
        match chance.randrange(14):
            case 0 | 1:
                w.put(f"items.append(({w.whole()}) % 9973)")
            case 2:
                w.put("if len(items) > 1:")
                w.put(f"    {chance.choice(('items.reverse()', '_ = items.pop()', '_ = items.pop(0)'))}")
            case 3:
                w.put(f"items.insert(({w.whole(1)}) % (len(items) + 1), ({w.whole(1)}) % 9973)")
            case 4:
                low = chance.randrange(3)
                w.put(f"items = [(v * {chance.randrange(1, 4)}) % 9973 for v in items if v > {low}]")
            case 5:
                w.put("sort(items)", "items.sort()")
            case 6 | 7:
                k = w.let("k", key())
                w.put(f"counts[{k}] = counts.get({k}, {chance.randrange(9)}) + ({w.whole(1)}) % 100")
            case 8:
                w.ints.append(w.let("n", f"counts.get({key()}, -1)"))
            case 9:
                word = chance.choice(_WORDS)
                w.put("if len(text) < 60:")
                w.put("    " + chance.choice((f'text += "{word}"', f'text = "{word}" + text', "text = text * 2")))
            case 10:
                made = chance.choice(("upper()", "lower()", 'replace("a", "bc")', 'replace("x", "")', "strip()"))
                w.put(f"text = String(text.{made})")
            case 11:
                part = chance.choice(('find("b")', 'count("a")'))
                w.variable(f"text.{part} + {w.whole(0)}")
            case 12:
                w.variable(item())
            case _:
                w.control(statement)

    for _ in range(chance.randrange(7, 15)):
        statement()
    _closure(w, total)
    total_of = w.let("n", "0")
    w.put("for v in items:")
    w.put(f"    {total_of} = ({total_of} * 31 + v) % 9973")
    w.put("for entry in counts.items():", "for entry_key, entry_value in counts.items():")
    w.put(f"    {total_of} = ({total_of} * 17 + entry.value + len(entry.key)) % 9973",
          f"    {total_of} = ({total_of} * 17 + entry_value + len(entry_key)) % 9973")  # fmt: skip
    w.put('for piece in text.split("b"):')
    w.put(f"    {total_of} = ({total_of} * 13 + len(piece)) % 9973")
    w.put(f"return ({total_of} + {total} + len(text)) % 9973")
    return w


def _owned(chance: random.Random) -> _Writer:
    """`owned`: values whose destructors are counted, in variables and containers, and errors."""
    w = _Writer(chance, ["n"])
    w.variable("n + 3")
    w.put("var kept = List[Tracked]()", "kept = []")
    w.put("var named = Dict[Int, Tracked]()", "named = {}")
    w.put("var maybe = Optional[Tracked]()", "maybe = None")

    def made() -> tuple[str, str]:
        value = f"({w.whole(1)}) % 97"
        return f"Tracked({value}, live)", f"Tracked({value})"

    def statement() -> None:
        ours, python = made()
        at = f"({w.whole(1)}) % len(kept)"
        match chance.randrange(15):
            case 0 | 1:
                w.put(f"kept.append({ours})", f"kept.append({python})")
            case 2:
                w.put("if len(kept) > 0:")
                w.put(f"    kept.append(kept[{at}].copy())")
            case 3:
                w.put("if len(kept) > 0:")
                w.put(f"    print(consume(kept.pop({at})))")
            case 4:
                name = w.let("t", ours, python)
                w.put(f"changed({name}, {w.whole(0)})")
                w.put(f"kept.append(hand_on({name}^))", f"kept.append(hand_on({name}))")
            case 5:
                w.put("if len(kept) > 0:")
                w.put(f"    kept[{at}] = {ours}", f"    kept[{at}] = {python}")
            case 6:
                k = f"({w.whole(1)}) % 4"
                w.put(f"named[{k}] = {ours}", f"named[{k}] = {python}")
            case 7:
                k = w.let("k", f"({w.whole(1)}) % 4")
                w.put(f"if {k} in named:")
                w.put(f"    kept.append(named.pop({k}))")
            case 8:
                w.put('print("had one" if maybe else "had none")')  # so that the old value lives until here
                w.put(f"maybe = Optional[Tracked]({ours})", f"maybe = {python}")
            case 9:
                w.put("if maybe:")
                w.put("    print(maybe.value().id)", "    print(maybe.id)")
                w.put("    kept.append(maybe.take())", "    kept.append(maybe); maybe = None")
            case 10 | 11:
                n = w.whole(1)
                w.put("try:")
                w.put(f"    print(passed_on(abs({n}), live))", f"    print(passed_on(abs({n})))")
                w.put("except e:", "except Exception as e:")
                w.put('    print("caught", e)')
            case 12:
                w.put("if len(kept) > 1:")
                w.put("    kept.reverse()")
                w.put("    changed(kept[0], len(kept))")
            case 13:
                count = "live[]", "len(kept) + len(named) + (maybe is not None)"
                w.put(f'print("live", {count[0]})', f'print("live", {count[1]})')
            case _:
                w.control(statement)

    for _ in range(chance.randrange(8, 18)):
        statement()
    w.put("for ref t in kept:", "for t in kept:")
    w.put('    print(t.id, t.text, end="; ")')
    w.put("for entry in named.items():", "for entry_key, entry_value in named.items():")
    w.put('    print(entry.key, entry.value.text, end="; ")', '    print(entry_key, entry_value.text, end="; ")')
    w.put('print(maybe.value().text if maybe else String("none"), len(named))',
          'print(maybe.text if maybe else "none", len(named))')  # fmt: skip
    return w


def program(seed: int) -> tuple[str, list[str]]:
    """Return a program and the lines that it prints."""
    chance = random.Random(f"containers {seed}")
    plain, mixed, owned = _plain(chance), _mixed(chance), _owned(chance)
    given = {name: chance.randrange(1, 50) for name in ("one", "two", "three", "four")}
    ours = "\n\n\n".join([
        "fn plain(n: Int) -> Int:\n" + "\n".join(plain.ours),
        "fn mixed(n: Int) -> Int:\n" + "\n".join(mixed.ours),
        "fn owned(n: Int, live: Counter) raises:\n" + "\n".join(owned.ours),
    ])  # fmt: skip
    python = "\n".join([
        PYTHON, "def plain(n):", *plain.python, "def mixed(n):", *mixed.python, "def owned(n):", *owned.python,
        "print(mixed({one}), mixed({one}), mixed({three}))".format(**given),
        "print(plain({two}), plain({two}))".format(**given),
        "for i in range(8):", "    print(plain(i * 3 + 1), end=' ')", "print()", f"owned({given['four']})",
        "print('live', 0)", "",
    ])  # fmt: skip
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(python, {})
    return HEAD + "\n" + ours + "\n\n" + TAIL.format(**given), said.getvalue().splitlines()
