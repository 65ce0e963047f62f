"""Hooks of the site's generator.

Links out of docs/ become plain text, since the site has no such files. The name of a file behind a fence's language
becomes the block's title. The search works in pages that are opened as files, and without a network.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

_NAMED_FENCE = re.compile(r"^```(\w+) +([\w./-]+)$", re.MULTILINE)
_SHIM = re.compile(r'<script src="https://unpkg.com/iframe-worker/shim"></script>')
_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page's text as the generator takes it."""

    def plain(found: re.Match[str]) -> str:
        text, target = found.groups()
        if "://" in target or target.startswith("#"):
            return found.group(0)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), target.split("#")[0]))
        return f"`{text}`" if path.startswith("..") else found.group(0)

    titled = _NAMED_FENCE.sub(r'```\1 title="\2"', markdown)
    return _LINK.sub(plain, titled)


def on_post_page(output: str, **_: Any) -> str:
    """Return a page's HTML with our own stand-in for a worker in place of one from the network."""
    script = Path(__file__).with_name("worker.js").read_text("utf-8")
    return _SHIM.sub(lambda _: f"<script>{script}</script>", output)
