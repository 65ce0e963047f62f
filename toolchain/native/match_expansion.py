"""Matches written out, for mypyc: it asks Python about each pattern of a class, but knows `isinstance` and fields.

Input: the text of a module, and what its names mean. Output: the same, with chains of `if` for `match` where all
patterns are of classes, values and names. A pattern's names are assigned first in its body; a match that this does not
know how to write stays one.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_ITSELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose one pattern by position is for the value itself."""


class _Unknown(Exception):
    """A pattern that is not written out."""


@dataclass
class _Written:
    """The conditions of a pattern, and the names that it gives: each with the expression and type of its value."""

    conditions: list[str] = field(default_factory=list)
    names: dict[str, tuple[str, str]] = field(default_factory=dict)


def without_matches(text: str, means: Callable[[str], Any]) -> str:
    """Return a module's text with its matches written out.

    Args:
        means: the meaning of a name of the module (perhaps with dots), or None.
    """
    lines = text.split("\n")
    edits: list[tuple[int, int, list[str]]] = []
    for number, node in enumerate(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Match)):
        try:
            edits += _match(node, f"_matched{number}", lines, means)
        except _Unknown:
            continue
    for first, last, instead in sorted(edits, reverse=True):
        lines[first : last + 1] = instead
    return "\n".join(lines)


def _match(
    node: ast.Match, temporary: str, lines: list[str], means: Callable[[str], Any]
) -> list[tuple[int, int, list[str]]]:
    """Return the lines to replace, counted from 0, first and last, each with its replacement."""
    subject = node.subject.id if isinstance(node.subject, ast.Name) else temporary
    cases = [(case, _pattern(case.pattern, subject, "", means)) for case in node.cases]
    types: dict[str, set[str]] = {}
    for _, written in cases:
        for name, (_, kind) in written.names.items():
            types.setdefault(name, set()).add(kind)
    indent = " " * node.col_offset
    before = [] if subject != temporary else [f"{indent}{temporary} = {ast.unparse(node.subject)}"]
    edits = [(node.lineno - 1, _end(node.subject, lines), [*before, f"{indent}if True:"])]
    word = "if"
    for case, written in cases:
        conditions = list(written.conditions)
        if case.guard is not None:
            conditions.append(f"({_named(case.guard, written.names)})")
        start = f"{word} {' and '.join(conditions)}" if conditions else "else" if word == "elif" else "if True"
        given = [
            f"{indent}        {name} = {place if len(types[name]) == 1 else f'_unchecked(_Any, {place})'}"
            for name, (place, _) in sorted(written.names.items(), key=lambda one: one[0] == subject)  # it is last
        ]
        last = _end(case.guard or case.pattern, lines)
        if case.body[0].lineno - 1 <= last:
            raise _Unknown
        edits.append((case.pattern.lineno - 1, last, [f"{indent}    {start}:", *given]))
        word = "elif"
        if not conditions:
            break
    return edits


def _end(node: Any, lines: list[str]) -> int:
    """Return the line of the colon after something."""
    last = int(node.end_lineno) - 1
    while not re.search(r":\s*(#.*)?$", lines[last]):
        last += 1
    return last


def _named(guard: ast.expr, names: dict[str, tuple[str, str]]) -> str:
    """Return a guard with the places of values instead of a pattern's names."""

    class Places(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.parse(names[node.id][0], mode="eval").body if node.id in names else node

    return ast.unparse(Places().visit(guard))


def _pattern(pattern: ast.pattern, place: str, kind: str, means: Callable[[str], Any]) -> _Written:
    """Write a pattern out for the value at a place, whose type is called `kind`."""
    match pattern:
        case ast.MatchAs(None, None):
            return _Written()
        case ast.MatchAs(None, str(name)):
            return _Written([], {name: (place, kind)})
        case ast.MatchAs(inner, str(name)) if inner is not None:
            made = _pattern(inner, place, kind, means)
            made.names[name] = place, ast.unparse(inner.cls) if isinstance(inner, ast.MatchClass) else kind
            return made
        case ast.MatchValue(value):
            return _Written([f"{place} == {ast.unparse(value)}"])
        case ast.MatchSingleton(value):
            return _Written([f"{place} is {value}"])
        case ast.MatchClass():
            return _class(pattern, place, means)
        case ast.MatchOr(patterns):
            return _either([_pattern(one, place, kind, means) for one in patterns])
        case _:
            raise _Unknown


def _class(pattern: ast.MatchClass, place: str, means: Callable[[str], Any]) -> _Written:
    name = ast.unparse(pattern.cls)
    kind = means(name)
    if not isinstance(kind, type):
        raise _Unknown
    made = _Written([f"isinstance({place}, {name})"])
    fields = list(zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True))
    if pattern.patterns and kind in _ITSELF:
        inner = _pattern(pattern.patterns[0], place, name, means)
        made.conditions += inner.conditions
        made.names |= inner.names
    elif pattern.patterns:
        fields += zip(getattr(kind, "__match_args__", ()), pattern.patterns, strict=False)
        if len(fields) < len(pattern.patterns) + len(pattern.kwd_attrs):
            raise _Unknown
    for attribute, part in fields:
        annotations = [vars(one).get("__annotations__", {}) for one in kind.__mro__]
        said = next((str(found[attribute]) for found in annotations if attribute in found), "")
        inner = _pattern(part, f"{place}.{attribute}", said, means)
        made.conditions += inner.conditions
        made.names |= inner.names
    return made


def _either(parts: list[_Written]) -> _Written:
    """Join alternatives, which give the same names from the same places."""
    places = [{name: place for name, (place, _) in part.names.items()} for part in parts]
    if any(one != places[0] for one in places):
        raise _Unknown
    names = {
        name: (place, " | ".join(sorted({part.names[name][1] for part in parts})))
        for name, (place, _) in parts[0].names.items()
    }
    tests = [re.fullmatch(r"isinstance\((\S+), (\S+)\)", part.conditions[0]) for part in parts]
    if all(test is not None and len(part.conditions) == 1 for test, part in zip(tests, parts, strict=True)):
        kinds = ", ".join(test[2] for test in tests if test is not None)
        return _Written([f"isinstance({tests[0][1] if tests[0] else ''}, ({kinds}))"], names)
    return _Written([f"({' or '.join(' and '.join(part.conditions) or 'True' for part in parts)})"], names)
