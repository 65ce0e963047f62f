"""Numbers and strings: where they end, and their errors.

Input: the text and the tokens so far. Output: offsets, or a `LexError`.
"""

import re

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.syntax.lexing.lex_error import LexError

MAX_DIGITS = 16000  # of a number: 64000 bits, if they are hexadecimal

_STRING_REST = {
    '"': re.compile(r'[^"\\\n]*+(?:\\.[^"\\\n]*+)*"', re.DOTALL),
    "'": re.compile(r"[^'\\\n]*+(?:\\.[^'\\\n]*+)*'", re.DOTALL),
    '"""': re.compile(r'(?:[^"\\]++|\\.|"(?!""))*"""', re.DOTALL),
    "'''": re.compile(r"(?:[^'\\]++|\\.|'(?!''))*'''", re.DOTALL),
}
_PREFIXES = {
    Edition.Y2025: frozenset(("", "r", "f", "rf", "fr")), Edition.Y2026: frozenset(("", "r", "t", "rt", "tr")),
}  # fmt: skip
_CURLY = "\u201c\u201d\u2018\u2019\u201e"


_SUFFIXES = {"f": "Float32", "u": "UInt", "l": "Int64", "ul": "UInt64", "ll": "Int64", "ull": "UInt64"}
"""Types by the suffixes of C's numbers."""


_MACROS = {
    "println": "write 'print(...)'", "print": "leave it out", "eprintln": "write 'print(…, file=stderr)'",
    "vec": "write a list: '[a, b]'", "format": "write 'String(…)', or '\"… {}\".format(…)'",
    "panic": "write 'raise Error(…)', or 'abort(…)', from 'os'", "assert": "call 'debug_assert'",
    "assert_eq": "write 'assert_equal(a, b)', from 'testing'",
}  # fmt: skip
"""Help for macros of Rust."""


def _after_bang(text: str, at: int) -> str:
    """Return the help for a `!`, which calls a macro of Rust or negates."""
    is_macro = at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_")
    macro = re.search(r"\w*\Z", text[max(at - 20, 0) : at])
    known = _MACROS.get(macro[0], "") if macro is not None else ""
    return known or ("leave it out" if is_macro else "write 'not'")


class LiteralReader:
    """Reads literals of a text up to a limit; knows the tokens before them.

    Args:
        string: the number of the terminal STRING.
        edition: of the text.
    """

    def __init__(self, text: str, limit: int, string: int, edition: Edition) -> None:
        self.text, self.limit, self.string, self.edition = text, limit, string, edition
        self.types: list[int] = []
        self.ends: list[int] = []

    def check_number(self, start: int, end: int) -> None:
        """A number must not run into a word, and Python must be able to read it."""
        text = self.text
        stop = end
        while stop < self.limit and (text[stop].isalnum() or text[stop] == "_"):
            stop += 1
        if end - start > MAX_DIGITS:
            raise LexError(Code.INVALID_LITERAL, start, end, f"a number has more than {MAX_DIGITS} digits")
        if stop > end or text[end - 1] == "_":
            shown = text[start:stop] if stop - start <= 40 else text[start : start + 40] + "..."
            kind = _SUFFIXES.get(text[end:stop].lower(), "")
            help = f"write '{kind}({text[start:end]})'" if kind else ""
            raise LexError(Code.INVALID_LITERAL, start, stop, f"'{shown}' is not a number", help)

    def string_end(self, prefix: str, quote: str, start: int, pos: int) -> int:
        """Return where the string ends whose opening quote ends at `pos`."""
        if prefix.lower() not in _PREFIXES[self.edition]:
            self.check_quotes(start)
            if prefix.lower() in _PREFIXES[self.edition.other]:
                text = f"'{prefix}{quote}' is not in edition {self.edition.value}"
                instead = prefix.lower().translate(str.maketrans("ft", "tf"))
                raise LexError(Code.WRONG_EDITION, start, pos, text, f"write '{instead}{quote}'")
            raise LexError(Code.INVALID_LITERAL, start, pos, f"a string cannot start with '{prefix}{quote}'")
        if not frozenset("ft").isdisjoint(prefix.lower()):
            return self.fstring_end(quote, start, pos)
        found = _STRING_REST[quote].match(self.text, pos, self.limit)
        if found is None:
            raise self.unterminated(quote, start)
        return found.end()

    def check_quotes(self, start: int) -> None:
        """A quote opens a string in an odd place: perhaps an earlier one of the line ended too soon."""
        line = self.text.rfind("\n", 0, start)
        for type_, end in zip(self.types, self.ends, strict=True):
            if type_ == self.string and end > line and self.text[end].isalpha():
                help = "write '\\' before a quote that belongs to it"
                raise LexError(Code.INVALID_LITERAL, end, end + 1, "a string ends before this", help)

    def fstring_end(self, quote: str, start: int, pos: int) -> int:
        """Like `string_end`; a string inside a field may use the same quotes."""
        text, depth, opener = self.text, 0, pos
        while pos < self.limit:
            char = text[pos]
            if char == "\\":
                pos += 2
            elif depth == 0 and text.startswith(quote, pos):
                return pos + len(quote)
            elif char == "\n" and len(quote) == 1:
                break
            elif depth == 0 and text.startswith(("{{", "}}"), pos):
                pos += 2
            elif depth and char in "\"'":
                inner = text[pos : pos + 3] if text.startswith(('"""', "'''"), pos) else char
                found = _STRING_REST[inner].match(text, pos + len(inner), self.limit)
                if found is None or (len(quote) == 1 and "\n" in found[0]):
                    break
                pos = found.end()
            else:
                opener = pos if char == "{" and depth == 0 else opener
                depth += (char == "{") - (char == "}" and depth > 0)
                pos += 1
        line_end = text.find("\n", opener, self.limit)
        if depth and quote in text[opener : line_end if line_end >= 0 else self.limit]:
            raise LexError(
                Code.INVALID_LITERAL, opener, opener + 1, "this field of the f-string is never closed", "add '}'"
            )
        raise self.unterminated(quote, start)

    def unterminated(self, quote: str, start: int) -> LexError:
        stop = self.text.find("\n", start, self.limit)
        stop = self.limit if stop < 0 else stop
        error = LexError(Code.INVALID_LITERAL, start, stop, "this string is never closed", f"add {quote} at its end")
        error.fatal = len(quote) == 3
        return error

    def strange(self, pos: int) -> LexError:
        """No token starts here."""
        text = self.text
        while text[pos] in " \t\f\r":
            pos += 1
        char = text[pos]
        if char == "`":
            message = "this name in backquotes is never closed"
            return LexError(Code.INVALID_LITERAL, pos, pos + 1, message, "add '`' at its end")
        if char == "\\":
            return LexError(Code.SYNTAX_ERROR, pos, pos + 1, "'\\' is not the last character of its line")
        if char == "!":
            return LexError(Code.SYNTAX_ERROR, pos, pos + 1, "'!' is not an operator", _after_bang(text, pos))
        shown = f"'{char}'" if char.isprintable() else f"the character U+{ord(char):04X}"
        helps = {"?": "write 'a if condition else b' to choose"} | dict.fromkeys(_CURLY, "write a plain quote, \" or '")
        return LexError(Code.SYNTAX_ERROR, pos, pos + 1, f"{shown} has no place in a program", helps.get(char, ""))
