"""Diagnostics in SARIF 2.1.0, the format that code hosts and editors read."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from ktc.base.version import VERSION
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.fixes import Fix
from ktc.diag.source import Span

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(diagnostics: Sequence[Diagnostic], fixes: Callable[[Diagnostic], list[Fix]]) -> str:
    """Return a log of one run.

    Args:
        fixes: gives the fixes of a diagnostic.
    """
    rules = list(dict.fromkeys(one.code for one in diagnostics))
    driver = {
        "name": "ktc", "version": VERSION,
        "rules": [{"id": rule.id, "shortDescription": {"text": rule.title}} for rule in rules],
    }  # fmt: skip
    results = [_result(one, rules.index(one.code), fixes(one)) for one in diagnostics]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(one: Diagnostic, rule: int, found: list[Fix]) -> dict[str, Any]:
    text = f"{one.message}\nhelp: {one.help}" if one.help else one.message
    result: dict[str, Any] = {
        "ruleId": one.code.id, "ruleIndex": rule, "level": one.severity.value, "message": {"text": text},
        "locations": [{"physicalLocation": _place(one.span)}] if one.span is not None else [],
    }  # fmt: skip
    if one.notes:
        result["relatedLocations"] = [
            {"physicalLocation": _place(note.span), "message": {"text": note.text}} for note in one.notes
        ]
    if found:
        result["fixes"] = [_fix(fix) for fix in found]
    return result


def _fix(fix: Fix) -> dict[str, Any]:
    replacements = [{"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in fix.edits]
    path = fix.edits[0].span.source.path
    return {
        "description": {"text": fix.title},
        "artifactChanges": [{"artifactLocation": {"uri": path}, "replacements": replacements}],
    }


def _place(span: Span) -> dict[str, Any]:
    return {"artifactLocation": {"uri": span.source.path}, "region": _region(span)}


def _region(span: Span) -> dict[str, int]:
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(max(span.start, span.end))
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
