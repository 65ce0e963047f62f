"""Captured values: what an environment holds depends on whether anybody writes the variable."""

from typing import Any

import pytest
from ktc.ir.interpreter.interpret import Interpreter
from ktc.ir.nodes import (
    Argument,
    Call,
    Const,
    Declare,
    Function,
    Let,
    Load,
    Local,
    LocalAddress,
    Return,
    Statement,
    Store,
    Temp,
    Unit,
)
from ktc.ir.ops import build
from ktc.ir.text import print_function
from ktc.ir.types import I64, PTR, VOID, ArrayType, StructType
from ktc.ir.verify import verify
from ktc.passes import capture_by_value

TRIPLE = StructType((I64, I64, I64))
KEY, INNER = "of owner", "of outer"


def word(base: Any, at: int) -> Any:
    return build("offset", (base, Const(I64, at)), None, PTR)


def unit(writes: str = "") -> Unit:
    """`owner(n)` captures x (n), y (a struct) and z, which the closure changes, in `outer`; that hands x to `inner`."""
    n, environment = Argument(0, I64), Argument(0, PTR)
    x, y, z = Local(1, I64, "x"), Local(2, TRIPLE, "y"), Local(3, I64, "z")
    made, nested = Local(4, ArrayType(PTR, 3), environment_of=KEY), Local(9, ArrayType(PTR, 1), environment_of=INNER)
    places = [LocalAddress(one) for one in (x, y, z)]
    a, b, c, d = (Temp(at, PTR) for at in (20, 21, 22, 23))
    s, t, u, v = (Temp(at, I64) for at in (30, 31, 32, 33))
    owner: list[Statement] = [
        *map(Declare, (x, y, z, made)),
        Store(places[0], n),
        Store(places[1], build("make", (n, Const(I64, 5), n), TRIPLE)),
        Store(places[2], Const(I64, 100)),
        *(Store(word(LocalAddress(made), at), place) for at, place in enumerate(places)),
        *([Store(places[0], Const(I64, 7))] if writes == "owner" else []),
        Let(s, Call("outer", (LocalAddress(made),), I64)),
        Return(s),
    ]
    outer: list[Statement] = [
        Declare(nested),
        Let(a, Load(word(environment, 0), PTR)),
        Store(LocalAddress(nested), a),
        Let(b, Load(word(environment, 1), PTR)),
        Let(t, Load(build("field", (b,), None, (TRIPLE, 1)), I64)),
        Let(c, Load(word(environment, 2), PTR)),
        Let(u, Load(c, I64)),
        Store(c, build("add", (u, Const(I64, 1)))),
        Let(v, Call("inner", (LocalAddress(nested),), I64)),
        Return(build("add", (v, build("add", (t, u))))),
    ]
    inner: list[Statement] = [
        Let(d, Load(environment, PTR)),
        Let(t, Load(d, I64)),
        *([Store(d, Const(I64, 9))] if writes == "inner" else []),
        Return(t),
    ]
    of_outer, of_inner = {"environments": {KEY: 0}}, {"environments": {INNER: 0}}
    functions = [
        Function("owner", "owner", (("n", I64),), I64, tuple(owner)),
        Function("outer", "outer", (("env", PTR),), I64, tuple(outer), **of_outer),  # type: ignore[arg-type]
        Function("inner", "inner", (("env", PTR),), I64, tuple(inner), **of_inner),  # type: ignore[arg-type]
    ]
    return Unit(None, {one.symbol: one for one in functions})


def result(made: Unit) -> object:
    return Interpreter(lambda symbol: made.functions[symbol], lambda name: None).call("owner", [3])


@pytest.mark.parametrize("writes", ["", "owner", "inner"])
def test_same_meaning(writes: str) -> None:
    before = unit(writes)
    after = capture_by_value.run(before)
    verify(after)
    assert result(after) == result(before) == (112 if writes == "owner" else 108)
    inner = print_function(after.functions["inner"])
    assert ("load ptr" in inner) == bool(writes)


def test_what_is_held() -> None:
    after = capture_by_value.run(unit())
    owner, outer = (print_function(after.functions[name]) for name in ("owner", "outer"))
    assert "[6 x ptr]" in owner, "the struct's three words follow the addresses"
    assert outer.count("load ptr") == 1, "of the variable that is changed"


def test_an_address_that_escapes() -> None:
    before = unit()
    keep = Function("keep", "keep", (("p", PTR),), VOID, (Return(),))
    owner = before.functions["owner"]
    x = owner.body[0].local  # type: ignore[union-attr]
    body = (*owner.body[:4], Let(None, Call("keep", (LocalAddress(x),), VOID)), *owner.body[4:])
    functions = {**before.functions, "owner": Function("owner", "owner", owner.params, I64, body), "keep": keep}
    after = capture_by_value.run(Unit(None, functions))
    assert "load ptr" in print_function(after.functions["inner"])
