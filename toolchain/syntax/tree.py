"""Walking over a tree without knowing its classes."""

from collections.abc import Iterator

from ktc.base.records import field_names
from ktc.syntax import ast


class Tree:
    """Knows the fields of the node classes that it has met."""

    def __init__(self) -> None:
        self.fields: dict[type, tuple[str, ...]] = {}

    def children(self, node: ast.Node) -> Iterator[ast.Node]:
        """Give the nodes right below a node, in order of their fields."""
        kind = type(node)
        names = self.fields.get(kind)
        if names is None:
            names = self.fields[kind] = tuple(name for name in field_names(kind) if name not in _PLAIN)
        for name in names:
            value = getattr(node, name)
            if isinstance(value, ast.Node):
                yield value
            elif type(value) is tuple:
                yield from self._inside(value)

    def _inside(self, values: tuple[object, ...]) -> Iterator[ast.Node]:
        for value in values:
            if isinstance(value, ast.Node):
                yield value
            elif type(value) is tuple:
                yield from self._inside(value)

    def walk(self, node: ast.Node) -> Iterator[ast.Node]:
        """Give a node and all below it."""
        work = [node]
        while work:
            node = work.pop()
            yield node
            work.extend(self.children(node))


_PLAIN = frozenset(("start", "end", "name_start", "name", "id", "source", "doc", "kind", "op", "ops", "convention"))
"""Fields that hold no nodes."""
