"""The value of a string token: quotes and prefix taken off, escapes resolved, fields of an f-string found."""

import re
from collections.abc import Callable, Iterable

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.syntax import ast
from ktc.syntax.lexing.lex_error import LexError

_ESCAPE = re.compile(r"\\(\n|x[\da-fA-F]{2}|[0-7]{1,3}|.|\Z)", re.DOTALL)
_LINE_END = re.compile(r"\n")
_ESCAPE_2026 = re.compile(r"\\(\n|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{1,3}|.|\Z)", re.DOTALL)
"""All of these are code points; in edition 2025 they are bytes."""
_SIMPLE = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "\n": "",
}  # fmt: skip


def split(text: str, start: int, end: int) -> tuple[str, int, int]:
    """Return (prefix in lower case, where the content starts, where it ends) of a string token."""
    at = start
    while text[at] not in "\"'":
        at += 1
    width = 3 if end - at >= 6 and text[at : at + 3] in ('"""', "'''") else 1
    return text[start:at].lower(), at + width, end - width


class Content:
    """Gives the values of parts of a literal's content.

    Args:
        text: the whole text.
        line_ends: how the file spells line ends that are not `\\n`, by their offset; the values have them so.
        raw: whether a backslash is a character like others.
        edition: of the text.
    """

    def __init__(self, text: str, line_ends: dict[int, str], raw: bool, edition: Edition) -> None:
        self.text, self.line_ends, self.raw = text, line_ends, raw
        self.is_2026 = edition is Edition.Y2026

    def value(self, start: int, end: int) -> str:
        """Return the value of `text[start:end]`."""
        part, at = self.text[start:end], start
        if not self.raw and "\\" in part:
            escapes = _ESCAPE_2026 if self.is_2026 else _ESCAPE
            pattern = re.compile(rf"{escapes.pattern}|\n", re.DOTALL) if self.line_ends else escapes
        elif self.line_ends:
            pattern = _LINE_END
        else:
            return part

        def one(found: re.Match[str]) -> str:
            if found[0] == "\n":
                return self.line_ends.get(at + found.start(), "\n")
            return _resolved(found[1], at + found.start(), self.is_2026)

        return pattern.sub(one, part)


def _resolved(escape: str, at: int, is_2026: bool) -> str:
    """Return what an escape stands for, whose backslash is at an offset."""
    if escape in _SIMPLE:
        return _SIMPLE[escape]
    if is_2026 and len(escape) > 1 and escape[0] in "xuU":
        number = int(escape[1:], 16)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            text = f"'\\{escape}' is no character"
            raise LexError(Code.INVALID_LITERAL, at, at + 1 + len(escape), text, "code points end at 10FFFF")
        return chr(number)
    if escape[:1] == "x" and len(escape) == 3:
        return _byte(int(escape[1:], 16))
    if escape[:1] in set("01234567") and int(escape, 8) < 256:
        return _byte(int(escape, 8))
    help = "write the character itself" if escape in ("u", "U", "N") else "write '\\\\' for a backslash"
    if is_2026 and escape in ("u", "U"):
        help = f"{4 if escape == 'u' else 8} hexadecimal digits follow it"
    help = "two hexadecimal digits follow it" if escape == "x" else help
    raise LexError(Code.INVALID_LITERAL, at, at + 1 + len(escape), f"'\\{escape}' is not an escape", help)


def _byte(value: int) -> str:
    """Return a byte as text: one that is not ASCII is a surrogate, until its neighbours make it a character."""
    return chr(value) if value < 128 else chr(0xDC00 + value)


def joined(values: Iterable[str]) -> str:
    """Return neighbouring texts as one; bytes that are a character together become it."""
    return "".join(values).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def fstring(
    content: Content, start: int, end: int, field: Callable[[int, int], ast.Expr]
) -> list[ast.StrLit | ast.FField]:
    """Return the parts of an f-string's content; `field` parses the expression of a field."""
    parts: list[ast.StrLit | ast.FField] = []
    text, at, begin = content.text, start, start
    while at < end:
        char = text[at]
        if char == "\\" and not content.raw:
            at += 2
        elif char not in "{}":
            at += 1
        else:
            _add_text(parts, content, begin, at)
            if text.startswith(char * 2, at):
                parts.append(ast.StrLit(at, at + 2, char))
                at += 2
            elif char == "}":
                message = "'}' closes no field of this f-string"
                raise LexError(Code.INVALID_LITERAL, at, at + 1, message, "write '}}' for a brace")
            else:
                node, at = _field(text, at, end, field)
                parts.append(node)
            begin = at
    _add_text(parts, content, begin, end)
    return parts


def _add_text(parts: list[ast.StrLit | ast.FField], content: Content, start: int, end: int) -> None:
    if end > start:
        parts.append(ast.StrLit(start, end, content.value(start, end)))


def _field(text: str, start: int, end: int, field: Callable[[int, int], ast.Expr]) -> tuple[ast.FField, int]:
    """Parse `{value!conversion:spec}` at `start`; return the node and where it ends."""
    at = stop = _field_end(text, start + 1, end)
    conversion = spec = ""
    if at < end and text[at] == "!":
        conversion = text[at + 1 : at + 2]
        if conversion not in ("r", "s", "a"):
            raise LexError(Code.INVALID_LITERAL, at, at + 2, "the conversion of a field is '!r', '!s' or '!a'")
        at += 2
    if at < end and text[at] == ":":
        close = text.find("}", at, end)
        close = end if close < 0 else close
        spec = text[at + 1 : close]
        if "{" in spec:
            raise LexError(Code.INVALID_LITERAL, at, close, "a format spec cannot hold a field of its own")
        at = close
    if at >= end or text[at] != "}":
        raise LexError(Code.INVALID_LITERAL, start, start + 1, "this field of the f-string is never closed", "add '}'")
    if not text[start + 1 : stop].strip():
        raise LexError(
            Code.INVALID_LITERAL, start, at + 1, "this field of the f-string is empty", "write '{{' for a brace"
        )
    return ast.FField(start, at + 1, field(start + 1, stop), conversion, spec), at + 1


def _field_end(text: str, at: int, end: int) -> int:
    """Return where the expression of a field ends: at `!`, `:` or `}` outside brackets and strings."""
    depth, quote = 0, ""
    while at < end:
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif depth and char in ")]}":
            depth -= 1
        elif not depth and (char in "}:" or (char == "!" and text[at + 1 : at + 2] != "=")):
            return at
        at += 1
    return end
