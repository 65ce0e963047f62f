"""Kernels to PTX and AMD code objects, each in a process of its own."""

import io

import pytest
from elftools.elf.elffile import ELFFile
from emit_modules import Module, vector_add
from ktc import targets
from ktc.diag.diagnostic import Bug, CompileError
from ktc.emit import device, llvm
from ktc.emit.device import UndefinedFunctions, host_job, images
from ktc.emit.kernel import emit_kernel
from ktc.emit.tools import assemble_ptx, find_ptxas
from ktc.emit.workers import Workers
from ktc.targets.host import host_target

NVIDIA = [target for target in targets.device_targets() if target.vendor == "nvidia"]
AMD = [target for target in targets.device_targets() if target.vendor == "amd"]


@pytest.fixture(scope="module")
def workers():
    with Workers(2) as running:
        yield running


@pytest.mark.parametrize("target", NVIDIA, ids=lambda target: target.name)
def test_ptx(target, workers):
    data = images([vector_add(target)], {"vadd": {"image", "asm"}}, 3, workers=workers)["vadd"].data
    assert data["image"] == data["asm"]
    text = data["image"].decode()
    number = target.features.removeprefix("+ptx")
    assert f".version {number[0]}.{number[1]}\n" in text
    assert f".target {target.cpu}\n" in text
    assert ".visible .entry vadd(" in text


@pytest.mark.skipif(not find_ptxas(), reason="ptxas is not installed")
@pytest.mark.parametrize("target", NVIDIA, ids=lambda target: target.name)
def test_ptxas_accepts_it(target, workers):
    wanted = {"vadd": {"object"}}
    cubin = images([vector_add(target)], wanted, 3, workers=workers, ptxas=find_ptxas())["vadd"].data["object"]
    elf = ELFFile(io.BytesIO(cubin))
    assert elf.get_section_by_name(".text.vadd") is not None


@pytest.mark.skipif(not find_ptxas(), reason="ptxas is not installed")
def test_what_ptxas_refuses_is_a_bug():
    with pytest.raises(Bug, match=r"ptxas refuses the kernel: .*kernel.ptx"):
        assemble_ptx(find_ptxas(), b".version 8.0\n.target sm_90\nnonsense", "sm_90")


@pytest.mark.parametrize("target", AMD, ids=lambda target: target.name)
def test_amd_code_object_loads(target, workers):
    elf = ELFFile(io.BytesIO(images([vector_add(target)], {}, 3, workers=workers)["vadd"].data["image"]))
    assert elf["e_type"] == "ET_DYN"
    assert elf["e_flags"] & 0xFF
    assert elf.header["e_ident"]["EI_ABIVERSION"] == 3


def test_kinds(workers):
    target = targets.find("gfx942")
    wanted = {"asm", "llvm", "llvm-opt", "object"}
    module = vector_add(target)
    data = images([module], {"vadd": wanted}, 2, workers=workers)["vadd"].data
    assert set(data) == wanted
    assert data["llvm"] == module.text.encode()
    assert b"fadd float" in data["llvm-opt"]
    assert b".amdhsa_kernel vadd" in data["asm"]
    assert data["object"][:4] == b"\x7fELF"


def test_many_kernels_keep_their_names(workers):
    target = targets.find("sm_90")
    modules = [vector_add(target, f"kernel_{index}") for index in range(6)]
    made = images(modules, {}, 1, workers=workers)
    assert list(made) == [module.kernel for module in modules]
    assert all(f".entry {name}(" in image.data["image"].decode() for name, image in made.items())


def test_the_result_does_not_depend_on_the_process():
    target = targets.find("sm_80")
    here = emit_kernel(vector_add(target), {"image"}, 3)
    assert images([vector_add(target)], {}, 3, jobs=1)["vadd"].data == here


def test_a_long_kernel_is_the_last_of_its_process(monkeypatch):
    target = targets.find("sm_80")
    usual = emit_kernel(vector_add(target), {"image"}, 3)
    monkeypatch.setattr(device, "_LONG", 1)
    with Workers(1) as workers:
        for _ in range(2):
            assert images([vector_add(target)], {}, 3, workers=workers)["vadd"].data == usual
        first, second = sorted(workers.usage)
        assert workers.usage[first].pid != workers.usage[second].pid


