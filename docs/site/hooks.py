"""Hooks of the site's generator.

Programs in examples/ get pages, which links to them open. Other links out of docs/ become plain text, since the site
has no such files. The name of a file behind a fence's language
becomes the block's title. The search works in pages that are opened as files, and without a network.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

_EXAMPLES = Path(__file__).parents[2] / "examples"

_NAMED_FENCE = re.compile(r"^```(\w+) +([\w./-]+)$", re.MULTILINE)
_SHIM = re.compile(r'<script src="https://unpkg.com/iframe-worker/shim"></script>')
_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)")


def on_files(files: Files, *, config: Any, **_: Any) -> Files:
    """Return the site's files with a page for each program in examples/."""
    for path in sorted(_EXAMPLES.glob("*.kpy")):
        text = f"# {path.name}\n\n```mojo\n{path.read_text('utf-8')}```\n"
        page = File.generated(config, f"examples/{path.stem}.md", content=text)
        page.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(page)
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page's text as the generator takes it."""

    page_path = page.file.src_uri

    def plain(found: re.Match[str]) -> str:
        text, target = found.groups()
        if "://" in target or target.startswith("#"):
            return found.group(0)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page_path), target.split("#")[0]))
        if path.startswith("../examples/") and path.endswith(".kpy") and path.count("/") == 2:
            page = posixpath.relpath(path.removeprefix("../"), posixpath.dirname(page_path) or ".")
            return f"[{text}]({page.removesuffix('.kpy')}.md)"
        return (text if "`" in text else f"`{text}`") if path.startswith("..") else found.group(0)

    titled = _NAMED_FENCE.sub(r'```\1 title="\2"', markdown)
    return _LINK.sub(plain, titled)


def on_post_page(output: str, **_: Any) -> str:
    """Return a page's HTML with our own stand-in for a worker instead of one from the network."""
    script = Path(__file__).with_name("worker.js").read_text("utf-8")
    return _SHIM.sub(lambda _: f"<script>{script}</script>", output)
