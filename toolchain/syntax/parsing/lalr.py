"""Tokens to the tree: the driver of the LALR tables, and recovery after errors.

A text that is wrong gives one error for each statement or declaration; the tree is then thrown away.
"""

from itertools import pairwise
from typing import Any

from ktc.base.editions import Edition
from ktc.base.records import field_names
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.diag.source import Source, Span
from ktc.syntax import ast
from ktc.syntax.building.builder import Builder
from ktc.syntax.lexing.lex_error import LexError
from ktc.syntax.lexing.lexer import Lexer, Tokens
from ktc.syntax.parsing.tables import CALL, CHILD, LIST, UNIT, Tables

MAX_DEPTH = 1000  # nodes inside one another
MAX_FIELDS = 20  # f-strings inside one another
MAX_ERRORS = 20  # in one file


class _Relex(Exception):
    """The text is to be cut once more: a line does not continue the statement before it."""


class Parser:
    """Parses one source."""

    def __init__(self, tables: Tables, source: Source, sink: Sink) -> None:
        self.tables, self.source, self.sink = tables, source, sink
        self.text = source.text
        self.edition = source.edition.edition if source.edition is not None else Edition.Y2025
        self.lexer = Lexer(tables, self.edition)
        self.apart: set[int] = set()  # lines that look as if they continued a statement, and do not
        self.fields = 0  # fields of f-strings we are in
        self.reported: set[tuple[Code, int]] = set()
        self.chains: dict[tuple[int, int, int], int] = {}
        self.pieces: list[ast.Module] = []  # what was read of the file
        self.cuts: list[tuple[int, int, int]] = []  # where a piece starts, an error ends it, and the next one starts

    def module(self) -> ast.Module | None:
        """Parse the whole text; after an error go on after it, or at the next declaration, to find more errors."""
        start, errors = 0, self.sink.error_count
        for _ in range(MAX_ERRORS):
            try:
                module: Any = self._range(start, len(self.text), "file")
                self.pieces += [module] if isinstance(module, ast.Module) else []
                break
            except LexError as error:
                from ktc.syntax.parsing.error_recovery import without_line, without_statement  # late: only for errors
                from ktc.syntax.parsing.errors import next_declaration  # late: only for errors

                self._report(error)
                rest = without_line(self.text, error) if error.index < 0 else None
                rest = rest or without_statement(self.text, error)
                if rest is not None:
                    self.text = rest
                    continue
                following = next_declaration(self.text, error.start)
                self.cuts.append((start, error.start, following))
                start = following
                if error.fatal or error.code is Code.NESTING_LIMIT or start < 0:
                    break
        if self.sink.error_count > errors:
            return None
        assert isinstance(module, ast.Module)
        return module

    def part(self, start: int, end: int) -> ast.Module | None:
        """Parse a part of a text whose mistakes are reported; None if that is not possible."""
        reported = set(self.reported)
        try:
            piece = self._range(start, end, "file")
            return piece if isinstance(piece, ast.Module) else None
        except LexError:
            return None
        finally:
            self.reported = reported

    def field(self, start: int, end: int) -> Any:
        """Parse the expression of an f-string's field."""
        if self.fields == MAX_FIELDS:
            raise LexError(Code.NESTING_LIMIT, start, end, f"f-strings are nested more than {MAX_FIELDS} deep")
        self.fields += 1
        try:
            return self._range(start, end, "field")
        finally:
            self.fields -= 1

    def _range(self, start: int, end: int, symbol: str) -> Any:
        """Parse a part of the text; what the builder found wrong is reported, other errors are raised."""
        value: Any = None
        for trial in range(MAX_ERRORS, -1, -1):
            try:
                tokens = self.lexer.lex(self.text, start, end, symbol == "field", self.apart)
            except LexError as found:
                if trial and self._part_before(found):
                    continue
                self._earlier(start, found, symbol)
                raise
            try:
                value = self._parsed(tokens, symbol, bool(trial))
                break
            except _Relex:
                continue
        if value is not None and _may_be_deep(tokens) and _is_deep(value):
            raise self._too_deep(tokens)
        return value

    def _part_before(self, error: LexError) -> bool:
        """Let the last line whose indentation fits no block continue nothing; return whether there is one."""
        if error.code is not Code.INDENTATION_ERROR:
            return False
        column = _column(self.text, error.start)
        like = [at for at in error.joined if at < error.start and _column(self.text, at) == column]
        self.apart.update(like[-1:])
        return bool(like)

    def _part(self, tokens: Tokens, index: int) -> bool:
        """Tell whether a line that begins with a token was taken for the rest of a statement; it and those after it
        of the same statement are to continue nothing."""
        if index not in tokens.joined:
            return False
        end = next((line for line in tokens.lines if line > index), len(tokens.types))
        self.apart.update(tokens.starts[at] for at in tokens.joined if index <= at < end)
        return True

    def _parsed(self, tokens: Tokens, symbol: str, may_part: bool = False) -> Any:
        """Return the tree of tokens; of a file one that says nothing if an error is reported.

        Raises: _Relex where a line that was joined to the one before it is the mistake, if `may_part`.
        """
        for _ in range(MAX_ERRORS):
            builder = Builder(self.text, self.source.line_ends, tokens, self.field, self.edition)
            try:
                return self._drive(tokens, builder, symbol)
            except LexError as error:
                if may_part and self._part(tokens, error.index):
                    builder.errors.clear()
                    raise _Relex from None
                from ktc.syntax.parsing.error_recovery import recovered  # late: only for errors

                without = recovered(self.lexer, self.text, tokens, error) if symbol == "file" else None
                if without is None:
                    raise
                self._report(error)
                tokens = without
            finally:
                for found in builder.errors:
                    self._report(found)
        return None

    def _earlier(self, start: int, error: LexError, symbol: str) -> None:
        """Report what is wrong with the statements before the one with `error`."""
        stop = self.text.rfind("\n", 0, error.line) + 1
        if symbol != "file" or stop <= start:
            return
        for trial in range(MAX_ERRORS, -1, -1):
            try:
                tokens = self.lexer.lex(self.text, start, stop, False, self.apart)
                self._parsed(tokens, symbol, bool(trial))
            except _Relex:
                continue
            except LexError as earlier:
                if earlier.index < 0 or earlier.noticed < tokens.ends[-1]:  # not for what is cut off
                    self._report(earlier)
            return

    def _report(self, error: LexError) -> None:
        place = (error.code, error.start)
        if place in self.reported:
            return
        self.reported.add(place)
        span = Span(self.source, error.start, max(error.end, error.start))
        self.sink.report(Diagnostic(error.code, span, error.message, error.help))

    def _failure(self, tokens: Tokens, index: int, states: list[int]) -> LexError:
        from ktc.syntax.parsing.errors import describe  # late: only for errors
        from ktc.syntax.parsing.parse_failure import Failure  # late: only for errors

        return describe(Failure(self.text, tokens, self.tables, self.lexer, index, states))

    def _too_deep(self, tokens: Tokens) -> LexError:
        longest, first = 0, 0
        for line, following in pairwise(tokens.lines):
            if following - line > longest:
                longest, first = following - line, line
        at = tokens.starts[first]
        message = f"this statement is nested more than {MAX_DEPTH} deep"
        return LexError(Code.NESTING_LIMIT, at, tokens.ends[first], message, "split it into several statements")

    def _drive(self, tokens: Tokens, builder: Builder, symbol: str) -> Any:
        """Run the automaton over the tokens.

        The value of a token is its index. Where a rule starts is kept beside each value; it ends where the last
        token that was shifted ends.
        """
        tables = self.tables
        actions, gotos, soft, name = tables.actions, tables.gotos, self.lexer.soft, self.lexer.name
        chains = self.chains
        rules = builder.rules(tables.rules)
        types, token_starts, token_ends = tokens.types, tokens.starts, tokens.ends
        first, accepting = tables.starts[symbol]
        states, starts, values = [first], list[int](), list[Any]()
        index, end, top, type_ = 0, token_starts[0], first, types[0]
        while True:
            action = actions[top].get(type_)
            if action is None:
                if type_ in soft and name in actions[top]:
                    type_ = name
                    continue
                raise self._failure(tokens, index, states)
            if action >= 0:
                top = action
                states.append(top)
                values.append(index)
                starts.append(token_starts[index])
                end = token_ends[index]
                index += 1
                type_ = types[index]
                continue
            left, size, kind, method, children = rules[~action]
            if kind == UNIT:
                below = states[-2]
                link = (below, top, type_)
                known = chains.get(link)
                if known is None:
                    known = self._chain(below, top, type_)
                    chains[link] = known
                states[-1] = top = known
            else:
                if size == 0:
                    value: Any = method([], end, end) if kind != LIST else []
                    starts.append(end if index == 0 else token_starts[index])
                elif kind == CALL:
                    value = method(values[-size:], starts[-size], end)
                elif kind == CHILD:
                    value = values[children[0][0] - size]
                else:
                    value = _children(values, size, children)
                    if kind != LIST:
                        value = method(value, starts[-size], end)
                if size:
                    del states[-size:], values[-size:]
                    if size > 1:
                        del starts[1 - size :]
                values.append(value)
                top = gotos[states[-1]][left]
                states.append(top)
            if top == accepting and type_ == self.lexer.end:
                return values[-1]

    def _chain(self, below: int, top: int, type_: int) -> int:
        """Return the state after all reductions of one symbol to another that follow here."""
        while True:
            action = self.tables.actions[top].get(type_, 0)
            if action >= 0:
                return top
            left, _, kind, _, _ = self.tables.rules[~action]
            if kind != UNIT:
                return top
            top = self.tables.gotos[below][left]


