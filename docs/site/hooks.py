"""Hooks of the site's generator: links out of docs/ become plain text, since the site has no such files."""

import posixpath
import re
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page's text without links to files outside docs/."""

    def plain(found: re.Match[str]) -> str:
        text, target = found.groups()
        if "://" in target or target.startswith("#"):
            return found.group(0)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), target.split("#")[0]))
        return f"`{text}`" if path.startswith("..") else found.group(0)

    return _LINK.sub(plain, markdown)
