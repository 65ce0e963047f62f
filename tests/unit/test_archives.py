"""The library's archive: what is in it, and that programs do the same with it and without it."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from ktc import archives, config, driver
from ktc.cache import Cache
from ktc.diag.diagnostic import Sink
from ktc.emit.workers import Workers

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


def session(folder: Path, cache: Path, text: str = PROGRAM, **options: object) -> driver.Session:
    source = folder / "prog.kpy"
    source.write_text(text)
    kept, sink = Cache(cache), Sink()
    asked = config.Options(source, output=folder / "out", writes=True, **{"accelerators": "cpu", **options})
    made = config.resolve(asked, sink, kept)
    assert made is not None
    return driver.Session(made, kept, sink)


@pytest.fixture
def archive(tmp_path: Path, program_cache: Path) -> archives.Archive:
    one = session(tmp_path, program_cache)
    with Workers(1) as workers:
        found = archives.find(one.config, one.cache, workers)
        assert found is not None
        assert found.finished(one.cache, workers)[:4] == b"\x7fELF"
    return found


def test_a_program_does_the_same_with_the_archive_and_without(
    tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_it = driver.build(session(tmp_path, program_cache)).path
    small = [function for function in driver.emit(session(tmp_path, program_cache), "llvm").split(b"define ")]
    said = subprocess.run([with_it], capture_output=True, text=True, check=True).stdout
    monkeypatch.setattr(archives, "find", lambda *_: None)
    (tmp_path / "b").mkdir()
    without = driver.build(session(tmp_path / "b", program_cache)).path
    assert subprocess.run([without], capture_output=True, text=True, check=True).stdout == said
    assert said.splitlines()[0] == "<b> [1, 2, 3] 2.5 1x2"
    assert len(small) > 50  # what is shown to a person has the library in it


def test_the_archive_holds_long_functions_of_the_library_only(archive: archives.Archive) -> None:
    functions = archive.library.functions
    titles = {function.title for function in functions.values()}
    assert {"Driver.load_function", "atol"} <= titles
    assert not any(function.body or function.inline == "always" for function in functions.values())
    assert "_launch_on" not in "".join(titles)  # it depends on the program's targets
    assert "String.byte_length" not in titles  # short: LLVM inlines it


def test_a_damaged_archive_is_made_again() -> None:
    assert archives._read(b"damaged") is None
    assert archives._read(None) is None


def test_the_archive_depends_on_the_defines_that_the_library_reads(tmp_path: Path, program_cache: Path) -> None:
    made = session(tmp_path, program_cache).config
    base = archives._base_key(made)
    checked, other = replace(made, defines={"ASSERT": "all"}), replace(made, defines={"N": "3"})
    plain = archives._key(base, made, ["ASSERT"])
    assert archives._key(base, checked, ["ASSERT"]) != plain
    assert archives._key(base, other, ["ASSERT"]) == plain
    assert archives._base_key(replace(made, level=2)) != base
