"""The library's archive: what is in it, that programs fill it, and that they do the same with it and without it."""

import multiprocessing
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ktc import config
from ktc.base.cache import Cache
from ktc.base.records import replace
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source
from ktc.driver import archive_list, library_archive, pipeline
from ktc.driver.front_end import kept_library
from ktc.elaborate.model.body_store import Declarations, Listed, Packed
from ktc.ir.text import print_function, print_global
from ktc.targets import checked

HELLO = """
def main():
    print("Hello, world!")
"""

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


def built(folder: Path, cache: Path, text: str, **options: object) -> bytes:
    """Return the executable of a program, built in a process of its own: what that knows is not known here."""
    folder.mkdir(exist_ok=True)
    in_process(lambda: pipeline.build(session(folder, cache, text, **options)))
    return (folder / "out").read_bytes()


def started(call: Callable[[], object]) -> multiprocessing.Process:
    process = multiprocessing.get_context("fork").Process(target=call)
    process.start()
    return process


def in_process(call: Callable[[], object]) -> None:
    process = started(call)
    process.join()
    assert process.exitcode == 0


def code(folder: Path, cache: Path, **options: object) -> kept_library.KeptCode:
    one = session(folder, cache, HELLO, **options)
    return kept_library.code(one.config, one.cache)


def test_the_first_build_compiles_what_it_needs_and_the_next_one_nothing(tmp_path: Path) -> None:
    """A first build must not elaborate or compile the whole library: the first minute of every user would pay."""
    cache = tmp_path / "cache"
    first = built(tmp_path, cache, HELLO)
    one = session(tmp_path, cache, HELLO)
    known = kept_library.code(one.config, one.cache)
    bodies, _ = kept_library.bodies(one.config, one.cache)
    assert 3 <= len(known.functions) <= 40
    assert 20 <= len(bodies.packed.bodies) <= 400
    assert len(bodies.modules) <= 80
    assert all(needed in known.objects for needs in known.needs.values() for needed in needs)
    elaborated = pipeline._front(one, None, kept_library.kept(one.config, one.cache))
    assert not elaborated.host.apart, "all that it needs is there"
    assert built(tmp_path / "b", cache, HELLO.replace("world", "other")) != first
    assert code(tmp_path, cache).objects == known.objects


def test_executables_are_the_same_with_an_empty_and_a_filled_archive(tmp_path: Path) -> None:
    alone = built(tmp_path / "a", tmp_path / "one", PROGRAM)
    hello = built(tmp_path / "b", tmp_path / "other", HELLO)
    assert built(tmp_path / "a", tmp_path / "other", PROGRAM) == alone
    assert built(tmp_path / "b", tmp_path / "one", HELLO) == hello
    for option in ({"debug": 2}, {"level": 0}):
        alone = built(tmp_path / "a", tmp_path / "one", HELLO, **option)
        assert built(tmp_path / "a", tmp_path / "other", HELLO, **option) == alone


SETS = """
def main():
    var d = Dict[String, Int]()
    d["a"] = 3
    print(len(d))
"""

READS = """
def main():
    var d = Dict[String, Int]()
    d["a"] = 3
    print(d["a"])
"""


def test_the_order_of_programs_does_not_matter(tmp_path: Path) -> None:
    """What a function's callers may rely on is the same, whether the archive had its callees already or not."""

    def filled_by(name: str, *texts: str) -> kept_library.KeptCode:
        for number, text in enumerate(texts):
            built(tmp_path / f"{name}{number}", tmp_path / name, text, level=0)
        return code(tmp_path, tmp_path / name, level=0)

    forth, back = filled_by("forth", SETS, READS), filled_by("back", READS, SETS)
    assert dict(forth.functions) == dict(back.functions)
    assert dict(forth.objects) == dict(back.objects)


