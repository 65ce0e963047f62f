"""The interpreter: it agrees with the operation table, runs whole programs, fails clearly, and freezes its values."""

import itertools
import math
import random

import pytest
from ktc.diag.source import Source, Span
from ktc.ir.arithmetic import round_to
from ktc.ir.interpreter.interpret import EvaluationError, Interpreter
from ktc.ir.nodes import (
    Address,
    Argument,
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
    Function,
    Global,
    GlobalAddress,
    If,
    ImageRef,
    Let,
    Load,
    Local,
    LocalAddress,
    Loop,
    MemCopy,
    MemSet,
    Op,
    Return,
    Store,
    Temp,
    Unit,
    Unreachable,
)
from ktc.ir.ops import ROWS, build, evaluate
from ktc.ir.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I32,
    I64,
    I128,
    PTR,
    VOID,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    VectorType,
    size_of,
)
from ktc.ir.verify import verify_function


def const(value, kind=I64):
    return Const(kind, value)


def function(symbol, params, result, *body, span=None):
    kinds = tuple((f"p{at}", kind) for at, kind in enumerate(params))
    return Function(symbol, symbol, kinds, result, tuple(body), span=span)


def interpreter(*functions, globals=(), **limits):
    """Return an interpreter of verified functions."""
    unit = Unit(None, {f.symbol: f for f in functions}, {g.name: g for g in globals})
    for f in functions:
        verify_function(f, unit)
    return Interpreter(unit.functions.__getitem__, unit.globals.get, **limits)


def run(*functions, args=(), globals=()):
    return interpreter(*functions, globals=globals).call(functions[0].symbol, args)


# ---- operations ----------------------------------------------------------------------------------------


def scalars_for(rule_name):
    if rule_name == "ints":
        return [IntType(bits) for bits in (8, 16, 32, 64, 128)]
    if rule_name == "compare":
        return [BOOL, I8, I64, PTR]
    if rule_name == "compare_signed":
        return [BOOL, I8, I64]
    return [F16, BF16, F32, F64]


def values_of(kind, rng):
    if isinstance(kind, FloatType):
        plain = [0.0, -0.0, 1.0, -2.5, 1e30, math.inf, math.nan, rng.uniform(-100, 100), rng.uniform(-1, 1)]
        return [round_to(kind, value) for value in plain]
    bits = kind.bits if isinstance(kind, IntType) else 64
    top = (1 << bits) - 1
    return [0, 1 & top, top, top >> 1, (top >> 1) + 1 & top, rng.randint(0, top)]


def text(value):
    return repr(value)


SCALAR_ROWS = [row for row in ROWS.values() if row.scalar is not None and row.rule.__name__ != "cast"]


@pytest.mark.parametrize("row", SCALAR_ROWS, ids=lambda row: row.name)
def test_scalar_operations_equal_the_table(row):
    rng = random.Random(row.name)
    for kind in scalars_for(row.rule.__name__):
        result = BOOL if row.kind in ("icmp", "fcmp") else kind
        op = Op(row.name, tuple(Argument(at, kind) for at in range(row.arity)), result)
        machine = interpreter(function("f", (kind,) * row.arity, result, Return(op)))
        values = values_of(kind, rng)
        for args in itertools.islice(itertools.product(values, repeat=row.arity), 40):
            assert text(machine.call("f", args)) == text(evaluate(row.name, (kind,) * row.arity, args, result)), args


CASTS = [
    *(("trunc", a, b) for a, b in [(I64, I8), (I32, BOOL), (I128, I64)]),
    *((name, a, b) for name in ("zext", "sext") for a, b in [(BOOL, I32), (I8, I64), (I32, I128)]),
    *((name, a, b) for name in ("sitofp", "uitofp") for a in (I8, I64) for b in (F16, BF16, F32, F64)),
    *((name, a, b) for name in ("fptosi", "fptoui") for a in (F32, F64) for b in (I8, I64)),
    *(("fptrunc", F64, b) for b in (F16, BF16, F32)),
    *(("fpext", a, F64) for a in (F16, F32)),
    ("bitcast", F32, I32),
    ("bitcast", I64, F64),
    ("ptrtoint", PTR, I64),
    ("inttoptr", I64, PTR),
]


