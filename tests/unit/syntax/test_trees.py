"""The library's trees in one piece."""

from pathlib import Path

import pytest
from ktc.cache import Cache
from ktc.diag.diagnostic import Sink
from ktc.syntax.loader import Package, load
from ktc.syntax.trees import Trees, keep_trees

FILES = {
    "prelude.kpy": "",
    "shapes/__init__.kpy": "from .round import area\n",
    "shapes/round.kpy": "fn area() -> Int:\n    return 3\n",
    "broken.kpy": "fn (:\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Package:
    for name, text in FILES.items():
        file = tmp_path / "stdlib" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "main.kpy").write_text("from shapes import area\n")
    cache = Cache(tmp_path / "cache")
    keep_trees(tmp_path / "stdlib", cache, "stamp")
    made = load(tmp_path / "main.kpy", (), tmp_path / "stdlib", None, Sink())
    assert made is not None
    made.packed = (Trees(cache, "stamp"),)
    return made


def test_modules_are_found_without_their_files(package: Package) -> None:
    for name in ("shapes/round.kpy", "shapes/__init__.kpy"):
        (package.stdlib / name).unlink()
    found = package.find("shapes.round")
    assert found is not None
    assert found.source.path == "stdlib/shapes/round.kpy"
    assert [one.name for one in found.body] == ["area"]
    assert package.find("shapes") is not None


def test_what_does_not_parse_is_reported_where_it_is_imported(package: Package) -> None:
    assert "std.broken" not in package.packed[0]
    assert package.find("broken") is None
    assert package.sink.error_count


def test_another_state_of_the_library_has_trees_of_its_own(package: Package, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    assert set(Trees(cache, "stamp")) == {"std.prelude", "std.shapes", "std.shapes.round"}
    assert not Trees(cache, "another")
