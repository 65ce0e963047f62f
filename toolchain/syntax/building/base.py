"""The base of the builders of expressions, declarations and statements.

A method of a builder is called for each rule of the grammar as it is recognised, innermost first, as
`method(children, start, end)` with the offsets of the rule's text. A child is what its rule's method returned, or
for a token its index.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.syntax import ast
from ktc.syntax.lexing.lex_error import LexError
from ktc.syntax.lexing.lexer import Tokens

Kids = list[Any]
_POINTERS = frozenset(("thin", "capturing", "escaping", "async"))
"""Effects of function types of edition 2026 that are types of values."""


class State:
    """State that the builders of one text share.

    Args:
        text: the module's text.
        line_ends: the line ends that the file spells otherwise, as in `Source`.
        tokens: the tokens that are parsed.
        field: parses the expression of an f-string's field, given its offsets.
        edition: the dialect of the text.

    Attributes:
        errors: syntax errors found so far.
        bounds: names declared by patterns of which no assignment is known, by offset.
        valueless: aliases without value that no trait has claimed, by offset.
        receivers: arguments without a type that no struct or trait has claimed, by the offset of their function.
    """

    def __init__(
        self, text: str, line_ends: dict[int, str], tokens: Tokens, field: Callable[[int, int], ast.Expr],
        edition: Edition,
    ) -> None:  # fmt: skip
        self.edition = edition
        self.text, self.line_ends, self.tokens, self.field = text, line_ends, tokens, field
        self.errors: list[LexError] = []
        self.bounds: dict[int, ast.Bound] = {}
        self.valueless: dict[int, ast.Alias] = {}
        self.receivers: dict[int, list[ast.Param]] = {}


class BaseBuilder:
    """Access to the tokens and to the shared state."""

    def __init__(self, state: State) -> None:
        self.text, self.line_ends = state.text, state.line_ends
        self.token_starts, self.token_ends = state.tokens.starts, state.tokens.ends
        self.parse_field = state.field
        self.errors, self.bounds, self.valueless = state.errors, state.bounds, state.valueless
        self.receivers = state.receivers
        self.edition, self.is_2026 = state.edition, state.edition is Edition.Y2026

    def word(self, token: int) -> str:
        """Return the text of a token, a name without its backquotes."""
        text = self.text[self.token_starts[token] : self.token_ends[token]]
        return text[1:-1] if text[0] == "`" else text

    def wrong(self, start: int, end: int, message: str, help: str = "") -> None:
        """Keep a syntax error; the tree goes on."""
        self.errors.append(LexError(Code.SYNTAX_ERROR, start, end, message, help))

    def refuse(self, start: int, end: int, form: str, help: str) -> None:
        """Keep the error of a form that the text's edition does not have; the tree goes on.

        Args:
            form: the form as messages show it: "'fn'".
        """
        message = f"{form} is not in edition {self.edition.value}"
        self.errors.append(LexError(Code.WRONG_EDITION, start, end, message, help))

    def check_types(self, params: Sequence[ast.Param]) -> None:
        """Every parameter has a type."""
        for param in params:
            if param.type is None:
                kind = _kind(param, "parameter")
                help = f"write '{param.name}: {kind}'" if kind else f"write '{param.name}: ' and a type"
                help += ", or the traits that a type needs: 'Copyable & Movable'"
                self.wrong(param.start, param.end, f"parameter '{param.name}' needs a type", help)

    def check_arguments(self, args: Sequence[ast.Param], function: int) -> None:
        """Every argument has a type; in a method the first one, or `self`, needs none."""
        for at, arg in enumerate(args):
            if arg.type is not None:
                self.check_no_trait(arg.type)
                continue
            if (at > 0 and arg.name != "self") or arg.kind in ("star", "starstar") or arg.name == "cls":
                self._wrong_type(arg)
            elif self.text[max(function - 1, 0)] in " \t":
                self.receivers.setdefault(function, []).append(arg)
            else:
                self._wrong_receiver(arg)  # at the beginning of a line stands no method

    def check_no_trait(self, kind: "ast.Expr | None") -> None:
        """Refuse a function type that is a trait in edition 2026, where a type is expected."""
        is_def = isinstance(kind, ast.FunctionType) and self.text.startswith("def", kind.start)
        if self.is_2026 and is_def and isinstance(kind, ast.FunctionType) and not _POINTERS & set(kind.effects):
            text = "a function type without 'thin' is a trait, and no type of a value"
            written = self.text[kind.start : kind.end]
            help = f"write 'Some[{written}]' for an argument, or 'thin' before '->' for a pointer to a function"
            self.errors.append(LexError(Code.TYPE_MISMATCH, kind.start, kind.end, text, " ".join(help.split())))

    def claim_methods(self, body: Sequence[ast.Node]) -> None:
        """The functions of a struct or trait are methods."""
        for item in body:
            if isinstance(item, ast.FunctionDecl):
                self.receivers.pop(item.start, None)

    def check_receivers(self) -> None:
        """A function that stands in no struct or trait has no `self`."""
        for args in self.receivers.values():
            for arg in args:
                self._wrong_receiver(arg)

    def _wrong_receiver(self, arg: ast.Param) -> None:
        if arg.name == "self":
            help = "indent the function if it is a method, else write a type"
            self.wrong(arg.start, arg.end, "argument 'self' needs a type outside of a struct", help)
        else:
            self._wrong_type(arg)

    def _wrong_type(self, arg: ast.Param) -> None:
        kind = _kind(arg, "argument")
        help = f"write '{arg.name}: {kind}'" if kind else f"write '{arg.name}: ' and a type"
        if arg.name == "cls":
            help = "leave 'cls' out: a '@staticmethod' names its struct"
        if "main(" in self.text[max(arg.start - 20, 0) : arg.start]:
            help = "'main' takes no arguments; 'argv()', from the module 'sys', returns those of the command line"
        self.wrong(arg.start, arg.end, f"argument '{arg.name}' needs a type", help)

    def as_tuple(self, kids: Kids, start: int, end: int) -> tuple[object, ...]:
        return tuple(kids)

    def first(self, kids: Kids, start: int, end: int) -> object:
        return kids[0]

    def optional(self, kids: Kids, start: int, end: int) -> object:
        return kids[0] if kids else None

    def optional_tuple(self, kids: Kids, start: int, end: int) -> object:
        return kids[0] if kids else ()

    def check_target(self, target: ast.Expr, what: str) -> None:
        """Only names, or tuples of names, can stand here."""
        for item in target.items if isinstance(target, ast.TupleLit) else (target,):
            if isinstance(item, ast.TupleLit):
                self.check_target(item, what)
            elif isinstance(item, ast.Bound):
                self.bounds.pop(item.start, None)
            elif not isinstance(item, ast.Name):
                self.wrong(item.start, item.end, f"{what} must be a name")

    def at_compile_time(self, node: "ast.If | ast.For") -> None:
        """Mark an `if` with its `elif`s, or a `for`."""
        node.comptime = True
        while isinstance(node, ast.If) and len(node.orelse) == 1:
            following = node.orelse[0]
            if not isinstance(following, ast.If) or not self.text.startswith("elif", following.start):
                break
            following.comptime = True
            node = following


def _kind(param: ast.Param, what: str) -> str:
    """Return the type that an argument without one probably has, by its default or its name; "" if nothing says so."""
    default = param.default
    if what != "argument":
        return "Int"
    if isinstance(default, ast.BoolLit):
        return f"Bool = {default.value}"
    if isinstance(default, ast.IntLit):
        return f"Int = {default.value}"
    if isinstance(default, ast.FloatLit):
        return "Float64 = …"
    if isinstance(default, ast.StrLit):
        return "String = …"
    return "UnsafePointer[Float32, MutAnyOrigin]" if param.name.endswith("_ptr") else ""
