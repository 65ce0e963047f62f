"""The features of the server, one function a request; `serve` starts it on standard input and output."""

from pathlib import Path

from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source
from ktc.lsp import queries, symbols
from ktc.lsp.analysis import Document
from ktc.lsp.positions import Lines
from ktc.lsp.server import (
    _SYMBOLS,
    Server,
    code_actions,
    completions,
    edits,
    identifier,
    places,
    refresh,
    semantic_tokens,
    signature_help,
    span_range,
    symbol_tree,
)
from ktc.syntax.parsing.parser import parse
from lsprotocol import types as lsp
from pygls.uris import from_fs_path, to_fs_path

_MAX_SYMBOLS = 500


def serve() -> None:
    """Answer an editor until it says goodbye."""
    make_server().start_io()


def make_server() -> Server:
    """Return a server with all features."""
    server = Server()
    _add_documents(server)
    _add_questions(server)
    _add_lists(server)
    _add_changes(server)
    return server


def _add_documents(server: Server) -> None:
    @server.feature(lsp.INITIALIZED)
    def started(_: lsp.InitializedParams) -> None:
        folders = server.workspace.folders.values()
        named = [to_fs_path(folder.uri) for folder in folders] or [to_fs_path(server.workspace.root_uri or "")]
        server.ktc.folders = [Path(path) for path in named if path]

    async def changed(uri: str, version: int) -> None:
        path = to_fs_path(uri) or uri
        server.ktc.change(path, server.workspace.get_text_document(uri).source, version)
        await refresh(server, path)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        await changed(params.text_document.uri, params.text_document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def edited(params: lsp.DidChangeTextDocumentParams) -> None:
        await changed(params.text_document.uri, params.text_document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        path = to_fs_path(params.text_document.uri) or ""
        server.ktc.documents.pop(path, None)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))


def _add_questions(server: Server) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        document = server.document(params.text_document.uri)
        fact = server.fact(document, server.offset(document, params.position))
        text = queries.hover(fact) if fact is not None else ""
        if not text or fact is None:
            return None
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
        return lsp.Hover(content, span_range(document.lines, fact.start, fact.end))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
        document = server.document(params.text_document.uri)
        fact = server.fact(document, server.offset(document, params.position))
        return [server.location(fact.declared)] if fact is not None and fact.declared is not None else []

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        document = server.document(params.text_document.uri)
        found = places(server, document, server.offset(document, params.position))
        return [lsp.Location(uri, one) for uri, ranges in found.items() for one in ranges]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        document = server.document(params.text_document.uri)
        good = server.good(document)
        fact = queries.fact_at(good, server.offset(document, params.position)) if good is not None else None
        if good is None or fact is None or fact.declared is None:
            return []
        own = queries.references(good, fact.declared, good.text[fact.start : fact.end])
        return [lsp.DocumentHighlight(span_range(document.lines, *one)) for one in own]

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["."]))
    def complete(params: lsp.CompletionParams) -> lsp.CompletionList:
        document = server.document(params.text_document.uri)
        return completions(server, document, server.offset(document, params.position))

    @server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpOptions(trigger_characters=["(", ","]))
    def signature(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
        document = server.document(params.text_document.uri)
        return signature_help(server, document, server.offset(document, params.position))


def _add_lists(server: Server) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outline(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        document = server.document(params.text_document.uri)
        module = server.tree(document)
        return symbol_tree(document, symbols.outline(module)) if module is not None else []

    @server.feature(lsp.WORKSPACE_SYMBOL)
    def workspace_symbols(params: lsp.WorkspaceSymbolParams) -> list[lsp.SymbolInformation]:
        query, found = params.query.lower(), []
        texts = {
            path: one.good.text if one.good is not None else one.text for path, one in server.ktc.documents.items()
        }
        texts |= {str(path.absolute()): path.read_text("utf-8", "replace") for path in server.ktc.files()}
        for path, text in texts.items():
            for name, kind, start, end in _named(server, path, text):
                if query in name.lower():
                    place = lsp.Location(from_fs_path(path) or path, span_range(Lines(text), start, end))
                    found.append(lsp.SymbolInformation(place, name, _SYMBOLS[kind]))
        return found[:_MAX_SYMBOLS]

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    def folding(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        document = server.document(params.text_document.uri)
        rows = {(document.lines.place(a)[0], document.lines.place(b)[0])
                for a, b in symbols.folds(server.tree(document))}  # fmt: skip
        return [lsp.FoldingRange(first, last) for first, last in sorted(rows) if last > first]

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lsp.SemanticTokensLegend(list(symbols.TOKEN_TYPES), []))
    def colours(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        return semantic_tokens(server.document(params.text_document.uri), server)

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def inlay(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        document = server.document(params.text_document.uri)
        analysis = server.ktc.analyse(document)
        rows = symbols.inlays(analysis)
        return [
            lsp.InlayHint(lsp.Position(*document.lines.place(at)), text, lsp.InlayHintKind.Type) for at, text in rows
        ]


def _named(server: Server, path: str, text: str) -> list[tuple[str, str, int, int]]:

    module = parse(Source(path, text), Sink(), tables=server.ktc.tables)
    found = []
    rows = symbols.outline(module)
    while rows:
        one = rows.pop()
        found.append((one.name, one.kind, one.name_start, one.name_start + len(one.name)))
        rows.extend(one.inner)
    return found


def _add_changes(server: Server) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare(params: lsp.PrepareRenameParams) -> lsp.Range | None:
        document = server.document(params.text_document.uri)
        offset = server.offset(document, params.position)
        word = identifier(document.text, offset)
        can = word is not None and bool(places(server, document, offset, is_renaming=True))
        return span_range(document.lines, *word) if can and word is not None else None

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        document = server.document(params.text_document.uri)
        if not params.new_name.isidentifier():
            return None
        found = places(server, document, server.offset(document, params.position), is_renaming=True)
        changes = {uri: [lsp.TextEdit(one, params.new_name) for one in rows] for uri, rows in found.items()}
        return lsp.WorkspaceEdit(changes) if changes else None

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]))
    def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return code_actions(server, server.document(params.text_document.uri), params.range)

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        return edits(server, server.document(params.text_document.uri), None)

    @server.feature(lsp.TEXT_DOCUMENT_RANGE_FORMATTING)
    def range_formatting(params: lsp.DocumentRangeFormattingParams) -> list[lsp.TextEdit]:
        document: Document = server.document(params.text_document.uri)
        lines = params.range.start.line + 1, params.range.end.line + 1
        return edits(server, document, lines)
