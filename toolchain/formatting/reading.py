"""A text to statements: the lexer's tokens, and the comments between them.

Statements on one line are taken apart here (`a; b`, `if a: b`, `@decorator fn f(): ...`), so what follows has one
statement a line. The text is known to parse.
"""

import re
from dataclasses import dataclass

from ktc.base.editions import Edition
from ktc.formatting.leaves import CLOSING, COMPOUND, OPENING, Leaf, Statement
from ktc.syntax.lexing.lexer import Lexer, Tokens
from ktc.syntax.parsing.tables import Tables

_GAP = re.compile(r"\n|#[^\n]*")
_SOFT_WORDS = frozenset(("raises", "where", "capturing", "escaping", "unified"))
_TAB = 8


@dataclass(slots=True)
class _Comment:
    """A comment between two tokens; `is_own`: it starts its line. `blanks` lines are empty before it."""

    text: str
    start: int
    column: int
    is_own: bool
    blanks: int


def read(text: str, tables: Tables, edition: Edition = Edition.Y2025) -> list[Statement]:
    """Return the statements of a text, in their order."""
    return _Reader(text, Lexer(tables, edition)).statements()


class _Reader:
    """Walks over the tokens of one text."""

    def __init__(self, text: str, lexer: Lexer) -> None:
        self.text, self.lexer = text, lexer
        self.tokens: Tokens = lexer.lex(text, 0, len(text))
        self.columns = [0]
        self.done: list[Statement] = []

    def statements(self) -> list[Statement]:
        """Take the logical lines one after the other."""
        tokens, lexer = self.tokens, self.lexer
        index, last, end = 0, len(tokens.types) - 1, 0
        while True:
            columns, is_inner = [*self.columns], False
            while tokens.types[index] in (lexer.indent, lexer.dedent):
                is_inner = tokens.types[index] == lexer.indent
                if is_inner:
                    columns.append(0)
                else:
                    columns.pop()
                index += 1
            start = tokens.starts[index] if index < last else len(self.text)
            columns[-1] = self._column(start) if len(columns) > 1 else 0
            blanks = self._comments(end, start, columns, is_inner)
            if index >= last:
                return self.done
            stop = index
            while tokens.types[stop] not in (lexer.newline, lexer.end):
                stop += 1
            end = self._line(index, stop, blanks)
            index = stop + (tokens.types[stop] == lexer.newline)

    def _comments(self, end: int, start: int, columns: list[int], is_inner: bool) -> int:
        """Make statements of the comments between two logical lines; return the blank lines before the second.

        Args:
            columns: of the blocks around the second line. A comment belongs to the innermost block that its column
                reaches: of those around the first line, or of the second where that opens a block.
        """
        if is_inner:
            self.columns = columns
        found, blanks = self._gap(end, start)
        for one in found:
            if not one.is_own:
                self.done[-1].leaves[-1].comments.append(one.text)
                self.done[-1].end = one.start + len(one.text)
                continue
            while len(self.columns) > len(columns) and one.column < self.columns[-1]:
                self.columns.pop()
            leaf = Leaf(one.text, "comment")
            depth = len(self.columns) - 1
            self.done.append(Statement([leaf], depth, one.blanks, one.start, one.start + len(one.text)))
        self.columns = columns
        return blanks

    def _gap(self, end: int, start: int) -> tuple[list[_Comment], int]:
        """Return the comments between two tokens, and the empty lines before the second."""
        found: list[_Comment] = []
        lines, is_own = 0, end == 0
        for match in _GAP.finditer(self.text, end, start):
            at = match.start()
            if match[0] == "\n":
                lines += not self.text.endswith("\\", 0, at)
                is_own = True
            else:
                found.append(_Comment(_tidy(match[0]), at, self._column(at), is_own, max(0, lines - 1)))
                lines = 0
        return found, max(0, lines - 1)

    def _column(self, offset: int) -> int:
        """Return the column of an offset, tabs expanded."""
        line = self.text[self.text.rfind("\n", 0, offset) + 1 : offset]
        return len(line.lstrip("\ufeff").replace("\f", "").expandtabs(_TAB))

    def _line(self, start: int, stop: int, blanks: int) -> int:
        """Make the statements of one logical line; return where its last token ends."""
        tokens, depth = self.tokens, len(self.columns) - 1
        leaves: list[Leaf] = []
        open_leaves: list[Leaf] = []
        pieces = [(leaves, depth)]
        places = [tokens.starts[start]]
        for index in range(start, stop):
            text = self.text[tokens.starts[index] : tokens.ends[index]]
            if index > start:
                self._inner_comments(leaves or pieces[-2][0], index, bool(open_leaves))
            outside = not open_leaves
            if outside and leaves and self._parts_decorator(leaves, text):
                leaves = []
                pieces.append((leaves, depth))
                places.append(tokens.starts[index])
            if outside and text == ";":
                if index + 1 < stop:
                    leaves = []
                    pieces.append((leaves, depth))
                    places.append(tokens.starts[index + 1])
                continue
            leaf = Leaf(text, self._kind(index, text))
            leaves.append(leaf)
            if leaf.kind == "open":
                open_leaves.append(leaf)
            elif leaf.kind == "close":
                leaf.mate = open_leaves.pop()
                leaf.mate.mate = leaf
            elif outside and text == ":" and index + 1 < stop and _is_compound(leaves):
                depth += 1
                leaves = []
                pieces.append((leaves, depth))
                places.append(tokens.starts[index + 1])
        end = tokens.ends[stop - 1]
        for number, (part, level) in enumerate(pieces):
            until = places[number + 1] if number + 1 < len(places) else end
            self.done.append(Statement(part, level, 0 if number else blanks, places[number], until))
        return end

    def _inner_comments(self, leaves: list[Leaf], index: int, in_brackets: bool) -> None:
        """Keep the comments before a token inside a logical line."""
        tokens = self.tokens
        gap = self.text[tokens.ends[index - 1] : tokens.starts[index]]
        if "#" not in gap:
            return
        for one in self._gap(tokens.ends[index - 1], tokens.starts[index])[0]:
            if one.is_own and in_brackets:
                leaves.append(Leaf(one.text, "comment"))
            else:
                leaves[-1].comments.append(one.text)

    @staticmethod
    def _parts_decorator(leaves: list[Leaf], text: str) -> bool:
        """Return whether a decorator ends before a word on its line."""
        return leaves[0].text == "@" and len(leaves) > 1 and leaves[-1].text != "." and text in (
            *COMPOUND, "alias", "comptime", "async", "@",
        )  # fmt: skip

    def _kind(self, index: int, text: str) -> str:
        lexer, type_ = self.lexer, self.tokens.types[index]
        if type_ in (lexer.integer, lexer.floating):
            return "number"
        if type_ == lexer.string:
            return "string"
        if type_ == lexer.transfer:
            return "transfer"
        if text in OPENING:
            return "open"
        if text in CLOSING:
            return "close"
        if text[0] == "`" or type_ == lexer.name:
            return "name"
        if text[0].isalpha() or text[0] == "_":
            before = self.text[self.tokens.ends[index - 1] - 1] if index else ""
            if text in ("True", "False", "None") or (text in _SOFT_WORDS and not self._in_head(index, before)):
                return "name"
            return "word"
        return "name" if text == "..." and self.tokens.types[index - 1] != self.lexer.words["from"] else "op"

    def _in_head(self, index: int, before: str) -> bool:
        """Return whether a word that is a keyword only in heads of functions stands where one can be."""
        if before not in (")", "]", "}") and not (before.isalnum() or before in {"_", "`"}):
            return False
        following = self.text[self.tokens.starts[index + 1] : self.tokens.ends[index + 1]]
        return following not in (".", "=", ")", "+=")


def _is_compound(leaves: list[Leaf]) -> bool:
    words = [leaf.text for leaf in leaves[:2] if leaf.kind == "word"]
    if words and words[0] in ("async", "comptime"):
        words = words[1:]
    return bool(words) and words[0] in COMPOUND


def _tidy(comment: str) -> str:
    """Return a comment with a space after its sign, and none at its end."""
    comment = comment.rstrip()
    if len(comment) > 1 and comment[1] not in " #!:\t":
        return "# " + comment[1:]
    return comment.replace("#\xa0", "# ", 1) if comment.startswith("#\xa0") else comment
