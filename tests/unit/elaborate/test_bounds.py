"""Generic declarations alone: the library keeps to the bounds that it writes, and valid programs stay valid."""

from pathlib import Path

from ktc import config
from ktc.base.cache import Cache
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Sink
from ktc.elaborate import program
from ktc.elaborate.model.elaboration import Elaboration
from ktc.syntax.loader import Files, load

EMPTY = "fn main():\n    pass\n"


def begun(text: str, folder: Path, sink: Sink, kept: Path) -> Elaboration:
    """Return the elaboration of a program, in which nothing is elaborated yet."""
    root, cache = folder / "program.kpy", Cache(kept)
    root.write_text(text)
    made = config.resolve(config.Options(root), sink, cache)
    assert made is not None
    package = load(Files(made.root, made.search, made.stdlib), cache, sink)
    assert package is not None
    return program.begin(package, made, sink)


def test_imported_module(cache_folder: Path, tmp_path: Path) -> None:
    wrong = "fn {}[T: Copyable & Movable](a: T, b: T) -> T:\n    return a + b\n\n\n"
    (tmp_path / "sums.kpy").write_text(wrong.format("add") + wrong.format("unused"))
    sink = Sink()
    text = "from sums import add, unused\n\n\nfn main():\n    print(add(1, 2))\n"
    program.whole_program(begun(text, tmp_path, sink, cache_folder))
    found = [(one.code, one.span.location()) for one in sink.diagnostics if one.span is not None]
    assert [(code, place.rpartition("/")[2]) for code, place in found] == [(Code.MISSING_TRAIT_BOUND, "sums.kpy:2:12")]
