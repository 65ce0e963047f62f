"""The whole library at once: the bounds of its generic functions, and the list of its archive."""

import re
from pathlib import Path

import pytest
from ktc import config
from ktc.base.cache import Cache
from ktc.diag.diagnostic import Severity, Sink
from ktc.driver import archive_list
from ktc.driver.front_end import kept_library
from ktc.elaborate import program
from ktc.elaborate.checks import generic_bodies
from ktc.elaborate.resolve import modules
from ktc.syntax.loader import Files, load

TYPE_CHECKED_MODULES = ("gpu.host._launch.launch", "gpu.host._launch.arguments")
"""They test the types of arguments before they use them, which no bound can express."""


@pytest.mark.thorough
@pytest.mark.slow
def test_generic_functions_keep_to_their_bounds(program_cache: Path, tmp_path: Path) -> None:
    root, cache, sink = tmp_path / "program.kpy", Cache(program_cache), Sink()
    root.write_text("fn main():\n    pass\n")
    settings = config.resolve(config.Options(root), sink, cache)
    assert settings is not None
    package = load(Files(settings.root, settings.search, settings.stdlib), cache, sink)
    assert package is not None
    made = program.begin(package, settings, sink)
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
    errors = [
        one
        for one in sink.diagnostics
        if one.severity is Severity.ERROR and not _of_primitive(one.message) and not _MOVES_ONLY.match(one.message)
    ]
    assert not errors, [(one.span.location() if one.span else "", one.message) for one in errors]


_MOVES_ONLY = re.compile(
    r"'\w+' does not conform to 'Copyable( & Movable)?', as parameter '\w+' of '(Optional|Tuple|Span)' asks"
)
"""In edition 2026 these take values that only move, which their bounds, those of edition 2025, do not say."""


def _of_primitive(message: str) -> bool:
    """Whether it is about the types that a primitive takes, which no trait says."""
    return message.startswith("primitive operation") or "is not for values of type" in message


@pytest.mark.thorough
def test_the_list_of_the_archive_is_current(program_cache: Path) -> None:
    """With all settings for which it is made; a test of the archive has the usual ones."""
    cache = Cache(program_cache)
    file = archive_list.settings(cache)[0].stdlib / kept_library.LIST
    assert archive_list.text(*archive_list.made(cache)) == file.read_text("utf-8"), "run 'make archive'"
