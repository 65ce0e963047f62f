"""The words of `-k`: names of tests with `and`, `or`, `not` and brackets."""

import re

_TOKEN = re.compile(r"\s*(?:(\()|(\))|([^\s()]+))")


class BadSelection(Exception):
    """The words are no expression."""


def matches(expression: str, name: str) -> bool:
    """Return whether a test is chosen: a word stands for all tests whose name holds it, in any case of letters.

    Raises:
        BadSelection: the expression cannot be read.
    """
    tokens = [found[0].strip() for found in _TOKEN.finditer(expression)]
    reader = _Selection(tokens, name.lower())
    chosen = reader.either()
    if reader.at < len(tokens):
        raise BadSelection(f"'{tokens[reader.at]}' has no place here")
    return chosen


class _Selection:
    """Reads the tokens from left to right."""

    def __init__(self, tokens: list[str], name: str) -> None:
        self.tokens, self.name, self.at = tokens, name, 0

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def either(self) -> bool:
        """Read `a or b`."""
        chosen = self.both()
        while self._next() == "or":
            self.at += 1
            chosen = self.both() or chosen
        return chosen

    def both(self) -> bool:
        """Read `a and b`."""
        chosen = self.one()
        while self._next() == "and":
            self.at += 1
            chosen = self.one() and chosen
        return chosen

    def one(self) -> bool:
        """Read a word, `not a`, or brackets."""
        token = self._next()
        self.at += 1
        if token == "not":
            return not self.one()
        if token == "(":
            chosen = self.either()
            if self._next() != ")":
                raise BadSelection("a ')' is missing")
            self.at += 1
            return chosen
        if token in ("", ")", "and", "or"):
            raise BadSelection("a name is missing")
        return token.lower() in self.name
