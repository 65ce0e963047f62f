"""Going on after a mistake: a statement that is wrong is replaced by one that is not.

Input: the tokens or the text, and the mistake. Output: the next text to try, or None where only the next declaration
is a safe place to go on. The tree is thrown away; all this is for is to find what else is wrong.
"""

import re
from collections.abc import Sequence

from ktc.diag.codes import Code
from ktc.syntax.lexing.lex_error import LexError
from ktc.syntax.lexing.lexer import Lexer, Tokens

_CLAUSES = ("elif", "else", "except", "finally")
# Stands for the head of a block, so that its block can be checked.
_HEADS = {
    "if": ("if", "", ":"), "elif": ("elif", "", ":"), "else": ("elif", "", ":"), "with": ("if", "", ":"),
    "while": ("while", "", ":"), "for": ("while", "", ":"), "try": ("try", ":"), "except": ("except", ":"),
    "finally": ("finally", ":"), "fn": ("fn", "", "(", ")", ":"), "def": ("def", "", "(", ")", ":"),
}  # fmt: skip


def without_line(text: str, error: LexError) -> str | None:
    """Return a text of the same length without the line that cannot be cut into tokens."""
    line = text.rfind("\n", 0, error.start) + 1
    end = text.find("\n", error.start)
    end = len(text) if end < 0 else end
    shown = text[line:end].partition("  #")[0].strip()
    level = [sum(map(shown.count, brackets)) for brackets in ("([{", ")]}")]
    of_token = error.code in (Code.INVALID_LITERAL, Code.SYNTAX_ERROR) and not error.fatal
    if not of_token or error.line < line or level[0] != level[1] or shown.endswith(":"):
        return None
    at = line + len(text[line:end]) - len(text[line:end].lstrip())
    return text[:at] + ("_" if at > line else "#") + " " * (end - at - 1) + text[end:]


def without_statement(text: str, error: LexError) -> str | None:
    """Return a text of the same length without the statement in a block whose bracket the next line shows unclosed."""
    start, end = text.rfind("\n", 0, error.line) + 1, text.rfind("\n", 0, error.noticed)
    following = re.compile(rf"\n[ \t]{{0,{error.line - start}}}[^\s)\]}}#]").search(text, error.start, error.noticed)
    end = following.start() if following else end
    shown = text[start:end].partition("  #")[0].rstrip()
    if error.code is not Code.UNCLOSED_BRACKET or error.line <= start or end <= error.start or shown.endswith(":"):
        return None
    if text.startswith(("fn ", "def ", "@"), error.line):  # the head of a method
        return None
    blank = "".join("\n" if one == "\n" else " " for one in text[error.line + 1 : end])
    return f"{text[: error.line]}_{blank}{text[end:]}"


def recovered(lexer: Lexer, text: str, tokens: Tokens, error: LexError) -> Tokens | None:
    """Return the tokens without the statement that does not fit."""
    types, index = tokens.types, error.index
    if error.missing == "block" and types[index] not in (lexer.dedent, lexer.end):
        return _replaced(tokens, index, index, (lexer.indent, lexer.words["pass"], lexer.newline, lexer.dedent))
    if index < 0 or error.code is Code.UNCLOSED_BRACKET or types[index] in (lexer.dedent, lexer.end):
        return None
    if types[index] == lexer.indent:
        end = _block_end(lexer, types, index) - 1
        return _replaced(_replaced(tokens, end, end + 1, ()), index, index + 1, ())
    first = max(line for line in tokens.lines if line <= index)
    head = text[tokens.starts[first] : tokens.ends[first]]
    end = types.index(lexer.newline, index)
    has_block = types[end + 1] == lexer.indent
    if error.missing == ":" and index == end and has_block:
        return _replaced(tokens, index, index, (lexer.words[":"],))
    if index == first and types[index] >= 0 and head not in _CLAUSES:
        return None  # perhaps what stands before it is not complete
    nested = types[:first].count(lexer.indent) > types[:first].count(lexer.dedent)
    if has_block and head in _HEADS and index > first and (nested or head in ("fn", "def")):
        return _replaced(tokens, first, end, _types(lexer, *_HEADS[head]))
    if not nested:
        return None
    if head in _CLAUSES and not has_block:
        return _replaced(tokens, first, end, _types(lexer, *_HEADS[head], "pass"))
    end = _block_end(lexer, types, end + 1) if has_block else end + 1
    while text[tokens.starts[end] : tokens.ends[end]] in _CLAUSES:
        end = types.index(lexer.newline, end) + 1
        end = _block_end(lexer, types, end) if types[end] == lexer.indent else end
    return _replaced(tokens, first, end, (lexer.words["pass"], lexer.newline))


def _types(lexer: Lexer, *words: str) -> tuple[int, ...]:
    return tuple(lexer.words[word] if word else lexer.name for word in words)


def _block_end(lexer: Lexer, types: Sequence[int], at: int) -> int:
    """Return where the block ends that begins with the indentation at an index."""
    depth = 0
    while True:
        depth += (types[at] == lexer.indent) - (types[at] == lexer.dedent)
        at += 1
        if depth == 0:
            return at


def _replaced(tokens: Tokens, start: int, end: int, types: tuple[int, ...]) -> Tokens:
    """Return tokens with others instead of some; they all stand where the first of them does."""
    more = len(types) - (end - start)
    return Tokens(
        [*tokens.types[:start], *types, *tokens.types[end:]],
        [*tokens.starts[:start], *[tokens.starts[start]] * len(types), *tokens.starts[end:]],
        [*tokens.ends[:start], *[tokens.ends[start]] * len(types), *tokens.ends[end:]],
        [line if line <= start else line + more for line in tokens.lines if line <= start or line >= end],
        [line if line < start else line + more for line in tokens.joined if line < start or line >= end],
    )
