"""Host functions, run through LLVM's JIT and compared with what they must give."""

import ctypes
import re
from ctypes import CFUNCTYPE, c_bool, c_float, c_int32, c_int64, c_void_p

import pytest
from codegen_kit import HOST, arg, function, i32, i64, in_order, op, optimised, parsed, running, unit
from ktc.codegen.module import lower_host
from ktc.diag.diagnostic import Bug
from ktc.ir.nodes import (
    Address,
    AtomicRmw,
    Block,
    Break,
    Call,
    CallExternal,
    CallIndirect,
    CallIntrinsic,
    CompareExchange,
    Const,
    Continue,
    Declare,
    Fence,
    Global,
    GlobalAddress,
    If,
    ImageRef,
    ImageSize,
    InlineAsm,
    Let,
    Load,
    Local,
    LocalAddress,
    Loop,
    MemCopy,
    MemSet,
    Return,
    Store,
    Temp,
    Unreachable,
)
from ktc.ir.types import (
    BOOL,
    F32,
    F64,
    I8,
    I32,
    I64,
    PTR,
    UNIT,
    VOID,
    ArrayType,
    StructType,
    VectorType,
    size_of,
)


def call(module, name, kinds, *args, level=2):
    with running(module, level) as address:
        return CFUNCTYPE(*kinds)(address(name))(*args)


def count_odd_below(limit):
    """Sum of the odd numbers below the argument that are not 7, stopping at `limit`."""
    number, total = Local(1, I64, "number"), Local(2, I64, "total")
    now, sum_now = Temp(1, I64), Temp(2, I64)
    return function(
        "f",
        (I64,),
        I64,
        Declare(number),
        Declare(total),
        Store(LocalAddress(number), i64(0)),
        Store(LocalAddress(total), i64(0)),
        Loop(
            1,
            (
                Let(Temp(3, I64), Load(LocalAddress(number), I64)),
                Store(LocalAddress(number), op("add", Temp(3, I64), i64(1))),
                Let(now, Load(LocalAddress(number), I64)),
                If(op("sge", now, arg(0, I64)), (Break(1),)),
                If(op("eq", now, i64(limit)), (Break(1),)),
                Block(
                    2,
                    (
                        If(op("eq", now, i64(7)), (Break(2),)),
                        If(op("eq", op("and", now, i64(1)), i64(0)), (Continue(1),), (Block(9, ()),)),
                        Let(sum_now, Load(LocalAddress(total), I64)),
                        Store(LocalAddress(total), op("add", sum_now, now)),
                    ),
                ),
            ),
        ),
        Let(Temp(5, I64), Load(LocalAddress(total), I64)),
        Return(Temp(5, I64)),
    )


@pytest.mark.parametrize("level", [0, 2])
def test_loops_breaks_and_locals(level):
    module = lower_host(unit(HOST, count_odd_below(15)), {})
    kinds = (c_int64, c_int64)
    assert call(module, "f", kinds, 10, level=level) == 1 + 3 + 5 + 9
    assert call(module, "f", kinds, 100, level=level) == 1 + 3 + 5 + 9 + 11 + 13


def test_an_endless_loop_has_no_code_after_it():
    body = function("f", (I64,), I64, Loop(1, (If(op("eq", arg(0, I64), i64(0)), (Return(i64(1)),)), Return(i64(2)))))
    module = lower_host(unit(HOST, body), {})
    assert call(module, "f", (c_int64, c_int64), 0) == 1
    assert call(module, "f", (c_int64, c_int64), 5) == 2


def test_bools_are_bytes_in_memory():
    pair = StructType((BOOL, I32, BOOL))
    made = op("make", op("slt", arg(1, I32), i32(0)), arg(1, I32), Const(BOOL, 1))
    store = Store(arg(0, PTR), made)
    loaded = Temp(1, pair)
    flipped = op("set", loaded, op("xor", op("get", loaded, attr=0), op("get", loaded, attr=2)), attr=0)
    module = lower_host(
        unit(
            HOST,
            function("f", (PTR, I32), VOID, store, Return()),
            function(
                "g", (PTR,), BOOL, Let(loaded, Load(arg(0, PTR), pair)), Store(arg(0, PTR), flipped),
                Return(op("get", flipped, attr=0)),
            ),
        ),
        {},
    )  # fmt: skip
    memory = ctypes.create_string_buffer(b"\xff" * 12, 12)
    with running(module) as address:
        CFUNCTYPE(None, c_void_p, c_int32)(address("f"))(memory, -5)
        assert (memory.raw[0], memory.raw[4:8], memory.raw[8]) == (1, b"\xfb\xff\xff\xff", 1)
        assert CFUNCTYPE(c_bool, c_void_p)(address("g"))(memory) is False
        assert memory.raw[0] == 0


