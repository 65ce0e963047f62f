"""The canonical text: one golden that was read, and what it must not depend on."""

from types import SimpleNamespace

from ktc.diag.source import Source, Span
from ktc.ir import nodes as ir
from ktc.ir.ops import build
from ktc.ir.text import print_function, print_unit, print_value
from ktc.ir.types import BOOL, F32, F64, I8, I32, I64, PTR, VOID, ArrayType, PointerType, StructType, VectorType

PAIR = StructType((I8, I64))


def sample(span=None) -> ir.Unit:
    x, flag = ir.Local(1, PAIR, "x", drop="PAIR.del"), ir.Local(2, BOOL)
    n, t = ir.Argument(0, I64), ir.Temp(1, I64)
    place = build("field", (ir.LocalAddress(x),), None, (PAIR, 1))
    body = (
        ir.Declare(x),
        ir.Declare(flag),
        ir.Store(place, n, span=span),
        ir.Mark("init", x, (1,)),
        ir.Loop(
            0,
            (
                ir.Let(t, ir.Load(place, I64)),
                ir.If(build("slt", (t, ir.Const(I64, 3))), (ir.Break(0),), (ir.Continue(0),)),
            ),
        ),
        ir.Let(None, ir.CallExternal("printf", (ir.GlobalAddress("text"), n), I32, 1)),
        ir.Let(None, ir.AtomicRmw("add", place, n, I64, "relaxed", "gpu")),
        ir.Block(1, (ir.MemCopy(place, place, n, may_overlap=True), ir.Break(1))),
        ir.Return(build("zext", (build("extract", (ir.Argument(1, VectorType(I32, 4)), n)),), I64)),
    )
    main = ir.Function("main.f", "f[4]", (("n", I64), ("v", VectorType(I32, 4))), I64, body, inline="never", span=span)
    delete = ir.Function("PAIR.del", "del", (("p", PTR),), VOID, (ir.Return(),), "export")
    table = ir.Const(StructType((PTR, F32)), (ir.Address("text", 2), 0.5))
    return ir.Unit(
        SimpleNamespace(name="sm_90"),
        {"main.f": main, "PAIR.del": delete},
        {
            "text": ir.Global("text", ArrayType(I8, 4), b'a"\n\0', True),
            "table": ir.Global("table", table.type, table, False, 0, 16),
            "tile": ir.Global("tile", ArrayType(F32, 64), None, False, 3),
        },
        (ir.Kernel("main.f", "f"),),
    )


GOLDEN = """\
unit sm_90

kernel @main.f "f"

global @table: {ptr, f32} = {&text+2, 0.5} align 16
constant @text: [4 x i8] = "a\\22\\0a\\00"
global @tile: [64 x f32] = zero space 3

func @PAIR.del(%0 p: ptr) -> void export "del" {
    return
}

func @main.f(%0 n: i64, %1 v: <4 x i32>) -> i64 internal inline_never "f[4]" {
    declare %x.1: {i8, i64} drop @PAIR.del
    declare %.2: i1
    store field[{i8, i64}, 1](%x.1), %0
    mark init %x.1.1
    loop 0 {
        %t1 = load i64 field[{i8, i64}, 1](%x.1)
        if slt(%t1, i64 3) {
            break 0
        } else {
            continue 0
        }
    }
    external @printf(@text, %0): i32 variadic 1
    atomic add relaxed scope gpu (field[{i8, i64}, 1](%x.1), %0): i64
    block 1 {
        memmove field[{i8, i64}, 1](%x.1), field[{i8, i64}, 1](%x.1), %0 align 1
        break 1
    }
    return zext(extract(%1, %0): i64)
}
"""


def test_golden():
    assert print_unit(sample()) == GOLDEN


def test_spans_and_order_do_not_matter():
    span = Span(Source("/some/where/a.kpy", "text"), 1, 2)
    unit = sample(span)
    unit.functions = dict(reversed(unit.functions.items()))
    unit.globals = dict(reversed(unit.globals.items()))
    assert print_unit(unit) == GOLDEN
    assert "a.kpy:1:2" in print_unit(unit, with_spans=True)


def test_values():
    assert print_value(ir.Const(F64, -0.0)) == "f64 -0.0"
    assert print_value(ir.Const(F32, float("nan"))) == "f32 0x7fc00000"
    assert print_value(ir.Const(BOOL, 1)) == "i1 true"
    assert print_value(ir.Const(PointerType(3), 0)) == "ptr(3) null"
    assert print_value(ir.Const(VectorType(I32, 2), (1, 2))) == "<2 x i32> <1, 2>"
    assert print_value(ir.Const(I64, ir.ImageSize("image"))) == "i64 sizeof(image)"


def test_shared_operations_are_written_once():
    value: ir.Value = ir.Argument(0, I64)
    for _ in range(64):
        value = ir.Op("add", (value, value), I64)
    function = ir.Function("f", "f", (("n", I64),), I64, (ir.Return(value),))
    text = print_function(function)
    assert text.count("add(") == 64
    assert "where #0 = add(%0, %0)" in text
