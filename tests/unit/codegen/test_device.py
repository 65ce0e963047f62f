"""Device units: NVPTX, AMDGPU and AIR. What LLVM prints is checked line by line in order; nothing is executed."""

import pytest
from codegen_kit import (
    AMD,
    APPLE,
    CPU,
    HOST,
    NVIDIA,
    arg,
    assembly,
    function,
    global_index,
    i32,
    i64,
    in_order,
    op,
    parsed,
    unit,
    vector_add,
)
from ktc.base.records import replace
from ktc.codegen.module import lower_device, lower_host
from ktc.diag.source import Source, Span
from ktc.ir.nodes import (
    AtomicRmw,
    Call,
    CallExternal,
    Const,
    Fence,
    Global,
    GlobalAddress,
    InlineAsm,
    Let,
    Load,
    Local,
    LocalAddress,
    Return,
    Store,
    Temp,
)
from ktc.ir.ops import ROWS
from ktc.ir.types import (
    BOOL,
    F16,
    F32,
    I8,
    I16,
    I32,
    I64,
    PTR,
    UNIT,
    VOID,
    ArrayType,
    IntType,
    PointerType,
    StructType,
    VectorType,
)
from ktc.targets.checked import UNCHECKED


def kernel(target, *body, params=(PTR,), globals=(), more=()):
    made = function("k", params, VOID, *body, Return(), linkage="internal")
    (module,) = lower_device(unit(target, made, *more, globals=globals, kernels=("k",)))
    parsed(module)
    return module


def test_vector_add_as_ptx():
    (module,) = lower_device(vector_add(NVIDIA))
    assert (module.kernel, module.undefined) == ("vadd", ())
    in_order(
        assembly(module),
        ".version 8.4", ".target sm_90", ".visible .entry vadd(", ".param .u64", "%tid.x", "setp", "ld.global.b32",
        "ld.global.b32", "add.f32", "st.global.b32", "ret;",
    )  # fmt: skip


def test_vector_add_for_amd():
    (module,) = lower_device(vector_add(AMD))
    in_order(assembly(module), "vadd:", "global_load_dword", "v_add_f32", "global_store_dword", "s_endpgm")
    assert '"amdhsa_code_object_version", i32 500' in module.text


def test_vector_add_for_apple():
    (module,) = lower_device(vector_add(APPLE))
    parsed(module)
    in_order(
        module.text,
        "define void @vadd(ptr addrspace(1) %p0, ptr addrspace(1) %p1, ptr addrspace(1) %p2, ptr addrspace(2) %p3, "
        "<3 x i32> %thread_position_in_threadgroup, <3 x i32> %threadgroup_position_in_grid, "
        "<3 x i32> %threads_per_threadgroup)",
        "load i64, ptr addrspace(2) %p3",
        "call void @vadd.body(",
        "define internal void @vadd.body(ptr %a0, ptr %a1, ptr %a2, i64 %a3, i32 %s0, i32 %s3, i32 %s6) #1",
        "call i64 @index(i32 %s0, i32 %s3, i32 %s6)",
        "!air.kernel = ",
        '!{i32 3, !"air.buffer", !"air.location_index", i32 3, i32 1, !"air.read", !"air.address_space", i32 2',
        '!{i32 6, !"air.threads_per_threadgroup", !"air.arg_type_name", !"uint3"',
    )


def test_each_kernel_gets_what_it_reaches():
    parts = [
        function("one", (PTR,), VOID, Store(arg(0, PTR), GlobalAddress("g1")), Return()),
        function("two", (PTR,), VOID, Let(None, Call("help", (arg(0, PTR),), VOID)), Return()),
        function("help", (PTR,), VOID, Let(None, Call("one", (arg(0, PTR),), VOID)), Return()),
    ]
    held = [Global(f"g{number}", I64, None, False) for number in (1, 2)]
    one, two = lower_device(unit(NVIDIA, *parts, globals=held, kernels=("one", "two")))
    assert (one.kernel, two.kernel) == ("one", "two")
    assert "@help" not in one.text and "@g1 =" in one.text and "@g2" not in one.text + two.text
    # A kernel that another one calls is there as a plain function too.
    in_order(two.text, "@g1 = ", "define ptx_kernel void @two(", "define internal void @help(", "@one.body(")
    assert "ptx_kernel void @one" not in two.text
    assert assembly(two).count(".entry") == 1


def test_devices_and_the_host_fuse():
    product = op("fadd", op("fmul", arg(1, F32), arg(2, F32)), Const(F32, 1.5))
    module = kernel(NVIDIA, Store(arg(0, PTR), product), params=(PTR, F32, F32))
    assert "fma.rn.f32" in assembly(module)
    host = function("k", (PTR, F32, F32), VOID, Store(arg(0, PTR), product), Return())
    text = lower_host(unit(HOST, host), {}, level=1).text
    in_order(text, "fmul contract", "fadd contract")
    assert "contract" not in lower_host(unit(HOST, host), {}, level=0).text, "-O0 fuses before LLVM"


