"""Where the grammar goes no further: the token, the one before it, and those that would have fitted.

Input: the automaton's state. Output: a `Failure`, which errors.py and foreign_syntax.py put in words.
"""

import bisect
from dataclasses import dataclass, field

from ktc.diag.codes import Code
from ktc.syntax.lexing.lex_error import LexError
from ktc.syntax.lexing.lexer import Lexer, Tokens
from ktc.syntax.parsing.tables import Tables


@dataclass(slots=True)
class Failure:
    """Token `index` does not fit; `states` is the automaton's stack.

    Filled in on making: the token's place and text, the offsets of brackets open before it, the first token of its
    line, and the texts of the tokens that would fit (names of terminals for those without a fixed text).
    """

    text: str
    tokens: Tokens
    tables: Tables
    lexer: Lexer
    index: int
    states: list[int]
    start: int = 0
    end: int = 0
    word: str = ""
    brackets: list[int] = field(default_factory=list)
    first: int = 0
    fitting: frozenset[str] = frozenset()
    accepting: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        tokens, lines = self.tokens, self.tokens.lines
        self.start, self.end = tokens.starts[self.index], tokens.ends[self.index]
        self.word = self.text[self.start : self.end]
        self.first = lines[max(bisect.bisect_right(lines, self.index) - 1, 0)] if lines else 0
        for index in range(self.first, self.index):
            at = tokens.starts[index]
            if tokens.ends[index] - at == 1 and self.text[at] in "([{":
                self.brackets.append(at)
            elif tokens.ends[index] - at == 1 and self.text[at] in ")]}":
                self.brackets.pop()
        self.accepting = frozenset(end for _, end in self.tables.starts.values())
        self.fitting = self._fitting()

    def kind(self) -> str:
        """Return the name of the token's terminal."""
        number = self.tokens.types[self.index]
        return self.tables.terminals[number] if number >= 0 else ""

    def before(self, back: int = 1) -> str:
        """Return the text of an earlier token of the same line, or ""."""
        index = self.index - back
        return self.text[self.tokens.starts[index] : self.tokens.ends[index]] if index >= self.first else ""

    def head(self) -> str:
        """Return the first word of the line."""
        return self.text[self.tokens.starts[self.first] : self.tokens.ends[self.first]]

    def _fitting(self) -> frozenset[str]:
        """Run the automaton for each token that its last state knows, to see which would be shifted."""
        texts = {number: text for text, number in self.tables.words.items()}
        names = (texts.get(t, self.tables.terminals[t]) for t in self.tables.actions[self.states[-1]] if self._fits(t))
        return frozenset(names)

    def _fits(self, terminal: int) -> bool:
        # Reductions pop from the real stack and push onto a short one of their own.
        kept, pushed = len(self.states), list[int]()
        while True:
            top = pushed[-1] if pushed else self.states[kept - 1]
            action = self.tables.actions[top].get(terminal)
            if action is None:
                return False
            if action >= 0:
                return True
            left, size = self.tables.rules[~action][:2]
            from_pushed = min(size, len(pushed))
            if from_pushed:
                del pushed[-from_pushed:]
            kept -= size - from_pushed
            goto = self.tables.gotos[pushed[-1] if pushed else self.states[kept - 1]].get(left)
            if goto is None:
                return False
            pushed.append(goto)
            if terminal == self.lexer.end and goto in self.accepting:
                return True


def error_at(failure: Failure, message: str, help: str = "", code: Code = Code.SYNTAX_ERROR) -> LexError:
    """Return an error at the token that does not fit."""
    return LexError(code, failure.start, max(failure.end, failure.start + 1), message, help)
