"""AMD code objects: what a loader made from the format's description takes and refuses; what lld makes of the same."""

import ctypes
import io
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from emit_modules import vector_add
from ktc import targets
from ktc.emit import llvm
from ktc.emit.objects import hsaco

from runtimes import HIP_SOURCES, library

AMD = [target.name for target in targets.device_targets() if target.vendor == "amd"]
LLD = [sys.executable, "-m", "ziglang", "ld.lld"]


@pytest.fixture(scope="module")
def loader(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    made = ctypes.CDLL(str(library(tmp_path_factory.mktemp("hip"), "libamdhip64.so.6", HIP_SOURCES)))
    made.load_code_object.restype = ctypes.c_char_p
    return made


def refusal(loader: ctypes.CDLL, image: bytes, processor: str) -> str:
    """Return why a code object is refused, or ""."""
    words = loader.load_code_object(image, processor.encode(), ctypes.create_string_buffer(1 << 16))
    return words.decode() if words else ""


def relocatable(name: str) -> bytes:
    target = targets.find(name)
    assert target is not None
    with llvm.optimized(vector_add(target).text, target, 3) as module:
        return llvm.object_code(module, target, 3)


@pytest.mark.parametrize("name", AMD)
def test_the_dynamic_loader_accepts_the_object(name: str, loader: ctypes.CDLL) -> None:
    image = hsaco.link(relocatable(name))
    assert refusal(loader, image, name) == ""
    other = "gfx942" if name != "gfx942" else "gfx950"
    assert "code of processor" in refusal(loader, image, other)


@pytest.mark.parametrize(
    ("words", "place", "bits"),
    [
        ("not a shared object", 16, 2),
        ("code object version 4", 8, 1),
        ("descriptor and metadata of 'vadd' differ", "vadd.kd+8", 8),
        ("the descriptor of 'vadd' has another entry", "vadd.kd+17", 1),
        ("the lanes of 'vadd' differ", "vadd.kd+57", 4),
        ("the stack of 'vadd' differs", "vadd.kd+57", 8),
        ("reserved bytes of 'vadd' are set", "vadd.kd+12", 1),
    ],
)
def test_the_loader_refuses(words: str, place: int | str, bits: int, loader: ctypes.CDLL) -> None:
    image = bytearray(hsaco.link(relocatable("gfx942")))
    if isinstance(place, str):
        symbol, _, offset = place.partition("+")
        (found,) = ELFFile(io.BytesIO(image)).get_section_by_name(".dynsym").get_symbol_by_name(symbol)
        place = found["st_value"] + int(offset)  # the first segment lies at 0
    image[place] ^= bits
    assert words in refusal(loader, bytes(image), "gfx942")


@pytest.mark.skipif(not find_spec("ziglang"), reason="zig brings lld (pip install 'ktc[cross]')")
@pytest.mark.parametrize("name", ["gfx90a", "gfx942", "gfx1100", "gfx1200"])
def test_lld_produces_the_same(name: str, loader: ctypes.CDLL, tmp_path: Path) -> None:
    """The same symbols, notes, sizes of code and constants, and relocations that the loader applies."""
    source = relocatable(name)
    (tmp_path / "in.o").write_bytes(source)
    words = ["-shared", "--no-undefined", "-o", str(tmp_path / "out"), str(tmp_path / "in.o")]
    subprocess.run([*LLD, *words], check=True)
    ours, theirs = hsaco.link(source), (tmp_path / "out").read_bytes()
    assert refusal(loader, theirs, name) == ""
    assert parts(ours) == parts(theirs)


def parts(image: bytes) -> dict[str, object]:
    """Return what must not differ between two linkers."""
    file = ELFFile(io.BytesIO(image))
    symbols = {
        one.name: (one["st_info"]["type"], one["st_info"]["bind"], one["st_other"]["visibility"], one["st_size"])
        for one in file.get_section_by_name(".dynsym").iter_symbols()
    }
    relocations = file.get_section_by_name(".rela.dyn")
    return {
        "flags": (file["e_flags"], file["e_ident"]["EI_ABIVERSION"], file["e_type"]),
        "symbols": symbols,
        "note": file.get_section_by_name(".note").data(),
        "code": file.get_section_by_name(".text")["sh_size"],
        "constants": file.get_section_by_name(".rodata")["sh_size"],
        "relocations": sorted(one["r_info_type"] for one in relocations.iter_relocations()) if relocations else [],
    }
