"""The passes on a whole unit: the text of the result, the verifier's judgement, and the interpreter's."""

import pytest
from ktc.diag.diagnostic import Sink
from ktc.ir.interpreter.interpret import Interpreter
from ktc.ir.nodes import Argument, Call, Const, Function, GlobalAddress, If, Let, Load, Mark, Return, Store, Temp, Unit
from ktc.ir.nodes import Global as Variable
from ktc.ir.ops import build
from ktc.ir.text import print_function
from ktc.ir.types import BOOL, I64, PTR, VOID
from ktc.ir.verify import verify
from ktc.passes import PASSES, run
from passes_machine import Writer, at, declare

POINTER = Argument(0, PTR)
COUNT = GlobalAddress("count")


def library() -> dict[str, Function]:
    """`make` writes 1 into a place and adds 10 to the count, `drop` wants to find the 1 and takes 10 back."""
    found, right = Temp(1, I64), Temp(2, BOOL)

    def add(amount: int) -> tuple:
        number = Temp(amount, I64)
        return (Let(number, Load(COUNT, I64)), Store(COUNT, build("add", (number, Const(I64, amount)))))

    make = (*add(10), Store(POINTER, Const(I64, 1)), Return())
    check = (Let(found, Load(POINTER, I64)), Let(right, build("eq", (found, Const(I64, 1)))))
    drop = (*check, If(right, add(2**64 - 10), add(1000)), Store(POINTER, Const(I64, 0)), Return())
    look = (*check, If(right, (), add(1000)), Return())
    bodies = {"make": make, "drop": drop, "look": look}
    return {name: Function(name, name, (("p", PTR),), VOID, body) for name, body in bodies.items()}


def unit() -> Unit:
    """`f(give)`: `a` gets a value only if `give`, and everything is kept alive up to the look at `t`."""
    w = Writer()
    a, b, t = w.local("a"), w.local("b"), w.local("t", drop="", points_to_all=True)
    give = Argument(0, BOOL)

    def call(name, local):
        return Let(None, Call(name, (at(local),), VOID))

    def given(local):
        return [call("make", local), Mark("init", local)]

    body = [*declare(a), *declare(b), *given(b), *declare(t), *given(t)]
    body += [If(give, tuple(given(a))), Mark("require", t), call("look", t), Return()]
    functions = {**library(), "f": Function("f", "f", (("give", BOOL),), VOID, tuple(body))}
    return Unit(None, functions, {"count": Variable("count", I64, None, False)})


TEXT = """\
func @f(%0 give: i1) -> void internal "f" {
    declare %a.1: i64 drop @drop
    declare %.4: i1
    store %.4, i1 false
    declare %b.2: i64 drop @drop
    call @make(%b.2): void
    declare %t.3: i64 points_to_all
    call @make(%t.3): void
    if %0 {
        call @make(%a.1): void
        store %.4, i1 true
    }
    call @look(%t.3): void
    %t1 = load i1 %.4
    if %t1 {
        call @drop(%a.1): void
        store %.4, i1 false
    }
    call @drop(%b.2): void
    return
}
"""


def test_passes_in_order():
    order = ("copy_elision", "definite_initialization", "drop_insertion")
    assert [one.__module__ for one in PASSES] == [f"ktc.passes.{name}" for name in order]


@pytest.mark.parametrize("give", [0, 1])
def test_verified_and_run(give):
    before, sink = unit(), Sink()
    verify(before)
    after = run(before, None, sink)
    assert not sink.diagnostics
    verify(after)
    assert after.functions["make"] is before.functions["make"]
    counts = []
    for one in (before, after):
        machine = Interpreter(
            lambda symbol, one=one: one.functions[symbol], lambda name, one=one: one.globals.get(name)
        )
        machine.call("f", (give,))
        counts.append(machine.read(I64, machine.address_of_global("count")))
    # `t` owns nothing, so it counts but is not destroyed.
    assert counts == [20 + 10 * give, 10]


def test_text():
    after = run(unit(), None, Sink())
    assert print_function(after.functions["f"]) == TEXT