def test_a_vector_of_bools_is_as_many_bytes():
    mask = VectorType(BOOL, 4)
    floats = VectorType(F32, 4)
    loaded, bools = Temp(1, floats), Temp(2, mask)
    module = lower_host(
        unit(
            HOST,
            function(
                "f", (PTR, PTR), VOID,
                Let(loaded, Load(arg(0, PTR), floats, 4)),
                Store(arg(1, PTR), op("folt", loaded, Const(floats, (0.5,) * 4))),
                Let(bools, Load(arg(1, PTR), mask)),
                Store(arg(0, PTR), op("select", bools, Const(floats, (1.0,) * 4), loaded), 4),
                Return(),
            ),
        ),
        {},
    )  # fmt: skip
    values, out = (c_float * 4)(0.25, 2, -1, 0.5), ctypes.create_string_buffer(4)
    call(module, "f", (None, c_void_p, c_void_p), values, out)
    assert out.raw == b"\1\0\1\0"
    assert list(values) == [1, 2, 1, 0.5]


def test_float_reductions_are_in_halves():
    floats = VectorType(F32, 8)
    loaded = Temp(1, floats)
    module = lower_host(
        unit(HOST, function("f", (PTR,), F32, Let(loaded, Load(arg(0, PTR), floats, 4)),
                            Return(op("reduce_fadd", loaded)))),
        {},
    )  # fmt: skip
    values = (c_float * 8)(1e8, 1, -1e8, 1, 3, 5, 1e8, 7)
    half = [c_float(a + b).value for a, b in zip(values[:4], values[4:], strict=True)]
    quarter = [c_float(a + b).value for a, b in zip(half[:2], half[2:], strict=True)]
    assert call(module, "f", (c_float, c_void_p), values) == c_float(quarter[0] + quarter[1]).value


def test_empty_types_have_no_size():
    nothing = Local(1, UNIT)
    inner = function("g", (UNIT, I64, UNIT), UNIT, Return(Const(UNIT, ())), linkage="internal")
    module = lower_host(
        unit(
            HOST,
            inner,
            function(
                "f", (I64, UNIT), I64,
                Declare(nothing),
                Let(Temp(1, UNIT), Load(LocalAddress(nothing), UNIT)),
                Store(LocalAddress(nothing), Temp(1, UNIT)),
                Let(Temp(2, UNIT), Call("g", (Temp(1, UNIT), arg(0, I64), arg(1, UNIT)), UNIT)),
                Let(Temp(3, StructType((UNIT, I64))), Load(LocalAddress(Local(2, StructType((UNIT, I64)))),
                                                           StructType((UNIT, I64)))),
                Return(op("get", op("set", Temp(3, StructType((UNIT, I64))), arg(0, I64), attr=1), attr=1)),
            ),
        ),
        {},
    )  # fmt: skip
    in_order(module.text, "define i64 @f(i64 %a0)", "call void @g(i64 %a0)", "define internal void @g(i64 %a1)")
    assert call(module, "f", (c_int64, c_int64), 42) == 42


def test_globals_addresses_and_constants():
    table = ArrayType(StructType((I8, F64, PTR)), 2)
    held = (
        Global("words", ArrayType(I8, 6), b'a"\\\n\0z', True),
        Global("table", table, Const(table, ((1, 0.1, Address("words", 2)), (255, -0.0, 0))), True),
        Global("count", I64, None, False),
        Global("pair", StructType((BOOL, I64)), Const(StructType((BOOL, I64)), (1, 2**64 - 1)), False),
    )
    module = lower_host(
        unit(
            HOST,
            function("f", (I64,), PTR, Return(op("offset", GlobalAddress("table"), arg(0, I64), attr=table.element))),
            function("g", (), PTR, Return(Const(PTR, Address("pair", 8)))),
            function("h", (), PTR, Return(GlobalAddress("count"))),
            globals=held,
        ),
        {},
    )
    with running(module) as address:
        row = ctypes.string_at(CFUNCTYPE(c_void_p, c_int64)(address("f"))(0), 24)
        assert row[0] == 1 and row[8:16] == bytes(c_float.__class__ and ctypes.c_double(0.1))
        assert ctypes.string_at(int.from_bytes(row[16:24], "little"), 4) == b"\\\n\0z"
        second = ctypes.string_at(CFUNCTYPE(c_void_p, c_int64)(address("f"))(1), 24)
        assert second[0] == 255 and second[8:] == b"\0" * 7 + b"\x80" + bytes(8)
        assert ctypes.string_at(CFUNCTYPE(c_void_p)(address("g"))(), 8) == b"\xff" * 8
        assert ctypes.string_at(CFUNCTYPE(c_void_p)(address("h"))(), 8) == bytes(8)


