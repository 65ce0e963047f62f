"""Generic declarations alone: the library keeps to the bounds that it writes, and valid programs stay valid."""

from pathlib import Path

import pytest
from ktc import config
from ktc.base.cache import Cache
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Severity, Sink
from ktc.elaborate import program
from ktc.elaborate.checks import generic_bodies
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.resolve import modules
from ktc.syntax.loader import load

EMPTY = "fn main():\n    pass\n"
TYPE_CHECKED_MODULES = ("gpu.host._launch.launch", "gpu.host._launch.arguments")
"""They test the types of arguments before they use them, which no bound can express."""


def begun(text: str, folder: Path, sink: Sink, kept: Path) -> Elaboration:
    """Return the elaboration of a program, in which nothing is elaborated yet."""
    root, cache = folder / "program.kpy", Cache(kept)
    root.write_text(text)
    made = config.resolve(config.Options(root), sink, cache)
    assert made is not None
    package = load(made.root, made.search, made.stdlib, cache, sink)
    assert package is not None
    return program.begin(package, made, sink)


@pytest.mark.thorough
@pytest.mark.slow
def test_library(program_cache: Path, tmp_path: Path) -> None:
    sink = Sink()
    made = begun(EMPTY, tmp_path, sink, program_cache)
    library = made.config.stdlib
    names = {path.relative_to(library).with_suffix("").parts for path in library.rglob("*.kpy")}
    for parts in sorted(names):
        dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if not dotted or dotted.startswith("archive") or dotted in TYPE_CHECKED_MODULES:
            continue
        module = made.modules.package.find(f"std.{dotted}")
        assert module is not None, dotted
        made.modules.main = modules.enter(made, module)
        generic_bodies.check_generics(made)
    errors = [one for one in sink.diagnostics if one.severity is Severity.ERROR and not _of_primitive(one.message)]
    assert not errors, [(one.span.location() if one.span else "", one.message) for one in errors]


def _of_primitive(message: str) -> bool:
    """Is it about what a primitive takes: which types, no trait says."""
    return message.startswith("primitive operation") or "is not for values of type" in message


def test_imported_module(cache_folder: Path, tmp_path: Path) -> None:
    wrong = "fn {}[T: Copyable & Movable](a: T, b: T) -> T:\n    return a + b\n\n\n"
    (tmp_path / "sums.kpy").write_text(wrong.format("add") + wrong.format("unused"))
    sink = Sink()
    text = "from sums import add, unused\n\n\nfn main():\n    print(add(1, 2))\n"
    program.whole_program(begun(text, tmp_path, sink, cache_folder))
    found = [(one.code, one.span.location()) for one in sink.diagnostics if one.span is not None]
    assert [(code, place.rpartition("/")[2]) for code, place in found] == [(Code.MISSING_TRAIT_BOUND, "sums.kpy:2:12")]
