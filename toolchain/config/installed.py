"""Packages in Python's environment: distributions whose metadata have an entry point in the group `ktc.packages`.

Input: folders of installed distributions. Output: the packages. The entry point's name is the one that programs import,
and its value the folder with the sources, written as a module of Python:

    [project.entry-points."ktc.packages"]
    shapes = "shapes"
"""

import json
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from configparser import Error as ConfigError
from pathlib import Path
from urllib.parse import unquote, urlparse

from ktc.base.package_files import InstalledPackage

GROUP = "ktc.packages"


def found(folders: Iterable[Path]) -> Iterator[InstalledPackage]:
    """Yield the packages of all distributions in some folders."""
    for folder in folders:
        for facts in sorted(folder.glob("*.dist-info")):
            try:
                text = (facts / "entry_points.txt").read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if f"[{GROUP}]" in text:
                yield from _of_distribution(folder, facts, text)


def _of_distribution(folder: Path, facts: Path, text: str) -> Iterator[InstalledPackage]:
    entries = ConfigParser(delimiters=("=",), interpolation=None)
    entries.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        entries.read_string(text)
    except ConfigError:
        return
    for name, value in entries[GROUP].items():
        parts = value.strip().split(".")
        around = [folder, *_sources_of_editable(facts)]
        places = [one.joinpath(*parts) for one in around]
        place = next((one for one in places if one.is_dir()), places[0])
        yield InstalledPackage(name, str(place), " ".join(facts.stem.rsplit("-", 1)))


def _sources_of_editable(facts: Path) -> list[Path]:
    """Return the folders with the sources of a distribution that is installed in editable mode."""
    try:
        origin = json.loads((facts / "direct_url.json").read_text("utf-8"))
        if not origin["dir_info"]["editable"]:
            return []
        folder = Path(unquote(urlparse(origin["url"]).path))
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [folder / "src", folder, folder.parent]
