"""Where the names of an import stand: its node has them as texts.

Input: the span of the whole statement, and a name. Output: the span of the name, or of the statement if it is not
found.
"""

import re

from ktc.diag.source import Span


def name_place(statement: Span, name: str) -> Span:
    """Return where `from m import …` or `import …` brings a name in."""
    text = statement.source.text[statement.start : statement.end]
    head = re.search(r"\bimport\b", text)
    return _found(statement, name, head.end() if head else 0)


def module_place(statement: Span, module: str) -> Span:
    """Return where the module's name stands in `from m import …`, or in `import m`."""
    return _found(statement, module, len("from") if statement.source.text.startswith("from", statement.start) else 0)


def _found(statement: Span, name: str, start: int) -> Span:
    text = statement.source.text[statement.start : statement.end]
    found = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)").search(text, start) if name else None
    if found is None:
        return statement
    return Span(statement.source, statement.start + found.start(), statement.start + found.end())
