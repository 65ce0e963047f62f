"""The language server, through the protocol: one real session, and random edits."""

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Label, Severity, Sink
from ktc.diag.source import Source, Span
from ktc.lsp.analysis import Cancelled, Document, analyse, look_at_change
from ktc.lsp.changes import Change, between, edited_range, merged
from ktc.lsp.positions import Lines
from ktc.syntax.parsing.parser import parse
from ktc.syntax.parsing.tables import load_tables
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

EDITS, SEED = int(os.environ.get("KTC_LSP_EDITS", "6")), int(os.environ.get("KTC_LSP_SEED", "5"))
"""Random edits of a session; more of them find more."""
TEXT = '''from math import sqrt
from shapes import area
import os

struct Point(Copyable, Movable):
    """A place."""

    var x: Int

    fn __init__(out self, x: Int):
        self.x = x

    fn twice(self, by: Int = 2) -> Int:
        """Multiplies."""
        return self.x * by

def main():
    var p = Point(3)
    p.x += 1
    var q = p.twice(by=4)
    for v in [1.5, 2.5]:
        print("é𝄞", q, sqrt(v))
    print(area(q))
'''
SHAPES = "fn area(side: Int) -> Int:\n    return side * side\n\nalias WIDTH, HEIGHT = 4, 3\n"


class Session:
    """A client with one open document."""

    def __init__(self, folder: Path) -> None:
        self.client = LanguageClient("test", "1")
        self.uri = (folder / "prog.kpy").as_uri()
        self.document = lsp.TextDocumentIdentifier(self.uri)
        self.text, self.version = TEXT, 1
        self.found: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

    async def start(self, folder: Path) -> None:
        await self.client.start_io(sys.executable, "-m", "ktc", "lsp")

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def found(params: lsp.PublishDiagnosticsParams) -> None:
            self.found.put_nowait(params)

        folders = [lsp.WorkspaceFolder(folder.as_uri(), "w")]
        await self.client.initialize_async(
            lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=folder.as_uri(), workspace_folders=folders)
        )
        self.client.initialized(lsp.InitializedParams())
        item = lsp.TextDocumentItem(self.uri, "mojo", 1, self.text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    async def diagnostics(self) -> list[str]:
        """Wait for the diagnostics of the current version."""
        while True:
            params = await asyncio.wait_for(self.found.get(), 120)
            if params.version == self.version:
                return [str(one.code) for one in params.diagnostics]

    def change(self, text: str) -> None:
        self.text, self.version = text, self.version + 1
        document = lsp.VersionedTextDocumentIdentifier(self.version, self.uri)
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))

    def at(self, part: str, more: int = 0) -> lsp.Position:
        return lsp.Position(*Lines(self.text).place(self.text.index(part) + more))

    def shown(self, ranges: list[lsp.Range]) -> list[str]:
        lines = Lines(self.text)
        found = []
        for one in sorted(ranges, key=lambda one: (one.start.line, one.start.character)):
            start = lines.offset(one.start.line, one.start.character)
            end = lines.offset(one.end.line, one.end.character)
            found.append(f"{one.start.line + 1}:{self.text[start:end]}")
        return found

    def placed(self, kind: Any, part: str, more: int = 0, **fields: Any) -> Any:
        return kind(text_document=self.document, position=self.at(part, more), **fields)


