"""The library's archive: what is in it, and that programs do the same with it and without it."""

import subprocess
from pathlib import Path

import pytest
from ktc import config
from ktc.base.cache import Cache
from ktc.base.records import replace
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source
from ktc.driver import library_archive, pipeline
from ktc.driver.front_end import kept_library
from ktc.elaborate.model.body_store import Declarations, Packed
from ktc.emit.workers import Workers
from ktc.ir.text import print_function, print_global

PROGRAM = """
struct Own(Copyable, Movable, Stringable):
    var word: String

    fn __init__(out self, word: String):
        self.word = word

    fn __str__(self) -> String:
        return "<" + self.word + ">"

def main():
    var words = List[Own](Own("b"), Own("a"))
    var numbers = List[Int](3, 1, 2)
    sort(numbers)
    print(String(words[0]), numbers.__str__(), 2.5, "x".join(List[String]("1", "2")))
    try:
        _ = Int("no number")
    except e:
        print(e)
"""


def session(folder: Path, cache: Path, text: str = PROGRAM, **options: object) -> pipeline.Session:
    source = folder / "prog.kpy"
    source.write_text(text)
    kept, sink = Cache(cache), Sink()
    options_of_user = config.Options(source, output=folder / "out", writes=True, **{"accelerators": "cpu", **options})
    made = config.resolve(options_of_user, sink, kept)
    assert made is not None
    return pipeline.Session(made, kept, sink)


@pytest.fixture
def archive(tmp_path: Path, program_cache: Path) -> library_archive.Archive:
    one = session(tmp_path, program_cache)
    with Workers(1) as workers:
        found = library_archive.find(one.config, one.cache, workers)
        assert found is not None
        assert [data[:4] for data in found.finished(one.cache, workers)] == [b"\x7fELF"] * library_archive.PARTS
    return found


def test_a_program_does_the_same_with_the_archive_and_without(
    tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_it = pipeline.build(session(tmp_path, program_cache)).path
    small = [function for function in pipeline.emit(session(tmp_path, program_cache), "llvm").split(b"define ")]
    said = subprocess.run([with_it], capture_output=True, text=True, check=True).stdout
    monkeypatch.setattr(library_archive, "find", lambda *_: None)
    (tmp_path / "b").mkdir()
    without = pipeline.build(session(tmp_path / "b", program_cache)).path
    assert subprocess.run([without], capture_output=True, text=True, check=True).stdout == said
    assert said.splitlines()[0] == "<b> [1, 2, 3] 2.5 1x2"
    assert len(small) > 50  # what is shown to a person has the library in it


def test_the_archive_holds_long_functions_of_the_library_only(archive: library_archive.Archive) -> None:
    packed = archive.library.functions
    declarations = Declarations(packed, lambda path: Source(path, ""))
    functions = [one for one in map(declarations.get, packed) if one is not None]
    assert len(functions) == len(declarations) and declarations.get("nothing") is None
    titles = {function.title for function in functions}
    assert {"DriverKernels.load", "atol", "start_on_gpu", "format_fields"} <= titles
    assert not any(function.body or function.inline == "always" for function in functions)
    assert not any("_launch_on" in title for title in titles)  # it depends on the program's targets
    assert "String.byte_length" not in titles  # short: LLVM inlines it


def test_what_devices_need_is_in_the_archive(archive: library_archive.Archive) -> None:
    """The place of a call, as in assertions, or the program's targets would keep a function out, and so make
    every program with kernels compile it."""
    names = {symbol.rpartition("$")[0] for symbol in archive.library.functions}
    wanted = {"open_state", "_open_gpu", "_target_of", "nvidia_target", "fill_device", "copy_memory", "cpu_threads"}
    assert wanted | {"handle_signals", "launch_on_cpu", "load", "format_float"} <= names


def test_damaged_entries_are_rebuilt(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    made = session(tmp_path, tmp_path / "cache").config
    base = kept_library.base_key(made, made.host)
    assert kept_library.read(made, cache, base) is None
    cache.put(base, b"ASSERT")
    cache.put(kept_library.key_of(base, made, ["ASSERT"]), b"damaged")
    assert kept_library.read(made, cache, base) is None


KERNELS = """
from gpu import global_idx
from gpu.host import DeviceContext
from layout import Layout, LayoutTensor
from memory import UnsafePointer

alias layout = Layout.row_major(7, 5)

fn scale(t: LayoutTensor[DType.float32, layout, MutAnyOrigin], p: UnsafePointer[Float32, MutAnyOrigin], n: Int):
    var i = Int(global_idx.x)
    if i < n:
        t[i // 5, i % 5] = t[i // 5, i % 5] * 2 + p[i]

def main():
    var ctx = DeviceContext()
    var a = ctx.enqueue_create_buffer[DType.float32](35)
    var t = LayoutTensor[DType.float32, layout](a)
    ctx.enqueue_function_checked[scale, scale](t, a.unsafe_ptr(), 35, grid_dim=1, block_dim=64)
    var words = Dict[String, List[Int]]()
    words["a"] = [1, 2]
    with a.map_to_host() as mapped:
        print(mapped[0], words["a"].__str__(), layout)
"""


def test_stored_bodies_equal_elaborated_ones(tmp_path: Path, program_cache: Path) -> None:
    one = session(tmp_path, program_cache, KERNELS, accelerators="sm_90")
    with Workers(1) as workers:
        found = library_archive.find(one.config, one.cache, workers)
        assert found is not None
        found.finished(one.cache, workers)
    library = found.library
    without = replace(library, packed=Packed(), devices={})
    units = [
        {
            symbol: print_function(function)
            for unit in (made.host, *made.devices)
            for symbol, function in unit.functions.items()
        }
        | {
            f"{symbol} of {unit.target.name}": print_global(held)
            for unit in (made.host, *made.devices)
            for symbol, held in unit.globals.items()
        }
        for made in (
            pipeline._front(session(tmp_path, program_cache, KERNELS, accelerators="sm_90"), None, one)
            for one in (library, without)
        )
    ]
    assert len(units[0]) > 100
    assert len(library.packed.bodies) > 1000
    assert units[0] == units[1]


def test_the_archive_depends_on_the_defines_that_the_library_reads(tmp_path: Path, program_cache: Path) -> None:
    made = session(tmp_path, program_cache).config
    base = kept_library.base_key(made, made.host)
    checked, other = replace(made, defines={"ASSERT": "all"}), replace(made, defines={"N": "3"})
    plain = kept_library.key_of(base, made, ["ASSERT"])
    assert kept_library.key_of(base, checked, ["ASSERT"]) != plain
    assert kept_library.key_of(base, other, ["ASSERT"]) == plain
    assert kept_library.base_key(replace(made, level=2), made.host) != base
    (device,) = made.accelerators[:1]
    bodies = kept_library.base_key(made, device)
    assert kept_library.base_key(replace(made, level=2, debug=1), device) == bodies, "they are not compiled"
    assert kept_library.base_key(replace(made, debug=2), device) != bodies, "variables are described"