def test_unreadable_text_is_a_bug_with_its_line(workers):
    module = vector_add(targets.find("sm_90"), body="%s = fadx float %va, %vb")
    with pytest.raises(Bug, match=r"rejects the code of kernel 'vadd': .* in line \d+: %s = fadx float"):
        images([module], {}, 3, workers=workers)


def test_a_rejected_module_is_a_bug(workers):
    module = vector_add(targets.find("gfx942"), body="%s = fadd float %va, %vb\n  %stack = alloca i32, addrspace(1)")
    with pytest.raises(Bug, match="rejects the code of kernel 'vadd'"):
        images([module], {}, 3, workers=workers)


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("sm_90", "%s = call float @llvm.tan.f32(float %va)", "no libcall available for ftan"),
        (
            "gfx90a",
            "%r = call i32 @llvm.amdgcn.permlane64.i32(i32 %i)\n  %s = sitofp i32 %r to float",
            "Assertion .* failed",
        ),
    ],
)
def test_what_llvm_dies_of_is_one_bug(name, body, said, workers):
    module = vector_add(targets.find(name), body=body)
    with pytest.raises(Bug, match=f"gave up on kernel 'vadd': .*{said}"):
        images([module], {}, 3, workers=workers)
    # and the next kernel is compiled as if nothing had been
    assert images([vector_add(targets.find(name))], {}, 3, workers=workers)["vadd"].data


def test_an_intrinsic_that_the_target_lacks_is_an_error_of_the_program(workers):
    body = "%r = call i32 @llvm.nvvm.redux.sync.add(i32 %i, i32 -1)\n  %s = sitofp i32 %r to float"
    with pytest.raises(CompileError, match=r"kernel 'vadd' has no instruction for the intrinsic 'llvm\.nvvm\.redux"):
        images([vector_add(targets.find("sm_75"), body=body)], {}, 3, workers=workers)


def test_undefined_functions_are_found_before_llvm():
    module = vector_add(targets.find("sm_90"))
    module = Module(module.target, module.text, "vadd", ("vprintf", "llvm.sqrt.f32", "expf"))
    with pytest.raises(UndefinedFunctions) as caught:
        images([module], {}, 3)
    assert (caught.value.kernel, caught.value.functions) == ("vadd", ("expf",))


def test_host_and_kernels_together(workers):
    host = host_target()
    program = Module(host, f'target datalayout = "{host.data_layout}"\ndefine i32 @main() {{\n ret i32 0\n}}')
    ticket, seen = workers.submit(host_job(program, "object", 2)), list[str]()
    made = images([vector_add(targets.find("sm_90"))], {}, 2, workers=workers, meanwhile=lambda: seen.append("now"))
    assert workers.result(ticket)[:4] == b"\x7fELF" and "vadd" in made and seen == ["now"]


def test_level_zero_keeps_and_three_removes_dead_code():
    target = targets.find("sm_90")
    body = "%dead = fmul float %va, %va\n  %s = fadd float %va, %vb"
    texts = []
    for level in (0, 3):
        with llvm.optimized(vector_add(target, body=body).text, target, level) as module:
            texts.append(llvm.llvm_text(module))
    assert ["%dead" in text for text in texts] == [True, False]


def test_the_processor_as_a_device(workers):
    target = targets.find("cpu", host_target())
    module = Module(
        target,
        f"""target datalayout = "{target.data_layout}"
target triple = "{target.triple}"
define void @scale(ptr %a, i32 %thread) {{
  %p = getelementptr float, ptr %a, i32 %thread
  %v = load float, ptr %p
  %w = fmul float %v, 2.0
  store float %w, ptr %p
  ret void
}}""",
        "scale",
    )
    data = images([module], {"scale": {"image", "asm"}}, 3, workers=workers)["scale"].data
    elf = ELFFile(io.BytesIO(data["image"]))
    assert elf["e_type"] == "ET_REL" and b"scale" in data["asm"]
    assert any(symbol.name == "scale" for symbol in elf.get_section_by_name(".symtab").iter_symbols())