@pytest.mark.parametrize(
    ("ordering", "expected"),
    [
        ("relaxed", []),
        ("acquire", ["atom", "fence.acq_rel.gpu"]),
        ("release", ["fence.acq_rel.gpu", "atom"]),
        ("seq_cst", ["fence.sc.gpu", "atom", "fence.acq_rel.gpu"]),
    ],
)
def test_nvidia_orders_atomics_with_fences(ordering, expected):
    body = Let(None, AtomicRmw("add", arg(0, PTR), i32(1), I32, ordering, "gpu"))
    lines = [line.split()[0].rstrip(";") for line in assembly(kernel(NVIDIA, body)).splitlines() if line.strip()]
    kept = [line if line.startswith("fence") else "atom" for line in lines if line.startswith(("fence", "atom"))]
    assert kept == (expected or ["atom"])


def test_scopes_by_target():
    for target, name in ((NVIDIA, "block"), (AMD, "workgroup")):
        assert f'fence syncscope("{name}") seq_cst' in kernel(target, Let(None, Fence(VOID, scope="block"))).text
    module = kernel(AMD, Let(None, AtomicRmw("fadd", arg(0, PTR), Const(F32, 1.0), F32, "relaxed", "gpu")))
    assert 'syncscope("agent") monotonic' in module.text
    text = assembly(module)
    assert "atomic_add_f32" in text and "cmpswap" not in text


def test_locals_of_amd_are_private():
    held = Local(1, ArrayType(I32, 16))
    place = op("offset", LocalAddress(held), arg(1, I64), attr=I32)
    body = (Store(place, i32(5)), Let(Temp(1, I32), Load(LocalAddress(held), I32)), Store(arg(0, PTR), Temp(1, I32)))
    module = kernel(AMD, *body, params=(PTR, I64))
    in_order(module.text, "alloca [16 x i32], align 4, addrspace(5)", "addrspacecast ptr addrspace(5) %l1.slot to ptr")


def test_shared_memory_and_constants():
    shared = Global("tile", ArrayType(F32, 64), None, False, 3, 16)
    dynamic = Global("rest", ArrayType(F32, 0), None, False, 3)
    table = Global("table", ArrayType(I32, 64), Const(ArrayType(I32, 64), tuple(n * n * n for n in range(64))), True)
    pointer = PointerType(3)
    read = op("offset", GlobalAddress("table"), arg(1, I64), attr=I32)
    body = (
        Store(op("offset", GlobalAddress("tile", 3), arg(1, I64), attr=F32), Const(F32, 1.0)),
        Store(op("spacecast", GlobalAddress("rest", 3), to=PTR), Const(F32, 2.0)),
        Let(Temp(1, I32), Load(read, I32)),
        Store(op("offset", arg(0, PTR), i64(9), attr=I64), Temp(1, I32)),
        Store(arg(0, PTR), op("make", GlobalAddress("tile", 3), Const(pointer, 0), Const(BOOL, 1))),
    )
    for target in (NVIDIA, AMD):
        module = kernel(target, *body, params=(PTR, I64), globals=(shared, dynamic, table))
        assert "@tile = internal addrspace(3) global [64 x float] poison, align 16" in module.text
        assert "@rest = external addrspace(3) global [0 x i8], align 16" in module.text
        text = assembly(module)
        assert ("st.shared" if target is NVIDIA else "ds_write") in text
        assert ("ld.global" if target is NVIDIA else "table@rel32") in text
        assert f"@table = internal unnamed_addr addrspace({1 if target is NVIDIA else 4}) constant" in module.text
    assert "ptrtoint ptr addrspace(3) @tile to i64" in kernel(AMD, *body, params=(PTR, I64), globals=(
        shared, dynamic, table)).text  # fmt: skip


def test_arguments_by_value():
    pair = StructType((PTR, BOOL, I16))
    body = Store(op("get", arg(2, pair), attr=0), op("get", arg(2, pair), attr=1))
    for target in (NVIDIA, AMD, APPLE):
        module = kernel(target, body, params=(UNIT, BOOL, pair))
        assert "{}" not in module.text.split("@k(")[1].split(")")[0]
        assert "zeroext" not in module.text.split("define")[1].split("{")[0]
    ptx = assembly(kernel(NVIDIA, body, params=(UNIT, BOOL, pair)))
    in_order(ptx, ".param .u8 k_param_0", ".param .align 8 .b8 k_param_1[16]")


def test_undefined_functions_are_named():
    body = (Let(None, CallExternal("vprintf", (arg(0, PTR), arg(0, PTR)), I32)),)
    module = kernel(NVIDIA, *body)
    assert module.undefined == ("vprintf",)


def test_assembly_is_convergent():
    module = kernel(NVIDIA, Let(None, InlineAsm("bar.sync 0;", "", (), VOID)))
    assert "bar.sync 0;" in assembly(module)
    assert "attributes #9 = { convergent nounwind }" in module.text