@pytest.fixture
def folder(tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    (tmp_path / "shapes.kpy").write_text(SHAPES)
    (tmp_path / "prog.kpy").write_text(TEXT)
    return tmp_path


def in_session(folder: Path, work: Callable[[Session], Awaitable[None]]) -> None:
    async def run() -> None:
        session = Session(folder)
        await session.start(folder)
        try:
            await work(session)
        finally:
            await session.client.shutdown_async(None)
            session.client.exit(None)
            await session.client.stop()

    asyncio.run(run())


async def questions(own: Session) -> None:
    client = own.client
    assert await own.diagnostics() == ["unused-import"]
    hover = await client.text_document_hover_async(own.placed(lsp.HoverParams, "twice(by"))
    assert hover.contents.value == "```mojo\nfn twice(self, by: Int = 2) -> Int\n```\n\nMultiplies."
    hover = await client.text_document_hover_async(own.placed(lsp.HoverParams, "q, sqrt"))
    assert hover.contents.value == "```mojo\nvar q: Int\n```" and own.shown([hover.range]) == ["22:q"]
    found = await client.text_document_definition_async(own.placed(lsp.DefinitionParams, "area(q"))
    assert found[0].uri.endswith("/shapes.kpy") and found[0].range.start == lsp.Position(0, 3)
    found = await client.text_document_definition_async(own.placed(lsp.DefinitionParams, "sqrt(v"))
    assert found[0].uri.endswith("/math.kpy") and os.path.exists(found[0].uri.removeprefix("file://"))
    context = lsp.ReferenceContext(True)
    found = await client.text_document_references_async(own.placed(lsp.ReferenceParams, "q = p", context=context))
    assert own.shown([one.range for one in found]) == ["20:q", "22:q", "23:q"]
    found = await client.text_document_document_highlight_async(own.placed(lsp.DocumentHighlightParams, "v in"))
    assert own.shown([one.range for one in found]) == ["21:v", "22:v"]
    help = await client.text_document_signature_help_async(own.placed(lsp.SignatureHelpParams, "by=4", 3))
    assert help.signatures[0].label == "twice(by: Int = 2) -> Int" and help.active_parameter == 0


async def changes(own: Session) -> None:
    client = own.client
    renamed = await client.text_document_rename_async(own.placed(lsp.RenameParams, "x: Int\n\n", new_name="first"))
    assert own.shown([one.range for one in renamed.changes[own.uri]]) == ["8:x", "11:x", "15:x", "19:x"]
    renamed = await client.text_document_rename_async(own.placed(lsp.RenameParams, "by: Int", new_name="times"))
    assert own.shown([one.range for one in renamed.changes[own.uri]]) == ["13:by", "15:by", "20:by"]
    renamed = await client.text_document_rename_async(own.placed(lsp.RenameParams, "area(q", new_name="square"))
    assert own.shown([one.range for one in renamed.changes[own.uri]]) == ["2:area", "23:area"]
    assert len([uri for uri in renamed.changes if uri.endswith("/shapes.kpy")]) == 1
    assert await client.text_document_rename_async(own.placed(lsp.RenameParams, "sqrt(v", new_name="root")) is None
    everything = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
    actions = await client.text_document_code_action_async(
        lsp.CodeActionParams(own.document, everything, lsp.CodeActionContext([]))
    )
    assert [(one.title, one.is_preferred) for one in actions] == [("remove the import", True)]
    assert own.shown([actions[0].edit.changes[own.uri][0].range]) == ["3:import os\n"]
    options = lsp.FormattingOptions(4, True)
    (edit,) = await client.text_document_formatting_async(lsp.DocumentFormattingParams(own.document, options))
    assert "import os\n\n\nstruct Point" in edit.new_text


STRAY = """from max.gpu import thread_idx
alias N = 2


def raising():
    raise Error("no")


def main():
    var text = String("ab")
    print(len(text), text[0], N)
"""


async def edition_fixes(own: Session) -> None:
    """Forms of edition 2025 in a text of edition 2026 are repaired by what the migration makes of them."""
    own.change(STRAY)
    titles: list[str] = []
    for codes in (["wrong-edition"], ["unhandled-raise", "not-callable", "not-callable"]):
        assert sorted(await own.diagnostics()) == sorted(codes)
        everything = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
        actions = await own.client.text_document_code_action_async(
            lsp.CodeActionParams(own.document, everything, lsp.CodeActionContext([]))
        )
        titles += [one.title for one in actions]
        if "alias" in own.text:
            own.change(own.text.replace("alias", "comptime"))
    assert titles == [
        "write 'comptime'", "write 'raises'", "index the text by bytes", "index the text by bytes",
    ]  # fmt: skip


async def lists(own: Session) -> None:
    client = own.client
    rows = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(own.document))
    assert [(one.name, [inner.name for inner in one.children]) for one in rows] == [
        ("Point", ["x", "__init__", "twice"]), ("main", []),
    ]  # fmt: skip
    named = await client.workspace_symbol_async(lsp.WorkspaceSymbolParams("are"))
    assert [(one.name, Path(one.location.uri).name) for one in named] == [("area", "shapes.kpy")]
    named = await client.workspace_symbol_async(lsp.WorkspaceSymbolParams(""))
    assert {one.name for one in named if one.location.uri.endswith("/shapes.kpy")} == {"area", "WIDTH", "HEIGHT"}
    everything = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
    hints = await client.text_document_inlay_hint_async(lsp.InlayHintParams(own.document, everything))
    assert [(one.position.line + 1, one.label) for one in hints] == [(18, ": Point"), (20, ": Int"), (21, ": Float64")]
    folds = await client.text_document_folding_range_async(lsp.FoldingRangeParams(own.document))
    assert (4, 14) in [(one.start_line, one.end_line) for one in folds]
    tokens = await client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(own.document))
    assert len(tokens.data) % 5 == 0 and len(tokens.data) > 200


