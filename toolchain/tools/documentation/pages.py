"""Documentation as HTML: a page a module, an index with a search field. No network, no other files than these.

Input: rows of `doc_model`. Output: name of a file to its text.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ktc.tools.documentation.model import Row

_FENCE = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[([^\]\n]+)\]\((https?://[^)\s]+)\)")
_SOURCE = "source-of-"
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --link: light-dark(#0550ae, #79c0ff); }
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr) }
nav { border-right: 1px solid var(--line); padding: 1rem; height: 100vh; position: sticky; top: 0; overflow: auto }
nav ul { list-style: none; margin: .5rem 0; padding: 0 } nav a { display: block; padding: .1rem 0 }
main { padding: 1rem 2rem 4rem; max-width: 62rem }
a { color: var(--link); text-decoration: none } a:hover { text-decoration: underline }
pre, code { font: .88em/1.5 ui-monospace, monospace; background: var(--soft); border-radius: 4px }
code { padding: .1em .3em } pre { padding: .7rem; overflow: auto; white-space: pre-wrap } pre code { padding: 0 }
h1 { margin-top: 0 } h2 { border-bottom: 1px solid var(--line); margin-top: 2.2rem }
h3 { margin: 1.6rem 0 .4rem } h3 .source { float: right; font-size: .8rem; font-weight: normal }
.member { margin-left: 1.2rem } dt { font-family: ui-monospace, monospace; font-size: .9em }
dd { margin: 0 0 .3rem 1.5rem } .traits { opacity: .8 }
.lines { counter-reset: line; white-space: pre } .lines span::before { counter-increment: line;
content: counter(line); display: inline-block; width: 4ch; margin-right: 2ch; text-align: right; opacity: .5 }
.lines span:target { background: #fd04 }
input { width: 100%; padding: .4rem; font: inherit; border: 1px solid var(--line); border-radius: 4px }
@media (max-width: 50rem) { body { display: block } nav { position: static; height: auto; border: 0 } }
"""
_SCRIPT = """
const field = document.getElementById("search"), list = document.getElementById("found");
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
  list.textContent = "";
  if (!words.length) return;
  const score = row => row[0].toLowerCase().split(".").pop().startsWith(words[0]) ? 0 : 1;
  INDEX.filter(row => words.every(word => row[0].toLowerCase().includes(word)))
    .sort((a, b) => score(a) - score(b) || a[0].length - b[0].length).slice(0, 40).forEach(row => {
      const link = document.createElement("a");
      link.href = row[1]; link.textContent = row[0]; link.title = row[2];
      list.appendChild(document.createElement("li")).appendChild(link);
    });
});
"""


def pages(
    title: str, rows: Sequence[Row], source: str = "", texts: Mapping[str, str] | None = None, home: str = ""
) -> dict[str, str]:
    """Return all files.

    Args:
        source: where sources are shown, with {path} and {line} in it; "" for no links.
        texts: by the names of modules, the sources that get pages of their own.
        home: the page that these belong to; "" for no link.
    """
    names = [row["name"] for row in rows]
    files = {"style.css": _STYLE.lstrip(), "search.js": _index(rows) + _SCRIPT.lstrip()}
    listed = "".join(
        f'<li><a href="{_file(row["name"])}">{_escape(row["name"])}</a> {_inline(row["summary"])}</li>' for row in rows
    )
    files["index.html"] = _page(title, names, "", f"<h1>{_escape(title)}</h1><ul>{listed}</ul>", home)
    for row in rows:
        name = row["name"]
        where = f"{_SOURCE}{name}.html#L{{line}}" if texts and name in texts else source
        files[_file(name)] = _page(title, names, name, "".join(_module(row, where)), home)
    for name, text in (texts or {}).items():
        lines = "".join(f'<span id="L{number}">{_escape(line)}</span>\n' for number, line in _numbered(text))
        back = f'<h1><a href="{_file(name)}">{_escape(name)}</a></h1>'
        files[f"{_SOURCE}{name}.html"] = _page(title, names, name, f'{back}<pre class="lines">{lines}</pre>', home)
    return files


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(text.splitlines(), 1)


def _file(module: str) -> str:
    return f"{module}.html"


def _index(rows: Sequence[Row]) -> str:
    entries = [entry for row in rows for entry in _entries(row, row["name"], _file(row["name"]), "")]
    return f"const INDEX = {json.dumps(entries, ensure_ascii=True)};\n"


def _entries(row: Row, dotted: str, file: str, owner: str) -> Iterator[tuple[str, str, str]]:
    if not owner:
        yield dotted, file, row["summary"]
    for kind in ("structs", "traits", "aliases", "fields"):
        for one in row.get(kind, ()):
            if isinstance(one, dict):
                name = f"{owner}.{one['name']}" if owner else one["name"]
                yield f"{dotted}.{name}", f"{file}#{name}", one["summary"]
                if not owner and kind in ("structs", "traits"):
                    yield from _entries(one, dotted, file, name)
    for group in (*row.get("functions", ()), *row.get("methods", ())):
        name = f"{owner}.{group['name']}" if owner else group["name"]
        yield f"{dotted}.{name}", f"{file}#{name}", group["overloads"][0]["summary"]


