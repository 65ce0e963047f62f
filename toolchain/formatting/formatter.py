"""A text in the fixed style: the entry of this folder.

Input: a text that parses. Output: the same program in the style of docs/formatting.md; its tree is the same, which is
checked here each time, and its comments are all kept.
"""

import re

from ktc.base.records import field_names
from ktc.diag.diagnostic import Bug, Sink
from ktc.diag.source import Source
from ktc.formatting.blank_lines import blank_lines
from ktc.formatting.leaves import Leaf, Statement
from ktc.formatting.lines import INDENT, Line
from ktc.formatting.literals import docstring, tidy
from ktc.formatting.parentheses import hide
from ktc.formatting.reading import read
from ktc.formatting.spacing import arrange
from ktc.formatting.splitting import split
from ktc.syntax import ast
from ktc.syntax.editions import assign
from ktc.syntax.parsing.parser import parse
from ktc.syntax.parsing.tables import Tables

COLUMNS = 80
"""The width of lines, as in the reference."""
_PASSES = 5
_OFF, _ON, _SKIP = ("# fmt: off",), ("# fmt: on",), "# fmt: skip"
_SPACES = re.compile(r"\s+")


def format_source(
    source: Source, sink: Sink, tables: Tables, columns: int = COLUMNS, lines: tuple[int, int] | None = None
) -> str | None:
    """Return the text of a source in the fixed style; None if it does not parse, which the sink then says.

    Args:
        lines: the first and the last line to format, from 1; every statement that reaches into them is.

    Raises:
        Bug: the result would be another program.
    """
    assign(source, sink=sink)
    # the line ends of the file come back when it is written
    source = Source(source.path, source.text, edition=source.edition)
    before = parse(source, sink, tables=tables)
    if before is None:
        return None
    edition = before.edition
    statements = read(source.text, tables, edition)
    text = _format(source, statements, columns, lines)
    if lines is None and any(_has_inner_comments(one) for one in statements):  # they may move, and lines with them
        for _ in range(_PASSES):
            again = _format(Source(source.path, text), read(text, tables, edition), columns, None)
            if again == text:
                break
            text = again
    if text == source.text:
        return text  # the same text has the same tree
    found = Sink()
    after = parse(Source(source.path, text, edition=source.edition), found, tables=tables)
    if after is None:
        raise Bug(
            f"formatting {source.path} gives a text that does not parse: {found.diagnostics[0].message}", "format"
        )
    if shape(before) != shape(after):
        raise Bug(f"formatting {source.path} would change the program", "format")
    return text


def _has_inner_comments(statement: Statement) -> bool:
    leaves = statement.leaves
    return len(leaves) > 1 and any(leaf.comments or leaf.kind == "comment" for leaf in leaves[:-1])


def _format(source: Source, statements: list[Statement], columns: int, lines: tuple[int, int] | None) -> str:
    text = source.text
    if not statements:
        return ""
    _turn_off(statements, text)
    first, last = (0, len(statements))
    if lines is not None:
        first, last = _range(statements, source, lines)
        if first >= last:
            return text
    counts = blank_lines(statements)
    parts: list[str] = []
    for index in range(first, last):
        one = statements[index]
        if index > first:
            parts.append("\n" * counts[index])
        parts.append(one.verbatim if one.verbatim is not None else _printed(statements, index, columns))
    body = "".join(parts)
    if lines is None:
        return body
    start = text.rfind("\n", 0, statements[first].start) + 1
    end = text.find("\n", statements[last - 1].end)
    return text[:start] + body + (text[end + 1 :] if end >= 0 else "")


def _range(statements: list[Statement], source: Source, lines: tuple[int, int]) -> tuple[int, int]:
    """Return which statements reach into some lines; those that share a line are taken together."""
    places = [(source.position(one.start)[0], source.position(max(one.start, one.end - 1))[0]) for one in statements]
    inside = [index for index, (start, end) in enumerate(places) if start <= lines[1] and end >= lines[0]]
    if not inside:
        return 0, 0
    first, last = inside[0], inside[-1]
    while first and places[first - 1][1] == places[first][0]:
        first -= 1
    while last + 1 < len(places) and places[last + 1][0] == places[last][1]:
        last += 1
    return first, last + 1


def _printed(statements: list[Statement], index: int, columns: int) -> str:
    """Return one statement as lines."""
    one = statements[index]
    if one.is_docstring and _is_doc(statements, index) and len(one.leaves) == 1:
        leaf = one.leaves[0]
        if one.depth:  # a file's own text is left alone
            leaf.text = docstring(leaf.text, INDENT * one.depth, columns)
        return Line(one.leaves, one.depth).text() + "\n"
    tidy(one)
    hide(one)
    arrange(one)
    line = Line(one.leaves, one.depth, is_definition=one.is_definition)
    return "".join(part.text() + "\n" for part in split(line, columns))


def _is_doc(statements: list[Statement], index: int) -> bool:
    """Return whether strings alone are a docstring: the first statement of a file or of a declaration."""
    before = next((one for one in reversed(statements[:index]) if not one.is_comment), None)
    if before is None:
        return True
    return (before.is_definition or before.is_type) and before.depth < statements[index].depth


def _turn_off(statements: list[Statement], text: str) -> None:
    """Mark what stands between `# fmt: off` and `# fmt: on`, and lines with `# fmt: skip`, to stay as it is."""
    is_off, depth = False, 0
    for index, one in enumerate(statements):
        if one.is_comment and one.leaves[0].text in _OFF and not is_off:
            is_off, depth = True, one.depth
        elif is_off and (one.depth < depth or (one.is_comment and one.leaves[0].text in _ON)):
            is_off = False
        skipped = any(comment.startswith(_SKIP) for leaf in one.leaves for comment in leaf.comments)
        if (is_off or skipped) and one.verbatim is None:
            shared = index + 1 < len(statements) and "\n" not in text[one.end : statements[index + 1].start]
            after = "" if shared else "\n"
            start = text.rfind("\n", 0, one.start) + 1
            start = start if not text[start : one.start].strip() else one.start
            one.verbatim = text[start : one.end] + after


def shape(value: object) -> object:
    """Return a tree without its places, and its docstrings without their spaces, for a comparison."""
    if isinstance(value, ast.Module):
        return "Module", _words(value.doc), [shape(one) for one in value.body]
    if isinstance(value, ast.FunctionDecl):
        names = [name for name in ast.FunctionDecl.__match_args__ if name not in ("start", "end", "name_start")]
        return [_words(value.doc) if name == "doc" else shape(getattr(value, name)) for name in names]
    if isinstance(value, ast.ExprStmt) and isinstance(value.value, ast.StrLit):
        return "ExprStmt", _words(value.value.value)
    if isinstance(value, ast.FloatLit):
        return "FloatLit", value.text.lower()
    if isinstance(value, ast.Node):
        parts = []
        for name in field_names(value):
            if name not in ("start", "end", "name_start", "source"):
                inner = getattr(value, name)
                parts.append(_words(inner) if name == "doc" else shape(inner))
        return type(value).__name__, parts
    if isinstance(value, tuple):
        return [shape(one) for one in value]
    return value


def _words(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


def all_comments(statements: list[Statement]) -> list[str]:
    """Return the texts of all comments, sorted."""

    def of(leaf: Leaf) -> list[str]:
        return [*leaf.comments, *([leaf.text] if leaf.kind == "comment" else [])]

    return sorted(comment for one in statements for leaf in one.leaves for comment in of(leaf))