@pytest.mark.parametrize(("name", "origin", "kind"), CASTS, ids=str)
def test_casts_equal_the_table(name, origin, kind):
    machine = interpreter(function("f", (origin,), kind, Return(Op(name, (Argument(0, origin),), kind))))
    for value in values_of(origin, random.Random(1)):
        assert text(machine.call("f", (value,))) == text(evaluate(name, (origin,), (value,), kind)), value


def test_vector_operations():
    v4 = VectorType(F32, 4)
    a, b = Argument(0, v4), Argument(1, v4)
    best = build("reduce_fmax", (build("fmul", (a, b)),))
    picked = build("select", (build("folt", (a, b)), a, b))
    made = build("make", (best, picked))
    result = run(function("f", (v4, v4), made.type, Return(made)), args=((1.0, 2.0, 3.0, 4.0), (4.0, 3.0, 2.0, 1.0)))
    assert result == (6.0, (1.0, 2.0, 2.0, 1.0))


def test_shared_and_deep_values_stay_small():
    value = Argument(0, I64)
    for _ in range(300):
        value = Op("add", (value, value), I64)
    assert run(function("f", (I64,), I64, Return(value)), args=(1,)) == 0
    value = Argument(0, I64)
    for _ in range(400):
        value = Op("add", (Op("xor", (value, const(1)), I64), const(1)), I64)
    assert run(function("f", (I64,), I64, Return(value)), args=(7,)) >= 0


# ---- programs ----------------------------------------------------------------------------------------


def factorial():
    n, rest = Argument(0, I64), Temp(1, I64)
    return function(
        "factorial",
        (I64,),
        I64,
        If(build("sle", (n, const(1))), (Return(const(1)),)),
        Let(rest, Call("factorial", (build("sub", (n, const(1))),), I64)),
        Return(build("mul", (n, rest))),
    )


def counting(symbol="count"):
    """sum of i * i for i < n, with the loop's locals as plain variables."""
    i, total = Local(1, I64, "i"), Local(2, I64, "total")
    ti, tt, result = Temp(1, I64), Temp(2, I64), Temp(3, I64)
    return function(
        symbol,
        (I64,),
        I64,
        Declare(i),
        Declare(total),
        Store(LocalAddress(i), const(0)),
        Store(LocalAddress(total), const(0)),
        Loop(
            0,
            (
                Let(ti, Load(LocalAddress(i), I64)),
                If(build("sge", (ti, Argument(0, I64))), (Break(0),)),
                Let(tt, Load(LocalAddress(total), I64)),
                Store(LocalAddress(total), build("add", (tt, build("mul", (ti, ti))))),
                Store(LocalAddress(i), build("add", (ti, const(1)))),
            ),
        ),
        Let(result, Load(LocalAddress(total), I64)),
        Return(result),
    )


def test_factorial():
    assert run(factorial(), args=(20,)) == math.factorial(20)
    assert run(factorial(), args=(1500,)) == math.factorial(1500) % 2**64


def test_loop():
    assert run(counting(), args=(1000,)) == sum(i * i for i in range(1000))


def test_jumps_to_outer_loops():
    """For i in 0..9, for j in 0..9: skip odd i; stop all at i == 6; count pairs with j < i."""
    i, j, n = Local(1, I64, "i"), Local(2, I64, "j"), Local(3, I64, "n")
    at = itertools.count(1)

    def load(local):
        temp = Temp(next(at), I64)
        return temp, Let(temp, Load(LocalAddress(local), I64))

    def add_one(local):
        temp, let = load(local)
        return let, Store(LocalAddress(local), build("add", (temp, const(1))))

    ti, let_i = load(i)
    ti2, let_i2 = load(i)
    tj, let_j = load(j)
    tn, let_n = load(n)
    odd = build("ne", (build("and", (ti, const(1))), const(0)))
    inner = Loop(
        3,
        (
            let_j,
            let_i2,
            If(build("eq", (ti2, const(6))), (Break(0),)),
            If(build("sge", (tj, ti2)), (Break(2),)),
            *add_one(n),
            *add_one(j),
            If(build("sgt", (tj, const(100))), (Continue(0),)),
        ),
    )
    body = function(
        "f",
        (),
        I64,
        *(Declare(local) for local in (i, j, n)),
        *(Store(LocalAddress(local), const(0)) for local in (i, j, n)),
        Loop(
            0,
            (
                let_i,
                If(build("sge", (ti, const(10))), (Break(0),)),
                Block(
                    1,
                    (
                        If(odd, (Break(1),)),
                        Store(LocalAddress(j), const(0)),
                        Block(2, (inner,)),
                    ),
                ),
                *add_one(i),
            ),
        ),
        let_n,
        Return(tn),
    )
    assert run(body) == 0 + 2 + 4