def _page(title: str, names: Sequence[str], current: str, body: str, home: str) -> str:
    back = f'<a href="{_escape(home)}">← documentation</a>' if home else ""
    links = "".join(f'<li><a href="{_file(name)}">{_escape(name)}</a></li>' for name in names)
    head = f"{_escape(current)} - {_escape(title)}" if current else _escape(title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{head}</title><link rel="stylesheet" href="style.css"></head>\n<body><nav>'
        f'{back}<a href="index.html"><b>{_escape(title)}</b></a>'
        '<p><input id="search" type="search" placeholder="Search" aria-label="Search"></p><ul id="found"></ul>'
        f'<ul>{links}</ul></nav>\n<main>{body}</main><script src="search.js"></script></body></html>\n'
    )


def _module(row: Row, source: str) -> Iterator[str]:
    yield f"<h1>{_escape(row['name'])}</h1>{_doc(row)}"
    for kind, title in (
        ("aliases", "Aliases"),
        ("functions", "Functions"),
        ("structs", "Structs"),
        ("traits", "Traits"),
    ):
        if row[kind]:
            yield f"<h2>{title}</h2>"
        for one in row[kind]:
            yield from _function(row, one, "", source) if kind == "functions" else _declaration(row, one, source)


def _declaration(module: Row, one: Row, source: str) -> Iterator[str]:
    yield f'<h3 id="{_escape(one["name"])}">{_escape(one["name"])}{_source(module, one, source)}</h3>'
    yield f"<pre>{_escape(one['signature'])}</pre>"
    if one.get("traits"):
        names = ", ".join(f"<code>{_escape(name)}</code>" for name in one["traits"])
        yield f'<p class="traits">Conforms to {names}.</p>'
    yield _doc(one)
    members = [*one.get("fields", ()), *one.get("aliases", ())]
    if members:
        yield "<dl>" + "".join(
            f'<dt id="{_escape(one["name"])}.{_escape(member["name"])}">{_escape(member["signature"])}</dt>'
            f"<dd>{_inline(member['summary'])}</dd>" for member in members
        ) + "</dl>"  # fmt: skip
    for group in one.get("methods", ()):
        yield '<div class="member">'
        yield from _function(module, group, f"{one['name']}.", source)
        yield "</div>"


def _function(module: Row, group: Row, prefix: str, source: str) -> Iterator[str]:
    name = prefix + group["name"]
    first = group["overloads"][0]
    yield f'<h3 id="{_escape(name)}">{_escape(group["name"])}{_source(module, first, source)}</h3>'
    for one in group["overloads"]:
        yield f"<pre>{_escape(one['signature'])}</pre>{_doc(one)}"


def _source(module: Row, one: Row, source: str) -> str:
    if not source:
        return ""
    place = source.replace("{path}", module["path"]).replace("{line}", str(one["line"]))
    return f'<a class="source" href="{_escape(place)}">source</a>'


def _doc(row: Row) -> str:
    parts = [_blocks(row["summary"]), _blocks(row["description"])]
    for name, body in row["sections"].items():
        if isinstance(body, dict):
            rows = "".join(f"<dt>{_escape(key)}</dt><dd>{_inline(text)}</dd>" for key, text in body.items())
            parts.append(f"<p><b>{name}</b></p><dl>{rows}</dl>")
        elif body:
            parts.append(f"<p><b>{name}</b></p>{_blocks(body)}")
    return "".join(parts)


def _blocks(text: str) -> str:
    """Return paragraphs, lists and code of a small part of Markdown."""
    parts, last = [], 0
    for found in _FENCE.finditer(text):
        parts += [_paragraphs(text[last : found.start()]), f"<pre><code>{_escape(_shown(found[1]))}</code></pre>"]
        last = found.end()
    return "".join([*parts, _paragraphs(text[last:])])


def _shown(code: str) -> str:
    return "\n".join(line for line in code.rstrip().split("\n") if not line.lstrip().startswith("%#"))


def _paragraphs(text: str) -> str:
    found = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.split("\n")
        if all(line.startswith("    ") for line in lines):
            found.append(f"<pre><code>{_escape(block)}</code></pre>")
        elif all(line.lstrip().startswith(("- ", "* ")) for line in lines if not line.startswith("  ")) and block:
            items = re.split(r"(?m)^\s*[-*] ", block)[1:]
            found.append("<ul>" + "".join(f"<li>{_inline(' '.join(item.split()))}</li>" for item in items) + "</ul>")
        elif block:
            found.append(f"<p>{_inline(' '.join(block.split()))}</p>")
    return "".join(found)


def _inline(text: str) -> str:
    text = _escape(text)
    text = _CODE.sub(lambda found: f"<code>{found[1]}</code>", text)
    return _LINK.sub(lambda found: f'<a href="{found[2]}">{found[1]}</a>', text)


def _escape(text: Any) -> str:
    return html.escape(str(text))
