"""How many blank lines stand before each statement."""

from ktc.formatting.leaves import Statement


def blank_lines(statements: list[Statement]) -> list[int]:
    """Return the number of blank lines before each statement.

    Two around definitions of a module, one around those inside of others, as many as were there elsewhere up to that
    number, none at the start of a block. Comments and decorators of a definition stay with it.
    """
    counts = [0]
    defined: list[int] = []  # depths of the definitions around or before the statement
    after_docstring = False
    for index in range(1, len(statements)):
        before, here = statements[index - 1], statements[index]
        limit = 2 if here.depth == 0 else 1
        count = min(here.blanks, limit)
        if _starts_definition(before) and before.opens_block:
            defined.append(before.depth)
        ended = False
        while defined and defined[-1] >= here.depth:
            defined.pop()
            ended = True
        if (
            (before.opens_block and before.depth < here.depth)
            or before.is_decorator
            or here.first in ("else", "elif", "except", "finally")
        ):
            count = 0
        elif here.is_comment and _precedes_clause(statements, index):
            count = 0 if not here.blanks else 1
        elif ended or (_starts_definition(here) and not _follows_comment(statements, index)):
            count = limit
        elif (before.is_import and not here.is_import and before.depth == here.depth) or (
            after_docstring and not here.is_comment
        ):
            count = max(count, 1)
        elif after_docstring:
            count = 1
        if _starts_definition(here) and _follows_comment(statements, index):
            count = _behind_comment(statements, index, counts, limit)
        counts.append(count)
        after_docstring = here.is_docstring and before.is_type and before.opens_block
    return counts


def _starts_definition(statement: Statement) -> bool:
    return statement.is_decorator or statement.is_definition or statement.is_type


def _precedes_clause(statements: list[Statement], index: int) -> bool:
    """Return whether a comment stands before `else` and the like, which belong to the statement before."""
    depth = statements[index].depth
    for one in statements[index + 1 :]:
        if not one.is_comment:
            return one.depth == depth and one.first in ("else", "elif", "except", "finally")
    return False


def _follows_comment(statements: list[Statement], index: int) -> bool:
    before = statements[index - 1]
    return before.is_comment and before.depth == statements[index].depth


def _behind_comment(statements: list[Statement], index: int, counts: list[int], limit: int) -> int:
    """Return the blank lines between a comment and the definition after it; the comment gets those that are needed."""
    if statements[index].blanks:
        return limit
    first = index - 1
    while first > 0 and not statements[first].blanks and _follows_comment(statements, first):
        first -= 1
    before = statements[first - 1]
    starts_block = before.opens_block and before.depth < statements[first].depth
    if first > 0 and not starts_block and not before.is_decorator:
        counts[first] = max(counts[first], limit)
    return 0
