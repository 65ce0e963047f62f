"""A module's tree as text, one node a line, for `ktc emit --kind ast` and for tests."""

from collections.abc import Iterator
from typing import Any

from ktc.base.records import field_names
from ktc.diag.source import Source
from ktc.syntax import ast


def dump(module: ast.Module) -> str:
    """Return the tree as text: each node with its scalar fields and where it starts, its children indented."""
    source = module.source if module.source is not None else Source("", "")
    lines: list[str] = []
    # An own stack: a tree may be deeper than Python's recursion goes.
    stack: list[tuple[int, str, Any]] = [(0, "", module)]
    while stack:
        level, label, item = stack.pop()
        if isinstance(item, ast.Node):
            pad = "  " * level + (f"{label}: " if label else "")
            scalars, children = _parts(item)
            line, column = source.position(item.start)
            lines.append(" ".join([pad + type(item).__name__, *scalars, f"@{line}:{column}"]))
        else:
            lines.append("  " * level + (label or "pair"))
            children = [("", child) for child in item]
        stack.extend((level + 1, name, child) for name, child in reversed(children))
    return "\n".join(lines) + "\n"


def _parts(node: ast.Node) -> tuple[list[str], list[tuple[str, Any]]]:
    """Return (`name=value` of the scalar fields, (name, value) of those that hold nodes)."""
    scalars, children = [], []
    for name in field_names(node):
        value = getattr(node, name)
        if name in ("start", "end", "source", "name_start") or _is_empty(value):
            continue
        leaves = _leaves(value) if isinstance(value, tuple) else (value,)
        if any(isinstance(leaf, ast.Node) for leaf in leaves):
            children.append((name, value))
        else:
            scalars.append(f"{name}={_quoted(value) if isinstance(value, str) else repr(value)}")
    return scalars, children


def _is_empty(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, (str, tuple)) and not value)


def _leaves(value: tuple[Any, ...]) -> Iterator[Any]:
    for item in value:
        if isinstance(item, tuple):
            yield from _leaves(item)
        else:
            yield item


def _quoted(text: str) -> str:
    """Return a name as it is, any other text in quotes."""
    return text if text.isidentifier() else repr(text)
