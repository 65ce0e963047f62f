"""Fixes for a text of edition 2026 that has forms of edition 2025: the changes that migration would make.

Input: a diagnostic. Output: its fixes; those of `diag.fixes` come first.
"""

import os
from collections.abc import Mapping

from ktc import config as configs
from ktc.base.editions import Edition
from ktc.base.records import replace
from ktc.config import Options
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Severity
from ktc.diag.fixes import Edit, Fix, fixes
from ktc.diag.source import Source, Span
from ktc.migration.changes import Change
from ktc.migration.files import changes_of
from ktc.migration.plan import Plan
from ktc.migration.repairs import repairs
from ktc.syntax.parsing.tables import load_tables


class EditionFixes:
    """Finds the changes of each text once.

    Args:
        options: of the check; `root` is replaced.
        texts: those that stand for files.
    """

    def __init__(self, options: Options, texts: Mapping[str, Source] | None = None) -> None:
        self.options = replace(options, edition=None)
        self.texts = texts or {}
        self._plans: dict[str, tuple[Plan | None, bool]] = {}

    def of(self, diagnostic: Diagnostic) -> list[Fix]:
        """Return the ways to repair what a diagnostic says."""
        found = fixes(diagnostic)
        span = diagnostic.span
        if found or span is None or diagnostic.severity is not Severity.ERROR or not _is_2026(span.source):
            return found
        plan, _ = self._of_file(span.source)
        if plan is None:
            return []
        own = [one for one in plan.changes.changes if _touches(one, span)]
        if own:
            together = [one for one in plan.changes.changes if one.group == own[0].group]
            edits = [Edit(Span(span.source, one.start, one.end), plan.changes.alone(one)) for one in together]
            return [Fix(own[0].rewrite.title, tuple(edits), True)]
        return [
            Fix(title, (Edit(Span(span.source, at, at), text),), False)
            for title, at, text in repairs(plan.read, diagnostic)
        ]

    def migrated(self, diagnostic: Diagnostic) -> str:
        """Return the text of a file of edition 2025 as one of edition 2026; "" for one that is not of edition 2025."""
        span = diagnostic.span
        if diagnostic.code is not Code.WRONG_EDITION or span is None or not _is_2026(span.source):
            return ""
        plan, is_whole = self._of_file(span.source)
        return plan.changes.applied() if plan is not None and is_whole else ""

    def _of_file(self, source: Source) -> tuple[Plan | None, bool]:
        key = os.path.abspath(source.path)
        if key not in self._plans:
            tables, library = load_tables(configs.open_cache()), configs.stdlib_folder()
            self._plans[key] = changes_of(source, self.options, tables, library, self.texts)
        return self._plans[key]


def _is_2026(source: Source) -> bool:
    chosen = source.edition
    return not source.is_library and chosen is not None and chosen.edition is Edition.Y2026


def _touches(change: Change, span: Span) -> bool:
    """Return whether a change is made where a diagnostic points."""
    if change.is_insertion:
        return span.start <= change.start <= span.end
    return change.start < span.end and span.start < change.end
