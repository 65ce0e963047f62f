"""What the builders of expressions, declarations and statements share.

A method of a builder is called for each rule of the grammar as it is recognised, innermost first, as
`method(children, start, end)` with the offsets of the rule's text. A child is what its rule's method returned, or
for a token its index.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ktc.diag.codes import Code
from ktc.syntax import ast
from ktc.syntax.lex_error import LexError
from ktc.syntax.lexer import Tokens

Kids = list[Any]


class BaseBuilder:
    """Keeps the tokens and what is found wrong.

    Args:
        text: the module's text.
        tokens: the tokens that are parsed.
        field: parses the expression of an f-string's field, given its offsets.
    """

    def __init__(self, text: str, tokens: Tokens, field: Callable[[int, int], ast.Expr]) -> None:
        self.text = text
        self.token_starts, self.token_ends = tokens.starts, tokens.ends
        self.parse_field = field
        self.errors: list[LexError] = []
        self.bounds: dict[int, ast.Bound] = {}  # names declared by patterns of which no assignment is known, by offset
        self.valueless: dict[int, ast.Alias] = {}  # aliases without value that no trait has claimed, by offset

    def rules(self, rows: list[tuple[int, int, int, str, tuple[tuple[int, bool], ...]]]) -> list[Any]:
        """Return the rows of `Tables.rules` with methods in place of their names."""
        return [(a, b, kind, getattr(self, name, None), children) for a, b, kind, name, children in rows]

    def word(self, token: int) -> str:
        """Return the text of a token, a name without its backquotes."""
        text = self.text[self.token_starts[token] : self.token_ends[token]]
        return text[1:-1] if text[0] == "`" else text

    def wrong(self, start: int, end: int, message: str, help: str = "") -> None:
        """Keep a syntax error; the tree goes on."""
        self.errors.append(LexError(Code.SYNTAX_ERROR, start, end, message, help))

    def check_types(self, params: Sequence[ast.Param], what: str) -> None:
        """Every parameter or argument but `self` has a type."""
        for param in params:
            if param.type is None and (param.name != "self" or what == "parameter"):
                help = f"write '{param.name}: ' and a type"
                if what == "argument" and "main(" in self.text[max(param.start - 20, 0) : param.start]:
                    help = "'main' takes no arguments; 'argv()', from the module 'sys', gives those of the command line"
                self.wrong(param.start, param.end, f"{what} '{param.name}' needs a type", help)

    def as_tuple(self, kids: Kids, start: int, end: int) -> tuple[object, ...]:
        return tuple(kids)

    def first(self, kids: Kids, start: int, end: int) -> object:
        return kids[0]

    def optional(self, kids: Kids, start: int, end: int) -> object:
        return kids[0] if kids else None

    def optional_tuple(self, kids: Kids, start: int, end: int) -> object:
        return kids[0] if kids else ()
