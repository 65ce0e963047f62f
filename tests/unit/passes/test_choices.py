"""Conditions that choose between constants become values; others stay as they are."""

from typing import Any

import pytest
from ktc.ir.interpreter.interpret import Interpreter
from ktc.ir.nodes import (
    Argument,
    Const,
    Declare,
    Function,
    If,
    Let,
    Load,
    Local,
    LocalAddress,
    Return,
    Store,
    Temp,
    Unit,
)
from ktc.ir.ops import build
from ktc.ir.text import print_function
from ktc.ir.types import I64, IntType
from ktc.ir.verify import verify
from ktc.passes import constant_choices

BYTE = IntType(8)
ARMS = {65: 84, 67: 71, 71: 67, 84: 65}


def is_byte(value: Any, number: int) -> Any:
    return build("eq", (value, Const(BYTE, number)), None, None)


def returns(arms: dict[int, int], otherwise: int = 78) -> Function:
    """Return a function that gives what the arms say of its argument."""
    value = Argument(0, BYTE)
    body = [If(is_byte(value, number), (Return(Const(I64, result)),)) for number, result in arms.items()]
    return Function("f", "f", (("x", BYTE),), I64, (*body, Return(Const(I64, otherwise))))


def stores(arms: dict[int, int], last: int | None = 78) -> Function:
    """Return the same with a variable, which is loaded for each condition; `last`: None leaves it out."""
    x, found = Local(1, BYTE, "x"), Local(2, I64, "found")
    rest: tuple[Any, ...] = () if last is None else (Store(LocalAddress(found), Const(I64, last)),)
    for at, (number, result) in enumerate(reversed(arms.items())):
        loaded = Temp(10 + at, BYTE)
        gives = (Store(LocalAddress(found), Const(I64, result)),)
        rest = (Let(loaded, Load(LocalAddress(x), BYTE)), If(is_byte(loaded, number), gives, rest))
    head = (Declare(x), Store(LocalAddress(x), Argument(0, BYTE)), Declare(found))
    start = Store(LocalAddress(found), Const(I64, 5))
    end = (Let(Temp(40, I64), Load(LocalAddress(found), I64)), Return(Temp(40, I64)))
    return Function("f", "f", (("x", BYTE),), I64, (*head, start, *rest, *end))


def value_of(function: Function, argument: int) -> object:
    unit = Unit(None, {"f": function})
    verify(unit)
    return Interpreter(lambda symbol: unit.functions[symbol], lambda name: None).call("f", [argument])


@pytest.mark.parametrize("make", [returns, stores])
def test_a_choice_becomes_a_value(make: Any) -> None:
    before = make(ARMS)
    after = constant_choices.run(before)
    text = print_function(after)
    assert text.count("select[unpredictable](") == 4
    assert "if " not in text
    for argument in (0, 65, 66, 67, 71, 84, 255):
        assert value_of(after, argument) == value_of(before, argument) == ARMS.get(argument, 78)


@pytest.mark.parametrize(
    "function",
    [
        returns({1: 2}),  # LLVM makes a select of one condition
        returns({1: 1, 2: 1, 3: 1}, 0),  # and asks for a bit where there are two results
        returns({number: number + 1 for number in range(9)}),  # a table or a tree is better
        stores(ARMS, None),  # the variable may keep its value
    ],
)
def test_what_stays(function: Function) -> None:
    assert constant_choices.run(function) is function


def test_conditions_of_two_values_stay() -> None:
    values = [Argument(at, BYTE) for at in range(3)]
    body = [If(is_byte(value, at), (Return(Const(I64, at)),)) for at, value in enumerate(values)]
    function = Function("f", "f", tuple((f"x{at}", BYTE) for at in range(3)), I64, (*body, Return(Const(I64, 9))))
    assert constant_choices.run(function) is function
