"""Programs in the documentation are files of the project, outputs are real, and links lead somewhere."""

import re
import shlex
import shutil
from pathlib import Path

import click
import pytest
from ktc.cli import commands as cli

from documents import ROOT, Block, blocks, commands, environment, pages, unexplained, wanted
from programs import shortened
from test_docs import PAGES

NEEDED = {"ktc debug": "gdb", "ldd": "ldd"}
"""Programs that commands of pages want, by a piece of the command."""
RUN_AS_SCRIPTS = frozenset(PAGES) | {"checking.md"}
"""Pages that other tests run from top to bottom."""
BLOCKS = [block for page in pages() for block in blocks(page)]
OUTPUTS = [block for block in BLOCKS if block.kind in ("output", "excerpt")]
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]*[./#][^)\s]*)\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.kind in ("program", "part")], ids=lambda block: block.name)
def test_program_is_the_file(block: Block) -> None:
    assert block.text == wanted(block, {}), "run: python tests/documents.py --write"


@pytest.mark.parametrize("block", shortened(OUTPUTS, 3), ids=lambda block: block.name)
def test_output_is_real(block: Block, program_cache: Path) -> None:
    for words, tool in NEEDED.items():
        if words in block.what and shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    assert block.text == wanted(block, environment(str(program_cache))), "run: python tests/documents.py --write"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_origins_of_blocks_are_listed(page: Path) -> None:
    if page.relative_to(ROOT).as_posix().removeprefix("docs/") not in RUN_AS_SCRIPTS:
        assert unexplained(page) == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist_with_their_options(page: Path) -> None:
    for text in commands(page):
        words = [word for word in shlex.split(text.replace("…", ""), posix=True) if not re.match(r"[A-Z_]+=", word)]
        command, rest = cli.cli, words[1:]
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            inner = command.get_command(click.Context(command), rest[0].rstrip(","))
            if inner is None:
                assert rest[0].isupper() or rest[0].endswith((".kpy", ".mojo")), text  # a placeholder, or `ktc FILE`
                break
            command, rest = inner, rest[1:]
        known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)} | {"-h", "--help"}
        for word in rest:
            if command.name in ("run", "debug") and word.endswith(".kpy"):
                break  # what follows belongs to the program
            if word.startswith("--"):
                assert word.partition("=")[0] in known, text
            elif re.match("-[A-Za-z]", word):
                assert word in known or word[:2] in known, text


def anchors(page: Path) -> set[str]:
    """Return the names by which a page's headings can be linked."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)) for heading in headings)
    return {re.sub(r"\s", "-", heading.strip().lower()) for heading in plain}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page: Path) -> None:
    for link in _LINK.findall(_CODE.sub("", page.read_text("utf-8"))):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


_NAMED = re.compile(r"`((?:[a-z_]+/)+[a-z_0-9]+\.(?:py|kpy|lark))`")


def test_files_that_pages_name_exist() -> None:
    """In their text, as `folder/file.py`: from the project's folder, the compiler's, or the elaborator's."""
    folders = [ROOT, *(ROOT / name for name in ("toolchain", "toolchain/elaborate", "stdlib", "docs"))]
    texts = [
        *pages(),
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "toolchain").glob("*.md"),
        *(ROOT / "toolchain/diag/explain").glob("*.md"),
    ]
    for page in texts:
        for name in _NAMED.findall(page.read_text("utf-8")):
            assert any((folder / name).exists() for folder in folders), f"{page.relative_to(ROOT)}: {name}"


def test_pages_are_listed() -> None:
    """Each page stands in the site's navigation."""
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "docs" / "site" / "mkdocs.yml").read_text("utf-8")))
    found = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert found - listed == set()