def test_continue_leaves_nested_blocks():
    i, n = Local(1, I64, "i"), Local(2, I64, "n")
    t1, t2, t4 = (Temp(at, I64) for at in range(3))
    body = function(
        "f",
        (),
        I64,
        Declare(i),
        Declare(n),
        Store(LocalAddress(i), const(0)),
        Store(LocalAddress(n), const(0)),
        Loop(
            5,
            (
                Let(t1, Load(LocalAddress(i), I64)),
                If(build("sge", (t1, const(10))), (Break(5),)),
                Store(LocalAddress(i), build("add", (t1, const(1)))),
                Block(6, (If(build("ult", (t1, const(7))), (Continue(5),), (Break(6),)),)),
                Let(t2, Load(LocalAddress(n), I64)),
                Store(LocalAddress(n), build("add", (t2, const(1)))),
            ),
        ),
        Let(t4, Load(LocalAddress(n), I64)),
        Return(t4),
    )
    assert run(body) == 3


PAIR = StructType((BOOL, StructType((I32, F64)), PTR, ArrayType(BF16, 3), VectorType(I128, 2)))


def test_every_type_survives_memory():
    """Store a value of every kind in a local in memory, copy the bytes, load it again."""
    value = (1, (7, -0.5), 0, (1.5, -2.0, 0.0), (5, (1 << 128) - 1))
    a, b, t = Local(1, PAIR, "a"), Local(2, PAIR, "b"), Temp(1, PAIR)
    body = function(
        "f",
        (PAIR,),
        PAIR,
        Declare(a),
        Declare(b),
        Store(LocalAddress(a), Argument(0, PAIR)),
        MemCopy(LocalAddress(b), LocalAddress(a), const(size_of(PAIR))),
        MemSet(LocalAddress(a), const(0, I8), const(size_of(PAIR))),
        Let(t, Load(LocalAddress(b), PAIR)),
        Return(t),
    )
    machine = interpreter(body)
    assert machine.call("f", (value,)) == value
    assert machine.memory.live_bytes == 0


def test_fields_and_elements():
    kind = StructType((I8, ArrayType(I32, 4)))
    a, t = Local(1, kind, "a"), Temp(1, I32)
    array = build("field", (LocalAddress(a),), None, (kind, 1))
    place = build("offset", (array, Argument(0, I8)), None, I32)
    body = function(
        "f",
        (I8,),
        I32,
        Declare(a),
        Store(build("offset", (array, const(3)), None, I32), const(30, I32)),
        Let(t, Load(place, I32)),
        Return(t),
    )
    assert run(body, args=(3,)) == 30
    assert run(body, args=(2,)) == 0
    with pytest.raises(EvaluationError) as caught:
        run(body, args=(4,))
    assert caught.value.kind == "fault"
    with pytest.raises(EvaluationError):
        run(body, args=(0xF0,))


NODE = StructType((I64, PTR))


