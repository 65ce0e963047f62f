"""Programs and outputs in the documentation. `python tests/documents.py --write` brings all pages up to date.

A comment in front of a fenced block says where its text comes from:

    <!-- program: examples/saxpy.kpy -->            a whole file
    <!-- program: examples/reduction.kpy sum_by_tree, main -->   declarations of it at the top level; `imports` too
    <!-- program: examples/saxpy.mojo main -->     of edition 2026: the site has a tab with `saxpy.kpy`, of edition 2025
    <!-- output: ktc run examples/saxpy.kpy -->     what a command prints, run in the project; exit code 0
    <!-- output 1: ktc check bad.kpy -->            the same with another exit code
    <!-- output: head 12: ktc emit ... -->          its first lines only; the rest is an ellipsis
    <!-- excerpt: ktc emit ... -->                  pieces of what it prints, with lines of "…" between them
    <!-- part: examples/softmax.kpy -->             pieces of a file, in the same way, indented less if need be
    <!-- recorded: H200, CUDA 13.0 -->              what another machine or another program printed; nothing checks it
    <!-- sketch -->                                 not a whole program, or a form to fill in; nothing checks it

A block of an excerpt may differ from the output in tabs, in digests, and in times.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from declared import declared
from programs import run_ktc

ROOT = Path(__file__).parents[1]
_LINES = re.MULTILINE | re.DOTALL
_DIGEST = re.compile(r"0x[0-9a-f]{6,}|(?<=[$_])[0-9a-f]{8}(?:[0-9a-f]{4}){0,2}\b")
_COMMAND = re.compile(r"(\$ )?([A-Z_]+=\S+ )*(ktc|make|ncu|nsys|ldd|dask|pip|perf|\. |\./)")
KINDS = ("program", "output", "excerpt", "part", "recorded", "sketch")
"""What a comment in front of a block may say."""
_BLOCK = re.compile(
    r"<!-- (?P<kind>program|output|excerpt|part)(?: (?P<code>\d+))?: (?:head (?P<head>\d+): )?(?P<what>[^\n]+?) -->\n+"
    r"(?P<fence>```\w*(?: [\w.]+)?)\n(?P<text>.*?)^```$",
    _LINES,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and where its text comes from."""

    page: Path
    start: int
    end: int
    kind: str
    what: str
    code: int
    head: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.kind} {self.what}"


