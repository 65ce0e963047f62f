"""The edition of a text: what it tells itself, what decides before it, and mistakes of project files."""

import zipfile
from pathlib import Path

import pytest
from ktc.base import package_files
from ktc.base.editions import ChosenEdition, Edition
from ktc.base.package_files import PackageFile, PackageFileError
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source
from ktc.syntax.edition_evidence import told_edition
from ktc.syntax.editions import EditionFinder
from ktc.syntax.loader import Files, load
from ktc.syntax.parsing.parser import parse

pytestmark = pytest.mark.usefixtures("shared_tables")


@pytest.mark.parametrize(
    ("text", "edition"),
    [
        ("fn main():\n    pass\n", "2025"),
        ("alias N = 3\n", "2025"),
        ("from memory import Span\n", "2025"),
        ("from helpers import x\n", None),
        ("from std.memory import Span\n", "2026"),
        ("from std.memory import Span\nfn main(): pass\n", "2025"),
        ("from max.gpu import thread_idx\n", "2026"),
        ("def f() raises:\n    pass\n", "2026"),
        ("def f(\n    x: Int,\n) raises -> Int:\n    return x\n", "2026"),
        ("fn f(\n    x: Int,\n) raises -> Int:\n    return x\n", "2025"),
        ("def main():\n    var x = t'{1}'\n    print(t\"{x}\")\n", "2026"),
        ("def main():\n    print('fn f')  # alias x, def f() raises:\n", None),
        ('"""\nfn f()\n"""\n\n\ndef main():\n    assert 1 == 1\n', "2026"),
        ("comptime N = 3\n\n\ndef main():\n    print(N)\n", None),
    ],
)
def test_a_text_tells_its_edition(text: str, edition: str | None) -> None:
    told = told_edition(text, lambda name: name == "mine")
    assert (told.edition.value if told is not None else None) == edition


def test_a_module_of_the_user_has_the_name_of_a_library_module() -> None:
    assert told_edition("from utils import x\n", lambda name: name == "utils") is None


def test_the_reason_names_form_and_line() -> None:
    told = told_edition("\n\ndef f() raises:\n    pass\n", lambda _: False)
    assert told is not None and told.reason == "'def … raises' in line 3"


def finder(folder: Path, files: dict[str, str], requested: Edition | None = None) -> tuple[EditionFinder, Sink]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    sink = Sink()
    return EditionFinder(requested, {}, sink), sink


PROJECT_2026 = '[tool.ktc]\nedition = "2026"\n'


def test_what_decides_for_the_main_file(tmp_path: Path) -> None:
    text, old, new = "fn main(): pass\n", Edition.Y2025, Edition.Y2026
    found, _ = finder(tmp_path, {})
    assert found.of_main(tmp_path / "a.kpy", text).edition is old
    assert found.of_main(tmp_path / "a.mojo", "").edition is new
    assert found.of_main(tmp_path / "a.kpy", "").edition is old
    found, _ = finder(tmp_path, {}, new)
    assert found.of_main(tmp_path / "a.kpy", text).edition is new, "the switch goes before the text"
    found, sink = finder(tmp_path, {"pyproject.toml": PROJECT_2026})
    assert found.of_main(tmp_path / "sub" / "a.kpy", text).edition is new, "so does the project file"
    assert not sink.diagnostics


@pytest.mark.parametrize(
    ("project", "requested", "message"),
    [
        ('[tool.ktc]\nedition = "2026"', Edition.Y2025, "'--edition 2025' contradicts the project file"),
        ('[tool.ktc]\nedition = "2027"', None, 'there is no edition "2027"'),
        ("[tool.ktc]\nedition = 2026", None, "there is no edition a number, 2026"),
    ],
)
def test_mistakes_of_project_files(tmp_path: Path, project: str, requested: Edition | None, message: str) -> None:
    found, sink = finder(tmp_path, {"pyproject.toml": project}, requested)
    found.of_main(tmp_path / "a.kpy", "")
    (problem,) = sink.diagnostics
    assert problem.code.id == "wrong-edition" and message in problem.message
    assert problem.span is not None and problem.span.source.position(problem.span.start)[0] == 2


def test_packages_of_both_editions(tmp_path: Path) -> None:
    files = {
        "main.mojo": "import old.a\nimport beside\nimport plain\nimport new.sub.b\n\n\ndef main():\n    pass\n",
        "beside.mojo": "alias x = 1\n", "plain.mojo": "comptime y = 1\n",
        "old/__init__.mojo": "", "old/a.mojo": "", "old/z.mojo": "fn f(): pass\n",
        "new/__init__.kpy": "", "new/sub/__init__.kpy": "", "new/sub/b.kpy": "alias n = 1\n", 
        "new/pyproject.toml": PROJECT_2026,
    }  # fmt: skip
    finder(tmp_path, files)
    sink = Sink()
    package = load(Files(tmp_path / "main.mojo", [], tmp_path / "std"), None, sink)
    assert package is not None and package.root.edition is Edition.Y2026
    found = {name: package.find(name) for name in ("beside", "plain", "old.a")}
    assert {name: module.edition.value for name, module in found.items() if module is not None} == {
        "beside": "2025", "plain": "2026", "old.a": "2025",
    }  # fmt: skip
    assert package.editions is not None
    assert package.editions.of(tmp_path / "new/sub/b.kpy", "alias n = 1\n").edition is Edition.Y2026
    assert str(tmp_path / "old" / "z.mojo") in package.reads, "a decision rests on it"


def test_a_package_file_keeps_its_edition(tmp_path: Path) -> None:
    made = package_files.written(PackageFile("geo", "", {"__init__.kpy": b"comptime x = 1\n"}, {}, "2026"))
    assert package_files.read(tmp_path / "geo.kpypkg", made).edition == "2026"
    odd = made.replace(b"", b"")
    (tmp_path / "geo.kpypkg").write_bytes(odd)
    with zipfile.ZipFile(tmp_path / "geo.kpypkg") as archive:
        facts = archive.read("package.json").replace(b'"2026"', b'"2099"')
    with zipfile.ZipFile(tmp_path / "geo.kpypkg", "w") as archive:
        archive.writestr("package.json", facts)
        archive.writestr("__init__.kpy", b"comptime x = 1\n")
    with pytest.raises(PackageFileError, match="has the edition '2099'"):
        package_files.read(tmp_path / "geo.kpypkg", (tmp_path / "geo.kpypkg").read_bytes())


def test_an_error_says_that_the_text_is_right_in_the_other_edition() -> None:
    sink = Sink()
    assert (
        parse(Source("a.mojo", "def main():\n    alias n = 1\n", edition=ChosenEdition(Edition.Y2026, "'x'")), sink)
        is None
    )
    (problem,) = sink.diagnostics
    assert problem.message == "'alias' is not in edition 2026"
    assert "right in edition 2025, and is read in edition 2026 by 'x': '--edition 2025'" in problem.help
    sink = Sink()
    assert parse(Source("a.kpy", "alias n = 1\n\n\ndef g():\n    assert n == 1\n"), sink) is None
    assert "is right in edition" not in sink.diagnostics[0].help, "it is right in neither"
