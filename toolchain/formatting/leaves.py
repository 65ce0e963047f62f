"""A leaf is a token or a comment that will be printed; a statement is the leaves of one logical line."""

from dataclasses import dataclass, field

OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
DEFINITIONS = frozenset(("fn", "def"))
TYPES = frozenset(("struct", "trait"))
COMPOUND = frozenset(
    ("if", "elif", "else", "while", "for", "try", "except", "finally", "with", "fn", "def", "struct", "trait")
)


@dataclass(slots=True, eq=False)
class Leaf:
    """One token.

    Args:
        kind: "name", "word" (a keyword), "number", "string", "op", "open", "close", "transfer" or "comment".
        space: a space stands before it inside a line.
        comments: those that follow it, on its line or, in brackets, before the next token's line.
        mate: of a bracket, the other one.
        hidden: a parenthesis that is printed only where the line is split at it.
        split: the priority of splitting at this leaf, 0 for none.
        is_after: the split is after the leaf (a comma), not before it.
    """

    text: str
    kind: str
    space: bool = False
    comments: list[str] = field(default_factory=list)
    mate: "Leaf | None" = None
    hidden: bool = False
    split: int = 0
    is_after: bool = False

    @property
    def shown(self) -> str:
        """The text that is printed."""
        return "" if self.hidden else self.text


@dataclass(slots=True)
class Statement:
    """One logical line, or one comment that stands alone.

    Args:
        depth: of blocks around it.
        blanks: how many blank lines stood before it.
        start, end: its characters in the text, comments after it included.
        verbatim: the text as it was, where formatting is off.
    """

    leaves: list[Leaf]
    depth: int
    blanks: int
    start: int
    end: int
    verbatim: str | None = None

    @property
    def first(self) -> str:
        """The first word that says what the statement is."""
        words = [leaf.text for leaf in self.leaves[:3]]
        if words[0] in ("async", "comptime") and len(words) > 1 and words[1] in COMPOUND:
            return words[1]
        return words[0]

    @property
    def is_comment(self) -> bool:
        return self.leaves[0].kind == "comment"

    @property
    def is_decorator(self) -> bool:
        return self.leaves[0].text == "@"

    @property
    def is_definition(self) -> bool:
        return self.leaves[0].kind == "word" and self.first in DEFINITIONS

    @property
    def is_type(self) -> bool:
        return self.leaves[0].kind == "word" and self.first in TYPES

    @property
    def is_import(self) -> bool:
        return self.leaves[0].kind == "word" and self.first in ("import", "from")

    @property
    def is_docstring(self) -> bool:
        """It is nothing but strings; where it stands decides the rest."""
        return all(leaf.kind == "string" for leaf in self.leaves)

    @property
    def opens_block(self) -> bool:
        return self.leaves[0].kind == "word" and self.first in COMPOUND and self.leaves[-1].text == ":"
