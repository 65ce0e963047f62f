"""How long after a change of a text the language server shows its diagnostics.

    python benchmarks/editing.py [--edits 200] [--seed 1] [--alone] [--pause 0] [FILE]

Edits a file in the bodies of its functions: a new statement, a misspelt name, another number. Shows the time from a
change to the first diagnostics of that version, and the processor time of the server. KTC names the command, by
default ktc of this Python. With --alone it asks for the checks in its own process, without the protocol and its
pauses. With --pause it waits up to so many seconds before a change, so that the complete check of the one before has
begun.
"""

import argparse
import asyncio
import os
import random
import re
import shlex
import statistics
import sys
import time
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

ROOT = Path(__file__).parents[1]
_STATEMENT = re.compile(r"^(?P<indent> {4,})(?:var |return |[a-z_.]+(?:\[.*\])? [+-]?= )", re.MULTILINE)


def processor_seconds(process: int) -> float:
    """Return the processor time of all threads of a process."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(one.read_text().split()[0]) for one in threads) / 1e9


def edited(text: str, dice: random.Random) -> str:
    """Return a text with one change in the body of a function."""
    place = dice.choice([*_STATEMENT.finditer(text)])
    end = text.index("\n", place.start())
    line = text[place.start() : end]
    names = [*re.finditer(r"\b[a-z_]{3,}\b", line)]
    numbers = [*re.finditer(r"\b\d+\b", line)]
    match dice.randrange(3):
        case 0:
            changed = f"{place['indent']}var added = 1\n{line}"
        case 1 if numbers:
            number = dice.choice(numbers)
            changed = line[: number.end()] + "1" + line[number.end() :]
        case _:
            name = dice.choice(names) if names else None
            changed = line[: name.end()] + "x" + line[name.end() :] if name else line + " "
    return text[: place.start()] + changed + text[end:]


async def measure(path: Path, edits: int, seed: int, pause: float) -> list[tuple[float, float]]:
    """Return the time to the diagnostics of each change, and the server's processor time for it."""
    client, dice, text = LanguageClient("editing", "1"), random.Random(seed), path.read_text("utf-8")
    found: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _shown(params: lsp.PublishDiagnosticsParams) -> None:
        found.put_nowait(params)

    await client.start_io(*shlex.split(os.environ.get("KTC") or f"{sys.executable} -m ktc"), "lsp")
    process = client._server.pid  # type: ignore[union-attr]
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=path.parent.as_uri()))
    client.initialized(lsp.InitializedParams())
    item = lsp.TextDocumentItem(path.as_uri(), "mojo", 0, text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    await found.get()
    times = []
    for version in range(1, edits + 1):
        await asyncio.sleep(pause * dice.random() if pause else 0)
        shown = edited(text, dice)
        document = lsp.VersionedTextDocumentIdentifier(version, item.uri)
        begin, used = time.perf_counter(), processor_seconds(process)
        whole = lsp.TextDocumentContentChangeWholeDocument(shown)
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [whole]))
        while (await found.get()).version != version:
            pass
        times.append((time.perf_counter() - begin, processor_seconds(process) - used))
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return times


def alone(path: Path, edits: int, seed: int) -> list[tuple[float, float]]:
    """Return the time of the quick check of each change, and its processor time; leaves out what needs a whole one."""
    from ktc.diag.diagnostic import Sink
    from ktc.diag.source import Source
    from ktc.lsp.analysis import Document, Lines, Workspace, analyse, look_at_change
    from ktc.syntax.parsing.parser import parse

    ktc, text, dice, times = Workspace(), path.read_text("utf-8"), random.Random(seed), []

    def check() -> None:
        good = analyse(str(path), text, {}, ktc.tables)
        for version in range(edits):
            shown = edited(text, dice)
            document = Document(str(path), shown, version, Lines(shown), good=good)
            begin, used = time.perf_counter(), time.process_time()
            document.module = parse(Source(str(path), shown), Sink(), tables=ktc.tables)
            if document.module is None or look_at_change(document, {}) is not None:
                times.append((time.perf_counter() - begin, time.process_time() - used))

    ktc.run(check)  # on the thread with the large stack
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "benchmarks" / "transformer.kpy")
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--pause", type=float, default=0)
    given = parser.parse_args()
    path = given.file.resolve()
    if given.alone:
        times = alone(path, given.edits, given.seed)
    else:
        times = asyncio.run(measure(path, given.edits, given.seed, given.pause))
    print("ms", " median", "   95 %", "    max", sep="")
    for title, column in (("until the diagnostics", 0), ("of processor time", 1)):
        values = sorted(1000 * row[column] for row in times)
        high = values[int(0.95 * (len(values) - 1))]
        print(f"{statistics.median(values):9.0f}{high:7.0f}{values[-1]:7.0f}  {title}")


if __name__ == "__main__":
    main()