async def completions(own: Session) -> None:
    client = own.client

    async def proposed(part: str, more: int) -> list[str]:
        found = await client.text_document_completion_async(own.placed(lsp.CompletionParams, part, more))
        return [one.label for one in found.items]

    assert {"p", "q", "Point", "sqrt", "print", "while"} <= set(await proposed("print(area", 2))
    assert "by=" in await proposed("by=4", 0)
    own.change(own.text.replace("var q = p.twice(by=4)", "var q = p."))
    assert await own.diagnostics() == ["syntax-error"]
    assert await proposed("q = p.", 6) == ["x", "twice"]
    for half in (
        "if p.",
        "for i in range(p.",
        "print(p, p.",
        "while (p.\n",
        "print([p.x for p in [p]], p.",
        "r = p.x + p.",
    ):
        own.change(TEXT.partition("    var q =")[0] + f"    {half}\n")
        await own.diagnostics()
        assert await proposed(half, half.rindex(".") + 1) == ["x", "twice"], half
    own.change(TEXT + "\n\nfn later(point: Point):\n    if (point.twice(\n")
    await own.diagnostics()
    assert await proposed("    if (point.", 14) == ["x", "twice"]
    place = own.placed(lsp.DefinitionParams, "(point.twice(", 8)
    found = await client.text_document_definition_async(place)
    assert isinstance(found, list) and [one.range.start.line for one in found] == [12]
    own.change(TEXT)
    await own.diagnostics()
    own.change(own.text.replace("from math import sqrt", "from math import s"))
    assert "sqrt" in await proposed("from math import s", 18)
    own.change(TEXT.replace("from shapes import area", "from shapes import a"))
    assert await proposed("from shapes import a", 20) == ["area", "WIDTH", "HEIGHT"]
    own.change(TEXT)
    await own.diagnostics()
    own.change(own.text.replace("import os", "from co"))
    assert "collections" in await proposed("from co", 7)


async def everything(own: Session) -> None:
    for part in (questions, changes, lists, completions, edition_fixes):
        await part(own)


def test_a_session(folder: Path) -> None:
    in_session(folder, everything)


def test_the_server_ends_without_a_word() -> None:
    ends = ({"method": "shutdown", "id": 1}, {"method": "exit"})
    messages = [json.dumps({"jsonrpc": "2.0", **one}) for one in ends]
    given = "".join(f"Content-Length: {len(one)}\r\n\r\n{one}" for one in messages)
    words = [sys.executable, "-m", "ktc", "lsp"]
    done = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


async def edits(own: Session) -> None:
    chance = random.Random(SEED)
    for number in range(EDITS):
        if number % 40 == 0:  # what is broken too often is no program to ask about
            own.change(TEXT)
        at = chance.randrange(len(own.text))
        end = at + chance.choice((0, 0, 1, 5))
        new = chance.choice(("", ".", "(", ")", "\n", "    ", "x", '"', ":", "[", "𝄞", "p."))
        own.change(own.text[:at] + new + own.text[end:])
        position = lsp.Position(*Lines(own.text).place(at))
        await own.client.text_document_completion_async(lsp.CompletionParams(own.document, position))
        await own.client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(own.document))
        await own.client.text_document_hover_async(lsp.HoverParams(own.document, position))
    own.change(TEXT)
    assert await own.diagnostics() == ["unused-import"]


@pytest.mark.thorough
def test_random_edits(folder: Path) -> None:
    in_session(folder, edits)


def test_what_a_change_is() -> None:
    assert between("abcdef", "abXYef") == Change(2, 4, 4)
    assert between("aaa", "aaaa") == Change(3, 3, 4) and between("aa", "") == Change(0, 2, 0)
    source = Source("p", "abXYZef")
    change = between("abcdef", source.text)
    moved = [change.moved(Span(source, *one), source) for one in ((0, 2), (4, 6), (3, 5))]
    assert [(one.start, one.end) if one else None for one in moved] == [(0, 2), (5, 7), None]


