"""`ktc format --migrate 2026`: files of edition 2025 rewritten in edition 2026.

Input: files. Output: the files rewritten, or what would change; a line for each place that needs a look.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from ktc import config as configs
from ktc.config import Options
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.source import Source
from ktc.migration.files import Migrated, migrate
from ktc.syntax.editions import PROJECT_FILE
from ktc.syntax.parsing.tables import load_tables

_MARK = "migrated"


class Migration:
    """One run.

    Args:
        checks, shows: write nothing; say what would change, or show it.
        show: shows the difference of a text to another.
        write: writes a file.

    Attributes:
        errors: why files cannot be migrated.
    """

    def __init__(
        self, options: Options, checks: bool, shows: bool, show: Callable[[Source, str, str], None],
        write: Callable[[Path, str], None],
    ) -> None:  # fmt: skip
        self.options, self.checks, self.shows, self.show, self.write = options, checks, shows, show, write
        self.errors: list[Diagnostic] = []
        self.changed = self.same = self.failed = self.looks = self.silent = 0

    def work(self, paths: Sequence[Path]) -> int:
        """Migrate the files; return the exit code."""
        library = configs.stdlib_folder()
        for one in migrate(paths, self.options, load_tables(configs.open_cache()), library):
            self._take(one)
        return 1 if self.failed or (self.checks and self.changed) else 0

    def _take(self, one: Migrated) -> None:
        if one.source is None or one.text is None:
            self.failed += 1
            self.errors += one.errors
            return
        is_same = one.text == one.source.text
        self.same += is_same
        self.changed += not is_same
        self.looks += len(one.looks)
        self.silent += not is_same and not one.tells_edition
        for look in one.looks:
            sys.stderr.write(f"{one.path}:{look.line}:{look.column}: {look.text} [{look.name}]\n")
        if self.shows:
            self.show(one.source, one.text, _MARK)
        elif self.checks:
            if not is_same:
                click.echo(f"would migrate {one.path}")
        elif not is_same:
            self.write(one.path, one.text)

    def summary(self) -> str:
        """Return the counts of changed, unchanged and failed files, in one line."""
        verb = "would be migrated" if self.checks or self.shows else _MARK
        parts = [
            f"{count} file{'s' if count > 1 else ''} {what}"
            for count, what in ((self.changed, verb), (self.same, "left unchanged"), (self.failed, "not migrated"))
            if count
        ]
        if self.looks:
            parts.append(f"{self.looks} place{'s need' if self.looks > 1 else ' needs'} a look")
        said = ", ".join(parts or ["no source files"]) + "\n"
        if self.silent:
            own = "1 file does" if self.silent == 1 else f"{self.silent} files do"
            said += f"{own} not tell the edition: write 'edition = \"2026\"' below '[tool.ktc]' in {PROJECT_FILE}\n"
        return said