def test_two_first_builds_at_once(tmp_path: Path) -> None:
    """Both fill the archive, and neither loses what the other has put there."""
    cache = tmp_path / "cache"
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    builds = [
        started(lambda: pipeline.build(session(tmp_path / "a", cache, HELLO))),
        started(lambda: pipeline.build(session(tmp_path / "b", cache, PROGRAM))),
    ]
    for one in builds:
        one.join()
        assert one.exitcode == 0
    said = subprocess.run([tmp_path / "b" / "out"], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[0] == "<b> [1, 2, 3] 2.5 1x2"
    for text in (HELLO, PROGRAM):
        one = session(tmp_path, cache, text)
        elaborated = pipeline._front(one, None, kept_library.kept(one.config, one.cache))
        assert not elaborated.host.apart


@pytest.mark.parametrize("place", ["keep_code", "keep_bodies"])
def test_a_build_that_is_killed_leaves_a_sound_archive(tmp_path: Path, place: str) -> None:
    cache = tmp_path / "cache"

    def killed() -> None:
        setattr(kept_library, place, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        pipeline.build(session(tmp_path, cache, HELLO))

    one = started(killed)
    one.join()
    assert one.exitcode == -signal.SIGKILL
    assert not code(tmp_path, cache).objects
    built(tmp_path, cache, HELLO)
    assert subprocess.run([tmp_path / "out"], capture_output=True, text=True, check=True).stdout == "Hello, world!\n"


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


def test_the_list_is_what_the_seed_reaches(tmp_path: Path, program_cache: Path) -> None:
    """The list decides what is compiled apart from programs; `make archive` writes it."""
    cache = Cache(program_cache)
    usual = archive_list.settings(cache)[0]
    have, made = kept_library.listed(usual), archive_list.seed_of(usual, cache).listed()
    assert made.functions <= have.functions, "run 'make archive'"
    assert made.variables <= have.variables, "run 'make archive'"
    assert made.bodies <= have.bodies, "run 'make archive'"
    assert {*made.defines} <= {*have.defines}, "run 'make archive'"


def test_functions_of_other_settings_are_inlined_in_usual_builds(tmp_path: Path, program_cache: Path) -> None:
    usual = kept_library.listed(session(tmp_path, program_cache).config)
    for options in ({"debug": config.FULL_DEBUG}, {"checks": checked.KINDS}, {"defines": ("ASSERT=all",)}):
        more = kept_library.listed(session(tmp_path, program_cache, **options).config)
        assert usual.functions < more.functions and usual.bodies == more.bodies


def test_a_function_that_needs_an_unlisted_variable_is_compiled_with_the_program(
    tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is not made for all settings; a function that it has can need with others what it lacks."""
    listed = kept_library.listed

    def without_variables(made: config.Config) -> Listed:
        return replace(listed(made), variables=frozenset())

    monkeypatch.setattr(kept_library, "listed", without_variables)
    built(tmp_path, tmp_path / "cache", KERNELS)
    said = subprocess.run([tmp_path / "out"], capture_output=True, text=True, check=True).stdout
    monkeypatch.undo()
    built(tmp_path, program_cache, KERNELS)
    assert said == subprocess.run([tmp_path / "out"], capture_output=True, text=True, check=True).stdout != ""


def apart(folder: Path, cache: Path, accelerators: str) -> set[str]:
    """Return the titles of what the archive must have for a program with a kernel."""
    one = session(folder, cache, KERNELS, accelerators=accelerators)
    library = replace(kept_library.kept(one.config, one.cache), functions={}, variables=frozenset())
    units = pipeline._front(one, None, library).host.apart
    return {unit.functions[symbol].title for symbol, unit in units.items() if symbol in unit.functions}


def test_what_is_compiled_apart_are_long_functions_of_the_library(tmp_path: Path, program_cache: Path) -> None:
    pipeline.build(session(tmp_path, program_cache, KERNELS))
    packed = code(tmp_path, program_cache).functions
    declarations = Declarations(packed, lambda path: Source(path, ""))
    functions = [one for one in map(declarations.get, packed) if one is not None]
    assert len(functions) == len(declarations) and declarations.get("nothing") is None
    assert not any(function.body or function.inline == "always" for function in functions)
    titles = apart(tmp_path, program_cache, "sm_90")
    assert {"DriverKernels.load", "start_on_gpu"} <= titles
    assert not {"start_on_cpu", "CpuStream.append", "choose_amd", "hip_part"} & titles  # of other targets
    assert not any("_launch_on" in title for title in titles)  # it depends on the program's targets
    assert "String.byte_length" not in titles  # short: LLVM inlines it


def test_a_program_for_the_cpu_links_nothing_of_gpus(tmp_path: Path, program_cache: Path) -> None:
    titles = apart(tmp_path, program_cache, "cpu")
    assert "start_on_cpu" in titles
    assert not {"DriverKernels.load", "DriverMemory.__init__", "start_on_gpu", "_open_gpu"} & titles


def test_what_devices_need_is_on_the_list(program_cache: Path) -> None:
    """The place of a call, as in assertions, or the program's targets would keep a function out, and so make
    every program with kernels compile it."""
    listed = kept_library.listed(archive_list.settings(Cache(program_cache))[0])
    names = {symbol.rpartition("$")[0] for symbol in listed.functions}
    wanted = {"open_state", "_open_gpu", "_target_of", "choose_nvidia", "fill_device", "copy_memory", "cpu_threads"}
    assert wanted | {"handle_signals", "launch_on_cpu", "load", "format_float", "atol", "format_fields"} <= names


def test_damaged_entries_are_rebuilt(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    made = session(tmp_path, tmp_path / "cache").config
    assert not kept_library.code(made, cache).objects
    cache.put(kept_library.code_key(made), b"damaged")
    cache.put(kept_library.bodies_key(made, None), b"damaged")
    assert not kept_library.code(made, cache).objects
    assert not kept_library.bodies(made, cache)[0].packed


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
    pipeline.build(one)
    library = kept_library.kept(one.config, one.cache)
    assert len(library.packed.bodies) > 300 and len(library.devices["sm_90"].bodies) > 30
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
            for one in (library.inlined(), without.inlined())
        )
    ]
    assert len(units[0]) > 100
    assert units[0] == units[1]


def test_the_archive_depends_on_the_defines_that_the_library_reads(tmp_path: Path, program_cache: Path) -> None:
    made = session(tmp_path, program_cache).config
    checked, other = (replace(made, defines={**made.defines, **more}) for more in ({"ASSERT": "all"}, {"N": "3"}))
    (device,) = made.accelerators[:1]
    for key in (kept_library.code_key, lambda config: kept_library.bodies_key(config, device)):
        assert key(checked) != key(made)
        assert key(other) == key(made)
    assert kept_library.code_key(replace(made, level=2)) != kept_library.code_key(made)
    bodies = kept_library.bodies_key(made, device)
    assert kept_library.bodies_key(replace(made, level=2, debug=1), device) == bodies, "they are not compiled"
    assert kept_library.bodies_key(replace(made, debug=2), device) != bodies, "variables are described"
    assert kept_library.bodies_key(made, None) != bodies
