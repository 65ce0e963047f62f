"""Package files: made, found by imports, refused where they are damaged; programs from standard input."""

import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from programs import run_ktc

Run = Callable[..., "CompletedProcess[str]"]
PROGRAM = """\
import geo.shapes
from geo import Square, deep


def main():
    print(Square(3).area(), deep(), geo.shapes.Square(2).area())
"""
MODULES = {
    "__init__.kpy": '"""Geometry."""\n\nfrom .shapes import Square\nfrom .sub.deep import deep\n',
    "shapes.kpy": (
        '"""Shapes."""\n\n\n@fieldwise_init\nstruct Square(Copyable, Movable):\n    var side: Int\n\n'
        "    fn area(self) -> Int:\n        return self.side * self.side\n"
    ),
    "sub/__init__.kpy": "",
    "sub/deep.kpy": "from ..shapes import Square\n\n\nfn deep() -> Int:\n    return Square(4).area()\n",
}


@pytest.fixture
def run(tmp_path: Path, program_cache: Path) -> Run:
    for name, text in MODULES.items():
        path = tmp_path / "src" / "geo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "main.kpy").write_text(PROGRAM)
    (tmp_path / "lib").mkdir()

    def call(*words: str, text_in: str = "") -> "CompletedProcess[str]":
        return run_ktc([*words], program_cache, tmp_path, text_in)

    return call


@pytest.mark.slow
def test_package_is_found_like_its_folder(run: Run, tmp_path: Path) -> None:
    done = run("package", "src/geo", "-o", "lib/geo.kpypkg", "--package-version", "1.2")
    assert (done.returncode, done.stderr) == (0, "")
    facts = json.loads(zipfile.ZipFile(tmp_path / "lib/geo.kpypkg").read("package.json"))
    assert (facts["name"], facts["version"], facts["form"]) == ("geo", "1.2", 1)
    assert facts["modules"]["shapes.kpy"]["doc"] == "Shapes."
    for place in ("lib", "lib/geo.kpypkg", "src"):
        assert run("run", "-I", place, "main.kpy").stdout == "9 16 4\n"
    first = (tmp_path / "lib/geo.kpypkg").read_bytes()
    run("package", "src/geo", "-o", "lib/geo.kpypkg", "--package-version", "1.2")
    assert (tmp_path / "lib/geo.kpypkg").read_bytes() == first
    changed = (tmp_path / "src/geo/shapes.kpy").read_text().replace("side * self.side", "side + self.side")
    (tmp_path / "src/geo/shapes.kpy").write_text(changed)
    run("package", "src/geo", "-o", "lib/geo.kpypkg")
    assert run("run", "-I", "lib", "main.kpy").stdout == "6 8 4\n"  # no kept build stands for the new package
    done = run("run", "-I", "lib", "-", "word", text_in=PROGRAM)
    assert done.stdout == "6 8 4\n"


def _with(path: Path, texts: dict[str, bytes], **changed: object) -> bytes:
    """Return the package with other facts and with more texts."""
    with zipfile.ZipFile(path) as archive:
        facts = json.loads(archive.read("package.json"))
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("package.json", json.dumps({**facts, **changed}))
        for name, text in texts.items():
            archive.writestr(name, text)
    return made.getvalue()


def test_what_is_no_package_is_refused(run: Run, tmp_path: Path) -> None:
    run("package", "src/geo", "-o", "lib/geo.kpypkg")
    packed, data = tmp_path / "lib/geo.kpypkg", (tmp_path / "lib/geo.kpypkg").read_bytes()
    turned = bytearray(data)
    turned[len(data) // 2] ^= 0x55
    cases = (
        (data[:300], "is damaged"),
        (bytes(turned), "is damaged"),
        (b"words", "is not a package of ktc"),
        (_with(packed, {}, form=2), "has the form 2, and this ktc"),
        (_with(packed, {}, modules=["__init__.kpy"]), "is damaged: its list of modules is none"),
        (_with(packed, {}, modules={"__init__.kpy": "text"}), "is damaged: its list of modules is none"),
        (_with(packed, {"__init__.kpy": b"\n" * 60_000_000}), "is damaged: its texts are too long"),
    )
    for text, why in cases:
        packed.write_bytes(text)
        done = run("run", "-I", "lib", "main.kpy")
        assert done.returncode == 1
        assert done.stderr.count("error[") == 1, done.stderr
        assert f"'lib/geo.kpypkg' {why}" in done.stderr
    packed.write_bytes(data)
    packed.rename(tmp_path / "lib/zoo.kpypkg")
    (tmp_path / "other.kpy").write_text(PROGRAM.replace("geo", "zoo"))
    assert "holds the package 'geo'" in run("run", "-I", "lib", "other.kpy").stderr
    packed.write_bytes(data)
    (tmp_path / "lib/geo").mkdir()
    (tmp_path / "lib/geo/__init__.kpy").write_text("")
    assert "there are two packages 'geo' in 'lib'" in run("run", "-I", "lib", "main.kpy").stderr


def test_only_packages_without_errors_are_made(run: Run, tmp_path: Path) -> None:
    assert "'lib' is not a package: it has no file '__init__.kpy'" in run("package", "lib").stderr
    assert "'main.kpy' is not a folder" in run("package", "main.kpy").stderr
    assert run("package", "main.kpy", "-o", "other.kpypkg").stderr.endswith("\n1 error\n")
    assert "its file is 'geo.kpypkg', not 'x.zip'" in run("package", "src/geo", "-o", "x.zip").stderr
    (tmp_path / "src/geo/wrong.kpy").write_text("fn f() -> Int:\n    return undefined\n")
    done = run("package", "src/geo")
    assert done.returncode == 1
    assert "'undefined' is not defined" in done.stderr
    assert not (tmp_path / "geo.kpypkg").exists()
