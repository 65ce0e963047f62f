"""Text to tokens: three parallel lists, with indentation as tokens and brackets checked.

A line that is indented more than its statement, without a `:` before it that opens a block, continues the statement;
so does one that starts with `:`. Where that leads to a mistake the parser asks for another reading (`apart`).

Errors in the shape of the text (indentation, brackets, strings, numbers) are found here, before the grammar
sees anything, and ends the reading of the declaration.

SOFT WORDS. A word of the grammar is a keyword everywhere, but
- after a dot every word but `import` is a name;
- `read mut out owned deinit inout borrowed` are one token CONVENTION, and only before a name or a star;
- `ref` is REF before a name, REF_ORIGIN before `[` or `*`, else a name; `alias`, `comptime`, `async` look ahead too;
- tokens in `soft` (`raises`, `where`, ...) become names where the parser's state has no use for them.
"""

import re
from collections.abc import Collection
from dataclasses import field

from ktc.base.editions import Edition
from ktc.base.records import entity
from ktc.diag.codes import Code
from ktc.syntax.lexing.lex_error import LexError
from ktc.syntax.lexing.lex_literals import LiteralReader
from ktc.syntax.parsing.tables import Tables

MAX_BRACKETS = 200  # brackets inside one another
MAX_BLOCKS = 100  # blocks inside one another

# Possessive are repeats of single characters only: before 3.11.5 Python matched those of groups wrongly (gh-106052).
_TOKEN = re.compile(
    r"""(?:[ \t\f\r]++|\\\r?\n)*(?:
    ([^\W\d]\w*+)(?!["'])                                                            # 1 word
  | (->|:=|\.\.\.|(?:\*\*|//|<<|>>|[-+*/%@&|^])=?|[<>=!]=|[,:;~<>=(){}\[\]]|\.(?!\d))  # 2 operator
  | (\n)                                                                             # 3 end of line
  | (\#[^\n]*+)                                                                      # 4 comment
  | (0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+)                                      # 5 based integer
  | ((?:\d[\d_]*+\.\d[\d_]*+|\d[\d_]*+\.(?![^\W\d]|\.)|\.\d[\d_]*+|\d[\d_]*+(?=[eE][+-]?\d))(?:[eE][+-]?\d[\d_]*+)?
     |\d[\d_]*+\.[eE][+-]?\d[\d_]*+)                                                  # 6 float
  | (\d[\d_]*+)                                                                      # 7 integer
  | ((?:[^\W\d]\w*+)?)(\"\"\"|'''|"|')                                               # 8, 9 string: prefix, quote
  | (`[^`\n]*`)                                                                      # 10 name in backquotes
  | (\Z)                                                                             # 11 end
    )""",
    re.VERBOSE,
)
_INDENTATION = re.compile(r"(?:[ \t\f\r]*+(?:\#[^\n]*+)?\n)*([ \t\f]*+)(?:\#[^\n]*+\Z)?")
_CONVENTIONS = frozenset(("read", "mut", "out", "owned", "deinit", "inout", "borrowed"))
_CONVENTIONS_2026 = _CONVENTIONS | {"imm"}
_AHEAD = frozenset(("ref", "alias", "comptime", "async"))
_SOFT = ("raises", "where", "capturing", "escaping", "unified", "ref")
_EFFECTS = ("thin", "abi")
"""Names, unless they stand behind a bracket or a name: among the effects of a function."""
# Words of other languages; no rule takes them, so that `errors` can say what there is instead.
FOREIGN = frozenset(("lambda", "class", "assert", "del", "global", "nonlocal", "yield", "let"))
_WORDS_2026 = ("match", "case")
"""Keywords of edition 2026 that are names in edition 2025."""
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
# A line that starts with one of these, no deeper than the line that opened a bracket, starts a new statement.
_STATEMENT = re.compile(
    r"(?:var|def|struct|trait|return|raise|while|import|from|try|pass|break|continue)\b|(?:fn|alias|comptime)\s+\w|with\s|@\w"
)


@entity
class Tokens:
    """Token i has the terminal `types[i]` and stands at `starts[i]` to `ends[i]`. The last one is `$END`.

    `lines` has the index of the first token of each logical line, `joined` those of lines that continue a statement.
    """

    types: list[int]
    starts: list[int]
    ends: list[int]
    lines: list[int]
    joined: list[int] = field(default_factory=list)


