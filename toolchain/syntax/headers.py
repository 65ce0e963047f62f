"""The header of a declaration, as documentation, hover and completion show it."""

import re

from ktc.syntax import ast

_SPACES = re.compile(r"\s+")
_INSIDE_BRACKETS = re.compile(r"(?<=[\[(]) | (?=[\])])")
_QUOTES = "\"'`"


def header(text: str, node: ast.Node) -> str:
    """Return a declaration without its body, on one line."""
    depth, at, quote = 0, node.start, ""
    while at < min(node.end, len(text)):
        char = text[at]
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif not depth and ((char == ":" and not isinstance(node, ast.Alias)) or char == "\n"):
            break
        at += 1
    line = _SPACES.sub(" ", text[node.start : at]).strip()
    return _INSIDE_BRACKETS.sub("", line).replace(",)", ")").replace(",]", "]")
