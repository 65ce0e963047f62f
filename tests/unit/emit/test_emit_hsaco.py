"""The AMD linker, read back with pyelftools."""

import io
import itertools

import pytest
from elftools.elf.elffile import ELFFile
from emit_modules import vector_add
from ktc import targets
from ktc.diag.diagnostic import Bug
from ktc.emit import llvm
from ktc.emit.backend_errors import backend_error
from ktc.emit.objects import elf, hsaco

TARGET = targets.find("gfx942")


def relocatable(target=TARGET, **more):
    module = vector_add(target, **more)
    return compiled(module.text, target)


def compiled(text, target):
    with llvm.optimized(text, target, 3) as module:
        return llvm.object_code(module, target, 3)


@pytest.fixture(scope="module")
def source():
    return relocatable()


@pytest.fixture(scope="module")
def linked(source):
    return ELFFile(io.BytesIO(hsaco.link(source)))


def segments(linked, kind):
    return [segment for segment in linked.iter_segments() if segment["p_type"] == kind]


def test_header_is_that_of_the_object(source, linked):
    before = ELFFile(io.BytesIO(source))
    assert (linked["e_type"], linked["e_machine"]) == ("ET_DYN", "EM_AMDGPU")
    assert linked["e_flags"] == before["e_flags"]
    linked.stream.seek(7)
    assert linked.stream.read(1) == b"\x40"  # ELFOSABI_AMDGPU_HSA; pyelftools gives the number another machine's name
    assert linked.header["e_ident"]["EI_ABIVERSION"] == 3


def test_dynamic_symbols(linked):
    names = {symbol.name: symbol for symbol in linked.get_section_by_name(".dynsym").iter_symbols()}
    assert set(names) == {"", "vadd", "vadd.kd"}
    assert names["vadd"]["st_info"]["type"] == "STT_FUNC"
    assert names["vadd.kd"]["st_info"]["type"] == "STT_OBJECT"
    assert names["vadd.kd"]["st_size"] == 64
    text, rodata = linked.get_section_by_name(".text"), linked.get_section_by_name(".rodata")
    assert names["vadd"]["st_value"] == text["sh_addr"] and text["sh_addr"] % 256 == 0
    assert names["vadd.kd"]["st_value"] % 64 == 0 and names["vadd.kd"]["st_value"] >= rodata["sh_addr"]


def test_the_hash_table_finds_each_symbol(linked):
    table = linked.get_section_by_name(".hash")
    assert table.get_symbol("vadd").name == "vadd" and table.get_symbol("vadd.kd").name == "vadd.kd"
    assert table.get_symbol("other") is None


def test_the_descriptor_leads_to_the_code(linked):
    symbols = {symbol.name: symbol["st_value"] for symbol in linked.get_section_by_name(".dynsym").iter_symbols()}
    rodata = linked.get_section_by_name(".rodata")
    start = symbols["vadd.kd"] - rodata["sh_addr"] + 16
    entry = int.from_bytes(rodata.data()[start : start + 8], "little", signed=True)
    assert symbols["vadd.kd"] + entry == symbols["vadd"]


def test_segments(linked):
    loads = segments(linked, "PT_LOAD")
    assert [segment["p_flags"] for segment in loads] == [4, 5, 6, 6]
    ends = [(segment["p_vaddr"], segment["p_vaddr"] + segment["p_memsz"]) for segment in loads]
    pages = [set(range(start // 4096, (end + 4095) // 4096)) for start, end in ends]
    assert not any(left & right for index, left in enumerate(pages) for right in pages[index + 1 :])
    assert all(segment["p_vaddr"] % 4096 == segment["p_offset"] % 4096 for segment in loads)
    assert len(segments(linked, "PT_DYNAMIC")) == len(segments(linked, "PT_NOTE")) == 1


def test_sections_lie_in_segments_and_do_not_overlap(linked):
    placed = sorted(
        (s["sh_offset"], s["sh_size"], s.name) for s in linked.iter_sections() if s["sh_type"] != "SHT_NOBITS"
    )
    for (offset, size, name), (next_offset, _, next_name) in itertools.pairwise(placed):
        assert offset + size <= next_offset, (name, next_name)


def test_note(linked):
    (note,) = segments(linked, "PT_NOTE")[0].iter_notes()
    assert note["n_name"] == "AMDGPU" and note["n_type"] in (32, "NT_AMDGPU_METADATA")
    assert b"amdgcn-amd-amdhsa--gfx942" in linked.get_section_by_name(".note").data()


def test_a_pointer_to_a_global_becomes_a_dynamic_relocation(linked):
    (relocation,) = linked.get_section_by_name(".rela.dyn").iter_relocations()
    bss, data = linked.get_section_by_name(".bss"), linked.get_section_by_name(".data")
    assert relocation["r_info_type"] == 13
    assert bss["sh_addr"] <= relocation["r_addend"] < bss["sh_addr"] + bss["sh_size"]
    assert data["sh_addr"] <= relocation["r_offset"] < data["sh_addr"] + data["sh_size"]
    tags = {tag["d_tag"]: tag["d_val"] for tag in linked.get_section_by_name(".dynamic").iter_tags()}
    assert tags["DT_RELASZ"] == 24 and tags["DT_HASH"] == linked.get_section_by_name(".hash")["sh_addr"]


def test_code_addresses_its_globals(source, linked):
    """Each pair of relocations of the code gives the distance to a section of data."""
    before = elf.read(source)
    text = next(i for i, section in enumerate(before.sections) if section.name == ".text")
    low = [relocation for relocation in before.relocations if relocation.section == text and relocation.kind == 10]
    assert low
    code = linked.get_section_by_name(".text")
    spans = [(s["sh_addr"], s["sh_addr"] + s["sh_size"]) for s in linked.iter_sections() if s["sh_flags"] & 2]
    for relocation in low:
        distance = int.from_bytes(code.data()[relocation.offset : relocation.offset + 4], "little", signed=True)
        target = code["sh_addr"] + relocation.offset + distance - relocation.addend
        assert any(start <= target < end for start, end in spans)


def test_linking_is_repeatable(source):
    assert hsaco.link(source) == hsaco.link(source)


def test_an_undefined_symbol_is_refused():
    module = vector_add(TARGET).text.replace("define amdgpu", "declare hidden float @other(float)\ndefine amdgpu")
    module = module.replace("%s = fadd float %va, %vb", "%s = call float @other(float %va)")
    code = compiled(module, TARGET)
    with pytest.raises(Bug, match="'other'"):
        hsaco.link(code)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"not an object at all"])
def test_what_is_no_object_is_refused(data):
    with pytest.raises(Bug, match="cannot link"):
        hsaco.link(data)


def test_an_object_of_the_host_is_refused():
    from ktc.targets.host import host_target

    host = host_target()
    code = compiled(f'target datalayout = "{host.data_layout}"\n@x = global i32 1', host)
    with pytest.raises(Bug, match="not AMDGPU"):
        hsaco.link(code)


def test_a_target_without_an_assembler_is_an_error_of_the_program():
    error = backend_error("kernel 'k'", "LLVM ERROR: Inline asm not supported by this streamer")
    assert "no assembler for the target of kernel 'k'" in str(error)


def test_an_intrinsic_of_another_target_is_named():
    error = backend_error("kernel 'k'", "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.ex2.approx.ftz (signal 6)")
    assert "no instruction for the intrinsic 'llvm.nvvm.ex2.approx.ftz'" in str(error)
