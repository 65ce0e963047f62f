"""Parentheses that a statement's style adds and removes: hidden ones, which show only where a line is split at them."""

from ktc.formatting.leaves import Leaf, Statement

_ASSIGNING = frozenset(("=", "+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=", "<<=", ">>=", "&=", "|=", "^="))
_WITH_VALUE = frozenset(("return", "raise", "if", "elif", "while"))
_WITH_CONDITION = frozenset(("if", "elif", "while"))


def hide(statement: Statement) -> None:
    """Put hidden parentheses around the value of a statement; hide those that stand there for no reason."""
    leaves = statement.leaves
    if statement.is_comment or statement.is_decorator or statement.is_definition or statement.is_type:
        return
    first = statement.first
    start = 1 if leaves[0].text == first else 2
    stop = len(leaves) - 1 if statement.opens_block else len(leaves)
    if leaves[0].kind == "word" and first in ("import", "from"):
        _hide_imports(statement)
        return
    if leaves[0].kind == "word" and first == "for":
        start = _hide_targets(leaves, start)
        stop = len(leaves) - 1 if statement.opens_block else len(leaves)
    elif not (leaves[0].kind == "word" and first in _WITH_VALUE):
        start = _behind_assignment(leaves)
    if not 0 < start < stop:
        return
    _wrap(leaves, start, stop, may_bind=leaves[0].kind == "word" and first in _WITH_CONDITION)


def _behind_assignment(leaves: list[Leaf]) -> int:
    """Return the index after the last sign of assignment outside of brackets, 0 if there is none."""
    depth = found = 0
    for index, leaf in enumerate(leaves):
        depth += (leaf.kind == "open") - (leaf.kind == "close")
        if not depth and leaf.kind == "op" and leaf.text in _ASSIGNING:
            found = index + 1
    return found


def _hide_targets(leaves: list[Leaf], start: int) -> int:
    """Take the parentheses around the targets of a loop away; return where its iterable starts."""
    if leaves[start].text == "(":
        mate = leaves[start].mate
        end = leaves.index(mate) if mate is not None else start
        if end > start + 1 and leaves[end + 1].text == "in" and not _has_comments(leaves[start : end + 1]):
            del leaves[end], leaves[start]
    depth = 0
    for index, leaf in enumerate(leaves):
        depth += (leaf.kind == "open") - (leaf.kind == "close")
        if not depth and leaf.text == "in" and leaf.kind == "word":
            return index + 1
    return 0


def _hide_imports(statement: Statement) -> None:
    """Put the names of `from m import …` in parentheses that show where they are needed."""
    leaves = statement.leaves
    words = [index for index, leaf in enumerate(leaves) if leaf.text == "import" and leaf.kind == "word"]
    if statement.first != "from" or not words or leaves[-1].text == "*":
        return
    start = words[-1] + 1
    if leaves[start].text != "(":
        _insert(leaves, start, len(leaves))
    elif not _has_comments(leaves[start:-1]):
        if leaves[-2].text == ",":  # a comma at the end keeps one name a line
            return
        leaves[start].hidden = leaves[-1].hidden = True


def _wrap(leaves: list[Leaf], start: int, stop: int, may_bind: bool) -> None:
    """Put hidden parentheses around some leaves, or hide those that are there."""
    while leaves[start].text == "(" and leaves[start].mate is leaves[stop - 1]:
        inner = leaves[start + 1 : stop - 1]
        if not inner or _has_comments(leaves[start : stop - 1]) or not _is_one_value(inner, may_bind):
            return
        if inner[0].text == "(" and inner[0].mate is inner[-1]:
            inner[-1].comments.extend(leaves[stop - 1].comments)
            del leaves[stop - 1], leaves[start]
            stop -= 2
            continue
        leaves[start].hidden = leaves[stop - 1].hidden = True
        return
    _insert(leaves, start, stop)


def _insert(leaves: list[Leaf], start: int, stop: int) -> None:
    is_tuple = leaves[stop - 1].text == "," and leaves[stop - 1].kind == "op"
    opener, closer = Leaf("(", "open", hidden=not is_tuple), Leaf(")", "close", hidden=not is_tuple)
    opener.mate, closer.mate = closer, opener
    if stop == len(leaves):
        closer.comments, leaves[stop - 1].comments = leaves[stop - 1].comments, []
    leaves.insert(stop, closer)
    leaves.insert(start, opener)


def _has_comments(leaves: list[Leaf]) -> bool:
    return any(leaf.comments or leaf.kind == "comment" for leaf in leaves)


def _is_one_value(leaves: list[Leaf], may_bind: bool) -> bool:
    """Return whether leaves are neither a tuple nor, unless it may be, a walrus."""
    depth = 0
    for leaf in leaves:
        depth += (leaf.kind == "open") - (leaf.kind == "close")
        if not depth and leaf.kind == "op" and (leaf.text == "," or (leaf.text == ":=" and not may_bind)):
            return False
    return True
