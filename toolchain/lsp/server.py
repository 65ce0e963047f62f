"""The server: requests of the protocol to questions, answers to the protocol's types. pygls does the rest."""

import asyncio
import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

from ktc import config as configs
from ktc.base.version import VERSION
from ktc.config import Options
from ktc.config.format_style import BadFormatTable, FormatStyles
from ktc.diag.diagnostic import Diagnostic, Severity, Sink
from ktc.diag.source import Source, Span
from ktc.formatting.formatter import format_source
from ktc.lsp import changes, completion, incomplete_input, queries, symbols
from ktc.lsp.analysis import Analysis, Document, Workspace, analyse, look_at_change
from ktc.lsp.facts import Declared, Fact
from ktc.lsp.positions import Lines, word_at
from ktc.syntax import ast
from ktc.syntax.parsing.parser import parse
from ktc.tools.checks.edition_fixes import EditionFixes
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

_SHORT_PAUSE, _LONG_PAUSE = 0.03, 0.5
"""Seconds without a change before the changed declarations, and the whole program, are looked at."""
_MAX_FILES = 200
_SYMBOLS = {
    "function": lsp.SymbolKind.Function, "method": lsp.SymbolKind.Method, "struct": lsp.SymbolKind.Struct,
    "trait": lsp.SymbolKind.Interface, "alias": lsp.SymbolKind.Constant, "field": lsp.SymbolKind.Field,
    "variable": lsp.SymbolKind.Variable,
}  # fmt: skip
_COMPLETIONS = {
    "function": lsp.CompletionItemKind.Function, "method": lsp.CompletionItemKind.Method,
    "struct": lsp.CompletionItemKind.Struct, "trait": lsp.CompletionItemKind.Interface,
    "alias": lsp.CompletionItemKind.Constant, "field": lsp.CompletionItemKind.Field,
    "variable": lsp.CompletionItemKind.Variable, "keyword": lsp.CompletionItemKind.Keyword,
    "module": lsp.CompletionItemKind.Module, "argument": lsp.CompletionItemKind.Property,
}  # fmt: skip


class Server(LanguageServer):
    """One server, for one editor."""

    def __init__(self) -> None:
        super().__init__("ktc", VERSION)
        self.ktc = Workspace()

    def document(self, uri: str) -> Document:
        """Return an open document, or the file as one."""
        path = to_fs_path(uri) or uri
        found = self.ktc.documents.get(path)
        if found is None:
            text = self.workspace.get_text_document(uri).source.replace("\r\n", "\n")
            found = Document(path, text, 0, Lines(text))
        return found

    def good(self, document: Document) -> Analysis | None:
        """Return the last analysis of a text that parsed, made now if there is none."""
        self.ktc.analyse(document)
        return document.good

    def fact(self, document: Document, offset: int) -> Fact | None:
        """Return the fact at a place, also in a text with mistakes."""
        good, text = self.good(document), document.text
        if good is None or good.text == text:
            return queries.fact_at(good, offset) if good is not None else None
        change = changes.between(good.text, text)
        shift = change.new_end - change.old_end
        if offset <= change.start or offset >= change.new_end:
            by = 0 if offset <= change.start else shift
            fact = queries.fact_at(good, offset - by)
            return dataclasses.replace(fact, start=fact.start + by, end=fact.end + by) if fact is not None else None
        start, end = word_at(text, offset)
        tried, place = incomplete_input.alone(text, end, end)
        work = partial(analyse, document.path, tried, self.ktc.overlays(), self.ktc.tables, good=good)
        analysis = self.ktc.run(work)
        fact = queries.fact_at(analysis, place)
        return dataclasses.replace(fact, start=start, end=end) if fact is not None else None

    def tree(self, document: Document) -> ast.Module | None:
        """Return the tree of a text, or of the last one that parsed."""
        if document.module is None:
            document.module = parse(Source(document.path, document.text), Sink(), tables=self.ktc.tables)
        return document.module

    def offset(self, document: Document, position: lsp.Position) -> int:
        """Return the offset of a place."""
        return document.lines.offset(position.line, position.character)

    def location(self, declared: Declared) -> lsp.Location:
        """Return where something is declared, as a file."""
        source = declared.source
        path = source.path
        if source.is_library:
            path = str(configs.stdlib_folder() / path.removeprefix("stdlib/"))
        lines = Lines(source.text)
        return lsp.Location(
            from_fs_path(str(Path(path).absolute())) or path, span_range(lines, declared.start, declared.end)
        )


