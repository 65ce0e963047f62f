"""Whatever the text is: no exception, an answer in time, and a module exactly if nothing is wrong.

Also what is kept in a cache.
"""

import pickletools
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source
from ktc.syntax.format import dump
from ktc.syntax.parsing.parser import pack, parse
from ktc.syntax.parsing.tables import Tables, load_tables

PROGRAM = '''"""Doc."""
from ..a.b import c as d
import a.b as q

alias F = fn[w: Int](Int, x: Float32, mut self: X) raises capturing [_] -> Int


@register_passable("trivial")
struct S[T: Copyable & Movable, //, n: Int = 3](A, B & C) where n > 3:
    """Doc of S."""

    var x: Int
    alias K[n: Int]: Int = n * 2

    fn __init__(out self, var y: Int = 2, ref [o] z: T, *, k: Int) raises -> ref [self.x] T:
        self.x = y^
        var `my var`, b = 0, 1_000
        ref r = self.`!x`[a=1, *Ts, 1:2, ::3](b^, *c)[]


trait Tr:
    alias K: Int

    fn f(self): ...


def g(out: Int):
    @parameter
    for ref i in range(3):
        pass
    comptime if x := 3:
        a
    elif not c not in d:
        ...
    fn inner[k: Int](a: Int) unified {read a, mut b} -> Int:
        return (a + 1) if b else f(out=3)
    s = "a\\x41" 'b' r"\\n" f"a{x!r:>8}b{y}"
    v = {1: 2}, {1, 2}, {a: b for a in c}, [a for x, y in z if x]
    try:
        x()
    except e:
        y()
    finally:
        w()
    with a as b, c():
        a = b = 1 if x else 2
    x += 0x1F + .5 + 1E-3
    return -2 ** 2, x^
'''
PIECES = (
    *"()[]{}:,.=^\"'`\\\n#@!*/-<>|&~%0_",
    *("\n    ", "\n\t", "fn ", "def ", "if ", "ref ", "mut ", 'f"{', '"""', "else", "->", ":=", "raises", "where"),
    *("lambda ", "in ", "not ", "comptime ", "@parameter\n", "1e", "0x", "\\\n", "async ", "\x00", "é", "\f", "\r"),
)


def mutant(seed: int) -> str:
    """Return the program with a few changes."""
    chance, text = random.Random(seed), PROGRAM
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        at, kind = chance.randrange(len(text) + 1), chance.randrange(5)
        if kind == 0:
            text = text[:at] + text[at + chance.randrange(1, 8) :] or PROGRAM
        elif kind == 1:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        elif kind == 2:
            text = text[:at] or PROGRAM
        elif kind == 3:
            other = chance.randrange(len(text))
            text = text[:at] + text[other : other + chance.randrange(60)] + text[at:]
        else:
            text = text[:at] + chance.choice(PIECES) + text[at + 1 :]
    return text


def test_program(parsed: Callable[[str], Any]) -> None:
    assert len(parsed(PROGRAM).body) == 6


def test_mutants(tables: Tables) -> None:
    right = 0
    for seed in range(300):
        text, sink = mutant(seed), Sink()
        module = parse(Source("t.kpy", text), sink, None, tables)
        assert (module is None) == bool(sink.error_count), seed
        for diagnostic in sink.diagnostics:
            assert diagnostic.span is not None
            assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text) + 1, seed
            assert diagnostic.span.start <= len(text)
        if module is not None:
            dump(module)
            right += 1
    assert 10 < right < 290


class Store:
    """A cache that counts."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.hits = 0

    def get(self, key: str) -> bytes | None:
        self.hits += key in self.data
        return self.data.get(key)

    def put(self, key: str, data: bytes) -> None:
        self.data[key] = data


@pytest.fixture(scope="module")
def kept() -> dict[str, bytes]:
    """What a cache has after the program was parsed: the grammar's tables and the module."""
    store = Store()
    assert parse(Source("t.kpy", PROGRAM), Sink(), store) is not None
    assert (len(store.data), store.hits) == (2, 0)
    return store.data


@pytest.fixture
def store(kept: dict[str, bytes]) -> Store:
    """A cache with those."""
    made = Store()
    made.data.update(kept)
    return made


def test_the_cache_returns_the_same_module(store: Store, tables: Tables) -> None:
    sink, source = Sink(), Source("t.kpy", PROGRAM)
    first = parse(source, sink, None, tables)
    second = parse(source, sink, store)
    assert (len(store.data), store.hits) == (2, 1)
    assert first is not None
    assert second is not None
    assert second.source is source
    assert dump(first) == dump(second)
    assert b"t.kpy" not in b"".join(store.data.values())


def test_text_with_errors_is_not_cached(store: Store) -> None:
    assert parse(Source("t.kpy", "fn f(:\n"), Sink(), store) is None
    assert len(store.data) == 2


@pytest.mark.parametrize("damage", [b"", b"x", b"\x80\x05N.", b"\x80\x05X"])
def test_a_damaged_entry_is_a_miss(damage: bytes, store: Store) -> None:
    source = Source("t.kpy", PROGRAM)
    first = parse(source, Sink(), store)
    for key in store.data:
        store.data[key] = damage
    again = parse(source, Sink(), store)
    assert first is not None
    assert again is not None
    assert dump(first) == dump(again)


def test_every_rule_has_a_method(tables: Tables) -> None:
    from ktc.base.editions import Edition
    from ktc.syntax import ast
    from ktc.syntax.building.builder import Builder
    from ktc.syntax.lexing.lexer import Tokens
    from ktc.syntax.parsing.tables import CALL, PICK

    builder = Builder("", {}, Tokens([], [], [], []), lambda start, end: ast.Name(start, end, ""), Edition.Y2025)
    rules = builder.rules(tables.rules)
    assert [name for _, _, kind, name, _ in tables.rules if kind in (CALL, PICK)]
    missing = {
        rule[3] for rule, made in zip(tables.rules, rules, strict=True) if rule[2] in (CALL, PICK) and made[3] is None
    }
    assert not missing


def test_lark_is_needed_only_to_build_tables(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lark", None)  # an import of it fails
    assert parse(Source("t.kpy", f"{PROGRAM}\n"), Sink(), store) is not None
    with pytest.raises(ImportError):
        load_tables(None)


def test_packed_trees_are_calls_of_classes(tables: Tables) -> None:
    """Compiled and interpreted modules share a cache, and have only calls of classes in common."""
    module = parse(Source("t.kpy", PROGRAM), Sink(), None, tables)
    work: list[Any] = [pack(module) if module is not None else b""]
    texts = 0
    while work:
        for opcode, argument, _ in pickletools.genops(work.pop()):
            assert opcode.name not in ("NEWOBJ", "NEWOBJ_EX", "BUILD")
            # heads and bodies stand in it as pickles of their own
            if isinstance(argument, bytes) and argument[:1] == b"\x80":
                work.append(argument)
                texts += 1
    assert texts > 4
