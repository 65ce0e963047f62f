"""A text that is migrated: its tokens and its tree, and which node stands around which.

Input: a text that parses in edition 2025. Output: `Reading`.
"""

import bisect
from collections.abc import Iterator

from ktc.base.editions import Edition
from ktc.base.records import field_names
from ktc.syntax import ast
from ktc.syntax.lexing.lexer import Lexer
from ktc.syntax.parsing.tables import Tables

_CLOSERS = {"(": ")", "[": "]", "{": "}"}


def children(node: ast.Node) -> Iterator[ast.Node]:
    """Give the nodes right below a node."""
    is_function = isinstance(node, ast.FunctionDecl)
    for name in ast.FunctionDecl.__match_args__[4:] if is_function else field_names(type(node)):
        if name not in ("start", "end", "name_start", "source"):
            yield from _nodes(getattr(node, name))


def _nodes(value: object) -> Iterator[ast.Node]:
    if isinstance(value, ast.Node):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _nodes(one)


def walk(node: ast.Node) -> Iterator[ast.Node]:
    """Give a node and all below it, in the order of the text as far as the fields have it."""
    yield node
    for one in children(node):
        yield from walk(one)


class Reading:
    """A text, its tokens and its tree.

    Attributes:
        parents: the node right around each node.
        uses: the places of names, by name.
    """

    def __init__(self, text: str, module: ast.Module, tables: Tables, edition: Edition = Edition.Y2025) -> None:
        self.text, self.module = text, module
        tokens = Lexer(tables, edition).lex(text, 0, len(text))
        whole = [(start, end) for start, end in zip(tokens.starts, tokens.ends, strict=True) if end > start]
        self.starts, self.ends = [start for start, _ in whole], [end for _, end in whole]
        self.parents: dict[ast.Node, ast.Node] = {}
        self.nodes: list[ast.Node] = [*walk(module)]
        self.uses: dict[str, list[ast.Name]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name):
                self.uses.setdefault(node.id, []).append(node)
            for child in children(node):
                self.parents[child] = node

    def of(self, node: ast.Node) -> str:
        """Return the text of a node."""
        return self.text[node.start : node.end]

    def uses_in(self, name: str, outer: ast.Node) -> list[ast.Name]:
        """Return where a node names something."""
        return [one for one in self.uses.get(name, ()) if outer.start <= one.start and one.end <= outer.end]

    def around(self, node: ast.Node) -> Iterator[ast.Node]:
        """Give the nodes around a node, innermost first."""
        while (found := self.parents.get(node)) is not None:
            yield found
            node = found

    def function(self, node: ast.Node) -> ast.FunctionDecl | None:
        """Return the function that a node stands in."""
        return next((one for one in self.around(node) if isinstance(one, ast.FunctionDecl)), None)

    def struct(self, node: ast.Node) -> ast.StructDecl | None:
        """Return the struct that a node stands in."""
        return next((one for one in self.around(node) if isinstance(one, ast.StructDecl)), None)

    def token(self, at: int) -> int:
        """Return the first token that starts at an offset or behind it."""
        return bisect.bisect_left(self.starts, at)

    def word(self, token: int) -> str:
        """Return the text of a token."""
        return self.text[self.starts[token] : self.ends[token]] if 0 <= token < len(self.starts) else ""

    def find(self, word: str, at: int, end: int) -> int:
        """Return where a token of some text starts between two offsets; -1 if there is none."""
        token = self.token(at)
        while token < len(self.starts) and self.starts[token] < end:
            if self.word(token) == word:
                return self.starts[token]
            token += 1
        return -1

    def closer(self, at: int) -> int:
        """Return where the bracket closes that opens at an offset."""
        token, depth = self.token(at), 0
        while token < len(self.starts):
            word = self.word(token)
            if word in _CLOSERS:
                depth += 1
            elif word in _CLOSERS.values():
                depth -= 1
                if not depth:
                    return self.starts[token]
            token += 1
        return len(self.text)

    def head(self, node: ast.FunctionDecl) -> tuple[int, int, int]:
        """Return where the bracket of a function's arguments opens and closes, and where the ':' of the head stands."""
        token = self.token(node.name_start) + 1
        if self.word(token) == "[":
            token = self.token(self.closer(self.starts[token])) + 1
        opening = self.starts[token]
        closing = self.closer(opening)
        token, depth = self.token(closing) + 1, 0
        while token < len(self.starts):
            word = self.word(token)
            depth += (word in _CLOSERS) - (word in _CLOSERS.values())
            if word == ":" and not depth:
                break
            token += 1
        return opening, closing, self.starts[min(token, len(self.starts) - 1)]

    def line_start(self, at: int) -> int:
        """Return where the line of an offset starts."""
        return self.text.rfind("\n", 0, at) + 1

    def indentation(self, at: int) -> str:
        """Return the white space at the start of an offset's line."""
        start = self.line_start(at)
        rest = self.text[start:at]
        return rest[: len(rest) - len(rest.lstrip())]