def span_range(lines: Lines, start: int, end: int) -> lsp.Range:
    """Return a range of the protocol."""
    return lsp.Range(lsp.Position(*lines.place(start)), lsp.Position(*lines.place(max(start, end))))


def publish(server: Server, document: Document, found: tuple[Diagnostic, ...]) -> None:
    """Send the diagnostics of a document."""
    document.shown = found
    rows = [_diagnostic(document, one) for one in found if one.span is None or one.span.source.path == document.path]
    uri = from_fs_path(document.path) or document.path
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, rows, document.version))


def _diagnostic(document: Document, one: Diagnostic) -> lsp.Diagnostic:
    severity = lsp.DiagnosticSeverity.Error if one.severity is Severity.ERROR else lsp.DiagnosticSeverity.Warning
    notes = [
        lsp.DiagnosticRelatedInformation(_location(note.span), note.text)
        for note in one.notes if note.span.source.path.startswith("/")
    ]  # fmt: skip
    unused = one.code.id.startswith("unused") or one.code.id == "unreachable-code"
    tags = (
        [lsp.DiagnosticTag.Unnecessary]
        if unused
        else [lsp.DiagnosticTag.Deprecated]
        if one.code.id == "deprecated"
        else []
    )
    text = f"{one.message}\n{one.help}" if one.help else one.message
    return lsp.Diagnostic(
        _range(document, one.span), text, severity, one.code.id, source="ktc", related_information=notes, tags=tags
    )


def _range(document: Document, span: Span | None) -> lsp.Range:
    return span_range(document.lines, span.start, span.end) if span is not None else span_range(document.lines, 0, 0)


def _location(span: Span) -> lsp.Location:
    return lsp.Location(from_fs_path(span.source.path) or "", span_range(Lines(span.source.text), span.start, span.end))


async def refresh(server: Server, path: str) -> None:
    """Show mistakes of syntax at once, those of the changed declarations next, all others when nothing is typed."""
    document, ktc = server.ktc.documents[path], server.ktc
    sink = Sink()
    module = parse(Source(path, document.text), sink, tables=ktc.tables)
    if module is None:
        publish(server, document, tuple(sink.diagnostics))
        return
    document.module = module
    loop = asyncio.get_running_loop()
    if document.good is not None:
        await asyncio.sleep(_SHORT_PAUSE)
        if ktc.documents.get(path) is not document:
            return  # a later change looks again
        shown = await loop.run_in_executor(ktc.pool, look_at_change, document, ktc.overlays())
        if ktc.documents.get(path) is not document:
            return
        if shown is not None:
            publish(server, document, shown)
            await asyncio.sleep(_LONG_PAUSE)
            if ktc.documents.get(path) is not document:
                return
    found = await loop.run_in_executor(ktc.pool, ktc.analysed, document)
    if found is not None:
        finish(server, document, found)


def finish(server: Server, document: Document, found: Analysis) -> None:
    """Keep the result of a complete look at a document, and show it."""
    document.analysis = found
    if found.problem:  # a mistake of ktc itself
        message = f"{document.path}: {found.problem}"
        server.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, message))
    if found.module is not None:
        document.good = found
    if server.ktc.documents.get(document.path) is document:
        publish(server, document, found.diagnostics)


def edits(server: Server, document: Document, lines: tuple[int, int] | None) -> list[lsp.TextEdit]:
    """Return the edits of formatting; none for a text that does not parse."""
    source = Source(document.path, document.text)
    try:
        columns = FormatStyles().line_length(Path(document.path))
    except BadFormatTable as error:
        server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, str(error)))
        return []
    text = server.ktc.run(lambda: format_source(source, Sink(), server.ktc.tables, columns, lines))
    if text is None or text == document.text:
        return []
    return [lsp.TextEdit(span_range(document.lines, 0, len(document.text)), text)]


def places(server: Server, document: Document, offset: int, is_renaming: bool = False) -> dict[str, list[lsp.Range]]:
    """Return where a name is used, in this file and in others of the project that have the word."""
    good = server.good(document)
    fact = queries.fact_at(good, offset) if good is not None else None
    if good is None or fact is None or fact.declared is None:
        return {}
    target, word = fact.declared, good.text[fact.start : fact.end]
    if is_renaming and (target.source.is_library or good.text != document.text):
        return {}  # places in a text that does not parse are not known well enough
    found: dict[str, list[lsp.Range]] = {}

    def add(path: str, text: str, analysis: Analysis) -> None:
        lines = Lines(text)
        own = queries.references(analysis, target, word)
        if own:
            found[from_fs_path(str(Path(path).absolute())) or path] = [span_range(lines, *one) for one in own]

    add(document.path, good.text, good)
    for path in list(server.ktc.files())[:_MAX_FILES]:
        text = path.read_text("utf-8", "replace")
        own = str(path.absolute())
        if word in text and own != document.path:
            add(own, text, server.ktc.run(partial(analyse, own, text, server.ktc.overlays(), server.ktc.tables)))
    return found


