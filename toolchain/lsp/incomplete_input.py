"""A text with a statement that is not finished: the same text with one expression of it in its place.

Input: a text that may not parse, and where an expression ends. Output: a text that parses if the rest of it does.
"""

_STATEMENT = 2000
"""So many characters of a statement are searched for its beginning."""


def alone(text: str, end: int, offset: int) -> tuple[str, int]:
    """Return a text in which the expression that ends at `end` stands for its statement, and where it ends there.

    Args:
        offset: the last place of the statement that is looked at.
    """
    expression = text[_start(text, end) : end]
    first = text.rfind("\n", 0, min(end, _bracket_before(text, offset))) + 1
    stop = (text + "\n").index("\n", offset)
    line = text[first:stop]
    indent = line[: len(line) - len(line.lstrip())]
    following = next((one for one in text[stop + 1 :].split("\n") if one.strip()), "")
    block = f"\n{indent}if True:" if len(following) - len(following.lstrip()) > len(indent) else ""
    statement = f"{indent}_ = {expression}"
    return f"{text[:first]}{statement}{block}{text[stop:]}", first + len(statement)


def _start(text: str, end: int) -> int:
    """Return where an expression starts: names, dots, and brackets with their contents."""
    at = end
    while at:
        char = text[at - 1]
        if char in ")]}":
            depth = 0
            while at:
                at -= 1
                depth += (text[at] in ")]}") - (text[at] in "([{")
                if not depth:
                    break
        elif char.isalnum() or char in "_.`":
            at -= 1
        else:
            break
    return at


def _bracket_before(text: str, offset: int) -> int:
    """Return where the outermost bracket opens that is open at an offset, or the offset."""
    depth, found = 0, offset
    for at in range(offset - 1, max(offset - _STATEMENT, 0), -1):
        if text[at] == "\n" and text[at + 1 : at + 2].isalpha():
            break
        depth += (text[at] in ")]}") - (text[at] in "([{")
        if depth < 0:
            depth, found = 0, at
    return found
