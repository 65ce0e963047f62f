"""Strings and numbers in the fixed style."""

import re

from ktc.formatting.leaves import Statement

_STRING = re.compile(r"(\w*)(\"\"\"|'''|\"|')(.*)\2\Z", re.DOTALL)
_UNESCAPED_DOUBLE = re.compile(r'(?<!\\)((?:\\\\)*)"')
_ESCAPED_SINGLE = re.compile(r"(?<!\\)((?:\\\\)*)\\'")
_TAB = 8


def tidy(statement: Statement) -> None:
    """Rewrite the literals of a statement."""
    for leaf in statement.leaves:
        if leaf.kind == "number":
            leaf.text = number(leaf.text)
        elif leaf.kind == "string":
            leaf.text = string(leaf.text)


def number(text: str) -> str:
    """Return a number with a small prefix and exponent, and hexadecimal digits in capitals."""
    lower = text.lower()
    if lower.startswith("0x"):
        return "0x" + text[2:].upper()
    return lower


def string(text: str) -> str:
    """Return a string in double quotes, unless it would need more escapes there."""
    found = _STRING.match(text)
    if found is None:
        return text
    prefix, quote, body = found[1], found[2], found[3]
    prefix = prefix.replace("F", "f").replace("R", "r") if "f" in prefix.lower() else prefix.lower()
    if quote[0] == '"':
        return f"{prefix}{quote}{body}{quote}"
    if quote == "'''":
        if '"""' in body or body.endswith('"') or "\\'" in body:
            return f"{prefix}{quote}{body}{quote}"
        return f'{prefix}"""{body}"""'
    if prefix and ('"' in body or "\\" in body):
        return f"{prefix}{quote}{body}{quote}"
    changed = _ESCAPED_SINGLE.sub(r"\1'", _UNESCAPED_DOUBLE.sub(r'\1\\"', body))
    if changed.count("\\") > body.count("\\") or (changed.count("\\") == body.count("\\") and '"' in body):
        return f"{prefix}{quote}{body}{quote}"
    return f'{prefix}"{changed}"'


def docstring(text: str, indent: int, columns: int) -> str:
    """Return a docstring moved to an indentation, without spaces at the ends of its lines."""
    found = _STRING.match(text)
    if found is None or "f" in found[1].lower():
        return text
    prefix, quote, body = found[1], found[2], found[3]
    if quote == "'''" and '"' not in body and "\\" not in body:
        quote = '"""'
    lines = body.split("\n")
    rest = [line.expandtabs(_TAB) for line in lines[1:]]
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    pad = " " * indent
    lines = [lines[0].strip(), *(pad + line[margin:].rstrip() if line.strip() else "" for line in rest)]
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    is_long = len(lines) < len(rest) + 1
    body = "\n".join(lines)
    if not body:
        return f"{prefix}{quote}{quote}"
    if body[0] == quote[0]:
        body = " " + body
    if body[-1] == quote[0] or (len(body) - len(body.rstrip("\\"))) % 2:
        body += " "
    fits = len(pad) * (len(lines) == 1) + len(lines[-1]) + 2 * len(quote) <= columns
    if len(quote) == 3 and (not fits or (is_long and len(lines) > 1)):
        return f"{prefix}{quote}{body}\n{pad}{quote}"
    return f"{prefix}{quote}{body}{quote}"
