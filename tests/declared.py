"""Declarations of a program at the top level, as pages and the site show them."""

import re


def declared(source: str, names: list[str]) -> str:
    """Return declarations at the top level of a program, with their decorators.

    Raises:
        ValueError: it has no declaration of that name.
    """
    lines = source.splitlines()
    parts = []
    for name in names:
        if name == "imports":
            parts.append("\n".join(line for line in lines if re.match(r"(from|import) ", line)))
            continue
        pattern = re.compile(rf"(fn|def|struct|trait|alias|comptime) {re.escape(name)}\b")
        start = next((number for number, line in enumerate(lines) if pattern.match(line)), None)
        if start is None:
            raise ValueError(f"there is no declaration of '{name}'")
        end = start + 1
        while end < len(lines) and (not lines[end] or lines[end][0] in " )]}"):
            end += 1
        while start and lines[start - 1].startswith("@"):
            start -= 1
        parts.append("\n".join(lines[start:end]).rstrip())
    text = "\n\n\n".join(parts) + "\n"
    return re.sub(r"^((alias|comptime) [^\n]*)\n\n\n(?=\2 )", r"\1\n", text, flags=re.MULTILINE)