def linked_list(*ends):
    """Build a list of n malloc'd nodes, n - 1 down to 0, and go on with `ends(head)`."""
    head, i = Local(1, PTR, "head"), Local(2, I64, "i")
    node, old, ti, first = Temp(1, PTR), Temp(2, PTR), Temp(3, I64), Temp(4, PTR)
    return (
        Declare(head),
        Declare(i),
        Store(LocalAddress(head), Const(PTR, 0)),
        Store(LocalAddress(i), const(0)),
        Loop(
            0,
            (
                Let(ti, Load(LocalAddress(i), I64)),
                If(build("sge", (ti, Argument(0, I64))), (Break(0),)),
                Let(node, CallExternal("malloc", (const(16),), PTR)),
                Let(old, Load(LocalAddress(head), PTR)),
                Store(node, build("make", (ti, old), NODE)),
                Store(LocalAddress(head), node),
                Store(LocalAddress(i), build("add", (ti, const(1)))),
            ),
        ),
        Let(first, Load(LocalAddress(head), PTR)),
        *ends,
    )


def test_linked_memory():
    total, at = Local(3, I64, "total"), Local(4, PTR, "at")
    p, v, s, r = Temp(5, PTR), Temp(6, NODE), Temp(7, I64), Temp(8, I64)
    body = function(
        "f",
        (I64,),
        I64,
        *linked_list(
            Declare(total),
            Declare(at),
            Store(LocalAddress(total), const(0)),
            Store(LocalAddress(at), Temp(4, PTR)),
            Loop(
                1,
                (
                    Let(p, Load(LocalAddress(at), PTR)),
                    If(build("eq", (p, Const(PTR, 0))), (Break(1),)),
                    Let(v, Load(p, NODE)),
                    Let(s, Load(LocalAddress(total), I64)),
                    Store(LocalAddress(total), build("add", (s, build("get", (v,), None, 0)))),
                    Store(LocalAddress(at), build("get", (v,), None, 1)),
                    Let(None, CallExternal("free", (p,), VOID)),
                ),
            ),
            Let(r, Load(LocalAddress(total), I64)),
            Return(r),
        ),
    )
    machine = interpreter(body)
    assert machine.call("f", (50,)) == sum(range(50))
    assert machine.memory.live_bytes == 0


HELLO = Global("hello", ArrayType(I8, 6), b"hello\0", True)


def test_bytes_of_a_string():
    t = Temp(1, I64)
    body = function("f", (), I64, Let(t, CallExternal("strlen", (GlobalAddress("hello"),), I64)), Return(t))
    assert run(body, globals=(HELLO,)) == 5


def test_globals_with_addresses():
    """A table of (string, function); the function is called through its address."""
    kind = StructType((PTR, PTR))
    table = Global("table", kind, Const(kind, (Address("hello", 1), Address("double"))), True)
    double = function("double", (I64,), I64, Return(build("add", (Argument(0, I64), Argument(0, I64)))))
    row, letter, result = Temp(1, kind), Temp(2, I8), Temp(3, I64)
    body = function(
        "f",
        (),
        I64,
        Let(row, Load(GlobalAddress("table"), kind)),
        Let(letter, Load(build("get", (row,), None, 0), I8)),
        Let(result, CallIndirect(build("get", (row,), None, 1), (build("zext", (letter,), I64),), I64)),
        Return(result),
    )
    assert run(body, double, globals=(HELLO, table)) == 2 * ord("e")


def test_atomics_and_intrinsics():
    a, old, swap, root, pop = (
        Local(1, I64, "a"),
        Temp(1, I64),
        Temp(2, StructType((I64, BOOL))),
        Temp(3, F64),
        Temp(4, I64),
    )
    pair = build("make", (old, build("get", (swap,), None, 1), root, pop))
    body = function(
        "f",
        (),
        pair.type,
        Declare(a),
        Store(LocalAddress(a), const(40)),
        Let(old, AtomicRmw("add", LocalAddress(a), const(2), I64)),
        Let(swap, CompareExchange(LocalAddress(a), const(42), const(7), StructType((I64, BOOL)))),
        Let(root, CallIntrinsic("llvm.sqrt.f64", (Const(F64, 2.0),), F64)),
        Let(pop, CallIntrinsic("llvm.ctpop.i64", (const(7),), I64)),
        Return(pair),
    )
    assert run(body) == (40, 1, math.sqrt(2.0), 3)


