"""AIR as text, and Apple's container."""

import struct
from hashlib import sha256

import llvmlite.binding as llvm
import pytest
from emit_modules import Module, head
from ktc import targets
from ktc.diag.diagnostic import Bug, CompileError
from ktc.emit import outcomes
from ktc.emit.air import images as air
from ktc.emit.air import metallib
from ktc.emit.air.text import typed_text
from ktc.emit.kernel import emit_kernel
from ktc.targets.air import versions

TARGET = targets.find("apple-m4")


def module(body, params="ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n", more=""):
    text = f"""{head(TARGET)}
%pair = type {{ i32, [4 x float] }}
@table = internal addrspace(2) constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0]
@tile = internal addrspace(3) global [64 x float] undef, align 16
{more}
define void @k({params}) {{
{body}
  ret void
}}
!air.kernel = !{{!0}}
!0 = !{{ptr @k, !1, !1}}
!1 = !{{}}
"""
    return Module(TARGET, text, "k")


def typed(body, level=3, **more):
    return emit_kernel(module(body, **more), {"asm"}, level)["asm"].decode()


def test_loads_and_stores_are_cast():
    text = typed("  %v = load float, ptr addrspace(1) %a\n  store float %v, ptr addrspace(1) %b")
    assert "bitcast i8 addrspace(1)* %a to float addrspace(1)*" in text
    assert "%v = load float, float addrspace(1)* %" in text
    assert "define void @k(i8 addrspace(1)* " in text
    assert "ptr" not in text


@pytest.mark.parametrize(
    ("body", "lacking"),
    [
        ("  %v = load double, ptr addrspace(1) %a\n  store double %v, ptr addrspace(1) %b", "float64"),
        ("  %v = load <2 x i128>, ptr addrspace(1) %a\n  store <2 x i128> %v, ptr addrspace(1) %b", "int128"),
        ("  %i128 = load i64, ptr addrspace(1) %a\n  store i64 %i128, ptr addrspace(1) %b", ""),
    ],
)
def test_numbers_that_metal_lacks_are_named(body, lacking):
    made = emit_kernel(module(body), {"image"}, 3)
    assert (made == {outcomes.LACKS: lacking.encode()}) if lacking else set(made) == {"image"}


def test_addresses_are_computed_in_their_own_type():
    text = typed(
        "  %p = getelementptr inbounds %pair, ptr addrspace(1) %a, i32 %n, i32 1, i32 %n\n"
        "  store float 1.0, ptr addrspace(1) %p",
        level=0,
    )
    assert "getelementptr inbounds %pair, %pair addrspace(1)* %" in text
    assert ", i32 %n, i32 1, i32 %n" in text
    assert "%p = bitcast float addrspace(1)* %" in text


def test_globals_are_cast_where_they_are_used():
    text = typed(
        "  %p = getelementptr [4 x float], ptr addrspace(2) @table, i32 0, i32 %n\n"
        "  %v = load float, ptr addrspace(2) %p\n"
        "  store volatile float %v, ptr addrspace(3) "
        "getelementptr ([64 x float], ptr addrspace(3) @tile, i64 0, i64 3)",
    )
    assert "i8 addrspace(2)* bitcast ([4 x float] addrspace(2)* @table to i8 addrspace(2)*)" in text
    assert "getelementptr inbounds (i8, i8 addrspace(3)* bitcast ([64 x float] addrspace(3)* @tile to" in text


def test_metadata_names_the_kernel_by_its_type():
    assert "!{void (i8 addrspace(1)*, i8 addrspace(1)*, i32)* @k, " in typed("")


def test_what_llvm_14_does_not_know_is_left_out():
    text = typed(
        "  %s = or disjoint i32 %n, 1\n  %w = zext nneg i32 %s to i64\n"
        "  %p = getelementptr inbounds nuw float, ptr addrspace(1) %a, i64 %w\n"
        "  store <2 x float> splat (float 1.0), ptr addrspace(1) %p\n"
        "  %stack = alloca [4 x i32]\n  call void @llvm.lifetime.start.p0(ptr %stack)\n"
        "  store volatile i32 %n, ptr %stack",
        level=0,
        more="declare void @llvm.lifetime.start.p0(ptr)\n"
        "declare float @air.f(ptr captures(none), i32 range(i32 0, 9)) memory(argmem: read) nocreateundeforpoison",
    )
    for word in ("disjoint", "nneg", "nuw", "splat", "lifetime", "captures", "range", "memory(", "createundef"):
        assert word not in text, word
    assert "<2 x float> <float 1.000000e+00, float 1.000000e+00>" in text
    assert "argmemonly" in text and "nocapture" in text


def test_intrinsics_are_named_after_typed_pointers():
    text = typed(
        "  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %a, ptr addrspace(1) %b, i64 48, i1 false)", level=0
    )
    assert "@llvm.memcpy.p1i8.p1i8.i64(i8 addrspace(1)* " in text


def test_strings_are_left_alone():
    text = typed_text('@s = constant [12 x i8] c"a ptr b ptr c"\n!0 = !{!"a ptr"}\n')
    assert 'c"a ptr b ptr c"' in text and '!"a ptr"' in text


