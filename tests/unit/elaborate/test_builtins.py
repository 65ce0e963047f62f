"""The primitives, over a small elaborator that has only them."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from ktc import config
from ktc.base.cache import Cache
from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Span
from ktc.elaborate import program
from ktc.elaborate.builder import ir_values
from ktc.elaborate.model.declarations import StructInfo
from ktc.elaborate.model.elaboration import Body as RealBody
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.types import ConstValue, OriginValue, ParameterPack, PrimTy, StructTy
from ktc.elaborate.model.values import Place, RValue
from ktc.elaborate.primitives.table import OPERATIONS, operation
from ktc.elaborate.primitives.targets import simd_bits
from ktc.elaborate.types import primitive_types, struct_types
from ktc.ir import nodes, types
from ktc.ir.types import BOOL, I8, I16, I32, I64, PTR, UNIT, StructType, VectorType, size_of
from ktc.syntax import ast
from ktc.syntax.loader import Files, load

DTYPE = {
    "bool": 1, "i8": 2, "u8": 3, "i16": 4, "u16": 5, "i32": 6, "u32": 7, "i64": 8, "u64": 9,
    "f16": 16, "bf16": 17, "f32": 18, "f64": 19, "int": 24, "uint": 25,
}  # fmt: skip


class Failed(Exception):
    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code


class Elab:
    """An elaboration of a program that has nothing."""

    def __init__(self, folder: Path, cache_folder: Path) -> None:
        sink, cache, root = Sink(), Cache(cache_folder), folder / "program.kpy"
        root.write_text("fn main():\n    pass\n")
        options = config.Options(root, defines=("n=0x10", "s=text"), accelerators="sm_90")
        made = config.resolve(options, sink, cache)
        assert made is not None
        package = load(Files(made.root, made.search, made.stdlib), cache, sink)
        assert package is not None
        self.real = program.begin(package, made, sink)

    def prim(self, name: str, args: tuple = ()) -> PrimTy:
        return primitive_types.prim(self.real, name, args)


class Actions:
    """The statements of a body, and of a `Let` what it does."""

    def __init__(self, body: RealBody) -> None:
        self.body = body

    def all(self) -> list:
        return [one.value if isinstance(one, nodes.Let) else one for one in self.body.statements]

    def pop(self):
        last = self.all()[-1]
        self.body.statements.pop()
        return last

    def __getitem__(self, at: int):
        return self.all()[at]


class Body:
    def __init__(self, elab: Elab) -> None:
        self.elab = elab
        made = elab.real
        self.real = RealBody(made, made.modules.main, made.modules.main.scope, None)
        self.real.frame.comptime = False
        self.actions = Actions(self.real)


def wrapper(body: Body, name: str, of: PrimTy) -> StructTy:
    """Return a struct with one field."""
    main = body.elab.real.modules.main
    node = ast.StructDecl(0, 0, name, 0, (), (), (), (), (), "")
    ty = StructTy(StructInfo(name, node, main, 0, main.scope), ())
    ty.fields, ty.ir_type, ty.prim, ty.trivial, ty.origins = (("value", of),), of.ir, of, True, ()
    ty.field_slots = {"value": (0, -2)}
    return ty


@pytest.fixture(scope="module")
def elab(tmp_path_factory: pytest.TempPathFactory, cache_folder: Path) -> Elab:
    return Elab(tmp_path_factory.mktemp("primitives"), cache_folder)


@pytest.fixture
def body(elab: Elab) -> Body:
    return Body(elab)


def simd(body: Body, dtype: str, lanes: int = 1) -> PrimTy:
    return body.elab.prim("!pop.simd", (lanes, DTYPE[dtype]))


def const(ty: PrimTy, value) -> RValue:
    return RValue(ty, nodes.Const(ty.ir, value))


def unknown(ty: PrimTy, index: int = 0) -> RValue:
    return RValue(ty, nodes.Argument(index, ty.ir))


def run(body: Body, primitive: str, /, *args, **attrs):
    sink = body.elab.real.reporter.sink
    try:
        return operation(body.real, primitive, attrs, list(args))
    except ErrorReported:
        raise Failed(sink.diagnostics[-1].code, sink.diagnostics[-1].message) from None


def fold(body: Body, primitive: str, /, *args, **attrs):
    result = run(body, primitive, *args, **attrs)
    assert isinstance(result.ir, nodes.Const)
    return result.ir.value


# ---- types ------------------------------------------------------------------------------------------------


def test_types(body):
    elab = body.elab
    index = elab.prim("index")
    assert (index.kind, index.ir) == ("s", I64)
    assert (elab.prim("uindex").kind, elab.prim("i1").kind) == ("u", "b")
    assert elab.prim("!kgen.int_literal").ir is None
    assert simd(body, "f16", 4).ir == VectorType(types.F16, 4)
    assert simd(body, "bool").ir == BOOL
    assert (simd(body, "int").kind, simd(body, "uint").kind) == ("s", "u")
    assert elab.prim("!kgen.pointer", (3,)).ir == types.PointerType(3)
    assert elab.prim("!kgen.pointer", (0,)) is elab.prim("!kgen.pointer")
    assert elab.prim("!pop.array", (3, index)).ir == types.ArrayType(I64, 3)
    # a library value is as good as a number
    code = wrapper(body, "DType", simd(body, "u8"))
    assert elab.prim("!pop.simd", (ConstValue(wrapper(body, "Int", index), 2), ConstValue(code, 18))) is simd(
        body, "f32", 2
    )


@pytest.mark.parametrize(
    ("name", "args"),
    [("!pop.simd", (3, 18)), ("!pop.simd", (0, 18)), ("!pop.simd", (1, 0)), ("!pop.simd", (1, 99)), ("!pop.simd", (1,)),
     ("!kgen.pointer", (2,)), ("index", (1,)), ("!what", ()), ("!pop.array", (-1, None)), ("!kgen.pack", (3,))],
)  # fmt: skip
def test_bad_types(body, name, args):
    with pytest.raises(ValueError):
        primitive_types.make(body.elab.real, name, args)


def test_a_negative_number_of_lanes_is_seen(body):
    with pytest.raises(ValueError, match="-4"):
        body.elab.prim("!pop.simd", (ConstValue(body.elab.prim("index"), 2**64 - 4), 18))


def test_erase():
    assert struct_types.erase(()) == (UNIT, ())
    assert struct_types.erase((UNIT, UNIT)) == (UNIT, (-1, -1))
    assert struct_types.erase((UNIT, I8)) == (I8, (-1, -2))
    assert struct_types.erase((I8, UNIT, I64)) == (StructType((I8, I64)), (0, -1, 1))


def test_packs(body):
    index, none, i1 = (body.elab.prim(name) for name in ("index", "!kgen.none", "i1"))
    pack = body.elab.prim("!kgen.pack", (i1, none, index))
    assert pack.ir == StructType((BOOL, I64)) and pack.args == (ParameterPack((i1, none, index)),)
    assert body.elab.prim("!kgen.pack", (ParameterPack((i1, none, index)),)) is pack
    place = Place(pack, nodes.Argument(0, PTR), mutable=False)
    got = run(body, "kgen.pack.get", place, index=2)
    assert got.ty is index and not got.mutable
    assert got.pointer == nodes.Op("field", (place.pointer,), PTR, (pack.ir, 1))
    assert run(body, "kgen.pack.get", place, index=1).pointer == place.pointer
    refs = body.elab.prim("!kgen.refs", (i1, none))
    got = run(body, "kgen.pack.get", unknown(refs), index=1)
    assert got.ty is none and got.pointer == nodes.Op("get", (nodes.Argument(0, refs.ir),), PTR, 1)
    one = unknown(body.elab.prim("!kgen.refs", (i1,)))
    assert one.ir.type == PTR and run(body, "kgen.pack.get", one, index=0).pointer == one.ir
    assert fold(body, "kgen.pack.size", types=ParameterPack((i1, none))) == 2
    with pytest.raises(Failed) as failure:
        run(body, "kgen.pack.get", place, index=3)
    assert failure.value.code is Code.UNSATISFIED_CONSTRAINT


# ---- arithmetic -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dtype", "values", "wanted"),
    [
        ("add", "i8", (127, 1), 128), ("add", "f32", (1.5, 2.0), 3.5), ("sub", "u8", (0, 1), 255),
        ("div", "i8", (0xF9, 2), 0xFD), ("div", "u8", (0xF9, 2), 124), ("div", "f64", (1.0, 4.0), 0.25),
        ("rem", "i8", (0xF9, 2), 0xFF), ("rem", "u8", (0xF9, 2), 1), ("rem", "f64", (-7.0, 2.0), -1.0),
        ("shr", "i8", (0x80, 1), 0xC0), ("shr", "u8", (0x80, 1), 0x40), ("not", "bool", (1,), 0),
        ("not", "u8", (1,), 254),
        ("min", "i8", (0xFF, 1), 0xFF), ("min", "u8", (0xFF, 1), 1), ("min", "f32", (math.nan, 1.0), 1.0),
        ("max", "i8", (0xFF, 1), 1), ("max", "u8", (0xFF, 1), 0xFF), ("neg", "f32", (0.0,), -0.0),
        ("neg", "i8", (1,), 255),
        ("abs", "i8", (0xFF,), 1), ("abs", "u8", (0xFF,), 0xFF), ("abs", "f32", (-2.0,), 2.0), ("bswap", "u8", (3,), 3),
        ("bswap", "u16", (3,), 0x300), ("mulhi", "i8", (0xFF, 1), 0xFF), ("mulhi", "u8", (0xFF, 2), 1),
        ("add_sat", "i8", (127, 1), 127), ("add_sat", "u8", (255, 1), 255), ("sub_sat", "u8", (0, 1), 0),
        ("fma", "f64", (2.0, 3.0, 1.0), 7.0), ("round_even", "f32", (2.5,), 2.0), ("round_away", "f32", (2.5,), 3.0),
        ("ctpop", "i32", (7,), 3), ("and", "bool", (1, 0), 0), ("xor", "bool", (1, 0), 1),
    ],
)  # fmt: skip
def test_arithmetic(body, name, dtype, values, wanted):
    ty = simd(body, dtype)
    assert repr(fold(body, f"pop.{name}", *(const(ty, value) for value in values))) == repr(wanted)
    pair = simd(body, dtype, 2)
    result = run(body, f"pop.{name}", *(const(pair, (value, value)) for value in values))
    assert result.ty is pair and repr(result.ir.value) == repr((wanted, wanted))


@pytest.mark.parametrize(
    ("name", "dtype", "op"),
    [("div", "i32", "sdiv"), ("div", "u32", "udiv"), ("div", "f32", "fdiv"), ("shr", "int", "ashr"),
     ("shr", "uint", "lshr"),
     ("min", "i32", "smin"), ("max", "u32", "umax"), ("max", "bf16", "fmax"), ("trunc", "f16", "trunc_f"),
     ("max", "bool", "umax")],
)  # fmt: skip
def test_operation_by_kind(body, name, dtype, op):
    ty = simd(body, dtype)
    result = run(body, f"pop.{name}", *(unknown(ty, at) for at in range(OPERATIONS[f"pop.{name}"].arity)))
    assert result.ty is ty and result.ir.name == op


def test_a_struct_of_one_field_is_represented_by_it(body):
    index = body.elab.prim("index")
    result = run(body, "pop.add", RValue(wrapper(body, "Int", index), nodes.Const(I64, 2)), const(index, 3))
    assert result.ty is index and result.ir == nodes.Const(I64, 5)


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [("add", "i8", "u8"), ("add", "i8", "i16"), ("and", "f32", "f32"), ("floor", "i8", None)],
)
def test_operands_that_do_not_fit(body, name, first, second):
    args = [unknown(simd(body, dtype)) for dtype in (first, second) if dtype]
    with pytest.raises(Failed) as failure:
        run(body, f"pop.{name}", *args)
    assert failure.value.code is Code.TYPE_MISMATCH


@pytest.mark.parametrize(
    ("pred", "dtype", "a", "b", "wanted"),
    [("lt", "i8", 0xFF, 0, 1), ("lt", "u8", 0xFF, 0, 0), ("ge", "bool", 1, 0, 1), ("ne", "f32", math.nan, math.nan, 1),
     ("eq", "f32", math.nan, math.nan, 0), ("le", "f64", math.nan, 1.0, 0), ("gt", "f16", 2.0, 1.0, 1)],
)  # fmt: skip
def test_compare(body, pred, dtype, a, b, wanted):
    ty = simd(body, dtype)
    result = run(body, "pop.cmp", const(ty, a), const(ty, b), pred=pred)
    assert result.ty is body.elab.prim("i1") and result.ir.value == wanted
    pair = simd(body, dtype, 2)
    result = run(body, "pop.cmp", const(pair, (a, a)), const(pair, (b, b)), pred=pred)
    assert result.ty is simd(body, "bool", 2) and result.ir.value == (wanted, wanted)


def test_compare_pointers(body):
    pointer = body.elab.prim("!kgen.pointer")
    result = run(body, "pop.cmp", unknown(pointer), unknown(pointer, 1), pred="lt")
    assert result.ir.name == "ult" and result.ty.name == "i1"


@pytest.mark.parametrize(
    ("origin", "target", "value", "wanted"),
    [
        ("i8", "i32", 0xFF, 0xFFFFFFFF), ("u8", "i32", 0xFF, 0xFF), ("i32", "u8", 0x1FF, 0xFF), ("i32", "u32", 5, 5),
        ("f32", "i8", 1e9, 127), ("f32", "u8", -5.0, 0), ("f64", "i32", math.nan, 0), ("i8", "f32", 0xFF, -1.0),
        ("u8", "f32", 0xFF, 255.0), ("i32", "bool", 2, 1), ("f32", "bool", math.nan, 1), ("f32", "bool", -0.0, 0),
        ("bool", "i8", 1, 1), ("bool", "f32", 1, 1.0), ("bool", "bool", 1, 1),
        ("f64", "f32", 0.1, float(np.float32(0.1))),
        ("f32", "f64", 0.5, 0.5), ("f16", "bf16", 1.0 + 2**-10, 1.0), ("bf16", "f16", 2.0**100, math.inf),
    ],
)  # fmt: skip
def test_cast(body, origin, target, value, wanted):
    kind = simd(body, target)
    result = run(body, "pop.cast", const(simd(body, origin), value), _type=kind)
    assert result.ty is kind and result.ir == nodes.Const(kind.ir, wanted)
    pair = simd(body, target, 2)
    result = run(body, "pop.cast", const(simd(body, origin, 2), (value, value)), _type=pair)
    assert result.ir == nodes.Const(pair.ir, (wanted, wanted))


def test_cast_of_index(body):
    index, i1 = body.elab.prim("index"), body.elab.prim("i1")
    assert fold(body, "pop.cast", const(i1, 1), _type=index) == 1
    assert fold(body, "pop.cast", const(index, 4), _type=i1) == 1
    assert run(body, "pop.cast", unknown(index), _type=simd(body, "i8")).ir.name == "trunc"
    with pytest.raises(Failed):
        run(body, "pop.cast", unknown(index), _type=simd(body, "i8", 2))
    with pytest.raises(Failed):
        run(body, "pop.cast", unknown(body.elab.prim("!kgen.pointer")), _type=index)


def test_lanes(body):
    one, four = simd(body, "i32"), simd(body, "i32", 4)
    vector, index = const(four, (1, 2, 3, 4)), body.elab.prim("index")
    assert fold(body, "pop.simd.splat", const(one, 7), _type=four) == (7, 7, 7, 7)
    assert fold(body, "pop.simd.splat", const(one, 7), _type=one) == 7
    lane = run(body, "pop.simd.extract", vector, const(index, 2))
    assert lane.ty is one and lane.ir == nodes.Const(I32, 3)
    assert fold(body, "pop.simd.insert", vector, const(one, 9), const(index, 1)) == (1, 9, 3, 4)
    assert fold(body, "pop.simd.insert", const(one, 1), const(one, 9), const(index, 0)) == 9
    mask = ParameterPack((ConstValue(index, 3), ConstValue(index, 4)))
    pair = run(body, "pop.simd.shuffle", vector, vector, mask=mask, _type=simd(body, "i32", 2))
    assert pair.ir.value == (4, 1)
    assert fold(body, "pop.simd.shuffle", vector, vector, mask=ParameterPack((ConstValue(index, 6),)), _type=one) == 3
    join = run(body, "pop.simd.shuffle", const(one, 5), const(one, 6), mask=mask_of(index, 0, 1), _type=pair.ty)
    assert join.ir.value == (5, 6)
    with pytest.raises(Failed):
        run(body, "pop.simd.shuffle", vector, vector, mask=ParameterPack((ConstValue(index, 8),)), _type=one)
    total = run(body, "pop.simd.reduce", vector, kind="add")
    assert total.ty is one and total.ir.value == 10
    assert fold(body, "pop.simd.reduce", const(simd(body, "i8", 2), (0xFF, 1)), kind="max") == 1
    assert fold(body, "pop.simd.reduce", const(simd(body, "u8", 2), (0xFF, 1)), kind="max") == 0xFF
    assert fold(body, "pop.simd.reduce", const(simd(body, "bool", 2), (0, 1)), kind="or") == 1
    assert fold(body, "pop.simd.reduce", const(one, 3), kind="mul") == 3
    packed = run(body, "pop.bitcast", const(simd(body, "u8", 4), (1, 2, 3, 4)), _type=one)
    assert packed.ir == nodes.Const(I32, 0x04030201)


def mask_of(index: PrimTy, *lanes: int) -> ConstValue:
    return ConstValue(index, lanes)


def test_select(body):
    index, i1 = body.elab.prim("index"), body.elab.prim("i1")
    assert fold(body, "pop.select", const(i1, 0), const(index, 1), const(index, 2)) == 2
    with pytest.raises(Failed):
        run(body, "pop.select", const(index, 0), const(index, 1), const(index, 2))


# ---- memory -----------------------------------------------------------------------------------------------


def test_memory(body):
    pointer, index, f32 = unknown(body.elab.prim("!kgen.pointer")), body.elab.prim("index"), simd(body, "f32")
    yes = ConstValue(body.elab.prim("i1"), 1)
    loaded = run(body, "pop.load", pointer, _type=wrapper(body, "Float32", f32), alignment=2, volatile=yes)
    assert body.actions.pop() == nodes.Load(pointer.ir, types.F32, 2, True) and loaded.ty.info.name == "Float32"
    run(body, "pop.store", RValue(f32, nodes.Const(types.F32, 1.0)), pointer)
    assert body.actions.pop() == nodes.Store(pointer.ir, nodes.Const(types.F32, 1.0))
    moved = run(body, "pop.offset", pointer, const(index, 2), elem=f32)
    assert moved.ir == nodes.Op("offset", (pointer.ir, nodes.Const(I64, 2)), PTR, types.F32)
    run(body, "pop.memmove", pointer, pointer, const(index, 3))
    assert body.actions.pop() == nodes.MemCopy(pointer.ir, pointer.ir, nodes.Const(I64, 3), 1, True)
    slot = run(body, "pop.stack_alloc", count=4, type=f32, alignment=16)
    local = body.real.hoisted[-1].local
    assert (local.type, local.align) == (types.ArrayType(types.F32, 4), 16) and slot.ty.name == "!kgen.pointer"
    assert run(body, "pop.global_alloc", count=4, type=f32).ty is body.elab.prim("!kgen.pointer", (3,))
    place = run(body, "lit.ref.from_pointer", pointer, _type=f32, mut=ConstValue(body.elab.prim("i1"), 0))
    assert (place.ty, place.pointer, place.mutable) == (f32, pointer.ir, False)
    assert run(body, "lit.ref.to_pointer", place).ir == pointer.ir
    far = run(body, "pop.space_cast", pointer, _type=body.elab.prim("!kgen.pointer", (3,)))
    assert far.ir.type == types.PointerType(3)
    assert run(body, "pop.space_cast", pointer, _type=pointer.ty).ir is pointer.ir
    assert fold(body, "pop.int_to_ptr", const(index, 64), _type=pointer.ty) == 64


def test_underaligned_aggregates_are_copied_first(body):
    index, i1 = body.elab.prim("index"), body.elab.prim("i1")
    pack, pointer = body.elab.prim("!kgen.pack", (i1, index)), unknown(body.elab.prim("!kgen.pointer"))
    run(body, "pop.load", pointer, _type=pack)
    assert body.actions.pop() == nodes.Load(pointer.ir, pack.ir)
    run(body, "pop.load", pointer, _type=pack, alignment=1)
    slot = nodes.LocalAddress(body.real.hoisted[-1].local)
    assert body.actions.pop() == nodes.Load(slot, pack.ir)
    assert body.actions.pop() == nodes.MemCopy(slot, pointer.ir, nodes.Const(I64, size_of(pack.ir)), 1)


@pytest.mark.parametrize(
    ("how", "dtype", "op"),
    [("add", "i32", "add"), ("add", "f32", "fadd"), ("sub", "f32", "fadd"), ("min", "i32", "smin"),
     ("min", "u32", "umin"),
     ("max", "f64", "fmax"), ("xchg", "f32", "xchg")],
)  # fmt: skip
def test_atomics(body, how, dtype, op):
    ty, pointer = simd(body, dtype), unknown(body.elab.prim("!kgen.pointer"))
    value = unknown(ty, 1)
    run(body, "pop.atomic.rmw", pointer, value, op=how, ordering="relaxed", scope="gpu")
    wanted = nodes.Op("fneg", (value.ir,), ty.ir) if (how, dtype) == ("sub", "f32") else value.ir
    assert body.actions.all() == [nodes.AtomicRmw(op, pointer.ir, wanted, ty.ir, "relaxed", "gpu")]


def test_compare_exchange(body):
    ty, pointer = simd(body, "u32"), unknown(body.elab.prim("!kgen.pointer"))
    old = run(body, "pop.atomic.cmpxchg", pointer, unknown(ty, 1), unknown(ty, 2))
    assert old.ty is ty and body.actions[0].type == StructType((I32, BOOL))
    assert old.ir == nodes.Op("get", (nodes.Temp(1, body.actions[0].type),), I32, 0)


def test_calls(body):
    i32, pointer = simd(body, "i32"), unknown(body.elab.prim("!kgen.pointer"))
    result = run(
        body, "pop.external_call", const(i32, 1), pointer, func="f", _type=wrapper(body, "Int32", i32), fixed=1
    )
    assert body.actions.pop() == nodes.CallExternal("f", (nodes.Const(I32, 1), pointer.ir), I32, 1)
    assert result.ty.info.name == "Int32"
    nothing = run(body, "pop.external_call", pointer, func="free", _type=body.elab.prim("!kgen.none"))
    assert body.actions.pop().type == types.VOID and nothing.ty.name == "!kgen.none"
    run(body, "pop.call_indirect", pointer, pointer)
    assert body.actions.pop() == nodes.CallIndirect(pointer.ir, (pointer.ir,), types.VOID, is_c=True)
    no = ConstValue(body.elab.prim("i1"), 0)
    vector = unknown(simd(body, "f32", 4))
    run(body, "pop.call_llvm_intrinsic", vector, intrin="llvm.sin.v4f32", _type=vector.ty, has_side_effect=no)
    assert body.actions.pop() == nodes.CallIntrinsic("llvm.sin.v4f32", (vector.ir,), vector.ty.ir, True)
    with pytest.raises(Failed):
        run(body, "pop.external_call", vector, func="f")
    run(body, "pop.fence", ordering="release", scope="block")
    assert body.actions.pop() == nodes.Fence(types.VOID, "release", "block")


# ---- literals ---------------------------------------------------------------------------------------------


def whole(body: Body, value: int) -> ConstValue:
    return ConstValue(body.elab.prim("!kgen.int_literal"), value)


def real(body: Body, value) -> ConstValue:
    return ConstValue(body.elab.prim("!kgen.float_literal"), value)


def calculate(body: Body, op: str, a, b):
    return run(body, "kgen.float_literal.binary", real(body, a), real(body, b), op=op).data


def test_whole_literals(body):
    def do(op: str, a: int, b: int) -> int:
        return run(body, "kgen.int_literal.binary", whole(body, a), whole(body, b), op=op).data

    assert do("**", 2, 200) == 1 << 200 and do("//", -7, 2) == -4 and do("%", -7, 2) == 1 and do("<<", 1, 70) == 1 << 70
    assert run(body, "kgen.int_literal.unary", whole(body, 5), op="~").data == -6
    assert fold(body, "kgen.int_literal.compare", whole(body, -5), whole(body, 3), pred="lt") == 1
    assert fold(body, "kgen.int_literal.to", whole(body, -1), _type=body.elab.prim("index")) == 2**64 - 1
    assert fold(body, "kgen.int_literal.to", whole(body, 300), _type=simd(body, "u8", 2)) == (44, 44)
    assert fold(body, "kgen.int_literal.to", whole(body, 2), _type=body.elab.prim("i1")) == 1
    assert fold(body, "kgen.int_literal.to", whole(body, 2**24 + 1), _type=simd(body, "f32")) == 2.0**24
    assert do("//", 1, 0) == 0 and do("%", 1, 0) == 0
    for kind, value in (("index", 1 << 63), ("uindex", -1), ("uindex", 1 << 64)):
        with pytest.raises(Failed):
            fold(body, "kgen.int_literal.to", whole(body, value), _type=body.elab.prim(kind))
    assert do("<<", 3, -5) == 0 and do(">>", -3, -5) == 0
    for op, a, b in (("**", 2, -1), ("<<", 1, 1 << 40), ("**", 3, 1 << 40)):
        with pytest.raises(Failed):
            do(op, a, b)


HARD = [
    Fraction(1, 10), Fraction(1, 3), Fraction(2, 3) * 10**30, Fraction(-7, 11), Fraction(65519), Fraction(65520),
    Fraction(10**400), Fraction(1, 10**400), Fraction(1, 2**25), Fraction(3, 2**26), Fraction(1, 2**149),
    Fraction(1, 2**150),
    Fraction(3, 2**151), 1 + Fraction(1, 2**11), 1 + Fraction(3, 2**11), 1 + Fraction(1, 2**11) + Fraction(1, 2**200),
    1 + Fraction(1, 2**24) + Fraction(1, 2**60), Fraction(2) ** 128 - 2**103, Fraction(2) ** 1024 - 2**970 - 1,
]  # fmt: skip


def nearest(value: Fraction, dtype: type) -> float:
    """The float of a NumPy type nearest to a number, ties to even, found by looking at its neighbours."""
    with np.errstate(over="ignore"):
        try:
            guess = dtype(float(value))
        except OverflowError:
            guess = dtype(math.inf if value > 0 else -math.inf)
        near = {guess, np.nextafter(guess, dtype(-math.inf)), np.nextafter(guess, dtype(math.inf))}
    limit = Fraction(2) ** {np.float16: 16, np.float32: 128, np.float64: 1024}[dtype]

    def exact(candidate) -> Fraction:
        return Fraction(float(candidate)) if np.isfinite(candidate) else limit * int(np.sign(candidate))

    def is_odd(candidate) -> bool:
        return bool(candidate.tobytes()[0] & 1)

    return float(min(near, key=lambda candidate: (abs(exact(candidate) - value), is_odd(candidate))))


@pytest.mark.parametrize("value", HARD, ids=[f"number{at}" for at in range(len(HARD))])
def test_literals_are_rounded_once(body, value):
    for dtype, numpy in (("f16", np.float16), ("f32", np.float32), ("f64", np.float64)):
        assert fold(body, "kgen.float_literal.to", real(body, value), _type=simd(body, dtype)) == nearest(value, numpy)


def test_bfloat16_literals(body):
    def to(value: Fraction) -> float:
        return fold(body, "kgen.float_literal.to", real(body, value), _type=simd(body, "bf16"))

    assert to(1 + Fraction(1, 2**8)) == 1.0
    assert to(1 + Fraction(1, 2**8) + Fraction(1, 2**90)) == 1.0 + 2**-7
    assert to(Fraction(2) ** 128) == math.inf and to(Fraction(1, 2**133)) == 2.0**-133


def test_literals_that_no_fraction_is(body):
    assert repr(fold(body, "kgen.float_literal.to", real(body, -0.0), _type=simd(body, "f16"))) == "-0.0"
    assert fold(body, "kgen.float_literal.to", real(body, math.inf), _type=simd(body, "bf16")) == math.inf
    assert math.isnan(fold(body, "kgen.float_literal.to", real(body, math.nan), _type=simd(body, "f64")))
    assert repr(run(body, "kgen.float_literal.unary", real(body, Fraction(0)), op="-").data) == "-0.0"
    assert run(body, "kgen.float_literal.unary", real(body, -0.0), op="-").data == Fraction(0)
    for pred, wanted in (("eq", 0), ("ne", 1), ("lt", 0), ("le", 0), ("gt", 0), ("ge", 0)):
        assert (
            fold(body, "kgen.float_literal.compare", real(body, math.nan), real(body, Fraction(1)), pred=pred) == wanted
        )
    assert fold(body, "kgen.float_literal.compare", real(body, -0.0), real(body, Fraction(0)), pred="eq") == 1


SAMPLES = [Fraction(0), -0.0, Fraction(1, 2), Fraction(-3, 4), Fraction(2), Fraction(-5), math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("op", ["+", "-", "*", "/"])
@pytest.mark.parametrize("a", SAMPLES, ids=str)
def test_arithmetic_of_special_literals_is_that_of_ieee(body, op, a):
    for b in SAMPLES:
        got = calculate(body, op, a, b)
        with np.errstate(all="ignore"):
            x, y = np.float64(float(a)), np.float64(float(b))
            # but for divisions by zero, which are NaN in the reference
            wanted = float({"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else math.nan}[op])
        assert not isinstance(got, Fraction) or got == Fraction(got)
        if math.isnan(wanted):
            assert isinstance(got, float) and math.isnan(got)
        elif isinstance(got, Fraction) and got.denominator not in (1, 2, 4, 8, 16):
            assert float(got) == wanted
        else:
            assert repr(float(got)) == repr(wanted), (a, op, b)


def test_exact_literals(body):
    tenth = Fraction(1, 10)
    assert calculate(body, "+", tenth, Fraction(2, 10)) == Fraction(3, 10)
    assert calculate(body, "//", Fraction(-7, 2), Fraction(1)) == -4
    assert calculate(body, "%", Fraction(-7, 2), Fraction(1)) == Fraction(1, 2)
    assert calculate(body, "//", Fraction(-1), math.inf) == -1
    assert calculate(body, "%", Fraction(-1), math.inf) == math.inf
    assert calculate(body, "**", tenth, Fraction(-3)) == 1000
    assert calculate(body, "**", Fraction(4), Fraction(1, 2)) == 2
    assert calculate(body, "**", Fraction(0), Fraction(-1)) == math.inf
    assert math.isnan(calculate(body, "**", Fraction(-4), Fraction(1, 2)))
    assert calculate(body, "**", Fraction(-10), Fraction(10**9 + 1)) == -math.inf
    assert run(body, "kgen.float_literal.to_int", real(body, Fraction(-7, 2))).data == -3
    assert run(body, "kgen.int_literal.to_float", whole(body, 3)) == ConstValue(
        body.elab.prim("!kgen.float_literal"), Fraction(3)
    )
    with pytest.raises(Failed, match="decimal point"):
        fold(body, "kgen.float_literal.to", real(body, Fraction(-7, 2)), _type=simd(body, "i16"))


def test_texts(body):
    string = body.elab.prim("!kgen.string")
    joined = run(body, "kgen.string.concat", ConstValue(string, "a"), ConstValue(string, "é"))
    assert joined == ConstValue(string, "aé")
    assert fold(body, "kgen.string.compare", joined, ConstValue(string, "b"), pred="lt") == 1
    assert fold(body, "kgen.string.size", joined) == 3
    assert fold(body, "kgen.string.data", joined).name.startswith("str$")
    assert run(body, "kgen.string.size", unknown(string)).ir.name == "get"
    known = RValue(string, ir_values.string_global(body.real, "xyz"))
    assert run(body, "kgen.string.concat", known, joined).data == "xyzaé"
    with pytest.raises(Failed) as failure:
        run(body, "kgen.string.concat", unknown(string), joined)
    assert failure.value.code is Code.NON_CONSTANT_VALUE


# ---- questions --------------------------------------------------------------------------------------------


def test_questions(body):
    index = body.elab.prim("index")
    assert fold(body, "kgen.size_of", type=body.elab.prim("!kgen.string")) == 16
    assert fold(body, "kgen.align_of", type=simd(body, "i16")) == 2
    assert fold(body, "kgen.type_eq", a=index, b=index) == 1
    assert fold(body, "kgen.type_eq", a=index, b=simd(body, "i64")) == 0
    assert fold(body, "kgen.type_identical", a=index, b=index) == 1
    assert fold(body, "kgen.type_identical", a=index, b=simd(body, "i64")) == 0
    assert fold(body, "kgen.env.has", name="m") == 0
    assert fold(body, "kgen.env.int", name="n") == 16
    assert run(body, "kgen.env.string", name="s").data == "text"
    main = body.elab.real.modules.main.source
    body.real.frame.span = Span(main, main.text.index("pass"), main.text.index("pass") + 4)
    assert fold(body, "kgen.source.line") == 2 and run(body, "kgen.source.file").data == main.path
    assert run(body, "kgen.origin.static").data == OriginValue("static", False)
    assert run(body, "kgen.origin.any", mut=ConstValue(body.elab.prim("i1"), 1)).data == OriginValue("any", True)
    assert run(
        body, "kgen.variadic.get", index=1, values=ParameterPack((ConstValue(index, 5), ConstValue(index, 6)))
    ) == ConstValue(index, 6)


def test_targets(body):
    here = run(body, "kgen.target.current")
    assert here.data is body.elab.real.config.host
    device = run(body, "kgen.targets.get", index=0)
    assert device.data is body.elab.real.config.accelerators[0] and fold(body, "kgen.targets.count") == 1
    assert run(body, "kgen.target.info", target=device, key="vendor").data == "nvidia"
    assert fold(body, "kgen.target.info", target=device, key="warp_lanes") == 32
    assert fold(body, "kgen.target.info", target=device, key="index") == 0
    assert fold(body, "kgen.target.info", target=here, key="index") == 2**64 - 1
    assert fold(body, "kgen.target.info", target=here, key="simd_bits") == simd_bits(here.data)
    wide = replace(here.data, features="+avx,+avx512f")
    assert simd_bits(wide) == 512 and simd_bits(replace(wide, features="+avx,-avx512f")) == 256
    assert simd_bits(device.data) == 128
    assert run(body, "kgen.target.find", name="sm_80").data.name == "sm_80"
    with pytest.raises(Failed) as failure:
        run(body, "kgen.target.find", name="sm_9x")
    assert failure.value.code is Code.UNKNOWN_TARGET
    with pytest.raises(Failed):
        run(body, "kgen.targets.get", index=1)


def test_constraints(body):
    i1 = body.elab.prim("i1")
    run(body, "kgen.constrained", cond=ConstValue(i1, 1), message="no")
    with pytest.raises(Failed, match=r"^no$") as failure:
        run(body, "kgen.constrained", cond=const(i1, 0), message=ConstValue(body.elab.prim("!kgen.string"), "no"))
    assert failure.value.code is Code.UNSATISFIED_CONSTRAINT
    with pytest.raises(Failed) as failure:
        run(body, "kgen.constrained", cond=unknown(i1), message="no")
    assert failure.value.code is Code.NON_CONSTANT_VALUE


@pytest.mark.parametrize(
    ("name", "count", "attrs", "code"),
    [("pop.ad", 2, {}, Code.UNDEFINED_NAME), ("pop.add", 1, {}, Code.MISSING_ARGUMENT),
     ("pop.add", 3, {}, Code.TOO_MANY_ARGUMENTS), ("pop.add", 2, {"pred": "eq"}, Code.UNKNOWN_ARGUMENT),
     ("pop.cmp", 2, {}, Code.MISSING_ARGUMENT), ("pop.cmp", 2, {"pred": "eqq"}, Code.TYPE_MISMATCH)],
)  # fmt: skip
def test_wrong_uses(body, name, count, attrs, code):
    with pytest.raises(Failed) as failure:
        run(body, name, *[unknown(simd(body, "i8"))] * count, **attrs)
    assert failure.value.code is code


def test_numbers_of_other_widths_as_offsets(body):
    pointer = unknown(body.elab.prim("!kgen.pointer"))
    moved = run(body, "pop.offset", pointer, unknown(simd(body, "u16"), 1), elem=simd(body, "u8"))
    assert moved.ir.args[1] == nodes.Op("zext", (nodes.Argument(1, I16),), I64)
