"""Files of edition 2025 as files of edition 2026: each is elaborated, changed, and checked in the new edition.

Input: paths. Output: `Migrated`, one for each; nothing is written.
"""

import contextlib
import gc
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ktc.base.editions import ChosenEdition, Edition
from ktc.base.library import OWN_PACKAGES
from ktc.base.records import replace
from ktc.config import Options
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Severity, Sink
from ktc.diag.fixes import applied, fixes
from ktc.diag.source import Source
from ktc.migration import table
from ktc.migration.changes import Changes, Rewrite
from ktc.migration.facts import Facts, Recorder
from ktc.migration.migrate import fill
from ktc.migration.plan import Plan
from ktc.migration.reading import Reading
from ktc.syntax import ast
from ktc.syntax.edition_evidence import LIBRARY_MODULES
from ktc.syntax.edition_names import read
from ktc.syntax.editions import SUFFIXES, assign
from ktc.syntax.lexing.lex_error import LexError
from ktc.syntax.loader import read_source
from ktc.syntax.parsing.lalr import Parser
from ktc.syntax.parsing.tables import Tables
from ktc.tools.checks.checking import check_file

_T = TypeVar("_T")
_ROUNDS = 3
_KEPT = 8
"""As many files are elaborated before their memory is free again: 30 MB each."""
_ENDS = (*SUFFIXES, *(f"/__init__{suffix}" for suffix in SUFFIXES))
"""Endings of the files of modules."""
_CONVERTED = re.compile(r"write 'U?Int\(\.\.\.\)' to convert it")
_OLD = ChosenEdition(Edition.Y2025, "it is migrated")
_NEW = ChosenEdition(Edition.Y2026, "it was migrated")


@dataclass(frozen=True, slots=True)
class Look:
    """A place of the new text that needs a look.

    Args:
        line, column: from 1.
        name: of the kind of change.
    """

    line: int
    column: int
    text: str
    name: str


@dataclass(slots=True)
class Migrated:
    """The result for one file.

    Args:
        source: its text before; None if it cannot be read.
        text: its text after; None if it is wrong in edition 2025, which `errors` say.
        changes: all of them, where there are some.
    """

    path: Path
    source: Source | None
    text: str | None = None
    looks: list[Look] = field(default_factory=list)
    errors: tuple[Diagnostic, ...] = ()
    changes: Changes | None = None

    @property
    def tells_edition(self) -> bool:
        """Return whether its new text, or its project, says that it is of edition 2026."""
        new = Source(str(self.path), self.text)
        assign(new)
        return new.edition is not None and new.edition.edition is Edition.Y2026


def migrate(paths: Sequence[Path], options: Options, tables: Tables, library: Path) -> Iterator[Migrated]:
    """Migrate files that may import each other.

    Args:
        options: of the check; `root` is replaced.
        library: the folder of the standard library.
    """
    done = [_planned(path, options, tables, library) for path in _released(paths)]
    texts = {
        os.path.abspath(one.path): Source(str(one.path), one.text, edition=_NEW)
        for one in done
        if one.text is not None and one.changes is not None
    }
    for one in _released(done):
        if one.text is not None and one.changes is not None:
            errors = _rename_rest(one, options, texts)
            noted = [*_noted(one)]
            lines = {look.line for look in noted}  # a note says more than the error that follows from it
            rest = [look for look in _remaining(one, errors) if look.line not in lines]
            one.looks = sorted([*noted, *rest], key=lambda look: (look.line, look.column))
        yield one


def _released(many: Sequence[_T]) -> Iterator[_T]:
    """Give files one by one, and free what the elaboration of some of them took: Python does not look by itself."""
    for number, one in enumerate(many, 1):
        yield one
        if number % _KEPT == 0:
            gc.collect()


