"""The driver over a hand-made program: a host that returns a number, and a kernel's image inside it."""

import subprocess
from pathlib import Path

import pytest
from ktc import config
from ktc.base.cache import Cache
from ktc.diag.diagnostic import CompileError, Sink
from ktc.driver import build_cache, library_archive, pipeline
from ktc.driver.front_end import stages
from ktc.ir.nodes import Argument, Const, Function, Global, ImageRef, Kernel, Program, Return, Store, Unit
from ktc.ir.types import PTR, VOID, ArrayType, IntType

I32 = IntType(32)


def session(tmp_path: Path, number: int = 7, **options: object) -> pipeline.Session:
    source = tmp_path / "prog.kpy"
    source.write_text(f"alias n = {number}\n")
    cache, sink = Cache(tmp_path / "cache"), Sink()
    made = config.resolve(
        config.Options(source, output=tmp_path / "out", writes=True, **{"accelerators": "cpu", **options}), sink, cache
    )
    assert made is not None
    return pipeline.Session(made, cache, sink)


@pytest.fixture
def returns(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make the elaborator give a program that returns the number in the list; counts its calls by growing."""
    numbers = [7]

    def elaborate(package: object, made: config.Config, sink: Sink, library: object, *_: object) -> Program:
        numbers.append(numbers[-1])
        body = (Return(Const(I32, numbers[0])),)
        entry = Function("start", "start", (("argc", I32), ("argv", PTR)), I32, body)
        return Program(Unit(made.host, {"start": entry}), (), "start")

    monkeypatch.setattr(stages, "elaborate", elaborate)
    monkeypatch.setattr(library_archive, "find", lambda *_: None)
    return numbers


def test_build_produces_an_executable(tmp_path: Path, returns: list[int]) -> None:
    made = pipeline.build(session(tmp_path))
    assert subprocess.run([made.path], check=False).returncode == 7
    assert made.size_bytes == made.path.stat().st_size


def test_two_builds_in_two_folders_are_the_same_bytes(tmp_path: Path, returns: list[int]) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = pipeline.build(session(tmp_path / "a")), pipeline.build(session(tmp_path / "b"))
    assert first.path.read_bytes() == second.path.read_bytes()


def test_the_failing_stage_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def elaborate(*_: object) -> Program:
        raise RuntimeError("boom")

    monkeypatch.setattr(stages, "elaborate", elaborate)
    monkeypatch.setattr(library_archive, "find", lambda *_: None)
    one = session(tmp_path)
    with pytest.raises(RuntimeError):
        pipeline.build(one)
    assert one.current == "elaborate"


@pytest.mark.parametrize(
    ("kind", "part"), [("ir", b"start"), ("llvm", b"define"), ("asm", b"main:"), ("object", b"\x7fELF")]
)
def test_emit_shows_each_stage_of_the_host(tmp_path: Path, returns: list[int], kind: str, part: bytes) -> None:
    assert part in pipeline.emit(session(tmp_path), kind)


def test_a_kernel_of_a_program_without_kernels_is_an_error(tmp_path: Path, returns: list[int]) -> None:
    one = session(tmp_path)
    with pytest.raises(CompileError, match="no kernel for cpu"):
        pipeline.emit(one, "asm", on_device=True)


def test_output_into_a_file_in_place_of_a_folder(tmp_path: Path, returns: list[int]) -> None:
    one = session(tmp_path)
    one.config.output.parent.joinpath("file").write_text("")
    object.__setattr__(one.config, "output", tmp_path / "file" / "out")
    with pytest.raises(CompileError, match="cannot write"):
        pipeline.build(one)


def test_a_build_is_found_again_until_a_file_changes(tmp_path: Path, returns: list[int]) -> None:
    one = session(tmp_path)
    made = pipeline.build(one)
    build_cache.keep(one.config, "exe", one.cache, reads=one.reads, data=made.path.read_bytes())
    again = session(tmp_path)
    kept = build_cache.find(again.config, "exe", again.cache)
    assert kept is not None and kept.data == made.path.read_bytes()
    changed = session(tmp_path, number=8)
    assert build_cache.find(changed.config, "exe", changed.cache) is None


def test_a_new_file_that_an_import_would_find_makes_a_build_stale(tmp_path: Path) -> None:
    one = session(tmp_path)
    absent = str(tmp_path / "helper.kpy")
    build_cache.keep(one.config, "exe", one.cache, reads={absent: None}, data=b"x")
    assert build_cache.find(one.config, "exe", one.cache) is not None
    Path(absent).write_text("")
    assert build_cache.find(one.config, "exe", one.cache) is None


def test_other_options_are_another_build(tmp_path: Path) -> None:
    one, other = session(tmp_path), session(tmp_path, defines=("x=1",))
    build_cache.keep(one.config, "exe", one.cache, reads={}, data=b"x")
    assert build_cache.find(other.config, "exe", other.cache) is None


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the elaborator give a program with two kernels for each accelerator, whose images the host holds."""

    def elaborate(package: object, made: config.Config, sink: Sink, library: object, *_: object) -> Program:
        start = Function("start", "start", (("c", I32), ("v", PTR)), I32, (Return(Const(I32, 7)),), linkage="export")
        host, devices = Unit(made.host, {"start": start}), []
        for index, target in enumerate(made.accelerators):
            unit = Unit(target)
            for number, name in enumerate(("one", "two")):
                body = (Store(Argument(0, PTR), Const(I32, number)), Return())
                unit.functions[name] = Function(name, f"{name}[{number}]", (("p", PTR),), VOID, body)
                unit.kernels = (*unit.kernels, Kernel(name, f"{name}[{number}]"))
                if target.vendor != "cpu":
                    image = ImageRef(index, name, "image")
                    symbol = f"image{index}_{name}"
                    host.globals[symbol] = Global(symbol, ArrayType(IntType(8), 0), image, True)
            devices.append(unit)
        return Program(host, tuple(devices), "start")

    monkeypatch.setattr(stages, "elaborate", elaborate)
    monkeypatch.setattr(library_archive, "find", lambda *_: None)


def test_kernels_for_several_targets_in_one_program(tmp_path: Path, kernels: None) -> None:
    one = session(tmp_path, accelerators="sm_90,gfx942,cpu")
    objects = pipeline.compile_objects(one)
    assert len(objects) == 4  # the host, the images, and each kernel for the processor
    again = session(tmp_path, accelerators="sm_90,gfx942,cpu")
    assert pipeline.compile_objects(again) == objects


def test_an_image_is_compiled_once(tmp_path: Path, kernels: None, monkeypatch: pytest.MonkeyPatch) -> None:
    first = session(tmp_path, accelerators="sm_90")
    shown = pipeline.emit(first, "asm", "two", on_device=True)
    assert b".visible .entry two" in shown
    monkeypatch.setattr(pipeline.device, "images", lambda *_, **__: pytest.fail("emitted again"))
    assert pipeline.emit(session(tmp_path, accelerators="sm_90"), "asm", "two[1]", on_device=True) == shown


@pytest.mark.parametrize(("kernel", "said"), [("", "2 kernels"), ("three", "no kernel 'three'")])
def test_a_kernel_must_be_chosen(tmp_path: Path, kernels: None, kernel: str, said: str) -> None:
    one = session(tmp_path, accelerators="sm_90")
    with pytest.raises(CompileError, match=said):
        pipeline.emit(one, "asm", kernel, on_device=True)
    assert "'one[0]', 'two[1]'" in one.sink.diagnostics[0].help
