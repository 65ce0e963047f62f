"""Options that several of the tools have."""

from pathlib import Path

import click
from ktc.base.editions import EDITIONS, Edition


def _edition(_: click.Context, __: click.Parameter, word: str | None) -> Edition | None:
    return Edition(word) if word is not None else None


edition_option = click.option(
    "--edition",
    type=click.Choice(EDITIONS),
    callback=_edition,
    help="Edition of the language (default: of the project, else as the text tells).",
)
search_option = click.option(
    "-I",
    "search",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Search this folder for modules.",
)