class Lexer:
    """Cuts texts of an edition into tokens; made once for a set of tables."""

    def __init__(self, tables: Tables, edition: Edition = Edition.Y2025) -> None:
        self.edition = edition
        self.conventions = _CONVENTIONS if edition is Edition.Y2025 else _CONVENTIONS_2026
        self.declaring = _AHEAD | self.conventions
        self.ahead = self.declaring | frozenset(_EFFECTS)
        number = tables.number
        self.words = dict(tables.words)
        self.augmented = number("AUGMENTED")
        for op in ("+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^"):
            self.words[op + "="] = self.augmented
        # No rule takes -1: an operator or a word that only other languages have.
        takes = {"assert"} if edition is Edition.Y2025 else {"assert", "lambda"}
        self.words.update(dict.fromkeys(FOREIGN - takes, -1))
        for word in _WORDS_2026 if edition is Edition.Y2025 else ():
            self.words.pop(word)
        self.method_names = frozenset([self.words[word] for word in _WORDS_2026 if word in self.words])
        self.defining = (self.words["def"], self.words["fn"])
        self.effects = {word: self.words.pop(word) for word in _EFFECTS}
        self.name, self.integer, self.floating, self.string = map(number, ("NAME", "INT", "FLOAT", "STRING"))
        self.newline, self.indent, self.dedent = map(number, ("_NEWLINE", "_INDENT", "_DEDENT"))
        self.end = number("$END")
        self.dot, self.caret, self.transfer = number("DOT"), number("CARET"), number("TRANSFER")
        self.convention, self.ref, self.ref_origin = map(number, ("CONVENTION", "REF", "REF_ORIGIN"))
        self.asynchronous, self.arrow = number("ASYNC"), self.words["->"]
        self.soft = frozenset(
            [self.words[w] for w in _SOFT if w in self.words]
            + [self.ref, self.ref_origin, self.convention, self.asynchronous]
        )
        ends = (")", "]", "raises", "capturing")
        self.before_effects = frozenset((self.name, *self.effects.values(), *(self.words[w] for w in ends)))
        # Tokens after `^` when it is the operator: the first of an operand.
        operands = ("(", "[", "{", "-", "+", "~", "True", "False", "None", "...")
        literals = (self.name, self.integer, self.floating, self.string)
        self.operand = frozenset((*literals, *(self.words[w] for w in operands)))

    def lex(
        self, text: str, start: int, end: int, in_brackets: bool = False, apart: Collection[int] = frozenset()
    ) -> Tokens:
        """Cut `text[start:end]`.

        Args:
            in_brackets: whether line ends do not count (a field of an f-string).
            apart: where lines begin that continue no statement, although they are indented more.
        """
        if start == 0 and text.startswith("\ufeff"):
            start = 1  # a byte order mark
        run = _Run(self, text, end, apart)
        try:
            run.scan(start, in_brackets)
        except LexError as error:
            error.line = next(iter(run.starts[run.lines[-1] if run.lines else 0 :]), error.start)
            error.joined = [run.starts[index] for index in run.joined if index < len(run.starts)]
            raise
        run.settle()
        return Tokens(run.types, run.starts, run.ends, run.lines, run.joined)


