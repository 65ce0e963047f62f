"""Options to a config: defaults, targets, what cannot be written."""

import os
from pathlib import Path

import pytest
from ktc import config
from ktc.base.cache import Cache
from ktc.base.version import VERSION
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Sink


def resolve(tmp_path: Path, **options: object) -> tuple[config.Config | None, Sink]:
    sink = Sink()
    options = {"root": tmp_path / "prog.kpy", "output": tmp_path / "prog", "writes": True, **options}
    return config.resolve(config.Options(**options), sink, Cache(tmp_path / "cache"), {}), sink


def test_defaults_follow_the_reference(tmp_path: Path) -> None:
    made, _ = resolve(tmp_path, output=None)
    assert made is not None
    assert (made.level, made.debug, made.emit, made.output) == (3, 0, "exe", Path("prog"))
    assert made.accelerators[-1].name == "cpu"
    assert made.jobs >= 1
    assert made.is_release


def test_a_folder_is_its_main_file(tmp_path: Path) -> None:
    folder = tmp_path / "tool"
    folder.mkdir()
    made, sink = resolve(tmp_path, root=folder, output=None)
    assert made is None and "no file '__main__.kpy'" in sink.diagnostics[0].message
    (folder / "__main__.mojo").write_text("def main(): pass", "utf-8")
    made, _ = resolve(tmp_path, root=folder, output=None)
    assert made is not None and (made.root, made.output) == (folder / "__main__.mojo", Path("tool"))


def test_folders_of_the_environment_come_after_those_of_the_command(tmp_path: Path) -> None:
    paths = os.pathsep.join(("/a", "", "/b"))
    options = config.Options(root=tmp_path / "prog.kpy", search=(Path("/c"),))
    made = config.resolve(options, Sink(), Cache(tmp_path / "cache"), {"KTC_IMPORT_PATH": paths})
    assert made is not None and made.search == (Path("/c"), Path("/a"), Path("/b"))


@pytest.mark.parametrize(("emit", "suffix"), [("object", ".o"), ("llvm", ".ll"), ("asm", ".s")])
def test_the_output_is_named_after_the_source(tmp_path: Path, emit: str, suffix: str) -> None:
    made, _ = resolve(tmp_path, output=None, emit=emit)
    assert made is not None and made.output == Path("prog" + suffix)


def test_a_list_of_targets_keeps_its_order_and_drops_repetitions(tmp_path: Path) -> None:
    made, _ = resolve(tmp_path, accelerators="sm_90, gfx942,cpu,sm_90")
    assert made is not None
    assert [target.name for target in made.accelerators] == ["sm_90", "gfx942", "cpu"]


def test_an_unknown_target_names_its_neighbours(tmp_path: Path) -> None:
    made, sink = resolve(tmp_path, accelerators="sm_91,gfx943")
    assert made is None
    assert [one.code for one in sink.diagnostics] == [Code.UNKNOWN_TARGET] * 2
    assert "'sm_90'" in sink.diagnostics[0].help and "'gfx942'" in sink.diagnostics[1].help


def test_an_unknown_host_is_refused(tmp_path: Path) -> None:
    made, sink = resolve(tmp_path, triple="pdp11-dec-unix")
    assert made is None and sink.diagnostics[0].code is Code.UNKNOWN_TARGET


def test_defines(tmp_path: Path) -> None:
    made, _ = resolve(tmp_path, defines=("a=1", "b", "c=x=y"))
    assert made is not None and made.defines.items() >= {"a": "1", "b": "", "c": "x=y"}.items()


def test_an_impossible_output_is_reported_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "prog.kpy").write_text("")
    for output in (tmp_path, tmp_path / "no" / "out", tmp_path / "prog.kpy"):
        made, sink = resolve(tmp_path, output=output)
        assert made is None and "cannot write" in sink.diagnostics[0].message
    made, _ = resolve(tmp_path, output=tmp_path, writes=False)
    assert made is not None


def test_the_cache_folder_comes_from_the_environment(tmp_path: Path) -> None:
    assert config.cache_folder({"KTC_CACHE_DIR": str(tmp_path)}) == tmp_path
    assert config.cache_folder({"KTC_CACHE_DIR": ""}) is None
    default = config.cache_folder({})
    assert default is not None and default.name == "ktc"
    assert config.open_cache({"KTC_CACHE_DIR": "", "KTC_CACHE_SIZE": "2"}).max_bytes == 2 << 20


def test_the_processor_is_detected_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    first = config.processor(cache)
    monkeypatch.setattr("ktc.targets.host.detect", lambda: pytest.fail("detected again"))
    assert config.processor(cache) == first


def test_gpus_are_detected_once_for_each_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ktc.targets.detection import drivers

    log = tmp_path / "log"  # a file: a child process writes it

    def gpus() -> tuple[drivers.Gpu, ...]:
        with log.open("a") as file:
            print(os.getpid() == parent, file=file)
        return (drivers.Gpu("sm_90", "a GPU"),) * 2

    parent = os.getpid()
    monkeypatch.setattr(drivers, "cuda_driver_version", lambda: 13000)
    monkeypatch.setattr(drivers, "gpus", gpus)
    cache = Cache(tmp_path / "cache")
    assert config.local_gpus(cache, {}) == ("sm_90",)
    assert config.local_gpus(cache, {}) == ("sm_90",)
    assert log.read_text().split() == ["False"]
    config.local_gpus(cache, {"CUDA_VISIBLE_DEVICES": "1"})
    assert log.read_text().split() == ["False"] * 2


def test_with_a_gpu_a_program_carries_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ktc.config.resolution.local_gpus", lambda *_: ("sm_90",))
    made, _ = resolve(tmp_path)
    assert made is not None and [target.name for target in made.accelerators] == ["sm_90", "cpu"]


def test_colour() -> None:
    assert config.color_enabled(True, {"TERM": "xterm"})
    assert not config.color_enabled(False, {})
    assert not config.color_enabled(True, {"NO_COLOR": "1"})
    assert not config.color_enabled(True, {"TERM": "dumb"})


def test_the_version_is_the_projects() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert f'\nversion = "{VERSION}"\n' in project.read_text()
