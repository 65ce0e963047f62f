"""Which arguments functions only read through."""

from collections.abc import Sequence

from ktc.ir.nodes import (
    Argument,
    Call,
    CallExternal,
    Const,
    Function,
    Let,
    Load,
    Local,
    LocalAddress,
    MemCopy,
    Return,
    Statement,
    Store,
    Temp,
)
from ktc.ir.ops import build
from ktc.ir.read_only import read_only_arguments
from ktc.ir.types import F32, I64, PTR, VOID

A, B = Argument(0, PTR), Argument(1, PTR)
NEXT = build("offset", (A, Const(I64, 4)), None, F32)


def found(*body: Statement, others: Sequence[Function] = ()) -> tuple[int, ...]:
    functions = {one.symbol: one for one in (function("f", *body), *others)}
    return read_only_arguments(functions)["f"]


def function(symbol: str, *body: Statement) -> Function:
    return Function(symbol, symbol, (("a", PTR), ("b", PTR)), VOID, body)


def test_loads_and_copies_read() -> None:
    assert found(Let(Temp(1, F32), Load(NEXT, F32)), MemCopy(B, A, Const(I64, 4)), Return(None)) == (0,)
    assert found(Let(Temp(1, PTR), NEXT), Let(Temp(2, F32), Load(Temp(1, PTR), F32)), Return(None)) == (0, 1)


def test_stores_write_and_keep() -> None:
    assert found(Store(NEXT, Const(F32, 1.0)), Return(None)) == (1,)
    assert found(Let(Temp(1, PTR), NEXT), Store(Temp(1, PTR), Const(F32, 1.0)), Return(None)) == (1,)
    assert found(Store(LocalAddress(Local(1, PTR)), A), Return(None)) == (1,)
    assert found(Return(B)) == (0,)
    assert found(Let(None, CallExternal("free", (A,), VOID)), Return(None)) == (1,)


def test_what_is_called_decides() -> None:
    reads = function("reads", Let(Temp(1, F32), Load(A, F32)), Return(None))
    writes = function("writes", Store(A, Const(F32, 1.0)), Let(None, Call("f", (A, B), VOID)), Return(None))
    declared = function("declared")
    calls = [Let(None, Call(one, (NEXT, B), VOID)) for one in ("reads", "writes", "declared")]
    assert found(calls[0], Return(None), others=(reads,)) == (0, 1)
    assert found(calls[0], calls[1], Return(None), others=(reads, writes)) == (1,)
    assert found(calls[2], Return(None), others=(declared,)) == ()
