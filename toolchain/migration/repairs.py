"""Repairs of errors of edition 2026 whose change stands elsewhere than the error.

Input: a text that is read in edition 2026, and an error in it. Output: titles and changes, the likeliest first.
"""

import re
from collections.abc import Sequence

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.migration.reading import Reading, walk
from ktc.syntax import ast

Insertion = tuple[str, int, str]
"""A title as an order, the place of the text, and the text."""

_CAPTURED = re.compile(r"'\w+' uses the variable '(\w+)' and does not say how it captures it")
_ARRAY = re.compile(r"'Array\[(.*), \d+\]' has no member '\w+'")


def repairs(read: Reading, error: Diagnostic) -> Sequence[Insertion]:
    """Return the insertions that repair an error."""
    if error.span is None:
        return ()
    at = error.span.start
    function = _function(read, at)
    if function is None:
        return ()
    if error.code is Code.UNHANDLED_RAISE and not function.raises:
        return (("write 'raises'", read.head(function)[1] + 1, " raises"),)
    if (found := _CAPTURED.fullmatch(error.message)) is not None:
        return _captures(read, function, found[1])
    if error.code is Code.NO_MEMBER and (found := _ARRAY.fullmatch(error.message)) is not None:
        return _list(read, function, at, found[1])
    return ()


def _function(read: Reading, at: int) -> ast.FunctionDecl | None:
    """Return the innermost function around a place."""
    around = [one for one in read.nodes if isinstance(one, ast.FunctionDecl) and one.start <= at < one.end]
    return min(around, key=lambda one: one.end - one.start, default=None)


def _captures(read: Reading, function: ast.FunctionDecl, name: str) -> Sequence[Insertion]:
    """List a variable among those that a nested function captures."""
    _, closing, colon = read.head(function)
    opening = read.find("{", closing, colon)
    changed = any(
        isinstance(one, ast.Assign | ast.AugAssign)
        and any(
            isinstance(target, ast.Name) and target.id == name
            for target in (one.targets if isinstance(one, ast.Assign) else (one.target,))
        )
        for one in walk(function)
    )
    raises = read.find("raises", closing, colon)
    behind = raises + len("raises") if raises >= 0 else closing + 1
    made = []
    for mode in ("mut", "imm", "var") if changed else ("imm", "mut", "var"):
        title = f"capture '{name}' with '{mode}'"
        if opening < 0:
            made.append((title, behind, f" {{{mode} {name}}}"))
        else:
            made.append((title, opening + 1, f"{mode} {name}" + (", " if function.captures else "")))
    return made


def _list(read: Reading, function: ast.FunctionDecl, at: int, kind: str) -> Sequence[Insertion]:
    """Declare a variable as a List whose member is asked for."""
    member = next((one for one in read.nodes if isinstance(one, ast.Attribute) and one.start <= at < one.end), None)
    base = member.value if member is not None else None
    for one in walk(function) if isinstance(base, ast.Name) else ():
        if not (isinstance(one, ast.VarDecl) and one.type is None and isinstance(one.value, ast.ListLit)):
            continue
        if isinstance(one.target, ast.Name) and isinstance(base, ast.Name) and one.target.id == base.id:
            return (("write the type of the list", one.target.end, f": List[{kind}]"),)
    return ()
