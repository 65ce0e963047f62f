"""Which functions never return."""

from ktc.ir.nodes import (
    Argument,
    Block,
    Break,
    Call,
    CallExternal,
    CallIntrinsic,
    Continue,
    Function,
    If,
    Let,
    Loop,
    Return,
    Statement,
    Unreachable,
)
from ktc.ir.types import BOOL, VOID
from ktc.passes.never_returns import never_returning

CHOICE = Argument(0, BOOL)
TRAP = Let(None, CallIntrinsic("llvm.trap", (), VOID))


def function(symbol: str, *body: Statement, noreturn: bool = False) -> Function:
    return Function(symbol, symbol, (("a", BOOL),), VOID, body, noreturn=noreturn)


def call(symbol: str) -> Let:
    return Let(None, Call(symbol, (CHOICE,), VOID))


def found(*functions: Function) -> set[str]:
    return set(never_returning({one.symbol: one for one in functions}))


def test_traps_and_endless_loops_never_return() -> None:
    assert found(function("f", TRAP, Return(None))) == {"f"}
    assert found(function("f", Let(None, CallExternal("abort", (), VOID)), Return(None))) == {"f"}
    assert found(function("f", Loop(1, (Let(None, CallExternal("work", (), VOID)), Continue(1))), Unreachable())) == {
        "f"
    }
    assert found(function("f", If(CHOICE, (TRAP,), (Unreachable(),)), Return(None))) == {"f"}


def test_one_path_out_is_enough() -> None:
    assert found(function("f", If(CHOICE, (TRAP,)), Return(None))) == set()
    assert found(function("f", If(CHOICE, (Return(None),), (TRAP,)), Unreachable())) == set()
    assert found(function("f", Loop(1, (If(CHOICE, (Break(1),)),)), Return(None))) == set()
    assert found(function("f", Block(1, (If(CHOICE, (Break(1),)), TRAP)), Return(None))) == set()
    assert found(function("f", Let(None, CallExternal("printf", (), VOID)), Return(None))) == set()


def test_calls_are_followed_and_declarations_believed() -> None:
    chain = [function("a", call("b"), Return(None)), function("b", call("c"), Return(None))]
    assert found(*chain, function("c", TRAP, Return(None))) == {"a", "b", "c"}
    assert found(*chain, function("c", noreturn=True)) == {"a", "b", "c"}
    assert found(*chain, function("c")) == set()
    assert found(function("f", call("f"), Return(None))) == set()  # it may end where the stack does