def changes_of(
    source: Source, options: Options, tables: Tables, library: Path, texts: Mapping[str, Source] | None = None
) -> tuple[Plan | None, bool]:
    """Return a text that is read in edition 2026 with its changes, and whether it is right in edition 2025.

    Where it is not, its types are those that edition 2026 tells, as far as its errors let it; None for a text that
    cannot be read at all.

    Args:
        texts: those that stand for files.
    """
    path = Path(source.path)
    planned, _ = _plan(path, source, options, tables, library, texts or {})
    if planned is not None:
        return planned, True
    parser = Parser(tables, Source(source.path, source.text, edition=_NEW), Sink())
    parser.module()
    reading = _read_mixed(source.text, parser.pieces[0], tables) if len(parser.pieces) == 1 else None
    if reading is None:
        return None, False
    recorder = Recorder()
    new = Source(source.path, source.text, edition=_NEW)
    check_file(replace(options, edition=None), path, Sink(), {**(texts or {}), os.path.abspath(path): new}, recorder)
    recorder.finish()
    facts = recorder.files.get(source.path, Facts())
    own = _own_modules(path, Edition.Y2026)
    plan = Plan(
        source.path, reading, facts, Changes(source.text), frozenset(), library, read(library), own,
        prelude=_prelude(library), is_mixed=True,
    )  # fmt: skip
    fill(plan)
    return plan, False


def _read_mixed(text: str, module: ast.Module, tables: Tables) -> Reading | None:
    """Return a text of edition 2026 with forms of edition 2025; None if its tokens are of neither edition."""
    for edition in (Edition.Y2026, Edition.Y2025):
        with contextlib.suppress(LexError):
            return Reading(text, module, tables, edition)
    return None


def _planned(path: Path, options: Options, tables: Tables, library: Path) -> Migrated:
    """Return the new text of one file, not checked yet."""
    sink = Sink()
    source = read_source(path, sink, False, {})
    if source is None:
        return Migrated(path, None, errors=tuple(sink.diagnostics))
    assign(source, options.edition)
    if source.edition is not None and source.edition.edition is Edition.Y2026:
        return Migrated(path, source, source.text)
    plan, errors = _plan(path, source, options, tables, library, {})
    if plan is None:
        new = Source(source.path, source.text, edition=_NEW)
        if not _errors(
            path, options, {os.path.abspath(path): new}
        ):  # nothing in it tells that it is of edition 2026 already
            return Migrated(path, source, source.text)
        return Migrated(path, source, errors=errors)
    return Migrated(path, source, plan.changes.applied(), changes=plan.changes)


def _plan(
    path: Path, source: Source, options: Options, tables: Tables, library: Path, texts: Mapping[str, Source]
) -> tuple[Plan | None, tuple[Diagnostic, ...]]:
    """Return a text with its changes, or the errors that it has in edition 2025."""
    recorder, found = Recorder(), Sink()
    old = {**texts, os.path.abspath(path): Source(source.path, source.text, edition=_OLD)}
    checked = check_file(replace(options, edition=None), path, found, old, recorder)
    errors = tuple(one for one in found.diagnostics if one.severity is Severity.ERROR)
    if errors or checked.package is None:
        return None, errors
    recorder.finish()
    module = checked.package.root
    text = module.source.text
    facts = recorder.files.get(module.source.path, Facts())
    reading = Reading(text, module, tables)
    plan = Plan(
        module.source.path, reading, facts, Changes(text), frozenset(recorder.raises(set())), library, read(library),
        _own_modules(path, Edition.Y2025), _known(module), _prelude(library),
    )  # fmt: skip
    fill(plan)
    return plan, ()


def _prelude(library: Path) -> frozenset[str]:
    """Return the names that texts of edition 2026 see without an import."""
    text = (library / "prelude_2026.kpy").read_text("utf-8")
    lists = re.findall(r"^from [\w.]+ import (?:\(([^)]*)\)|([^\n(]+))", text, re.MULTILINE)
    items = [item.strip() for pair in lists for item in "".join(pair).split(",")]
    return frozenset(item.rpartition(" ")[2] for item in items if item and not item.startswith("_"))