class _Run(LiteralReader):
    """The state while one text is cut."""

    def __init__(self, lexer: Lexer, text: str, limit: int, apart: Collection[int]) -> None:
        super().__init__(text, limit, lexer.string, lexer.edition)
        self.lexer, self.apart = lexer, apart
        self.joined: list[int] = []
        self.starts: list[int] = []
        self.lines: list[int] = []
        self.open: list[int] = []  # offsets of open brackets
        self.indents = [""]
        self.later: list[int] = []  # tokens whose kind depends on the next one

    def scan(self, pos: int, in_brackets: bool) -> None:
        """Fill the lists from offset `pos` on."""
        lexer, text, limit, match = self.lexer, self.text, self.limit, _TOKEN.match
        types, starts, ends, later = self.types, self.starts, self.ends, self.later
        words, name, dot, ahead = lexer.words, lexer.name, lexer.dot, lexer.ahead
        if in_brackets:
            self.lines.append(0)
        else:
            pos = self.indentation(pos)
        while True:
            found = match(text, pos, limit)
            if found is None:
                raise self.strange(pos)
            kind = found.lastindex or 0
            start, pos = found.start(kind), found.end()
            if kind == 1:
                word = found[1]
                type_ = words.get(word, name)
                if word in ahead:
                    later.append(len(types))
                if types and types[-1] == dot and word != "import":
                    type_ = name
                elif type_ in lexer.method_names and types and types[-1] in lexer.defining:
                    type_ = name  # a method `match`; only an attribute can call it
            elif kind == 2:
                word = found[2]
                type_ = words.get(word, -1)
                if word in "()[]{}":
                    self.bracket(word, start)
                elif word == "^":
                    later.append(len(types))
            elif kind == 3:
                pos = self.line_end(pos, in_brackets)
                continue
            elif kind == 4:
                continue
            elif kind == 11:
                break
            else:
                start, pos, type_ = self.literal(found, start, pos)
            types.append(type_)
            starts.append(start)
            ends.append(pos)
        self.finish(in_brackets)

    def literal(self, found: re.Match[str], start: int, pos: int) -> tuple[int, int, int]:
        """Return (start, end, type) of a number, a string or a name in backquotes."""
        kind = found.lastindex
        if kind == 10:
            return start, pos, self.lexer.name
        if kind == 9:
            prefix, start = found[8], found.start(8)
            if prefix in self.lexer.words:  # `return"x"`
                self.add(self.lexer.words[prefix], start, start + len(prefix))
                prefix, start = "", start + len(prefix)
            return start, self.string_end(prefix, found[9], start, pos), self.lexer.string
        self.check_number(start, pos)
        return start, pos, self.lexer.floating if kind == 6 else self.lexer.integer

    def line_end(self, pos: int, in_brackets: bool) -> int:
        """A line ends before `pos`; return where to go on."""
        if self.open:
            self.line_in_brackets(pos)
        elif not in_brackets and not (self.types and self.types[-1] == self.lexer.arrow):
            self.end_line()
            return self.indentation(pos)
        return pos  # after `->` nothing but a type can follow, so the line goes on

    def indentation(self, pos: int) -> int:
        """Skip blank lines from the start of a line; compare the indentation of the next one; return where it ends."""
        found = _INDENTATION.match(self.text, pos, self.limit)
        assert found is not None  # every part is optional
        pos = found.end()
        self.lines.append(len(self.types))
        if pos >= self.limit:
            return pos
        here, top = found[1].replace("\f", ""), self.indents[-1]
        if self._continues(here, top, pos):
            self.drop_line_end()
            return pos
        if here == top:
            return pos
        at = self.ends[-1] if self.ends else pos
        if not here.startswith(top) and not top.startswith(here):
            raise self.mixed(found.start(1), pos)
        if len(here) > len(top):
            if self.types[-3:] == [self.lexer.indent, self.lexer.string, self.lexer.newline]:
                self.indents[-1] = here  # the statement after a docstring sets its block's indentation
                return pos
            self.indents.append(here)
            if len(self.indents) > MAX_BLOCKS + 1:
                raise LexError(Code.NESTING_LIMIT, pos, pos + 1, f"blocks are nested more than {MAX_BLOCKS} deep")
            self.add(self.lexer.indent, pos, pos)
            self.lines[-1] = len(self.types)
            return pos
        while len(self.indents[-1]) > len(here):
            self.indents.pop()
            self.add(self.lexer.dedent, at, at)
        self.lines[-1] = len(self.types)
        if self.indents[-1] != here:
            help = "indent it like the other lines of its block"
            raise LexError(
                Code.INDENTATION_ERROR, pos, pos + 1, "this line's indentation matches no block around it", help
            )
        return pos

    def _continues(self, here: str, top: str, pos: int) -> bool:
        """Tell whether a line indented like `here` continues the statement before it; `top`: of its block."""
        if self.types[-1:] != [self.lexer.newline] or not here.startswith(top) or pos in self.apart:
            return False
        if self.text.startswith(":", pos):
            return True
        is_text = self.types[-2:-1] == [self.lexer.string] and self.types[-3:-2] == [self.lexer.indent]
        return len(here) > len(top) and self.types[-2] != self.lexer.words[":"] and not is_text

    def drop_line_end(self) -> None:
        """Let the line that begins go on with the statement."""
        for part in (self.types, self.starts, self.ends, self.lines):
            part.pop()
        self.joined.append(len(self.types))

    @staticmethod
    def mixed(start: int, end: int) -> LexError:
        message = "tabs and spaces are mixed in this line's indentation"
        return LexError(Code.INDENTATION_ERROR, start, end, message, "indent every line of a block alike, with spaces")

    def end_line(self) -> None:
        if self.types and self.types[-1] not in (self.lexer.newline, self.lexer.indent, self.lexer.dedent):
            at = self.ends[-1]
            self.add(self.lexer.newline, at, at)

    def add(self, type_: int, start: int, end: int) -> None:
        self.types.append(type_)
        self.starts.append(start)
        self.ends.append(end)

    def bracket(self, text: str, at: int) -> None:
        """Keep account of an opening or closing bracket."""
        if text in _CLOSERS:
            self.open.append(at)
            if len(self.open) > MAX_BRACKETS:
                raise LexError(Code.NESTING_LIMIT, at, at + 1, f"brackets are nested more than {MAX_BRACKETS} deep")
            return
        if not self.open:
            raise LexError(Code.SYNTAX_ERROR, at, at + 1, f"'{text}' closes no bracket", f"remove the '{text}'")
        opener = self.open.pop()
        if _CLOSERS[self.text[opener]] != text:
            line = self.text.count("\n", 0, at) + 1
            expected = _CLOSERS[self.text[opener]]
            help = f"line {line} has '{text}' where '{expected}' is missing"
            message = f"'{self.text[opener]}' is never closed: '{text}' comes first"
            raise LexError(Code.UNCLOSED_BRACKET, opener, opener + 1, message, help)

    def unclosed(self, noticed: int) -> LexError:
        """The innermost open bracket is never closed; it was noticed at an offset."""
        at, bracket = self.open[-1], self.text[self.open[-1]]
        line = self.text.count("\n", 0, noticed) + 1
        where = "the end of the file comes first" if noticed >= self.limit else f"line {line} starts a new statement"
        help = f"add '{_CLOSERS[bracket]}'; {where}"
        error = LexError(Code.UNCLOSED_BRACKET, at, at + 1, f"'{bracket}' is never closed", help)
        error.noticed = noticed
        return error

    def line_in_brackets(self, pos: int) -> None:
        """A line starts inside brackets; complain if it is clearly a new statement."""
        found = _INDENTATION.match(self.text, pos, self.limit)
        if not found or not self.open or not _STATEMENT.match(self.text, found.end(), self.limit):
            return
        if len(found[1]) <= len(self.indents[-1]):
            raise self.unclosed(found.end())

    def finish(self, in_brackets: bool) -> None:
        if self.open:
            raise self.unclosed(self.limit)
        at = self.ends[-1] if self.ends else 0
        if not in_brackets:
            self.end_line()
            for _ in self.indents[1:]:
                self.add(self.lexer.dedent, at, at)
        self.lines.append(len(self.types))
        self.add(self.lexer.end, at if not in_brackets else self.limit, at if not in_brackets else self.limit)

    def _names_follow(self, index: int) -> bool:
        """Return whether names in round brackets stand from a token on, and `=` behind them."""
        words, depth = self.lexer.words, 0
        for type_ in self.types[index:]:
            depth += (type_ == words["("]) - (type_ == words[")"])
            if not depth and type_ != words[")"]:
                return type_ == words["="] and self.types[index] == words["("]
            if type_ not in (words["("], words[")"], words[","], self.lexer.name):
                return False
        return False

    def _is_effect(self, index: int) -> bool:
        """Return whether `thin` or `abi` stands behind the arguments or another effect, and is no name."""
        before = self.types[index - 1] if index else -1
        word = self.text[self.starts[index - 1] : self.ends[index - 1]]
        return before in self.lexer.before_effects and (before != self.lexer.name or word not in self.lexer.declaring)

    def settle(self) -> None:
        """Decide the tokens that depend on the next ones; right to left, since one such may follow another."""
        lexer, types, text = self.lexer, self.types, self.text
        words = lexer.words
        for index in reversed(self.later):
            word = text[self.starts[index] : self.ends[index]]
            following = types[index + 1]
            if word == "^":
                if following not in lexer.operand and following not in lexer.soft:
                    types[index] = lexer.transfer
                continue
            if index and types[index - 1] == lexer.dot:
                continue
            if word in lexer.effects:
                types[index] = lexer.effects[word] if self._is_effect(index) else lexer.name
                continue
            named = following == lexer.name or following in lexer.soft
            starred = following in (words["*"], words["**"])
            type_ = lexer.name
            if word in lexer.conventions:
                if named or starred or following in (words["fn"], words["def"]):
                    type_ = lexer.convention
            elif word == "ref":
                type_ = lexer.ref if named else lexer.ref_origin if starred or following == words["["] else lexer.name
            elif word == "alias":
                type_ = words[word] if named or self._names_follow(index + 1) else lexer.name
            elif word == "comptime":
                ahead = (words["if"], words["for"], words["assert"])
                type_ = words[word] if named or following in ahead or self._names_follow(index + 1) else lexer.name
            elif following in (words["fn"], words["def"]):
                type_ = lexer.asynchronous
            types[index] = type_
