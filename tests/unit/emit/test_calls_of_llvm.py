"""What LLVM calls for operations that a processor lacks is in the C library or in the object itself."""

import ctypes
import io
import sys

import pytest
from elftools.elf.elffile import ELFFile
from ktc.base.records import replace
from ktc.emit import llvm
from ktc.targets.host import host_target

FLOATS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
INTEGERS = ("i8", "i16", "i32", "i64", "i128")


def bodies():
    """Give for each operation its types and what makes %c of %a and %b."""
    for kind in INTEGERS:
        for name in ("udiv", "urem", "sdiv", "srem", "mul", "shl"):
            yield kind, kind, kind, f"{name} {kind} %a, %b"
        yield kind, kind, kind, f"call {kind} @llvm.ctpop.{kind}({kind} %a)"
    for kind, short in FLOATS.items():
        for whole in INTEGERS:
            for name in ("uitofp", "sitofp"):
                yield whole, whole, kind, f"{name} {whole} %a to {kind}"
            for name in ("fptoui", "fptosi"):
                yield kind, kind, whole, f"{name} {kind} %a to {whole}"
                yield kind, kind, whole, f"call {whole} @llvm.{name}.sat.{whole}.{short}({kind} %a)"
        for name in ("sqrt", "sin", "exp", "exp10", "log", "floor", "roundeven", "tanh"):
            yield kind, kind, kind, f"call {kind} @llvm.{name}.{short}({kind} %a)"
        for name in ("powi", "ldexp"):
            yield kind, "i32", kind, f"call {kind} @llvm.{name}.{short}.i32({kind} %a, i32 %b)"
        yield kind, kind, kind, f"call {kind} @llvm.fma.{short}({kind} %a, {kind} %b, {kind} %b)"
        for name in ("frem", "fdiv"):
            yield kind, kind, kind, f"{name} {kind} %a, %b"
    for wide, narrow in (("float", "half"), ("double", "half"), ("float", "bfloat"), ("double", "bfloat")):
        yield wide, wide, narrow, f"fptrunc {wide} %a to {narrow}"
        yield narrow, narrow, wide, f"fpext {narrow} %a to {wide}"


def module(target) -> str:
    lines = [f'target datalayout = "{target.data_layout}"', f'target triple = "{target.triple}"']
    for number, (first, second, result, operation) in enumerate(bodies()):
        lines += [f"define void @f{number}(ptr %p, ptr %q, ptr %r) {{", f"  %a = load {first}, ptr %p"]
        lines += [f"  %b = load {second}, ptr %q", f"  %c = {operation}", f"  store {result} %c, ptr %r"]
        lines += ["  ret void", "}"]
    return "\n".join(lines) + "\n"


@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF")
@pytest.mark.parametrize("is_plain", [False, True], ids=["this processor", "the oldest of its kind"])
def test_what_llvm_calls_is_there(is_plain: bool) -> None:
    target = host_target()
    if is_plain:
        target = replace(target, cpu="x86-64" if "x86" in target.triple else "", features="")
    with llvm.optimized(module(target), target, 0) as optimised:
        data = llvm.object_code(optimised, target, 0)
    table = ELFFile(io.BytesIO(data)).get_section_by_name(".symtab")
    missing = {one.name for one in table.iter_symbols() if one["st_shndx"] == "SHN_UNDEF" and one.name}
    assert {"sinf", "fmod"} <= missing
    libraries = [ctypes.CDLL("libc.so.6"), ctypes.CDLL("libm.so.6")]
    assert not [name for name in sorted(missing) if not any(hasattr(library, name) for library in libraries)]
