"""Products become parts of sums at -O0 where LLVM's code generator makes them so at higher levels."""

from typing import Any

import pytest
from ktc.ir.nodes import (
    Argument,
    Call,
    Const,
    Declare,
    Function,
    If,
    Let,
    Load,
    Local,
    LocalAddress,
    Loop,
    Return,
    Store,
    Temp,
)
from ktc.ir.ops import build
from ktc.ir.text import print_function
from ktc.ir.types import F32, FloatType
from ktc.passes.fusing import fused_products

A, B, C = (Argument(at, F32) for at in range(3))


def op(name: str, *args: Any) -> Any:
    return build(name, args, None, None)


def text(*body: Any, kind: FloatType = F32) -> str:
    function = Function("f", "f", (("a", kind), ("b", kind), ("c", kind)), kind, body)
    return print_function(fused_products.run({"f": function})["f"])


@pytest.mark.parametrize(
    "value, made",
    [
        (op("fadd", op("fmul", A, B), C), "fma(%0, %1, %2)"),
        (op("fadd", C, op("fmul", A, B)), "fma(%0, %1, %2)"),
        (op("fsub", op("fmul", A, B), C), "fma(%0, %1, fneg(%2))"),
        (op("fsub", C, op("fmul", A, B)), "fma(fneg(%0), %1, %2)"),
        (op("fadd", op("fneg", op("fmul", A, B)), C), "fma(fneg(%0), %1, %2)"),
        (op("fadd", op("fmul", A, B), op("fmul", A, C)), "fma(%0, %1, fmul(%0, %2))"),
        (op("fmul", A, op("fadd", B, C)), "fmul(%0, fadd(%1, %2))"),
        (op("fadd", op("fmul", A, B), op("fmul", A, B)), "fadd(fmul(%0, %1), fmul(%0, %1))"),
    ],
)
def test_an_expression(value: Any, made: str) -> None:
    assert f"return {made}" in text(Return(value))


def test_narrow_numbers_stay_as_they_are() -> None:
    half = FloatType("f16")
    args = [Argument(at, half) for at in range(3)]
    assert "fma" not in text(Return(op("fadd", op("fmul", *args[:2]), args[2])), kind=half)


def test_a_variable_that_is_read_once() -> None:
    local = Local(1, F32, "t")
    head = (Declare(local), Store(LocalAddress(local), op("fmul", A, B)))
    reads = [Let(Temp(at, F32), Load(LocalAddress(local), F32)) for at in (2, 3)]
    once = text(*head, reads[0], Return(op("fadd", Temp(2, F32), C)))
    assert "return fma(%0, %1, %2)" in once
    twice = text(*head, *reads, Return(op("fmul", op("fadd", Temp(2, F32), C), Temp(3, F32))))
    assert "fma" not in twice


def test_constants_are_folded() -> None:
    locals_ = [Local(at, F32, "x") for at in (1, 2)]
    body: list[Any] = []
    for local in locals_:
        body += [Declare(local), Store(LocalAddress(local), Const(F32, 1.5))]
    body += [Let(Temp(3 + at, F32), Load(LocalAddress(local), F32)) for at, local in enumerate(locals_)]
    assert "fma" not in text(*body, Return(op("fadd", op("fmul", Temp(3, F32), Temp(4, F32)), C)))


def test_what_a_loop_does_not_change_is_computed_before_it() -> None:
    total = Local(1, F32, "total")
    place = LocalAddress(total)
    step = (Let(Temp(3, F32), Load(place, F32)), Store(place, op("fadd", Temp(3, F32), op("fmul", A, B))))
    assert "fma" not in text(Declare(total), Store(place, C), Loop(2, step), Return(C))
    varying = Store(place, op("fadd", op("fmul", Temp(3, F32), B), C))
    assert "fma(%t3, %1, %2)" in text(Declare(total), Store(place, C), Loop(2, (step[0], varying)), Return(C))


X, Y = Local(1, F32), Local(2, F32)


def loaded(number: int, local: Local) -> tuple[Let, Temp]:
    return Let(Temp(number, F32), Load(LocalAddress(local), F32)), Temp(number, F32)


def test_a_variable_with_a_constant_is_one() -> None:
    load, x = loaded(1, X)
    store = Store(LocalAddress(X), Const(F32, 2.5))
    squared = Return(op("fadd", op("fmul", x, x), C))
    assert "fma" not in text(Declare(X), store, load, squared)
    assert "fma" in text(Declare(X), Store(LocalAddress(X), A), load, squared)
    either = If(op("fogt", A, B), (store,), ())
    assert "fma" in text(Declare(X), store, either, load, squared)
    known = If(op("fogt", x, x), (store,), ())
    assert "fma" not in text(Declare(X), store, load, known, squared)


def test_a_product_that_is_computed_again_stays() -> None:
    (first, x), (second, y) = loaded(3, X), loaded(4, X)
    store, keep = Store(LocalAddress(X), A), Store(LocalAddress(Y), op("fmul", x, B))
    both = (Declare(X), Declare(Y), store, first, keep, second, Return(op("fadd", op("fmul", B, y), op("fmul", y, C))))
    assert "return fma(%t4, %2, fmul(%1, %t4))" in text(*both)


def test_arguments_that_are_constants_at_every_call() -> None:
    mad = Function("mad", "mad", (("a", F32), ("b", F32)), F32, (Return(op("fadd", op("fmul", A, A), B)),))
    calls = [Let(Temp(at, F32), Call("mad", args, F32)) for at, args in enumerate([(Const(F32, 2.0), A), (A, B)])]
    for called, is_fused in ((calls[:1], False), (calls, True)):
        caller = Function("f", "f", (("a", F32), ("b", F32)), F32, (*called, Return(A)))
        made = fused_products.run({"mad": mad, "f": caller})["mad"]
        assert ("fma" in print_function(made)) == is_fused
