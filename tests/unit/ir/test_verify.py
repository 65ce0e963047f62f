"""The verifier takes a good function and rejects each way to break it."""

import pytest
from ktc.base.records import replace
from ktc.diag.diagnostic import Bug
from ktc.ir import nodes as ir
from ktc.ir.types import BOOL, F32, I8, I32, I64, PTR, VOID, ArrayType, VectorType
from ktc.ir.verify import verify

X = ir.Local(1, I64, "x")
T = ir.Temp(1, I64)
N = ir.Argument(0, I64)
ONE = ir.Const(I64, 1)
AT_X = ir.LocalAddress(X)
DONE = ir.Return(N)


def unit_of(*body, result=I64, **more) -> ir.Unit:
    function = ir.Function("f", "f", (("n", I64),), result, tuple(body), **more)
    helper = ir.Function("helper", "helper", (("n", I64),), VOID, (ir.Return(),))
    variable = ir.Global("table", ArrayType(I8, 2), b"ab", True, 1)
    return ir.Unit(None, {"f": function, "helper": helper}, {"table": variable})


def test_a_good_function_passes():
    verify(
        unit_of(
            ir.Declare(X),
            ir.Store(AT_X, ONE),
            ir.Mark("init", X),
            ir.Loop(
                1,
                (
                    ir.Let(T, ir.Load(AT_X, I64)),
                    ir.Let(None, ir.Call("helper", (ir.Op("add", (T, N), I64),), VOID)),
                    ir.Block(2, (ir.If(ir.Op("eq", (T, N), BOOL), (ir.Break(2),), (ir.Continue(1),)),)),
                    ir.If(ir.Const(BOOL, 1), (DONE,)),
                ),
            ),
        )
    )


BROKEN = {
    "temp unbound": (ir.Return(T),),
    "temp outside": (ir.If(ir.Const(BOOL, 1), (ir.Let(T, ir.Op("neg", (N,), I64)),)), ir.Return(T)),
    "temp twice": (ir.Let(T, ir.Op("neg", (N,), I64)), ir.Let(T, ir.Op("neg", (N,), I64)), DONE),
    "temp type": (ir.Let(ir.Temp(1, I32), ir.Op("neg", (N,), I64)), DONE),
    "temp used as other type": (ir.Let(T, ir.Op("neg", (N,), I64)), ir.Return(ir.Op("zext", (ir.Temp(1, I32),), I64))),
    "op types": (ir.Return(ir.Op("add", (N, ir.Const(I32, 1)), I64)),),
    "op result": (ir.Return(ir.Op("eq", (N, N), I64)),),
    "op arity": (ir.Return(ir.Op("add", (N,), I64)),),
    "op unknown": (ir.Return(ir.Op("plus", (N, N), I64)),),
    "op nested": (ir.Return(ir.Op("neg", (ir.Op("fneg", (N,), I64),), I64)),),
    "argument": (ir.Return(ir.Argument(1, I64)),),
    "argument type": (ir.Return(ir.Op("zext", (ir.Argument(0, I32),), I64)),),
    "callee": (ir.Let(None, ir.Call("nobody", (), VOID)), DONE),
    "call arguments": (ir.Let(None, ir.Call("helper", (ir.Const(I32, 1),), VOID)), DONE),
    "call result": (ir.Let(T, ir.Call("helper", (N,), I64)), DONE),
    "external vector": (ir.Let(None, ir.CallExternal("g", (ir.Const(VectorType(I8, 2), (1, 1)),), VOID)), DONE),
    "global": (ir.Let(None, ir.Load(ir.GlobalAddress("no$such"), I8)), DONE),
    "global space": (ir.Let(None, ir.Load(ir.GlobalAddress("table", 3), I8)), DONE),
    "global in constant": (ir.Let(None, ir.Load(ir.Const(PTR, ir.Address("no.such")), I8)), DONE),
    "load of number": (ir.Let(T, ir.Load(N, I64)), DONE),
    "store to number": (ir.Store(N, ONE), DONE),
    "store too wide": (ir.Declare(X), ir.Store(AT_X, ir.Const(VectorType(I64, 2), (1, 2))), DONE),
    "undeclared": (ir.Store(AT_X, ONE), DONE),
    "mark undeclared": (ir.Mark("init", X), DONE),
    "mark kind": (ir.Declare(X), ir.Mark("born", X), DONE),
    "mark path": (ir.Declare(X), ir.Mark("init", X, (0,)), DONE),
    "local out of scope": (ir.Block(1, (ir.Declare(X),)), ir.Store(AT_X, ONE), DONE),
    "local ids": (ir.Declare(X), ir.Declare(ir.Local(1, I8, "y")), DONE),
    "destructor": (ir.Declare(ir.Local(3, I8, "y", drop="gone")), DONE),
    "condition": (ir.If(N, ()), DONE),
    "break": (ir.Break(3),),
    "continue a block": (ir.Block(1, (ir.Continue(1),)), DONE),
    "label twice": (ir.Block(1, ()), ir.Block(1, ()), DONE),
    "no end": (),
    "no end in branch": (ir.If(ir.Const(BOOL, 1), (DONE,)),),
    "no end after loop": (ir.Loop(1, (ir.If(ir.Const(BOOL, 1), (ir.Break(1),)),)),),
    "return type": (ir.Return(ir.Const(I32, 1)),),
    "return nothing": (ir.Return(),),
    "constant range": (ir.Return(ir.Const(I64, -1)),),
    "constant kind": (ir.Return(ir.Op("fptosi", (ir.Const(F32, 1),), I64)),),
    "constant lanes": (ir.Return(ir.Op("reduce_add", (ir.Const(VectorType(I64, 2), (1,)),), I64)),),
    "copy size": (ir.Declare(X), ir.MemCopy(AT_X, AT_X, ir.Const(I32, 1)), DONE),
    "atomic": (ir.Declare(X), ir.Let(None, ir.AtomicRmw("nand", AT_X, ONE, I64)), DONE),
    "ordering": (ir.Declare(X), ir.Let(None, ir.AtomicRmw("add", AT_X, ONE, I64, "strict")), DONE),
    "exchange": (ir.Declare(X), ir.Let(None, ir.CompareExchange(AT_X, ONE, ONE, I64)), DONE),
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_function_is_a_bug(body):
    with pytest.raises(Bug) as caught:
        verify(unit_of(*body))
    assert caught.value.where == "f"


def test_names_of_a_unit():
    unit = unit_of(DONE)
    verify(unit)
    for change in (
        {"functions": {"g": unit.functions["f"]}},
        {"globals": {"g": unit.globals["table"]}},
        {"globals": {"table": replace(unit.globals["table"], content=b"abc")}},
        {"globals": {"table": replace(unit.globals["table"], content=ir.Const(I8, 1))}},
        {"kernels": (ir.Kernel("gone", "gone"),)},
    ):
        with pytest.raises(Bug):
            verify(replace(unit, **change))


def test_linkage_and_inline_are_closed_sets():
    for bad in ({"linkage": "weak"}, {"inline": "maybe"}):
        with pytest.raises(Bug):
            verify(unit_of(DONE, **bad))