def test_overflow_intrinsic():
    kind = StructType((I8, BOOL))
    t = Temp(1, kind)
    args = (Argument(0, I8), Argument(1, I8))
    body = function("f", (I8, I8), kind, Let(t, CallIntrinsic("llvm.sadd.with.overflow.i8", args, kind)), Return(t))
    assert run(body, args=(100, 27)) == (127, 0)
    assert run(body, args=(100, 28)) == (128, 1)


# ---- failures ----------------------------------------------------------------------------------------


def failure(*functions, args=(), globals=(), **limits):
    with pytest.raises(EvaluationError) as caught:
        interpreter(*functions, globals=globals, **limits).call(functions[0].symbol, args)
    return caught.value


def test_steps_are_limited():
    endless = function("f", (), VOID, Loop(0, ()), Return())
    assert failure(endless, max_steps=1000).kind == "limit"
    assert failure(counting(), args=(1000,), max_steps=1000).kind == "limit"
    machine = interpreter(counting(), max_steps=10_000)
    for _ in range(5):
        machine.call("count", (100,))


def test_depth_is_limited():
    error = failure(factorial(), args=(5000,))
    assert error.kind == "limit"
    assert "2000" in str(error)
    assert 0 < len(error.stack) <= 40


def test_memory_is_limited():
    t = Temp(1, PTR)
    grab = function("f", (), VOID, Loop(0, (Let(t, CallExternal("malloc", (const(1 << 20),), PTR)),)), Return())
    assert failure(grab, max_bytes=10 << 20).kind == "limit"


def load_at(pointer):
    t = Temp(99, I64)
    return (Let(t, Load(pointer, I64)), Return(t))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (load_at(Const(PTR, 0)), "null"),
        (load_at(Const(PTR, 12345678901234)), "points to nothing"),
        ((Let(None, CallExternal("free", (GlobalAddress("hello"),), VOID)), Return(const(0))), "malloc"),
        ((Store(GlobalAddress("hello"), const(1, I8)), Return(const(0))), "constant memory"),
        (load_at(GlobalAddress("hello")), "outside"),
        (
            (
                Let(Temp(1, PTR), CallExternal("malloc", (const(8),), PTR)),
                Let(None, CallExternal("free", (Temp(1, PTR),), VOID)),
                *load_at(Temp(1, PTR)),
            ),
            "freed",
        ),
        (load_at(build("offset", (GlobalAddress("hello"), const((1 << 64) - 1)), None, I8)), "outside"),
        ((Let(Temp(1, I64), CallIndirect(GlobalAddress("hello"), (), I64)), Return(const(0))), "not a function"),
    ],
)
def test_bad_memory_accesses_are_faults(body, message):
    error = failure(function("f", (), I64, *body), globals=(HELLO,))
    assert error.kind == "fault"
    assert message in error.message


def test_what_the_interpreter_cannot_run_is_reported():
    error = failure(function("f", (), VOID, Let(None, CallExternal("read", (), VOID)), Return()))
    assert (error.kind, error.message) == ("unsupported", "'read' cannot be called at compile time")
    error = failure(function("f", (), VOID, Let(None, CallIntrinsic("llvm.nvvm.barrier0", (), VOID)), Return()))
    assert error.kind == "unsupported"
    assert failure(function("f", (), VOID, Let(None, CallExternal("abort", (), VOID)), Unreachable())).kind == "trap"
    assert failure(function("f", (), VOID, Unreachable())).kind == "trap"


def test_what_is_not_reached_may_be_unsupported():
    body = (If(build("ne", (Argument(0, I64), const(0))), (Let(None, CallExternal("read", (), VOID)),)), Return())
    assert run(function("f", (I64,), VOID, *body), args=(0,)) is None


def test_errors_know_their_place():
    source = Source("a.kpy", "one\ntwo\nthree\n")
    line2, line3 = Span(source, 4, 7), Span(source, 8, 13)
    inner = function("inner", (), VOID, Store(Const(PTR, 0), const(1), span=line3), Return())
    outer = function("outer", (), VOID, Let(None, Call("inner", (), VOID), span=line2), Return())
    error = failure(outer, inner)
    assert error.span == line3
    assert error.stack == (("outer", line2), ("inner", line3))


