"""An elaboration that was prepared by an earlier version of a program: the next version becomes what it always is."""

import re
from pathlib import Path

import pytest
from ktc import config as configs
from ktc.base.cache import Cache
from ktc.config import Config, Options
from ktc.diag.diagnostic import Sink
from ktc.driver.front_end import kept_library
from ktc.elaborate.prepared import Prepared
from ktc.elaborate.program import elaborate
from ktc.ir.nodes import Program
from ktc.ir.text import print_unit
from ktc.syntax.loader import Files, Package, load

EARLIER = """from collections import BitSet
from gpu import global_idx
from gpu.host import DeviceContext

alias COUNT = 10


struct Pair(Copyable, Movable):
    var first: Int

    fn __init__(out self, first: Int):
        self.first = first


fn added[size: Int](value: SIMD[DType.int32, size]) -> Int32:
    @parameter
    fn combine[width: Int](a: SIMD[DType.int32, width], b: SIMD[DType.int32, width]) -> SIMD[DType.int32, width]:
        return a + b

    return value.reduce[combine]()


fn kernel(to: UnsafePointer[Float32, MutAnyOrigin]):
    to[Int(global_idx.x)] = 1


def main():
    var bits = BitSet[64]()
    bits.set(COUNT)
    var pairs = [Pair(1), Pair(2)]
    print(pairs[1].first, added(SIMD[DType.int32, 4](1, 2, 3, 4)), len(bits))
    var ctx = DeviceContext()
    var buffer = ctx.enqueue_create_buffer[DType.float32](COUNT)
    ctx.enqueue_function_checked[kernel, kernel](buffer, grid_dim=1, block_dim=COUNT)
"""
NEXT = EARLIER.replace("alias", "# another line: places move\nalias").replace("= 10", "= 12").replace("] = 1", "] = 2")
LOUD = """fn twice(x: Int) -> Int:
    print("at compile time")
    return 2 * x


def main():
    alias FOUR = twice(2)
    print(FOUR)
"""
_TITLE = re.compile(r'"[^"\n]*" \{$', re.MULTILINE)


@pytest.fixture
def cache(library_cache: Path) -> Cache:
    return Cache(library_cache)


def package_of(text: str, folder: Path, cache: Cache) -> tuple[Package, Config]:
    path = folder / "prog.kpy"
    path.write_text(text)
    config = configs.resolve(Options(path, accelerators="cpu"), Sink(), cache)
    assert config is not None
    package = load(Files(path, (), config.stdlib), cache, Sink())
    assert package is not None
    return package, config


def shown(program: Program) -> list[str]:
    """Return the units as text, without titles of functions: how they print a type depends on who printed it first."""
    return [_TITLE.sub("{", print_unit(unit)) for unit in (program.host, *program.devices)]


def test_next_version_is_what_it_would_be_without(tmp_path: Path, cache: Cache) -> None:
    """Types, kernels, closures and places of the program are new."""
    package, config = package_of(EARLIER, tmp_path, cache)
    library = kept_library.kept(config, cache)
    prepared = Prepared(package, config, library)
    assert prepared.is_sound
    sink = Sink()
    package, config = package_of(NEXT, tmp_path, cache)
    found = shown(prepared.elaborate(package, sink))
    assert not sink.diagnostics
    assert found == shown(elaborate(package_of(NEXT, tmp_path, cache)[0], config, Sink(), library))


def test_preparing_prints_nothing(tmp_path: Path, cache: Cache, capfd: pytest.CaptureFixture[str]) -> None:
    prepared = Prepared(*package_of(LOUD, tmp_path, cache), None)
    assert prepared.is_sound and capfd.readouterr() == ("", "")
    prepared.elaborate(package_of(LOUD, tmp_path, cache)[0], Sink())
    assert "at compile time" in "".join(capfd.readouterr())


def test_mistakes_are_no_foundation(tmp_path: Path, cache: Cache) -> None:
    assert not Prepared(*package_of(LOUD.replace("FOUR)", "FIVE)"), tmp_path, cache), None).is_sound