@pytest.mark.parametrize(
    ("line", "called"),
    [
        ("%v = atomicrmw add ptr addrspace(1) %a, i32 1 seq_cst", "i32 @air.atomic.global.add.s.i32"),
        ("%v = atomicrmw umax ptr addrspace(3) @tile, i32 %n seq_cst", "i32 @air.atomic.local.max.u.i32"),
        ("%v = atomicrmw fadd ptr addrspace(1) %a, float 1.0 monotonic", "float @air.atomic.global.add.f32"),
        ("%v = load atomic i32, ptr addrspace(1) %a monotonic, align 4", "i32 @air.atomic.global.load.i32"),
        ("store atomic i32 1, ptr addrspace(1) %a monotonic, align 4", "void @air.atomic.global.store.i32"),
    ],
)
def test_atomic_instructions_are_calls(line, called):
    made = emit_kernel(module(f"  {line}"), {"asm", "object"}, 0)
    text = made["asm"].decode()
    assert f"call {called}(" in text and f"declare {called}(" in text and f"{line.split()[0]} atomic" not in text
    code = made["object"]
    start, size = (int.from_bytes(code[at : at + 4], "little") for at in (8, 12))
    with llvm.create_context() as context, llvm.parse_bitcode(code[start : start + size], context) as read:
        assert f"call {called}(ptr addrspace(" in str(read)


@pytest.mark.parametrize(
    "line",
    [
        "fence seq_cst",
        "%v = cmpxchg ptr addrspace(1) %a, i32 0, i32 1 seq_cst seq_cst",
        "%v = atomicrmw add ptr addrspace(1) %a, i64 1 seq_cst",
        "%v = atomicrmw fmax ptr addrspace(1) %a, float 1.0 seq_cst",
    ],
)
def test_atomic_instructions_that_metal_has_not(line):
    with pytest.raises(Bug, match="no such atomic"):
        typed(f"  {line}")


@pytest.mark.parametrize(
    ("body", "is_known"),
    [
        # only global addresses in shared memory, and on the stack
        ("  store ptr %g, ptr addrspace(3) @tile\n  %v = load ptr, ptr addrspace(3) @tile", True),
        (
            "  %s = alloca [8 x ptr]\n  %at = getelementptr ptr, ptr %s, i32 %n\n  store ptr %g, ptr %at\n"
            "  %v = load ptr, ptr %s",
            True,
        ),
        # also one of the stack, of shared memory
        (
            "  %own = alloca [8 x i32]\n  %at = getelementptr i32, ptr %own, i32 %n\n"
            "  store ptr %at, ptr addrspace(3) @tile\n  %v = load volatile ptr, ptr addrspace(3) @tile",
            False,
        ),
        (
            "  %own = addrspacecast ptr addrspace(3) @tile to ptr\n  store ptr %own, ptr addrspace(1) %b\n"
            "  store ptr %g, ptr addrspace(3) @tile\n  %v = load volatile ptr, ptr addrspace(3) @tile",
            False,
        ),
    ],
)
def test_atomics_at_addresses_from_shared_memory_and_the_stack(body, is_known):
    whole = f"  %g = addrspacecast ptr addrspace(1) %a to ptr\n{body}\n  %old = atomicrmw add ptr %v, i32 1 monotonic"
    if is_known:
        assert "@air.atomic.global.add.s.i32(" in typed(whole)
        return
    with pytest.raises(CompileError, match="an atomic operation needs to know"):
        typed(whole)


def test_wrapper():
    data = air.wrap(b"BC\xc0\xde1234")
    magic, version, offset, size, cpu = struct.unpack_from("<5I", data)
    assert (magic, version, offset, size, cpu) == (0x0B17C0DE, 0, 20, 8, 0xFFFFFFFF)
    assert data[offset : offset + size] == b"BC\xc0\xde1234" and len(data) % 16 == 0


def test_container():
    code = air.wrap(b"BC\xc0\xde" + bytes(60))
    data = metallib.write("saxpy", code, versions(TARGET))
    magic, major, minor, patch, kind, platform, system = struct.unpack_from("<4sHHHBBH", data)
    assert (magic, major, minor, patch, kind, platform, system) == (b"MTLB", 0x8001, 2, 8, 0, 0x81, 15)
    (size, *table) = struct.unpack_from("<9Q", data, 16)
    assert size == len(data)
    functions, functions_size, public, public_size, private, private_size, modules, modules_size = table
    assert data[modules : modules + modules_size] == code and modules + modules_size == size
    assert data[public : public + public_size] == data[private : private + private_size] == b"\x08\0\0\0ENDT"
    assert struct.unpack_from("<II", data, functions) == (1, functions_size)
    assert tags(data[functions + 8 : functions + 4 + functions_size]) == {
        b"NAME": b"saxpy\0", b"TYPE": b"\x02", b"HASH": sha256(code).digest(), b"OFFT": bytes(24),
        b"VERS": struct.pack("<4H", 2, 7, 3, 2), b"MDSZ": struct.pack("<Q", len(code)),
    }  # fmt: skip


def tags(data):
    found = {}
    while data[:4] != b"ENDT":
        name, size = struct.unpack_from("<4sH", data)
        found[name] = data[6 : 6 + size]
        data = data[6 + size :]
    return found