def test_calls_of_c_and_through_pointers():
    module = lower_host(
        unit(
            HOST,
            function("twice", (I64,), I64, Return(op("add", arg(0, I64), arg(0, I64))), linkage="internal"),
            function(
                "f", (PTR, I64), I64,
                Let(Temp(1, I64), CallExternal("strlen", (arg(0, PTR),), I64)),
                Let(Temp(2, I32), CallExternal("snprintf", (arg(0, PTR), i64(16), GlobalAddress("form"), arg(1, I64)),
                                               I32, 3)),
                Let(Temp(3, I64), CallIndirect(GlobalAddress("twice"), (Temp(1, I64),), I64)),
                Return(op("add", op("sext", Temp(2, I32), to=I64), Temp(3, I64))),
            ),
            globals=(Global("form", ArrayType(I8, 5), b"<%ld>\0", True),),
        ),
        {},
    )  # fmt: skip
    assert module.undefined == ("strlen", "snprintf")
    assert "call i32 (ptr, i64, ptr, ...) @snprintf" in module.text
    memory = ctypes.create_string_buffer(b"abcdefg", 16)
    assert call(module, "f", (c_int64, c_void_p, c_int64), memory, -12) == 5 + 14
    assert memory.value == b"<-12>"


def test_images_become_constants():
    kinds = (("asm", b'.version 8.0\n\t"x"\n'), ("image", bytes(range(256))))
    held = [Global(f"k.{kind}", ArrayType(I8, 0), ImageRef(0, "k", kind), True) for kind, _ in kinds]
    source = unit(
        HOST,
        function("f", (), PTR, Return(GlobalAddress("k.asm"))),
        function("g", (), PTR, Return(GlobalAddress("k.image"))),
        function("size", (), I64, Return(Const(I64, ImageSize("k.image")))),
        globals=held,
    )
    module = lower_host(source, {(0, "k", kind): data for kind, data in kinds})
    assert r'c".version 8.0\0A\09\22x\22\0A\00"' in module.text
    with running(module) as address:
        assert ctypes.string_at(CFUNCTYPE(c_void_p)(address("f"))()) == kinds[0][1]
        size = CFUNCTYPE(c_int64)(address("size"))()
        assert ctypes.string_at(CFUNCTYPE(c_void_p)(address("g"))(), size + 1) == kinds[1][1] + b"\0"
    with pytest.raises(Bug, match="no image 'image' of kernel 'k'"):
        lower_host(source, {(0, "k", "asm"): b""})


def test_main_and_what_it_does_not_reach():
    source = unit(
        HOST,
        function("start", (I32, PTR), I32, Return(op("add", arg(0, I32), i32(40))), linkage="internal"),
        function("unused", (), VOID, Let(None, CallExternal("nowhere", (), VOID)), Return(), linkage="internal"),
    )
    module = lower_host(source, {}, "start")
    assert "nowhere" not in module.text and module.undefined == ()
    assert call(module, "main", (c_int32, c_int32, c_void_p), 2, None) == 42
    assert "@main" not in lower_host(source, {}).text


def test_atomics():
    pair = StructType((F32, BOOL))
    got = Temp(2, pair)
    module = lower_host(
        unit(
            HOST,
            function(
                "f", (PTR, I64), I64,
                Let(Temp(1, I64), AtomicRmw("add", arg(0, PTR), arg(1, I64), I64, "relaxed", "gpu")),
                Let(None, Fence(VOID)),
                Let(Temp(2, I64), AtomicRmw("smax", arg(0, PTR), i64(100), I64)),
                Return(Temp(1, I64)),
            ),
            function(
                "g", (PTR, F32, F32), BOOL,
                Let(got, CompareExchange(arg(0, PTR), arg(1, F32), arg(2, F32), pair, "acq_rel")),
                Return(op("get", got, attr=1)),
            ),
        ),
        {},
    )  # fmt: skip
    place, number = c_int64(5), c_float(1.5)
    with running(module) as address:
        assert CFUNCTYPE(c_int64, c_void_p, c_int64)(address("f"))(ctypes.byref(place), 3) == 5
        assert place.value == 100
        exchange = CFUNCTYPE(c_bool, c_void_p, c_float, c_float)(address("g"))
        assert exchange(ctypes.byref(number), 1.5, 2.5) is True
        assert exchange(ctypes.byref(number), 1.5, 9.0) is False
        assert number.value == 2.5


def test_intrinsics_return_bools_as_bytes():
    pair = StructType((I32, BOOL))
    got = Temp(1, pair)
    add = CallIntrinsic("llvm.sadd.with.overflow.i32", (arg(0, I32), arg(1, I32)), pair, True)
    module = lower_host(unit(HOST, function("f", (I32, I32), BOOL, Let(got, add), Return(op("get", got, attr=1)))), {})
    kinds = (c_bool, c_int32, c_int32)
    assert call(module, "f", kinds, 2**31 - 1, 1) is True
    assert call(module, "f", kinds, 5, 1) is False