def code_actions(server: Server, document: Document, selection: lsp.Range) -> list[lsp.CodeAction]:
    """Return the fixes of diagnostics in a range."""
    found = document.shown if document.module is not None else server.ktc.analyse(document).diagnostics
    actions = []
    uri = from_fs_path(document.path) or document.path
    edition_fixes = EditionFixes(Options(Path(), accelerators="cpu"), server.ktc.overlays())
    for one in found:
        own = _range(document, one.span)
        if one.span is None or one.span.source.path != document.path:
            continue
        if own.start.line > selection.end.line or own.end.line < selection.start.line:
            continue
        for fix in server.ktc.run(partial(edition_fixes.of, one)):
            changes = [
                lsp.TextEdit(span_range(document.lines, edit.span.start, edit.span.end), edit.text)
                for edit in fix.edits
            ]
            actions.append(lsp.CodeAction(
                fix.title, lsp.CodeActionKind.QuickFix, [_diagnostic(document, one)], fix.is_safe,
                edit=lsp.WorkspaceEdit({uri: changes}),
            ))  # fmt: skip
    return actions


def semantic_tokens(document: Document, server: Server) -> lsp.SemanticTokens:
    """Return the words of a text as the protocol packs them: each relative to the one before."""
    data: list[int] = []
    line = column = 0
    for start, end, kind in symbols.tokens(document.text, document.analysis or document.good, server.ktc.tables):
        at = start
        for piece in document.text[start:end].split("\n"):  # a string may have several lines
            size = len(piece) if document.lines.is_basic else len(piece.encode("utf-16-le")) // 2
            here, there = document.lines.place(at)
            if size:
                data += [
                    here - line,
                    there - column if here == line else there,
                    size,
                    symbols.TOKEN_TYPES.index(kind),
                    0,
                ]
                line, column = here, there
            at += len(piece) + 1
    return lsp.SemanticTokens(data)


def symbol_tree(document: Document, rows: list[symbols.Symbol]) -> list[lsp.DocumentSymbol]:
    """Return an outline as the protocol wants it."""
    lines = document.lines
    return [
        lsp.DocumentSymbol(
            one.name, _SYMBOLS[one.kind], span_range(lines, one.start, one.end),
            span_range(lines, one.name_start, one.name_start + len(one.name)),
            children=symbol_tree(document, one.inner),
        )
        for one in rows
    ]  # fmt: skip


def completions(server: Server, document: Document, offset: int) -> lsp.CompletionList:
    """Return the proposals at a place."""
    if document.good is None:
        server.ktc.analyse(document)
    found = completion.complete(server.ktc, document, offset)
    items = [
        lsp.CompletionItem(
            one.name, kind=_COMPLETIONS[one.kind], detail=one.detail or None,
            documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, one.doc) if one.doc else None,
        )
        for one in found
    ]  # fmt: skip
    return lsp.CompletionList(False, items)


def signature_help(server: Server, document: Document, offset: int) -> lsp.SignatureHelp | None:
    """Return the signatures of the call around a place."""
    call = queries.call_around(document.text, offset)
    good = document.good or server.good(document)
    fact = queries.called(document, good, call) if call is not None and good is not None else None
    rows = queries.signatures(fact) if fact is not None else []
    if not rows or call is None:
        return None
    infos: list[lsp.SignatureInformation] = []
    best = 0
    for index, (text, args, doc) in enumerate(rows):
        named = [at for at, arg in enumerate(args) if call.keyword and call.keyword == arg.split(":")[0].split()[-1]]
        active = named[0] if named else call.active
        fits = active < len(args)
        best = index if fits and not infos_fit(infos) else best
        labels: list[Any] = [lsp.ParameterInformation(arg) for arg in args]
        infos.append(lsp.SignatureInformation(text, doc or None, labels, active if fits else None))
    return lsp.SignatureHelp(infos, best, infos[best].active_parameter or 0)


def infos_fit(infos: list[lsp.SignatureInformation]) -> bool:
    """Return whether a signature before takes so many arguments."""
    return any(one.active_parameter is not None for one in infos)


def identifier(text: str, offset: int) -> tuple[int, int] | None:
    """Return the name at an offset."""
    start, end = word_at(text, offset)
    return (start, end) if start < end and not text[start].isdigit() else None