def _own_modules(path: Path, edition: Edition) -> frozenset[str]:
    """Return the names of library modules that the user's folder has too.

    In edition 2025 these files take the place of ktc's own packages only.
    """
    folder = os.path.dirname(os.path.abspath(path))
    return frozenset(
        name for name in LIBRARY_MODULES
        if (name in OWN_PACKAGES or edition is Edition.Y2026)
        and any(os.path.isfile(os.path.join(folder, name + end)) for end in _ENDS)
    )  # fmt: skip


_USUAL = (
    "List", "Dict", "Set", "Optional", "Tuple", "Array", "String", "StaticString", "Int", "UInt", "Bool", "SIMD",
    "Scalar", "DType", "bool", "True", "False", "BFloat16", "Error", "Pointer", "Span", "MutAnyOrigin", "NoneType",
    *(f"{kind}{bits}" for kind in ("Int", "UInt", "int", "uint") for bits in (8, 16, 32, 64, 128, 256)),
    *(f"{kind}{bits}" for kind in ("Float", "float") for bits in (16, 32, 64)), "index", "int", "uint", "bfloat16",
)  # fmt: skip
"""Names of types, and names in their parameters, that need no import."""


def _known(module: ast.Module) -> frozenset[str]:
    """Return the names that types in a text can have."""
    names = {*_USUAL}
    for node in module.body:
        if isinstance(node, ast.FromImport):
            names |= {new or name for name, new in node.names}
        names.add(getattr(node, "name", ""))
    return frozenset(names)


def _noted(one: Migrated) -> Iterator[Look]:
    """Give the places that the rules note."""
    assert one.changes is not None and one.text is not None
    after = Source("", one.text)
    for note in one.changes.notes:
        line, column = after.position(one.changes.moved(note.start))
        yield Look(line, column, note.text, note.rewrite.name)


def _rename_rest(one: Migrated, options: Options, texts: dict[str, Source]) -> list[Diagnostic]:
    """Do what needs the types of edition 2026: new names of members, ids as the integers that are wanted.

    Returns: the errors that stay.
    """
    for _ in range(_ROUNDS):
        errors, edits = _errors(one.path, options, texts), []
        for error in errors:
            if error.span is not None and error.span.source.path == str(one.path):
                is_number = _CONVERTED.fullmatch(error.help) is not None  # ids are of the other type in edition 2026
                is_known = error.code is Code.WRONG_EDITION or is_number
                edits += [fix.edits[0] for fix in fixes(error)[:1] if is_known and (fix.is_safe or is_number)]
        if not edits or one.text is None:
            return errors
        one.text = applied(edits[0].span.source, edits)
        texts[os.path.abspath(one.path)] = Source(str(one.path), one.text, edition=_NEW)
    return _errors(one.path, options, texts)


def _remaining(one: Migrated, errors: list[Diagnostic]) -> Iterator[Look]:
    """Give the errors that remain in edition 2026."""
    for error in errors:
        if error.span is None:
            yield Look(1, 1, error.message, table.REST.name)
        elif os.path.abspath(error.span.source.path) == os.path.abspath(one.path):
            line, column = error.span.source.position(error.span.start)
            text = f"{error.message}: {error.help}" if error.help else error.message
            yield Look(line, column, text, table.REST.name)


def _errors(path: Path, options: Options, texts: Mapping[str, Source]) -> list[Diagnostic]:
    """Return the errors of a file in edition 2026."""
    sink = Sink()
    check_file(replace(options, edition=None), path, sink, texts)
    return [
        one for one in sink.diagnostics
        if one.severity is Severity.ERROR and not (one.code is Code.WRONG_EDITION and _is_of_project(one))
    ]  # fmt: skip


def _is_of_project(error: Diagnostic) -> bool:
    """Return whether an error says that the project's file asks for another edition."""
    return error.span is not None and error.span.source.path.endswith(".toml")


def titles() -> list[Rewrite]:
    """Return the kinds of changes."""
    return [one for one in vars(table).values() if isinstance(one, Rewrite)]
