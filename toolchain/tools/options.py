"""Options that several of the tools have."""

from pathlib import Path

import click

search_option = click.option(
    "-I",
    "search",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Search this folder for modules.",
)