def pages() -> list[Path]:
    """Return the pages whose programs are checked."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """Give the blocks of a page that come from elsewhere."""
    for found in _BLOCK.finditer(page.read_text("utf-8")):
        yield Block(
            page, found.start("text"), found.end("text"), found["kind"], found["what"],
            int(found["code"] or 0), int(found["head"] or 0), found["text"],
        )  # fmt: skip


def unexplained(page: Path) -> list[str]:
    """Return the first lines of fenced blocks that no comment explains and that are no commands either."""
    text, found = page.read_text("utf-8"), []
    for fence in re.finditer(r"^```\w*\n(.*?)^```$", text, _LINES):
        before = text[: fence.start()].rstrip().rpartition("\n")[2]
        said = re.match(r"<!-- (\w+)", before)
        lines = [line for line in fence[1].splitlines() if line.strip()]
        if (said is None or said[1] not in KINDS) and not all(map(_COMMAND.match, lines)):
            found.append(lines[0] if lines else "")
    return found


def commands(page: Path) -> list[str]:
    """Return the commands of ktc that a page shows: in fences, in indented lines, and as inline code."""
    text = re.sub(r"\\\n\s*", "", page.read_text("utf-8"))
    fenced = re.sub(r"^```.*?\n(.*?)^```$", lambda found: re.sub("(?m)^", "    ", found[1]), text, flags=_LINES)
    shown = re.findall(r"^    (?:\$ )?((?:[A-Z_]+=\S* )*ktc [^\n]*)$|`((?:[A-Z_]+=\S* )*ktc [^`\n]*)`", fenced, _LINES)
    return [re.split(r" {2,}| [#|&>]", "".join(one))[0] for one in shown]


def wanted(block: Block, environment: dict[str, str]) -> str:
    """Return what a block's text should be.

    Raises:
        ValueError: the program is not there, or the command ends with another exit code.
    """
    if block.kind == "program":
        path, _, names = block.what.partition(" ")
        if not (ROOT / path).is_file():
            raise ValueError(f"there is no file '{path}'")
        source = (ROOT / path).read_text("utf-8")
        return declared(source, [name.strip() for name in names.split(",")]) if names else source
    if block.kind == "part":
        if not (ROOT / block.what).is_file():
            raise ValueError(f"there is no file '{block.what}'")
        return pieces(block.text, (ROOT / block.what).read_text("utf-8"))
    text = printed(block.what, block.code, tuple(sorted(environment.items())))
    if block.kind == "excerpt":
        return pieces(block.text, text)
    if _untimed(text) == _untimed(block.text):
        text = block.text
    if block.head:
        text = "".join(text.splitlines(keepends=True)[: block.head]) + "…\n"
    return text


@cache
def printed(what: str, code: int, variables: tuple[tuple[str, str], ...]) -> str:
    """Return what a command prints; each command runs once.

    Raises:
        ValueError: it ends with another exit code.
    """
    environment, words = dict(variables), shlex.split(what)
    if words[0] == "env" and "ktc" in words:
        at = words.index("ktc")
        environment |= dict(word.split("=", 1) for word in words[1:at])
        words = words[at:]
    if words[0] == "ktc":
        done = run_ktc(words[1:], Path(environment["KTC_CACHE_DIR"]), ROOT, variables=environment)
    else:
        done = subprocess.run(
            words, cwd=ROOT, env=environment, text=True, capture_output=True, check=False, timeout=300
        )
    if done.returncode != code:
        raise ValueError(f"'{what}' exits with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def pieces(shown: str, whole: str) -> str:
    """Return the pieces of a text that a page shows, as they are now.

    Args:
        shown: the pieces, with lines of "…" between them. The first line of each says where it begins, its number of
            lines where it ends. whole: the text.

    Raises:
        ValueError: a piece is not there.
    """
    lines = [line.expandtabs(4).rstrip() for line in whole.splitlines()]
    found, at = list[str](), 0
    for piece in re.split(r"(?m)^(\s*…\s*\n)", shown):
        own = piece.splitlines()
        if piece.strip() in ("…", ""):
            found += own
            continue
        first = _plain(own[0])
        numbers = (*range(at, len(lines)), *range(at))  # pieces may stand in another order on the page
        start = next((number for number in numbers if _plain(lines[number]) == first), None)
        if start is None:
            raise ValueError(f"there is no line '{own[0]}' any more")
        at = start + len(own)
        margin = len(lines[start]) - len(lines[start].lstrip()) - (len(own[0]) - len(own[0].lstrip()))
        now = [line[margin:] if not line[:margin].strip() else line for line in lines[start:at]]
        found += own if [*map(_plain, now)] == [*map(_plain, own)] else now
    return "".join(f"{line}\n" for line in found)


def _plain(line: str) -> str:
    """Return a line without what may differ: the margin, digests and times."""
    return _untimed(
        re.sub(r"0x[0-9a-f]{6,}|(?<=[$_])[0-9a-f]{8}(?:[0-9a-f]{4}){0,2}\b", "0", line.expandtabs(4).strip())
    )


def _untimed(text: str) -> str:
    """Return a text without what differs from run to run: times."""
    return re.sub(r"\d+\.\d+ (m?s)\b", r"0 \1", text)


def rewritten(page: Path, environment: dict[str, str]) -> str:
    """Return a page with all its blocks up to date."""
    text = page.read_text("utf-8")
    for block in reversed(list(blocks(page))):
        text = text[: block.start] + wanted(block, environment) + text[block.end :]
    return text


def environment(folder: str) -> dict[str, str]:
    """Return the environment of the commands: this installation's `ktc` first, no colours, the CPU device."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    kept = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "KTC_DEVICE")}
    return {**kept, "PATH": path, "KTC_CACHE_DIR": folder, "NO_COLOR": "1", "COLUMNS": "100", "KTC_DEVICE": "cpu"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the pages that change")
    parser.add_argument("pages", nargs="*", type=Path, help="some pages only")
    given = parser.parse_args()
    folder = os.environ.get("KTC_CACHE_DIR", str(Path.home() / ".cache" / "ktc"))
    changed = 0
    for page in [path.resolve() for path in given.pages] or pages():
        text = rewritten(page, environment(folder))
        if text != page.read_text("utf-8"):
            changed += 1
            print(page.relative_to(ROOT))
            if given.write:
                page.write_text(text, "utf-8")
    sys.exit(bool(changed) and not given.write)


if __name__ == "__main__":
    main()
