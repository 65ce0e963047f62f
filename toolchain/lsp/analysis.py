"""One look at one file: its diagnostics and the facts about it. The last good facts stay while a text has errors.

Input: open texts. Output: `Analysis`. The elaborator runs on a thread with a large stack.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ktc import config as configs
from ktc.base.records import field_names
from ktc.config import Options
from ktc.diag.diagnostic import Diagnostic, Severity, Sink
from ktc.diag.source import Source
from ktc.driver.worker import Worker
from ktc.elaborate.model.elaboration import Body
from ktc.lsp import changes
from ktc.lsp.facts import Fact, Recorder
from ktc.lsp.positions import Lines
from ktc.syntax import ast
from ktc.syntax.loader import Package
from ktc.syntax.parsing.parser import parse
from ktc.syntax.parsing.tables import Tables, load_tables
from ktc.tools.checks.checking import check_file


@dataclass(slots=True)
class Analysis:
    """The tree, facts and diagnostics of a text.

    Args:
        module: its tree; None if it does not parse.
        facts: by (start, end). variables: types by where the name stands: (its end, type).
        package: its modules and those that it imports.
    """

    text: str
    diagnostics: tuple[Diagnostic, ...] = ()
    module: ast.Module | None = None
    facts: dict[tuple[int, int], Fact] = field(default_factory=dict)
    variables: dict[int, tuple[int, str]] = field(default_factory=dict)
    package: Package | None = None
    problem: str = ""


@dataclass(slots=True)
class Document:
    """An open text.

    Args:
        good: the last analysis of a text that parsed.
        module: the tree of this text, or of the last one that parsed. shown: its diagnostics, as the editor has them.
    """

    path: str
    text: str
    version: int
    lines: Lines
    analysis: Analysis | None = None
    good: Analysis | None = None
    module: ast.Module | None = None
    shown: tuple[Diagnostic, ...] = ()


class Cancelled(BaseException):
    """The text was changed while it was looked at. No handler of `Exception` takes it."""


class Workspace:
    """The open documents, and the folders of the project."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.folders: list[Path] = []
        self.tables: Tables = load_tables(configs.open_cache())
        self.pool = Worker("analysis")
        self.changes = 0

    def change(self, path: str, text: str, version: int) -> Document:
        """Open a text, or give an open one a new content."""
        text = text.replace("\r\n", "\n")
        self.changes += 1
        old = self.documents.get(path)
        document = self.documents[path] = Document(path, text, version, Lines(text))
        if old is not None:
            document.good, document.module, document.shown = old.good, old.module, old.shown
        return document

    def analysed(self, document: Document) -> Analysis | None:
        """Look at a document completely, on the thread of the pool; None if a change comes in between."""
        begun = self.changes

        def given_up() -> bool:
            return self.changes != begun

        try:
            return analyse(document.path, document.text, self.overlays(), self.tables, given_up)
        except Cancelled:
            return None

    def overlays(self) -> dict[str, Source]:
        """Return the open texts instead of their files."""
        return {os.path.abspath(path): Source(path, one.text) for path, one in self.documents.items()}

    def run(self, work: Callable[[], Any]) -> Any:
        """Do something on the large stack."""
        return self.pool.submit(work).result()

    def analyse(self, document: Document) -> Analysis:
        """Look at a document, unless that was done since its last change."""
        if document.analysis is None:
            document.analysis = self.run(lambda: analyse(document.path, document.text, self.overlays(), self.tables))
            if document.analysis.module is not None:
                document.good = document.analysis
        return document.analysis

    def files(self) -> Iterator[Path]:
        """Give the source files of the project that are not open."""
        from ktc.tools.checks.files import sources  # late: only for some requests

        for path in sources(self.folders):
            if os.path.abspath(path) not in self.documents:
                yield path


def look_at_change(document: Document, overlays: dict[str, Source]) -> tuple[Diagnostic, ...] | None:
    """Return the diagnostics of a text by looking only at the declarations that differ from the last complete look.

    None if that cannot be: the change is not inside of declarations, others with mistakes use what it changes, or there
    was no complete look.
    """
    good, module = document.good, document.module
    if good is None or module is None or good.problem:
        return None
    if good.text == document.text:
        return good.diagnostics  # the change was taken back
    change = changes.between(good.text, document.text)
    source = Source(document.path, document.text)
    was_beside = good.module is not None and changes.is_beside_code(
        good.module, good.text, change.start, change.old_end
    )
    if was_beside and changes.is_beside_code(module, document.text, change.start, change.new_end):
        return changes.merged(good.diagnostics, (), change, (change.start, change.start), source)
    around = changes.edited_range(module, change)
    if around is None:
        return None
    mistakes = [one.span for one in good.diagnostics if one.severity is Severity.ERROR and one.span is not None]
    places = [change.moved(one, source) for one in mistakes if one.source.path == document.path]
    if changes.spreads(module, change, around, [one for one in places if one is not None], source.text):
        return None
    options, path = Options(Path(), accelerators="cpu"), Path(document.path)
    try:
        texts = {**overlays, os.path.abspath(path): source}
        checked = check_file(options, path, Sink(), texts, edited_range=around, tree=module)
    except Exception:
        return None  # the complete look says what it was
    return changes.merged(good.diagnostics, checked.diagnostics, change, around, source)


def analyse(
    path: str, text: str, overlays: dict[str, Source], tables: Tables,
    given_up: Callable[[], bool] = lambda: False, good: Analysis | None = None,
) -> Analysis:  # fmt: skip
    """Check a text and record what the elaborator finds out; a mistake of ktc itself is a message, not an end.

    Args:
        good: an earlier text; only declarations that differ from its own are looked at, if that is possible.

    Raises:
        Cancelled: it was cancelled.
    """
    recorder, sink = Recorder(), Sink()

    def observe(body: Body, node: ast.Node, value: object) -> None:
        if given_up():
            raise Cancelled
        recorder(body, node, value)

    overlays = {**overlays, os.path.abspath(path): Source(path, text)}
    try:
        module = parse(overlays[os.path.abspath(path)], Sink(), tables=tables)
        change = changes.between(good.text, text) if good is not None else None
        around = changes.edited_range(module, change) if module is not None and change is not None else None
        options = Options(Path(), accelerators="cpu")
        checked = check_file(options, Path(path), sink, overlays, observe, around, tree=module)
    except Exception as error:
        return Analysis(text, problem=f"{type(error).__name__}: {error}")
    facts, variables = recorder.facts.get(path, {}), recorder.variables.get(path, {})
    return Analysis(text, checked.diagnostics, module, facts, variables, checked.package)


def walk(node: object) -> Iterator[ast.Node]:
    """Give a node and all below it."""
    if isinstance(node, ast.Node):
        yield node
        names = ast.FunctionDecl.__match_args__[4:] if isinstance(node, ast.FunctionDecl) else field_names(node)
        for name in names:
            if name not in ("start", "end", "source"):
                yield from walk(getattr(node, name))
    elif isinstance(node, tuple):
        for one in node:
            yield from walk(one)
