"""Hooks of the site's generator.

A program that stands in examples/ in both editions has a tab for each, `2026` first; the reader's choice is kept on all
pages. Programs in examples/ get pages, which links to them open. Other links out of docs/ become plain text, since the
site has no such files. The name of a file behind a fence's language becomes the block's title. The search works in
pages that are opened as files, and without a network.
"""

import importlib.util
import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

_EXAMPLES = Path(__file__).parents[2] / "examples"

_PAIR = re.compile(
    r"<!-- program: (?P<path>examples/[\w/]+)\.mojo(?: (?P<names>[^\n]+?))? -->\n+"
    r"```mojo(?P<title> [\w.]+)?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_NAMED_FENCE = re.compile(r"^( *```)(\w+) +([\w./-]+)$", re.MULTILINE)
_SHIM = re.compile(r'<script src="https://unpkg.com/iframe-worker/shim"></script>')
_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)")


def _declared() -> Callable[[str, list[str]], str]:
    """Return the function of tests/declared.py, which cuts declarations out of a program."""
    spec = importlib.util.spec_from_file_location("declared", _EXAMPLES.parent / "tests" / "declared.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.declared  # type: ignore[no-any-return]


def _tabs(found: re.Match[str]) -> str:
    """Return a program in edition 2026 as two tabs, the second with the same of edition 2025."""
    old = _EXAMPLES.parent / f"{found['path']}.kpy"
    if not old.is_file():
        return found[0]
    text = old.read_text("utf-8")
    if found["names"]:
        text = _declared()(text, [name.strip() for name in found["names"].split(",")])
    return _tabbed(found["text"], text, found["title"] or "")


def _tabbed(new: str, old: str, title: str = "") -> str:
    """Return the texts of a program in both editions as tabs; a title has a space before it."""
    shown = (("2026", new), ("2025", old))
    return "\n".join(f'=== "{name}"\n\n' + _indented(f"```mojo{title}\n{one}```") + "\n" for name, one in shown)


def _indented(text: str) -> str:
    return "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))


def on_files(files: Files, *, config: Any, **_: Any) -> Files:
    """Return the site's files with a page for each program in examples/."""
    for path in sorted(_EXAMPLES.glob("*.kpy")):
        new = path.with_suffix(".mojo")
        text = f"# {path.name}\n\n```mojo\n{path.read_text('utf-8')}```\n"
        if new.is_file():
            text = f"# {path.stem}\n\n{_tabbed(new.read_text('utf-8'), path.read_text('utf-8'))}"
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
        stem, end = posixpath.splitext(path)
        if path.startswith("../examples/") and end in (".kpy", ".mojo") and path.count("/") == 2:
            page = posixpath.relpath(stem.removeprefix("../"), posixpath.dirname(page_path) or ".")
            return f"[{text}]({page}.md)"
        return (text if "`" in text else f"`{text}`") if path.startswith("..") else found.group(0)

    markdown = _PAIR.sub(_tabs, markdown)
    titled = _NAMED_FENCE.sub(r'\1\2 title="\3"', markdown)
    return _LINK.sub(plain, titled)


def on_post_page(output: str, **_: Any) -> str:
    """Return a page's HTML with our own stand-in for a worker instead of one from the network."""
    script = Path(__file__).with_name("worker.js").read_text("utf-8")
    return _SHIM.sub(lambda _: f"<script>{script}</script>", output)