def test_memory_in_bulk():
    module = lower_host(
        unit(
            HOST,
            function(
                "f", (PTR, PTR, I64), VOID,
                MemCopy(arg(0, PTR), arg(1, PTR), arg(2, I64)),
                MemSet(arg(1, PTR), Const(I8, 0xAA), arg(2, I64)),
                MemCopy(op("offset", arg(0, PTR), i64(1), attr=I8), arg(0, PTR), i64(2), 1, True),
                Return(),
            ),
        ),
        {},
    )  # fmt: skip
    to, origin = ctypes.create_string_buffer(b"-----", 5), ctypes.create_string_buffer(b"abcde", 5)
    call(module, "f", (None, c_void_p, c_void_p, c_int64), to, origin, 4)
    assert (to.raw, origin.raw) == (b"aabd-", b"\xaa" * 4 + b"e")


def test_an_operation_is_written_once_where_it_reaches():
    shared = op("mul", arg(0, I64), arg(0, I64))
    use = op("add", shared, shared)
    body = (
        If(op("eq", arg(0, I64), i64(3)), (Return(shared),), (If(op("eq", arg(0, I64), i64(4)), (Return(use),)),)),
        Return(op("xor", use, shared)),
    )
    module = lower_host(unit(HOST, function("f", (I64,), I64, *body)), {})
    assert module.text.count(" mul ") == 3
    assert [call(module, "f", (c_int64, c_int64), value) for value in (3, 4, 5)] == [9, 32, 50 ^ 25]


def test_a_struct_wider_aligned_in_llvm_is_padded():
    wide = VectorType(F32, 32)
    kind = StructType((I8, wide, I8))
    assert kind.offsets == (0, 64, 192) and size_of(kind) == 256
    loaded = Temp(1, kind)
    module = lower_host(
        unit(
            HOST,
            function(
                "f", (PTR, PTR), I8,
                Let(loaded, Load(arg(0, PTR), kind)),
                Store(arg(1, PTR), op("make", Const(I8, 1), op("get", loaded, attr=1), Const(I8, 2))),
                Let(Temp(2, I8), Load(op("field", arg(1, PTR), attr=(kind, 2)), I8)),
                Return(op("add", Temp(2, I8), op("get", loaded, attr=2))),
            ),
            function("g", (), PTR, Return(GlobalAddress("held"))),
            globals=(Global("held", kind, Const(kind, (7, (1.0,) * 32, 9)), True),),
        ),
        {},
    )  # fmt: skip
    memory = ctypes.create_string_buffer(256 * 3)
    start = ctypes.addressof(memory) + -ctypes.addressof(memory) % 64
    with running(module) as address:
        held = CFUNCTYPE(c_void_p)(address("g"))()
        assert CFUNCTYPE(c_int32, c_void_p, c_void_p)(address("f"))(held, start) & 255 == 11
        assert (c_float * 32).from_address(start + 64)[:] == [1.0] * 32


def test_assembly_and_noreturn():
    module = lower_host(
        unit(
            HOST,
            function("f", (I64,), I64, Let(Temp(1, I64), InlineAsm("", "=r,0", (arg(0, I64),), I64)),
                     Return(Temp(1, I64))),
            function("dead", (), VOID, Let(None, CallExternal("abort", (), VOID)), Unreachable(), noreturn=True,
                     inline="never"),
        ),
        {},
    )  # fmt: skip
    assert call(module, "f", (c_int64, c_int64), 77) == 77
    assert "noinline" in str(parsed(module).get_function("dead")) or "#5" in module.text


def test_short_circuit_constants_leave_one_way():
    body = (If(Const(BOOL, 0), (Let(None, CallExternal("nowhere", (), VOID)),)), Return(i64(1)))
    module = lower_host(unit(HOST, function("f", (), I64, *body)), {})
    assert module.undefined == () and "br " not in module.text
    assert optimised(module).get_function("f") is not None


def test_what_one_place_calls_is_inlined_first():
    def calls(*names):
        return [Let(None, Call(name, (), VOID)) for name in names]

    def group(text, name):
        return re.search(rf"define internal void @{name}\(\) #(\d)", text)[1]

    ending = If(arg(0, BOOL), (*calls("last"), Unreachable()), ())
    source = unit(
        HOST,
        function("f", (BOOL,), VOID, *calls("once", "twice", "twice", "never"), ending, Return()),
        *[function(name, (), VOID, Return(), linkage="internal") for name in ("once", "twice", "last")],
        function("never", (), VOID, Return(), linkage="internal", inline="never"),
    )
    names = ("once", "twice", "last", "never")
    assert [group(lower_host(source, {}, level=3).text, name) for name in names] == ["1", "0", "0", "2"]
    assert [group(lower_host(source, {}).text, name) for name in names] == ["0", "0", "0", "2"]
