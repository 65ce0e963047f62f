"""The whole library at once: the bounds of its generic functions, and the list of its archive."""

import re
from pathlib import Path

import pytest
from ktc import config
from ktc.base.cache import Cache
from ktc.base.editions import Edition
from ktc.diag.diagnostic import Diagnostic, Severity, Sink
from ktc.diag.source import Span
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
    """A declaration for edition 2026 alone keeps to those of that edition, where containers hold what only moves."""
    found = _errors(program_cache, tmp_path, None)
    for_2026 = [one for one in found if one.span is not None and _is_for_2026(one.span)]
    others = [one for one in found if one not in for_2026]
    assert not others, [(one.span.location() if one.span else "", one.message) for one in others]
    paths = {one.span.source.path for one in for_2026 if one.span is not None}
    again = {(one.span.location(), one.message) for one in _errors(program_cache, tmp_path, paths) if one.span}
    wrong = again & {(one.span.location(), one.message) for one in for_2026 if one.span}
    assert not wrong


def _errors(cache_folder: Path, folder: Path, paths: set[str] | None) -> list[Diagnostic]:
    """Return the errors of the library's generic declarations.

    Args:
        paths: the files to look at, as those of edition 2026; None: all, as they are.
    """
    root, cache, sink = folder / "program.kpy", Cache(cache_folder), Sink()
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
        if paths is not None and module.source.path not in paths:
            continue
        made.modules.main = info = modules.enter(made, module)
        if paths is not None:
            info.edition = Edition.Y2026
        generic_bodies.check_generics(made)
    return [one for one in sink.diagnostics if one.severity is Severity.ERROR and not _of_primitive(one.message)]


def _is_for_2026(span: Span) -> bool:
    """Return whether a place is in a function that edition 2026 alone has, or in an alias, which cannot say so."""
    before = span.source.text[: span.start]
    if before.rpartition("\n")[2].startswith("alias "):
        return True
    heads = list(_HEAD.finditer(before))
    return bool(heads) and '@edition("2026"' in heads[-1][0]


_HEAD = re.compile(r"(?:^ *@[^\n]*\n)*^ *(?:fn|def) ", re.MULTILINE)
"""The decorators of a function, and its first word."""


def _of_primitive(message: str) -> bool:
    """Whether it is about the types that a primitive takes, which no trait says."""
    return message.startswith("primitive operation") or "is not for values of type" in message


@pytest.mark.thorough
def test_the_list_of_the_archive_is_current(program_cache: Path) -> None:
    """With all settings for which it is made; a test of the archive has the usual ones."""
    cache = Cache(program_cache)
    file = archive_list.settings(cache)[0].stdlib / kept_library.LIST
    assert archive_list.text(*archive_list.made(cache)) == file.read_text("utf-8"), "run 'make archive'"
