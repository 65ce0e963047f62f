"""`[tool.ktc]` of a project: which programs, folders and tests commands without a file work on."""

import os
from pathlib import Path

import pytest
from ktc.cli.commands import main
from ktc.config import project_file
from ktc.config.project import BadProject, read

FILES = {
    "main.mojo": "from more import N\n\n\ndef main():\n    print(N)\n",
    "plot.mojo": "from more import N\n\n\ndef main():\n    print(N + 1)\n",
    "src/more.mojo": "comptime N = 41\n",
    "tests/test_more.mojo": "from more import N\n\n\ndef test_more() raises:\n    assert N == 41\n",
}
TABLE = """[tool.ktc]
edition = "2026"
entry-points = { answer = "main.mojo", plot = "plot.mojo" }
include = ["src"]
tests = ["tests"]
targets = ["cpu"]
"""


def written(folder: Path, table: str) -> Path:
    for name, text in {**FILES, "pyproject.toml": table}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def place(tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    monkeypatch.chdir(written(tmp_path, TABLE) / "src")
    return tmp_path


def test_commands_need_no_file(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In a folder of the project, also below its own."""
    assert main(["build", "-O0"]) == 0
    assert {"answer", "plot"} <= {*os.listdir("..")}
    assert main(["build", "-O0", "plot", "-o", "one"]) == 0
    assert main(["run", "-O0", "plot"]) == 0
    assert main(["run", "-O0", "../main.mojo"]) == 0, "imports are found in 'include' for any file of the project"
    assert capfd.readouterr().out == "42\n41\n"
    assert main(["check"]) == 0
    assert main(["format", "--check"]) == 0
    assert "4 files left unchanged" in capfd.readouterr().err
    assert main(["test", "--list"]) == 0
    assert capfd.readouterr().out == "../tests/test_more.mojo::test_more\n"


def test_one_of_several_programs_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 2
    assert "the project has several programs: name one of answer, plot" in capsys.readouterr().err
    assert main(["build", "-o", "one"]) == 2
    assert "-o names one file, and the project has 2 programs" in capsys.readouterr().err
    assert main(["run", "plotter"]) == 1
    assert "cannot open 'plotter'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "build", "check", "format", "emit", "report", "doc", "package"])
def test_without_a_project(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([command]) == 2
    assert "there is no project here: a project has a pyproject.toml with a table [tool.ktc]" in capsys.readouterr().err


def test_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is `main.mojo`, called as the project, which is called as in [project] or as its folder."""
    monkeypatch.chdir(written(tmp_path, '[project]\nname = "waves"\n\n[tool.ktc]\n'))
    file = project_file(Path("src"))
    assert file is not None
    assert {**read(file).entry_points} == {"waves": Path("main.mojo")}
    file.write_text("[tool.ktc]\n")
    assert read(file).name == tmp_path.name
    file.write_text("[tool.ktc.format]\nline-length = 90\n")
    assert project_file(tmp_path) is None, "only the style of 'ktc format'"


@pytest.mark.parametrize(
    ("line", "place", "said"),
    [
        ('targets = "cpu"', "2:1", "'targets' must be a list of texts"),
        ("name = 3", "2:1", "'name' must be a text"),
        ("  includes = []", "2:3", "[tool.ktc] has no 'includes'"),
        ('include = ["lib"]', "2:1", "'include' names 'lib', which does not exist"),
        ('tests = ["test"]', "2:1", "'tests' names 'test', which does not exist"),
        ('entry-points = ["main.mojo"]', "2:1", "'entry-points' must be a table of names and files"),
        ('entry-points = { a = "b.mojo" }', "2:1", "the entry point 'a' is 'b.mojo', and there is no such file"),
        ('[tool.ktc.entry-points]\na = "b.mojo"', "2:11", "the entry point 'a' is 'b.mojo', and there is no such file"),
        ("name = ", "2:8", "the project file is not TOML: invalid value"),
    ],
)
def test_mistakes_are_shown_at_their_line(
    line: str,
    place: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(written(tmp_path, f"[tool.ktc]\n{line}\n"))
    with pytest.raises(BadProject):
        read(tmp_path / "pyproject.toml")
    assert main(["check", "main.mojo"]) == 1
    assert capsys.readouterr().err.startswith(f"pyproject.toml:{place}: error[invalid-project]: {said}")
