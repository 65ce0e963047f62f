"""`ktc doc`: documentation from docstrings, as pages or as JSON; `--check` says what is missing.

Input: files and folders. Output: a folder of HTML, or JSON on standard output. Exit code 1 for files that do not parse,
and with --check for docstrings that are missing or wrong.
"""

import json
import sys
from pathlib import Path

import click
from ktc import config as configs
from ktc.base.editions import Edition
from ktc.cli import projects
from ktc.diag.diagnostic import Sink
from ktc.diag.render import render_text
from ktc.syntax.editions import assign
from ktc.syntax.loader import read_source
from ktc.syntax.parsing.parser import parse
from ktc.syntax.parsing.tables import load_tables
from ktc.tools.checks.files import sources
from ktc.tools.documentation.model import Row, module_row, problems
from ktc.tools.options import edition_option
from ktc.tools.testing.harness import module_of


@click.command("doc")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("-o", "output", type=click.Path(path_type=Path, file_okay=False), default=Path("doc"), show_default=True,
              help="Output folder.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(("html", "json")), default="html", show_default=True)
@click.option("--check", "checks", is_flag=True, help="Write nothing; report missing and wrong docstrings.")
@click.option("--title", default="Library", show_default=True, help="Title of the pages.")
@click.option("--source", default="", metavar="URL", help="URL of the sources, with {path} and {line}.")
@click.option("--with-sources", "has_sources", is_flag=True, help="Generate pages of the sources, and link to them.")
@click.option("--home", default="", metavar="URL", help="URL of the project's home page, linked from each page.")
@edition_option
@click.option("--exclude", "left_out", multiple=True, metavar="MODULE", help="Leave a module out.")
def doc_command(
    paths: tuple[Path, ...], output: Path, form: str, checks: bool, title: str, source: str, has_sources: bool,
    home: str, left_out: tuple[str, ...], edition: Edition | None,
) -> int:  # fmt: skip
    """Generate documentation from the docstrings of modules.

    Names that start with an underscore are left out, and so are tests and files that are programs.
    """
    sink, rows, texts = Sink(), [], {}
    for path, row in _rows(projects.paths_or_project(paths), edition, sink):
        if row["name"] in left_out:
            continue
        rows.append(row)
        if has_sources:
            texts[str(row["name"])] = path.read_text("utf-8")
        for line, message in problems(row) if checks else ():
            click.echo(f"{path}:{line}: {message}")
    sys.stderr.write(render_text(sink.diagnostics, configs.color_enabled(sys.stderr.isatty())))
    if checks:
        return int(sink.error_count > 0 or any(True for row in rows for _ in problems(row)))
    if form == "json":
        click.echo(json.dumps({"version": 1, "modules": rows}, indent=1, ensure_ascii=False))
    else:
        from ktc.tools.documentation.pages import pages  # late: only for some commands

        output.mkdir(parents=True, exist_ok=True)
        files = pages(title, rows, source, texts, home)
        for name, text in files.items():
            (output / name).write_text(text, "utf-8")
        click.echo(f"wrote {len(rows)} module{'s' * (len(rows) != 1)} to {output / 'index.html'}")
    return int(sink.error_count > 0)


def _rows(paths: tuple[Path, ...], edition: Edition | None, sink: Sink) -> list[tuple[Path, Row]]:
    tables, found = load_tables(configs.open_cache()), []
    for path in sources(paths):
        is_named = path in paths
        name = module_of(path)[1] or path.stem
        if not is_named and (path.name.startswith("test_") or any(part.startswith("_") for part in name.split("."))):
            continue
        source = read_source(path, sink, False, {})
        if source is not None:
            assign(source, edition, sink)
        module = parse(source, sink, tables=tables) if source is not None else None
        if source is None or module is None:
            continue
        module.source = source
        row = module_row(name, module)
        if is_named or any(row[kind] for kind in ("functions", "structs", "traits", "aliases")) or row["summary"]:
            found.append((path, row))
    return sorted(found, key=lambda one: str(one[1]["name"]))
