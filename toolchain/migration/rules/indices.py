"""Indices and slices: those that count from the end, those of texts, and those that are views."""

from ktc.migration import table
from ktc.migration.plan import Plan
from ktc.migration.rules.places import PRIMARY, TEXTS, is_path, is_printed, outside
from ktc.syntax import ast

_SEQUENCES = frozenset(("List", "Span", "InlineArray", "Deque", "String", "StringSlice", "StringLiteral", "LinkedList"))


_WHOLE = "an index gives the whole character that begins at this byte: look at indices of texts beyond ASCII"
"""The note at the first index of a text in a file."""


def subscript(plan: Plan, node: ast.Subscript) -> None:
    """Negative indices, slices of lists, texts by bytes, pointers."""
    if len(node.args) != 1 or node.keywords:
        return
    index, base = node.args[0], plan.facts.struct_of(node.base)
    if base in _SEQUENCES and _is_negative(index):
        _from_the_end(plan, node, index, base)
    elif base in TEXTS:
        _text(plan, node, index)
    elif isinstance(index, ast.Slice) and base == "List":
        if not _is_target(plan, node):
            plan.changes.wrap(table.SLICE, node.start, node.end, "List(", ")")
        _bounds(plan, node, index, base)


def _is_negative(index: ast.Expr) -> bool:
    return isinstance(index, ast.Unary) and index.op == "-" and isinstance(index.value, ast.IntLit)


def _length(plan: Plan, node: ast.Subscript, base: str) -> str:
    shown = plan.read.of(node.base)
    return f"{shown}.byte_length()" if base in TEXTS else f"len({shown})"


def _from_the_end(plan: Plan, node: ast.Subscript, index: ast.Expr, base: str) -> None:
    if isinstance(node.base, ast.StrLit) and isinstance(index, ast.Unary) and isinstance(index.value, ast.IntLit):
        place = len(node.base.value.encode("utf-8", "surrogateescape")) - index.value.value
        plan.changes.replace(table.INDEX, index.start, index.end, f"byte={place}")
        _as_string(plan, node)
        return
    if not is_path(node.base):
        text = "a negative index ends the program in edition 2026: count from the beginning"
        plan.changes.note(table.INDEX, index.start, text)
        return
    assert isinstance(index, ast.Unary)
    number = plan.read.of(index.value)
    shown = f"{_length(plan, node, base)} - {number}"
    plan.changes.replace(table.INDEX, index.start, index.end, f"byte={shown}" if base in TEXTS else shown)
    if base in TEXTS:
        _as_string(plan, node)


def _text(plan: Plan, node: ast.Subscript, index: ast.Expr) -> None:
    if isinstance(index, ast.Slice) and index.step is not None:
        plan.changes.note(table.TEXT, index.start, "a text has no slice with a step in edition 2026: go over its bytes")
        return
    plan.changes.insert(table.TEXT, index.start, "byte=")
    if not isinstance(index, ast.Slice) and not any(one.text == _WHOLE for one in plan.changes.notes):
        plan.changes.note(table.TEXT, node.start, _WHOLE)
    if isinstance(index, ast.Slice):
        _bounds(plan, node, index, "String")
    _as_string(plan, node)


def _as_string(plan: Plan, node: ast.Subscript) -> None:
    """Convert a subscript of a `String` to a text of its own: in edition 2026 it is a view."""
    if plan.facts.struct_of(node) == "String" and not is_printed(plan, node):
        plan.changes.wrap(table.TEXT, node.start, node.end, "String(", ")")


def _is_target(plan: Plan, node: ast.Subscript) -> bool:
    parent = plan.read.parents.get(node)
    return isinstance(parent, ast.Assign) and node in parent.targets


def _bounds(plan: Plan, node: ast.Subscript, index: ast.Slice, base: str) -> None:
    """Negative bounds of a slice count from the end in edition 2025 only."""
    for bound in (index.lower, index.upper):
        if bound is None or not _is_negative(bound):
            continue
        if not is_path(node.base):
            plan.changes.note(table.INDEX, bound.start, "a negative bound ends the program in edition 2026")
            continue
        assert isinstance(bound, ast.Unary)
        plan.changes.replace(
            table.INDEX, bound.start, bound.end, f"{_length(plan, node, base)} - {plan.read.of(bound.value)}"
        )


def length(plan: Plan, node: ast.Call) -> None:
    """`len(s)` of a text."""
    if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1 and not node.keywords:
        one = node.args[0]
        if plan.facts.struct_of(one) in TEXTS:
            start, end = outside(plan, one)
            before, after = ("", "") if isinstance(one, (*PRIMARY, ast.StrLit)) or start < one.start else ("(", ")")
            plan.changes.replace(table.TEXT, node.start, node.end, before, (start, end), after, ".byte_length()")


def characters(plan: Plan, node: ast.For | ast.ForClause) -> None:
    """`for c in text` goes over code points in edition 2025, over graphemes in edition 2026."""
    if plan.facts.struct_of(node.iter) in TEXTS:
        one = node.iter
        before, after = ("", "") if isinstance(one, (*PRIMARY, ast.StrLit)) else ("(", ")")
        plan.changes.replace(
            table.CHARACTERS, one.start, one.end, before, (one.start, one.end), after, ".codepoint_slices()"
        )
