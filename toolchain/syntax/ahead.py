"""Parse the library ahead: `python -m ktc.syntax.ahead STDLIB FOLDER` fills a store that ktc then reads.

Its files, the grammar's tables and the trees of modules, serve all Pythons and machines, as long as a module and
the parser stay what they are. The installation runs this (`setup.py`, `make setup`): no user's first build need.
"""

import sys
from pathlib import Path

from ktc.base.cache import Cache
from ktc.syntax.loader import parse_library


def main() -> None:
    """Fill the store."""
    stdlib, folder = map(Path, sys.argv[1:])
    parse_library(stdlib, Cache(folder))
    Path(folder, "swept").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