def test_a_failure_frees_its_locals():
    a = Local(1, I64, "a")
    body = function("f", (), VOID, Declare(a), Let(None, CallExternal("g", (LocalAddress(a),), VOID)), Return())
    machine = interpreter(body)
    with pytest.raises(EvaluationError):
        machine.call("f", ())
    assert machine.memory.live_bytes == 0


# ---- freezing ----------------------------------------------------------------------------------------


def frozen_list(machine, count):
    return machine.freeze(PTR, machine.call("f", (count,)))


LIST = function("f", (I64,), PTR, *linked_list(Return(Temp(4, PTR))))


def test_freeze_of_linked_memory():
    value, made = frozen_list(interpreter(LIST), 3)
    assert isinstance(value.value, Address)
    assert len(made) == 3
    by_name = {g.name: g for g in made}
    seen, at = [], value.value
    while at != 0:
        content = by_name[at.name].content
        if isinstance(content, bytes):
            seen.append(int.from_bytes(content[:8], "little"))
            break
        head, at = content.value
        seen.append(int.from_bytes(bytes(head), "little"))
    assert seen == [2, 1, 0]


def test_freeze_is_deterministic_and_readable_again():
    first = interpreter(LIST)
    first.allocate(100)
    value, made = frozen_list(first, 4)
    assert (value, made) == frozen_list(interpreter(LIST), 4)
    again = interpreter(function("g", (), VOID, Return()), globals=made)
    address = again.address_of_global(value.value.name)
    assert again.read(NODE, address)[0] == 3
    assert again.read(NODE, again.read(NODE, address)[1])[0] == 2


def test_freezing_a_cycle_and_known_globals():
    machine = interpreter(function("g", (), VOID, Return()), globals=(HELLO,))
    a, b = machine.allocate(16), machine.allocate(16)
    machine.write(NODE, a, (1, b))
    machine.write(NODE, b, (2, a + 8))
    value, made = machine.freeze(StructType((PTR, PTR)), (a, machine.address_of_global("hello") + 2))
    assert len(made) == 2
    assert value.value[1] == Address("hello", 2)
    names = {g.name for g in made}
    assert value.value[0].name in names
    assert all(g.content.value[1].name in names for g in made)


def test_freeze_refuses_dangling_pointers():
    machine = interpreter(function("g", (), VOID, Return()))
    a = machine.allocate(16)
    machine.memory.free(a)
    with pytest.raises(EvaluationError) as caught:
        machine.freeze(PTR, a)
    assert caught.value.kind == "fault"


def test_pointers_keep_their_space():
    machine = interpreter(function("g", (), VOID, Return()), globals=(HELLO,))
    value, made = machine.freeze(PointerType(1), machine.address_of_global("hello"))
    assert value == Const(PointerType(1), Address("hello"))
    assert made == []


def test_memory_can_be_forgotten():
    machine = interpreter(LIST, globals=(HELLO,))
    machine.address_of_global("hello")
    machine.call("f", (10,))
    assert machine.memory.live_bytes == 166
    machine.forget()
    assert machine.memory.live_bytes == 6


def test_a_function_outside_the_unit_can_run():
    t = Temp(1, I64)
    body = function("", (), I64, Let(t, Call("factorial", (const(5),), I64)), Return(t))
    assert interpreter(factorial()).run(body) == 120


def test_unknown_functions_are_reported():
    t = Temp(1, I64)
    machine = interpreter(factorial())
    with pytest.raises(EvaluationError) as caught:
        machine.run(function("", (), I64, Let(t, Call("nobody", (), I64)), Return(t)))
    assert caught.value.kind == "unsupported"


def test_images_have_no_address_yet():
    image = Global("image", ArrayType(I8, 1), ImageRef(0, "k", "image"), True)
    error = failure(function("f", (), PTR, Return(GlobalAddress("image"))), globals=(image,))
    assert error.kind == "unsupported"
    machine = interpreter(factorial(), globals=(image,))
    with pytest.raises(EvaluationError):
        machine.address_of_global("image")