GPU = """from gpu import global_idx
from gpu.host import DeviceContext


struct Pair(Copyable, Movable):
    var a: Int

    fn sum(self) -> Int:
        return self.a


fn kernel(x: UnsafePointer[Float32, MutAnyOrigin]):
    x[Int(global_idx.x)] = 1


fn other(n: Int) -> Int:
    return n + missing


fn generic[T: Copyable](x: T) -> T:
    return x.copy()


def main():
    var unused = 1
    with DeviceContext() as ctx:
        var x = ctx.enqueue_create_buffer[DType.float32](4)
        ctx.enqueue_function_checked[kernel, kernel](3, grid_dim=1, block_dim=4)
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "old, new, wanted",
    [
        ("= 1\n\n\nfn other", '= "a"\n\n\nfn other', ["type-mismatch kernel", "undefined-name other"]),
        ("return self.a", "return self.b", ["no-member Pair", "undefined-name other"]),
        ("n + missing", "n", []),
        ("x.copy()", "x.copies()", ["missing-trait-bound generic", "undefined-name other"]),
        ("(4)\n", "(4, 5, 6)\n", ["too-many-arguments main", "undefined-name other"]),
        ("var a: Int", "var a: Nothing", ["undefined-name Pair", "undefined-name other"]),
        ("from gpu import global_idx", "from gpu import block_idx", None),
        ("\n\ndef main", "  # a comment\n\n\ndef main", ["undefined-name other"]),
        ("other(n: Int)", "other(missing: Int)", ["undefined-name other"]),
    ],
)
def test_a_change_is_checked_alone(
    old: str, new: str, wanted: list[str] | None, tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changed declarations are checked; what the rest has stays, and a launch is left to the complete look."""
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    path, text = str(tmp_path / "prog.kpy"), GPU.replace(old, new)
    assert text != GPU
    document = Document(path, text, 2, Lines(text))
    document.module = parse(Source(path, text), Sink())
    before = analyse(path, GPU, {}, load_tables(None))
    document.good = before
    found = look_at_change(document, {})
    if wanted is None:
        assert found is None
        return
    assert found is not None
    shown = sorted(
        f"{one.code.id} {_inside(text, one.span)}" for one in found if one.code is not Code.KERNEL_ARGUMENT_MISMATCH
    )
    assert [one for one in shown if not one.startswith("unused")] == wanted
    launch = [one for one in found if one.code is Code.KERNEL_ARGUMENT_MISMATCH]
    assert [text[one.span.start] for one in launch if one.span] == ["3"]


def _inside(text: str, span: Span | None) -> str:
    assert span is not None
    heads = [line for line in text[: span.start].splitlines() if line[:1].isalpha() and not line.startswith("from")]
    return heads[-1].split()[1].partition("(")[0].partition("[")[0]


def test_a_complete_check_is_abandoned(tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    with pytest.raises(Cancelled):
        analyse(str(tmp_path / "prog.kpy"), GPU, {}, load_tables(None), lambda: True)


@pytest.mark.parametrize(
    "wrong, has_quick_answer",
    [
        (("q, sqrt(v)", "q, roots(v)"), True),
        (("self.x * by", "self.z * by"), True),
        (("struct Point(Copyable, Movable)", "struct Point(Copied, Movable)"), True),
        (("twice(self, by: Int", "twice(self, to: Int"), False),  # `main` has a mistake that goes with it
    ],
)
def test_a_mistake_is_repaired(
    wrong: tuple[str, str], has_quick_answer: bool, folder: Path, program_cache: Path
) -> None:
    """The quick look finds what the complete one finds, also the warnings that wait for a text without mistakes."""
    path = str(folder / "prog.kpy")
    document = Document(path, TEXT, 2, Lines(TEXT))
    document.module = parse(Source(path, TEXT), Sink())
    document.good = analyse(path, TEXT.replace(*wrong), {}, load_tables(None))
    assert [one for one in document.good.diagnostics if one.severity is Severity.ERROR]
    found = look_at_change(document, {})
    assert (found is not None) == has_quick_answer
    assert found is None or [one.code for one in found] == [Code.UNUSED_IMPORT]


def test_merging() -> None:
    old, new = Source("p", "fn f():\n    a\nfn g():\n    b\n"), Source("p", "fn f():\n    aaa\nfn g():\n    b\n")
    change, module = between(old.text, new.text), parse(new, Sink())
    assert module is not None
    around = edited_range(module, change)
    assert around is not None and new.text[slice(*around)].startswith("fn f") and around[1] <= new.text.index("fn g")
    struct = parse(Source("p", "struct S:\n    fn f(self):\n        aaa\n\n    fn g(self):\n        b\n"), Sink())
    assert struct is not None and edited_range(struct, Change(34, 35, 36)) == (14, 37)  # the body of a method
    assert edited_range(struct, Change(18, 18, 19)) == (0, 64)  # its head
    at = old.text.index("b")
    note = Label(Span(old, 0, 2), "declared here")
    before = [
        Diagnostic(Code.UNDEFINED_NAME, Span(old, 12, 13), "a"),
        Diagnostic(Code.UNDEFINED_NAME, Span(old, at, at + 1), "b", "", (note,)),
    ]
    (kept,) = merged(before, [], change, around, new)
    assert kept.message == "b" and kept.span == Span(new, at + 2, at + 3) and kept.notes[0].span.source is new