def _children(values: list[Any], size: int, children: tuple[tuple[int, bool], ...]) -> list[Any]:
    """Return the values a rule keeps, with those of spliced rules in line."""
    if children and children[0] == (0, True):
        out: list[Any] = values[-size]  # the list of a repetition grows in place
        children = children[1:]
    else:
        out = []
    for position, splice in children:
        value = values[position - size]
        if splice:
            out += value
        else:
            out.append(value)
    return out


def _column(text: str, at: int) -> int:
    return at - (text.rfind("\n", 0, at) + 1)


def _may_be_deep(tokens: Tokens) -> bool:
    """Tell whether a tree of `MAX_DEPTH` levels is possible: only a long line makes one."""
    lines = tokens.lines
    return any(after - line > MAX_DEPTH // 2 for line, after in pairwise(lines))


def _is_deep(root: object) -> bool:
    """Tell whether a tree has more than `MAX_DEPTH` levels, without recursion."""
    stack: list[tuple[object, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            return True
        if isinstance(node, tuple):
            stack.extend((item, depth) for item in node if isinstance(item, (ast.Node, tuple)))
        else:
            for name in field_names(node):
                value = getattr(node, name)
                if isinstance(value, (ast.Node, tuple)):
                    stack.append((value, depth + 1))
    return False