VECTORS = {"shuffle": (2, 0, 3, 1), "field": (StructType((I8, I32)), 1), "offset": I32}


def _sample(row):
    """Give operand types, the result's type and the attribute for one use of an operation."""
    integers, floats = VectorType(I32, 4), VectorType(F32, 4)
    kind = floats if row.rule.__name__ in ("floats", "compare_floats") else integers
    special = {
        "trunc": ((integers,), VectorType(I8, 4)),
        "zext": ((VectorType(BOOL, 4),), integers),
        "sext": ((integers,), VectorType(I64, 4)),
        "fptrunc": ((floats,), VectorType(F16, 4)),
        "fpext": ((VectorType(F16, 4),), floats),
        "sitofp": ((integers,), floats),
        "uitofp": ((integers,), floats),
        "fptosi": ((floats,), integers),
        "fptoui": ((floats,), integers),
        "bitcast": ((integers,), floats),
        "ptrtoint": ((PTR,), I64),
        "inttoptr": ((I64,), PTR),
        "spacecast": ((PTR,), PointerType(1)),
        "select": ((VectorType(BOOL, 4), floats, floats), None),
        "splat": ((F32,), floats),
        "extract": ((floats, I64), None),
        "insert": ((floats, F32, I64), None),
        "shuffle": ((floats, floats), None),
        "make": ((I32, BOOL, PTR), None),
        "get": ((StructType((BOOL, I32)),), None),
        "set": ((StructType((BOOL, I32)), BOOL), None),
        "field": ((PTR,), None),
        "offset": ((PTR, I64), None),
    }
    if row.name in special:
        types, result = special[row.name]
        return types, result, VECTORS.get(row.name, 0 if row.name in ("get", "set") else None)
    if row.name.startswith("reduce_f"):
        return (floats,), None, None
    return (kind,) * row.arity, None, None


@pytest.mark.parametrize("target", [HOST, CPU, NVIDIA, AMD, APPLE], ids=lambda target: target.vendor)
def test_every_operation_verifies(target):
    functions, calls = [], []
    for row in ROWS.values():
        types, result, attr = _sample(row)
        made = op(row.name, *(arg(index, kind) for index, kind in enumerate(types)), to=result, attr=attr)
        assert made.name == row.name
        functions.append(function(row.name, types, made.type, Return(made)))
        passed = tuple(Const(kind, _zero(kind)) for kind in types)
        calls.append(Let(None, Call(row.name, passed, made.type)))
    if not target.is_device:
        parsed(lower_host(unit(target, *functions), {}))
        return
    functions.append(function("k", (), VOID, *calls, Return()))
    (module,) = lower_device(unit(target, *functions, kernels=("k",)))
    parsed(module)
    assert all(f"@{row}(" in module.text for row in ROWS)


def _zero(kind):
    if isinstance(kind, VectorType):
        return (_zero(kind.element),) * kind.lanes
    if isinstance(kind, StructType):
        return tuple(map(_zero, kind.fields))
    return 0 if isinstance(kind, IntType | PointerType) else 0.0


def test_lines_on_nvidia_and_the_host():
    source = Source("dir/add.kpy", "one\ntwo\n  three\n")
    whole, third = Span(source, 4, 7), Span(source, 10, 15)
    other = Span(Source("lib.kpy", "\n\nx"), 2, 3)
    index = global_index(NVIDIA)
    body = (
        Let(Temp(0, I64), Call("index", (), I64), third),
        Store(op("offset", arg(0, PTR), Temp(0, I64), attr=I64), i64(1), span=other),
    )
    for target in (NVIDIA, HOST):
        made = function("k", (PTR,), VOID, *(body if target is NVIDIA else body[1:]), Return(), span=whole)
        if target is HOST:
            made = function("k", (PTR,), VOID, Store(arg(0, PTR), i64(1), span=third), Return(), span=whole)
            text = assembly(lower_host(unit(HOST, made), {}, debug=1))
        else:
            (module,) = lower_device(unit(NVIDIA, made, index, kernels=("k",)), debug=1)
            assert "DebugDirectivesOnly" in module.text
            text = assembly(module)
            assert ".target sm_90\n" in text
            in_order(text, "3 1")
        assert "add.kpy" in text and "3 3" in text


def test_unchecked_functions_are_marked_in_debug_information():
    span = Span(Source("add.kpy", "one"), 0, 3)
    made = [function(f"f{int(unchecked)}", (), VOID, Return(), span=span, unchecked=unchecked) for unchecked in (0, 1)]
    texts = [lower_host(unit(replace(HOST, checks=checks), *made), {}, debug=1).text for checks in ((), ("bounds",))]
    assert [text.count(UNCHECKED) for text in texts] == [0, 1]
    assert all(line.startswith("!") and 'name: "f1"' in line for line in texts[1].splitlines() if UNCHECKED in line)
