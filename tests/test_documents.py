"""Programs in the documentation are files of the project, outputs are real, and links lead somewhere."""

import re
from pathlib import Path

import pytest

from documents import ROOT, Block, blocks, environment, pages, wanted

BLOCKS = [block for page in pages() for block in blocks(page)]
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]*[./#][^)\s]*)\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.kind == "program"], ids=lambda block: block.name)
def test_program_is_the_file(block: Block) -> None:
    assert block.text == wanted(block, {}), "run: python tests/documents.py --write"


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.kind == "output"], ids=lambda block: block.name)
def test_output_is_real(block: Block, program_cache: Path) -> None:
    assert block.text == wanted(block, environment(str(program_cache))), "run: python tests/documents.py --write"


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
