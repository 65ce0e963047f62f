"""Parse the library ahead: `python -m ktc.syntax.ahead STDLIB FOLDER` fills a store that ktc then reads.

Its files, the grammar's tables and the trees of modules, serve all Pythons and machines, as long as a module and
the parser stay what they are. The installation runs this (`setup.py`, `make setup`): no user's first build need.
"""

import sys
from pathlib import Path

from ktc.base.cache import Cache
from ktc.diag.diagnostic import Sink
from ktc.syntax.loader import read_source
from ktc.syntax.parsing.parser import parse
from ktc.syntax.parsing.tables import Store, load_tables


def parse_library(stdlib: Path, cache: Store) -> None:
    """Parse every module of the library, so that the cache has it when a program first asks for it."""
    sink, tables = Sink(), load_tables(cache)
    for path in sorted(stdlib.rglob("*.kpy")):
        source = read_source(path, sink, True, {})
        if source is not None:  # what is wrong with a module is said where it is imported
            parse(source, sink, cache, tables)


def main() -> None:
    """Fill the store."""
    stdlib, folder = map(Path, sys.argv[1:])
    parse_library(stdlib, Cache(folder))
    Path(folder, "swept").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
